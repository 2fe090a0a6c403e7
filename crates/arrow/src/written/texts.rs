//! A column of texts of which few are different, and which come as dictionaries: their numbers go through as they are.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use parquet::basic::Encoding;
use parquet::schema::types::ColumnDescPtr;

use super::numbers::put_codes;
use super::pages::{Dictionary, Pages, Rows, bounds};

/// Bytes of a dictionary, at most: what has more of different values is smaller without one.
pub(super) const LARGEST: usize = 64 * 1024;
/// Bytes of a text that statistics have whole.
const SHORT: usize = 64;

/// A text that no row has.
const NONE: u32 = u32::MAX;

/// None if too many are different, one is long, or there are none.
pub(super) fn pages<'a>(descriptor: &ColumnDescPtr, arrays: &'a [ArrayRef]) -> Option<Pages<&'a [u8]>> {
    let mut texts: Vec<&[u8]> = Vec::new();
    let mut dictionary = Vec::new();
    let mut places = HashMap::new();
    let mut codes = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for array in arrays {
        let array = array.as_dictionary::<Int32Type>();
        let values = array.values().as_string::<i32>();
        // Which of the array's values its rows have: a dictionary may have others.
        let mut used = vec![false; values.len()];
        let keys = array.keys();
        match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => keys.values().iter().for_each(|&key| used[key as usize] = true),
            Some(_) => keys.iter().flatten().for_each(|key| used[key as usize] = true),
        }
        let mut known = vec![NONE; values.len()];
        for (key, code) in known.iter_mut().enumerate().filter(|&(key, _)| used[key]) {
            let text = values.value(key).as_bytes();
            *code = *places.entry(text).or_insert_with(|| {
                dictionary.extend_from_slice(&(text.len() as u32).to_le_bytes());
                dictionary.extend_from_slice(text);
                texts.push(text);
                texts.len() as u32 - 1
            });
            if text.len() > SHORT || dictionary.len() > LARGEST {
                return None;
            }
        }
        match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => codes.extend(keys.values().iter().map(|&key| known[key as usize])),
            Some(_) => codes.extend(keys.iter().flatten().map(|key| known[key as usize])),
        }
    }
    if texts.is_empty() {
        return None;
    }
    let mut pages = Pages::new(descriptor, Encoding::RLE_DICTIONARY);
    for rows in Rows::cut(arrays) {
        let codes = &codes[rows.values.clone()];
        let mut used = vec![false; texts.len()];
        codes.iter().for_each(|&code| used[code as usize] = true);
        let used = texts.iter().zip(used).filter(|(_, used)| *used);
        pages.add(&rows, bounds(used.map(|(&text, _)| text)), |to| {
            put_codes(codes, texts.len(), to)
        });
    }
    let (bytes, count) = (dictionary, texts.len());
    Some(pages.with_dictionary(Dictionary { bytes, count }))
}
