//! The values of an expression for the selected rows of one batch.

use std::borrow::Cow;

use crate::collation::TextOrder;

/// What the words of a [`Vector`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// 0 or 1.
    Bool,
    /// Anything ordered and equal as `i64`: int2, int4, int8, date, timestamp, timestamptz, oid.
    Int,
    /// Bits of an `f64`; float4 is widened.
    Float,
    /// A mantissa, and its display scale in `scales`; or [`LARGE`].
    Numeric,
    /// An index into `strings`: any byte string, compared and hashed bytewise.
    Text,
}

/// The scale of a numeric whose word is an index into `strings`, where its payload is as
/// [`amax_jsonb::numeric`] reads it: NaN, infinities and what does not fit a mantissa and a scale.
pub const LARGE: u16 = u16::MAX;

/// Element `i` is the value of the `i`-th selected row.
#[derive(Clone, Debug)]
pub struct Vector<'a> {
    /// Of all the values.
    pub ty: Type,
    /// One per row; of a NULL row it may be anything.
    pub words: Cow<'a, [i64]>,
    /// Display scales, only of [`Type::Numeric`]; without them all are zero.
    pub scales: Option<Cow<'a, [u16]>>,
    /// Which rows are not NULL; `None` if none is.
    pub valid: Option<Cow<'a, [bool]>>,
    /// What words of [`Type::Text`] and large numerics index.
    pub strings: Option<StringTable<'a>>,
    /// Whether the words are codes into few strings, so that work done once per string pays.
    pub dictionary: bool,
}

/// Byte strings back to back: string `i` is `data[ends[i - 1]..ends[i]]`.
#[derive(Clone, Debug, Default)]
pub struct StringTable<'a> {
    /// Where each string ends, ascending, at most `data.len()`.
    pub ends: Cow<'a, [u32]>,
    /// The strings.
    pub data: Cow<'a, [u8]>,
}

/// One value of a [`Vector`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// SQL NULL.
    Null,
    /// Of a [`Type::Bool`] vector.
    Bool(bool),
    /// Of a [`Type::Int`] vector.
    Int(i64),
    /// Of a [`Type::Float`] vector.
    Float(f64),
    /// `mantissa` / 10^`scale`, displayed with `scale` decimals.
    Decimal {
        /// Without the decimal point.
        mantissa: i64,
        /// Decimals displayed.
        scale: u16,
    },
    /// The payload of any other numeric.
    Numeric(&'a [u8]),
    /// Of a [`Type::Text`] vector.
    Text(&'a [u8]),
}

impl<'a> Vector<'a> {
    /// Of words that need neither scales nor strings, without NULLs.
    pub fn of_words(ty: Type, words: impl Into<Cow<'a, [i64]>>) -> Self {
        Self {
            ty,
            words: words.into(),
            scales: None,
            valid: None,
            strings: None,
            dictionary: false,
        }
    }

    /// Codes into distinct strings, without NULLs.
    pub fn of_codes(codes: impl Into<Cow<'a, [i64]>>, strings: StringTable<'a>) -> Self {
        Self {
            strings: Some(strings),
            dictionary: true,
            ..Self::of_words(Type::Text, codes)
        }
    }

    /// One string per row, without NULLs.
    pub fn of_strings(strings: StringTable<'a>) -> Self {
        let words: Vec<i64> = (0..strings.len() as i64).collect();
        Self {
            dictionary: false,
            ..Self::of_codes(words, strings)
        }
    }

    /// So many NULLs.
    pub(crate) fn nulls(ty: Type, rows: usize) -> Self {
        Self {
            valid: Some(vec![false; rows].into()),
            strings: Some(StringTable::default()),
            dictionary: ty == Type::Text,
            ..Self::of_words(ty, vec![0; rows])
        }
    }

    /// The same, of which nothing is copied.
    pub(crate) fn shared(&self) -> Vector<'_> {
        let strings = self.strings.as_ref();
        Vector {
            ty: self.ty,
            words: Cow::Borrowed(&self.words),
            scales: self.scales.as_deref().map(Cow::Borrowed),
            valid: self.valid.as_deref().map(Cow::Borrowed),
            strings: strings.map(|strings| StringTable::new(&strings.ends, &strings.data)),
            dictionary: self.dictionary,
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether row `i` is not NULL.
    #[inline]
    pub fn is_valid(&self, i: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[i])
    }

    /// The display scale of row `i`, or [`LARGE`].
    #[inline]
    pub fn scale(&self, i: usize) -> u16 {
        self.scales.as_ref().map_or(0, |scales| scales[i])
    }

    /// The string row `i` indexes, which is not NULL.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn string(&self, i: usize) -> &[u8] {
        self.view().string(i)
    }

    /// The value of row `i`.
    pub fn get(&self, i: usize) -> Scalar<'_> {
        let word = self.words[i];
        match self.ty {
            _ if !self.is_valid(i) => Scalar::Null,
            Type::Bool => Scalar::Bool(word != 0),
            Type::Int => Scalar::Int(word),
            Type::Float => Scalar::Float(f64::from_bits(word as u64)),
            Type::Text => Scalar::Text(self.string(i)),
            Type::Numeric => match self.scale(i) {
                LARGE => Scalar::Numeric(self.string(i)),
                scale => Scalar::Decimal { mantissa: word, scale },
            },
        }
    }
}

impl<'a> StringTable<'a> {
    /// Borrowed.
    pub fn new(ends: &'a [u32], data: &'a [u8]) -> Self {
        Self {
            ends: Cow::Borrowed(ends),
            data: Cow::Borrowed(data),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.data[start as usize..self.ends[i] as usize]
    }

    /// Appends a string.
    ///
    /// # Panics
    /// If the strings together exceed 4 GiB.
    pub fn push(&mut self, string: &[u8]) {
        let data = self.data.to_mut();
        data.extend_from_slice(string);
        let end = u32::try_from(data.len()).expect("4 GiB of strings");
        self.ends.to_mut().push(end);
    }
}

impl<'a, S: AsRef<[u8]>> FromIterator<S> for StringTable<'a> {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut table = Self::default();
        for string in strings {
            table.push(string.as_ref());
        }
        table
    }
}

/// A vector's slices, for tight loops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) ty: Type,
    pub(crate) words: &'a [i64],
    pub(crate) scales: Option<&'a [u16]>,
    pub(crate) valid: Option<&'a [bool]>,
    /// An aggregate's second argument, if it has one.
    pub(crate) second: Option<&'a View<'a>>,
    /// The order of an aggregate's text, if it is not that of bytes.
    pub(crate) order: Option<&'a TextOrder>,
    ends: &'a [u32],
    data: &'a [u8],
    pub(crate) dictionary: bool,
}

impl Vector<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        let strings = self.strings.as_ref();
        View {
            ty: self.ty,
            words: &self.words,
            scales: self.scales.as_deref(),
            valid: self.valid.as_deref(),
            second: None,
            order: None,
            ends: strings.map_or(&[], |strings| &strings.ends),
            data: strings.map_or(&[], |strings| &strings.data),
            dictionary: self.dictionary,
        }
    }
}

impl<'a> View<'a> {
    /// Whether all strings are of ASCII, where that costs less than looking at each.
    pub(crate) fn is_ascii(&self) -> bool {
        self.strings() <= 2 * self.words.len() && self.data.is_ascii()
    }

    #[inline]
    pub(crate) fn is_valid(&self, i: usize) -> bool {
        self.valid.is_none_or(|valid| valid[i])
    }

    #[inline]
    pub(crate) fn scale(&self, i: usize) -> u16 {
        self.scales.map_or(0, |scales| scales[i])
    }

    #[inline]
    pub(crate) fn string(&self, i: usize) -> &'a [u8] {
        self.text(self.words[i] as usize)
    }

    pub(crate) fn strings(&self) -> usize {
        self.ends.len()
    }

    /// What a word stands for.
    #[inline]
    pub(crate) fn text(&self, string: usize) -> &'a [u8] {
        let start = if string == 0 { 0 } else { self.ends[string - 1] };
        &self.data[start as usize..self.ends[string] as usize]
    }
}
