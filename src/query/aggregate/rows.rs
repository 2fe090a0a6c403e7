//! What the aggregate node computes of a scan's rows: keys and arguments as vectors, for the aggregator.

use super::collect::Collecting;
use super::sets::{Grouped, Sets};
use crate::pg::expr::Aggref;
use crate::pg::node::Node;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::computed::Computed;
use crate::query::batch::raise::raise;
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::plan::aggregates::{argument, collations, function_of, of_second, second};
use crate::query::plan::costs::hash_memory;
use amax_exec::{Aggregator, By, Collation, Expr, Function, Input, Type, Vector};
use pgrx::pg_sys;
use std::borrow::Cow;
use std::rc::Rc;

/// An aggregate.
pub struct Wanted {
    /// Which of the arguments.
    argument: Option<usize>,
    second: Option<usize>,
    filter: Option<Computed>,
    pub function: u32,
    /// If it keeps all values.
    pub collecting: Option<Collecting>,
    /// SQL type of the result.
    pub result: pg_sys::Oid,
}

struct Argument {
    computed: Computed,
    /// The aggregate whose FILTER says of which rows it is computed; others do not share it.
    filter: Option<usize>,
}

/// All that is computed.
pub struct Inputs {
    pub keys: Vec<Computed>,
    arguments: Vec<Argument>,
    pub aggregates: Vec<Wanted>,
    functions: Vec<(Function, Option<Type>)>,
    pub collations: Rc<dyn Collation>,
    /// If rows are grouped several times.
    pub grouped: Option<Grouped>,
}

impl Inputs {
    /// Of keys and Aggrefs over the row of what hands up batches, which will read what they need.
    pub fn new(input: &mut dyn Batches, keys: &[&Node], aggregates: &[&Node], sets: Sets) -> Inputs {
        #[cfg(feature = "pg18")]
        let keys = &super::sets::keys_of_rows(keys, &input.columns());
        let keys = Computed::of(input, keys);
        let parent = input.state();
        let mut one = |node| Computed::of(input, &[node]).pop().expect("one of one");
        let types: Vec<Type> = keys.iter().map(|key| key.ty).collect();
        let grouped = Grouped::new(sets, &types, aggregates);
        let mut functions = Vec::new();
        let mut arguments: Vec<Argument> = Vec::new();
        // Of those, what is computed without a filter.
        let mut shared: Vec<(&Node, usize)> = Vec::new();
        let aggregates: Vec<&Aggref> = aggregates.iter().filter_map(|node| node.as_a()).collect();
        let collations = Rc::new(collations(&aggregates));
        let aggregates: Vec<Wanted> = aggregates
            .into_iter()
            .enumerate()
            .map(|(i, aggregate)| {
                crate::pg::executor::check_aggregate(aggregate.aggfnoid());
                functions.push(function_of(aggregate).expect("the planner chose what we have"));
                let filter = aggregate.aggfilter().map(&mut one);
                let mut place = |node| {
                    let known = shared
                        .iter()
                        .find(|known| known.0.equals(node))
                        .filter(|_| filter.is_none());
                    known.map(|known| known.1).unwrap_or_else(|| {
                        arguments.push(Argument {
                            computed: one(node),
                            filter: filter.is_some().then_some(i),
                        });
                        if filter.is_none() {
                            shared.push((node, arguments.len() - 1));
                        }
                        arguments.len() - 1
                    })
                };
                Wanted {
                    argument: argument(aggregate).map(&mut place),
                    second: second(aggregate)
                        .filter(|_| of_second(aggregate).is_some())
                        .map(&mut place),
                    filter,
                    function: aggregate.aggfnoid().to_u32(),
                    collecting: Collecting::new(aggregate, parent),
                    result: aggregate.aggtype(),
                }
            })
            .collect();
        let computed = aggregates.iter().flat_map(|a| &a.filter);
        let computed = computed.chain(arguments.iter().map(|a| &a.computed)).chain(&keys);
        input.read(computed.flat_map(|c| c.reads.iter().copied()).collect());
        Inputs {
            keys,
            arguments,
            aggregates,
            functions,
            collations,
            grouped,
        }
    }

    /// The only key, if it is an integer.
    pub fn key_in_order(&self) -> Option<&Expr> {
        match &*self.keys {
            [key] if key.ty == Type::Int && self.grouped.is_none() => Some(key.vector()),
            _ => None,
        }
    }

    /// Bytes they may take. PostgreSQL gives each aggregate that is DISTINCT or sorted a sort of its own.
    pub fn limit(&self) -> usize {
        let sorts = |aggregate: &&Wanted| aggregate.collecting.as_ref().is_some_and(Collecting::may_wait);
        let sorts = self.aggregates.iter().filter(sorts).count();
        hash_memory().saturating_mul(1 + self.distinct_counts() + sorts)
    }

    /// How many aggregates are count(distinct).
    pub fn distinct_counts(&self) -> usize {
        let distinct = |(function, _): &&(Function, _)| *function == Function::CountDistinct;
        self.functions.iter().filter(distinct).count()
    }

    /// For these, with a limit of memory.
    pub fn aggregator(&self, limit: usize) -> Aggregator {
        self.aggregator_by(&self.groups_keys(), limit)
    }

    /// The types of groups' keys.
    fn groups_keys(&self) -> Vec<Type> {
        let of_sets = self.grouped.as_ref().map(|grouped| grouped.sets.types());
        of_sets.unwrap_or_else(|| self.keys.iter().map(|key| key.ty).collect())
    }

    /// By all keys, whatever sets there are.
    pub fn aggregator_of_batch(&self) -> Aggregator {
        let types: Vec<Type> = self.keys.iter().map(|key| key.ty).collect();
        self.aggregator_by(&types, usize::MAX)
    }

    fn aggregator_by(&self, keys: &[Type], limit: usize) -> Aggregator {
        let aggregator = Aggregator::new(keys, &self.functions, limit);
        let aggregator = aggregator.expect("the planner chose what we have");
        aggregator.with_collation(&self.collations)
    }

    /// Has `add` add the input's next rows; false at its end. The input's time and rows are its own in EXPLAIN, with what
    /// we compute of them.
    pub fn next_unit(&self, input: &mut dyn Batches, add: &mut dyn FnMut(&amax_exec::Rows)) -> bool {
        #[cfg(feature = "test_hooks")]
        if reads_late(input) {
            self.add_late(input, add);
            return false;
        }
        input.start();
        let batch = input.next_batch();
        let passed = batch.as_ref().map_or(0, |batch| batch.rows.len());
        match &batch {
            Some(Batch { columns, rows }) => add(&self.batch(input.rows(), columns, rows)),
            None => input.rows().clear(),
        }
        input.stop(passed);
        batch.is_some()
    }

    /// Has `add` add all of the input's rows, each read again by its position once all have been found.
    #[cfg(feature = "test_hooks")]
    fn add_late(&self, input: &mut dyn Batches, add: &mut dyn FnMut(&amax_exec::Rows)) {
        input.start();
        let mut found = Vec::new();
        while let Some(batch) = input.next_batch() {
            found.push(input.positions(&batch));
        }
        let mut passed = 0;
        for positions in &found {
            let Batch { columns, rows } = input.batch_at(positions);
            passed += rows.len();
            add(&self.batch(input.rows(), &columns, &rows));
        }
        input.rows().clear();
        input.stop(passed);
    }

    fn batch<'a>(&self, input: &mut Rows, columns: &'a Rc<BatchColumns>, rows: &[u32]) -> amax_exec::Rows<'a> {
        let keys: Vec<Vector> = self.keys.iter().map(|key| key.values(input, columns, rows)).collect();
        let filters: Vec<Option<Cow<[bool]>>> = self
            .aggregates
            .iter()
            .map(|aggregate| {
                let filter = aggregate.filter.as_ref()?;
                Some(truths(&filter.values(input, columns, rows)).into())
            })
            .collect();
        let arguments: Vec<Vector> = self
            .arguments
            .iter()
            .map(|argument| {
                let Some(filter) = argument.filter.and_then(|at| filters[at].as_ref()) else {
                    return argument.computed.values(input, columns, rows);
                };
                // Nothing is evaluated for rows that FILTER leaves out.
                let kept: Vec<u32> = rows
                    .iter()
                    .zip(&filter[..])
                    .filter(|&(_, &keep)| keep)
                    .map(|(&row, _)| row)
                    .collect();
                argument.computed.values(input, columns, &kept).spread(filter)
            })
            .collect();
        amax_exec::Rows {
            len: rows.len(),
            columns: keys.into_iter().chain(arguments).collect(),
            filters,
        }
    }

    /// The keys of rows as they are aggregated, and the arguments.
    fn split<'a, 'b>(&self, rows: &'a amax_exec::Rows<'b>) -> (&'a [Vector<'b>], &'a [Vector<'b>]) {
        rows.columns.split_at(rows.columns.len() - self.arguments.len())
    }

    /// Adds rows whose columns are keys and arguments.
    pub fn add(&self, aggregator: &mut Aggregator, rows: &amax_exec::Rows) {
        let (keys, arguments) = self.split(rows);
        let inputs: Vec<Input> = self
            .aggregates
            .iter()
            .zip(&rows.filters)
            .map(|(aggregate, filter)| Input {
                argument: aggregate.argument.map(|at| &arguments[at]),
                second: aggregate.second.map(|at| &arguments[at]),
                filter: filter.as_deref(),
            })
            .collect();
        aggregator.update(rows.len, keys, &inputs).unwrap_or_else(|e| raise(e));
    }

    /// Such rows as another process wrote them.
    pub fn read<'a>(&self, bytes: &'a [u8]) -> amax_exec::Rows<'a> {
        let arguments = self.arguments.iter().map(|argument| argument.computed.ty);
        let types: Vec<Type> = self.groups_keys().into_iter().chain(arguments).collect();
        let filters: Vec<bool> = self.aggregates.iter().map(|a| a.filter.is_some()).collect();
        amax_exec::Rows::read(bytes, &types, &filters).unwrap_or_else(|e| raise(e))
    }

    /// The columns that say which process such rows belong to.
    pub fn shared<'a>(&self, by: By, aggregator: &Aggregator, rows: &'a amax_exec::Rows) -> Vec<&'a Vector<'a>> {
        let (keys, arguments) = self.split(rows);
        let argument = || self.aggregates[aggregator.shared_values()?].argument;
        match by {
            By::Keys => keys.iter().collect(),
            By::Values => argument().map(|at| &arguments[at]).into_iter().collect(),
        }
    }
}

/// Whether a test has positions tried out; they are of the table's rows, not of elements of their arrays.
#[cfg(feature = "test_hooks")]
fn reads_late(input: &mut dyn Batches) -> bool {
    crate::guc::fault_point().as_deref() == Some("late_rows")
        && input.has_positions()
        && input.rows().functions.is_empty()
}

fn truths(vector: &Vector) -> Vec<bool> {
    (0..vector.len())
        .map(|i| vector.is_valid(i) && vector.words[i] != 0)
        .collect()
}

/// Adds groups of another process, serialized.
pub fn merge(aggregator: &mut Aggregator, bytes: &[u8]) {
    let sent = aggregator.deserialize(bytes);
    sent.and_then(|sent| aggregator.merge(&sent))
        .unwrap_or_else(|e| raise(e));
}
