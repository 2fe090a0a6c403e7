//! What expressions are made of besides their operands: operators, the types of casts, scalars of documents.

use crate::vector::Type;

/// Operators of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, of integers and numerics.
    Modulo,
}

/// What a comparison asks of an ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Comparison {
    /// Whether two values in this order pass.
    #[inline]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }

    /// The comparison with its sides exchanged.
    pub fn flip(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }
}

/// Which operator a JSON value came out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// `->>`: the value as text, and a cast reads that.
    Text,
    /// `->`: the value as jsonb.
    Json,
}

/// A type as a cast's target or an operator's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// An integer type by its range.
    Int {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// `double precision`.
    Float,
    /// `numeric`.
    Numeric,
    /// `boolean`.
    Bool,
}

impl To {
    /// The vectors that hold it.
    pub fn holder(self) -> Type {
        match self {
            Self::Int { .. } => Type::Int,
            Self::Float => Type::Float,
            Self::Numeric => Type::Numeric,
            Self::Bool => Type::Bool,
        }
    }
}

/// A scalar document.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonScalar {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number {
        /// Without the decimal point.
        mantissa: i64,
        /// Decimals.
        scale: u16,
    },
    /// A string.
    String(Vec<u8>),
}
