//! Integers as a column holds them: conditions and joins read them where they are.

use crate::batch::Columns;
use crate::expr::Expr;
use crate::operators::To;
use crate::vector::Type;
use amax_format::{Tag, Words};

/// The words of a column that an expression of integers is, if every row of the batch has one: the column itself, or a cast of a path that has nothing
/// else, none too large.
pub fn held_ints<'c>(expression: &Expr, columns: &'c dyn Columns) -> Option<&'c Words> {
    let (input, range) = match expression {
        Expr::Column(input, Type::Int) => (*input, None),
        Expr::Cast {
            input,
            to: To::Int { min, max },
            ..
        } => (*input, Some((*min, *max))),
        _ => return None,
    };
    let dense = columns.dense(input);
    let words = (dense.uniform() == Some(Tag::Int)).then(|| dense.words())?;
    range
        .is_none_or(|(min, max)| words.are_within(min, max))
        .then_some(words)
}
