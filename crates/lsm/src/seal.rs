//! Values as bytes with a checksum behind them.

use crate::Damaged;
use serde::{Deserialize, Serialize};

pub(crate) fn seal<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(value).expect("plain data always serializes");
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

pub(crate) fn unseal<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, Damaged> {
    decode(unsealed(bytes)?)
}

/// The bytes of a value, whose checksum is right.
pub(crate) fn unsealed(bytes: &[u8]) -> Result<&[u8], Damaged> {
    let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(Damaged("shorter than its checksum".into()));
    };
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return Err(Damaged("checksum does not match".into()));
    }
    Ok(body)
}

pub(crate) fn decode<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, Damaged> {
    postcard::from_bytes(body).map_err(|e| Damaged(format!("does not decode: {e}")))
}
