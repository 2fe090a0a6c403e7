//! From PostgreSQL's expressions over a scan's entries to vectorized ones. What has no fast form stays PostgreSQL's, as
//! an external expression; so every expression of a type that vectors hold has a form.

use super::constant;
use super::containment;
use super::datum::{type_of, type_of_node};
use super::entry::{Entry, reference_of};
use super::evaluated::PgExpr;
use super::lasting::{is_lasting, is_time_of_query};
use super::operators::{
    arithmetic, buckets_of, comparison, digits_compared, encoding, function1, number, pattern_of, position_of, step_of,
    text_function, time, unit_of,
};
use super::path::call_of;
use super::quiet::is_repeatable;
use super::times;
use super::tree::{any, rewrite, walk};
use crate::pg::datum::elements;
use crate::pg::expr::{
    BoolExpr, BooleanTest, CaseExpr, CaseWhen, CoalesceExpr, CoerceViaIO, Const, FuncExpr, MinMaxExpr, NullTest,
    OpExpr, Param, RelabelType, ScalarArrayOpExpr, Var, case_value,
};
use crate::pg::lookup::{element_type, function_is_strict, held};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::state::{PlanState, Planned, Prepared};
use amax_exec::{Arithmetic, Comparison, Expr, From, List, To, Type};
use pgrx::pg_sys::*;

/// The only argument of a strict function that is not constant, if it is integer-like.
fn varying<'a>(function: Oid, args: &[&'a Node]) -> Option<&'a Node> {
    let mut varying = args.iter().filter(|arg| !reads(arg).is_empty());
    let (&arg, None) = (varying.next()?, varying.next()) else {
        return None;
    };
    let constants = args
        .iter()
        .filter(|&&other| !std::ptr::eq(other, arg))
        .all(|&other| constant::value(other).is_some());
    let integer = type_of(arg.type_oid(), InvalidOid) == Some(Type::Int);
    (constants && integer && function_is_strict(function)).then_some(arg)
}

pub struct Compiler<'a> {
    pub entries: &'a [Entry],
    /// Expressions' owner, for their subplans and parameters.
    pub parent: Option<&'a PlanState>,
    pub pg_exprs: Vec<PgExpr>,
    /// Whether those are to be evaluated: not while a query is planned. PostgreSQL checks who may call functions when they are prepared.
    prepares: bool,
    /// Whether what is compiled is evaluated only for some of the rows: a later argument of AND or OR.
    pub sometimes: bool,
    /// How many expressions the one that is compiled is in.
    depth: usize,
}

fn arithmetic_of(operator: Arithmetic, left: Expr, right: Expr, to: To) -> Expr {
    Expr::Arithmetic {
        operator,
        to,
        left: Box::new(left),
        right: Box::new(right),
    }
}

/// What is nested more deeply is left to PostgreSQL, who knows how much stack it may take.
const DEEPEST: usize = 100;

/// Entries that an expression reads, from 0.
pub fn reads(node: &Node) -> Vec<usize> {
    let mut found = Vec::new();
    walk(node, &mut |node| {
        found.extend(reference_of(node).filter(|at| !found.contains(at)));
        true
    });
    found
}

/// The same of all expressions of a list.
pub fn all_reads(nodes: Nodes<'_>) -> Vec<usize> {
    nodes.as_node().map(reads).unwrap_or_default()
}

impl<'a> Compiler<'a> {
    pub fn new(entries: &'a [Entry], parent: Option<&'a PlanState>) -> Compiler<'a> {
        Compiler {
            entries,
            parent,
            pg_exprs: Vec::new(),
            prepares: true,
            sometimes: false,
            depth: 0,
        }
    }

    /// To see what has a vectorized form.
    pub fn while_planning(entries: &'a [Entry]) -> Compiler<'a> {
        Compiler {
            prepares: false,
            ..Compiler::new(entries, None)
        }
    }

    /// The vectorized form; None if its type is not one that vectors hold, or if it must be left as it is.
    pub fn compile(&mut self, node: &Node) -> Option<Expr> {
        let ty = type_of_node(node)?;
        if !is_pure(node) {
            // Whole: a subquery that is run once is run for all that is asked of it.
            return is_repeatable(node, self.parent).then(|| self.external(node, ty));
        }
        if is_time_of_query(node) {
            return Some(self.external(node, ty));
        }
        self.depth += 1;
        let native = (self.depth <= DEEPEST).then(|| self.native(node, ty)).flatten();
        self.depth -= 1;
        Some(native.unwrap_or_else(|| self.external(node, ty)))
    }

    /// The whole expression that this is the form of, if it is left to PostgreSQL.
    pub fn prepared(&self, expr: &Expr) -> Option<Prepared> {
        match expr {
            Expr::External { id, .. } => self.pg_exprs[*id].state,
            _ => None,
        }
    }

    /// One that PostgreSQL evaluates, `written` so in the query.
    fn pg_exprs(&mut self, node: &Node, written: &Node, arg: Oid) -> usize {
        let param = node.as_a::<Param>();
        let param = param.filter(|param| param.paramkind() == ParamKind::PARAM_EXEC);
        self.pg_exprs.push(PgExpr {
            state: self.prepares.then(|| Prepared::new(node, self.parent)),
            written: Planned::of(written),
            ty: node.type_oid(),
            arg,
            reads: reads(node),
            lasting: arg != InvalidOid && is_lasting(node),
            memo: None,
            param: param.map(|param| param.paramid() as usize),
        });
        self.pg_exprs.len() - 1
    }

    fn external(&mut self, node: &Node, ty: Type) -> Expr {
        let id = self.pg_exprs(node, node, InvalidOid);
        match self.pg_exprs[id].reads[..] {
            [] => Expr::Once {
                id,
                ty,
                // A subquery that has not run yet is run for the first row that asks for its value, if any does.
                simple: match self.pg_exprs[id].param {
                    Some(_) => !self.sometimes,
                    None => matches!(node.tag(), NodeTag::T_Const | NodeTag::T_Param) || is_time_of_query(node),
                },
            },
            ref inputs => {
                let is_column = |&input: &usize| {
                    !matches!(
                        self.entries[input],
                        Entry::Expression | Entry::Part(..) | Entry::Found(..)
                    )
                };
                let inputs = match inputs.iter().all(is_column) {
                    true => inputs.to_vec(),
                    false => Vec::new(),
                };
                Expr::External { id, inputs, ty }
            }
        }
    }

    /// The entry that a variable refers to.
    fn entry(&self, node: &Node) -> Option<(usize, &'a Entry)> {
        let at = reference_of(node)?;
        Some((at, &self.entries[at]))
    }

    fn native(&mut self, node: &Node, ty: Type) -> Option<Expr> {
        if let Some((input, entry)) = self.entry(node) {
            return match entry {
                Entry::Attribute(_) | Entry::Ordinality(_) | Entry::Key(_) | Entry::Answer(..) | Entry::Joined(..) => {
                    Some(Expr::Column(input, ty))
                }
                Entry::Path(path) if path.text => Some(Expr::Text(input)),
                _ => None,
            };
        }
        match node.tag() {
            NodeTag::T_RelabelType => self.typed(node.as_a::<RelabelType>()?.arg()?, ty),
            NodeTag::T_CoerceViaIO => {
                let cast = node.as_a::<CoerceViaIO>()?;
                if let Some(time) = time(cast.resulttype()) {
                    return Some(Expr::Time(Box::new(self.typed(cast.arg()?, Type::Text)?), time));
                }
                let (input, entry) = self.entry(cast.arg()?)?;
                let to = number(cast.resulttype())?;
                matches!(entry, Entry::Path(path) if path.text).then_some(Expr::Cast {
                    input,
                    from: From::Text,
                    to,
                })
            }
            NodeTag::T_BoolExpr => self.connection(node.as_a()?),
            NodeTag::T_NullTest => self.null_test(node.as_a()?),
            NodeTag::T_BooleanTest => self.truth(node.as_a()?),
            NodeTag::T_ScalarArrayOpExpr => self.any(node.as_a()?),
            NodeTag::T_OpExpr => self.call(node, node.as_a::<OpExpr>()?.inputcollid(), ty),
            NodeTag::T_CaseExpr => self.case(node.as_a()?, ty),
            NodeTag::T_CoalesceExpr => {
                let args = node.as_a::<CoalesceExpr>()?.args();
                Some(Expr::Coalesce(self.all_typed(args, ty, true)?, ty))
            }
            NodeTag::T_NullIfExpr => {
                let op = OpExpr::like(node)?;
                let (left, right) = (op.args().get(0)?, op.args().get(1)?);
                let (comparison, of) = comparison(op.function().to_u32(), op.inputcollid())?;
                let (left, right) = (self.typed(left, of)?, self.typed(right, of)?);
                let is_plain = comparison == Comparison::Equal && of == ty;
                is_plain.then(|| Expr::NullIf(Box::new(left), Box::new(right)))
            }
            NodeTag::T_MinMaxExpr if ty != Type::Text => {
                let extreme = node.as_a::<MinMaxExpr>()?;
                Some(Expr::Extreme {
                    greatest: extreme.op() == MinMaxOp::IS_GREATEST,
                    args: self.all_typed(extreme.args(), ty, false)?,
                    ty,
                })
            }
            NodeTag::T_FuncExpr => self.call(node, node.as_a::<FuncExpr>()?.inputcollid(), ty),
            _ => None,
        }
    }

    /// AND, OR and NOT.
    fn connection(&mut self, op: &BoolExpr) -> Option<Expr> {
        let mut args = self.all_typed(op.args(), Type::Bool, true)?;
        Some(match op.boolop() {
            BoolExprType::AND_EXPR => Expr::And(args),
            BoolExprType::OR_EXPR => Expr::Or(args),
            _ => Expr::Not(Box::new(args.pop()?)),
        })
    }

    fn null_test(&mut self, test: &NullTest) -> Option<Expr> {
        let arg = test.arg()?;
        if test.argisrow() {
            return None;
        }
        let is_null = match self.entry(arg) {
            Some((input, Entry::Path(path))) => Expr::IsMissing {
                input,
                or_null: path.text,
            },
            Some((input, Entry::Attribute(_) | Entry::Joined(..))) => Expr::IsMissing { input, or_null: false },
            Some((_, Entry::Answer(..))) | None => Expr::IsNull(Box::new(self.compile(arg)?)),
            Some(_) => return None,
        };
        Some(match test.nulltesttype() {
            NullTestType::IS_NULL => is_null,
            _ => Expr::Not(Box::new(is_null)),
        })
    }

    /// `IS TRUE` and the like, of what is quickly evaluated twice.
    fn truth(&mut self, test: &BooleanTest) -> Option<Expr> {
        use BoolTestType::*;
        let arg = self.compile(test.arg()?)?;
        if arg.calls_out() {
            return None;
        }
        let not = |expr| Expr::Not(Box::new(expr));
        let is_null = Expr::IsNull(Box::new(arg.clone()));
        let holds = match test.booltesttype() {
            IS_TRUE | IS_NOT_TRUE => Expr::And(vec![not(is_null), arg]),
            IS_FALSE | IS_NOT_FALSE => Expr::And(vec![not(is_null), not(arg)]),
            _ => is_null,
        };
        Some(match test.booltesttype() {
            IS_NOT_TRUE | IS_NOT_FALSE | IS_NOT_UNKNOWN => not(holds),
            _ => holds,
        })
    }

    fn any(&mut self, op: &ScalarArrayOpExpr) -> Option<Expr> {
        let (arg, array) = (op.args().get(0)?, op.args().get(1)?.as_a::<Const>()?);
        // = ANY, or <> ALL.
        let (comparison, ty) = comparison(op.opfuncid().to_u32(), op.inputcollid())?;
        let wanted = if op.useOr() {
            Comparison::Equal
        } else {
            Comparison::NotEqual
        };
        if comparison != wanted {
            return None;
        }
        let value = array.value()?;
        let element = element_type(array.consttype());
        if type_of(element, op.inputcollid()) != Some(ty) {
            return None;
        }
        let held = held(element);
        // SAFETY: an array of such elements.
        let values = unsafe { elements(value, element) };
        let constant = |value| Const::make(element, op.inputcollid(), (held.len, held.by_value), value);
        let id = |value| match self.compile(constant(value))? {
            Expr::Once { id, .. } => Some(id),
            _ => None,
        };
        let ids: Option<Vec<usize>> = values.into_iter().map(id).collect();
        let any = Expr::Any(Box::new(self.typed(arg, ty)?), List::new(ty, ids?));
        Some(if op.useOr() { any } else { Expr::Not(Box::new(any)) })
    }

    /// An operand, if vectors hold it as `ty`.
    fn typed(&mut self, node: &Node, ty: Type) -> Option<Expr> {
        (type_of_node(node) == Some(ty)).then(|| self.compile(node)).flatten()
    }

    /// Operands of one type; all but the first are evaluated for some rows only, if it is `sometimes`.
    fn all_typed(&mut self, nodes: Nodes<'_>, ty: Type, sometimes: bool) -> Option<Vec<Expr>> {
        let before = self.sometimes;
        let mut args = Vec::new();
        for node in nodes.iter() {
            args.push(self.typed(node, ty));
            self.sometimes |= sometimes;
        }
        self.sometimes = before;
        args.into_iter().collect()
    }

    fn case(&mut self, case: &CaseExpr, ty: Type) -> Option<Expr> {
        // What is compared with each WHEN stands in its place there, if it is no work.
        let operand = case.arg();
        let plain = |node: &Node| node.is_a::<Var>() || node.is_a::<RelabelType>();
        if operand.is_some_and(|operand| !plain(operand)) {
            return None;
        }
        let before = self.sometimes;
        let mut arms = Vec::new();
        for when in case.args().all::<CaseWhen>() {
            let (mut condition, result) = (when.expr()?, when.result()?);
            if let Some(operand) = operand {
                // Another CASE has an operand of its own.
                let nested = |node: &Node| matches!(node.tag(), NodeTag::T_CaseExpr | NodeTag::T_ArrayCoerceExpr);
                if any(condition, nested) {
                    self.sometimes = before;
                    return None;
                }
                let is_operand = |node: &Node| node.tag() == NodeTag::T_CaseTestExpr;
                condition = rewrite(condition, &mut |node| is_operand(node).then_some(operand));
            }
            let condition = self.compile(condition);
            self.sometimes = true;
            arms.push(condition.zip(self.typed(result, ty)));
        }
        self.sometimes = true;
        let default = case.defresult().and_then(|default| self.typed(default, ty));
        self.sometimes = before;
        Some(Expr::Case {
            arms: arms.into_iter().collect::<Option<_>>()?,
            default: Box::new(default?),
            ty,
        })
    }

    /// The call of a function, or an operator's.
    fn call(&mut self, node: &Node, collation: Oid, ty: Type) -> Option<Expr> {
        let (id, args) = call_of(node)?;
        if let (&[left, right], Some((comparison, of))) = (&args[..], comparison(id, collation)) {
            let (left, right) = (self.typed(left, of)?, self.typed(right, of)?);
            return Some(Expr::Compare(comparison, Box::new(left), Box::new(right)));
        }
        if let &[left, right] = &args[..]
            && let Some((comparison, text, constant)) = digits_compared(id, collation, left, right)
        {
            let text = self.typed(text, Type::Text)?;
            return Some(Expr::CompareDigits(comparison, Box::new(text), constant));
        }
        if let &[left, right] = &args[..]
            && let Some((comparison, value, constant)) = times::comparison(id, left, right)
        {
            let value = self.typed(value, Type::Int)?;
            let mut constant = self.typed(constant, Type::Int)?;
            if let Expr::Once { simple, .. } = &mut constant {
                // A cast of what is in range.
                *simple = true;
            }
            return Some(Expr::Compare(comparison, Box::new(value), Box::new(constant)));
        }
        if let (&[left, right], Some(operator)) = (&args[..], arithmetic(id)) {
            let to = number(node.type_oid())?;
            let (left, right) = (self.typed(left, ty)?, self.typed(right, ty)?);
            return Some(arithmetic_of(operator, left, right, to));
        }
        if let Some((function, arg)) = function1(id, &args) {
            return Some(Expr::Function1 {
                function,
                arg: Box::new(self.typed(arg, ty)?),
                to: number(node.type_oid()).unwrap_or(To::Float),
            });
        }
        if let Some((function, arg)) = text_function(id, collation, &args) {
            return Some(Expr::TextFunction {
                function,
                arg: Box::new(self.typed(arg, Type::Text)?),
                utf8: encoding()?,
            });
        }
        if let Some((sought, arg)) = position_of(id, collation, &args) {
            return Some(Expr::Position {
                arg: Box::new(self.typed(arg, Type::Text)?),
                sought,
                utf8: encoding()?,
            });
        }
        if let Some((buckets, arg)) = buckets_of(id, &args) {
            let arg = self.compile(arg)?;
            return Some(Expr::Bucket(Box::new(arg), buckets));
        }
        if let &[field, arg] = &args[..]
            && let Some(unit) = unit_of(id, field)
        {
            let arg = Box::new(self.typed(arg, Type::Int)?);
            return Some(match id {
                F_DATE_TRUNC_TEXT_TIMESTAMP => Expr::Cut(arg, unit),
                _ => Expr::Field(arg, unit, ty),
            });
        }
        match (id, &args[..]) {
            (F_TEXTCAT, &[left, right]) => {
                let (left, right) = (self.typed(left, Type::Text)?, self.typed(right, Type::Text)?);
                Some(Expr::Concatenation(Box::new(left), Box::new(right)))
            }
            (
                F_TEXTLIKE | F_TEXTNLIKE | F_TEXTICLIKE | F_TEXTICNLIKE | F_TEXTREGEXEQ | F_TEXTREGEXNE
                | F_TEXTICREGEXEQ | F_TEXTICREGEXNE | F_STARTS_WITH,
                &[arg, pattern],
            ) => {
                let pattern = pattern_of(id, collation, pattern)?;
                let mut like = Expr::Like(Box::new(self.typed(arg, Type::Text)?), pattern);
                if let F_TEXTNLIKE | F_TEXTICNLIKE | F_TEXTREGEXNE | F_TEXTICREGEXNE = id {
                    like = Expr::Not(Box::new(like));
                }
                if let F_TEXTICLIKE | F_TEXTICNLIKE | F_TEXTICREGEXEQ | F_TEXTICREGEXNE = id {
                    like = Expr::Else(Box::new(like), Box::new(self.external(node, ty)));
                }
                Some(like)
            }
            (F_JSONB_EQ, &[arg, value]) => {
                let (input, entry) = self.entry(arg)?;
                let scalar = containment::scalar_of(constant::json(value)?)?;
                matches!(entry, Entry::Path(path) if !path.text).then_some(Expr::JsonEquals(input, scalar))
            }
            (F_BOOL_JSONB | F_NUMERIC_JSONB | F_INT2_JSONB | F_INT4_JSONB | F_INT8_JSONB | F_FLOAT8_JSONB, &[arg]) => {
                let (input, entry) = self.entry(arg)?;
                let to = number(node.type_oid())?;
                matches!(entry, Entry::Path(path) if !path.text).then_some(Expr::Cast {
                    input,
                    from: From::Json,
                    to,
                })
            }
            (
                F_INT8_INT4 | F_INT8_INT2 | F_INT4_INT2 | F_INT4_INT8 | F_INT2_INT4 | F_INT2_INT8 | F_FLOAT8_INT4
                | F_FLOAT8_INT8 | F_FLOAT8_INT2 | F_FLOAT8_NUMERIC | F_INT4_FLOAT8 | F_INT8_FLOAT8 | F_INT2_FLOAT8
                | F_NUMERIC_INT4 | F_NUMERIC_INT8 | F_NUMERIC_INT2 | F_INT4_NUMERIC | F_INT8_NUMERIC | F_INT2_NUMERIC,
                &[arg],
            ) => Some(Expr::Convert {
                arg: Box::new(self.compile(arg)?),
                to: number(node.type_oid())?,
            }),
            (F_LENGTH_TEXT | F_CHAR_LENGTH_TEXT | F_CHARACTER_LENGTH_TEXT, &[arg]) => Some(Expr::Length {
                arg: Box::new(self.typed(arg, Type::Text)?),
                utf8: encoding()?,
            }),
            (F_DATE_MI, &[left, right]) => {
                let (left, right) = (self.finite_date(left)?, self.finite_date(right)?);
                Some(arithmetic_of(Arithmetic::Subtract, left, right, number(INT4OID)?))
            }
            (F_DATE_PLI | F_DATE_MII, &[date, count]) => {
                let (min, max) = times::DATES;
                let operator = match id {
                    F_DATE_PLI => Arithmetic::Add,
                    _ => Arithmetic::Subtract,
                };
                let (date, count) = (self.finite_date(date)?, self.typed(count, Type::Int)?);
                Some(arithmetic_of(operator, date, count, To::Int { min, max }))
            }
            (F_EXTRACT_TEXT_INTERVAL, &[field, interval])
                if constant::bytes(field).is_some_and(|name| name.eq_ignore_ascii_case(b"epoch")) =>
            {
                self.seconds_between(interval)
                    .or_else(|| self.single(node, id.into(), &args, ty))
            }
            (F_TO_TIMESTAMP_FLOAT8, &[arg]) => Some(Expr::ToTimestamp(Box::new(self.typed(arg, Type::Float)?))),
            (F_TIMESTAMPTZ_PL_INTERVAL, &[base, interval]) => self.add_interval(base, interval),
            (
                F_EXTRACT_TEXT_TIMESTAMPTZ
                | F_DATE_PART_TEXT_TIMESTAMPTZ
                | F_DATE_TRUNC_TEXT_TIMESTAMPTZ
                | F_EXTRACT_TEXT_TIMESTAMP
                | F_DATE_PART_TEXT_TIMESTAMP
                | F_DATE_TRUNC_TEXT_TIMESTAMP,
                &[field, arg],
            ) if reads(field).is_empty() => self.memo(node, arg, step_of(field), ty),
            _ => self.single(node, id.into(), &args, ty),
        }
    }

    /// A date, unsure where it is infinite.
    fn finite_date(&mut self, date: &Node) -> Option<Expr> {
        let (min, max) = times::DATES;
        Some(Expr::Convert {
            arg: Box::new(self.typed(date, Type::Int)?),
            to: To::Int { min, max },
        })
    }

    /// The seconds of the difference of two timestamps, with six decimals.
    fn seconds_between(&mut self, difference: &Node) -> Option<Expr> {
        let (F_TIMESTAMP_MI | F_TIMESTAMPTZ_MI, args) = call_of(difference)? else {
            return None;
        };
        let (left, right) = (
            self.finite_timestamp(args.first()?)?,
            self.finite_timestamp(args.get(1)?)?,
        );
        let microseconds = arithmetic_of(Arithmetic::Subtract, left, right, number(INT8OID)?);
        let numeric = Expr::Convert {
            arg: Box::new(microseconds),
            to: To::Numeric,
        };
        let millionth = (super::datum::of_decimal(1, 6), false);
        let millionth = self.compile(Const::make(NUMERICOID, InvalidOid, (-1, false), millionth))?;
        Some(arithmetic_of(Arithmetic::Multiply, numeric, millionth, To::Numeric))
    }

    /// A timestamp, or a date cast to one, unsure where it is infinite or far off.
    fn finite_timestamp(&mut self, node: &Node) -> Option<Expr> {
        let within = |arg, min, max| Expr::Convert {
            arg: Box::new(arg),
            to: To::Int { min, max },
        };
        if let Some((F_TIMESTAMP_DATE, args)) = call_of(node) {
            let date = self.typed(args.first()?, Type::Int)?;
            let day = self.compile(times::word(INT8OID, times::DAY))?;
            let date = within(date, -times::NEAR, times::NEAR);
            return Some(arithmetic_of(Arithmetic::Multiply, date, day, number(INT8OID)?));
        }
        let timestamp = self.typed(node, Type::Int)?;
        Some(within(timestamp, i64::MIN + 1, i64::MAX - 1))
    }

    /// `timestamptz + interval * number`, all but the number constant, with an interval of microseconds only.
    fn add_interval(&mut self, base: &Node, interval: &Node) -> Option<Expr> {
        let base = constant::value(base)?;
        let product = interval.as_a::<OpExpr>()?;
        let (left, right) = (product.args().get(0)?, product.args().get(1)?);
        let (unit, factor) = match product.opfuncid().to_u32() {
            F_INTERVAL_MUL => (left, right),
            F_MUL_D_INTERVAL => (right, left),
            _ => return None,
        };
        let unit = constant::interval(unit)?;
        (unit.month == 0 && unit.day == 0).then_some(())?;
        Some(Expr::AddInterval {
            base: base.value() as i64,
            unit: unit.time,
            factor: Box::new(self.typed(factor, Type::Float)?),
        })
    }

    /// A strict function of one integer-like argument beside constants.
    fn single(&mut self, node: &Node, function: Oid, args: &[&Node], ty: Type) -> Option<Expr> {
        self.memo(node, varying(function, args)?, 1, ty)
    }

    /// The call `node` as a function of its argument `arg`, remembered by value.
    fn memo(&mut self, node: &Node, arg: &Node, step: i64, ty: Type) -> Option<Expr> {
        let compiled = self.compile(arg)?;
        // Of a function of a function the inner one's argument is as good.
        if let (Expr::Memo { step: 1, .. }, Some((function, args))) = (&compiled, call_of(arg))
            && let Some(inner) = varying(function.into(), &args)
        {
            return self.memo(node, inner, 1, ty);
        }
        // An argument that PostgreSQL evaluates may as well stay in the whole.
        if matches!(compiled, Expr::External { .. } | Expr::Once { .. }) {
            return None;
        }
        let call = rewrite(node, &mut |inner| {
            let value = || case_value(arg.type_oid(), arg.typmod(), arg.collation());
            std::ptr::eq(inner, arg).then(value)
        });
        Some(Expr::Memo {
            id: self.pg_exprs(call, node, arg.type_oid()),
            arg: Box::new(compiled),
            step,
            ty,
        })
    }
}
