//! Documents as nested columns, of a type that is inferred from all of them: first each is seen ([`Inference`]), then what has been
//! seen says what the column is ([`Kind`]), and then it is filled ([`Nested`]).

mod column;
mod keys;
mod kind;
mod number;
mod shape;

pub use column::Nested;
pub use kind::{Kind, Mixed, Nulls};
pub use shape::Inference;
