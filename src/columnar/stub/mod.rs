//! Stubs: how a columnar row is locked, updated and deleted.
//!
//! The first writer of a columnar row inserts a *stub*, a frozen heap tuple on a row page that holds only the row's key
//! columns, and enters its place in the stub directory under the row's TID. From then on heap's functions on the stub
//! are the row's locking and versioning. A row is visible iff its component is and its stub is absent or satisfies the
//! snapshot.
//!
//! The directory is an array: a page for every four logical blocks, six bytes a row. An entry is empty, a stub's
//! physical TID, or the mark that the row is dead to everyone (which VACUUM sets before it lets the stub's line pointer
//! be used again, and scans do). The mark is the row's anti-matter: once no index entry leads to the row a merge leaves it out, and
//! once nobody reads the merge's inputs the mark goes.

pub mod ahead;
mod make;

pub use make::{Found, get_or_create, made_before};

use super::form::KEY_BYTES;
use crate::fault::fault;
use crate::heap::prune;
use crate::pg::{Lock, Pin, Relation, Snapshot, Tuple};
use crate::storage::buffer::{Change, Kind, patch};
use crate::storage::damage::corrupt;
use crate::storage::rowpage::{self, heap_tuple, is_stub, tid_block};
use crate::storage::version::Versions;
use crate::storage::watch::Watch;
use crate::storage::{manifest, map, meta, space};
use amax_lsm::meta::Map;
use amax_lsm::tid::{self, Key, MAX_OFFSET, key};
use amax_lsm::{Component, Extent};
use pgrx::pg_sys;
use std::ops::Range;

const ENTRY: usize = 6;
const BLOCKS_PER_PAGE: u32 = space::BLOCKS_PER_DIRECTORY_PAGE;
/// Behind the entries: not 0 on a page that has been taken out of the directory.
const TAKEN_OUT: usize = BLOCKS_PER_PAGE as usize * MAX_OFFSET as usize * ENTRY;
/// In place of a block; the offset then tells [`State::Dead`] (0) from [`State::Gone`] (1).
const DEAD: u32 = u32::MAX;
/// A row's entry in the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    None,
    /// Dead to everyone; index entries may still lead to the row.
    Dead,
    /// Dead to everyone and without index entries: a merge may leave the row out, or has.
    Gone,
    At {
        block: u32,
        offset: u16,
    },
}

impl State {
    pub fn is_dead(self) -> bool {
        matches!(self, State::Dead | State::Gone)
    }
}

fn parse(entry: &[u8]) -> State {
    let block = u32::from_le_bytes(entry[..4].try_into().unwrap());
    let offset = u16::from_le_bytes(entry[4..6].try_into().unwrap());
    match block {
        0 => State::None,
        DEAD if offset == 0 => State::Dead,
        DEAD => State::Gone,
        block => State::At { block, offset },
    }
}

fn encode(state: State) -> [u8; ENTRY] {
    let (block, offset) = match state {
        State::None => (0, 0),
        State::Dead => (DEAD, 0),
        State::Gone => (DEAD, 1),
        State::At { block, offset } => (block, offset),
    };
    let mut entry = [0; ENTRY];
    entry[..4].copy_from_slice(&block.to_le_bytes());
    entry[4..].copy_from_slice(&offset.to_le_bytes());
    entry
}

fn position(v: u32, offset: u16) -> usize {
    ((v % BLOCKS_PER_PAGE) as usize * MAX_OFFSET as usize + offset as usize - 1) * ENTRY
}

/// That of a row on its page.
fn entry(entries: &[u8], row: Key) -> State {
    parse(&entries[position(tid::block(row), tid::offset(row))..])
}

/// Where a row's stub was a moment ago.
#[derive(Clone, Copy)]
pub struct At {
    pub block: u32,
    pub offset: u16,
    /// The page of the directory that says so.
    directory: u32,
    /// Whether it has all keys, as it was made by the statement that asks.
    pub whole: bool,
}

impl At {
    /// Whether it still is. The caller has its page pinned, and a snapshot, which keeps the page of the directory from being used for something else.
    pub fn is_of(self, rel: &Relation, row: &pg_sys::ItemPointerData) -> bool {
        let (block, offset) = (self.block, self.offset);
        let pin = Pin::read(rel, self.directory);
        let lock = pin.share();
        let entries = lock
            .payload_of(rel, Kind::Stubs)
            .filter(|entries| entries[TAKEN_OUT] == 0);
        entries.is_some_and(|entries| entry(entries, key(tid_block(row), row.ip_posid)) == State::At { block, offset })
    }
}

/// The entries of one logical block.
pub struct States(Vec<u8>);

impl States {
    pub fn get(&self, offset: u16) -> State {
        let at = (offset as usize - 1) * ENTRY;
        parse(&self.0[at..at + ENTRY])
    }
}

/// None when no row of the block has an entry's place, which is the usual case.
pub fn states_of_block(rel: &Relation, v: u32) -> Option<States> {
    read_entries(rel, v, |payload| {
        let start = position(v, 1);
        States(payload[start..start + MAX_OFFSET as usize * ENTRY].to_vec())
    })
}

/// Those of the blocks that have any, ascending. Each page of the directory is read once.
pub fn states_of_blocks(rel: &Relation, blocks: Range<u32>) -> impl Iterator<Item = (u32, States)> + '_ {
    pages_of_blocks(rel, blocks).flat_map(|(blocks, entries)| {
        blocks.map(move |v| {
            let start = position(v, 1);
            (v, States(entries[start..start + MAX_OFFSET as usize * ENTRY].to_vec()))
        })
    })
}

/// The directory's pages for blocks, as far as there are any: the blocks, of those, that each is about, and its entries.
fn pages_of_blocks(rel: &Relation, blocks: Range<u32>) -> impl Iterator<Item = (Range<u32>, Vec<u8>)> + '_ {
    groups_of(&blocks).filter_map(move |group| {
        let first = group * BLOCKS_PER_PAGE;
        let entries = read_entries(rel, first, |payload| payload[..TAKEN_OUT].to_vec())?;
        Some((
            blocks.start.max(first)..blocks.end.min(first + BLOCKS_PER_PAGE),
            entries,
        ))
    })
}

fn groups_of(blocks: &Range<u32>) -> Range<u32> {
    match blocks.is_empty() {
        true => 0..0,
        false => blocks.start / BLOCKS_PER_PAGE..(blocks.end - 1) / BLOCKS_PER_PAGE + 1,
    }
}

/// The directory's pages for blocks as they are now; they may have been seen before.
pub fn versions_of_blocks(rel: &Relation, blocks: &Range<u32>, before: Option<Versions>) -> Versions {
    Versions::of(rel, Map::Stubs, groups_of(blocks), before)
}

/// The rows of some blocks, all of one page of the directory, that a snapshot does not see, as far as their stubs go.
pub struct Unseen {
    pub blocks: Range<u32>,
    /// By their places on the page.
    hidden: Vec<bool>,
    /// Whether that is for good, and for everyone.
    pub is_settled: bool,
}

impl Unseen {
    pub fn has(&self, v: u32, offset: u16) -> bool {
        self.hidden[position(v, offset) / ENTRY]
    }
}

/// So many rows found to be dead to everyone are marked so by who reads them; fewer, if no other stub is left to look for: then the next reader looks for
/// none, and may remember the rows ([`Unseen::is_settled`]).
const MANY_DEAD: usize = 8;

/// What a snapshot does not see, of the blocks that have entries, ascending.
pub fn unseen<'a>(rel: &'a Relation, blocks: Range<u32>, snapshot: &'a Snapshot) -> impl Iterator<Item = Unseen> + 'a {
    pages_of_blocks(rel, blocks).map(move |(blocks, entries)| {
        crate::memory::check_for_interrupts();
        let mut hidden = vec![false; TAKEN_OUT / ENTRY];
        let mut stubs: Vec<(Key, State)> = Vec::new();
        for v in blocks.clone() {
            let first = position(v, 1);
            let of_block = entries[first..].chunks_exact(ENTRY).take(MAX_OFFSET as usize);
            for (offset, entry) in (1..).zip(of_block) {
                match parse(entry) {
                    State::None => {}
                    State::Dead | State::Gone => hidden[position(v, offset) / ENTRY] = true,
                    at => stubs.push((key(v, offset), at)),
                }
            }
        }
        for (&(row, _), seen) in stubs.iter().zip(seen(rel, &stubs, snapshot)) {
            hidden[position(tid::block(row), tid::offset(row)) / ENTRY] = !seen;
        }
        Unseen {
            blocks,
            hidden,
            is_settled: stubs.is_empty(),
        }
    })
}

/// Which rows the snapshot sees of those with these entries, all of one page of the directory and with stubs.
fn seen(rel: &Relation, entries: &[(Key, State)], snapshot: &Snapshot) -> Vec<bool> {
    let mut seen = vec![false; entries.len()];
    let mut missed = Vec::new();
    let stubs = stubs_of(entries);
    for of_page in stubs.chunk_by(|a, b| a.block == b.block) {
        fault("stub_seen");
        let pin = Pin::read(rel, of_page[0].block);
        // Who keeps the rows of this page elsewhere does not come here as to a row page.
        prune::if_worth(rel, &pin);
        let lock = pin.share();
        for stub in of_page {
            match stub.tuple(rel, &pin) {
                Some(mut tuple) => seen[stub.entry] = tuple.is_visible(rel, lock.buffer(), snapshot),
                None => missed.push(stub.entry),
            }
        }
    }
    missed.sort_unstable();
    let entries: Vec<(Key, State)> = missed.iter().map(|&entry| entries[entry]).collect();
    let mut dead = Vec::new();
    for ((entry, is_pruned), at) in entries.iter().zip(pruned(rel, &entries)).zip(missed) {
        let (v, offset) = (tid::block(entry.0), tid::offset(entry.0));
        match is_pruned {
            true => dead.push(*entry),
            false => seen[at] = visible(rel, v, offset, state(rel, v, offset), snapshot),
        }
    }
    // What VACUUM would do (`mark_dead`). Who finds an entry as it was, whose stub has been pruned, may: only VACUUM has stubs' line pointers
    // used again, and marks their rows before.
    let is_worth_it = dead.len() >= MANY_DEAD || dead.len() == stubs.len();
    if is_worth_it && !manifest::on_standby() {
        set_all(rel, dead.into_iter(), State::Dead);
    }
    seen
}

/// What [`state`] says, by what the caller watches, if anything.
pub fn watched_state(rel: &Relation, watch: Option<&Watch>, v: u32, offset: u16) -> State {
    match watch {
        Some(watch) if !watch.may_have_stubs(v / BLOCKS_PER_PAGE) => State::None,
        _ => state(rel, v, offset),
    }
}

pub fn state(rel: &Relation, v: u32, offset: u16) -> State {
    found_state(rel, v, offset).0
}

/// The same, and the page of the directory that says so, if there is one.
fn found_state(rel: &Relation, v: u32, offset: u16) -> (State, Option<u32>) {
    let found = read_entries_on(rel, v, |block, payload| {
        let at = position(v, offset);
        (parse(&payload[at..at + ENTRY]), Some(block))
    });
    found.unwrap_or((State::None, None))
}

/// Reads the directory's page for a block, if there is one.
fn read_entries<R>(rel: &Relation, v: u32, f: impl Fn(&[u8]) -> R) -> Option<R> {
    read_entries_on(rel, v, |_, payload| f(payload))
}

fn read_entries_on<R>(rel: &Relation, v: u32, f: impl Fn(u32, &[u8]) -> R) -> Option<R> {
    let read = manifest::read_stable(rel, || {
        let block = directory_page(rel, v)?;
        let pin = Pin::read(rel, block);
        let lock = pin.share();
        let entries = lock.payload_of(rel, Kind::Stubs).map(|payload| f(block, payload));
        Some(entries.ok_or(block))
    });
    read.map(|entries| entries.unwrap_or_else(|block| corrupt(rel, block, "expected a page of the stub directory")))
}

fn directory_page(rel: &Relation, v: u32) -> Option<u32> {
    Some(map::get(rel, Map::Stubs, v / BLOCKS_PER_PAGE)).filter(|&block| block != 0)
}

/// Sets the row's entry to `to` if it is `from`; true on success. The page's lock decides between two who try.
fn replace(rel: &Relation, v: u32, offset: u16, from: State, to: State) -> bool {
    if from != State::None && directory_page(rel, v).is_none() {
        return false;
    }
    replace_on(rel, None, (v, offset), from, to)
}

/// The same where the caller has just seen which page of the directory has the row's entry, and has a snapshot, which keeps
/// the page from being used for something else.
fn replace_on(rel: &Relation, mut known: Option<u32>, (v, offset): (u32, u16), from: State, to: State) -> bool {
    let at = position(v, offset);
    loop {
        let made = || map::get_or_make(rel, Map::Stubs, v / BLOCKS_PER_PAGE, Kind::Stubs);
        let block = known.take().unwrap_or_else(made);
        let mut taken_out = false;
        let replaced = patch(rel, block, Kind::Stubs, |payload| {
            taken_out = payload[TAKEN_OUT] != 0;
            let is_from = parse(&payload[at..at + ENTRY]) == from;
            (is_from && !taken_out).then(|| (at, encode(to)))
        });
        if !taken_out {
            return replaced;
        }
    }
}

/// Runs `f` on the stub of row (v, offset) at `place`, under its page's share lock. None when there is no such stub any
/// more.
pub fn with_tuple<R>(
    rel: &Relation,
    row: (u32, u16),
    place: (u32, u16),
    f: impl FnOnce(&mut Tuple, &Lock) -> R,
) -> Option<R> {
    let pin = Pin::read(rel, place.0);
    let lock = pin.share();
    let mut tuple = heap_tuple(rel, &pin, place.1)?;
    (key_of(&tuple) == Some(key(row.0, row.1))).then(|| f(&mut tuple, &lock))
}

/// The key of the row that a tuple is the stub of.
pub fn key_of(tuple: &Tuple) -> Option<Key> {
    let header = tuple.header();
    if !is_stub(header) {
        return None;
    }
    // SAFETY: a stub has them there (`form`).
    Some(unsafe { header.u64_at(header.hoff() - KEY_BYTES) })
}

/// Whether the snapshot sees the row, as far as its stub goes.
pub fn visible(rel: &Relation, v: u32, offset: u16, mut seen: State, snapshot: &Snapshot) -> bool {
    loop {
        let State::At { block, offset: at } = seen else {
            return seen == State::None;
        };
        fault("stub_seen");
        let judged = with_tuple(rel, (v, offset), (block, at), |tuple, lock| {
            tuple.is_visible(rel, lock.buffer(), snapshot)
        });
        if let Some(visible) = judged {
            return visible;
        }
        if is_pruned(rel, (v, offset), (block, at)) {
            return false;
        }
        seen = state(rel, v, offset);
    }
}

/// Whether the row's entry leads to this place, and the stub there has been pruned: the row is dead to everyone.
fn is_pruned(rel: &Relation, row: (u32, u16), place: (u32, u16)) -> bool {
    let (block, offset) = place;
    pruned(rel, &[(key(row.0, row.1), State::At { block, offset })])[0]
}

/// The same of entries of one page of the directory. While we hold a stub's page none is taken off it; otherwise one
/// might have been, and made anew at the same place, between our two looks.
fn pruned(rel: &Relation, entries: &[(Key, State)]) -> Vec<bool> {
    let stubs = stubs_of(entries);
    let mut pruned = vec![false; entries.len()];
    for of_page in stubs.chunk_by(|a, b| a.block == b.block) {
        fault("stub_missed");
        let pin = Pin::hold(rel, of_page[0].block);
        let now = |payload: &[u8]| -> Vec<State> {
            let at = of_page
                .iter()
                .map(|stub| position(tid::block(stub.row), tid::offset(stub.row)));
            at.map(|at| parse(&payload[at..at + ENTRY])).collect()
        };
        let now = read_entries(rel, tid::block(of_page[0].row), now).unwrap_or_default();
        let _lock = pin.share();
        for (now, stub) in now.into_iter().zip(of_page) {
            pruned[stub.entry] = now == entries[stub.entry].1 && stub.tuple(rel, &pin).is_none();
        }
    }
    pruned
}

/// Where an entry says that its row's stub is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    block: u32,
    /// Which entry, of those asked for.
    entry: usize,
    row: Key,
    offset: u16,
}

impl Place {
    /// The stub, if it is there.
    fn tuple<'a>(&self, rel: &Relation, pin: &'a Pin) -> Option<Tuple<'a>> {
        heap_tuple(rel, pin, self.offset).filter(|tuple| key_of(tuple) == Some(self.row))
    }
}

/// By pages, each of which is looked at once then, however marks and stubs on other pages come between its own.
fn stubs_of(entries: &[(Key, State)]) -> Vec<Place> {
    let place = |(entry, &(row, state)): (usize, &(Key, State))| match state {
        State::At { block, offset } => Some(Place {
            block,
            entry,
            row,
            offset,
        }),
        _ => None,
    };
    let mut stubs: Vec<Place> = entries.iter().enumerate().filter_map(place).collect();
    stubs.sort_unstable();
    stubs
}

/// A flush drops the stub at `place`, on a page it has sealed: the row is as if nobody had ever touched it.
pub fn release(rel: &Relation, row: Key, place: (u32, u16)) {
    let (v, offset) = (tid::block(row), tid::offset(row));
    replace(
        rel,
        v,
        offset,
        State::At {
            block: place.0,
            offset: place.1,
        },
        State::None,
    );
}

/// Takes idle stubs off their page, under its cleanup lock: rows whose stubs were only locked, or whose changes were
/// rolled back. Nobody can be about to use them: that takes a pin.
pub fn remove_idle(rel: &Relation, lock: &Lock, idle: &[(Key, u16)]) {
    // The row first: a stub that is gone while its entry is there means that the row is dead.
    for &(row, offset) in idle {
        release(rel, row, (lock.block(), offset));
    }
    fault("vacuum_released");
    let mut change = Change::begin(rel);
    let handle = change.borrowed(lock);
    let mut page = change.whole(handle);
    for &(_, offset) in idle {
        page.set_unused(offset);
    }
    page.truncate_line_pointers();
    rowpage::free_space_to_lowest(&mut page);
    change.commit();
}

/// Empties the entries of a block whose component goes: its rows are nobody's, their stubs inert tuples.
pub fn forget(rel: &Relation, v: u32) {
    let Some(block) = directory_page(rel, v) else {
        return;
    };
    let mut change = Change::begin(rel);
    let page = change.page(block, Kind::Stubs);
    let start = position(v, 1);
    let entries = start..start + MAX_OFFSET as usize * ENTRY;
    if change.payload(page)[entries.clone()].iter().any(|&b| b != 0) {
        change.payload_mut(page)[entries].fill(0);
        change.commit();
    }
}

/// The entries in use of the directory page for blocks `group * 4` and following, ascending.
fn entries_of_group(rel: &Relation, group: u32) -> Vec<(Key, State)> {
    let Some(block) = directory_page(rel, group * BLOCKS_PER_PAGE) else {
        return Vec::new();
    };
    let pin = Pin::read(rel, block);
    let lock = pin.share();
    let payload = lock.payload(rel, Kind::Stubs);
    let mut entries = Vec::new();
    for v in group * BLOCKS_PER_PAGE..(group + 1) * BLOCKS_PER_PAGE {
        for offset in 1..=MAX_OFFSET {
            let at = position(v, offset);
            match parse(&payload[at..at + ENTRY]) {
                State::None => {}
                state => entries.push((key(v, offset), state)),
            }
        }
    }
    entries
}

/// All entries in use, a directory page at a time.
pub fn entries(rel: &Relation) -> impl Iterator<Item = Vec<(Key, State)>> {
    groups(rel).map(move |group| {
        crate::memory::check_for_interrupts();
        entries_of_group(rel, group)
    })
}

/// Rows that are dead to everyone.
#[derive(Default)]
pub struct DeadRows {
    /// Ascending keys of those that index entries may still lead to, as many as there is room for.
    pub indexed: Vec<Key>,
    /// All that are marked.
    pub marked: u64,
    /// Whether that is all.
    pub all: bool,
}

/// Marks rows dead whose stubs have been pruned, until there is no room for their keys. VACUUM runs this after pruning
/// and before any dead line pointer may be used again.
pub fn mark_dead(rel: &Relation, has_room: impl Fn(&mut Vec<Key>) -> bool) -> DeadRows {
    let mut dead = DeadRows::default();
    dead.all = entries(rel).all(|of_page| {
        let is_pruned = pruned(rel, &of_page);
        let mut marked = Vec::new();
        let all = of_page.into_iter().zip(is_pruned).all(|((row, state), is_pruned)| {
            if !has_room(&mut dead.indexed) {
                return false;
            }
            if is_pruned {
                marked.push((row, state));
            }
            if is_pruned || state.is_dead() {
                dead.marked += 1;
                if state != State::Gone {
                    dead.indexed.push(row);
                }
            }
            true
        });
        // An entry whose stub is gone is nobody's to change but ours.
        set_all(rel, marked.into_iter(), State::Dead);
        all
    });
    dead
}

/// Notes that no index entry leads to these dead rows any more.
pub fn mark_gone(rel: &Relation, rows: &[Key]) {
    set_all(rel, rows.iter().map(|&row| (row, State::Dead)), State::Gone);
}

/// Sets entries that are in these states to another, a page of the directory at a time; ascending keys.
fn set_all(rel: &Relation, entries: impl Iterator<Item = (Key, State)>, to: State) {
    let mut entries = entries.peekable();
    while let Some(&(first, _)) = entries.peek() {
        let of_page = std::iter::from_fn(|| entries.next_if(|entry| group_of(entry.0) == group_of(first)));
        let Some(block) = directory_page(rel, tid::block(first)) else {
            of_page.for_each(drop);
            continue;
        };
        let mut change = Change::begin(rel);
        let page = change.page(block, Kind::Stubs);
        let payload = change.payload_mut(page);
        let mut is_changed = false;
        for (row, from) in of_page {
            let at = position(tid::block(row), tid::offset(row));
            if parse(&payload[at..at + ENTRY]) == from {
                payload[at..at + ENTRY].copy_from_slice(&encode(to));
                is_changed = true;
            }
        }
        // Several may set the same ones; a record for nothing would have all sessions read the page again.
        if is_changed {
            change.commit();
        }
    }
}

/// Takes back the marks of rows that a merge left out of the component, now that nobody reads the merge's inputs.
pub fn sweep(rel: &Relation, component: &Component) {
    // A page of the directory at a time: there may be as many as the table had rows.
    for entries in entries(rel) {
        let gone = entries
            .into_iter()
            .filter(|(row, state)| *state == State::Gone && component.blocks.contains(tid::block(*row)));
        let gone: Vec<Key> = gone.map(|(row, _)| row).collect();
        let mut swept = Vec::new();
        for of_block in gone.chunk_by(|a, b| tid::block(*a) == tid::block(*b)) {
            let leaf = super::lookup::leaf_of(rel, component, tid::block(of_block[0]));
            let leaf = leaf.unwrap_or_else(|manifest::Replaced| manifest::cancel_replaced());
            let has = |row| leaf.as_ref().is_some_and(|leaf| leaf.keys().find(row).is_some());
            swept.extend(of_block.iter().filter(|&&row| !has(row)));
        }
        set_all(rel, swept.into_iter().map(|row| (row, State::Gone)), State::None);
    }
}

/// Pages that the directory would have, were there a stub for every block.
fn lacking_pages(rel: &Relation) -> u64 {
    let lacks = |group: &u32| directory_page(rel, group * BLOCKS_PER_PAGE).is_none();
    groups(rel).filter(lacks).count() as u64
}

/// The directory's pages, as far as there are any.
pub fn groups(rel: &Relation) -> Range<u32> {
    0..meta::logical_blocks(rel).div_ceil(BLOCKS_PER_PAGE)
}

/// The one that has the row's entry.
pub fn group_of(row: Key) -> u32 {
    tid::block(row) / BLOCKS_PER_PAGE
}

/// Takes pages without an entry out of the directory, of those given; who was about to read one finds it empty, who was
/// about to write to one sees that it is no longer there. To be retired by the caller.
pub fn take_out_empty_pages(rel: &Relation, groups: impl IntoIterator<Item = u32>) -> Vec<Extent> {
    let mut taken = Vec::new();
    for group in groups {
        crate::memory::check_for_interrupts();
        if directory_page(rel, group * BLOCKS_PER_PAGE).is_none() || !entries_of_group(rel, group).is_empty() {
            continue;
        }
        let page = map::take_back(rel, Map::Stubs, group, Kind::Stubs, |payload| {
            let empty = payload[..TAKEN_OUT].iter().all(|&byte| byte == 0);
            payload[TAKEN_OUT] = u8::from(empty);
            empty
        });
        taken.extend(page.map(|start| Extent { start, len: 1 }));
    }
    taken
}
