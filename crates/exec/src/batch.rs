//! Evaluating expressions over the columns of a leaf, a selection of rows at a time.
//!
//! An expression gives each row a value, NULL, or nothing: the row is *unsure*. What would raise an error in
//! PostgreSQL, or what has no fast form (a number of an unusual form, a container), is unsure, and whoever asked
//! evaluates the row's whole expression with PostgreSQL's own functions. So nothing here has to know an error message,
//! and no shortcut can change an answer.

use amax_format::{Dense, Tag};
use std::borrow::Cow;

use crate::arith;
use crate::builder::VectorBuilder;
use crate::combinations::Distinct;
use crate::compare::{self, comparable, incomparable, with_constant};
use crate::digits;
use crate::evaluated::{Evaluated, both_valid, gather, sure, union};
use crate::expr::Expr;
use crate::external::{External, push_row};
use crate::functions;
use crate::list::List;
use crate::operators::{Arithmetic, Comparison, From, To};
use crate::strings;
use crate::times;
use crate::vector::{Type, Vector};

/// Where the columns of a batch come from; a column is decoded when it is first asked for.
pub trait Columns {
    /// Input `input` of the batch's leaf.
    fn dense(&self, input: usize) -> &Dense;
    /// Whether the leaf knows the input; if it does not, all its values are [`Tag::Other`].
    fn knows(&self, _input: usize) -> bool {
        true
    }
}

/// A batch: a leaf's columns, and who evaluates what we cannot.
pub struct Batch<'a, 'e> {
    /// The columns.
    pub columns: &'a dyn Columns,
    /// PostgreSQL.
    pub external: &'e mut dyn External,
}

/// So many rows for each combination of values make it worth looking for them.
const FEW: usize = 4;

pub(crate) const TRUE: i64 = 1;
const FALSE: i64 = 0;

impl<'a> Batch<'a, '_> {
    /// Evaluates `expr` for `rows` of the leaf.
    pub fn eval(&mut self, expr: &Expr, rows: &[u32]) -> Evaluated<'a> {
        // Work is done once for each combination of values that there is, if they are few.
        let share = match expr {
            Expr::External { .. } => 1,
            _ if expr.is_work() => FEW,
            _ => return self.eval_each(expr, rows),
        };
        let mut inputs = Vec::new();
        if rows.len() > share && expr.inputs(&mut inputs) && !inputs.is_empty() {
            let columns: Vec<&Dense> = inputs.iter().map(|&input| self.columns.dense(input)).collect();
            if let Some(distinct) = Distinct::new(&columns, rows, rows.len() / share) {
                let found = self.eval_each(expr, &distinct.rows);
                return distinct.spread(found);
            }
        }
        self.eval_each(expr, rows)
    }

    fn eval_each(&mut self, expr: &Expr, rows: &[u32]) -> Evaluated<'a> {
        match expr {
            Expr::Column(input, ty) => self.column(*input, *ty, rows),
            Expr::Text(input) => self.text(*input, rows),
            Expr::Cast { input, from, to } => self.cast(*input, *from, *to, rows),
            Expr::Convert { arg, to } => {
                if let (Expr::Arithmetic { .. }, To::Float) = (&**arg, to) {
                    return self.numeric_as_float(arg, rows);
                }
                let arg = self.eval(arg, rows);
                arith::convert(arg, *to)
            }
            Expr::Once { id, ty, .. } => {
                let mut value = VectorBuilder::new(*ty);
                if !rows.is_empty() {
                    self.external.once(*id, &mut value);
                }
                sure(value.finish().repeat(rows.len()))
            }
            Expr::Compare(comparison, left, right) => self.compare(*comparison, left, right, rows),
            Expr::Any(arg, list) => self.any(arg, list, rows),
            Expr::Like(arg, pattern) => pattern.filter(self.eval(arg, rows)),
            Expr::Else(expr, instead) => self.or_else(expr, instead, rows),
            Expr::IsNull(arg) => {
                let mut arg = self.eval(arg, rows);
                let nulls: Vec<i64> = (0..rows.len()).map(|i| i64::from(!arg.vector.is_valid(i))).collect();
                let unsure = std::mem::take(&mut arg.unsure);
                Evaluated {
                    vector: Vector::of_words(Type::Bool, nulls),
                    unsure,
                }
            }
            Expr::IsMissing { input, .. } | Expr::JsonEquals(input, _) if !self.columns.knows(*input) => Evaluated {
                vector: Vector::of_words(Type::Bool, vec![0; rows.len()]),
                unsure: (0..rows.len() as u32).collect(),
            },
            Expr::IsMissing { input, or_null } => {
                let dense = self.columns.dense(*input);
                let is_null = |tag| tag == Tag::Missing || *or_null && tag == Tag::Null;
                let missing = dense.by_tag(rows, |tag| i64::from(is_null(tag)));
                sure(Vector::of_words(Type::Bool, missing))
            }
            Expr::JsonEquals(input, scalar) => compare::json_equals(self.columns.dense(*input), rows, scalar),
            Expr::Not(arg) => {
                let mut arg = self.eval(arg, rows);
                arg.vector.words.to_mut().iter_mut().for_each(|w| *w ^= 1);
                arg
            }
            Expr::And(args) => self.connect(args, rows, FALSE),
            Expr::Or(args) => self.connect(args, rows, TRUE),
            Expr::Arithmetic {
                operator,
                to,
                left,
                right,
            } => {
                let left = self.eval(left, rows);
                let right = self.eval(right, rows);
                arith::arithmetic(*operator, *to, left, right)
            }
            Expr::Function1 { function, arg, to } => {
                let arg = self.eval(arg, rows);
                let range = match to {
                    To::Int { min, max } => (*min, *max),
                    _ => (i64::MIN, i64::MAX),
                };
                functions::apply(*function, arg, range)
            }
            Expr::Length { arg, utf8 } => {
                let arg = self.eval(arg, rows);
                // A character of ASCII is a byte.
                let utf8 = *utf8 && !arg.vector.view().is_ascii();
                strings::words(arg, Type::Int, |text| Some(strings::length(text, utf8)))
            }
            Expr::TextFunction { function, arg, utf8 } => strings::map(self.eval(arg, rows), function, *utf8),
            Expr::Concatenation(left, right) => {
                let (left, right) = (self.eval(left, rows), self.eval(right, rows));
                strings::concatenated(left, right)
            }
            Expr::Position { arg, sought, utf8 } => {
                let arg = self.eval(arg, rows);
                strings::words(arg, Type::Int, |text| Some(strings::position(text, sought, *utf8)))
            }
            Expr::CompareDigits(comparison, arg, constant) => {
                digits::compare(*comparison, self.eval(arg, rows), constant)
            }
            Expr::Time(arg, ty) => times::from_text(self.eval(arg, rows), *ty),
            Expr::Cut(arg, unit) => times::cut(self.eval(arg, rows), *unit),
            Expr::Field(arg, unit, ty) => times::field(self.eval(arg, rows), *unit, *ty),
            Expr::Case { arms, default, ty } => self.case(arms, default, *ty, rows),
            Expr::Coalesce(args, ty) => self.coalesce(args, *ty, rows),
            Expr::NullIf(left, right) => self.null_if(left, right, rows),
            Expr::Extreme { greatest, args, ty } => self.extreme(*greatest, args, *ty, rows),
            Expr::Bucket(arg, buckets) => buckets.find(self.eval(arg, rows)),
            Expr::ToTimestamp(arg) => {
                let arg = self.eval(arg, rows);
                arith::to_timestamp(arg)
            }
            Expr::AddInterval { base, unit, factor } => {
                let factor = self.eval(factor, rows);
                arith::add_interval(*base, *unit, factor)
            }
            Expr::Memo { id, arg, step, ty } => {
                let arg = self.eval(arg, rows);
                crate::call::by_word(self.external, *id, arg, *step, *ty)
            }
            Expr::External { id, ty, .. } => self.external_values(*id, *ty, rows),
        }
    }

    /// A numeric expression that somebody wants as a float.
    fn numeric_as_float(&mut self, arg: &Expr, rows: &[u32]) -> Evaluated<'a> {
        let Expr::Arithmetic {
            operator,
            to,
            left,
            right,
        } = arg
        else {
            unreachable!("the caller has looked")
        };
        let left = self.eval(left, rows);
        let constant = matches!(**right, Expr::Once { .. }) && *operator == Arithmetic::Divide;
        if constant && *to == To::Numeric && !rows.is_empty() {
            let divisor = self.eval(right, &rows[..1]).vector;
            if let Some(quotient) = arith::quotient_as_float(&left, &divisor) {
                return quotient;
            }
        }
        let right = self.eval(right, rows);
        arith::convert(arith::arithmetic(*operator, *to, left, right), To::Float)
    }

    fn column(&mut self, input: usize, ty: Type, rows: &[u32]) -> Evaluated<'a> {
        let dense = self.columns.dense(input);
        let wanted = match ty {
            Type::Bool => Tag::Bool,
            Type::Int => Tag::Int,
            Type::Float => Tag::Float,
            Type::Text => Tag::String,
            Type::Numeric => return arith::numbers(dense, rows, |tag| tag == Tag::Missing),
        };
        let mut found = gather(dense, rows, ty, |tag| match tag {
            Tag::Missing => Some(false),
            tag if tag == wanted => Some(true),
            _ => None,
        });
        if ty == Type::Text {
            found.vector = found.vector.index(dense);
        }
        found
    }

    fn text(&mut self, input: usize, rows: &[u32]) -> Evaluated<'a> {
        let dense = self.columns.dense(input);
        let is_text = |tag| matches!(tag, Tag::String | Tag::Missing | Tag::Null);
        if !all_are(dense, rows, is_text) {
            return crate::text::spell(dense, rows);
        }
        let mut found = gather(dense, rows, Type::Text, |tag| Some(tag == Tag::String));
        found.vector = found.vector.index(dense);
        found
    }

    fn cast(&mut self, input: usize, from: From, to: To, rows: &[u32]) -> Evaluated<'a> {
        let dense = self.columns.dense(input);
        // ->> of a JSON null is NULL; -> of it is a value that cannot be cast (or, from PostgreSQL 18 on, can).
        let is_null = |tag| tag == Tag::Missing || tag == Tag::Null && from == From::Text;
        match (to, from) {
            (To::Int { min, max }, _) => {
                let strings = (from == From::Text).then(|| dense.strings());
                arith::ints(dense, rows, is_null, min, max, strings)
            }
            (To::Bool, _) => gather(dense, rows, Type::Bool, |tag| match tag {
                Tag::Bool => Some(true),
                tag if is_null(tag) => Some(false),
                _ => None,
            }),
            (To::Numeric, _) => arith::numbers(dense, rows, is_null),
            (To::Float, _) => arith::floats(dense, rows, is_null),
        }
    }

    fn any(&mut self, arg: &Expr, list: &List, rows: &[u32]) -> Evaluated<'a> {
        let arg = self.eval(arg, rows);
        self.any_of(arg, list)
    }

    /// `arg = ANY (list)`.
    pub(crate) fn any_of(&mut self, mut arg: Evaluated<'a>, list: &List) -> Evaluated<'a> {
        let rows = arg.vector.len();
        let known = list.known(self.external);
        let mut result: Vec<i64> = Vec::new();
        if let Some(found) = known.find(&arg.vector) {
            result.extend(found.into_iter().map(i64::from));
            arg.unsure = union(arg.unsure, incomparable(&arg.vector, &arg.vector));
        } else {
            result.resize(rows, FALSE);
            for constant in known.constants().filter(|constant| constant.is_valid(0)) {
                let constant = comparable(constant);
                let equal = with_constant(Comparison::Equal, &arg.vector, &constant);
                result.iter_mut().zip(equal).for_each(|(r, e)| *r |= i64::from(e));
                arg.unsure = union(arg.unsure, incomparable(&arg.vector, &constant));
            }
        }
        let is_empty = list.is_empty();
        let valid = (arg.vector.valid.is_some() || known.has_null()).then(|| {
            let is_valid = |i: usize| arg.vector.is_valid(i) && (result[i] == TRUE || !known.has_null());
            (0..rows).map(|i| is_empty || is_valid(i)).collect::<Vec<bool>>().into()
        });
        let mut vector = Vector::of_words(Type::Bool, result);
        vector.valid = valid;
        Evaluated {
            vector,
            unsure: arg.unsure,
        }
    }

    fn compare(&mut self, comparison: Comparison, left: &Expr, right: &Expr, rows: &[u32]) -> Evaluated<'a> {
        if left.is_constant() && !right.is_constant() {
            return self.compare(comparison.flip(), right, left, rows);
        }
        let a = self.eval(left, rows);
        if let (true, Some(&row)) = (right.is_constant(), rows.first()) {
            return self.compare_with_constant(comparison, a, right, row);
        }
        let b = self.eval(right, rows);
        let mut vector = Vector::of_words(Type::Bool, compare::each(comparison, &a.vector, &b.vector));
        vector.valid = both_valid(&a.vector, &b.vector);
        let unsure = union(incomparable(&a.vector, &b.vector), union(a.unsure, b.unsure));
        Evaluated { vector, unsure }
    }

    /// `a comparison constant`; `row` is any.
    pub(crate) fn compare_with_constant(
        &mut self,
        comparison: Comparison,
        mut a: Evaluated<'a>,
        constant: &Expr,
        row: u32,
    ) -> Evaluated<'a> {
        let found = self.eval(constant, &[row]);
        let (constant, rows) = (found.vector, a.vector.len());
        if !found.unsure.is_empty() {
            a.unsure = (0..rows as u32).collect();
        }
        if !constant.is_valid(0) {
            let mut vector = Vector::of_words(Type::Bool, vec![FALSE; rows]);
            vector.valid = Some(vec![false; rows].into());
            return Evaluated {
                vector,
                unsure: a.unsure,
            };
        }
        let constant = comparable(constant);
        let words: Vec<i64> = with_constant(comparison, &a.vector, &constant)
            .into_iter()
            .map(i64::from)
            .collect();
        let mut vector = Vector::of_words(Type::Bool, words);
        vector.valid = a.vector.valid.take();
        let unsure = union(a.unsure, incomparable(&a.vector, &constant));
        Evaluated { vector, unsure }
    }

    /// AND (`decisive` is false) and OR (`decisive` is true): a later operand is evaluated only where it matters.
    fn connect(&mut self, args: &[Expr], rows: &[u32], decisive: i64) -> Evaluated<'a> {
        let mut words = vec![decisive ^ 1; rows.len()];
        let mut valid = vec![true; rows.len()];
        let mut unsure = Vec::new();
        // Positions still undecided.
        let mut open: Vec<u32> = (0..rows.len() as u32).collect();
        for arg in args {
            let selected: Vec<u32> = open.iter().map(|&i| rows[i as usize]).collect();
            let found = self.eval(arg, &selected);
            let mut skipped = found.unsure.iter().peekable();
            let mut still = Vec::with_capacity(open.len());
            for (at, &i) in open.iter().enumerate() {
                if skipped.next_if_eq(&&(at as u32)).is_some() {
                    unsure.push(i);
                } else if !found.vector.is_valid(at) {
                    valid[i as usize] = false;
                    still.push(i);
                } else if found.vector.words[at] == decisive {
                    words[i as usize] = decisive;
                    valid[i as usize] = true;
                } else {
                    still.push(i);
                }
            }
            open = still;
        }
        unsure.sort_unstable();
        let mut vector = Vector::of_words(Type::Bool, words);
        vector.valid = valid.contains(&false).then(|| valid.into());
        Evaluated { vector, unsure }
    }

    fn or_else(&mut self, expr: &Expr, instead: &Expr, rows: &[u32]) -> Evaluated<'a> {
        let mut found = self.eval(expr, rows);
        let unsure = std::mem::take(&mut found.unsure);
        if unsure.is_empty() {
            return found;
        }
        let open: Vec<u32> = unsure.iter().map(|&i| rows[i as usize]).collect();
        let values = self.eval(instead, &open);
        let words = found.vector.words.to_mut();
        let mut valid = found.vector.valid.take().map(Cow::into_owned);
        for (at, &i) in unsure.iter().enumerate() {
            words[i as usize] = values.vector.words[at];
            let is_valid = values.vector.is_valid(at);
            if !is_valid || valid.is_some() {
                valid.get_or_insert_with(|| vec![true; rows.len()])[i as usize] = is_valid;
            }
        }
        found.vector.valid = valid.map(Cow::Owned);
        found.unsure = values.unsure.iter().map(|&at| unsure[at as usize]).collect();
        found
    }

    fn external_values(&mut self, id: usize, ty: Type, rows: &[u32]) -> Evaluated<'a> {
        let mut out = VectorBuilder::new(ty);
        let mut unsure = Vec::new();
        for (i, &row) in rows.iter().enumerate() {
            if !push_row(self.external, id, row, &mut out) {
                unsure.push(i as u32);
            }
        }
        Evaluated {
            vector: out.finish(),
            unsure,
        }
    }
}

/// Whether something is true of what the rows hold.
pub(crate) fn all_are(dense: &Dense, rows: &[u32], is: impl Fn(Tag) -> bool) -> bool {
    dense.all(&is) || rows.iter().all(|&row| is(dense.tag(row as usize)))
}
