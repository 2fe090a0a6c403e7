//! The vertical merge (AMAX paper §4.5): keys first, which gives the sequence of the inputs' rows; then one column at a
//! time, so that one column of each input is in memory. Rows whose marks say that they are gone are left out: matter
//! and anti-matter annihilate. Leaves that have none of these, and that no other input has rows between, stay as they are.

use super::error::raise;
use super::leaf_read;
use super::pages::Image;
use super::source::Source;
use super::stub::{self, State};
use super::value::{Storage, storages};
use super::write::{Leaves, leaf_options};
use crate::counters::Written;
use crate::options::Options;
use crate::pg::Relation;
use crate::pg::memory::Context;
use crate::pg::settings::own_maintenance_work_mem;
use crate::pg::vacuum::delay_point;
use crate::storage::manifest;
use amax_format::{Error, Leaf, VerticalBuilder};
use amax_lsm::merge::{LeafCandidate, keep};
use amax_lsm::{Component, Directory, Extent, FreeSpace, LeafEntry, LeafXids, RangeSet, Xids, tid};
use std::collections::VecDeque;
use std::rc::Rc;

pub struct Merge<'a> {
    rel: &'a Relation,
    options: Options,
    storages: Vec<Storage>,
    inputs: Vec<Input<'a>>,
    /// Blocks read that did not fit the last leaf.
    pending: VecDeque<BlockRows>,
    /// The next leaf's rows: the table's number, or what its bytes and memory allow.
    rows_per_leaf: usize,
    /// Bytes that a leaf may have while it is built: the table's number, or what maintenance may take.
    leaf_bytes: usize,
    leaves: Leaves,
    left_out: u64,
    values: Context,
}

/// A cursor over the rows to keep of a component, by block.
struct Input<'a> {
    component: &'a Component,
    directory: Rc<Directory>,
    /// Leaves that stay as they are.
    kept: Vec<bool>,
    next_leaf: usize,
    leaf: Option<Rc<InputLeaf>>,
    next_row: usize,
    next: Option<Next>,
}

/// What comes next of an input.
enum Next {
    Rows(BlockRows),
    /// A leaf that stays as it is, and its first block.
    Leaf {
        v: u32,
        at: usize,
    },
}

impl Next {
    fn block(&self) -> u32 {
        match self {
            Next::Rows(rows) => rows.v,
            Next::Leaf { v, .. } => *v,
        }
    }
}

struct InputLeaf {
    at: usize,
    leaf: Leaf<Image>,
    xids: Xids,
}

/// The rows to keep of one logical block; there is at least one.
struct BlockRows {
    v: u32,
    input: usize,
    leaf: Rc<InputLeaf>,
    rows: Vec<u32>,
}

/// What becomes of blocks.
enum Encoded {
    /// A leaf, and the bytes that its rows took.
    Leaf(Vec<u8>, usize),
    /// So many of the blocks are likely to stay within the byte bound.
    Fits(usize),
}

/// Blocks of a leaf whose rows are copied at once: each time all nodes of its columns are walked.
const TOGETHER: usize = 16;

pub struct Merged {
    pub component: Component,
    /// Free pages not used.
    pub free: FreeSpace,
    /// Pages of the inputs that are not the component's.
    pub given_up: Vec<Extent>,
    pub left_out: u64,
}

/// Which leaves of the inputs stay as they are.
fn kept_leaves(rel: &Relation, options: &Options, components: &[&Component]) -> Vec<Vec<bool>> {
    let mut leaves = Vec::new();
    for (input, &component) in components.iter().enumerate() {
        let directory = manifest::directory(rel, component);
        // A flush also leaves rows of pages that it could not seal: another component may have them by now.
        let written: u64 = directory.leaves.iter().map(|entry| u64::from(entry.rows)).sum();
        for (at, entry) in directory.leaves.iter().enumerate() {
            delay_point();
            let (first, end) = (tid::block(entry.first), tid::block(entry.last) + 1);
            let mut others = components.iter().filter(|other| other.id != component.id);
            let gone = gone_rows(rel, component, at, entry);
            let whole = gone == 0 && written == component.rows && !others.any(|c| c.blocks.meets(first, end));
            let by_rows = f64::from(entry.rows - gone) / f64::from(options.rows_per_leaf);
            // A leaf that takes so many bytes on disk took several times as many while it was built.
            let by_bytes = (4 * entry.image.len) as f64 / options.leaf_bytes as f64;
            let fill = by_rows.max(by_bytes).min(1.0);
            leaves.push((first, input, LeafCandidate { fill, whole }));
        }
    }
    leaves.sort_by_key(|leaf| leaf.0);
    let candidates: Vec<LeafCandidate> = leaves.iter().map(|leaf| leaf.2).collect();
    let mut kept = vec![Vec::new(); components.len()];
    for (leaf, is_kept) in leaves.iter().zip(keep(&candidates)) {
        kept[leaf.1].push(is_kept);
    }
    kept
}

/// About how many rows of a leaf are marked gone; 0 if none is. Marks of rows that an earlier merge has left out may be between
/// its own.
fn gone_rows(rel: &Relation, component: &Component, at: usize, entry: &LeafEntry) -> u32 {
    let mut leaf = None;
    let (mut marks, mut has_gone) = (0, false);
    for (v, states) in stub::states_of_blocks(rel, tid::block(entry.first)..tid::block(entry.last) + 1) {
        let marked = (1..=tid::MAX_OFFSET).filter(|&offset| states.get(offset) == State::Gone);
        for offset in marked {
            marks += 1;
            if !has_gone {
                let leaf = leaf.get_or_insert_with(|| leaf_read::read(rel, component, at, entry));
                has_gone = leaf.keys().find(tid::key(v, offset)).is_some();
            }
        }
    }
    if has_gone { entry.rows.min(marks) } else { 0 }
}

impl<'a> Merge<'a> {
    /// Of components whose rows everyone sees; `free` are pages to write to.
    pub fn new(rel: &'a Relation, options: Options, components: &[&'a Component], free: FreeSpace) -> Merge<'a> {
        let kept = kept_leaves(rel, &options, components);
        let inputs = components.iter().zip(kept).map(|(&component, kept)| Input {
            component,
            directory: manifest::directory(rel, component),
            kept,
            next_leaf: 0,
            leaf: None,
            next_row: 0,
            next: None,
        });
        let mut merge = Merge {
            rel,
            options,
            storages: storages(rel.desc()),
            inputs: inputs.collect(),
            pending: VecDeque::new(),
            rows_per_leaf: options.rows_per_leaf as usize,
            leaf_bytes: options.leaf_bytes.min(own_maintenance_work_mem()),
            leaves: Leaves::new(Some(free)),
            left_out: 0,
            values: Context::new("amax merge values"),
        };
        (0..merge.inputs.len()).for_each(|input| merge.advance(input));
        merge
    }

    /// Writes the merged component; `after_leaf` is called after each leaf.
    pub fn run(mut self, after_leaf: impl Fn()) -> Merged {
        loop {
            let blocks = self.next_blocks();
            if !blocks.is_empty() {
                self.write_leaf(blocks);
            } else if !self.keep_leaf() {
                break;
            }
            after_leaf();
        }
        let mut blocks = RangeSet::default();
        let mut given_up = Vec::new();
        for input in &self.inputs {
            blocks.union(&input.component.blocks);
            given_up.extend(&input.component.directory.extents);
            let leaves = input.directory.leaves.iter().zip(&input.kept);
            given_up.extend(leaves.filter(|leaf| !leaf.1).flat_map(|leaf| leaf.0.extents()));
        }
        let (component, free, _) = self.leaves.finish(self.rel, Some(Written::Merge), blocks, None);
        Merged {
            component,
            free,
            given_up,
            left_out: self.left_out,
        }
    }

    /// Moves an input to its next block.
    fn advance(&mut self, at: usize) {
        let input = &mut self.inputs[at];
        input.next = None;
        loop {
            let leaf = match &input.leaf {
                Some(leaf) if input.next_row < leaf.leaf.rows() => leaf.clone(),
                _ => {
                    let at = input.next_leaf;
                    let Some(entry) = input.directory.leaves.get(at) else {
                        input.leaf = None;
                        return;
                    };
                    if input.kept[at] {
                        let v = tid::block(entry.first);
                        input.leaf = None;
                        input.next_leaf += 1;
                        input.next = Some(Next::Leaf { v, at });
                        return;
                    }
                    let leaf = leaf_read::read(self.rel, input.component, at, entry);
                    let xids = leaf_read::read_xids(self.rel, input.component, entry);
                    input.leaf = Some(Rc::new(InputLeaf { at, leaf, xids }));
                    input.next_leaf += 1;
                    input.next_row = 0;
                    continue;
                }
            };
            let keys = leaf.leaf.keys();
            let first = input.next_row;
            let v = tid::block(keys.get(first));
            let end = keys.first(tid::key(v + 1, 0));
            input.next_row = end;
            // A flush also leaves rows of pages that it could not seal.
            if !input.component.blocks.contains(v) {
                continue;
            }
            let states = stub::states_of_block(self.rel, v);
            let gone = |row: usize| {
                let state = states.as_ref().map(|s| s.get(tid::offset(keys.get(row))));
                state == Some(State::Gone)
            };
            let rows: Vec<u32> = (first..end).filter(|&row| !gone(row)).map(|row| row as u32).collect();
            self.left_out += (end - first - rows.len()) as u64;
            if !rows.is_empty() {
                input.next = Some(Next::Rows(BlockRows {
                    v,
                    input: at,
                    leaf,
                    rows,
                }));
                return;
            }
        }
    }

    /// The blocks of the next leaf, in order: the sequence that its columns follow.
    fn next_blocks(&mut self) -> Vec<BlockRows> {
        let mut blocks = Vec::new();
        let mut rows = 0;
        while rows < self.rows_per_leaf {
            let Some(block) = self.pending.pop_front().or_else(|| self.next_block()) else {
                break;
            };
            rows += block.rows.len();
            blocks.push(block);
        }
        blocks
    }

    /// The lowest block of all inputs, unless a leaf that stays as it is comes before. No two hold the same.
    fn next_block(&mut self) -> Option<BlockRows> {
        delay_point();
        let lowest = self.lowest()?;
        match self.inputs[lowest].next.take() {
            Some(Next::Rows(block)) => {
                self.advance(lowest);
                Some(block)
            }
            leaf => {
                self.inputs[lowest].next = leaf;
                None
            }
        }
    }

    /// The input that the lowest block is of.
    fn lowest(&self) -> Option<usize> {
        let inputs = self.inputs.iter().enumerate();
        let next = inputs.filter_map(|(at, input)| Some((input.next.as_ref()?.block(), at)));
        next.min().map(|(_, at)| at)
    }

    /// Takes over the leaf that comes next; false if there is none.
    fn keep_leaf(&mut self) -> bool {
        let Some(lowest) = self.lowest() else {
            return false;
        };
        let input = &mut self.inputs[lowest];
        let Some(Next::Leaf { at, .. }) = input.next.take() else {
            return false;
        };
        let mut entry = input.directory.leaves[at].clone();
        if entry.xids == LeafXids::Frozen {
            // Of a load the component says whose they are.
            let xids = leaf_read::read_xids(self.rel, input.component, &entry);
            entry.xids = LeafXids::store(&xids, |bytes| self.leaves.write_bytes(self.rel, bytes));
        }
        self.leaves.add(entry);
        self.advance(lowest);
        true
    }

    /// Writes a leaf of these blocks, or of as many as its byte bound and memory allow.
    fn write_leaf(&mut self, mut blocks: Vec<BlockRows>) {
        let rows = |blocks: &[BlockRows]| blocks.iter().map(|b| b.rows.len()).sum::<usize>();
        let (image, bytes) = loop {
            let fit = match self.encode(&blocks) {
                Ok(Encoded::Leaf(image, bytes)) => break (image, bytes),
                Ok(Encoded::Fits(fit)) => fit,
                Err(Error::OutOfMemory(_)) if blocks.len() > 1 => {
                    // A smaller leaf takes less.
                    crate::memory::settle();
                    blocks.len() / 2
                }
                Err(error) => raise(error),
            };
            for block in blocks.split_off(fit).into_iter().rev() {
                self.pending.push_front(block);
            }
            self.rows_per_leaf = rows(&blocks);
        };
        if bytes < self.leaf_bytes / 2 {
            self.rows_per_leaf = (self.rows_per_leaf * 2).min(self.options.rows_per_leaf as usize);
        }
        let mut aliases = Vec::new();
        for block in &blocks {
            let keys = block.leaf.leaf.keys();
            let kept = |offset| {
                let wanted = tid::key(block.v, offset);
                let found = |&row: &u32| keys.get(row as usize);
                block.rows.binary_search_by_key(&wanted, found).is_ok()
            };
            let entry = &self.inputs[block.input].directory.leaves[block.leaf.at];
            let of_block = entry.aliases_of(block.v).iter();
            aliases.extend(of_block.filter(|alias| kept(alias.1)));
        }
        let mut xids = Xids::default();
        for block in &blocks {
            let of_leaf = &block.leaf.xids;
            block.rows.iter().for_each(|&row| xids.push(of_leaf.get(row)));
        }
        let key = |block: &BlockRows, row: u32| block.leaf.leaf.keys().get(row as usize);
        let (head, tail) = (&blocks[0], &blocks[blocks.len() - 1]);
        let keys = (key(head, head.rows[0]), key(tail, tail.rows[tail.rows.len() - 1]));
        self.leaves.write(self.rel, keys, &xids, aliases, &image);
    }

    /// The leaf of these blocks.
    fn encode(&mut self, blocks: &[BlockRows]) -> Result<Encoded, Error> {
        let keys = blocks.iter().flat_map(|block| {
            let keys = block.leaf.leaf.keys();
            block.rows.iter().map(|&row| (keys.get(row as usize), false))
        });
        let options = leaf_options(&self.options);
        let columns = self.storages.len();
        let mut builder = VerticalBuilder::new(keys, columns, options)?;
        let mut bytes = 0;
        let mut buffer = Vec::new();
        let mut rows = Vec::new();
        for at in 0..columns {
            let mut column = builder.column(self.storages[at].column);
            let mut sources: Vec<Option<(usize, Source)>> = Vec::new();
            sources.resize_with(self.inputs.len(), || None);
            let mut done = 0;
            let of_leaves = blocks.chunk_by(|a, b| Rc::ptr_eq(&a.leaf, &b.leaf));
            for run in of_leaves.flat_map(|run| run.chunks(TOGETHER)) {
                delay_point();
                let block = &run[0];
                done += run.len();
                rows.clear();
                rows.extend(run.iter().flat_map(|block| &block.rows));
                let source = &mut sources[block.input];
                if source.as_ref().is_none_or(|s| s.0 != block.leaf.at) {
                    // Let go of the old column before decoding the next.
                    *source = None;
                    *source = Some((block.leaf.at, Source::of(self.rel, &block.leaf.leaf, at)?));
                }
                let source = &source.as_ref().expect("set above").1;
                if let Some(copied) = source.same(self.storages[at]) {
                    column.append(copied, &rows)?;
                } else {
                    let pushed = self.values.within(|| {
                        rows.iter().try_for_each(|&row| {
                            let value = source.value(self.rel, at, self.storages[at], row, &mut buffer)?;
                            column.push(value)
                        })
                    });
                    self.values.reset();
                    pushed?;
                }
                if bytes + column.bytes() > self.leaf_bytes && blocks.len() > 1 {
                    let share = done as f64 / blocks.len() as f64;
                    let likely = bytes as f64 + column.bytes() as f64 / share;
                    let fit = self.leaf_bytes as f64 / likely * blocks.len() as f64;
                    return Ok(Encoded::Fits(((fit * 0.9) as usize).clamp(1, blocks.len() - 1)));
                }
            }
            bytes += column.bytes();
            builder.add(column)?;
        }
        Ok(Encoded::Leaf(builder.finish()?, bytes))
    }
}
