//! Statistics of an expression from a sample of columnar rows, of a table or of a parent's children.
//!
//! Vectors compute it, and nothing that may raise an error: rows that they are unsure of are left out. Of what they do not
//! know only the paths in it are looked at, for how many values there may be.

use super::counted::Counted;
use super::hashes::Hashes;
use super::iso::is_iso;
use super::source::{Member, Part, SIZE, Source};
use crate::pg::expr::{CoerceViaIO, Const, FuncExpr, Var};
use crate::pg::lookup::function_is_strict;
use crate::pg::memory::Context;
use crate::pg::node::Node;
use crate::pg::relation::Opened;
use crate::pg::state::EState;
use crate::pg::statistics::{Statistics, Typed, Values, of_counts, of_values, target};
use crate::query::batch::arrays::Arrays;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::external::over;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::Compiler;
use crate::query::expr::constant::bytes;
use crate::query::expr::datum::{of_bytes, of_scalar, varlena};
use crate::query::expr::entry::{Entry, entry_of, over_entries, read_by, reference_of};
use crate::query::expr::path::{JsonPath, call_of, question_of};
use crate::query::expr::tree::{any, walk};
use crate::query::expr::unnesting::Unnesting;
use amax_exec::{Columns, Evaluated};
use amax_format::Tag;
use pgrx::pg_sys::*;
use std::rc::Rc;

/// Bytes of memory that the columns of one expression may take: long values are not what statistics are about.
const BYTES: usize = 32 << 20;
/// Of values that are slow to make or to compare: times of text, jsonb.
const SLOW: usize = 4096;

/// What expressions are over.
#[derive(Clone, PartialEq)]
pub enum Of {
    Rows,
    /// The elements of arrays in them.
    Elements(JsonPath),
}

impl Of {
    /// The same of a parent's child.
    pub fn of_member(&self, member: &Member) -> Option<Of> {
        Some(match self {
            Of::Rows => Of::Rows,
            Of::Elements(path) => Of::Elements(JsonPath {
                attribute: member.attribute(path.attribute)?,
                ..path.clone()
            }),
        })
    }

    /// An expression over the parent's, over the child's.
    pub fn over_member<'a>(&self, member: &Member, expression: &'a Node) -> &'a Node {
        match self {
            Of::Rows => member.expression(expression),
            Of::Elements(_) => expression,
        }
    }

    /// The number of the relation that their variables are of.
    pub fn relation(&self) -> Index {
        match self {
            Of::Rows => 1,
            Of::Elements(_) => 2,
        }
    }
}

/// What there is to be known of an expression.
#[derive(Clone, Copy, PartialEq)]
pub enum Wanted {
    /// Statistics with values, if vectors know them.
    Values,
    /// How many NULLs and different values.
    Counts,
    /// The values as a function hashes them, by a collation; of rows of all leaves, of which there may be as many as a sample has.
    Hashes(Oid, Oid),
}

pub enum Made {
    Statistics(Statistics),
    Hashes(Hashes),
}

/// Of an expression over rows of tables, or `tuples` elements in them. None if there is nothing to be known.
pub fn make(source: &Source, of: &Of, expression: &Node, tuples: f64, wanted: Wanted) -> Option<Made> {
    let mut targets = Vec::new();
    let table = Opened::with_lock(source.table, NoLock);
    walk(expression, &mut |node| {
        let attribute = |var: &Var| match of {
            Of::Rows => var.varattno(),
            Of::Elements(array) => array.attribute,
        };
        targets.extend(node.as_a::<Var>().map(|var| target(&table, attribute(var))));
        true
    });
    let target = targets.into_iter().max().filter(|&target| target > 0)?;
    let context = &Context::new("amax sample");
    context.within(|| {
        let readers = source.members.iter().map(|member| Reader::new(member, of, expression));
        let readers: Vec<Reader> = readers.collect::<Option<_>>()?;
        let all = source.parts();
        let leaves = all.len();
        let parts = affordable(all, of, &readers);
        if parts.len() < leaves && matches!(wanted, Wanted::Hashes(..)) {
            return None;
        }
        let rows = parts.iter().map(|part| part.rows.len()).sum::<usize>();
        if rows == 0 {
            return None;
        }
        let sample = Sample {
            readers,
            parts,
            tuples: tuples.max(rows as f64),
            context,
        };
        if let Wanted::Hashes(function, collation) = wanted {
            let values = sample.values(true)?;
            let hashes = Hashes::new(&values, function, collation, sample.tuples);
            return Some(Made::Hashes(hashes));
        }
        let found = match wanted {
            Wanted::Values => sample.values(false),
            _ => None,
        };
        let made = match found {
            Some(mut found) => of_values(Typed::of(expression), target, &mut found, sample.tuples),
            None => sample.counts(expression),
        };
        made.map(Made::Statistics)
    })
}

/// How an expression is read of a table.
struct Reader<'a> {
    table: Oid,
    /// As it is over the table, which may have a parent's columns in another order.
    expression: &'a Node,
    read: Vec<&'a Node>,
    entries: Rc<[Entry]>,
    /// Of whose elements it is.
    arrays: Option<Rc<Arrays>>,
}

impl<'a> Reader<'a> {
    fn new(member: &Member, of: &Of, expression: &'a Node) -> Option<Reader<'a>> {
        let expression = of.over_member(member, expression);
        let of = of.of_member(member)?;
        let mut read = Vec::new();
        // About elements nothing can be asked.
        let asks = |node: &Node| of == Of::Rows && question_of(node, &|_| true).is_some();
        read_by(expression, &asks, &mut read);
        // Elements have one column, whichever function it is.
        let elements = Unnesting::by(of.relation(), F_JSONB_ARRAY_ELEMENTS).filter(|_| of != Of::Rows);
        let functions: Vec<Unnesting> = elements.into_iter().collect();
        let entries: Rc<[Entry]> = read.iter().map(|e| entry_of(e, &functions)).collect();
        let arrays = match of {
            Of::Rows => None,
            Of::Elements(array) => Some(Rc::new(Arrays::of_elements(&array, &entries))),
        };
        Some(Reader {
            table: member.table,
            expression,
            read,
            entries,
            arrays,
        })
    }
}

/// As many of the parts as do not take too much to read, from all over the table.
fn affordable(parts: Vec<Part>, of: &Of, readers: &[Reader]) -> Vec<Part> {
    let read = |part: &Part, path: &JsonPath| match path.attribute as usize - 1 {
        at if at < part.leaf.width() => part.leaf.leaf().path_bytes(at, &path.steps),
        _ => 0,
    };
    let bytes = |part: &Part| match of {
        // All elements of a leaf are decoded.
        Of::Elements(array) => read(part, array),
        Of::Rows => {
            let paths = readers[part.member].entries.iter().filter_map(|entry| match entry {
                Entry::Path(path) => Some(path),
                _ => None,
            });
            paths.map(|path| read(part, path)).sum()
        }
    };
    let all: usize = parts.iter().map(bytes).sum();
    let step = all.div_ceil(BYTES).max(1);
    parts
        .into_iter()
        .step_by(step)
        .filter(|part| bytes(part) <= BYTES)
        .collect()
}

/// An expression's sample.
struct Sample<'a> {
    readers: Vec<Reader<'a>>,
    /// In the readers' order.
    parts: Vec<Part>,
    /// As many as there are of what it is of.
    tuples: f64,
    /// Where its values are.
    context: &'a Context,
}

impl Sample<'_> {
    /// The rows of a part, or the elements in them.
    fn batch(&self, part: &Part) -> (Rc<BatchColumns>, Vec<u32>) {
        let reader = &self.readers[part.member];
        let columns = Rc::new(BatchColumns::new(part.leaf.clone(), part.origin, &reader.entries));
        match &reader.arrays {
            None => (columns, part.rows.clone()),
            Some(arrays) if arrays.attribute >= part.leaf.width() => (columns, Vec::new()),
            Some(arrays) => {
                let elements = Rc::new(columns.unnest(arrays, &part.rows, false));
                let step = elements.len().div_ceil(SIZE.rows as usize / self.parts.len()).max(1);
                let rows = (0..elements.len() as u32).step_by(step).collect();
                (elements, rows)
            }
        }
    }

    /// The values of the expression; None if vectors do not know them. `all`: also of those that are slow to compare.
    fn values(&self, all: bool) -> Option<Values> {
        let first = self.readers.first()?;
        if let [Entry::Path(path)] = &*first.entries
            && first.read[0].equals(first.expression)
        {
            return Some(self.at_path(path.text, all));
        }
        let mut found = Values::default();
        for (member, reader) in self.readers.iter().enumerate() {
            EState::with_new(reader.table, |estate, rel| {
                let slot = estate.values_slot(&reader.read);
                let context = estate.new_context();
                let mut input = Rows::within(estate, context, slot, rel, &reader.read, reader.entries.clone());
                self.context
                    .within(|| self.evaluate(member, &mut input, all, &mut found))
            })?;
        }
        Some(found)
    }

    /// Those in one of the tables.
    fn evaluate(&self, member: usize, input: &mut Rows, all: bool, found: &mut Values) -> Option<()> {
        let reader = &self.readers[member];
        let expression = over_entries(reader.expression, &reader.read);
        let mut compiler = Compiler::new(&reader.entries, None);
        let vector = compiler.compile(expression)?;
        let times = times_in(expression);
        if vector.calls_out() && !calls_quietly(expression, !times.is_empty()) {
            return None;
        }
        input.pg_exprs = compiler.pg_exprs;
        let step = if times.is_empty() || all { 1 } else { self.step() };
        let number = number_of(expression, &reader.entries);
        for part in self.parts.iter().filter(|part| part.member == member) {
            let (columns, rows) = self.batch(part);
            let is_time = |row: &u32| times.iter().all(|&entry| has_time(&columns, entry, *row));
            let rows: Vec<u32> = rows.into_iter().step_by(step).filter(is_time).collect();
            let Evaluated { vector, unsure } = over(input, &columns, |batch| batch.eval(&vector, &rows));
            let mut unsure = unsure.into_iter().peekable();
            for (at, &row) in rows.iter().enumerate() {
                match unsure.next_if_eq(&(at as u32)) {
                    None => found.push(of_scalar(vector.get(at), expression.type_oid())),
                    Some(_) => found.extend(number.as_ref().and_then(|path| number_at(&columns, row, path))),
                }
            }
        }
        input.clear();
        Some(())
    }

    /// The path that the expression is, of a part's table.
    fn path(&self, part: &Part) -> Option<&JsonPath> {
        match &*self.readers[part.member].entries {
            [Entry::Path(path)] => Some(path),
            _ => None,
        }
    }

    /// The values at a path.
    fn at_path(&self, text: bool, all: bool) -> Values {
        let batches: Vec<_> = self
            .parts
            .iter()
            .map(|part| (self.path(part), self.batch(part)))
            .collect();
        let (mut counted, mut is_counted) = (Counted::default(), true);
        for (_, (columns, rows)) in &batches {
            is_counted &= counted.add_column(columns, 0, rows);
        }
        // Texts are compared by a collation. Where most differ there are no frequent ones to be found, and fewer tell the order.
        let step = match text {
            _ if all => 1,
            _ if counted.are_mostly_containers() => 4 * self.step(),
            true if counted.are_mostly_different() => 2 * self.step(),
            true => 1,
            false => self.step(),
        };
        let mut found = Values::default();
        for (path, (columns, rows)) in &batches {
            let rows = rows.iter().step_by(step);
            found.extend(rows.filter_map(|&row| columns.path_value(0, row, (*path)?)));
        }
        found.distinct = is_counted.then(|| counted.distinct(self.tuples));
        found
    }

    /// Which rows are taken of what is slow to compare: every so many.
    fn step(&self) -> usize {
        let rows: usize = self.parts.iter().map(|part| part.rows.len()).sum();
        rows.div_ceil(SLOW)
    }

    /// How many NULLs and different values there are of an expression that is not evaluated, by the paths in it.
    fn counts(&self, expression: &Node) -> Option<Statistics> {
        let (mut nulls, mut distinct) = (0.0_f64, 1.0);
        for (at, entry) in self.readers.first()?.entries.iter().enumerate() {
            let Entry::Path(_) = entry else {
                return None;
            };
            let mut counted = Counted::default();
            for part in &self.parts {
                let (columns, rows) = self.batch(part);
                counted.add_column(&columns, at, &rows);
            }
            nulls = nulls.max(counted.null_fraction());
            distinct *= counted.distinct(self.tuples).max(1.0);
        }
        let distinct = distinct.min(domain(expression)).min(self.tuples);
        let nulls = if is_strict(expression) { nulls } else { 0.0 };
        Some(of_counts(nulls, WIDTH, distinct, self.tuples))
    }
}

/// Bytes of a value that nobody has seen (get_typavgwidth() of lsyscache.c).
const WIDTH: i32 = 32;

/// The path, as text, that an expression is the cast of to numeric.
fn number_of(expression: &Node, entries: &[Entry]) -> Option<JsonPath> {
    let is_cast = expression.is_a::<CoerceViaIO>() || call_of(expression).is_some_and(|call| call.0 == F_NUMERIC_JSONB);
    match entries {
        [Entry::Path(path)] if is_cast && expression.type_oid() == NUMERICOID => Some(JsonPath {
            text: true,
            ..path.clone()
        }),
        _ => None,
    }
}

/// The number that a batch's only column has, one of many digits.
fn number_at(columns: &BatchColumns, row: u32, path: &JsonPath) -> Option<(Datum, bool)> {
    let (text, null) = columns.path_value(0, row, path)?;
    // SAFETY: a value of type text, unless it is NULL.
    let text = (!null).then(|| unsafe { varlena(text) })?;
    let number = amax_jsonb::numeric::from_text(std::str::from_utf8(text).ok()?).ok()?;
    Some((of_bytes(&number), false))
}

/// Entries that are cast to times.
fn times_in(expression: &Node) -> Vec<usize> {
    let mut found = Vec::new();
    walk(expression, &mut |node| {
        found.extend(time_of(node));
        true
    });
    found
}

/// The entry that a node casts to a time.
fn time_of(node: &Node) -> Option<usize> {
    let cast = node.as_a::<CoerceViaIO>()?;
    let is_time = matches!(cast.resulttype(), DATEOID | TIMESTAMPOID | TIMESTAMPTZOID);
    reference_of(cast.arg()?).filter(|_| is_time)
}

/// Whether such a cast of an entry's value in a row raises no error.
fn has_time(columns: &BatchColumns, entry: usize, row: u32) -> bool {
    let dense = columns.dense(entry);
    match dense.tag(row as usize) {
        Tag::Missing | Tag::Null => true,
        Tag::String => dense
            .strings()
            .get(dense.word(row as usize) as usize)
            .is_some_and(is_iso),
        _ => false,
    }
}

/// Whether it calls only functions that raise no error and give the same for the same values; `times`: and casts of times.
fn calls_quietly(expression: &Node, times: bool) -> bool {
    !any(expression, |node| match node.tag() {
        NodeTag::T_Var | NodeTag::T_Const | NodeTag::T_RelabelType | NodeTag::T_List => false,
        NodeTag::T_CoerceViaIO => !times || time_of(node).is_none(),
        _ => !call_of(node).is_some_and(|(function, args)| {
            is_quiet(function)
                || times && takes_field(function) && args.first().is_some_and(|field| field.is_a::<Const>())
        }),
    })
}

/// Functions of a time and a field of it, whose name is checked when the query is evaluated.
fn takes_field(function: u32) -> bool {
    extracts(function) || matches!(function, F_DATE_TRUNC_TEXT_TIMESTAMP | F_DATE_TRUNC_TEXT_TIMESTAMPTZ)
}

/// Those that give the field.
fn extracts(function: u32) -> bool {
    matches!(
        function,
        F_EXTRACT_TEXT_DATE
            | F_EXTRACT_TEXT_TIME
            | F_EXTRACT_TEXT_TIMESTAMP
            | F_EXTRACT_TEXT_TIMESTAMPTZ
            | F_DATE_PART_TEXT_DATE
            | F_DATE_PART_TEXT_TIMESTAMP
            | F_DATE_PART_TEXT_TIMESTAMPTZ
    )
}

fn is_quiet(function: u32) -> bool {
    matches!(
        function,
        F_LOWER_TEXT
            | F_UPPER_TEXT
            | F_BTRIM_TEXT
            | F_LTRIM_TEXT
            | F_RTRIM_TEXT
            | F_LEFT
            | F_RIGHT
            | F_TEXTCAT
            | F_MD5_TEXT
            | F_DATE_TIMESTAMP
            | F_DATE_TIMESTAMPTZ
            | F_TIMESTAMP_TIMESTAMPTZ
            | F_TIMESTAMPTZ_TIMESTAMP
    )
}

/// Whether it is NULL where what it reads is.
fn is_strict(expression: &Node) -> bool {
    !any(expression, |node| {
        use NodeTag::*;
        match node.tag() {
            T_Var | T_Const | T_RelabelType | T_List | T_CoerceViaIO | T_SubscriptingRef => false,
            _ => !call_of(node).is_some_and(|(function, _)| function_is_strict(function.into())),
        }
    })
}

/// How many values an expression can have at most, as far as its function tells.
fn domain(expression: &Node) -> f64 {
    let call = expression.as_a::<FuncExpr>();
    let call = call.filter(|call| extracts(call.funcid().to_u32()));
    let field = call.and_then(|call| bytes(call.args().get(0)?));
    match field {
        Some(b"quarter") => 4.0,
        Some(b"dow" | b"isodow") => 7.0,
        Some(b"month") => 12.0,
        Some(b"hour") => 24.0,
        Some(b"day") => 31.0,
        Some(b"week") => 53.0,
        Some(b"minute") => 60.0,
        Some(b"doy") => 366.0,
        _ => f64::INFINITY,
    }
}
