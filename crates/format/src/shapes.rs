//! What the objects assembled last began with: documents of few shapes have the same keys again and again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use amax_jsonb::Keys;

use crate::error::Result;

/// Shapes remembered of each object of the schema, by a hash.
const SHAPES: usize = 4;

/// Of a tree's objects, by node.
#[derive(Debug, Default)]
pub(crate) struct Shapes(Mutex<Known>);

/// For who assembles a document. Most nodes are no objects.
#[derive(Debug, Default)]
pub(crate) struct Known(Vec<Option<Box<[Shape; SHAPES]>>>);

/// The fields that an object had, and their keys once there were two in a row.
#[derive(Debug, Default)]
struct Shape {
    fields: Vec<u32>,
    keys: Option<Keys>,
}

impl Clone for Shapes {
    /// A copy has to learn them by itself.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Shapes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Known> {
        // Whoever panicked left nothing half done: keys are put to the fields whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The keys of an object of `node` with these fields, if it had the same before; `make` makes them.
    #[inline]
    pub(crate) fn keys(
        &mut self,
        node: u32,
        fields: &[(u32, u32)],
        make: impl FnOnce() -> Result<Keys>,
    ) -> Result<Option<&Keys>> {
        let node = node as usize;
        if node >= self.0.len() {
            self.0.resize_with(node + 1, Default::default);
        }
        let hash = fields
            .iter()
            .fold(fields.len(), |hash, field| hash.wrapping_mul(31) ^ field.0 as usize);
        let shape = &mut self.0[node].get_or_insert_default()[(hash ^ hash >> 8) % SHAPES];
        let is_same = shape.fields.len() == fields.len() && shape.fields.iter().zip(fields).all(|(a, b)| *a == b.0);
        if !is_same {
            shape.keys = None;
            shape.fields.clear();
            shape.fields.extend(fields.iter().map(|field| field.0));
            return Ok(None);
        }
        if shape.keys.is_none() {
            shape.keys = Some(make()?);
        }
        Ok(shape.keys.as_ref())
    }
}
