//! Prepared statements: text, and parameters that have been bound. PostgreSQL prepares them again when they run, as that may be on
//! any of the session's connections.

use std::sync::{Arc, Mutex, PoisonError};

use crate::budget::Share;
use crate::parameters::Row;

pub struct Prepared {
    pub query: String,
    pub transaction: Option<Vec<u8>>,
    binding: Mutex<Binding>,
    _share: Share,
}

/// Rows of parameters, for the executions that are asked for until others are bound.
#[derive(Clone, Default)]
pub struct Binding {
    /// Which it is, from 0, without parameters.
    pub number: u64,
    pub rows: Option<Arc<Bound>>,
}

pub struct Bound {
    pub rows: Vec<Row>,
    pub share: Share,
}

impl Prepared {
    pub fn new(query: String, transaction: Option<Vec<u8>>, share: Share) -> Self {
        Self {
            query,
            transaction,
            binding: Mutex::default(),
            _share: share,
        }
    }

    pub fn bind(&self, bound: Bound) {
        let mut binding = self.binding.lock().unwrap_or_else(PoisonError::into_inner);
        binding.number += 1;
        binding.rows = Some(Arc::new(bound));
    }

    pub fn binding(&self) -> Binding {
        self.binding.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
