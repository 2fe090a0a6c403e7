//! Distinct values of one type, by number: what a hash table of values keeps.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use crate::decimal::{Decimal, NOT_A_NUMERIC};
use crate::error::{Error, Result};
use crate::vector::{LARGE, Scalar, StringTable, Type, Vector, View};

/// The same in every process, so that partitions are.
#[inline]
fn hasher() -> impl Hasher {
    FixedState::with_seed(0x243F_6A88_85A3_08D3).build_hasher()
}

/// Of a key that is NULL.
pub(crate) const NULL_HASH: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
pub(crate) fn hash_words(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = hasher();
    words.into_iter().for_each(|word| hasher.write_u64(word));
    hasher.finish()
}

/// The hash of a row's value, which equal values share.
#[inline]
pub(crate) fn hash_row(view: &View<'_>, row: usize) -> u64 {
    fn hash<S: Store>(view: &View<'_>, row: usize) -> u64 {
        S::hash(S::key(view, row))
    }
    if !view.is_valid(row) {
        return NULL_HASH;
    }
    match view.ty {
        Type::Bool | Type::Int => hash::<Words>(view, row),
        Type::Float => hash::<Floats>(view, row),
        Type::Numeric => hash::<Numbers>(view, row),
        Type::Text => hash::<Strings>(view, row),
    }
}

/// Of a row's values in some columns, as of a group by them.
pub(crate) fn hash_rows(views: &[View<'_>], row: usize) -> u64 {
    hash_words(views.iter().map(|view| hash_row(view, row)))
}

/// Values of one type. PostgreSQL's `=` decides which are one value; the first one seen is kept.
pub(crate) trait Store: Default {
    /// A value of a batch or of the store.
    type Key<'a>: Copy;
    fn key<'a>(view: &View<'a>, row: usize) -> Self::Key<'a>;
    /// Equal for values that are the same.
    fn hash(key: Self::Key<'_>) -> u64;
    fn same(left: Self::Key<'_>, right: Self::Key<'_>) -> bool;
    fn len(&self) -> usize;
    fn get(&self, number: usize) -> Self::Key<'_>;
    /// Something of a value that `same` looks at: see [`crate::table::Keys::touch`].
    fn touch(&self, number: usize) -> u32;
    fn push(&mut self, key: Self::Key<'_>) -> Result<()>;
    /// Adds something in place of a value.
    fn push_none(&mut self);
    fn heap_bytes(&self) -> usize;
    /// The value of a number that has one.
    fn scalar(&self, number: usize, ty: Type) -> Scalar<'_>;
    /// All of them, in order.
    fn vector(&self, ty: Type) -> Vector<'_>;
    /// # Errors
    /// [`Error::Corrupt`] if `push` cannot have made it.
    fn check(&self, ty: Type) -> Result<()>;
}

/// Booleans and integers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Words(Vec<i64>);

impl Store for Words {
    type Key<'a> = i64;

    #[inline]
    fn key(view: &View<'_>, row: usize) -> i64 {
        view.words[row]
    }

    #[inline]
    fn hash(key: i64) -> u64 {
        hash_words([key as u64])
    }

    #[inline]
    fn same(left: i64, right: i64) -> bool {
        left == right
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn get(&self, number: usize) -> i64 {
        self.0[number]
    }

    #[inline]
    fn touch(&self, number: usize) -> u32 {
        self.0[number] as u32
    }

    fn push(&mut self, key: i64) -> Result<()> {
        self.0.push(key);
        Ok(())
    }

    fn push_none(&mut self) {
        self.0.push(0);
    }

    fn heap_bytes(&self) -> usize {
        self.0.len() * 8
    }

    fn scalar(&self, number: usize, ty: Type) -> Scalar<'_> {
        let word = self.0[number];
        match ty {
            Type::Bool => Scalar::Bool(word != 0),
            Type::Float => Scalar::Float(f64::from_bits(word as u64)),
            _ => Scalar::Int(word),
        }
    }

    fn vector(&self, ty: Type) -> Vector<'_> {
        Vector::of_words(ty, &self.0)
    }

    fn check(&self, ty: Type) -> Result<()> {
        if ty != Type::Bool || self.0.iter().all(|word| matches!(word, 0 | 1)) {
            return Ok(());
        }
        Err(Error::Corrupt("serialized booleans are damaged"))
    }
}

/// Bits of floats: -0 is 0, and every NaN the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Floats(Words);

#[inline]
fn normal(bits: i64) -> i64 {
    let value = f64::from_bits(bits as u64);
    if value == 0.0 {
        0
    } else if value.is_nan() {
        f64::NAN.to_bits() as i64
    } else {
        bits
    }
}

impl Store for Floats {
    type Key<'a> = i64;

    #[inline]
    fn key(view: &View<'_>, row: usize) -> i64 {
        view.words[row]
    }

    #[inline]
    fn hash(key: i64) -> u64 {
        Words::hash(normal(key))
    }

    #[inline]
    fn same(left: i64, right: i64) -> bool {
        normal(left) == normal(right)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn get(&self, number: usize) -> i64 {
        self.0.get(number)
    }

    #[inline]
    fn touch(&self, number: usize) -> u32 {
        self.0.touch(number)
    }

    fn push(&mut self, key: i64) -> Result<()> {
        self.0.push(key)
    }

    fn push_none(&mut self) {
        self.0.push_none();
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }

    fn scalar(&self, number: usize, ty: Type) -> Scalar<'_> {
        self.0.scalar(number, ty)
    }

    fn vector(&self, ty: Type) -> Vector<'_> {
        self.0.vector(ty)
    }

    fn check(&self, _: Type) -> Result<()> {
        Ok(())
    }
}

/// Byte strings back to back, up to 4 GiB.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Strings {
    ends: Vec<u32>,
    #[serde(with = "bytes")]
    data: Vec<u8>,
}

/// Bytes as such, not as a sequence of small numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(from).map(<[u8]>::to_vec)
    }
}

impl Strings {
    #[inline]
    fn start(&self, number: usize) -> usize {
        number.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    fn table(&self) -> StringTable<'_> {
        StringTable::new(&self.ends, &self.data)
    }
}

impl Store for Strings {
    type Key<'a> = &'a [u8];

    #[inline]
    fn key<'a>(view: &View<'a>, row: usize) -> &'a [u8] {
        view.string(row)
    }

    #[inline]
    fn hash(key: &[u8]) -> u64 {
        let mut hasher = hasher();
        hasher.write(key);
        hasher.finish()
    }

    #[inline]
    fn same(left: &[u8], right: &[u8]) -> bool {
        // Most are too short for a call of memcmp to be worth it.
        let ((words, rest), (others, other_rest)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
        let mut pairs = words.iter().zip(others);
        left.len() == right.len()
            && pairs.all(|(&left, &right)| u64::from_ne_bytes(left) == u64::from_ne_bytes(right))
            && (rest.is_empty() || rest == other_rest)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, number: usize) -> &[u8] {
        &self.data[self.start(number)..self.ends[number] as usize]
    }

    #[inline]
    fn touch(&self, number: usize) -> u32 {
        self.data.get(self.start(number)).copied().unwrap_or(0).into()
    }

    fn push(&mut self, key: &[u8]) -> Result<()> {
        let end = u32::try_from(self.data.len() + key.len());
        let end = end.map_err(|_| Error::Limit("4 GiB of strings"))?;
        self.data.extend_from_slice(key);
        self.ends.push(end);
        Ok(())
    }

    fn push_none(&mut self) {
        self.ends.push(self.data.len() as u32);
    }

    fn heap_bytes(&self) -> usize {
        self.ends.len() * 4 + self.data.len()
    }

    fn scalar(&self, number: usize, _: Type) -> Scalar<'_> {
        Scalar::Text(self.get(number))
    }

    fn vector(&self, _: Type) -> Vector<'_> {
        Vector::of_strings(self.table())
    }

    fn check(&self, _: Type) -> Result<()> {
        if self.ends.is_sorted() && self.ends.last().map_or(0, |&end| end as usize) == self.data.len() {
            return Ok(());
        }
        Err(Error::Corrupt("serialized strings are damaged"))
    }
}

/// Numerics, with the display scale of the first of equal ones. Also bits of floats, which have none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Numbers {
    words: Vec<i64>,
    scales: Vec<u16>,
    large: Strings,
}

/// A numeric as it is in a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number<'a> {
    word: i64,
    scale: u16,
    payload: &'a [u8],
}

impl<'a> Number<'a> {
    /// Payloads that are none are refused before they get here.
    fn decimal(&self) -> Decimal<'a> {
        match self.scale {
            LARGE => Decimal::of_payload(self.payload).unwrap_or(Decimal::NaN),
            scale => Decimal::small(self.word, scale),
        }
    }
}

/// # Errors
/// [`Error::Corrupt`] if a payload of a numeric vector is not a numeric.
pub(crate) fn check_numerics(view: &View<'_>) -> Result<()> {
    let Some(scales) = view.scales else {
        return Ok(());
    };
    for (row, &scale) in scales.iter().enumerate() {
        if scale == LARGE && view.is_valid(row) {
            Decimal::of_payload(view.string(row)).ok_or(NOT_A_NUMERIC)?;
        }
    }
    Ok(())
}

impl Numbers {
    /// Those that `keep` says, in their order.
    pub(crate) fn filter(&self, keep: &[bool]) -> Result<Self> {
        let mut kept = Self::default();
        for number in (0..self.len()).filter(|&number| keep[number]) {
            kept.push(self.get(number))?;
        }
        Ok(kept)
    }
}

impl Store for Numbers {
    type Key<'a> = Number<'a>;

    #[inline]
    fn key<'a>(view: &View<'a>, row: usize) -> Number<'a> {
        let (word, scale) = (view.words[row], view.scale(row));
        let payload = if scale == LARGE { view.string(row) } else { &[] };
        Number { word, scale, payload }
    }

    #[inline]
    fn hash(key: Number<'_>) -> u64 {
        let mut hasher = hasher();
        key.decimal().hash(&mut hasher);
        hasher.finish()
    }

    #[inline]
    fn same(left: Number<'_>, right: Number<'_>) -> bool {
        let as_they_are = (left.word, left.scale) == (right.word, right.scale) && left.scale != LARGE;
        as_they_are || left.decimal() == right.decimal()
    }

    fn len(&self) -> usize {
        self.words.len()
    }

    #[inline]
    fn get(&self, number: usize) -> Number<'_> {
        let (word, scale) = (self.words[number], self.scales[number]);
        let payload = if scale == LARGE {
            self.large.get(word as usize)
        } else {
            &[]
        };
        Number { word, scale, payload }
    }

    #[inline]
    fn touch(&self, number: usize) -> u32 {
        self.words[number] as u32
    }

    fn push(&mut self, key: Number<'_>) -> Result<()> {
        let word = if key.scale == LARGE {
            self.large.push(key.payload)?;
            self.large.len() as i64 - 1
        } else {
            key.word
        };
        self.words.push(word);
        self.scales.push(key.scale);
        Ok(())
    }

    fn push_none(&mut self) {
        self.words.push(0);
        self.scales.push(0);
    }

    fn heap_bytes(&self) -> usize {
        self.words.len() * 8 + self.scales.len() * 2 + self.large.heap_bytes()
    }

    fn scalar(&self, number: usize, ty: Type) -> Scalar<'_> {
        let Number { word, scale, payload } = self.get(number);
        match scale {
            _ if ty == Type::Float => Scalar::Float(f64::from_bits(word as u64)),
            LARGE => Scalar::Numeric(payload),
            scale => Scalar::Decimal { mantissa: word, scale },
        }
    }

    fn vector(&self, ty: Type) -> Vector<'_> {
        let words = Vector::of_words(ty, &self.words);
        if ty != Type::Numeric {
            return words;
        }
        Vector {
            scales: Some(Cow::Borrowed(&self.scales)),
            strings: Some(self.large.table()),
            ..words
        }
    }

    fn check(&self, ty: Type) -> Result<()> {
        self.large.check(ty)?;
        let sound = self.words.len() == self.scales.len()
            && self.words.iter().zip(&self.scales).all(|(&word, &scale)| {
                if scale == LARGE {
                    usize::try_from(word).is_ok_and(|word| word < self.large.len())
                } else {
                    scale <= amax_jsonb::numeric::MAX_SCALE
                }
            });
        if !sound {
            return Err(Error::Corrupt("serialized numerics are damaged"));
        }
        check_numerics(&self.vector(Type::Numeric).view())
    }
}
