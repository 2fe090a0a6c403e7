//! Documents of ANALYZE's sample that are not assembled.
//!
//! ANALYZE compares documents, to find those that are frequent. If a path of theirs tells that they all differ there are none: then the documents of
//! some leaves are enough for the rest, which is a histogram and their width. In the others a value stands for them that is as long as they are on
//! average. It says that what it stands for is too wide to be compared, so that ANALYZE counts it and does not look at it.

use crate::columnar::{self, Instead, OpenLeaf, Row};
use crate::memory::check_for_interrupts;
use crate::pg::Relation;
use crate::pg::datum::{compressed_image, image_of, varlena};
use crate::pg::memory::Context;
use crate::pg::presorted::TOO_WIDE;
use crate::pg::sample::is_for_columns;
use crate::storage::manifest;
use amax_format::{PathStep, Tag};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Leaves whose documents are assembled.
const WHOLE: usize = 4;
/// Documents whose length is looked at, of each of those.
const LENGTHS: usize = 16;
/// Paths that are tried.
const PATHS: usize = 8;
/// Of a hundred values, so many have to differ.
const DIFFERENT: usize = 99;

/// A leaf, and who loaded it.
type Leaf = (Rc<OpenLeaf>, Option<Origin>);

/// A document attribute, from 0.
struct Documents {
    at: usize,
    /// Tells them apart.
    path: Vec<PathStep>,
    instead: Rc<[u64]>,
}

pub struct StandIns {
    documents: Vec<Documents>,
    /// First keys of the leaves whose documents are assembled.
    whole: HashSet<u64>,
    /// The leaf asked about last, by its first key.
    last: Option<(u64, Rc<Instead>)>,
}

impl StandIns {
    pub fn of(rel: &Relation) -> StandIns {
        let (whole, all) = leaves(rel);
        let attributes = rel.desc().attributes().enumerate();
        let documents = attributes.filter(|(_, att)| !att.attisdropped && att.atttypid == pg_sys::JSONBOID);
        let documents = match all > WHOLE && is_for_columns(rel) {
            true => documents.filter_map(|(at, _)| documents_of(rel, at, &whole)).collect(),
            false => Vec::new(),
        };
        StandIns {
            documents,
            whole: whole.iter().map(|(leaf, _)| leaf.entry.first).collect(),
            last: None,
        }
    }

    /// What stands for attributes of a leaf's rows.
    pub fn in_leaf(&mut self, leaf: &OpenLeaf) -> Rc<Instead> {
        let first = leaf.entry.first;
        if let Some((last, known)) = &self.last
            && *last == first
        {
            return known.clone();
        }
        let is_known = |documents: &&Documents| {
            !self.whole.contains(&first)
                && documents.at < leaf.width()
                && leaf.path_is_everywhere(documents.at, &documents.path)
        };
        let known = self.documents.iter().filter(is_known);
        let known: Rc<Instead> = Rc::new(known.map(|d| (d.at, d.instead.clone())).collect());
        self.last = Some((first, known.clone()));
        known
    }
}

/// Leaves from all over the table, and how many it has.
fn leaves(rel: &Relation) -> (Vec<Leaf>, usize) {
    let manifest = manifest::current(rel);
    let all: usize = manifest
        .components
        .iter()
        .map(|component| component.leaves as usize)
        .sum();
    let (step, mut found, mut number) = (all.div_ceil(WHOLE).max(1), Vec::new(), step_start(all));
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            number += 1;
            if number % step == 0 && all > WHOLE {
                let leaf = columnar::open_leaf(rel, component, at);
                found.extend(leaf.ok().map(|leaf| (leaf, component.origin)));
            }
        }
    }
    (found, all)
}

/// So that the first of them is in the middle of its part of the table.
fn step_start(all: usize) -> usize {
    all.div_ceil(WHOLE) / 2
}

fn documents_of(rel: &Relation, at: usize, leaves: &[Leaf]) -> Option<Documents> {
    let path = paths(at, &leaves.first()?.0)
        .into_iter()
        .find(|path| are_different(at, path, leaves))?;
    let instead = stand_in(mean_length(rel, at, leaves))?;
    Some(Documents { at, path, instead })
}

/// Paths of keys that may tell documents apart.
fn paths(at: usize, leaf: &OpenLeaf) -> Vec<Vec<PathStep>> {
    let mut found = Vec::new();
    let mut add = |keys: &[&[u8]], ty: &'static str, values: u64| {
        if matches!(ty, "number" | "string") && values == leaf.rows() as u64 && found.len() < PATHS {
            found.push(keys.iter().map(|key| PathStep::Key(key.to_vec())).collect());
        }
    };
    if at < leaf.width() {
        let visited = leaf.leaf().each_path(at, &mut add);
        visited.unwrap_or_else(|error| columnar::raise(error));
    }
    found
}

/// Whether all rows of the leaves have a value at a path, and hardly two the same.
fn are_different(at: usize, path: &[PathStep], leaves: &[Leaf]) -> bool {
    let (mut seen, mut rows) = (HashSet::new(), 0);
    leaves.iter().all(|(leaf, _)| {
        check_for_interrupts();
        let known = (at < leaf.width() && leaf.path_is_everywhere(at, path)).then(|| leaf.path(at, path));
        let Some(values) = known.flatten() else {
            return false;
        };
        let dense = &values.dense;
        rows += leaf.rows();
        for row in 0..leaf.rows() {
            let mut hasher = DefaultHasher::new();
            let (tag, word) = (dense.tag(row), dense.word(row));
            match tag {
                Tag::String => dense.strings().get(word as usize).hash(&mut hasher),
                Tag::Int | Tag::Decimal | Tag::Float => (tag as u8, word).hash(&mut hasher),
                _ => continue,
            }
            seen.insert(hasher.finish());
        }
        100 * seen.len() >= DIFFERENT * rows
    })
}

/// Bytes of a document on average.
fn mean_length(rel: &Relation, at: usize, leaves: &[Leaf]) -> usize {
    let context = Context::new("amax lengths of documents");
    let (mut documents, mut bytes) = (0, 0);
    for (leaf, origin) in leaves {
        for row in (0..leaf.rows()).step_by(leaf.rows().div_ceil(LENGTHS).max(1)) {
            let row = Row::new(leaf.clone(), row, *origin).sampled(true, Rc::default());
            let (value, null) = context.within(|| row.attribute(rel.desc(), at));
            if !null {
                documents += 1;
                // SAFETY: a document.
                bytes += unsafe { varlena(value) }.len() + pg_sys::VARHDRSZ;
            }
        }
    }
    bytes / documents.max(1)
}

/// A document of about so many bytes that ANALYZE takes for too wide. It is one that can be read, though nobody does.
fn stand_in(size: usize) -> Option<Rc<[u64]>> {
    let string = |blanks: usize, others: usize| {
        let mut hasher = DefaultHasher::new();
        let mut other = |at: usize| {
            hasher.write_usize(at);
            b' ' + 1 + (hasher.finish() % 64) as u8
        };
        let mut text = vec![b' '; blanks];
        text.extend((0..others).map(&mut other));
        let mut builder = amax_jsonb::Builder::new();
        builder.string(&text);
        builder.finish().ok()
    };
    if size > TOO_WIDE {
        return Some(image_of(&string(0, size)?, true).into());
    }
    // Compressed, of which eight bytes that do not repeat take nine.
    compressed_image(&string(2 * (size + TOO_WIDE), size * 8 / 9)?).map(Rc::from)
}
