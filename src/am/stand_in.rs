//! Documents of ANALYZE's sample that are not assembled.
//!
//! ANALYZE compares documents, to find those that are frequent. If a path of theirs, or some of them together, tell that they all differ there are none: then
//! some documents of some leaves are enough for the rest, which is a histogram and their width. In the others a value stands for them that is as long as they are on
//! average, with what indexes and declared statistics compute of it. It says that what it stands for is too wide to be compared, so that ANALYZE counts it and does not look at it.

use super::index_feed::FIND_NEEDS;
use crate::columnar::{self, Instead, Need, Needs, OpenLeaf, Row};
use crate::hash::Quick;
use crate::memory::check_for_interrupts;
use crate::pg::Relation;
use crate::pg::datum::{compressed_image, image_of, image_of_compressed, varlena};
use crate::pg::memory::Context;
use crate::pg::presorted::TOO_WIDE;
use crate::pg::sample::computing;
use crate::pg::statistics::target;
use crate::storage::manifest;
use amax_format::{PathStep, Tag};
use amax_lsm::{Component, Origin};
use pgrx::pg_sys;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Leaves of whose documents some are assembled.
const WHOLE: usize = 4;
/// How many of those of the sample, for each value that statistics may have.
const ASSEMBLED: u64 = 20;
/// Rows of the sample, for each such value (std_typanalyze() of analyze.c).
const SAMPLED: u64 = 300;
/// Documents whose length is looked at, of each of those.
const LENGTHS: usize = 16;
/// Paths that are looked at, and those that are tried together.
const PATHS: usize = 32;
const TOGETHER: usize = 6;
/// Bytes of a compressed document beside its content.
const REPEATED: usize = 24;
/// Of a hundred values, so many have to differ.
const DIFFERENT: usize = 99;

/// A leaf, and who loaded it.
type Leaf = (Rc<OpenLeaf>, Option<Origin>);

/// A document attribute, from 0.
struct Documents {
    at: usize,
    /// Tell them apart.
    paths: Vec<Vec<PathStep>>,
    /// Bytes of one.
    size: usize,
    instead: Rc<[u64]>,
    /// What is read of them.
    needs: Option<Needs>,
}

pub struct StandIns {
    documents: Vec<Documents>,
    /// First keys of the leaves of whose documents some are assembled: one in so many.
    whole: HashSet<u64>,
    step: u64,
    /// The leaf asked about last, by its first key, and whether each of the documents has stand-ins in it.
    last: Option<(u64, Vec<bool>)>,
}

impl StandIns {
    /// `thins`: whether it is asked about not many more rows than the sample has.
    pub fn of(rel: &Relation, thins: bool) -> StandIns {
        let (whole, rows) = leaves(rel);
        let attributes = rel.desc().attributes().enumerate();
        let documents = attributes.filter(|(_, att)| !att.attisdropped && att.atttypid == pg_sys::JSONBOID);
        let documents: Vec<_> = documents.collect();
        let most = documents.iter().map(|(_, att)| target(rel, att.attnum)).max();
        let most = most.unwrap_or(0).max(1) as u64;
        let in_whole: u64 = whole.iter().map(|(leaf, _)| leaf.rows() as u64).sum();
        // Of the sample's rows as many are in these leaves.
        let seen = rows.min(SAMPLED * most) * in_whole / rows.max(1);
        let step = (seen / (ASSEMBLED * most)).max(1);
        let is_worth = in_whole < rows || step > 1;
        let documents = documents.into_iter().filter(|_| is_worth);
        let documents = documents.filter_map(|(at, _)| documents_of(rel, at, &whole));
        // One for each row has to be made, also for those that nobody keeps.
        let are_few = thins || rows <= 2 * SAMPLED * most;
        let documents = documents.filter(|documents| are_few || documents.needs.is_none());
        StandIns {
            documents: documents.collect(),
            whole: whole.iter().map(|(leaf, _)| leaf.entry.first).collect(),
            step,
            last: None,
        }
    }

    /// What stands for attributes of a leaf's row.
    pub fn in_row(&mut self, rel: &Relation, row: &Row, number: u32) -> Rc<Instead> {
        let leaf = row.leaf();
        let first = leaf.entry.first;
        if self.whole.contains(&first) {
            let mut hasher = Quick::default();
            hasher.write_u32(number);
            if hasher.finish().is_multiple_of(self.step) {
                return Rc::default();
            }
        }
        let known = self.last.take().filter(|(last, _)| *last == first);
        let is_known = |d: &Documents| d.at < leaf.width() && are_everywhere(leaf, d);
        let (_, known) = self
            .last
            .insert(known.unwrap_or_else(|| (first, self.documents.iter().map(is_known).collect())));
        let known = self.documents.iter_mut().zip(known.iter()).filter(|(_, known)| **known);
        let found = known
            .map(|(documents, _)| (documents.at, documents.of_row(rel, row)))
            .collect();
        Rc::new(found)
    }
}

impl Documents {
    fn of_row(&mut self, rel: &Relation, row: &Row) -> Rc<[u64]> {
        let Some(needs) = &mut self.needs else {
            return self.instead.clone();
        };
        Context::new("amax stand-in").within(|| {
            let (part, null) = needs.attribute(row, rel.desc(), self.at);
            match null {
                true => self.instead.clone(),
                // SAFETY: a document.
                false => with_part(unsafe { varlena(part) }, self.size).into(),
            }
        })
    }
}

/// Leaves from all over the table, and how many rows it has in columns.
fn leaves(rel: &Relation) -> (Vec<Leaf>, u64) {
    let manifest = manifest::current(rel);
    let leaves = |component: &Component| component.leaves as usize;
    let all: usize = manifest.components.iter().map(leaves).sum();
    let (step, mut found, mut number) = (all.div_ceil(WHOLE).max(1), Vec::new(), step_start(all));
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            number += 1;
            if number % step == 0 {
                let leaf = columnar::open_leaf(rel, component, at);
                found.extend(leaf.ok().map(|leaf| (leaf, component.origin)));
            }
        }
    }
    (found, manifest.rows())
}

/// So that the first of them is in the middle of its part of the table.
fn step_start(all: usize) -> usize {
    all.div_ceil(WHOLE) / 2
}

fn are_everywhere(leaf: &OpenLeaf, documents: &Documents) -> bool {
    let mut paths = documents.paths.iter();
    paths.all(|path| leaf.path_is_everywhere(documents.at, path))
}

fn documents_of(rel: &Relation, at: usize, leaves: &[Leaf]) -> Option<Documents> {
    let needs = needs_of(rel, at)?;
    // Those first of which most differ.
    let (first, _) = leaves.first()?;
    let mut known: Vec<_> = paths(at, first)
        .into_iter()
        .filter_map(|path| {
            let mut told = vec![0; first.rows()];
            tell(at, &path, first, &mut told)?;
            Some((path, different(&told)))
        })
        .collect();
    known.sort_by_key(|(_, different)| Reverse(*different));
    let mut paths = Vec::new();
    let mut told: Vec<Vec<u64>> = leaves.iter().map(|(leaf, _)| vec![0; leaf.rows()]).collect();
    for (path, _) in known.into_iter().take(TOGETHER) {
        check_for_interrupts();
        let mut all = leaves.iter().zip(&mut told);
        all.try_for_each(|((leaf, _), told)| tell(at, &path, leaf, told))?;
        paths.push(path);
        let all: Vec<u64> = told.iter().flatten().copied().collect();
        if 100 * different(&all) >= DIFFERENT * all.len() {
            let size = mean_length(rel, at, leaves);
            return Some(Documents {
                at,
                paths,
                size,
                instead: stand_in(size)?,
                needs,
            });
        }
    }
    None
}

/// What is computed of documents reads of them; None if that is all, and nothing if nothing is.
fn needs_of(rel: &Relation, at: usize) -> Option<Option<Needs>> {
    let attribute = rel.desc().attribute(at);
    let computing = computing(rel, attribute.attnum, attribute.atttypid)?;
    let mut parts = Vec::new();
    for info in &computing {
        // SAFETY: a struct for an index of the table.
        let needs = unsafe { FIND_NEEDS.get()?(info, rel.desc().natts()) }?;
        match needs.into_iter().nth(at)? {
            Need::All => return None,
            Need::Part(keys) => parts.extend(keys),
            Need::Nothing => {}
        }
    }
    let needs = (!parts.is_empty()).then(|| {
        let mut needs = vec![Need::Nothing; rel.desc().natts()];
        needs[at] = Need::Part(parts);
        Needs::new(needs)
    });
    Some(needs)
}

/// Paths of keys at which all of a leaf's rows have a value that tells something.
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

/// Adds the values at a path to what tells a leaf's rows apart; None if not all have one.
fn tell(at: usize, path: &[PathStep], leaf: &OpenLeaf, told: &mut [u64]) -> Option<()> {
    let known = (at < leaf.width() && leaf.path_is_everywhere(at, path)).then(|| leaf.path(at, path));
    let values = known.flatten()?;
    let dense = &values.dense;
    let strings = dense.strings();
    let strings: Vec<u64> = (0..strings.len()).map(|at| hash(&strings.get(at))).collect();
    for (row, told) in told.iter_mut().enumerate() {
        let (tag, word) = (dense.tag(row), dense.word(row));
        let value = match tag {
            Tag::String => strings[word as usize],
            Tag::Int | Tag::Decimal | Tag::Float => hash(&(tag as u8, word)),
            // Others are taken to be the same.
            _ => 0,
        };
        *told = told.rotate_left(23) ^ value;
    }
    Some(())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn different(told: &[u64]) -> usize {
    let mut told = told.to_vec();
    told.sort_unstable();
    told.dedup();
    told.len()
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

/// A document with this one's content, of about so many bytes, that ANALYZE takes for too wide. Nobody reads what comes after the content.
fn with_part(document: &[u8], size: usize) -> Box<[u64]> {
    let mut document = document.to_vec();
    if size > TOO_WIDE {
        document.resize(document.len().max(size), 0);
        return image_of(&document, true);
    }
    // Compressed, of which eight bytes that are not repeated take nine; each of the last items repeats one byte 273 times (pg_lzcompress.c).
    let len = document.len().max(size.saturating_sub(REPEATED) * 8 / 9);
    document.resize(len + 1, 0);
    let repeats = TOO_WIDE / 273 + 1;
    let items = document.iter().map(|byte| (1, [*byte, 0, 0]));
    let items = items.chain(std::iter::repeat_n((3, [0x0f, 1, 255]), repeats));
    let mut bytes = Vec::with_capacity(size + REPEATED);
    for group in items.collect::<Vec<_>>().chunks(8) {
        let control = group.iter().enumerate().map(|(at, item)| u8::from(item.0 == 3) << at);
        bytes.push(control.sum());
        group.iter().for_each(|(len, item)| bytes.extend(&item[..*len]));
    }
    image_of_compressed(&bytes, document.len() + 273 * repeats)
}
