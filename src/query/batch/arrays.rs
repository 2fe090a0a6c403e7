//! Batches whose rows are elements of arrays, or fields of objects, read from the columns below: which arrays.

use super::function::Function;
use crate::query::expr::entry::Entry;
use crate::query::expr::path::JsonPath;
use amax_format::{Parts, PathStep, Question, Unnest};

/// The arrays that a scan unnests, each one in the elements of the one before; or objects, of whose fields the same is
/// said.
pub struct Arrays {
    /// The document, from 0.
    pub attribute: usize,
    pub levels: Vec<Unnest>,
}

impl Arrays {
    /// Of a scan's entries and its functions; None if there are none.
    pub fn new(entries: &[Entry], functions: &[Function]) -> Option<Arrays> {
        let mut attribute = 0;
        let levels = functions.iter().enumerate().map(|(i, function)| {
            let array = function.array;
            let steps = match &entries[array] {
                Entry::Path(path) => path.steps.clone(),
                _ => Vec::new(),
            };
            if i == 0 {
                attribute = match &entries[array] {
                    Entry::Path(path) => path.attribute,
                    Entry::Attribute(attribute) => *attribute,
                    _ => unreachable!("the planner chose an array of a document"),
                };
            }
            Unnest {
                parts: function.parts,
                array: steps
                    .into_iter()
                    .map(key)
                    .chain(function.keys.iter().cloned())
                    .collect(),
                wanted: wanted(entries, i + 1, functions.get(i + 1).map(|next| next.array)),
                asked: asked(entries, i + 1),
            }
        });
        let levels: Vec<Unnest> = levels.collect();
        (!levels.is_empty()).then(|| Arrays {
            attribute: attribute as usize - 1,
            levels,
        })
    }
}

impl Arrays {
    /// Of arrays of documents, given the entries that are read of their elements.
    pub fn of_elements(array: &JsonPath, entries: &[Entry]) -> Arrays {
        let level = Unnest {
            parts: Parts::Elements,
            array: array.steps.iter().cloned().map(key).collect(),
            wanted: wanted(entries, 1, None),
            asked: asked(entries, 1),
        };
        Arrays {
            attribute: array.attribute as usize - 1,
            levels: vec![level],
        }
    }
}

fn key(step: PathStep) -> Vec<u8> {
    match step {
        PathStep::Key(key) => key,
        _ => unreachable!("the planner chose an array by keys"),
    }
}

/// Distinct questions about the elements of a level.
fn asked(entries: &[Entry], level: usize) -> Vec<(Vec<PathStep>, Question)> {
    let mut found: Vec<(Vec<PathStep>, Question)> = Vec::new();
    for entry in entries {
        if let Entry::Answer(path, question) = entry
            && path.level == level
            && !found
                .iter()
                .any(|(steps, known)| (steps, known) == (&path.steps, question))
        {
            found.push((path.steps.clone(), question.clone()));
        }
    }
    found
}

/// Distinct paths from the elements of a level, but for the next arrays: those are read as such, or not from columns.
fn wanted(entries: &[Entry], level: usize, next: Option<usize>) -> Vec<Vec<PathStep>> {
    let mut found: Vec<Vec<PathStep>> = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        if let Entry::Path(path) = entry
            && path.level == level
            && Some(i) != next
            && !found.contains(&path.steps)
        {
            found.push(path.steps.clone());
        }
    }
    found
}
