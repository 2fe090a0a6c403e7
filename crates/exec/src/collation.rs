//! The order of text.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::rc::Rc;

/// The order of text, which may be another than that of its bytes.
pub trait Collation: Debug {
    /// As the collation of key `key` has it.
    fn compare(&self, key: usize, a: &[u8], b: &[u8]) -> Ordering;
    /// Whether that is the order of bytes.
    fn is_bytewise(&self, key: usize) -> bool;
}

/// That of one key.
#[derive(Clone, Debug)]
pub(crate) struct TextOrder {
    collation: Rc<dyn Collation>,
    key: usize,
}

impl TextOrder {
    /// None if it is that of bytes.
    pub(crate) fn new(collation: &Rc<dyn Collation>, key: usize) -> Option<Self> {
        (!collation.is_bytewise(key)).then(|| Self {
            collation: collation.clone(),
            key,
        })
    }

    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.collation.compare(self.key, a, b)
    }
}

/// The order of texts: that of bytes, if it is no other.
#[inline]
pub(crate) fn compare_texts(order: Option<&TextOrder>, a: &[u8], b: &[u8]) -> Ordering {
    match order {
        None => a.cmp(b),
        Some(order) => order.compare(a, b),
    }
}

/// The order of bytes.
#[derive(Debug)]
pub struct Bytewise;

impl Collation for Bytewise {
    fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn is_bytewise(&self, _key: usize) -> bool {
        true
    }
}
