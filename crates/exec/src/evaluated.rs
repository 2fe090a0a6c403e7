//! What an expression gives for a selection of rows, and what such results are made of.

use std::borrow::Cow;

use amax_format::{Dense, Tag, places_that};

use crate::vector::{Type, Vector};

/// The values of an expression for a selection of rows.
#[derive(Debug)]
pub struct Evaluated<'a> {
    /// One per row selected; where it is unsure, NULL or anything.
    pub vector: Vector<'a>,
    /// Positions in the selection of rows that are unsure, ascending.
    pub unsure: Vec<u32>,
}

/// An expression's value is known in all rows.
pub(crate) fn sure(vector: Vector<'_>) -> Evaluated<'_> {
    Evaluated {
        vector,
        unsure: Vec::new(),
    }
}

/// The words of the rows; `holds` says of a tag: a value, NULL, or neither (unsure; then it is NULL here as well).
pub(crate) fn gather<'a>(
    dense: &'a Dense,
    rows: &[u32],
    ty: Type,
    holds: impl Fn(Tag) -> Option<bool>,
) -> Evaluated<'a> {
    let mut vector = Vector::of_rows(ty, dense.words(), rows);
    if !dense.all(|tag| holds(tag) == Some(true)) {
        let valid = dense.by_tag(rows, |tag| holds(tag) == Some(true));
        vector.valid = valid.contains(&false).then(|| valid.into());
    }
    let mut unsure = Vec::new();
    if !dense.all(|tag| holds(tag).is_some()) {
        let open = dense.by_tag(rows, |tag| holds(tag).is_none());
        unsure.extend((0u32..).zip(open).filter(|(_, open)| *open).map(|(i, _)| i));
    }
    Evaluated { vector, unsure }
}

/// The rows that pass, given their positions in the selection and in the leaf.
pub(crate) fn select(rows: &[u32], passes: impl Fn(usize, u32) -> bool) -> Vec<u32> {
    let mut passed = places_that(rows.len(), |i| passes(i, rows[i]));
    for place in &mut passed {
        *place = rows[*place as usize];
    }
    passed
}

/// Where both are not NULL.
pub(crate) fn both_valid<'a>(a: &Vector<'a>, b: &Vector<'a>) -> Option<Cow<'a, [bool]>> {
    match (&a.valid, &b.valid) {
        (None, None) => None,
        (Some(v), None) | (None, Some(v)) => Some(v.clone()),
        (Some(x), Some(y)) => Some(
            x.iter()
                .zip(y.iter())
                .map(|(x, y)| *x && *y)
                .collect::<Vec<bool>>()
                .into(),
        ),
    }
}

/// The union of two ascending lists.
pub(crate) fn union(mut a: Vec<u32>, b: Vec<u32>) -> Vec<u32> {
    if a.is_empty() {
        return b;
    }
    if !b.is_empty() {
        a.extend(b);
        a.sort_unstable();
        a.dedup();
    }
    a
}
