//! Making stubs.

use super::{
    At, ENTRY, State, TAKEN_OUT, ahead, encode, entry, found_state, group_of, key_of, lacking_pages, position,
    read_entries, replace_on,
};
use crate::columnar::form;
use crate::columnar::lookup;
use crate::columnar::row::Row;
use crate::disguise::kind::Kind as AsKind;
use crate::disguise::size::Physical;
use crate::fault::fault;
use crate::heap::tuple::{insert_frozen, put_frozen};
use crate::pg::memory::Context;
use crate::pg::stats::count_inserts;
use crate::pg::{Pin, Relation, Tuple, xid};
use crate::storage::buffer::{Change, Kind};
use crate::storage::rowpage::{self, heap_tuple, tid_block};
use crate::storage::{map, space};
use amax_lsm::Component;
use amax_lsm::meta::Map;
use amax_lsm::tid::{self, Key, key};
use pgrx::pg_sys;
use std::cell::Cell;

pub enum Found {
    Stub(At),
    Made(Made),
    /// Dead to everyone.
    Dead,
    /// Loaded by a later command of our own transaction.
    Invisible,
}

/// A stub that was just made.
pub struct Made {
    /// With it the stub stays where it is.
    pub pin: Pin,
    pub offset: u16,
    /// Whether it has all keys.
    pub whole: bool,
}

/// Where the row's stub has just been made together with others', if it has: no more need be known of the row. It is told once.
pub fn made_before(rel: &Relation, row: &pg_sys::ItemPointerData) -> Option<At> {
    ahead::take(rel, key(tid_block(row), row.ip_posid))
}

/// The row's stub, made if there is none.
pub fn get_or_create(rel: &Relation, component: &Component, at: &pg_sys::ItemPointerData, cid: u32) -> Found {
    if let Some(origin) = &component.origin {
        let mine = xid::is_current(pg_sys::TransactionId::from(origin.xid));
        if mine && origin.cmin >= cid {
            return Found::Invisible;
        }
    }
    let (v, offset) = (tid_block(at), at.ip_posid);
    loop {
        crate::memory::check_for_interrupts();
        let (state, entries) = found_state(rel, v, offset);
        match (state, entries) {
            (State::Dead | State::Gone, _) => return Found::Dead,
            (State::At { block, offset }, Some(directory)) => {
                ahead::note_asked(rel);
                return Found::Stub(At {
                    block,
                    offset,
                    directory,
                    whole: false,
                });
            }
            (_, entries) => match lookup::row(rel, component, at) {
                Some(row) => {
                    if let Some(made) = create(rel, row, at, entries) {
                        return Found::Made(made);
                    }
                }
                None => return Found::Dead,
            },
        }
    }
}

thread_local! {
    /// What a stub is formed in.
    static CONTEXT: Cell<Option<Context>> = const { Cell::new(None) };
}

/// Inserts a stub and enters it, with those of rows that are expected after it ([`ahead`]). Losing against another backend leaves an inert tuple
/// that the next flush drops, as a crash does. `entries` is the page of the directory that had none for the row, if there was one.
fn create(rel: &Relation, row: Row, at: &pg_sys::ItemPointerData, entries: Option<u32>) -> Option<Made> {
    let own = key(tid_block(at), at.ip_posid);
    let others = without_stubs(rel, ahead::after(rel, own));
    // One for all stubs: to make one takes as long as to form a stub. After an error it is somebody's to make anew.
    let mut context = CONTEXT.take().unwrap_or_else(|| Context::lasting("amax stub"));
    let columns = form::Columns::of(rel);
    let ((block, offset), whole) = context.within(|| {
        let (stub, whole) = form::stub(rel, &columns, row, own);
        (insert(rel, stub), whole)
    });
    // From here on our pin keeps the page from being flushed, and the stub on it. If it was before, or VACUUM has found the stub idle, that is gone
    // and the page may be something else by now, which is not to be mapped: the caller tries again.
    let pin = Pin::read(rel, block);
    let there = {
        let _lock = pin.share();
        let stub = heap_tuple(rel, &pin, offset).and_then(|t| key_of(&t));
        !rowpage::is_sealed(pin.page()) && stub == Some(own)
    };
    let mut placed = Vec::new();
    if there {
        map::adopt_unread(rel, block);
        fault("stub_adopted");
        if !others.is_empty() {
            placed = context.within(|| put_beside(rel, &pin, &columns, others));
            fault("stub_beside");
        }
    }
    context.reset();
    CONTEXT.set(Some(context));
    let to = State::At { block, offset };
    let entered = there
        && match placed.is_empty() {
            true => replace_on(rel, entries, (tid_block(at), at.ip_posid), State::None, to),
            false => enter(rel, entries, block, (own, offset), &placed),
        };
    fault("stub_entered");
    entered.then_some(Made { pin, offset, whole })
}

/// Those of some rows, all of one page of the directory, that have no entry.
fn without_stubs(rel: &Relation, mut rows: Vec<(Key, Row)>) -> Vec<(Key, Row)> {
    let Some(&(first, _)) = rows.first() else {
        return rows;
    };
    let free = |entries: &[u8]| -> Vec<bool> {
        rows.iter()
            .map(|(row, _)| entry(entries, *row) == State::None)
            .collect()
    };
    if let Some(free) = read_entries(rel, tid::block(first), free) {
        let mut free = free.into_iter();
        rows.retain(|_| free.next() == Some(true));
    }
    rows
}

/// A stub on a row page that is in no entry yet.
struct Placed {
    row: Key,
    offset: u16,
    whole: bool,
}

/// Puts stubs on a row page beside one of ours, which we have pinned since, as many as there is room for: one record for all of them. They are what heap
/// inserts for us; wide ones are left to it.
fn put_beside(rel: &Relation, pin: &Pin, columns: &form::Columns, rows: Vec<(Key, Row)>) -> Vec<Placed> {
    let stubs = rows
        .into_iter()
        .map(|(key, row)| (key, form::stub(rel, columns, row, key)));
    let stubs: Vec<(Key, (Tuple, bool))> = stubs.take_while(|(_, (stub, _))| stub.len() <= form::WIDE).collect();
    let lock = pin.exclusive();
    let mut change = Change::begin(rel);
    let handle = change.borrowed(&lock);
    let mut page = change.whole(handle);
    let mut placed = Vec::with_capacity(stubs.len());
    for (row, (mut stub, whole)) in stubs {
        if page.heap_free_space() < space::free_space_needed(rel, stub.len()) {
            break;
        }
        let Some(offset) = put_frozen(rel, &mut page, pin.block(), &mut stub) else {
            break;
        };
        placed.push(Placed { row, offset, whole });
    }
    if !placed.is_empty() {
        change.commit();
    }
    placed
}

/// Enters a stub on a row page, and those beside it, all of one page of the directory, where rows have none; whether the first has been entered. `known` is as for
/// [`replace_on`].
fn enter(rel: &Relation, mut known: Option<u32>, block: u32, first: (Key, u16), beside: &[Placed]) -> bool {
    loop {
        let made = || map::get_or_make(rel, Map::Stubs, group_of(first.0), Kind::Stubs);
        let directory = known.take().unwrap_or_else(made);
        let mut change = Change::begin(rel);
        let page = change.page(directory, Kind::Stubs);
        let entries = change.payload_mut(page);
        if entries[TAKEN_OUT] != 0 {
            continue;
        }
        let mut enter = |row: Key, offset: u16| {
            let is_free = entry(entries, row) == State::None;
            if is_free {
                let at = position(tid::block(row), tid::offset(row));
                entries[at..at + ENTRY].copy_from_slice(&encode(State::At { block, offset }));
            }
            is_free
        };
        let entered = enter(first.0, first.1);
        let mut made = Vec::with_capacity(beside.len());
        for &Placed { row, offset, whole } in beside {
            if enter(row, offset) {
                let at = At {
                    block,
                    offset,
                    directory,
                    whole,
                };
                made.push((row, at));
            }
        }
        if entered || !made.is_empty() {
            change.commit();
        }
        ahead::note_made(rel, made);
        return entered;
    }
}

/// Puts a stub on a row page; returns its place. The page may have no logical block yet.
fn insert(rel: &Relation, mut stub: Tuple) -> (u32, u16) {
    let made = space::for_tuple(rel, stub.len(), || lacking_pages(rel));
    let guard = Physical::enter();
    // A stub is no row that anybody has missed, and who only locks one writes nothing. Moving attributes of a wide one
    // out of line would form the tuple anew, without the row's key.
    let kind = if stub.len() > form::WIDE {
        AsKind::toast_table(rel)
    } else {
        AsKind::materialized_view(rel)
    };
    // Frozen: every snapshot that sees the row must see that it has not been changed yet.
    {
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let _unread = crate::disguise::unread::Unread::enter(rel);
        insert_frozen(rel, &mut stub);
    }
    drop(guard);
    if let Some(page) = made {
        space::announce(rel, page);
    }
    // It is no row.
    count_inserts(rel, -1);
    let (block, offset) = (tid_block(stub.tid()), stub.tid().ip_posid);
    fault("stub_placed");
    drop(kind);
    (block, offset)
}
