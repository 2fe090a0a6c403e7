//! A column with one place per row: what vectorized execution reads.
//!
//! A [`crate::PathColumn`] answers row by row, over bitmaps and unions; here that work is done once per leaf, so that an expression
//! over the column is a loop over arrays.

use std::sync::Arc;

use crate::assemble::Scalar;
use crate::column::Column;
use crate::error::Result;
use crate::kind::Kind;
use crate::path::PathColumn;
use crate::tree::{Body, Tree};
use crate::values::{ByteVec, Values};
use crate::vector::Strings;

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// No value: SQL NULL.
    Missing,
    /// JSON null.
    Null,
    /// Word: 0 or 1.
    Bool,
    /// Word: the number.
    Int,
    /// Word: the number without its decimal point; the scale beside it.
    Decimal,
    /// Word: the bits of an `f64`.
    Float,
    /// Word: which of the strings.
    String,
    /// An array, an object or a number of another form: to be asked of the column it came from.
    Other,
}

/// The values of a column, row by row.
#[derive(Clone, Debug)]
pub struct Dense {
    rows: usize,
    /// What all rows hold, if they hold the same.
    uniform: Option<Tag>,
    /// Per row, unless uniform.
    tags: Vec<Tag>,
    words: Vec<i64>,
    /// Per row, if there are decimals.
    scales: Vec<u16>,
    strings: Option<Arc<Values>>,
}

impl Dense {
    fn new(rows: usize) -> Self {
        Self {
            rows,
            uniform: None,
            tags: vec![Tag::Missing; rows],
            words: vec![0; rows],
            scales: Vec::new(),
            strings: None,
        }
    }

    /// Rows that all hold the same, of a tag that needs no word.
    pub fn filled(rows: usize, tag: Tag) -> Self {
        Self {
            uniform: Some(tag),
            tags: Vec::new(),
            ..Self::new(rows)
        }
    }

    /// Integers.
    pub fn ints(values: impl Iterator<Item = Option<i64>>) -> Self {
        let values: Vec<Option<i64>> = values.collect();
        let mut dense = Self::new(values.len());
        for (row, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                dense.words[row] = value;
                dense.tags[row] = Tag::Int;
            }
        }
        dense
    }

    /// What these places hold, in their order; beyond the last there is nothing.
    pub fn take(&self, places: &[u32]) -> Self {
        let held = |&place: &u32| (place as usize) < self.rows;
        let uniform = self.uniform.filter(|_| places.iter().all(held));
        let word = |place: &u32| self.words.get(*place as usize).copied().unwrap_or(0);
        let tag = |place: &u32| {
            if held(place) {
                self.tag(*place as usize)
            } else {
                Tag::Missing
            }
        };
        let scale = |place: &u32| self.scales.get(*place as usize).copied().unwrap_or(0);
        Self {
            rows: places.len(),
            uniform,
            tags: match uniform {
                Some(_) => Vec::new(),
                None => places.iter().map(tag).collect(),
            },
            words: places.iter().map(word).collect(),
            scales: match self.scales.is_empty() {
                true => Vec::new(),
                false => places.iter().map(scale).collect(),
            },
            strings: self.strings.clone(),
        }
    }

    /// Rows to be set one by one, whose strings are those.
    pub(crate) fn of_codes(rows: usize, entries: ByteVec) -> Self {
        let codes = Vec::new();
        Self {
            strings: Some(Arc::new(Values::Dictionary { entries, codes })),
            ..Self::new(rows)
        }
    }

    pub(crate) fn set(&mut self, row: usize, tag: Tag, word: i64) {
        self.tags[row] = tag;
        self.words[row] = word;
    }

    /// After the last row was set: looks whether all hold the same.
    pub(crate) fn settle(&mut self) {
        if let Some((&first, rest)) = self.tags.split_first() {
            if rest.iter().all(|&tag| tag == first) {
                self.uniform = Some(first);
                self.tags = Vec::new();
            }
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// What all rows hold, if they hold the same.
    pub fn uniform(&self) -> Option<Tag> {
        self.uniform
    }

    /// What `row` holds.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn tag(&self, row: usize) -> Tag {
        match self.uniform {
            Some(tag) => tag,
            None => self.tags[row],
        }
    }

    /// One word per row; see [`Tag`].
    pub fn words(&self) -> &[i64] {
        &self.words
    }

    /// The decimals' scales, one per row; empty if there are no decimals.
    pub fn scales(&self) -> &[u16] {
        &self.scales
    }

    /// The strings that words of [`Tag::String`] number.
    pub fn strings(&self) -> Strings<'_> {
        match self.strings.as_deref() {
            Some(Values::Bytes(bytes) | Values::Dictionary { entries: bytes, .. }) => {
                Strings::new(bytes)
            }
            _ => Strings {
                ends: &[],
                data: &[],
            },
        }
    }

    /// Whether the strings are distinct, so that equal words are equal strings.
    pub fn is_dictionary(&self) -> bool {
        matches!(
            self.strings.as_deref(),
            Some(Values::Dictionary { .. }) | None
        )
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        let strings = self.strings.as_ref().map_or(0, |s| s.heap_bytes());
        self.tags.len() + self.words.len() * 8 + self.scales.len() * 2 + strings
    }

    /// Fills in the values of one node, whose places are rows.
    fn fill(&mut self, tree: &Tree, node: u32) -> Result<()> {
        let node = &tree.nodes[node as usize];
        let places = node.presence.iter().map(|row| row as usize).enumerate();
        let tag = match (&node.body, node.kind) {
            (_, Kind::Null) => Tag::Null,
            (Body::Leaf(values), kind) => match (&**values, kind) {
                (Values::Bool(v), _) => {
                    places.for_each(|(i, row)| self.words[row] = i64::from(v[i]));
                    Tag::Bool
                }
                (Values::Int(v), _) => {
                    places.for_each(|(i, row)| self.words[row] = v[i]);
                    Tag::Int
                }
                (Values::Decimal { mantissa, scale }, _) => {
                    self.scales.resize(self.rows, 0);
                    places.for_each(|(i, row)| {
                        self.words[row] = mantissa[i];
                        self.scales[row] = scale[i];
                    });
                    Tag::Decimal
                }
                (Values::Float4(v), _) => {
                    places.for_each(|(i, row)| {
                        self.words[row] = f64::from(f32::from_bits(v[i])).to_bits() as i64;
                    });
                    Tag::Float
                }
                (Values::Float8(v), _) => {
                    places.for_each(|(i, row)| self.words[row] = v[i] as i64);
                    Tag::Float
                }
                (Values::Bytes(_), Kind::Bytes) => {
                    let first = self.add_strings(values)?;
                    places.for_each(|(i, row)| self.words[row] = first + i as i64);
                    Tag::String
                }
                (Values::Dictionary { codes, .. }, Kind::Bytes) => {
                    let first = self.add_strings(values)?;
                    places.for_each(|(i, row)| self.words[row] = first + i64::from(codes[i]));
                    Tag::String
                }
                _ => Tag::Other,
            },
            _ => Tag::Other,
        };
        if node.presence.len() as usize == self.rows {
            self.uniform = Some(tag);
            self.tags = Vec::new();
        } else {
            node.presence
                .iter()
                .for_each(|row| self.tags[row as usize] = tag);
        }
        Ok(())
    }

    /// Adds a node's strings, which are shared as long as no other node has any; the number of the first.
    fn add_strings(&mut self, values: &Arc<Values>) -> Result<i64> {
        let Some(before) = self.strings.take() else {
            self.strings = Some(values.clone());
            return Ok(0);
        };
        let table = |values: &Values| match values {
            Values::Bytes(entries) | Values::Dictionary { entries, .. } => entries.clone(),
            _ => ByteVec::default(),
        };
        let mut all = match Arc::try_unwrap(before) {
            Ok(Values::Bytes(all)) => all,
            Ok(other) => table(&other),
            Err(shared) => table(&shared),
        };
        let first = all.len() as i64;
        for string in table(values).iter() {
            all.push(string)?;
        }
        self.strings = Some(Arc::new(Values::Bytes(all)));
        Ok(first)
    }

    fn of(tree: &Tree, rows: usize, nodes: &[u32]) -> Result<Self> {
        let mut dense = Self::new(rows);
        for &node in nodes {
            dense.fill(tree, node)?;
        }
        dense.settle();
        Ok(dense)
    }
}

impl Column {
    /// The column with one place per row; documents are [`Tag::Other`].
    ///
    /// # Errors
    /// As [`PathColumn::get`].
    pub fn dense(&self) -> Result<Dense> {
        Dense::of(&self.tree, self.len(), &self.tree.roots)
    }
}

impl PathColumn {
    /// The path's values with one place per row.
    ///
    /// # Errors
    /// As [`PathColumn::get`].
    pub fn dense(&self) -> Result<Dense> {
        if let Some(nodes) = self.ends() {
            return Dense::of(&self.tree, self.len(), &nodes);
        }
        let mut dense = Dense::new(self.len());
        let mut strings = ByteVec::default();
        let mut buffer = Vec::new();
        for row in 0..self.len() {
            let (tag, word) = match self.get(row, &mut buffer)? {
                None => continue,
                Some(Scalar::Null) => (Tag::Null, 0),
                Some(Scalar::Bool(v)) => (Tag::Bool, i64::from(v)),
                Some(Scalar::Int(v)) => (Tag::Int, v),
                Some(Scalar::Decimal { mantissa, scale }) => {
                    dense.scales.resize(dense.rows, 0);
                    dense.scales[row] = scale;
                    (Tag::Decimal, mantissa)
                }
                Some(Scalar::String(v)) => {
                    strings.push(v)?;
                    (Tag::String, strings.len() as i64 - 1)
                }
                Some(Scalar::Numeric(_) | Scalar::Payload(_)) => (Tag::Other, 0),
            };
            dense.tags[row] = tag;
            dense.words[row] = word;
        }
        if strings.len() > 0 {
            dense.strings = Some(Arc::new(Values::Bytes(strings)));
        }
        Ok(dense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::leaf;
    use crate::{LeafOptions, PathStep};

    #[test]
    fn every_kind_has_its_tag() {
        let documents = [
            r#"{"a":1}"#,
            r#"{"a":1.50}"#,
            r#"{"a":"x"}"#,
            r#"{"a":true}"#,
            r#"{"a":null}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":[]}"#,
            r#"{}"#,
            r#"{"a":1e40}"#,
        ];
        // The same documents with few and with many of them: in the overflow column, and as columns.
        for copies in [1, 100] {
            let many: Vec<&str> = documents
                .iter()
                .flat_map(|d| std::iter::repeat_n(*d, copies))
                .collect();
            let leaf = leaf(many.iter().copied(), LeafOptions::default());
            let path = leaf.path(0, &[PathStep::Key(b"a".to_vec())]).expect("path");
            let dense = path.dense().expect("dense");
            use Tag::*;
            let tags = [
                Int, Decimal, String, Bool, Null, Other, Other, Missing, Other,
            ];
            for (row, tag) in (0..many.len()).map(|row| (row, tags[row / copies])) {
                assert_eq!(dense.tag(row), tag, "row {row} of {}", many.len());
                let word = dense.words()[row];
                match tag {
                    Int | Bool => assert_eq!(word, 1),
                    Decimal => assert_eq!((word, dense.scales()[row]), (150, 2)),
                    String => assert_eq!(dense.strings().get(word as usize), Some(&b"x"[..])),
                    _ => {}
                }
            }
        }
    }
}
