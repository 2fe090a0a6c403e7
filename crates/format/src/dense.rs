//! A column with one place per row: what vectorized execution reads.
//!
//! A [`crate::PathColumn`] answers row by row, over bitmaps and unions; here that work is done once per leaf, so that
//! an expression over the column is a loop over arrays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::ScalarBuffer;

use crate::column::Column;
use crate::error::Result;
use crate::kind::Kind;
use crate::path::PathColumn;
use crate::scalar::Scalar;
use crate::strings::ByteVec;
use crate::tag::Tag;
use crate::tree::{Body, Tree};
use crate::values::Values;
use crate::vector::Strings;
use crate::words::Words;
use crate::zone::Zone;

/// The tags that rows may have, at least one: a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) u8);

impl Kinds {
    fn of(tags: &[u8]) -> Self {
        let bits = tags.iter().fold(0, |bits, &tag| bits | 1 << tag);
        Self(if tags.is_empty() { Self::MISSING } else { bits })
    }

    const MISSING: u8 = 1 << Tag::Missing as u8;

    #[inline]
    pub(crate) fn only(self) -> Option<Tag> {
        let only = Tag::ALL[self.0.trailing_zeros() as usize & 7];
        self.0.is_power_of_two().then_some(only)
    }
}

/// The values of a column, row by row. Its arrays are its own, or lie in memory that processes share
/// ([`crate::image`]).
#[derive(Clone, Debug)]
pub struct Dense {
    pub(crate) rows: usize,
    pub(crate) kinds: Kinds,
    /// A [`Tag`] per row, unless there is but one kind.
    pub(crate) tags: ScalarBuffer<u8>,
    pub(crate) words: Words,
    /// Per row, if there are decimals.
    pub(crate) scales: ScalarBuffer<u16>,
    pub(crate) strings: Option<Texts>,
    pub(crate) zone: Option<Zone>,
}

/// Strings of a dense column.
#[derive(Clone, Debug)]
pub(crate) enum Texts {
    /// Those of the column it comes from.
    Column(Arc<Values>),
    Image {
        ends: ScalarBuffer<u32>,
        data: ScalarBuffer<u8>,
        distinct: bool,
    },
}

/// A dense column whose rows are being set.
pub(crate) struct Filling {
    tags: Vec<u8>,
    words: Vec<i64>,
    scales: Vec<u16>,
    strings: Option<Arc<Values>>,
}

impl Filling {
    fn new(rows: usize) -> Self {
        Self {
            tags: vec![Tag::Missing as u8; rows],
            words: vec![0; rows],
            scales: Vec::new(),
            strings: None,
        }
    }

    /// Rows whose strings are those.
    pub(crate) fn of_codes(rows: usize, entries: ByteVec) -> Self {
        let codes = Vec::new();
        Self {
            strings: Some(Arc::new(Values::Dictionary { entries, codes })),
            ..Self::new(rows)
        }
    }

    pub(crate) fn set(&mut self, row: usize, tag: Tag, word: i64) {
        self.tags[row] = tag as u8;
        self.words[row] = word;
    }

    fn set_decimal(&mut self, row: usize, mantissa: i64, scale: u16) {
        self.scales.resize(self.tags.len(), 0);
        self.scales[row] = scale;
        self.set(row, Tag::Decimal, mantissa);
    }

    pub(crate) fn finish(self) -> Dense {
        let rows = self.tags.len();
        let kinds = Kinds::of(&self.tags);
        let (tags, words) = match kinds.only() {
            Some(tag) => (Vec::new(), Words::new(self.words, |_| tag.has_word())),
            None => {
                let held = |row: usize| Tag::of_byte(self.tags[row]).has_word();
                let words = Words::new(self.words, held);
                (self.tags, words)
            }
        };
        Dense {
            rows,
            kinds,
            tags: tags.into(),
            words,
            scales: self.scales.into(),
            strings: self.strings.map(Texts::Column),
            zone: None,
        }
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
                    self.scales.resize(self.tags.len(), 0);
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
        if node.presence.len() as usize == self.tags.len() {
            self.tags.fill(tag as u8);
        } else {
            let rows = node.presence.iter();
            rows.for_each(|row| self.tags[row as usize] = tag as u8);
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
}

/// A column that is made value by value. Its strings are a dictionary.
#[derive(Debug, Default)]
pub struct DenseBuilder {
    tags: Vec<u8>,
    words: Vec<i64>,
    scales: Vec<u16>,
    codes: HashMap<Box<[u8]>, i64>,
    strings: ByteVec,
}

impl DenseBuilder {
    /// A row's tag and word.
    pub fn push(&mut self, tag: Tag, word: i64) {
        self.tags.push(tag as u8);
        self.words.push(word);
    }

    /// A row's decimal.
    pub fn push_decimal(&mut self, mantissa: i64, scale: u16) {
        self.scales.resize(self.tags.len(), 0);
        self.scales.push(scale);
        self.push(Tag::Decimal, mantissa);
    }

    /// A row's string.
    ///
    /// # Errors
    /// If strings are too many, or memory is short.
    pub fn push_string(&mut self, string: &[u8]) -> Result<()> {
        let code = match self.codes.get(string) {
            Some(&code) => code,
            None => {
                let code = self.strings.len() as i64;
                self.strings.push(string)?;
                self.codes.insert(string.into(), code);
                code
            }
        };
        self.push(Tag::String, code);
        Ok(())
    }

    /// The column.
    pub fn finish(mut self) -> Dense {
        if !self.scales.is_empty() {
            self.scales.resize(self.tags.len(), 0);
        }
        let codes = Vec::new();
        let strings = Values::Dictionary {
            entries: self.strings,
            codes,
        };
        let filling = Filling {
            tags: self.tags,
            words: self.words,
            scales: self.scales,
            strings: (!self.codes.is_empty()).then(|| Arc::new(strings)),
        };
        filling.finish()
    }
}

impl Dense {
    /// Rows that all hold the same, of a tag that needs no word.
    pub fn filled(rows: usize, tag: Tag) -> Self {
        Filling {
            tags: vec![tag as u8; rows],
            ..Filling::new(rows)
        }
        .finish()
    }

    /// Integers.
    pub fn ints(values: impl Iterator<Item = Option<i64>>) -> Self {
        let values: Vec<Option<i64>> = values.collect();
        let mut dense = Filling::new(values.len());
        for (row, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                dense.set(row, Tag::Int, value);
            }
        }
        dense.finish()
    }

    /// What these places hold, in their order; beyond the last there is nothing.
    pub fn take(&self, places: &[u32]) -> Self {
        let held = |&place: &u32| (place as usize) < self.rows;
        let mut kinds = self.kinds;
        if !places.iter().all(held) {
            kinds.0 |= Kinds::MISSING;
        }
        let tag = |place: &u32| match held(place) {
            true => self.tag(*place as usize) as u8,
            false => Tag::Missing as u8,
        };
        let scale = |place: &u32| self.scales.get(*place as usize).copied().unwrap_or(0);
        Self {
            rows: places.len(),
            kinds,
            tags: match kinds.only() {
                Some(_) => Vec::new(),
                None => places.iter().map(tag).collect(),
            }
            .into(),
            words: self.words.take(places),
            scales: match self.scales.is_empty() {
                true => Vec::new(),
                false => places.iter().map(scale).collect(),
            }
            .into(),
            strings: self.strings.clone(),
            zone: None,
        }
    }

    /// The same column, with the bounds that its leaf has of it.
    pub fn with_zone(self, zone: Option<Zone>) -> Self {
        Self { zone, ..self }
    }

    /// The bounds that its leaf has of it, if it came with them.
    pub fn zone(&self) -> Option<Zone> {
        self.zone
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
        self.kinds.only()
    }

    /// Whether something is true of what each row holds; it may be of all of them without our knowing.
    pub fn all(&self, of: impl Fn(Tag) -> bool) -> bool {
        let holds = |tag: &Tag| self.kinds.0 >> *tag as u8 & 1 == 0 || of(*tag);
        Tag::ALL.iter().all(holds)
    }

    /// What `row` holds.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn tag(&self, row: usize) -> Tag {
        match self.kinds.only() {
            Some(tag) => tag,
            None => Tag::of_byte(self.tags[row]),
        }
    }

    /// What `of` says of the tags of some rows. It is asked once per tag.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn by_tag<T: Copy>(&self, rows: &[u32], of: impl Fn(Tag) -> T) -> Vec<T> {
        let said = Tag::ALL.map(&of);
        match self.kinds.only() {
            Some(tag) => vec![of(tag); rows.len()],
            None => {
                let tags = rows.iter().map(|&row| self.tags[row as usize]);
                tags.map(|tag| said[usize::from(tag).min(7)]).collect()
            }
        }
    }

    /// One word per row, which its [`Tag`] says the meaning of; anything if that has none.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// The word of `row`.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn word(&self, row: usize) -> i64 {
        self.words.get(row)
    }

    /// The decimals' scales, one per row; empty if there are no decimals.
    pub fn scales(&self) -> &[u16] {
        &self.scales
    }

    /// The strings that words of [`Tag::String`] number.
    pub fn strings(&self) -> Strings<'_> {
        let (ends, data) = match &self.strings {
            Some(Texts::Image { ends, data, .. }) => (&ends[..], &data[..]),
            Some(Texts::Column(values)) => match &**values {
                Values::Bytes(bytes) | Values::Dictionary { entries: bytes, .. } => (&bytes.ends[..], &bytes.data[..]),
                _ => (&[][..], &[][..]),
            },
            None => (&[][..], &[][..]),
        };
        Strings { ends, data }
    }

    /// Whether the strings are distinct, so that equal words are equal strings.
    pub fn is_dictionary(&self) -> bool {
        match &self.strings {
            None => true,
            Some(Texts::Image { distinct, .. }) => *distinct,
            Some(Texts::Column(values)) => matches!(**values, Values::Dictionary { .. }),
        }
    }

    /// Whether some row's value is not here, but only in the column.
    pub fn has_others(&self) -> bool {
        match self.kinds.only() {
            Some(tag) => tag == Tag::Other,
            None => self.tags.contains(&(Tag::Other as u8)),
        }
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        let strings = match &self.strings {
            None => 0,
            Some(Texts::Column(values)) => values.heap_bytes(),
            Some(Texts::Image { ends, data, .. }) => ends.len() * 4 + data.len(),
        };
        self.tags.len() + self.words.offsets().len() + self.scales.len() * 2 + strings
    }

    fn of(tree: &Tree, rows: usize, nodes: &[u32]) -> Result<Self> {
        amax_memory::ask(16 * rows + tree.heap_bytes(), "a decoded column")?;
        if let &[node] = nodes
            && let Some(dense) = Self::of_all(tree, rows, node)
        {
            return Ok(dense);
        }
        let mut dense = Filling::new(rows);
        for &node in nodes {
            dense.fill(tree, node)?;
        }
        Ok(dense.finish())
    }

    /// Of a node that all rows have a value of, without a copy of its values on the way; None of others.
    fn of_all(tree: &Tree, rows: usize, node: u32) -> Option<Self> {
        let node = &tree.nodes[node as usize];
        let Body::Leaf(values) = &node.body else {
            return None;
        };
        if node.presence.len() as usize != rows || rows == 0 {
            return None;
        }
        let mut scales = ScalarBuffer::default();
        let (tag, words) = match (&**values, node.kind) {
            (Values::Bool(v), _) => (Tag::Bool, Words::of(v)),
            (Values::Int(v), _) => (Tag::Int, Words::of(v)),
            (Values::Decimal { mantissa, scale }, _) => {
                scales = scale.clone().into();
                (Tag::Decimal, Words::of(mantissa))
            }
            (Values::Dictionary { codes, .. }, Kind::Bytes) => (Tag::String, Words::of(codes)),
            _ => return None,
        };
        Some(Self {
            rows,
            kinds: Kinds(1 << tag as u8),
            tags: ScalarBuffer::default(),
            words,
            scales,
            strings: (tag == Tag::String).then(|| Texts::Column(values.clone())),
            zone: None,
        })
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
        let mut dense = Filling::new(self.len());
        let mut strings = ByteVec::default();
        let mut buffer = Vec::new();
        for row in 0..self.len() {
            let (tag, word) = match self.get(row, &mut buffer)? {
                None => continue,
                Some(Scalar::Null) => (Tag::Null, 0),
                Some(Scalar::Bool(v)) => (Tag::Bool, i64::from(v)),
                Some(Scalar::Int(v)) => (Tag::Int, v),
                Some(Scalar::Decimal { mantissa, scale }) => {
                    dense.set_decimal(row, mantissa, scale);
                    continue;
                }
                Some(Scalar::String(v)) => {
                    strings.push(v)?;
                    (Tag::String, strings.len() as i64 - 1)
                }
                Some(Scalar::Numeric(_) | Scalar::Payload(_)) => (Tag::Other, 0),
            };
            dense.set(row, tag, word);
        }
        if strings.len() > 0 {
            dense.strings = Some(Arc::new(Values::Bytes(strings)));
        }
        Ok(dense.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::leaf;
    use crate::{LeafOptions, PathStep};

    #[test]
    fn a_column_is_made_value_by_value() {
        let mut builder = DenseBuilder::default();
        builder.push(Tag::Missing, 0);
        builder.push(Tag::Int, -7);
        builder.push_decimal(150, 2);
        for string in ["x", "", "x"] {
            builder.push_string(string.as_bytes()).expect("memory");
        }
        let dense = builder.finish();
        let tags: Vec<Tag> = (0..dense.len()).map(|row| dense.tag(row)).collect();
        assert_eq!(
            tags,
            [
                Tag::Missing,
                Tag::Int,
                Tag::Decimal,
                Tag::String,
                Tag::String,
                Tag::String
            ]
        );
        assert_eq!((dense.word(1), dense.word(2), dense.scales()[2]), (-7, 150, 2));
        assert_eq!((dense.word(3), dense.word(4), dense.word(5)), (0, 1, 0));
        assert_eq!(dense.strings().get(1), Some(&b""[..]));
        assert!(dense.is_dictionary());
        assert_eq!(dense.take(&[5, 0]).tag(1), Tag::Missing);
    }

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
            let many: Vec<&str> = documents.iter().flat_map(|d| std::iter::repeat_n(*d, copies)).collect();
            let leaf = leaf(many.iter().copied(), LeafOptions::default());
            let path = leaf.path(0, &[PathStep::Key(b"a".to_vec())]).expect("path");
            let dense = path.dense().expect("dense");
            use Tag::*;
            let tags = [Int, Decimal, String, Bool, Null, Other, Other, Missing, Other];
            for (row, tag) in (0..many.len()).map(|row| (row, tags[row / copies])) {
                assert_eq!(dense.tag(row), tag, "row {row} of {}", many.len());
                let word = dense.word(row);
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
