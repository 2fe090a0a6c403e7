//! What a column is written for.

/// What the values of a column become. Input functions of PostgreSQL's types read most texts as they are; the others are said
/// here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Text of any length: every value is written as it is.
    Text,
    /// A type that is not among the others: its input function says what it takes.
    Other,
    Bytes,
    Uuid,
    /// A day: a timestamp must be at midnight.
    Date,
    /// A time of day, or an interval: microseconds.
    Micros,
    /// A timestamp without a time zone takes none that has one.
    Timestamp,
    TimestampTz,
    Json,
    /// An array, with the delimiter of its elements' type.
    Array {
        delimiter: u8,
        element: Box<Target>,
    },
    /// A composite type's attributes.
    Composite(Vec<(String, Target)>),
}

impl Target {
    /// Whether it holds what is finer than a microsecond.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Self::Text | Self::Json | Self::Other)
    }
}
