//! Expressions over the columns of a leaf; [`crate::batch`] evaluates them.

use crate::like::Pattern;
use crate::operators::{Arithmetic, Comparison, From, JsonScalar, To};
use crate::vector::Type;

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// An SQL column held as `Type`.
    Column(usize, Type),
    /// A path by `->>`.
    Text(usize),
    /// A path cast to a number or a boolean.
    Cast {
        /// The path.
        input: usize,
        /// What is cast.
        from: From,
        /// To what.
        to: To,
    },
    /// A conversion between SQL numbers.
    Convert {
        /// The number.
        arg: Box<Expr>,
        /// To what.
        to: To,
    },
    /// The same for all rows.
    Once {
        /// For [`External::once`].
        id: usize,
        /// Its type.
        ty: Type,
        /// A constant or a parameter: computing it raises nothing, once it is known.
        simple: bool,
    },
    /// Two values of one type compared; text only for equality, or bytewise.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `arg = ANY (list)`, the list given as [`Expr::Once`] of the elements' type.
    Any(Box<Expr>, Vec<Expr>),
    /// Text that matches a pattern.
    Like(Box<Expr>, Pattern),
    /// The first; where it is unsure, the second, which raises no errors of its own.
    Else(Box<Expr>, Box<Expr>),
    /// `IS NULL`.
    IsNull(Box<Expr>),
    /// `IS NULL` of an input; JSON null is NULL by `->>`, not by `->`.
    IsMissing {
        /// The input.
        input: usize,
        /// Whether JSON null counts.
        or_null: bool,
    },
    /// A path by `->` equal to a scalar, as jsonb compares them.
    JsonEquals(usize, JsonScalar),
    /// Kleene's.
    And(Vec<Expr>),
    /// Kleene's.
    Or(Vec<Expr>),
    /// Kleene's.
    Not(Box<Expr>),
    /// Arithmetic.
    Arithmetic {
        /// Which.
        operator: Arithmetic,
        /// The result's type, which the operands have as well.
        to: To,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `to_timestamp(double precision)`.
    ToTimestamp(Box<Expr>),
    /// `base + interval 'unit microseconds' * factor`.
    AddInterval {
        /// Microseconds of the timestamp.
        base: i64,
        /// Microseconds of the interval.
        unit: i64,
        /// A float.
        factor: Box<Expr>,
    },
    /// A function of one integer-like argument, remembered per value; where it is the same at both ends of a step of
    /// the argument, it is the same within.
    Memo {
        /// For [`External::call`].
        id: usize,
        /// The argument.
        arg: Box<Expr>,
        /// 1: no steps.
        step: i64,
        /// Of the result.
        ty: Type,
    },
    /// Whatever else: PostgreSQL evaluates it, once per distinct string if it depends on nothing but `input`.
    External {
        /// For [`External::row`].
        id: usize,
        /// The only input it depends on.
        input: Option<usize>,
        /// Of the result.
        ty: Type,
    },
}

impl Expr {
    /// Whether PostgreSQL's functions are called for it, which may raise errors.
    pub fn calls_out(&self) -> bool {
        match self {
            Self::Column(..) | Self::Text(_) | Self::Cast { .. } | Self::IsMissing { .. } | Self::JsonEquals(..) => {
                false
            }
            Self::Once { simple, .. } => !simple,
            Self::Memo { .. } | Self::External { .. } => true,
            Self::Convert { arg, .. }
            | Self::Like(arg, _)
            | Self::Else(arg, _)
            | Self::IsNull(arg)
            | Self::Not(arg)
            | Self::ToTimestamp(arg) => arg.calls_out(),
            Self::AddInterval { factor, .. } => factor.calls_out(),
            Self::Compare(_, left, right) | Self::Arithmetic { left, right, .. } => {
                left.calls_out() || right.calls_out()
            }
            Self::Any(arg, list) => arg.calls_out() || list.iter().any(Self::calls_out),
            Self::And(args) | Self::Or(args) => args.iter().any(Self::calls_out),
        }
    }

    /// Whether it is the same for all rows, as far as that is easy to see.
    pub(crate) fn is_constant(&self) -> bool {
        match self {
            Self::Once { .. } => true,
            Self::Convert { arg, .. } => arg.is_constant(),
            Self::Arithmetic { left, right, .. } => left.is_constant() && right.is_constant(),
            _ => false,
        }
    }
}
