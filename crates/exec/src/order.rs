//! The order of rows by sort keys, as PostgreSQL's default operators have it, of values in vectors and such as are kept.

use std::cmp::Ordering;

use crate::collation::Collation;
use crate::decimal::{Decimal, compare_small};
use crate::vector::{LARGE, Type, Vector};

/// How a key orders rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Of its values.
    pub ty: Type,
    /// From the greatest to the least.
    pub descending: bool,
    /// NULLs come before all values.
    pub nulls_first: bool,
}

/// A key's value that is kept.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    /// Booleans and integers; floats by [`ordered`].
    Word(i64),
    /// A numeric's mantissa and scale.
    Small(i64, u16),
    /// The payload of any other numeric.
    Large(Box<[u8]>),
    Text(Box<[u8]>),
}

/// A float's bits as an integer, in the order of `float8_cmp_internal`: zeros are equal, and so are NaNs, above all.
#[inline]
pub fn ordered(bits: i64) -> i64 {
    let value = f64::from_bits(bits as u64);
    let bits = match value {
        _ if value.is_nan() => f64::NAN.to_bits() as i64 & i64::MAX,
        _ if value == 0.0 => 0,
        _ => bits,
    };
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

fn numerics(a: Decimal<'_>, b: Decimal<'_>) -> Ordering {
    a.cmp(&b)
}

/// A payload that PostgreSQL or a builder has made.
pub(crate) fn large(payload: &[u8]) -> Decimal<'_> {
    Decimal::of_payload(payload).unwrap_or(Decimal::NaN)
}

/// The numeric of a row that is not NULL.
fn number<'a>(vector: &'a Vector<'_>, i: usize) -> Decimal<'a> {
    match vector.scale(i) {
        LARGE => large(vector.string(i)),
        scale => Decimal::small(vector.words[i], scale),
    }
}

impl Value {
    /// What it has on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Value::Null | Value::Word(_) | Value::Small(..) => 0,
            Value::Large(bytes) | Value::Text(bytes) => bytes.len(),
        }
    }

    pub(crate) fn of(vector: &Vector<'_>, i: usize) -> Value {
        let word = vector.words[i];
        match vector.ty {
            _ if !vector.is_valid(i) => Value::Null,
            Type::Bool | Type::Int => Value::Word(word),
            Type::Float => Value::Word(ordered(word)),
            Type::Numeric => match vector.scale(i) {
                LARGE => Value::Large(vector.string(i).into()),
                scale => Value::Small(word, scale),
            },
            Type::Text => Value::Text(vector.string(i).into()),
        }
    }

    fn decimal(&self) -> Option<Decimal<'_>> {
        match self {
            &Value::Small(mantissa, scale) => Some(Decimal::small(mantissa, scale)),
            Value::Large(payload) => Some(large(payload)),
            _ => None,
        }
    }
}

impl SortKey {
    /// The place of a value that is not NULL before or behind another, given their order.
    #[inline]
    pub(crate) fn directed(&self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }

    /// Of a NULL and a value.
    #[inline]
    pub(crate) fn null_and_value(&self) -> Ordering {
        match self.nulls_first {
            true => Ordering::Less,
            false => Ordering::Greater,
        }
    }

    pub(crate) fn values(&self, key: usize, a: &Value, b: &Value, collation: &dyn Collation) -> Ordering {
        let order = match (a, b) {
            (Value::Null, Value::Null) => return Ordering::Equal,
            (Value::Null, _) => return self.null_and_value(),
            (_, Value::Null) => return self.null_and_value().reverse(),
            (Value::Word(a), Value::Word(b)) => a.cmp(b),
            (&Value::Small(a, s), &Value::Small(b, t)) => compare_small(a, s, b, t),
            (Value::Text(a), Value::Text(b)) => collation.compare(key, a, b),
            (a, b) => match (a.decimal(), b.decimal()) {
                (Some(a), Some(b)) => numerics(a, b),
                _ => unreachable!("a key's values are of one type"),
            },
        };
        self.directed(order)
    }

    /// The place of a vector's value `i` before or behind one that is kept.
    #[inline]
    pub(crate) fn place(
        &self,
        key: usize,
        vector: &Vector<'_>,
        i: usize,
        kept: &Value,
        collation: &dyn Collation,
    ) -> Ordering {
        let order = match (vector.is_valid(i), kept) {
            (false, Value::Null) => return Ordering::Equal,
            (false, _) => return self.null_and_value(),
            (true, Value::Null) => return self.null_and_value().reverse(),
            (true, Value::Word(kept)) => match vector.ty {
                Type::Float => ordered(vector.words[i]).cmp(kept),
                _ => vector.words[i].cmp(kept),
            },
            (true, Value::Text(kept)) => collation.compare(key, vector.string(i), kept),
            (true, &Value::Small(mantissa, scale)) if vector.scale(i) != LARGE => {
                compare_small(vector.words[i], vector.scale(i), mantissa, scale)
            }
            (true, kept) => match (Value::of(vector, i).decimal(), kept.decimal()) {
                (Some(a), Some(b)) => numerics(a, b),
                _ => unreachable!("a key's values are of one type"),
            },
        };
        self.directed(order)
    }

    /// The place of a vector's value `a` before or behind its value `b`.
    pub(crate) fn rows(
        &self,
        key: usize,
        vector: &Vector<'_>,
        a: usize,
        b: usize,
        collation: &dyn Collation,
    ) -> Ordering {
        let order = match (vector.is_valid(a), vector.is_valid(b)) {
            (false, false) => return Ordering::Equal,
            (false, true) => return self.null_and_value(),
            (true, false) => return self.null_and_value().reverse(),
            (true, true) => {
                let (first, second) = (vector.words[a], vector.words[b]);
                match vector.ty {
                    Type::Bool | Type::Int => first.cmp(&second),
                    Type::Float => ordered(first).cmp(&ordered(second)),
                    Type::Text if first == second => Ordering::Equal,
                    Type::Text => collation.compare(key, vector.string(a), vector.string(b)),
                    Type::Numeric => numerics(number(vector, a), number(vector, b)),
                }
            }
        };
        self.directed(order)
    }
}
