//! Rows as PostgreSQL's expressions see them: a scan's entries, each computed when something asks for it.

use super::columns::{BatchColumns, Home, Source};
use super::function::Function;
use super::input::Input;
use super::values::Kind;
use crate::columnar::{self, Row};
use crate::pg::lookup::time_zone;
use crate::pg::node::Node;
use crate::pg::relation::FileId;
use crate::pg::state::{CustomScanState, EState, ExprContext, PlanState, Prepared, fetch_row};
use crate::pg::{Relation, Slot};
use crate::query::expr::compile::Compiler;
use crate::query::expr::datum;
use crate::query::expr::entry::Entry;
use crate::query::expr::evaluated::PgExpr;
use crate::query::expr::path::JsonPath;
use crate::query::expr::value::{answer, datum_of, found, left, over_document, over_json, part};
use crate::storage::rowpage::set_tid;
use crate::table::block::Block;
use crate::table::slot;
use amax_exec::{Expr, Memo, VectorBuilder};
use amax_format::Tag;
use amax_lsm::tid;
use pgrx::pg_sys;
use std::cell::OnceCell;
use std::rc::Rc;

/// Which row it is about.
enum At {
    None,
    Leaf(Rc<BatchColumns>, u32),
    /// In a slot: the row slot, or that of a node below.
    Slot(&'static Slot),
}

/// Values of the leaf's row whose elements are looked at, one after the other: each may ask for the same document.
#[derive(Default)]
struct Kept {
    row: Option<(Rc<BatchColumns>, u32)>,
    values: Vec<(usize, (pg_sys::Datum, bool))>,
    /// Whose memory they are in.
    econtext: OnceCell<&'static ExprContext>,
}

/// A table that rows are of.
struct Table {
    rel: &'static Relation,
    /// Holds a row of the table where one is needed as such.
    row_slot: &'static Slot,
    /// Holds a row by itself that is read again.
    again: OnceCell<&'static Slot>,
}

/// A row as PostgreSQL's expressions see it, the one it is at.
///
/// Its slots, contexts and expressions are the node's, whose state it is a part of.
pub struct Rows {
    /// The table of the query, of which the others are partitions if there are several.
    pub named: pg_sys::Oid,
    /// The table that it is about, one of the tables.
    pub rel: &'static Relation,
    pub row_slot: &'static Slot,
    at_table: usize,
    tables: Vec<Table>,
    pub entries: Rc<[Entry]>,
    /// What their values are.
    pub kinds: Vec<Kind>,
    /// The entries' own expressions, over the table's row; None of those of a join's other sides.
    states: Vec<Option<Prepared>>,
    /// Those of what is evaluated over a part of a document, given as the value of a CASE.
    parts: Vec<Option<Prepared>>,
    /// Holds the entries' values.
    pub scan_slot: &'static Slot,
    pub econtext: &'static ExprContext,
    row_econtext: &'static ExprContext,
    pub pg_exprs: Vec<PgExpr>,
    /// The time zone (an address) of what they remember.
    zone: usize,
    /// Those that unnest, for what is not read from columns.
    pub functions: Vec<Function>,
    at: At,
    /// The row whose elements were handed up by themselves, and its table, while it is about those.
    interrupted: Option<(At, usize)>,
    kept: Kept,
    estate: &'static EState,
    filled: Vec<bool>,
}

impl Table {
    fn of(rel: &'static Relation, estate: &'static EState) -> Table {
        Table {
            rel,
            row_slot: estate.new_slot(rel.desc(), slot::ops()),
            again: OnceCell::new(),
        }
    }
}

impl Rows {
    /// Of a scan with an expression context, which outlives it.
    pub fn new(
        scan: &'static CustomScanState,
        rel: &'static Relation,
        expressions: &[&Node],
        entries: Rc<[Entry]>,
    ) -> Rows {
        Rows::within(
            scan.state(),
            scan.econtext(),
            scan.scan_slot(),
            rel,
            expressions,
            entries,
        )
    }

    /// Of an executor state, which outlives it, with a slot for the entries' values.
    pub fn within(
        estate: &'static EState,
        econtext: &'static ExprContext,
        scan_slot: &'static Slot,
        rel: &'static Relation,
        expressions: &[&Node],
        entries: Rc<[Entry]>,
    ) -> Rows {
        let table = Table::of(rel, estate);
        let row_slot = table.row_slot;
        let row_econtext = estate.new_context();
        row_econtext.set_row(row_slot);
        econtext.set_row(scan_slot);
        let part = |(e, entry): (&&Node, &Entry)| match entry {
            Entry::Part(..) => Some(over_document(e)),
            Entry::Answer(..) | Entry::Found(..) => Some(over_json(e)),
            _ => None,
        };
        // Without a parent: it would say that scan tuples are virtual, and those of the table are not.
        let state = |(e, entry): (&&Node, &Entry)| match entry {
            Entry::Joined(..) => None,
            _ => Some(Prepared::new(e, None)),
        };
        Rows {
            named: rel.id(),
            rel,
            row_slot,
            at_table: 0,
            tables: vec![table],
            kinds: expressions.iter().map(|e| Kind::of(e)).collect(),
            states: expressions.iter().zip(&*entries).map(state).collect(),
            parts: expressions.iter().zip(&*entries).map(part).collect(),
            filled: vec![false; entries.len()],
            entries,
            scan_slot,
            econtext,
            row_econtext,
            pg_exprs: Vec::new(),
            zone: 0,
            functions: Vec::new(),
            at: At::None,
            interrupted: None,
            kept: Kept::default(),
            estate,
        }
    }

    /// Of partitions, all with the columns of the first one.
    pub fn with_tables(mut self, others: &[&'static Relation]) -> Rows {
        let estate = self.estate;
        self.tables.extend(others.iter().map(|rel| Table::of(rel, estate)));
        self
    }

    pub fn tables(&self) -> Vec<&'static Relation> {
        self.tables.iter().map(|table| table.rel).collect()
    }

    /// The rows that it is about next are of the table with this file.
    pub fn go_to(&mut self, file: FileId) {
        if self.tables.len() == 1 || self.rel.file() == file {
            return;
        }
        let at = self.tables.iter().position(|table| table.rel.file() == file);
        self.turn_to(at.expect("rows are of one of the tables"));
    }

    fn turn_to(&mut self, table: usize) {
        self.at_table = table;
        (self.rel, self.row_slot) = (self.tables[table].rel, self.tables[table].row_slot);
    }

    /// Expressions over the entries as ones over vectors, of which it keeps what PostgreSQL evaluates; `parent` owns them.
    pub fn compile(&mut self, wanted: &[&Node], parent: Option<&PlanState>) -> Vec<Option<Expr>> {
        let entries = self.entries.clone();
        let mut compiler = Compiler::new(&entries, parent);
        compiler.pg_exprs = std::mem::take(&mut self.pg_exprs);
        let found = wanted.iter().map(|wanted| compiler.compile(wanted)).collect();
        self.pg_exprs = compiler.pg_exprs;
        found
    }

    /// Another row begins.
    fn begin(&mut self, at: At) {
        self.interrupted = None;
        self.at = at;
        self.empty();
    }

    /// No entry has been computed.
    fn empty(&mut self) {
        // PostgreSQL's functions only where there is something to do: this is done for every row.
        self.econtext.reset();
        self.row_econtext.reset();
        self.filled.fill(false);
        self.scan_slot.begin_row();
        // WHERE CURRENT OF asks for this and the TID (execCurrent.c).
        self.scan_slot.set_table(self.rel.id());
    }

    /// No row: expressions over values alone.
    pub(super) fn set_none(&mut self) {
        self.begin(At::None);
    }

    /// Row `row` of a batch.
    pub fn set_leaf(&mut self, columns: &Rc<BatchColumns>, row: u32) {
        let table_before = self.at_table;
        self.go_to(columns.file());
        match &mut self.at {
            At::Leaf(known, at) if Rc::ptr_eq(known, columns) => {
                *at = row;
                self.empty();
            }
            _ if columns.is_leaf() => self.begin(At::Leaf(columns.clone(), row)),
            _ => {
                let interrupted = std::mem::replace(&mut self.at, At::Leaf(columns.clone(), row));
                self.interrupted.get_or_insert((interrupted, table_before));
                self.empty();
            }
        }
        let used = if columns.is_leaf() {
            Some(&self.row_slot)
        } else {
            self.tables[self.at_table].again.get()
        };
        if let Some(slot) = used.filter(|slot| !slot.is_empty()) {
            slot.clear();
        }
        self.scan_slot.set_tid(own_tid(columns, row));
    }

    /// Row `row` of a leaf, looked up by itself: little more than what it has is decoded.
    pub fn set_alone(&mut self, columns: &BatchColumns, row: u32) {
        self.go_to(columns.file());
        let alone = whole(columns, columns.root(row) as usize).alone();
        slot::store_columnar(self.row_slot, alone, own_tid(columns, row), self.rel.id());
        self.set_slot(self.row_slot);
    }

    /// Row `row` of the row page in `block`.
    pub fn set_page(&mut self, block: &Block, row: usize) {
        block.store(self.rel, row, self.row_slot);
        self.set_slot(self.row_slot);
    }

    /// The row of the table that is in `slot`.
    pub fn set_slot(&mut self, slot: &'static Slot) {
        self.begin(At::Slot(slot));
        self.scan_slot.set_tid(slot.tid());
    }

    /// The row of the table at a TID, which the query's snapshot sees.
    pub fn set_tid(&mut self, tid: pg_sys::ItemPointerData) {
        self.fetch(tid, self.row_slot);
        self.set_slot(self.row_slot);
    }

    /// A row of a join, of which these entries are known, and no others are asked for.
    pub fn set_known(&mut self, values: impl Iterator<Item = (usize, (pg_sys::Datum, bool))>) {
        self.begin(At::None);
        values.for_each(|(entry, value)| self.know(entry, value));
    }

    /// One more of them.
    pub fn know(&mut self, entry: usize, value: (pg_sys::Datum, bool)) {
        self.scan_slot.set(entry, value);
        self.filled[entry] = true;
    }

    /// An entry's value.
    pub fn entry(&mut self, entry: usize) -> (pg_sys::Datum, bool) {
        self.fill(&[entry]);
        self.scan_slot.value(entry)
    }

    /// The TID of the row it is about.
    pub fn tid(&self) -> pg_sys::ItemPointerData {
        self.scan_slot.tid()
    }

    /// Calls the function that unnests at a level for the row it is about.
    pub fn call(&mut self, level: usize) {
        let array = self.functions[level - 1].array;
        self.fill(&[array]);
        self.functions[level - 1].call();
    }

    /// The row with the function's next element, or (for an outer join) without one; false after the last.
    pub fn next_element(&mut self, level: usize) -> bool {
        self.go_on();
        self.functions[level - 1].next()
    }

    pub fn no_element(&mut self, level: usize) {
        self.go_on();
        self.functions[level - 1].none();
    }

    /// Back at the row whose elements are handed up.
    fn go_on(&mut self) {
        if let Some((at, table)) = self.interrupted.take() {
            self.at = at;
            self.turn_to(table);
        }
        self.empty();
    }

    /// Lets go of the row.
    pub fn clear(&mut self) {
        (self.at, self.interrupted) = (At::None, None);
        (self.kept.row, self.kept.values) = (None, Vec::new());
        self.scan_slot.clear();
        for table in &self.tables {
            table.row_slot.clear();
            table.again.get().inspect(|slot| slot.clear());
        }
        for function in &mut self.functions {
            function.clear();
        }
    }

    /// Computes the entries in `which` unless they have been.
    pub fn fill(&mut self, which: &[usize]) {
        for &entry in which {
            if !self.filled[entry] {
                let quick = match &self.at {
                    At::Leaf(columns, row) => columns.datum(entry, *row, self.rel.desc(), self.econtext),
                    _ => None,
                };
                let value = quick.unwrap_or_else(|| self.value(entry));
                self.scan_slot.set(entry, value);
                self.filled[entry] = true;
            }
        }
    }

    /// Computes all entries of the table's rows but those that may raise an error.
    pub fn fill_all(&mut self) {
        let is_plain = |entry: &Entry| matches!(entry, Entry::Attribute(_) | Entry::Path(_)) && entry.level() == 0;
        let plain: Vec<usize> = (0..self.entries.len())
            .filter(|&at| is_plain(&self.entries[at]))
            .collect();
        self.fill(&plain);
    }

    fn value(&mut self, entry: usize) -> (pg_sys::Datum, bool) {
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
                _ => self.state(entry).eval(function.element_econtext),
            };
        }
        if let At::Leaf(columns, row) = &self.at {
            if level == in_columns
                && let Some(found) = self.column_value(columns, *row, entry, self.econtext)
            {
                return found;
            }
            // The batch that has the entry's rows.
            let (mut columns, mut row) = (columns.clone(), *row);
            while columns.level() > level
                && let Some((parent, rows)) = columns.parents()
            {
                row = rows[row as usize];
                columns = parent.clone();
            }
            let (leaf, origin) = match &columns.home {
                Home::Leaf(leaf, origin) => (leaf, *origin),
                Home::Alone(alone) => {
                    let known = self.econtext.within(|| alone.value(entry, row));
                    return known.unwrap_or_else(|| self.read_again(alone.tids[row as usize], entry));
                }
            };
            match columns.source(entry) {
                Some(Source::Parts(parts)) => {
                    let document = self.econtext.within(|| part(parts, row as usize));
                    return self.over(entry, document);
                }
                Some(Source::Pruned(pruned)) => {
                    let document = self.econtext.within(|| left(pruned, row as usize));
                    return self.over(entry, document);
                }
                Some(Source::Values(values)) => return self.econtext.within(|| found(values, row as usize)),
                None => {}
            }
            let found = match columns.level() {
                level if level == in_columns => None,
                0 => self.kept_value(&columns, row, entry),
                _ => self.column_value(&columns, row, entry, self.econtext),
            };
            if let Some(found) = found {
                return found;
            }
            if self.row_slot.is_empty() {
                let own = own_tid(&columns, row);
                let whole = Row::new(leaf.clone(), row as usize, origin);
                slot::store_columnar(self.row_slot, whole, own, self.rel.id());
            }
        }
        let slot = match self.at {
            At::Slot(slot) => slot,
            _ => self.row_slot,
        };
        self.value_in(slot, entry)
    }

    /// An entry of a row by itself.
    fn read_again(&self, tid: pg_sys::ItemPointerData, entry: usize) -> (pg_sys::Datum, bool) {
        let slot = self.tables[self.at_table]
            .again
            .get_or_init(|| self.estate.new_slot(self.rel.desc(), slot::ops()));
        if slot.is_empty() {
            self.fetch(tid, slot);
        }
        self.value_in(slot, entry)
    }

    /// The table's row at a TID, which the query's snapshot sees.
    fn fetch(&self, tid: pg_sys::ItemPointerData, slot: &Slot) {
        let found = fetch_row(self.rel, tid, self.estate.snapshot(), slot);
        assert!(found, "a row stays where it is for a snapshot that sees it");
    }

    /// An entry of the table's row in a slot.
    fn value_in(&self, slot: &Slot, entry: usize) -> (pg_sys::Datum, bool) {
        if let Some(row) = slot::columnar_row(slot)
            && let Some(found) = self.econtext.within(|| self.value_alone(&row, entry))
        {
            return found;
        }
        if let Entry::Attribute(at) = self.entries[entry] {
            return slot.value(at as usize - 1);
        }
        self.row_econtext.set_row(slot);
        self.state(entry).eval(self.row_econtext)
    }

    fn state(&self, entry: usize) -> Prepared {
        self.states[entry].expect("what is joined is in columns")
    }

    /// An entry over a part of a document.
    fn over(&self, entry: usize, document: (pg_sys::Datum, bool)) -> (pg_sys::Datum, bool) {
        self.econtext.set_case_value(document);
        self.parts[entry]
            .expect("prepared for such entries")
            .eval(self.econtext)
    }

    /// An entry of a columnar row that is looked up by itself, in the current memory context; None if that has to be had in
    /// another way.
    fn value_alone(&self, row: &Row, entry: usize) -> Option<(pg_sys::Datum, bool)> {
        let path = |json: &JsonPath| {
            row.path(json.attribute as usize - 1, &json.steps, |found| {
                datum_of(found, json.text)
            })
        };
        match &self.entries[entry] {
            Entry::Path(json) => path(json),
            // Of a whole document PostgreSQL finds the answer.
            Entry::Answer(json, _) | Entry::Found(json, _) if !json.steps.is_empty() => {
                path(json).map(|value| self.over(entry, value))
            }
            // By itself: the slot decodes those before it, too.
            Entry::Attribute(at) => Some(row.attribute(self.rel.desc(), *at as usize - 1)),
            _ => None,
        }
    }

    /// An entry of the rows of `columns`, if it is in a column, in the context's memory.
    fn column_value(
        &self,
        columns: &BatchColumns,
        row: u32,
        entry: usize,
        econtext: &ExprContext,
    ) -> Option<(pg_sys::Datum, bool)> {
        let at = row as usize;
        econtext.within(|| match (&self.entries[entry], columns.input(entry)) {
            (Entry::Path(json), _) => columns.path_value(entry, row, json),
            (Entry::Ordinality(_), Input::Made(dense)) => {
                Some((pg_sys::Datum::from(dense.word(at)), dense.tag(at) == Tag::Missing))
            }
            // Of elements nothing is asked that may be an error.
            (Entry::Key(_) | Entry::Answer(..), Input::Made(dense)) => answer(dense, at),
            (Entry::Answer(..), Input::Column(answers)) => answer(answers, at),
            (Entry::Joined(side, column), _) => columns.joined_value((*side, *column), row),
            (Entry::Attribute(attribute), input @ (Input::Column(_) | Input::Documents(_))) => {
                let number = *attribute as usize - 1;
                let desc = self.rel.desc();
                let plain = match input {
                    Input::Column(dense) => columnar::dense_to_datum(dense, at, desc.attribute(number)),
                    _ => None,
                };
                Some(plain.unwrap_or_else(|| whole(columns, at).attribute(desc, number)))
            }
            _ => None,
        })
    }

    /// The same of the leaf's row that elements are of.
    fn kept_value(&mut self, columns: &Rc<BatchColumns>, row: u32, entry: usize) -> Option<(pg_sys::Datum, bool)> {
        let econtext = *self.kept.econtext.get_or_init(|| self.estate.new_context());
        let known = self.kept.row.as_ref();
        if !known.is_some_and(|(known, at)| Rc::ptr_eq(known, columns) && *at == row) {
            econtext.reset();
            self.kept.values.clear();
            self.kept.row = Some((columns.clone(), row));
        }
        if let Some((_, value)) = self.kept.values.iter().find(|(known, _)| *known == entry) {
            return Some(*value);
        }
        let value = self.column_value(columns, row, entry, econtext)?;
        self.kept.values.push((entry, value));
        Some(value)
    }

    /// Whether a condition over the entries in `reads` holds.
    pub fn holds(&mut self, state: Prepared, reads: &[usize]) -> bool {
        self.fill(reads);
        state.holds(self.econtext)
    }

    /// Evaluates an expression over the entries in `reads`.
    pub fn eval(&mut self, state: Prepared, reads: &[usize]) -> (pg_sys::Datum, bool) {
        self.fill(reads);
        state.eval(self.econtext)
    }

    pub(super) fn eval_pg_expr(&mut self, id: usize, out: &mut VectorBuilder) {
        let (state, ty) = (self.pg_exprs[id].state, self.pg_exprs[id].ty);
        let (value, null) = state.expect("prepared when the node began").eval(self.econtext);
        // SAFETY: the value is of that type.
        unsafe { datum::push(out, ty, value, null) };
    }

    /// What an outside expression remembers.
    pub(super) fn memo(&mut self, id: usize) -> &mut Option<Memo> {
        let zone = time_zone();
        if zone != self.zone {
            self.zone = zone;
            self.pg_exprs.iter_mut().for_each(|e| e.memo = None);
        }
        &mut self.pg_exprs[id].memo
    }

    /// Appends the value of outside expression `id` for the row it is about.
    pub fn push_pg_expr(&mut self, id: usize, out: &mut VectorBuilder) {
        let reads = std::mem::take(&mut self.pg_exprs[id].reads);
        self.fill(&reads);
        self.pg_exprs[id].reads = reads;
        self.eval_pg_expr(id, out);
    }
}

/// A row of a leaf.
fn whole(columns: &BatchColumns, row: usize) -> Row {
    match &columns.home {
        Home::Leaf(leaf, origin) => Row::new(leaf.clone(), row, *origin),
        Home::Alone(_) => unreachable!("rows by themselves are in no leaf"),
    }
}

fn own_tid(columns: &BatchColumns, row: u32) -> pg_sys::ItemPointerData {
    let row = columns.root(row) as usize;
    match &columns.home {
        Home::Alone(alone) => alone.tids[row],
        Home::Leaf(leaf, _) => {
            let key = leaf.keys().get(row);
            let mut own = pg_sys::ItemPointerData::default();
            set_tid(&mut own, tid::block(key), tid::offset(key));
            own
        }
    }
}
