//! The keys of objects at one place, numbered as they appeared.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Keys {
    names: Vec<Box<str>>,
    by_name: HashMap<Box<[u8]>, usize>,
}

impl Keys {
    /// The number of a key, which is often `expected`: objects of one kind have their keys in one order.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], expected: usize) -> Option<usize> {
        match self.names.get(expected) {
            Some(name) if name.as_bytes() == key => Some(expected),
            _ => self.by_name.get(key).copied(),
        }
    }

    /// Gives the next number to a key that is new.
    pub(crate) fn add(&mut self, key: &str) -> usize {
        let number = self.names.len();
        self.names.push(key.into());
        self.by_name.insert(key.as_bytes().into(), number);
        number
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// In the order of their numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}
