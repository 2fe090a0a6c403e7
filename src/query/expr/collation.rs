//! The order of text, as PostgreSQL has it in each sort key's or aggregate's collation.

use crate::pg::lookup::{compare_text, has_no_rules, is_bytewise};
use crate::pg::node::Node;
use amax_exec::Collation;
use pgrx::pg_sys;
use std::cmp::Ordering;

/// Those of keys.
#[derive(Debug)]
pub struct Collations(Vec<Order>);

#[derive(Debug)]
struct Order {
    /// None where bytes are the order.
    collation: Option<pg_sys::Oid>,
    /// Of char(n), whose blanks at the end are not compared.
    is_padded: bool,
}

impl Collations {
    /// Of expressions that are not of type char(n).
    pub fn of(keys: &[&Node]) -> Collations {
        let order = |key: &&Node| Order {
            collation: Some(key.collation()).filter(|&collation| has_order(collation)),
            is_padded: false,
        };
        Collations(keys.iter().map(order).collect())
    }

    /// Of aggregates, whose order no bounds of leaves are asked about: of collations, each with whether its text is of type
    /// char(n).
    pub fn of_aggregates(orders: impl Iterator<Item = (pg_sys::Oid, bool)>) -> Collations {
        let order = |(collation, is_padded)| Order {
            collation: Some(collation).filter(|&collation| has_order(collation) && !has_no_rules(collation)),
            is_padded,
        };
        Collations(orders.map(order).collect())
    }
}

/// Whether a collation, if it is one, has an order of its own.
fn has_order(collation: pg_sys::Oid) -> bool {
    collation != pg_sys::InvalidOid && !is_bytewise(collation)
}

/// Without blanks at its end.
fn trimmed(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..len]
}

impl Collation for Collations {
    fn is_bytewise(&self, key: usize) -> bool {
        self.0[key].collation.is_none() && !self.0[key].is_padded
    }

    fn compare(&self, key: usize, a: &[u8], b: &[u8]) -> Ordering {
        let order = &self.0[key];
        // Only deterministic collations have vectors.
        if a == b {
            return Ordering::Equal;
        }
        let (a, b) = match order.is_padded {
            true => (trimmed(a), trimmed(b)),
            false => (a, b),
        };
        match order.collation {
            None => a.cmp(b),
            Some(collation) => {
                // A sort of many takes long.
                crate::memory::check_for_interrupts();
                compare_text(a, b, collation)
            }
        }
    }
}
