//! Results of our own nodes: columns of their batches become Arrow's, with no rows in between.

use super::encoder::Encoder;
use crate::encoding::shown;
use crate::pg::expr::TargetEntry;
use crate::pg::memory::Context;
use crate::pg::node::{Node, is_pure};
use crate::pg::plan::CustomScan;
use crate::pg::state::{PlanState, Planned, Prepared};
use crate::query::{Batch, BatchColumns, Batches, Computed, Running, batches_of, no_vectors, reads, why};
use amax_exec::{Type, Vector};
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

/// So many rows are looked at together at most, and at first.
const TOGETHER: usize = 8192;
const FIRST: usize = 64;

/// How a column of the result is had.
enum Output {
    Vector(Computed),
    /// PostgreSQL evaluates it row by row.
    Rows {
        state: Prepared,
        reads: Vec<usize>,
        expression: Planned,
    },
}

/// A query whose top node hands up batches.
pub struct Direct {
    input: &'static RefCell<dyn Batches>,
    outputs: Vec<Output>,
    /// A batch whose first rows have been taken, and how many.
    left: Option<(Batch, usize)>,
    /// How many rows are looked at together next, and how many bytes those before have taken each.
    together: usize,
    width: usize,
}

impl Direct {
    /// If the node hands up rows, or its columns have to be evaluated in between conditions, says so. In memory that lives as long as the query.
    pub fn of(top: &'static PlanState) -> Result<Direct, String> {
        let Some(input) = batches_of(top) else {
            return Err(format!("the plan's top node is {}", name(top)));
        };
        let below = &mut *input.borrow_mut();
        let entries = top.plan().targetlist().all::<TargetEntry>();
        let wanted: Vec<&Node> = entries
            .filter(|entry| !entry.resjunk())
            .filter_map(TargetEntry::expr)
            .collect();
        if !wanted.iter().all(|node| is_pure(node)) {
            return Err("a column is volatile, or a subquery".into());
        }
        let vectors = below.compile(&wanted);
        let outputs = wanted.iter().zip(vectors).map(|(&node, vector)| match vector {
            Some(vector) => Output::Vector(Computed::new(node, vector, Some(top))),
            None => Output::Rows {
                state: Prepared::new(node, Some(top)),
                reads: reads(node),
                expression: Planned::of(node),
            },
        });
        let outputs: Vec<Output> = outputs.collect();
        let mut read: Vec<usize> = outputs
            .iter()
            .flat_map(|output| output.reads().iter().copied())
            .collect();
        read.sort_unstable();
        read.dedup();
        below.read(read);
        Ok(Direct {
            input,
            outputs,
            left: None,
            together: FIRST,
            width: 0,
        })
    }

    /// By column: None if it is had by vectors, else why not.
    pub fn reasons(&self) -> Vec<Option<String>> {
        let entries = self.input.borrow_mut().rows().entries.clone();
        let reason = |output: &Output| match output {
            Output::Vector(_) => None,
            Output::Rows { expression, .. } => {
                let node = expression.node();
                Some(no_vectors(node).unwrap_or_else(|| why(node, &entries)))
            }
        };
        self.outputs.iter().map(reason).collect()
    }

    /// Gives the encoder rows until its batch is full, and says how many, and whether there may be more. `row` is for values of one row.
    /// `between`: what is to be done with the output every few rows.
    pub fn fill<W: Write + Send>(
        &mut self,
        encoder: &mut Encoder<'_, W>,
        row: &mut Context,
        between: impl Fn(&mut W),
    ) -> (usize, bool) {
        let _whole = Running::begin(true);
        let input = &mut *self.input.borrow_mut();
        input.start();
        let mut all = 0;
        let full = loop {
            crate::memory::check_for_interrupts();
            between(encoder.output());
            let Some((batch, from)) = self.left.take().or_else(|| Some((input.next_batch()?, 0))) else {
                break false;
            };
            let fitting = encoder
                .bytes_left()
                .checked_div(self.width)
                .map_or(usize::MAX, |rows| rows + 1);
            let most = self.together.min(encoder.rows_left()).min(fitting);
            let to = batch.rows.len().min(from + most);
            let before = encoder.bytes_left();
            let rows = &batch.rows[from..to];
            let taken = take(&self.outputs, input, &batch.columns, rows, encoder, row);
            let bytes = before - encoder.bytes_left();
            self.width = bytes.checked_div(taken).unwrap_or(self.width);
            self.together = (2 * self.together).min(TOGETHER);
            if from + taken < batch.rows.len() {
                self.left = Some((batch, from + taken));
            }
            all += taken;
            if encoder.end_rows(taken) {
                break true;
            }
        };
        input.stop(all);
        (all, full)
    }
}

/// What EXPLAIN calls a node.
fn name(node: &PlanState) -> String {
    let plan = node.plan();
    match plan.as_a::<CustomScan>() {
        Some(custom) => shown(custom.custom_name().to_bytes()).into_owned(),
        None => format!("{:?}", plan.tag()).trim_start_matches("T_").to_owned(),
    }
}

impl Output {
    /// Columns of the batches.
    fn reads(&self) -> &[usize] {
        match self {
            Output::Vector(computed) => &computed.reads,
            Output::Rows { reads, .. } => reads,
        }
    }
}

/// Gives the encoder the first of some rows: as many as its batch may still take, and at least one. Returns how many.
fn take<W: Write + Send>(
    outputs: &[Output],
    input: &mut dyn Batches,
    columns: &Rc<BatchColumns>,
    rows: &[u32],
    encoder: &mut Encoder<'_, W>,
    context: &mut Context,
) -> usize {
    let vectors = outputs.iter().map(|output| match output {
        Output::Vector(computed) => Some(computed.values(input.rows(), columns, rows)),
        Output::Rows { .. } => None,
    });
    let vectors: Vec<Option<Vector>> = vectors.collect();
    let mut taken = fitting(&vectors, rows.len(), encoder.bytes_left());
    if vectors.iter().any(Option::is_none) {
        let bytes = widths(&vectors);
        let mut left = encoder.bytes_left();
        let rows = &rows[..taken];
        taken = 0;
        for (i, &row) in rows.iter().enumerate() {
            let before = encoder.bytes_left();
            crate::memory::check_for_interrupts();
            input.rows().set_leaf(columns, row);
            for (at, output) in outputs.iter().enumerate() {
                if let Output::Rows { state, reads, .. } = output {
                    let (value, null) = input.rows().eval(*state, reads);
                    context.within(|| encoder.put(at, (!null).then_some(value), i));
                }
            }
            context.reset();
            taken += 1;
            left = left.saturating_sub(before - encoder.bytes_left() + bytes(i));
            if left == 0 {
                break;
            }
        }
    }
    for (at, vector) in vectors.iter().enumerate() {
        if let Some(vector) = vector {
            encoder.put_all(at, vector, taken);
        }
    }
    taken
}

/// How many bytes the strings of a row take.
fn widths<'v>(vectors: &'v [Option<Vector<'v>>]) -> impl Fn(usize) -> usize + 'v {
    let text = |vector: &&Vector| vector.ty == Type::Text;
    let texts: Vec<&Vector> = vectors.iter().flatten().filter(text).collect();
    move |row| {
        let width = |vector: &&Vector| {
            if vector.is_valid(row) {
                vector.string(row).len()
            } else {
                0
            }
        };
        texts.iter().map(width).sum()
    }
}

/// How many of the first rows have strings that take no more bytes than these, but for the last.
fn fitting(vectors: &[Option<Vector<'_>>], rows: usize, bytes: usize) -> usize {
    let most = |vector: &Vector| {
        let strings = vector.strings.as_ref().map_or(0, |strings| strings.data.len());
        if vector.dictionary { strings * rows } else { strings }
    };
    if vectors.iter().flatten().map(most).sum::<usize>() < bytes {
        return rows;
    }
    let width = widths(vectors);
    let mut left = bytes;
    let full = (0..rows).find(|&row| {
        left = left.saturating_sub(width(row));
        left == 0
    });
    full.map_or(rows, |last| last + 1)
}
