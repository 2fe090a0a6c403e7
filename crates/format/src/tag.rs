//! What a row of a column holds.

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

impl Tag {
    /// In the order of their numbers.
    pub const ALL: [Tag; 8] = [
        Tag::Missing,
        Tag::Null,
        Tag::Bool,
        Tag::Int,
        Tag::Decimal,
        Tag::Float,
        Tag::String,
        Tag::Other,
    ];

    #[inline]
    pub(crate) fn of_byte(byte: u8) -> Tag {
        Self::ALL[usize::from(byte).min(7)]
    }

    /// Whether it says what the row's word is.
    pub(crate) fn has_word(self) -> bool {
        !matches!(self, Tag::Missing | Tag::Null | Tag::Other)
    }
}
