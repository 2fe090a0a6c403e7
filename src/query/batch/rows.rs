//! Rows as PostgreSQL's expressions see them: a scan's entries, each computed when something asks for it.

use super::columns::LeafColumns;
use super::function::Function;
use super::input::Input;
use crate::am::block::Block;
use crate::am::slot;
use crate::columnar::{self, Row};
use crate::pg::executor::{clear_slot, eval};
use crate::pg::guard::guarded;
use crate::pg::{Relation, Slot, Snapshot};
use crate::query::expr::compile::PgExpr;
use crate::query::expr::datum;
use crate::query::expr::entry::Entry;
use crate::query::expr::path::JsonPath;
use crate::query::expr::prepared::Prepared;
use crate::query::expr::tree::reset;
use crate::query::expr::value::{answer, datum_of, over_json, part, path_value};
use crate::storage::rowpage::set_tid;
use amax_exec::VectorBuilder;
use amax_format::Tag;
use amax_lsm::tid;
use pgrx::pg_sys;
use std::rc::Rc;

/// Which row it is about.
enum At {
    None,
    Leaf(Rc<LeafColumns>, u32),
    /// In a slot: the row slot, or that of a node below.
    Slot(*mut pg_sys::TupleTableSlot),
}

/// A row as PostgreSQL's expressions see it, the one it is at.
///
/// Its slots, contexts and expressions are the node's, whose state it is a part of: [`Rows::new`] is given a node that
/// outlives it. So what it does with them is safe.
pub struct Rows {
    pub rel: &'static Relation,
    pub entries: Rc<[Entry]>,
    /// The entries' own expressions, over the table's row.
    states: Vec<*mut pg_sys::ExprState>,
    /// Those of [`Entry::Part`], over a document given as the value of a CASE; others are null.
    parts: Vec<*mut pg_sys::ExprState>,
    /// Holds the entries' values.
    pub scan_slot: *mut pg_sys::TupleTableSlot,
    pub econtext: *mut pg_sys::ExprContext,
    /// Holds a row of the table where one is needed as such.
    pub row_slot: *mut pg_sys::TupleTableSlot,
    row_econtext: *mut pg_sys::ExprContext,
    pub pg_exprs: Vec<PgExpr>,
    /// Those that unnest, for what is not read from columns.
    pub functions: Vec<Function>,
    at: At,
    filled: Vec<bool>,
}

impl Rows {
    /// Of a scan with a relation and an expression context.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn new(
        scan: *mut pg_sys::ScanState,
        rel: &'static Relation,
        expressions: &[*mut pg_sys::Node],
        entries: Rc<[Entry]>,
    ) -> Rows {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let estate = (*scan).ps.state;
            let row_slot = pg_sys::ExecInitExtraTupleSlot(estate, rel.desc().raw(), slot::ops());
            let row_econtext = pg_sys::CreateExprContext(estate);
            (*row_econtext).ecxt_scantuple = row_slot;
            let econtext = (*scan).ps.ps_ExprContext;
            (*econtext).ecxt_scantuple = (*scan).ss_ScanTupleSlot;
            Rows {
                rel,
                // Without a parent: it would say that scan tuples are virtual, and those of the table are not.
                states: expressions
                    .iter()
                    .map(|&e| pg_sys::ExecInitExpr(e as *mut pg_sys::Expr, std::ptr::null_mut()))
                    .collect(),
                parts: expressions
                    .iter()
                    .zip(&*entries)
                    .map(|(&e, entry)| match entry {
                        Entry::Part(..) | Entry::Answer(..) => over_json(e),
                        _ => std::ptr::null_mut(),
                    })
                    .collect(),
                filled: vec![false; entries.len()],
                entries,
                scan_slot: (*scan).ss_ScanTupleSlot,
                econtext,
                row_slot,
                row_econtext,
                pg_exprs: Vec::new(),
                functions: Vec::new(),
                at: At::None,
            }
        }
    }

    /// Another row begins.
    fn begin(&mut self, at: At) {
        self.at = at;
        self.empty();
    }

    /// No entry has been computed.
    fn empty(&mut self) {
        // SAFETY: see [`Rows`].
        unsafe {
            // PostgreSQL's functions only where there is something to do: this is done for every row.
            reset((*self.econtext).ecxt_per_tuple_memory);
            reset((*self.row_econtext).ecxt_per_tuple_memory);
            self.filled.fill(false);
            // ExecStoreVirtualTuple(), of which little is to do unless the last row was materialized.
            if (*self.scan_slot).tts_flags & pg_sys::TTS_FLAG_SHOULDFREE as u16 != 0 {
                clear_slot(self.scan_slot);
            }
            (*self.scan_slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
            (*self.scan_slot).tts_nvalid = (*(*self.scan_slot).tts_tupleDescriptor).natts as i16;
            // WHERE CURRENT OF asks for these two (execCurrent.c).
            (*self.scan_slot).tts_tableOid = self.rel.id();
        }
    }

    /// No row: expressions over values alone.
    pub(super) fn set_none(&mut self) {
        self.begin(At::None);
    }

    /// Row `row` of a leaf.
    pub fn set_leaf(&mut self, columns: &Rc<LeafColumns>, row: u32) {
        // SAFETY: see [`Rows`].
        unsafe {
            match &mut self.at {
                At::Leaf(known, at) if Rc::ptr_eq(known, columns) => {
                    *at = row;
                    self.empty();
                }
                _ => self.begin(At::Leaf(columns.clone(), row)),
            }
            clear(self.row_slot);
            (*self.scan_slot).tts_tid = own_tid(columns, row);
        }
    }

    /// Row `row` of a leaf, looked up by itself: little more than what it has is decoded.
    pub fn set_alone(&mut self, columns: &LeafColumns, row: u32) {
        let at = columns.root(row);
        let alone = Row::new(columns.leaf.clone(), at as usize, columns.origin).alone();
        // SAFETY: see [`Rows`].
        unsafe {
            slot::store_columnar(Slot::of(self.row_slot), alone, own_tid(columns, row), self.rel.id());
            self.set_slot(self.row_slot);
        }
    }

    /// Row `row` of the row page in `block`.
    pub fn set_page(&mut self, block: &Block, row: usize) {
        // SAFETY: see [`Rows`].
        unsafe {
            block.store(self.rel, row, Slot::of(self.row_slot));
            self.set_slot(self.row_slot);
        }
    }

    /// The row of the table that is in `slot`.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn set_slot(&mut self, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            self.begin(At::Slot(slot));
            (*self.scan_slot).tts_tid = (*slot).tts_tid;
        }
    }

    /// The row of the table at a TID, which the snapshot sees.
    pub fn set_tid(&mut self, mut tid: pg_sys::ItemPointerData, snapshot: &Snapshot) {
        // SAFETY: see [`Rows`].
        let found = unsafe {
            let fetch = (*(*self.rel.raw()).rd_tableam).tuple_fetch_row_version;
            let fetch = fetch.expect("a table access method has all of them");
            let (rel, slot) = (self.rel.raw(), self.row_slot);
            guarded!(fetch(rel, &mut tid, snapshot.raw(), slot))
        };
        assert!(found, "a row stays where it is for a snapshot that sees it");
        // SAFETY: a slot of ours.
        unsafe { self.set_slot(self.row_slot) };
    }

    /// The TID of the row it is about.
    pub fn tid(&self) -> pg_sys::ItemPointerData {
        // SAFETY: the slot lives as long as the node.
        unsafe { (*self.scan_slot).tts_tid }
    }

    /// Calls the function that unnests at a level for the row it is about.
    pub fn call(&mut self, level: usize) {
        let array = self.functions[level - 1].array;
        self.fill(&[array]);
        self.functions[level - 1].call();
    }

    /// The row with the function's next element, or (for an outer join) without one; false after the last.
    pub fn next_element(&mut self, level: usize) -> bool {
        self.empty();
        self.functions[level - 1].next()
    }

    pub fn no_element(&mut self, level: usize) {
        self.empty();
        self.functions[level - 1].none();
    }

    /// Lets go of the row.
    pub fn clear(&mut self) {
        // SAFETY: see [`Rows`].
        unsafe {
            self.at = At::None;
            clear_slot(self.scan_slot);
            clear_slot(self.row_slot);
            for function in &mut self.functions {
                function.clear();
            }
        }
    }

    /// Computes the entries in `which` unless they have been.
    pub fn fill(&mut self, which: &[usize]) {
        // SAFETY: see [`Rows`].
        unsafe {
            for &entry in which {
                if !self.filled[entry] {
                    let quick = match &self.at {
                        At::Leaf(columns, row) => {
                            let context = (*self.econtext).ecxt_per_tuple_memory;
                            columns.datum(entry, *row, self.rel.desc(), context)
                        }
                        _ => None,
                    };
                    let (value, null) = match quick {
                        Some(value) => value,
                        None => self.value(entry),
                    };
                    *(*self.scan_slot).tts_values.add(entry) = value;
                    *(*self.scan_slot).tts_isnull.add(entry) = null;
                    self.filled[entry] = true;
                }
            }
        }
    }

    fn value(&mut self, entry: usize) -> (pg_sys::Datum, bool) {
        // SAFETY: see [`Rows`].
        unsafe {
            let level = self.entries[entry].level();
            let in_columns = match &self.at {
                At::Leaf(columns, _) => columns.level(),
                _ => 0,
            };
            if level > in_columns {
                let function = &self.functions[level - 1];
                return match (&self.entries[entry], function.ordinality) {
                    (Entry::Ordinality(_), Some(n)) => (pg_sys::Datum::from(n), false),
                    (Entry::Ordinality(_), None) => (pg_sys::Datum::null(), true),
                    _ => eval(self.states[entry], function.element_econtext),
                };
            }
            if let At::Leaf(columns, row) = &self.at {
                if level == in_columns
                    && let Some(found) = self.column_value(columns, *row, entry)
                {
                    return found;
                }
                // The batch that has the entry's rows.
                let (mut columns, mut row) = (columns.clone(), *row);
                while let Some(elements) = columns.elements().filter(|e| e.level > level) {
                    row = elements.parents[row as usize];
                    columns = elements.parent.clone();
                }
                if let Entry::Part(attribute, keys) = &self.entries[entry] {
                    let at = *attribute as usize - 1;
                    if at < columns.leaf.width() {
                        let memory = (*self.econtext).ecxt_per_tuple_memory;
                        let old = pg_sys::MemoryContextSwitchTo(memory);
                        let (document, null) = part(&columns.leaf, at, keys, row as usize);
                        pg_sys::MemoryContextSwitchTo(old);
                        (*self.econtext).caseValue_datum = document;
                        (*self.econtext).caseValue_isNull = null;
                        return eval(self.parts[entry], self.econtext);
                    }
                }
                if columns.level() < in_columns
                    && let Some(found) = self.column_value(&columns, row, entry)
                {
                    return found;
                }
                if (*self.row_slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
                    let own = own_tid(&columns, row);
                    let whole = Row::new(columns.leaf.clone(), row as usize, columns.origin);
                    slot::store_columnar(Slot::of(self.row_slot), whole, own, self.rel.id());
                }
            }
            let slot = match self.at {
                At::Slot(slot) => slot,
                _ => self.row_slot,
            };
            if let Some(row) = slot::columnar_row(Slot::of(slot)) {
                let old = pg_sys::MemoryContextSwitchTo((*self.econtext).ecxt_per_tuple_memory);
                let path = |json: &JsonPath| {
                    row.path(json.attribute as usize - 1, &json.steps, |found| {
                        datum_of(found, json.text)
                    })
                };
                let found = match &self.entries[entry] {
                    Entry::Path(json) => path(json),
                    // Of a whole document PostgreSQL finds the answer.
                    Entry::Answer(json, _) if !json.steps.is_empty() => path(json).map(|(value, null)| {
                        (*self.econtext).caseValue_datum = value;
                        (*self.econtext).caseValue_isNull = null;
                        eval(self.parts[entry], self.econtext)
                    }),
                    // By itself: the slot decodes those before it, too.
                    Entry::Attribute(at) => Some(row.attribute(self.rel.desc(), *at as usize - 1)),
                    _ => None,
                };
                pg_sys::MemoryContextSwitchTo(old);
                if let Some(found) = found {
                    return found;
                }
            }
            (*self.row_econtext).ecxt_scantuple = slot;
            eval(self.states[entry], self.row_econtext)
        }
    }

    /// An entry of the rows of `columns`, if it is in a column.
    fn column_value(&self, columns: &LeafColumns, row: u32, entry: usize) -> Option<(pg_sys::Datum, bool)> {
        // SAFETY: see [`Rows`].
        unsafe {
            let old = pg_sys::MemoryContextSwitchTo((*self.econtext).ecxt_per_tuple_memory);
            let at = row as usize;
            let found =
                match (&self.entries[entry], columns.input(entry)) {
                    (Entry::Path(json), Input::Path(path)) => {
                        let attribute = json.attribute as usize - 1;
                        let column = || &**path.column(&columns.leaf, attribute, &json.steps);
                        Some(path_value(&path.dense, at, column, at, json.text))
                    }
                    (Entry::Path(json), Input::Element(levels, path, dense)) => {
                        let column = &levels[columns.level() - 1].elements.paths[*path];
                        let place = columns.place(row).unwrap_or(0) as usize;
                        Some(path_value(dense, at, || column, place, json.text))
                    }
                    (Entry::Ordinality(_), Input::Made(dense)) => {
                        Some((pg_sys::Datum::from(dense.word(at)), dense.tag(at) == Tag::Missing))
                    }
                    (Entry::Key(_), Input::Made(dense)) => answer(dense, at),
                    (Entry::Answer(..), Input::Column(answers)) => answer(answers, at),
                    (Entry::Attribute(attribute), input @ (Input::Column(_) | Input::Documents(_))) => {
                        let number = *attribute as usize - 1;
                        let desc = self.rel.desc();
                        let plain = match input {
                            Input::Column(dense) => columnar::dense_to_datum(dense, at, desc.attribute(number)),
                            _ => None,
                        };
                        Some(plain.unwrap_or_else(|| {
                            Row::new(columns.leaf.clone(), at, columns.origin).attribute(desc, number)
                        }))
                    }
                    _ => None,
                };
            pg_sys::MemoryContextSwitchTo(old);
            found
        }
    }

    /// Whether a condition over the entries in `reads` holds.
    pub fn holds(&mut self, state: Prepared, reads: &[usize]) -> bool {
        // SAFETY: see [`Rows`].
        unsafe {
            self.fill(reads);
            state.holds(self.econtext)
        }
    }

    /// Evaluates an expression over the entries in `reads`.
    pub fn eval(&mut self, state: Prepared, reads: &[usize]) -> (pg_sys::Datum, bool) {
        // SAFETY: see [`Rows`].
        unsafe {
            self.fill(reads);
            state.eval(self.econtext)
        }
    }

    pub(super) fn eval_pg_expr(&mut self, id: usize, out: &mut VectorBuilder) {
        // SAFETY: see [`Rows`].
        unsafe {
            let (state, ty) = (self.pg_exprs[id].state, self.pg_exprs[id].ty);
            let (value, null) = eval(state, self.econtext);
            datum::push(out, ty, value, null);
        }
    }

    /// Appends the value of outside expression `id` for the row it is about.
    pub fn push_pg_expr(&mut self, id: usize, out: &mut VectorBuilder) {
        let reads = std::mem::take(&mut self.pg_exprs[id].reads);
        self.fill(&reads);
        self.pg_exprs[id].reads = reads;
        self.eval_pg_expr(id, out);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[inline]
unsafe fn clear(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 == 0 {
            clear_slot(slot);
        }
    }
}

fn own_tid(columns: &LeafColumns, row: u32) -> pg_sys::ItemPointerData {
    let key = columns.leaf.keys().get(columns.root(row) as usize);
    let mut own = pg_sys::ItemPointerData::default();
    set_tid(&mut own, tid::block(key), tid::offset(key));
    own
}
