//! The join as a node that hands up batches: the scan's, with the rows that they find in the other sides.

use super::build::{Building, Built};
use super::indexed::{self, Index};
use super::probe::{Probe, joined_columns};
use super::spine::{Kind, Level, Spine};
use crate::pg::Slot;
use crate::pg::explain::ExplainState;
use crate::pg::node::{Node, Nodes};
use crate::pg::state::{CustomScanState, EState, PlanState, Prepared};
use crate::query::batch::child::begin_child;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::computed::Computed;
use crate::query::batch::condition::{Condition, select};
use crate::query::batch::contract::{Interest, Positions, of};
use crate::query::batch::explain::materialization;
use crate::query::batch::gather::AloneBuilder;
use crate::query::batch::joined::{Joined, Side};
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::expr::compile::reads;
use crate::query::expr::entry::{Entry, entry_of, expressions, over_known_entries, reference_of};
use crate::query::plan::costs::hash_memory;
use crate::query::plan::node::{CustomNode, ExecMethods};
use amax_exec::{Expr, Matches, Probes, Vector};
use amax_format::{RowNumbers, row_numbers};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

pub static METHODS: ExecMethods = ExecMethods::of::<Join>(c"AmaxJoin");

/// A batch of more rows than this is handed up in parts, unless it is of one row of the scan.
const MOST_ROWS: usize = 1 << 16;

pub struct Join {
    node: &'static CustomScanState,
    /// The hash joins that it was planned over.
    below: &'static PlanState,
    pub(super) spine: Spine,
    pub(super) scan: &'static RefCell<dyn Batches>,
    pub(super) rows: Rows,
    /// Whose keys' values a side's rows are found by, from the bottom.
    pub(super) probes: Vec<Probe>,
    /// By which a side's rows are found, if there is one.
    pub(super) indexes: Vec<Option<Index>>,
    /// Columns that are read of what is handed up.
    output: Vec<usize>,
    /// Whether nothing but columns of the scan's is read before all have been asked: what is found in a side is of no use before.
    late: bool,
    /// Which sides were read by the scan's keys.
    pub(super) by_keys: Vec<bool>,
    /// In which order they are asked.
    pub(super) order: Probes,
    state: State,
    /// Rows of a batch of the scan that have not been looked up.
    left: Vec<(Rc<BatchColumns>, RowNumbers)>,
}

/// What the other sides are.
enum State {
    /// Not read yet.
    New,
    /// In memory.
    Whole(Rc<[Side]>),
    /// One has no row.
    Empty,
    /// One is too large: the hash joins join.
    Spine(OfSpine),
}

/// What of the columns the hash joins hand up.
struct OfSpine {
    /// Columns, and their places in the rows handed up.
    places: Vec<(usize, usize)>,
    /// Others, as expressions over those.
    others: Vec<(usize, Prepared)>,
    /// Whether there are no more.
    ended: bool,
}

impl Join {
    /// All columns that are read.
    fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        let of_probes = self.probes.iter().flat_map(Probe::reads);
        of_probes.chain(self.output.iter().copied())
    }

    /// What a side may take before the scan's keys are asked for: nothing if a test has that tried out.
    fn first_limit(&self, _side: usize, _wanted: &[bool], limit: usize) -> usize {
        #[cfg(feature = "test_hooks")]
        if crate::guc::fault_point().as_deref() == Some("join_keys") && self.may_wait(_side, _wanted) {
            return 0;
        }
        limit
    }

    /// Has the scan read what of it is read here.
    fn read_of_scan(&self) {
        let of_scan = self.spine.of_scan();
        let of_scan = self.reads().filter(|&at| at < of_scan).collect();
        self.scan.borrow_mut().read(of_scan);
    }

    /// Reads the other sides, the topmost first, as hash joins do; those that are too large after what the scan looks up in them is known.
    fn build(&mut self) -> State {
        self.by_keys.clear();
        if is_left_to_spine() {
            return self.leave_to_spine(self.probes.len());
        }
        let reads: Vec<usize> = self.reads().collect();
        let limit = hash_memory();
        let wanted = |level: &Level| -> Vec<bool> {
            (0..level.columns.len())
                .map(|column| reads.contains(&(level.first + column)))
                .collect()
        };
        let mut sides: Vec<Option<Side>> = self.probes.iter().map(|_| None).collect();
        let estate = self.node.state();
        for (at, (level, probe)) in self.spine.levels.iter().zip(&self.probes).enumerate().rev() {
            let wanted = wanted(level);
            let first = self.first_limit(at, &wanted, limit);
            let index = &mut self.indexes[at];
            let numbered =
                index.as_mut().is_some_and(|index| index.open(self.rows.rel)) && probe.building.has_batches(&wanted);
            match probe.building.read(level, &wanted, first, None, numbered) {
                Built::Side(mut side, numbers) => {
                    if let (Some(index), Some(numbers)) = (index, numbers) {
                        index.begin(estate, &probe.building, &mut side, &numbers);
                    }
                    sides[at] = Some(*side);
                }
                Built::Empty => return State::Empty,
                Built::TooLarge if self.may_wait(at, &wanted) => {}
                Built::TooLarge => return self.leave_to_spine(at),
            }
        }
        self.by_keys = sides.iter().map(Option::is_none).collect();
        if sides.iter().any(Option::is_none) {
            let Some(keys) = self.wanted_by_scan(&sides, limit) else {
                return self.leave_to_spine(0);
            };
            self.read_of_scan();
            for (at, keys) in keys.iter().enumerate() {
                let (level, probe) = (&self.spine.levels[at], &self.probes[at]);
                if let Some(keys) = keys {
                    match probe.building.read(level, &wanted(level), limit, Some(keys), false) {
                        Built::Side(side, _) => sides[at] = Some(*side),
                        _ => return self.leave_to_spine(0),
                    }
                }
            }
        }
        let sides: Vec<Side> = sides.into_iter().flatten().collect();
        let levels = self.spine.levels.iter().zip(&self.probes).zip(&sides);
        let moves: Vec<bool> = levels
            .map(|((level, probe), side)| probe.may_move(level, side))
            .collect();
        self.order = Probes::new(&moves);
        State::Whole(sides.into())
    }

    /// Has the hash joins do it, as sides from a place on have been read to no use. What they hand up may be a document of which a path is read here.
    fn leave_to_spine(&self, from: usize) -> State {
        self.probes[from..].iter().for_each(|probe| probe.building.leave());
        self.scan.borrow_mut().read((0..self.spine.of_scan()).collect());
        let output = self.spine.output.iter().enumerate();
        let places: Vec<(usize, usize)> = output
            .filter_map(|(place, node)| Some((reference_of(node)?, place)))
            .collect();
        let columns = self.columns();
        let known: Vec<Option<&Node>> = (0..columns.len())
            .map(|at| places.iter().any(|place| place.0 == at).then_some(columns[at]))
            .collect();
        let other = |&at: &usize| {
            let expression = over_known_entries(columns[at], &known);
            (at, Prepared::new(expression, Some(self.node)))
        };
        State::Spine(OfSpine {
            others: self
                .output
                .iter()
                .filter(|&&at| known[at].is_none())
                .map(other)
                .collect(),
            places,
            ended: false,
        })
    }

    /// The next batch of the scan's, joined; None after its last.
    fn next_joined(&mut self, sides: &Rc<[Side]>) -> Option<Batch> {
        loop {
            let (columns, rows) = match self.left.pop() {
                Some(left) => left,
                None => {
                    self.order.end_batch();
                    turn(&mut self.order);
                    let Batch { columns, rows } = self.next_of_scan()?;
                    (columns, rows)
                }
            };
            if let Some(joined) = self.look_up(columns.clone(), rows, sides) {
                return Some(Batch {
                    rows: row_numbers(0..joined.parents.len() as u32),
                    columns: Rc::new(columns.joined(joined, &self.rows.entries)),
                });
            }
        }
    }

    fn next_of_scan(&mut self) -> Option<Batch> {
        let mut scan = self.scan.borrow_mut();
        scan.start();
        let batch = scan.next_batch();
        scan.stop(batch.as_ref().map_or(0, |batch| batch.rows.len()));
        batch
    }

    /// The rows of a batch with what they find in all sides; None if nothing is left.
    fn look_up(&mut self, columns: Rc<BatchColumns>, all: RowNumbers, sides: &Rc<[Side]>) -> Option<Joined> {
        let finds_several =
            |(probe, side): (&Probe, &Side)| matches!(probe.kind, Kind::Inner | Kind::Left) && !side.is_unique();
        let multiplies = self.probes.iter().zip(&**sides).any(finds_several);
        let mut joined = Joined::new(all.clone(), sides);
        let mut passed = Vec::new();
        for place in 0..self.order.len() {
            let at = self.order.at(place);
            let (probe, side) = (&self.probes[at], &sides[at]);
            let n = joined.len();
            let by_keys = |rows: &[u32]| by_keys(self.scan, probe, side, &columns, rows, multiplies);
            let index = self.indexes[at].as_mut();
            let by_index =
                index.and_then(|index| index.find(probe, &columns, &joined.parents, (multiplies, self.late), by_keys));
            let words = || probe.words(&columns).filter(|_| !multiplies);
            let by_words = || probe.find_words(side.lookup(), words()?, &joined.parents, self.late);
            let found = match by_index.or_else(by_words) {
                Some(found) => found,
                None if probe.joined => {
                    let each = row_numbers(0..n as u32);
                    let so_far = joined_columns(&columns, &joined, &self.rows);
                    let values = |key: &Computed| key.values(&mut self.rows, &so_far, &each);
                    let keys: Vec<Vector> = probe.keys.iter().map(values).collect();
                    probe.find(side, &keys, n)
                }
                None => by_keys(&joined.parents),
            };
            if multiplies && found.asked.len() > MOST_ROWS && all.len() > 1 {
                let half = all.len() / 2;
                let (first, rest) = (all.slice(0, half), all.slice(half, all.len() - half));
                self.left.extend([(columns.clone(), rest), (columns, first)]);
                return None;
            }
            let matches = probe.matches(found, at, &mut self.rows, (&columns, &joined));
            joined = joined.with(
                at,
                match probe.kind {
                    Kind::Inner | Kind::Semi => matches,
                    Kind::Left => matches.with_others(n),
                    Kind::Anti => matches.others(n),
                },
            );
            if !probe.filter.is_empty() {
                let so_far = joined_columns(&columns, &joined, &self.rows);
                joined = joined.at(&select(&probe.filter, &mut self.rows, &so_far));
            }
            passed.push((at, n as u64, joined.len() as u64));
            if joined.len() == 0 {
                break;
            }
        }
        for (at, asked, left) in passed {
            self.order.note(at, asked, left);
        }
        self.find_late(&columns, &mut joined);
        (joined.len() > 0).then_some(joined)
    }

    /// Of each side that is read, and whose rows have only been looked for, those that rows have found.
    fn find_late(&mut self, columns: &BatchColumns, joined: &mut Joined) {
        for (at, probe) in self.probes.iter().enumerate() {
            let side = &joined.sides[at];
            if joined.len() > 0 && joined.rows[at].is_empty() && side.is_read() {
                let index = self.indexes[at].as_mut();
                let by_index = index.and_then(|index| index.find_late(columns, &joined.parents));
                joined.rows[at] = by_index.unwrap_or_else(|| {
                    let words = probe.words(columns).expect("they have been found by words");
                    side.lookup().found_by_words(words, &joined.parents)
                });
            }
        }
    }

    /// Rows of the hash joins'.
    fn next_of_spine(&mut self) -> Option<Batch> {
        let State::Spine(OfSpine { places, others, ended }) = &mut self.state else {
            unreachable!("they have been asked to join");
        };
        let rows = &mut self.rows;
        let mut batch = AloneBuilder::new(rows, &self.output);
        while !*ended && !batch.is_full() {
            let Some(slot) = self.below.next() else {
                *ended = true;
                break;
            };
            rows.set_known(places.iter().map(|&(at, place)| (at, slot.value(place))));
            for &mut (at, expression) in others.iter_mut() {
                let value = expression.eval(rows.econtext);
                rows.know(at, value);
            }
            batch.push(rows);
        }
        batch.finish(rows)
    }
}

/// What rows of the scan's, ascending, find in a side by their keys. `repeat`: some may be there twice.
fn by_keys(
    scan: &RefCell<dyn Batches>,
    probe: &Probe,
    side: &Side,
    columns: &Rc<BatchColumns>,
    rows: &[u32],
    repeat: bool,
) -> Matches {
    let mut scan = scan.borrow_mut();
    let distinct = Distinct::new(rows, repeat);
    let values = |key: &Computed| distinct.each(key.values(scan.rows(), columns, distinct.distinct()));
    let keys: Vec<Vector> = probe.keys.iter().map(values).collect();
    probe.find(side, &keys, rows.len())
}

/// Rows of the scan's, ascending: each once, as vectors are computed of them.
struct Distinct<'a> {
    rows: Cow<'a, [u32]>,
    /// Which of them each row is, if some are there twice.
    of: Option<Vec<u32>>,
}

impl Distinct<'_> {
    fn new(rows: &[u32], repeat: bool) -> Distinct<'_> {
        if !repeat {
            return Distinct {
                rows: rows.into(),
                of: None,
            };
        }
        let (mut distinct, mut of) = (Vec::new(), Vec::with_capacity(rows.len()));
        for &row in rows {
            if distinct.last() != Some(&row) {
                distinct.push(row);
            }
            of.push(distinct.len() as u32 - 1);
        }
        Distinct {
            rows: distinct.into(),
            of: Some(of),
        }
    }

    fn distinct(&self) -> &[u32] {
        &self.rows
    }

    /// The values of all rows, given those of the distinct ones.
    fn each<'v>(&self, values: Vector<'v>) -> Vector<'v> {
        match &self.of {
            Some(of) => values.gather(of),
            None => values,
        }
    }
}

/// Has a test meet other orders.
fn turn(_probes: &mut Probes) {
    #[cfg(feature = "test_hooks")]
    if crate::guc::fault_point().as_deref() == Some("join_order") {
        _probes.turn();
    }
}

/// Whether a test has the hash joins tried out.
fn is_left_to_spine() -> bool {
    #[cfg(feature = "test_hooks")]
    return crate::guc::fault_point().as_deref() == Some("join_spine");
    #[cfg(not(feature = "test_hooks"))]
    false
}

impl CustomNode for Join {
    fn methods() -> &'static ExecMethods {
        &METHODS
    }

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Join {
        let below = begin_child(node, estate, flags);
        let spine = Spine::of(below);
        let scan = of(spine.scan).expect("the planner put us above what hands up batches");
        let columns = expressions(node.scan().custom_scan_tlist());
        let of_scan = spine.of_scan();
        let mut entries: Vec<Entry> = columns[..of_scan].iter().map(|e| entry_of(e, &[])).collect();
        for (side, level) in spine.levels.iter().enumerate() {
            entries.extend((0..level.columns.len()).map(|column| Entry::Joined(side, column)));
        }
        let entries: Rc<[Entry]> = entries.into();
        let tables = scan.borrow_mut().rows().tables();
        let mut rows = Rows::within(
            estate,
            node.econtext(),
            node.scan_slot(),
            tables[0],
            &columns,
            entries.clone(),
        )
        .with_tables(&tables[1..]);
        let mut probes = Vec::new();
        for level in &spine.levels {
            let joined = level
                .outer_keys
                .iter()
                .any(|key| reads(key).iter().any(|&at| at >= of_scan));
            let keys = match joined {
                false => Computed::over_columns(&mut *scan.borrow_mut(), &level.outer_keys),
                true => {
                    let vectors = rows.compile(&level.outer_keys, Some(node));
                    let keys = level.outer_keys.iter().zip(vectors);
                    let key = |(key, vector): (&&'static Node, Option<Expr>)| {
                        let vector = vector.expect("the planner chose what has vectors");
                        Computed::new(key, vector, Some(node))
                    };
                    keys.map(key).collect()
                }
            };
            probes.push(Probe {
                kind: level.kind,
                residual: Condition::of(&mut rows, &level.residual, node),
                filter: Condition::of(&mut rows, &level.filter, node),
                keys,
                joined,
                building: Building::new(level, estate),
            });
        }
        let late = probes.iter().all(Probe::reads_scan_only);
        let index = |(level, probe): (&Level, &Probe)| match probe.joined {
            // Of partitions each would have its own.
            false if tables.len() == 1 => indexed::find(tables[0], &columns[..of_scan], level),
            _ => None,
        };
        let indexes = spine.levels.iter().zip(&probes).map(index).collect();
        Join {
            node,
            below,
            late,
            spine,
            scan,
            rows,
            order: Probes::new(&vec![false; probes.len()]),
            by_keys: Vec::new(),
            indexes,
            probes,
            output: Vec::new(),
            state: State::New,
            left: Vec::new(),
        }
    }

    fn next(&mut self, _node: &'static CustomScanState) -> Option<&'static Slot> {
        unreachable!("whoever is above a join drives it")
    }

    fn end(&mut self, _node: &CustomScanState) {
        self.rows.clear();
        self.below.end();
    }

    fn rescan(&mut self, node: &CustomScanState) {
        self.rows.clear();
        self.left.clear();
        let changed = self.spine.rescan(node);
        if changed || self.by_keys.contains(&true) || !matches!(self.state, State::Whole(_)) {
            self.state = State::New;
        }
    }

    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        match self.state {
            State::Spine(_) => materialization("late", es),
            _ => self.show(node, ancestors, es),
        }
    }
}

impl Batches for Join {
    fn columns(&self) -> Vec<&'static Node> {
        expressions(self.node.scan().custom_scan_tlist())
    }

    fn compile(&mut self, wanted: &[&Node]) -> Vec<Option<Expr>> {
        self.rows.compile(wanted, Some(self.node))
    }

    fn state(&self) -> &'static PlanState {
        self.node
    }

    fn read(&mut self, columns: Vec<usize>) {
        self.output = columns;
        self.read_of_scan();
    }

    fn take_last_first(&mut self) {
        self.scan.borrow_mut().take_last_first();
    }

    fn has_leaves(&self) -> bool {
        false
    }

    fn limit_to(&mut self, _interest: Option<Rc<dyn Interest>>) {
        unreachable!("nobody has use for some of a join's rows only")
    }

    fn next_batch(&mut self) -> Option<Batch> {
        if let State::New = self.state {
            self.state = self.build();
        }
        match &self.state {
            State::Whole(sides) => {
                let sides = sides.clone();
                self.next_joined(&sides)
            }
            State::Spine(_) => self.next_of_spine(),
            State::New | State::Empty => None,
        }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    #[cfg(feature = "test_hooks")]
    fn has_positions(&self) -> bool {
        false
    }

    fn positions(&mut self, _batch: &Batch) -> Positions {
        unreachable!("nobody asks for the positions of a join's rows")
    }

    fn batch_at(&mut self, _positions: &Positions) -> Batch {
        unreachable!("nobody asks for a join's rows by positions")
    }

    fn restart(&mut self) {
        self.left.clear();
        match &mut self.state {
            State::Spine(spine) => {
                self.below.rescan();
                spine.ended = false;
            }
            _ => self.scan.borrow_mut().restart(),
        }
    }

    fn start(&mut self) {
        self.node.start_clock();
    }

    fn stop(&mut self, rows: usize) {
        self.node.stop_clock(rows);
    }
}
