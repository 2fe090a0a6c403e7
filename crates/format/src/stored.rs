//! Bounds of a column as Page 0 has them.
//!
//! ```text
//! 8 + 8   of every column that has bounds: the least and the greatest, of byte strings how they begin, zero padded
//! more    of byte strings that have more in common, or are times:
//!           1      further bytes of each bound (bits 0 to 5), whether all are times (6) that name a time zone (7)
//!           n + n  those bytes
//!           17     of times, the least and the greatest in microseconds, how many bytes are alike
//!           2 + 2  of those with time zones, the least and the greatest minutes that they are ahead
//! ```

use crate::bytes::Reader;
use crate::error::{Result, corrupt};
use crate::prefix::{LEAST, MOST, Prefix, Strings, Times};

const TIMES: u8 = 1 << 6;
const ZONED: u8 = 1 << 7;

/// The bounds of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) min: [u8; LEAST],
    pub(crate) max: [u8; LEAST],
    /// If there is more to them.
    pub(crate) more: Option<Box<Strings>>,
}

impl Stored {
    pub(crate) fn of_words(min: [u8; LEAST], max: [u8; LEAST]) -> Self {
        Self { min, max, more: None }
    }

    pub(crate) fn of_strings(strings: Strings) -> Self {
        let first = |prefix: &Prefix| *prefix.bytes().first_chunk().expect("eight bytes at least");
        let more = strings.min.bytes().len() > LEAST || strings.times.is_some();
        Self {
            min: first(&strings.min),
            max: first(&strings.max),
            more: more.then(|| Box::new(strings)),
        }
    }

    /// Those of byte strings.
    pub(crate) fn strings(&self) -> Strings {
        self.more.as_deref().copied().unwrap_or_else(|| Strings {
            min: Prefix::of(&self.min, LEAST),
            max: Prefix::of(&self.max, LEAST),
            times: None,
        })
    }

    /// Memory beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.more.as_deref().map_or(0, size_of_val)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.min);
        out.extend_from_slice(&self.max);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self::of_words(reader.array()?, reader.array()?))
    }

    /// What is more to them, if anything.
    pub(crate) fn write_more(&self, out: &mut Vec<u8>) {
        let Some(strings) = self.more.as_deref() else { return };
        let (min, max) = (&strings.min.bytes()[LEAST..], &strings.max.bytes()[LEAST..]);
        let ahead = strings.times.and_then(|times| times.ahead);
        let flags = if strings.times.is_some() { TIMES } else { 0 } | if ahead.is_some() { ZONED } else { 0 };
        out.push(min.len() as u8 | flags);
        out.extend_from_slice(min);
        out.extend_from_slice(max);
        if let Some(times) = strings.times {
            out.extend_from_slice(&times.min.to_le_bytes());
            out.extend_from_slice(&times.max.to_le_bytes());
            out.push(times.alike);
        }
        if let Some((least, most)) = ahead {
            out.extend_from_slice(&least.to_le_bytes());
            out.extend_from_slice(&most.to_le_bytes());
        }
    }

    pub(crate) fn read_more(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let flags = reader.u8()?;
        let len = usize::from(flags & (TIMES - 1));
        if len > MOST - LEAST || flags == 0 {
            return corrupt("bounds of an unknown length");
        }
        let mut bound = |first: [u8; LEAST]| -> Result<Prefix> {
            let mut whole = first.to_vec();
            whole.extend_from_slice(reader.bytes(len)?);
            Ok(Prefix::of(&whole, whole.len()))
        };
        let (min, max) = (bound(self.min)?, bound(self.max)?);
        let times = match flags & TIMES {
            0 => None,
            _ => Some(Times {
                min: i64::from_le_bytes(reader.array()?),
                max: i64::from_le_bytes(reader.array()?),
                alike: reader.u8()?,
                ahead: match flags & ZONED {
                    0 => None,
                    _ => Some((i16::from_le_bytes(reader.array()?), i16::from_le_bytes(reader.array()?))),
                },
            }),
        };
        if times.is_some_and(|times| !times.is_sound()) {
            return corrupt("bounds that no times have");
        }
        self.more = Some(Box::new(Strings { min, max, times }));
        Ok(())
    }
}
