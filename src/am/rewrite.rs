//! The new file of a table that CLUSTER or VACUUM FULL writes. Settled rows become a component, in the order they come;
//! the versions that old snapshots, or our own transaction, may tell from others go along with their update chains into
//! row pages, through heap's rewrite module (rewriteheap.c). That appends to the file by itself, so it has its turn
//! when the component is written.
//!
//! Rows that heap might refuse, or that hold too much for a leaf, go that way too.
//!
//! A row that is settled is in no chain of others: whoever replaced a version, or was replaced by one, that is still
//! needed did so after the horizon. Dead versions are not shown to the module, which heap does to save memory: it drops
//! the version before, also where that one lives and only its successor was rolled back.
//!
//! Nobody sees the new file before our transaction commits; an error or a crash leaves nothing but a file that goes.

use super::spool::Spool;
use crate::columnar::Width;
use crate::columnar::write::ComponentWriter;
use crate::fault::fault;
use crate::heap::rewrite as heap;
use crate::heap::settled::is_settled;
use crate::heap::toast;
use crate::options::Options;
use crate::pg::horizon::conflict_older;
use crate::pg::memory::Context;
use crate::pg::tuple::Header;
use crate::pg::values::Row;
use crate::pg::{Relation, Tuple, xid};
use crate::storage::{manifest, map, meta};
use amax_lsm::tid::key;
use amax_lsm::xids::{FROZEN, is_normal, precedes};
use pgrx::pg_sys;

/// VACUUM's limits for the table.
#[derive(Clone, Copy)]
pub struct Cutoffs {
    pub oldest_xmin: pg_sys::TransactionId,
    pub xid: pg_sys::TransactionId,
    pub multi: pg_sys::MultiXactId,
}

pub struct Rewrite<'a> {
    old: &'a Relation,
    new: &'a Relation,
    cutoffs: Cutoffs,
    /// Whether a row was frozen, so that a standby's older snapshots would see it.
    frozen: bool,
    /// Of settled rows, from the first.
    component: Option<Component>,
    /// What goes to row pages: first what may have replaced something, then what has been replaced. So the module keeps
    /// no version in memory for one that comes later, but for those in the middle of longer chains.
    others: Spool,
    replaced: Spool,
    width: Width,
    /// A row being looked at.
    row: Row,
}

struct Component {
    writer: ComponentWriter,
    /// Of the last row. All blocks are ours: nobody else puts rows in the file, and row pages get theirs later.
    v: u32,
    offset: u16,
}

impl Component {
    fn begin(rel: &Relation) -> Component {
        meta::ensure(rel);
        Component {
            writer: ComponentWriter::new(rel, Options::of(rel), None),
            v: 0,
            offset: 0,
        }
    }
}

impl<'a> Rewrite<'a> {
    /// Of the rows of `old`, to `new`, which is empty. In the current memory context.
    pub fn new(old: &'a Relation, new: &'a Relation, cutoffs: Cutoffs) -> Rewrite<'a> {
        Rewrite {
            old,
            new,
            cutoffs,
            frozen: false,
            component: None,
            others: Spool::new(),
            replaced: Spool::new(),
            width: Width::of_whole_stubs(old).unwrap_or_else(|| Width::of(new)),
            row: Row::new(old.desc().natts()),
        }
    }

    /// Takes a version that is not dead, as VACUUM's rules found it. Its TID is the one that update chains link.
    pub fn add(&mut self, tuple: &mut Tuple) {
        if !is_settled(tuple.header(), self.cutoffs.oldest_xmin) {
            return match is_replaced(tuple.header()) {
                true => self.replaced.put(tuple),
                false => self.others.put(tuple),
            };
        }
        deform(&mut self.row, self.old, tuple);
        if self.width.is_for_heap(self.row.values()) {
            return self.others.put(tuple);
        }
        let component = self.component.get_or_insert_with(|| Component::begin(self.new));
        if component.writer.ends_block(component.offset) {
            component.v += 1;
            component.offset = 0;
        }
        component.offset += 1;
        let key = key(component.v, component.offset);
        let xid = match tuple.header().xmin().into_inner() {
            xid if precedes(xid, self.cutoffs.xid.into_inner()) => {
                self.frozen |= is_normal(xid);
                FROZEN
            }
            xid => xid,
        };
        component.writer.push(self.new, key, xid, self.row.values());
    }

    pub fn finish(mut self) {
        if let Some(component) = self.component.take() {
            self.publish(component);
        }
        let others = [self.others.take(), self.replaced.take()];
        if others.iter().any(|spool| !spool.is_empty()) {
            self.write_row_pages(others);
        }
    }

    fn publish(&self, component: Component) {
        let Component { mut writer, v, .. } = component;
        let first = meta::reserve(self.new, v + 1);
        assert_eq!(first, 0, "the new file had rows");
        (0..=v).for_each(|v| writer.own(v));
        let (component, free, _) = writer.finish(self.new, None);
        fault("rewrite_shredded");
        if self.frozen {
            conflict_older(self.new, self.cutoffs.xid);
        }
        manifest::publish(self.new, |manifest| {
            manifest.free.give_all(&free);
            manifest.add(component);
        });
        fault("rewrite_published");
    }

    fn write_row_pages(&mut self, others: [Spool; 2]) {
        meta::ensure(self.new);
        let first = self.new.physical_blocks();
        let (old, new, cutoffs) = (self.old, self.new, self.cutoffs);
        let Cutoffs {
            oldest_xmin,
            xid,
            multi,
        } = cutoffs;
        toast::lock_for_reading(old);
        let module = heap::Rewrite::begin(old, new, oldest_xmin, xid, multi);
        let mut context = Context::new("amax rewritten row");
        let row = &mut self.row;
        let mut write = |tuple: &mut Tuple| {
            if has_lost_values(old, tuple.header()) {
                return;
            }
            context.within(|| {
                deform(row, old, tuple);
                // SAFETY: the row's attributes.
                let mut copy = unsafe { row.form(new.desc(), new.id()) };
                module.add(tuple, &mut copy);
            });
            context.reset();
        };
        for spool in others {
            spool.drain(&mut write);
        }
        module.end();
        fault("rewrite_kept");
        // The pages lie in a row, and the map pages that this adds come behind them.
        for p in first..new.physical_blocks() {
            map::adopt(new, p);
        }
    }
}

/// Whether a version that is not dead has been deleted, or replaced by another.
fn is_replaced(header: Header) -> bool {
    u32::from(header.infomask()) & (pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_LOCK_ONLY) == 0
}

/// Whether a version's values out of line may be gone. Reading the TOAST table prunes it, by the horizon as it is now:
/// that has moved since the copy began when a transaction that held it ended, and nobody needs the version any more.
fn has_lost_values(old: &Relation, header: Header) -> bool {
    header.has_external() && is_replaced(header) && xid::precedes(header.update_xid(), xid::oldest_xmin(old))
}

/// The tuple's attributes, without the values of dropped columns.
fn deform(row: &mut Row, rel: &Relation, tuple: &mut Tuple) {
    let dropped = rel.desc().attributes().map(|att| att.attisdropped);
    row.deform(tuple, rel.desc());
    for at in dropped.enumerate().filter(|(_, dropped)| *dropped).map(|(at, _)| at) {
        row.set(at, (pg_sys::Datum::null(), true));
    }
}
