//! Expressions over the columns of a leaf; [`crate::batch`] evaluates them.

use crate::bucket::Buckets;
use crate::functions::Function1;
use crate::like::Pattern;
use crate::list::List;
use crate::operators::{Arithmetic, Comparison, From, JsonScalar, To};
use crate::strings::TextFunction;
use crate::times::{TimeType, Unit};
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
    /// `arg = ANY (list)`.
    Any(Box<Expr>, List),
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
    /// How many characters a text has.
    Length {
        /// The text.
        arg: Box<Expr>,
        /// Whether it is UTF-8; else a character is a byte.
        utf8: bool,
    },
    /// A text of a text.
    TextFunction {
        /// Which.
        function: TextFunction,
        /// The text.
        arg: Box<Expr>,
        /// Whether it is UTF-8; else a character is a byte.
        utf8: bool,
    },
    /// `||` of two texts.
    Concatenation(Box<Expr>, Box<Expr>),
    /// The place of these bytes in a text, in characters.
    Position {
        /// The text.
        arg: Box<Expr>,
        /// What is sought.
        sought: Vec<u8>,
        /// Whether they are UTF-8; else a character is a byte.
        utf8: bool,
    },
    /// A text compared with a constant for which [`crate::is_comparable`] holds, in any collation.
    CompareDigits(Comparison, Box<Expr>, Vec<u8>),
    /// A text cast to a time.
    Time(Box<Expr>, TimeType),
    /// `date_trunc` of a timestamp.
    Cut(Box<Expr>, Unit),
    /// `extract` (numeric) or `date_part` (float) of a timestamp; of one with a time zone only what is the same in all.
    Field(Box<Expr>, Unit, Type),
    /// A function of one number.
    Function1 {
        /// Which.
        function: Function1,
        /// The number.
        arg: Box<Expr>,
        /// Its type and the result's.
        to: To,
    },
    /// The result of the first condition that holds, or of the last expression.
    Case {
        /// Conditions and results.
        arms: Vec<(Expr, Expr)>,
        /// ELSE.
        default: Box<Expr>,
        /// Of the results.
        ty: Type,
    },
    /// `COALESCE`, of expressions of one type.
    Coalesce(Vec<Expr>, Type),
    /// `NULLIF`, of two of one type.
    NullIf(Box<Expr>, Box<Expr>),
    /// `GREATEST` or `LEAST`, of numbers of one type.
    Extreme {
        /// Which.
        greatest: bool,
        /// The numbers.
        args: Vec<Expr>,
        /// Their type.
        ty: Type,
    },
    /// `width_bucket` of a float or a numeric.
    Bucket(Box<Expr>, Buckets),
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
    /// Whatever else: PostgreSQL evaluates it, once per combination of the inputs' values if these are few.
    External {
        /// For [`External::row`].
        id: usize,
        /// All inputs it depends on; none if it is not known on what it depends.
        inputs: Vec<usize>,
        /// Of the result.
        ty: Type,
    },
}

impl Expr {
    /// What it is computed of.
    fn operands(&self) -> Vec<&Expr> {
        match self {
            Self::Column(..)
            | Self::Text(_)
            | Self::Cast { .. }
            | Self::IsMissing { .. }
            | Self::JsonEquals(..)
            | Self::Once { .. }
            | Self::External { .. } => Vec::new(),
            Self::Convert { arg, .. }
            | Self::Like(arg, _)
            | Self::IsNull(arg)
            | Self::Not(arg)
            | Self::Any(arg, _)
            | Self::Function1 { arg, .. }
            | Self::Length { arg, .. }
            | Self::TextFunction { arg, .. }
            | Self::Position { arg, .. }
            | Self::CompareDigits(_, arg, _)
            | Self::Time(arg, _)
            | Self::Cut(arg, _)
            | Self::Field(arg, ..)
            | Self::Memo { arg, .. }
            | Self::AddInterval { factor: arg, .. }
            | Self::Bucket(arg, _)
            | Self::ToTimestamp(arg) => vec![arg],
            Self::Compare(_, left, right)
            | Self::Arithmetic { left, right, .. }
            | Self::NullIf(left, right)
            | Self::Concatenation(left, right)
            | Self::Else(left, right) => vec![left, right],
            Self::And(args) | Self::Or(args) | Self::Coalesce(args, _) | Self::Extreme { args, .. } => {
                args.iter().collect()
            }
            Self::Case { arms, default, .. } => {
                let arms = arms.iter().flat_map(|(condition, result)| [condition, result]);
                arms.chain(std::iter::once(&**default)).collect()
            }
        }
    }

    /// Whether PostgreSQL's functions are called for it, which may raise errors.
    pub fn calls_out(&self) -> bool {
        match self {
            Self::Once { simple, .. } => !simple,
            Self::Memo { .. } | Self::External { .. } => true,
            // What stands in for it raises none of its own.
            Self::Else(expr, _) => expr.calls_out(),
            _ => self.operands().into_iter().any(Self::calls_out),
        }
    }

    /// The inputs of each part that PostgreSQL evaluates for each row, or for each combination of their values where these are few; none where these
    /// are not known.
    pub fn evaluated_outside(&self) -> Vec<&[usize]> {
        match self {
            Self::External { inputs, .. } => vec![inputs],
            // What stands in for it is asked for few rows.
            Self::Else(expr, _) => expr.evaluated_outside(),
            _ => self.operands().into_iter().flat_map(Self::evaluated_outside).collect(),
        }
    }

    /// Whether a value takes more work than looking up which of a few it is.
    pub(crate) fn is_work(&self) -> bool {
        match self {
            Self::Case { .. }
            | Self::Coalesce(..)
            | Self::NullIf(..)
            | Self::Extreme { .. }
            | Self::Concatenation(..) => true,
            Self::Function1 { to, .. } => *to == To::Numeric,
            Self::Arithmetic { operator, to, .. } => {
                *to == To::Numeric && matches!(operator, Arithmetic::Divide | Arithmetic::Modulo)
            }
            _ => false,
        }
    }

    /// Adds the inputs that it depends on to `found`, each once; false if it is not known on which.
    pub(crate) fn inputs(&self, found: &mut Vec<usize>) -> bool {
        let mut note = |input: usize| {
            if !found.contains(&input) {
                found.push(input);
            }
            true
        };
        match self {
            Self::Column(input, _)
            | Self::Text(input)
            | Self::Cast { input, .. }
            | Self::IsMissing { input, .. }
            | Self::JsonEquals(input, _) => note(*input),
            Self::External { inputs, .. } => {
                inputs.iter().for_each(|&input| {
                    note(input);
                });
                !inputs.is_empty()
            }
            _ => self.operands().into_iter().all(|operand| operand.inputs(found)),
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
