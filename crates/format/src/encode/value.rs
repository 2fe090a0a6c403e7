//! One value of those of a column, or of a block.

use super::{bitpack, hybrid, ints, strings};
use crate::bytes::Reader;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::scalar::{Scalar, of_bytes};

/// Where the strings of a block of `n` begin, with `ends` set to where from there each ends, if they are stored as they
/// are.
pub(crate) fn plain_strings(
    bytes: &[u8],
    kind: Kind,
    n: usize,
    limit: usize,
    ends: &mut Vec<u32>,
) -> Result<Option<usize>> {
    match kind {
        Kind::Numeric | Kind::Bytes | Kind::Raw => strings::plain(bytes, n, limit, ends),
        _ => Ok(None),
    }
}

/// Decodes value `i` of `n`, of a kind that scalars have, alone; `buf` may hold it.
pub(crate) fn decode_at<'a>(
    bytes: &[u8],
    kind: Kind,
    n: usize,
    i: usize,
    limit: usize,
    buf: &'a mut Vec<u8>,
) -> Result<Scalar<'a>> {
    let mut reader = Reader::new(bytes);
    match kind {
        Kind::Numeric | Kind::Bytes | Kind::Raw => {
            strings::decode_at(&mut reader, n, i, limit, buf)?;
            Ok(of_bytes(kind, buf))
        }
        Kind::Int => Ok(Scalar::Int(ints::decode_at(&mut reader, n, i)?)),
        Kind::Decimal => {
            let scale = scale_of(ints::decode_at(&mut reader, n, i)?)?;
            let mantissa = ints::decode_at(&mut reader, n, i)?;
            Ok(Scalar::Decimal { mantissa, scale })
        }
        Kind::Bool => match bools(bytes, n)?.get(i) {
            Some(&value) => Ok(Scalar::Bool(value)),
            None => corrupt("value past the end of its block"),
        },
        _ => corrupt("blocks of a column that has none"),
    }
}

/// Value `i` of `n` floats of `N` bytes.
pub(crate) fn float_at<const N: usize>(bytes: &[u8], n: usize, i: usize) -> Result<[u8; N]> {
    match n.checked_mul(N) {
        Some(total) if i < n && bytes.len() == total => Ok(std::array::from_fn(|k| bytes[k * n + i])),
        _ => corrupt("value past the end of its block"),
    }
}

/// Decodes exactly `n` booleans; one alone costs as much.
pub(crate) fn bools(bytes: &[u8], n: usize) -> Result<Vec<bool>> {
    let mut out = Vec::with_capacity(n);
    let mut runs = hybrid::Runs::new(bytes, n, 1);
    while let Some(run) = runs.next()? {
        match run {
            hybrid::Run::Repeated(v, count) => out.resize(out.len() + count, v != 0),
            hybrid::Run::Packed(packed, count) => {
                bitpack::unpack_some(packed, count, 1, |some| out.extend(some.iter().map(|&v| v != 0)))?;
            }
        }
    }
    Ok(out)
}

pub(crate) fn scale_of(scale: i64) -> Result<u16> {
    u16::try_from(scale).or_else(|_| corrupt("decimal scale out of range"))
}
