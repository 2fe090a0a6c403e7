//! Thrift's compact protocol, read so strictly that whoever reads the same bytes after us reads the same: parquet's own reader cuts
//! numbers to the width that it wants, and does not look at the types of fields. (Thrift, "Compact protocol".)

use std::result;

/// Values within values, of fields that nobody knows.
const DEEPEST: usize = 64;

/// What is wrong with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrong {
    /// They end too early.
    Ends,
    /// Groups are within more groups than may be.
    Deep,
    Malformed,
}

pub(super) type Result<T> = result::Result<T, Wrong>;

/// What a value is.
pub(super) enum Shape {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Bytes,
    /// Elements, and how many bytes each takes in memory, besides its own lists and bytes.
    List(&'static Shape, usize),
    /// The fields that are known.
    Struct(&'static [(i16, Shape)]),
}

/// The types as they are written.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BYTES: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

impl Shape {
    fn is(&self, code: u8) -> bool {
        match self {
            Self::Bool => code == TRUE || code == FALSE,
            Self::Byte => code == BYTE,
            Self::I16 => code == I16,
            Self::I32 => code == I32,
            Self::I64 => code == I64,
            Self::Double => code == DOUBLE,
            Self::Bytes => code == BYTES,
            Self::List(..) => code == LIST,
            Self::Struct(_) => code == STRUCT,
        }
    }
}

/// Reads from front to back.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Goes over a value, whose fields are what they are said to be. What its lists take in memory is added.
    pub(super) fn check(&mut self, shape: &Shape, memory: &mut usize) -> Result<()> {
        match shape {
            // It is in the header of its field; there are no lists of them.
            Shape::Bool => Ok(()),
            Shape::Byte => self.skip(BYTE, 0),
            Shape::I16 => self.skip(I16, 0),
            Shape::I32 => self.skip(I32, 0),
            Shape::I64 => self.skip(I64, 0),
            Shape::Double => self.skip(DOUBLE, 0),
            Shape::Bytes => self.skip(BYTES, 0),
            Shape::List(element, bytes) => {
                let (count, code) = self.list()?;
                if count > 0 && !element.is(code) {
                    return Err(Wrong::Malformed);
                }
                *memory = memory.saturating_add(count.saturating_mul(*bytes));
                (0..count).try_for_each(|_| self.check(element, memory))
            }
            Shape::Struct(fields) => self.fields(|reader, field, code| {
                let Some((_, shape)) = fields.iter().find(|(known, _)| *known == field) else {
                    return Ok(false);
                };
                if !shape.is(code) {
                    return Err(Wrong::Malformed);
                }
                reader.check(shape, memory)?;
                Ok(true)
            }),
        }
    }

    /// Goes over a struct. `take` is given the number and the type of each field, and says whether it has read it; else it is skipped.
    pub(super) fn fields(&mut self, mut take: impl FnMut(&mut Self, i16, u8) -> Result<bool>) -> Result<()> {
        self.fields_within(0, &mut take)
    }

    fn fields_within(&mut self, within: usize, take: &mut dyn FnMut(&mut Self, i16, u8) -> Result<bool>) -> Result<()> {
        let mut before = 0;
        while let Some((field, code)) = self.field(before)? {
            if !take(self, field, code)? {
                self.skip(code, within)?;
            }
            before = field;
        }
        Ok(())
    }

    /// The next field, by its number and type, after the one before; None for the end.
    fn field(&mut self, before: i16) -> Result<Option<(i16, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let number = match byte >> 4 {
            0 => self.integer(16)?,
            step => i64::from(before) + i64::from(step),
        };
        let number = i16::try_from(number).ok().filter(|&number| number > before);
        let code = byte & 15;
        match number {
            Some(number) if (TRUE..=UUID).contains(&code) => Ok(Some((number, code))),
            _ => Err(Wrong::Malformed),
        }
    }

    /// How many elements a list has, each of at least a byte, and their type.
    pub(super) fn list(&mut self) -> Result<(usize, u8)> {
        let byte = self.byte()?;
        if byte == 0 {
            // An empty one, as some write it.
            return Ok((0, BYTE));
        }
        let count = match byte >> 4 {
            15 => self.count()?,
            count => usize::from(count),
        };
        match byte & 15 {
            code @ TRUE..=UUID if count <= self.rest.len() => Ok((count, code)),
            TRUE..=UUID => Err(Wrong::Ends),
            _ => Err(Wrong::Malformed),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// A number of so many bits, with a sign.
    pub(super) fn integer(&mut self, bits: u32) -> Result<i64> {
        let value = self.varint(bits)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn skip(&mut self, code: u8, within: usize) -> Result<()> {
        if within > DEEPEST {
            return Err(Wrong::Malformed);
        }
        match code {
            TRUE | FALSE => Ok(()),
            BYTE => self.byte().map(drop),
            I16 => self.varint(16).map(drop),
            I32 => self.varint(32).map(drop),
            I64 => self.varint(64).map(drop),
            DOUBLE => self.take(8).map(drop),
            UUID => self.take(16).map(drop),
            BYTES => self.bytes().map(drop),
            LIST | SET => {
                let (count, code) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(code, within))
            }
            MAP => {
                let count = self.count()?;
                let codes = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_element(codes >> 4, within)?;
                    self.skip_element(codes & 15, within)
                })
            }
            STRUCT => self.fields_within(within + 1, &mut |_, _, _| Ok(false)),
            _ => Err(Wrong::Malformed),
        }
    }

    fn skip_element(&mut self, code: u8, within: usize) -> Result<()> {
        match code {
            // It has a byte of its own there, but not for parquet's reader.
            TRUE | FALSE => Err(Wrong::Malformed),
            code => self.skip(code, within + 1),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(Wrong::Ends)?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Wrong::Ends)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A length, or how many there are.
    fn count(&mut self) -> Result<usize> {
        Ok(self.varint(31)? as usize)
    }

    fn varint(&mut self, bits: u32) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if bits - shift < 7 && part >> (bits - shift) > 0 {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Wrong::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Result, Shape, Wrong};

    /// Whether a struct of three fields is one, and what its list takes.
    fn checked(bytes: &[u8]) -> Result<usize> {
        const SHAPE: Shape = Shape::Struct(&[(1, Shape::I32), (2, Shape::List(&Shape::Bytes, 100)), (3, Shape::Bool)]);
        let (mut reader, mut memory) = (Reader::new(bytes), 0);
        reader.check(&SHAPE, &mut memory)?;
        assert_eq!(reader.left(), 0);
        Ok(memory)
    }

    #[test]
    fn what_is_said_is_what_is_there() {
        assert_eq!(checked(&[0x15, 2, 0x19, 0x28, 1, b'a', 0, 0x11, 0]), Ok(200));
        assert_eq!(checked(&[0x19, 0, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x29, 0, 0]), Ok(0));
        // Of another type.
        assert_eq!(checked(&[0x16, 2, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x29, 0x15, 2, 0]), Err(Wrong::Malformed));
        // Fields that are not known, of all types: a map of a list of bytes, a struct with a UUID, a set.
        let mut more = vec![0x9b, 1, 0x59, 1, 0x23, 1, 0, 0x1c, 0x1d];
        more.extend([7; 16]);
        more.extend([0, 0x1a, 0x15, 2, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(checked(&more), Ok(0));
        for end in 0..more.len() {
            assert_eq!(checked(&more[..end]), Err(Wrong::Ends), "{end}");
        }
    }

    #[test]
    fn fields_go_upward() {
        // Twice the same, one below, 0, 65537 and -1 by their numbers; then the first by its.
        for bytes in [
            &[0x15, 2, 0x05, 2, 2, 0][..],
            &[0x41, 0x05, 2, 2, 0],
            &[0x05, 0, 2, 0],
            &[0x05, 0x82, 0x80, 0x08, 2, 0],
            &[0x05, 1, 2, 0],
        ] {
            assert_eq!(checked(bytes), Err(Wrong::Malformed), "{bytes:?}");
        }
        assert_eq!(checked(&[0x05, 2, 2, 0]), Ok(0));
        // 32767 is the last.
        assert_eq!(checked(&[0x01, 0xfe, 0xff, 0x03, 0]), Ok(0));
        assert_eq!(checked(&[0x01, 0xfe, 0xff, 0x03, 0x11, 0]), Err(Wrong::Malformed));
    }

    #[test]
    fn numbers_have_their_width() {
        assert_eq!(checked(&[0x15, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]), Ok(0));
        assert_eq!(checked(&[0x15, 0xff, 0xff, 0xff, 0xff, 0x1f, 0]), Err(Wrong::Malformed));
        assert_eq!(
            checked(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0]),
            Err(Wrong::Malformed)
        );
        assert_eq!(
            checked(&[0x29, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]),
            Err(Wrong::Malformed)
        );
        assert_eq!(Reader::new(&[0xff, 0xff, 3]).integer(16), Ok(-32768));
        assert_eq!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).integer(64),
            Ok(i64::MIN)
        );
        assert_eq!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).integer(64),
            Err(Wrong::Malformed)
        );
    }

    /// Who reads them after us takes no byte for each.
    #[test]
    fn booleans_are_in_no_list() {
        assert_eq!(checked(&[0x99, 0x11, 1, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x9a, 0x12, 1, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x9b, 1, 0x13, 1, 1, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x9b, 1, 0x32, 1, 1, 0]), Err(Wrong::Malformed));
        assert_eq!(checked(&[0x99, 0x01, 0]), Ok(0));
    }

    #[test]
    fn what_nobody_knows_is_not_endless() {
        let mut deep = vec![0x9c];
        deep.extend([0x1c; 100]);
        assert_eq!(checked(&deep), Err(Wrong::Malformed));
    }
}
