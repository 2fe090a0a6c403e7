//! Rows of an aggregate, shared out among processes: who a row belongs to, and rows as bytes.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::store::{hash_row, hash_rows};
use crate::values::UNKNOWN;
use crate::vector::{LARGE, StringTable, Type, Vector, View};

/// Some rows' values: columns of one length.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// How many.
    pub len: usize,
    /// Their values.
    pub columns: Vec<Vector<'a>>,
    /// What aggregates' FILTERs say of them, for those that have one.
    pub filters: Vec<Option<Cow<'a, [bool]>>>,
}

/// Which of `parts` processes something with such a hash belongs to. Of the hash, tables use the low bits and passes
/// the high ones.
#[inline]
pub(crate) fn owner(hash: u64, parts: u32) -> u32 {
    const BITS: u32 = 24;
    let middle = (hash >> 32) & ((1 << BITS) - 1);
    ((middle * u64::from(parts)) >> BITS) as u32
}

/// Who each row belongs to by the values of some columns, at least one; equal values have one owner.
pub fn owners(columns: &[&Vector<'_>], rows: usize, parts: u32) -> Vec<u32> {
    let views: Vec<View<'_>> = columns.iter().map(|column| column.view()).collect();
    if let [view] = &views[..] {
        return owners_of(view, rows, parts);
    }
    let owner_of = |row| owner(hash_rows(&views, row), parts);
    (0..rows).map(owner_of).collect()
}

fn owners_of(view: &View<'_>, rows: usize, parts: u32) -> Vec<u32> {
    let owner_of = |row| owner(hash_row(view, row), parts);
    if view.ty != Type::Text || !view.dictionary || view.strings() > rows {
        return (0..rows).map(owner_of).collect();
    }
    let mut known = vec![UNKNOWN; view.strings()];
    let mut by_code = |row: usize| {
        if !view.is_valid(row) {
            return owner_of(row);
        }
        let known = &mut known[view.words[row] as usize];
        if *known == UNKNOWN {
            *known = owner_of(row);
        }
        *known
    };
    (0..rows).map(&mut by_code).collect()
}

impl<'a> Rows<'a> {
    /// Those at some positions; strings are shared.
    pub fn pick(&self, at: &[u32]) -> Rows<'_> {
        let filters = self.filters.iter().map(|filter| filter.as_deref());
        let picked = |filter: &[bool]| at.iter().map(|&i| filter[i as usize]).collect();
        Rows {
            len: at.len(),
            columns: self.columns.iter().map(|c| c.pick(at)).collect(),
            filters: filters.map(|filter| filter.map(picked)).collect(),
        }
    }

    /// Appends those at some positions as bytes, which are the machine's.
    ///
    /// # Errors
    /// [`Error::Limit`] if a column has 4 GiB of strings.
    pub fn write(&self, at: &[u32], out: &mut Vec<u8>) -> Result<()> {
        put(out, [at.len() as u64], u64::to_ne_bytes);
        for column in &self.columns {
            write_column(&column.view(), at, out)?;
        }
        for filter in self.filters.iter().flatten() {
            put(out, at.iter().map(|&i| u8::from(filter[i as usize])), u8::to_ne_bytes);
        }
        Ok(())
    }

    /// What [`Rows::write`] wrote of rows with columns of these types, and filters where this says so.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `bytes` are not that.
    pub fn read(bytes: &'a [u8], types: &[Type], filters: &[bool]) -> Result<Rows<'a>> {
        let mut reader = Reader(bytes);
        let len = reader.number()?;
        let columns = types.iter().map(|&ty| reader.column(ty, len));
        let columns: Vec<Vector<'a>> = columns.collect::<Result<_>>()?;
        let mut filter = |&there: &bool| match there {
            true => Ok(Some(Cow::Owned(reader.bools(len)?))),
            false => Ok(None),
        };
        let filters: Result<Vec<_>> = filters.iter().map(&mut filter).collect();
        let filters = filters?;
        match reader.0 {
            [] => Ok(Rows { len, columns, filters }),
            _ => Err(DAMAGED),
        }
    }
}

/// What a column's bytes begin with: what there is, of valid, scales and codes.
const VALID: u8 = 1;
const SCALES: u8 = 2;
const CODES: u8 = 4;

/// Flags, valid, scales; codes into the strings that are sent, or words, unless each row has its own string; how many
/// strings, where each ends, and they.
fn write_column(view: &View<'_>, at: &[u32], out: &mut Vec<u8>) -> Result<()> {
    let rows = || at.iter().map(|&i| i as usize);
    let few = view.ty == Type::Text && view.dictionary && view.strings() <= at.len();
    let flag = |there: bool, flag: u8| if there { flag } else { 0 };
    out.push(flag(view.valid.is_some(), VALID) | flag(view.scales.is_some(), SCALES) | flag(few, CODES));
    if let Some(valid) = view.valid {
        put(out, rows().map(|i| u8::from(valid[i])), u8::to_ne_bytes);
    }
    if let Some(scales) = view.scales {
        put(out, rows().map(|i| scales[i]), u16::to_ne_bytes);
    }
    let large = |i: usize| view.ty == Type::Numeric && view.scale(i) == LARGE && view.is_valid(i);
    let strings: Vec<&[u8]> = match view.ty {
        Type::Text if few => {
            let mut known = vec![UNKNOWN; view.strings()];
            let mut strings = Vec::new();
            let mut code = |i: usize| {
                if !view.is_valid(i) {
                    return 0;
                }
                let known = &mut known[view.words[i] as usize];
                if *known == UNKNOWN {
                    *known = strings.len() as u32;
                    strings.push(view.string(i));
                }
                *known
            };
            put(out, rows().map(&mut code), u32::to_ne_bytes);
            strings
        }
        Type::Text => {
            let string = |i| {
                if view.is_valid(i) { view.string(i) } else { b"" }
            };
            rows().map(string).collect()
        }
        _ => {
            let mut next = 0..;
            let mut word = |i| {
                if large(i) {
                    next.next().unwrap_or(0)
                } else {
                    view.words[i]
                }
            };
            put(out, rows().map(&mut word), i64::to_ne_bytes);
            rows().filter(|&i| large(i)).map(|i| view.string(i)).collect()
        }
    };
    let bytes = strings.iter().map(|string| string.len()).sum();
    u32::try_from(bytes).map_err(|_| Error::Limit("4 GiB of strings"))?;
    let mut end = 0;
    let ends = strings.iter().map(|string| {
        end += string.len() as u32;
        end
    });
    put(out, [strings.len() as u64], u64::to_ne_bytes);
    put(out, ends, u32::to_ne_bytes);
    out.reserve(bytes);
    let mut put_string = |string: &&[u8]| out.extend_from_slice(string);
    strings.iter().for_each(&mut put_string);
    Ok(())
}

fn put<T, const N: usize>(
    out: &mut Vec<u8>,
    values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    bytes: impl Fn(T) -> [u8; N],
) {
    let values = values.into_iter();
    let start = out.len();
    out.resize(start + values.len() * N, 0);
    let (places, _) = out[start..].as_chunks_mut();
    for (place, value) in places.iter_mut().zip(values) {
        *place = bytes(value);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn values<T, const N: usize>(&mut self, len: usize, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = len.checked_mul(N).ok_or(DAMAGED)?;
        let (values, rest) = self.0.split_at_checked(bytes).ok_or(DAMAGED)?;
        self.0 = rest;
        let (values, _) = values.as_chunks();
        Ok(values.iter().map(|&bytes| of(bytes)).collect())
    }

    fn number(&mut self) -> Result<usize> {
        let number = self.values(1, u64::from_ne_bytes)?[0];
        usize::try_from(number).map_err(|_| DAMAGED)
    }

    fn bools(&mut self, len: usize) -> Result<Vec<bool>> {
        self.values(len, |[byte]| byte != 0)
    }

    fn column(&mut self, ty: Type, len: usize) -> Result<Vector<'a>> {
        let flags = self.values(1, u8::from_ne_bytes)?[0];
        let valid = (flags & VALID != 0).then(|| self.bools(len)).transpose()?;
        let scales = (flags & SCALES != 0).then(|| self.values(len, u16::from_ne_bytes));
        let scales = scales.transpose()?;
        let words = match ty {
            Type::Text if flags & CODES != 0 => self.values(len, |code| i64::from(u32::from_ne_bytes(code)))?,
            Type::Text => (0..len as i64).collect(),
            _ => self.values(len, i64::from_ne_bytes)?,
        };
        let mut vector = Vector::of_words(ty, words);
        vector.valid = valid.map(Cow::Owned);
        vector.scales = scales.map(Cow::Owned);
        vector.dictionary = flags & CODES != 0;
        let strings = self.number()?;
        let ends = self.values(strings, u32::from_ne_bytes)?;
        let bytes = ends.last().map_or(0, |&end| end as usize);
        let (data, rest) = self.0.split_at_checked(bytes).ok_or(DAMAGED)?;
        self.0 = rest;
        let sound = |row: usize| {
            let word = usize::try_from(vector.words[row]);
            let limit = match ty {
                Type::Bool => 2,
                Type::Text => strings,
                Type::Numeric if vector.scale(row) == LARGE => strings,
                _ => return true,
            };
            !vector.is_valid(row) || word.is_ok_and(|word| word < limit)
        };
        if !ends.is_sorted() || !(0..len).all(sound) {
            return Err(DAMAGED);
        }
        vector.strings = Some(StringTable {
            ends: ends.into(),
            data: data.into(),
        });
        Ok(vector)
    }
}

const DAMAGED: Error = Error::Corrupt("rows sent by another process are damaged");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use crate::vector::Scalar;

    fn column(ty: Type, values: &[Scalar<'_>]) -> Vector<'static> {
        let mut builder = VectorBuilder::new(ty);
        for value in values {
            match *value {
                Scalar::Null => builder.push_null(),
                Scalar::Bool(v) => builder.push_word(i64::from(v)),
                Scalar::Int(v) => builder.push_word(v),
                Scalar::Float(v) => builder.push_word(v.to_bits() as i64),
                Scalar::Text(v) => builder.push_text(v),
                Scalar::Numeric(v) => builder.push_numeric(v),
                Scalar::Decimal { .. } => unreachable!("numerics are made of payloads"),
            }
        }
        builder.finish()
    }

    fn rows() -> Rows<'static> {
        let large = amax_jsonb::numeric::from_text("1e40").expect("a number");
        let small = amax_jsonb::numeric::from_text("1.50").expect("a number");
        use Scalar::*;
        let few: Vec<&[u8]> = vec![b"one", b"", b"three"];
        let codes = Vector::of_codes(vec![2, 0, 2, 1], few.into_iter().collect());
        Rows {
            len: 4,
            columns: vec![
                column(Type::Int, &[Int(1), Int(-2), Int(i64::MIN), Int(1)]),
                column(Type::Text, &[Text(b"a"), Null, Text(b""), Text(b"a")]),
                column(
                    Type::Numeric,
                    &[Numeric(&large), Numeric(&small), Null, Numeric(&small)],
                ),
                column(
                    Type::Float,
                    &[Float(0.0), Float(-0.0), Float(f64::NAN), Float(-f64::NAN)],
                ),
                column(Type::Bool, &[Null, Bool(true), Bool(false), Null]),
                codes,
            ],
            filters: vec![None, Some(vec![true, false, false, true].into())],
        }
    }

    fn types(rows: &Rows<'_>) -> Vec<Type> {
        rows.columns.iter().map(|column| column.ty).collect()
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows = rows();
        for at in [&[0, 1, 2, 3][..], &[3, 1], &[2], &[]] {
            let picked = rows.pick(at);
            let mut bytes = Vec::new();
            rows.write(at, &mut bytes).expect("bytes");
            let read = Rows::read(&bytes, &types(&rows), &[false, true]).expect("rows");
            assert_eq!((read.len, picked.len), (at.len(), at.len()));
            for (read, (picked, column)) in read.columns.iter().zip(picked.columns.iter().zip(&rows.columns)) {
                for (i, &from) in at.iter().enumerate() {
                    let wanted = format!("{:?}", column.get(from as usize));
                    assert_eq!(format!("{:?}", read.get(i)), wanted);
                    assert_eq!(format!("{:?}", picked.get(i)), wanted);
                }
            }
            assert_eq!(read.filters, picked.filters);
        }
    }

    #[test]
    fn damaged_rows_are_an_error() {
        let rows = rows();
        let mut bytes = Vec::new();
        rows.write(&[0, 1, 2, 3], &mut bytes).expect("bytes");
        let types = types(&rows);
        for len in 0..bytes.len() {
            let read = Rows::read(&bytes[..len], &types, &[false, true]);
            assert!(read.is_err(), "{len} bytes");
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            // Whatever it says, its strings can be had.
            if let Ok(rows) = Rows::read(&bytes, &types, &[false, true]) {
                for column in &rows.columns {
                    (0..rows.len).for_each(|row| drop(format!("{:?}", column.get(row))));
                }
            }
        }
    }

    #[test]
    fn equal_values_have_one_owner() {
        let rows = rows();
        for parts in [1, 2, 3, 7] {
            for (column, same) in [
                (0, &[(0, 3)][..]),
                (1, &[(0, 3)]),
                (3, &[(0, 1), (2, 3)]),
                (5, &[(0, 2)]),
            ] {
                let owners = owners(&[&rows.columns[column]], rows.len, parts);
                assert!(owners.iter().all(|&owner| owner < parts));
                for &(a, b) in same {
                    assert_eq!(owners[a], owners[b]);
                }
            }
            // As strings of a dictionary or by themselves.
            let texts = rows.columns[5].pick(&[0, 1, 2, 3]);
            let alone = column(Type::Text, &(0..4).map(|i| texts.get(i)).collect::<Vec<_>>());
            assert_eq!(owners(&[&texts], 4, parts), owners(&[&alone], 4, parts));
            let both = [&rows.columns[0], &rows.columns[1]];
            let both = owners(&both, rows.len, parts);
            assert_eq!(both[0], both[3]);
        }
    }
}
