//! Making vectors: value by value, and out of other vectors.

use std::borrow::Cow;

use amax_format::{Dense, Words, consecutive};
use amax_jsonb::numeric::{self, Number};

use crate::vector::{LARGE, Scalar, StringTable, Type, Vector};

/// A vector under construction.
#[derive(Debug)]
pub struct VectorBuilder {
    ty: Type,
    words: Vec<i64>,
    scales: Vec<u16>,
    valid: Vec<bool>,
    nulls: bool,
    strings: StringTable<'static>,
}

impl VectorBuilder {
    /// Of values of a type.
    pub fn new(ty: Type) -> Self {
        Self {
            ty,
            words: Vec::new(),
            scales: Vec::new(),
            valid: Vec::new(),
            nulls: false,
            strings: StringTable::default(),
        }
    }

    /// The type of its values.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        self.nulls = true;
        self.push(0, 0, false);
    }

    /// Appends a value of a type that is a word.
    pub fn push_word(&mut self, word: i64) {
        self.push(word, 0, true);
    }

    /// Appends a string.
    pub fn push_text(&mut self, text: &[u8]) {
        self.push(self.strings.len() as i64, 0, true);
        self.strings.push(text);
    }

    /// Appends a numeric, given as PostgreSQL's payload.
    pub fn push_numeric(&mut self, payload: &[u8]) {
        match numeric::decode(payload) {
            Some(Number::Int(v)) => self.push(v, 0, true),
            Some(Number::Decimal { mantissa, scale }) if scale != LARGE => self.push(mantissa, scale, true),
            _ => {
                self.push(self.strings.len() as i64, LARGE, true);
                self.strings.push(payload);
            }
        }
    }

    /// Appends value `i` of a vector of the same type.
    pub fn push_from(&mut self, vector: &Vector<'_>, i: usize) {
        match vector.get(i) {
            Scalar::Null => self.push_null(),
            Scalar::Text(text) => self.push_text(text),
            Scalar::Numeric(payload) => self.push_numeric(payload),
            _ => self.push(vector.words[i], vector.scale(i), true),
        }
    }

    /// Appends all values of a vector of the same type.
    pub fn push_all(&mut self, vector: &Vector<'_>) {
        (0..vector.len()).for_each(|i| self.push_from(vector, i));
    }

    fn push(&mut self, word: i64, scale: u16, valid: bool) {
        self.words.push(word);
        if self.ty == Type::Numeric {
            self.scales.push(scale);
        }
        self.valid.push(valid);
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        let strings = &self.strings;
        9 * self.words.len() + 2 * self.scales.len() + strings.data.len() + 4 * strings.ends.len()
    }

    /// Bytes of the strings among them.
    pub(crate) fn string_bytes(&self) -> usize {
        self.strings.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether two values are the same, to the byte.
    pub(crate) fn same(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        let text = |i: usize| self.strings.get(self.words[i] as usize);
        let large = |i: usize| self.scales.get(i) == Some(&LARGE);
        self.valid[a] == self.valid[b]
            && (!self.valid[a]
                || match self.ty {
                    Type::Text => text(a) == text(b),
                    Type::Numeric if large(a) || large(b) => false,
                    Type::Numeric => (self.words[a], self.scales[a]) == (self.words[b], self.scales[b]),
                    _ => self.words[a] == self.words[b],
                })
    }

    /// The values at `places`, which may repeat.
    pub(crate) fn at(&self, places: &[u32]) -> Vector<'static> {
        let at = |i: &u32| *i as usize;
        let mut vector = Vector::of_words(self.ty, places.iter().map(|i| self.words[at(i)]).collect::<Vec<i64>>());
        vector.scales = (self.ty == Type::Numeric).then(|| places.iter().map(|i| self.scales[at(i)]).collect());
        vector.valid = self.nulls.then(|| places.iter().map(|i| self.valid[at(i)]).collect());
        vector.dictionary = self.strings.len() < places.len();
        vector.strings = Some(self.strings.clone());
        vector
    }

    /// The vector.
    pub fn finish(self) -> Vector<'static> {
        let mut vector = Vector::of_words(self.ty, self.words);
        vector.scales = (self.ty == Type::Numeric).then(|| self.scales.into());
        vector.valid = self.nulls.then(|| self.valid.into());
        vector.strings = Some(self.strings);
        vector
    }
}

impl<'a> Vector<'a> {
    /// The values at `places`, which may repeat: strings are shared, and each may stand for many rows.
    pub fn gather(mut self, places: &[u32]) -> Vector<'a> {
        let strings = self.strings.take();
        let few = |strings: &StringTable<'_>| strings.len() < places.len();
        Vector {
            dictionary: strings.as_ref().is_some_and(few),
            ..self.words_at(places, strings)
        }
    }

    /// The values at `places`: strings are shared.
    pub(crate) fn pick(&self, places: &[u32]) -> Vector<'_> {
        let strings = self.strings.as_ref();
        self.words_at(places, strings.map(|s| StringTable::new(&s.ends, &s.data)))
    }

    fn words_at<'s>(&self, places: &[u32], strings: Option<StringTable<'s>>) -> Vector<'s> {
        let at = |i: &u32| *i as usize;
        let (scales, valid) = (self.scales.as_deref(), self.valid.as_deref());
        Vector {
            ty: self.ty,
            words: places.iter().map(|i| self.words[at(i)]).collect(),
            scales: scales.map(|s| places.iter().map(|i| s[at(i)]).collect()),
            valid: valid.map(|v| places.iter().map(|i| v[at(i)]).collect()),
            dictionary: self.dictionary,
            strings,
        }
    }

    /// The values one after the other where `at` is true, and NULL elsewhere.
    pub fn spread(self, at: &[bool]) -> Vector<'a> {
        let mut next = 0;
        let places: Vec<usize> = at
            .iter()
            .map(|&here| {
                next += usize::from(here);
                next.saturating_sub(1)
            })
            .collect();
        let valid = at
            .iter()
            .zip(&places)
            .map(|(&here, &i)| here && self.is_valid(i))
            .collect();
        let word = |i: &usize| self.words.get(*i).copied().unwrap_or_default();
        let scale = |s: &[u16], i: &usize| s.get(*i).copied().unwrap_or_default();
        Vector {
            ty: self.ty,
            words: places.iter().map(word).collect(),
            scales: self.scales.map(|s| places.iter().map(|i| scale(&s, i)).collect()),
            valid: Some(valid),
            strings: self.strings,
            dictionary: self.dictionary,
        }
    }

    /// The first value, for so many rows.
    pub(crate) fn repeat(self, rows: usize) -> Vector<'a> {
        fn first<T: Copy>(values: &[T], rows: usize) -> Cow<'static, [T]> {
            values.first().map_or(vec![], |&first| vec![first; rows]).into()
        }
        Vector {
            words: first(&self.words, rows),
            scales: self.scales.map(|scales| first(&scales, rows)),
            valid: self.valid.map(|valid| first(&valid, rows)),
            dictionary: self.strings.as_ref().is_some_and(|s| s.len() < rows),
            ..self
        }
    }

    /// The words of a column's rows.
    pub(crate) fn of_rows(ty: Type, words: &'a Words, rows: &[u32]) -> Vector<'a> {
        let words = match consecutive(rows) {
            Some(range) => words.slice(range),
            None => words.gather(rows).into(),
        };
        Vector::of_words(ty, words)
    }

    /// Makes the column's strings those that the words index.
    pub(crate) fn index(mut self, dense: &'a Dense) -> Vector<'a> {
        let strings = dense.strings();
        self.dictionary = dense.is_dictionary();
        self.strings = Some(StringTable::new(strings.ends, strings.data));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_values_keep_their_order() {
        let spread = Vector::of_words(Type::Int, vec![7, 8]).spread(&[false, true, false, true]);
        let values: Vec<Scalar<'_>> = (0..4).map(|i| spread.get(i)).collect();
        assert_eq!(values, [Scalar::Null, Scalar::Int(7), Scalar::Null, Scalar::Int(8)]);
        let none = Vector::of_words(Type::Int, Vec::new()).spread(&[false]);
        assert_eq!(none.get(0), Scalar::Null);
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut builder = VectorBuilder::new(Type::Numeric);
        let large = numeric::from_text("1e40").expect("a number");
        builder.push_numeric(&large);
        builder.push_null();
        let mut small = Vec::new();
        numeric::encode_decimal(150, 2, &mut small).expect("a number");
        builder.push_numeric(&small);
        let vector = builder.finish().gather(&[2, 1, 0, 0]);
        assert_eq!(
            vector.get(0),
            Scalar::Decimal {
                mantissa: 150,
                scale: 2
            }
        );
        assert_eq!(vector.get(1), Scalar::Null);
        assert_eq!(vector.get(2), Scalar::Numeric(&large));
        assert_eq!(vector.get(3), Scalar::Numeric(&large));
    }
}
