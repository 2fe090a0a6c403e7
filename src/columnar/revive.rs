//! A leaf made again. A standby's query may stay with a leaf for long (a cursor does), and has no snapshot that keeps
//! the primary from merging the leaf's component and using its pages for something else. Its rows are in other
//! components then, under the same keys: they are gathered from there. A row that a merge has left out is NULL: nobody
//! who may still be here sees it, since its removal was a conflict.

use super::leaf_read::try_read;
use super::pages::Image;
use super::source::Source;
use super::value::storages;
use super::write::leaf_options;
use crate::options::Options;
use crate::pg::Relation;
use crate::pg::memory::Context;
use crate::storage::manifest::{self, Replaced};
use amax_format::{Error, Leaf, Value, VerticalBuilder};
use amax_lsm::{Key, Manifest, tid};

/// The image of a leaf with rows of these keys; [`Error::Replaced`] if they moved meanwhile.
pub fn image(rel: &Relation, keys: &amax_format::Keys) -> Result<Vec<u8>, Error> {
    let manifest = manifest::current(rel);
    let mut leaves: Vec<((usize, usize), Leaf<Image>)> = Vec::new();
    let mut rows: Vec<Option<(usize, u32)>> = Vec::with_capacity(keys.len());
    for key in keys.iter() {
        rows.push(find(rel, &manifest, key, &mut leaves)?);
    }
    let options = leaf_options(&Options::of(rel));
    let storages = storages(rel.desc());
    let keys = keys.iter().map(|key| (key, false));
    let mut builder = VerticalBuilder::new(keys, storages.len(), options)?;
    let mut context = Context::new("amax leaf made again");
    let mut buffer = Vec::new();
    for (at, &storage) in storages.iter().enumerate() {
        let sources = leaves.iter().map(|(_, leaf)| Source::of(rel, leaf, at));
        let sources: Vec<Source> = sources.collect::<Result<_, _>>()?;
        let mut column = builder.column(storage.column);
        for place in &rows {
            crate::memory::check_for_interrupts();
            let pushed = context.within(|| {
                let value = match *place {
                    Some((leaf, row)) => sources[leaf].value(rel, at, storage, row, &mut buffer)?,
                    None => Value::Null,
                };
                column.push(value)
            });
            context.reset();
            pushed?;
        }
        builder.add(column)?;
    }
    builder.finish()
}

/// Where the row with this key is: the leaf, of those read so far or one more, and the row's number in it.
fn find(
    rel: &Relation,
    manifest: &Manifest,
    key: Key,
    leaves: &mut Vec<((usize, usize), Leaf<Image>)>,
) -> Result<Option<(usize, u32)>, Error> {
    let v = tid::block(key);
    let Some(component) = manifest.component_of(v) else {
        return Ok(None);
    };
    let of = &manifest.components[component];
    let directory = manifest::read_directory(rel, of).map_err(|Replaced| Error::Replaced)?;
    let at = directory.first_leaf_at(v);
    let Some(entry) = directory.leaves.get(at) else {
        return Ok(None);
    };
    let known = match leaves.iter().position(|leaf| leaf.0 == (component, at)) {
        Some(known) => known,
        None => {
            leaves.push(((component, at), try_read(rel, of, entry)?));
            leaves.len() - 1
        }
    };
    let row = leaves[known].1.keys().find(key);
    Ok(row.map(|row| (known, row as u32)))
}
