//! What an index reads of a table's attributes: of documents that are only asked for constant keys, what lies there.

use super::path::path_of;
use super::tree::walk;
use crate::columnar::{Keys, Need};
use crate::pg::expr::Var;
use crate::pg::node::{Node, Nodes};
use amax_format::PathStep;
use pgrx::pg_sys;

/// What an index reads of each of so many attributes; None if that is all.
///
/// # Safety
/// PostgreSQL's struct for an index of the table.
pub unsafe fn of_index(info: &pg_sys::IndexInfo, attributes: usize) -> Option<Vec<Need>> {
    let mut needs = vec![Need::Nothing; attributes];
    for &number in &info.ii_IndexAttrNumbers[..info.ii_NumIndexAttrs as usize] {
        match usize::try_from(number) {
            // An expression, or a column.
            Ok(0) => {}
            Ok(number) => *needs.get_mut(number - 1)? = Need::All,
            Err(_) => {}
        }
    }
    // SAFETY: the lists of its expressions, as the caller promises.
    let (expressions, predicate) = unsafe { (Nodes::of(info.ii_Expressions), Nodes::of(info.ii_Predicate)) };
    let mut all = true;
    for expression in expressions.iter().chain(predicate.iter()) {
        walk(expression, &mut |node| {
            if let Some((number, keys)) = keys_of(node) {
                if let Some(need) = needs.get_mut(number as usize - 1) {
                    add(need, keys);
                }
                return false;
            }
            if let Some(var) = node.as_a::<Var>() {
                match usize::try_from(var.varattno() - 1) {
                    Ok(at) if at < attributes => needs[at] = Need::All,
                    // The whole row, or what every row has.
                    _ => all &= var.varattno() < 0,
                }
            }
            true
        });
    }
    (all && needs.iter().any(|need| *need != Need::All)).then_some(needs)
}

/// An attribute's number, and the keys down to what an expression reads of its documents: those that a path begins with.
fn keys_of(node: &Node) -> Option<(i16, Vec<Vec<u8>>)> {
    let path = path_of(node, &|var| var.vartype() == pg_sys::JSONBOID)?;
    let key = |step| match step {
        // In arrays, which a part has whole, it may be an index.
        PathStep::Key(key) | PathStep::KeyOrIndex(key, _) => Some(key),
        _ => None,
    };
    let keys: Vec<Vec<u8>> = path.steps.into_iter().map_while(key).collect();
    (!keys.is_empty()).then_some((path.attribute, keys))
}

fn add(need: &mut Need, keys: Vec<Vec<u8>>) {
    match need {
        Need::All => {}
        Need::Part(parts) if parts.contains(&keys) => {}
        Need::Part(parts) => parts.push(keys),
        Need::Nothing => *need = Need::Part(Keys::from([keys])),
    }
}
