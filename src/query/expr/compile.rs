//! From PostgreSQL's expressions over a scan's entries to vectorized ones. What has no fast form stays PostgreSQL's, as
//! an external expression; so every expression of a type that vectors hold has a form.

use super::containment;
use super::datum::type_of;
use super::entry::Entry;
use super::operators::{arithmetic, comparison, constant, number, pattern_of, step_of};
use super::tree::{is_a, is_pure, make, nodes, rewrite, walk};
use amax_exec::{Comparison, Expr, From, Type};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use pgrx::pg_sys::*;

/// An expression that PostgreSQL evaluates.
pub struct PgExpr {
    pub state: *mut ExprState,
    /// The SQL type of its values.
    pub ty: Oid,
    /// Of a function's argument.
    pub arg: Oid,
    /// Entries it reads, from 0.
    pub reads: Vec<usize>,
    /// The executor's parameter that it is, if it is one: a subquery may have to be run for it.
    pub param: Option<usize>,
}

pub struct Compiler<'a> {
    pub entries: &'a [Entry],
    /// Expressions' owner, for their subplans and parameters.
    pub parent: *mut PlanState,
    pub pg_exprs: Vec<PgExpr>,
    /// Whether what is compiled is evaluated only for some of the rows: a later argument of AND or OR.
    pub sometimes: bool,
    /// How many expressions the one that is compiled is in.
    depth: usize,
}

/// What is nested more deeply is left to PostgreSQL, who knows how much stack it may take.
const DEEPEST: usize = 100;

/// Entries that an expression reads, from 0.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn reads(node: *mut Node) -> Vec<usize> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let mut found = Vec::new();
        walk(node, &mut |node| {
            if is_a(node, NodeTag::T_Var) && (*(node as *mut Var)).varno == INDEX_VAR {
                let at = (*(node as *mut Var)).varattno as usize - 1;
                if !found.contains(&at) {
                    found.push(at);
                }
            }
            true
        });
        found
    }
}

impl Compiler<'_> {
    pub fn new(entries: &[Entry], parent: *mut PlanState) -> Compiler<'_> {
        Compiler {
            entries,
            parent,
            pg_exprs: Vec::new(),
            sometimes: false,
            depth: 0,
        }
    }

    /// The vectorized form; None if its type is not one that vectors hold, or if it must be left as it is.
    ///
    /// # Safety
    /// A well-formed expression tree.
    pub unsafe fn compile(&mut self, node: *mut Node) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let ty = type_of(exprType(node), exprCollation(node))?;
            if !is_pure(node) {
                return None;
            }
            self.depth += 1;
            let native = (self.depth <= DEEPEST).then(|| self.native(node, ty)).flatten();
            self.depth -= 1;
            Some(native.unwrap_or_else(|| self.external(node, ty)))
        }
    }
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn pg_exprs(&mut self, node: *mut Node, arg: Oid) -> usize {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let param = node as *mut Param;
            let is_param = is_a(node, NodeTag::T_Param) && (*param).paramkind == ParamKind::PARAM_EXEC;
            self.pg_exprs.push(PgExpr {
                state: ExecInitExpr(node as *mut pg_sys::Expr, self.parent),
                ty: exprType(node),
                arg,
                reads: reads(node),
                param: is_param.then(|| (*param).paramid as usize),
            });
            self.pg_exprs.len() - 1
        }
    }
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn external(&mut self, node: *mut Node, ty: Type) -> Expr {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let id = self.pg_exprs(node, InvalidOid);
            match self.pg_exprs[id].reads[..] {
                [] => Expr::Once {
                    id,
                    ty,
                    // A subquery that has not run yet is run for the first row that asks for its value, if any does.
                    simple: match self.pg_exprs[id].param {
                        Some(_) => !self.sometimes,
                        None => matches!((*node).type_, NodeTag::T_Const | NodeTag::T_Param),
                    },
                },
                [input] if !matches!(self.entries[input], Entry::Expression | Entry::Part(..)) => Expr::External {
                    id,
                    input: Some(input),
                    ty,
                },
                _ => Expr::External { id, input: None, ty },
            }
        }
    }

    /// The entry that a variable refers to.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn entry(&self, node: *mut Node) -> Option<(usize, &Entry)> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let var = node as *mut Var;
            (is_a(node, NodeTag::T_Var) && (*var).varno == INDEX_VAR).then(|| {
                let at = (*var).varattno as usize - 1;
                (at, &self.entries[at])
            })
        }
    }
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn native(&mut self, node: *mut Node, ty: Type) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            if let Some((input, entry)) = self.entry(node) {
                return match entry {
                    Entry::Attribute(_) | Entry::Ordinality(_) | Entry::Key(_) | Entry::Answer(..) => {
                        Some(Expr::Column(input, ty))
                    }
                    Entry::Path(path) if path.text => Some(Expr::Text(input)),
                    _ => None,
                };
            }
            match (*node).type_ {
                NodeTag::T_RelabelType => {
                    let relabel = &*(node as *mut RelabelType);
                    let arg = relabel.arg as *mut Node;
                    (type_of(exprType(arg), exprCollation(arg)) == Some(ty))
                        .then(|| self.compile(arg))
                        .flatten()
                }
                NodeTag::T_CoerceViaIO => {
                    let cast = &*(node as *mut CoerceViaIO);
                    let (input, entry) = self.entry(cast.arg as *mut Node)?;
                    let to = number(cast.resulttype)?;
                    matches!(entry, Entry::Path(path) if path.text).then_some(Expr::Cast {
                        input,
                        from: From::Text,
                        to,
                    })
                }
                NodeTag::T_BoolExpr => {
                    let op = &*(node as *mut BoolExpr);
                    let (mut args, sometimes) = (Vec::new(), self.sometimes);
                    for arg in nodes(op.args) {
                        args.push(self.compile(arg));
                        self.sometimes = true;
                    }
                    self.sometimes = sometimes;
                    let mut args: Vec<Expr> = args.into_iter().collect::<Option<_>>()?;
                    Some(match op.boolop {
                        BoolExprType::AND_EXPR => Expr::And(args),
                        BoolExprType::OR_EXPR => Expr::Or(args),
                        _ => Expr::Not(Box::new(args.pop()?)),
                    })
                }
                NodeTag::T_NullTest => {
                    let test = &*(node as *mut NullTest);
                    let arg = test.arg as *mut Node;
                    if test.argisrow {
                        return None;
                    }
                    let is_null = match self.entry(arg) {
                        Some((input, Entry::Path(path))) => Expr::IsMissing {
                            input,
                            or_null: path.text,
                        },
                        Some((input, Entry::Attribute(_))) => Expr::IsMissing { input, or_null: false },
                        Some((_, Entry::Answer(..))) | None => Expr::IsNull(Box::new(self.compile(arg)?)),
                        Some(_) => return None,
                    };
                    Some(match test.nulltesttype {
                        NullTestType::IS_NULL => is_null,
                        _ => Expr::Not(Box::new(is_null)),
                    })
                }
                NodeTag::T_BooleanTest => self.truth(&*(node as *mut BooleanTest)),
                NodeTag::T_ScalarArrayOpExpr => self.any(&*(node as *mut ScalarArrayOpExpr)),
                NodeTag::T_OpExpr => {
                    let op = &*(node as *mut OpExpr);
                    self.call(node, op.opfuncid, op.inputcollid, nodes(op.args), ty)
                }
                NodeTag::T_FuncExpr => {
                    let call = &*(node as *mut FuncExpr);
                    self.call(node, call.funcid, call.inputcollid, nodes(call.args), ty)
                }
                _ => None,
            }
        }
    }

    /// `IS TRUE` and the like, of what is quickly evaluated twice.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn truth(&mut self, test: &BooleanTest) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            use BoolTestType::*;
            let arg = self.compile(test.arg as *mut Node)?;
            if arg.calls_out() {
                return None;
            }
            let not = |expr| Expr::Not(Box::new(expr));
            let is_null = Expr::IsNull(Box::new(arg.clone()));
            let holds = match test.booltesttype {
                IS_TRUE | IS_NOT_TRUE => Expr::And(vec![not(is_null), arg]),
                IS_FALSE | IS_NOT_FALSE => Expr::And(vec![not(is_null), not(arg)]),
                _ => is_null,
            };
            Some(match test.booltesttype {
                IS_NOT_TRUE | IS_NOT_FALSE | IS_NOT_UNKNOWN => not(holds),
                _ => holds,
            })
        }
    }
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn any(&mut self, op: &ScalarArrayOpExpr) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let &[arg, array] = &nodes(op.args)[..] else {
                return None;
            };
            // = ANY, or <> ALL.
            let (comparison, ty) = comparison(op.opfuncid.to_u32(), op.inputcollid)?;
            let wanted = if op.useOr {
                Comparison::Equal
            } else {
                Comparison::NotEqual
            };
            let c = &*(array as *mut Const);
            if comparison != wanted || !is_a(array, NodeTag::T_Const) || c.constisnull {
                return None;
            }
            let element = get_element_type(c.consttype);
            if type_of(element, op.inputcollid) != Some(ty) {
                return None;
            }
            let (mut len, mut by_value, mut align) = (0, false, 0);
            get_typlenbyvalalign(element, &mut len, &mut by_value, &mut align);
            let (mut values, mut nulls, mut n) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
            let array = pg_detoast_datum(c.constvalue.cast_mut_ptr()) as *mut ArrayType;
            deconstruct_array(
                array,
                element,
                i32::from(len),
                by_value,
                align,
                &mut values,
                &mut nulls,
                &mut n,
            );
            let mut elements = Vec::new();
            for i in 0..n as usize {
                let constant = makeConst(
                    element,
                    -1,
                    op.inputcollid,
                    i32::from(len),
                    *values.add(i),
                    *nulls.add(i),
                    by_value,
                );
                elements.push(self.compile(constant as *mut Node)?);
            }
            let arg = Box::new(self.typed(arg, ty)?);
            let any = Expr::Any(arg, elements);
            Some(if op.useOr { any } else { Expr::Not(Box::new(any)) })
        }
    }

    /// An operand, if vectors hold it as `ty`.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn typed(&mut self, node: *mut Node, ty: Type) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            (type_of(exprType(node), exprCollation(node)) == Some(ty))
                .then(|| self.compile(node))
                .flatten()
        }
    }
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn call(
        &mut self,
        node: *mut Node,
        function: Oid,
        collation: Oid,
        args: Vec<*mut Node>,
        ty: Type,
    ) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let id = function.to_u32();
            if let ([left, right], Some((comparison, of))) = (&args[..], comparison(id, collation)) {
                let (left, right) = (self.typed(*left, of)?, self.typed(*right, of)?);
                return Some(Expr::Compare(comparison, Box::new(left), Box::new(right)));
            }
            if let ([left, right], Some(operator)) = (&args[..], arithmetic(id)) {
                let to = number(exprType(node))?;
                let (left, right) = (self.typed(*left, ty)?, self.typed(*right, ty)?);
                return Some(Expr::Arithmetic {
                    operator,
                    to,
                    left: Box::new(left),
                    right: Box::new(right),
                });
            }
            match (id, &args[..]) {
                (F_TEXTLIKE | F_TEXTNLIKE | F_TEXTICLIKE | F_TEXTICNLIKE | F_STARTS_WITH, &[arg, pattern]) => {
                    let pattern = pattern_of(id, collation, pattern)?;
                    let mut like = Expr::Like(Box::new(self.typed(arg, Type::Text)?), pattern);
                    if let F_TEXTNLIKE | F_TEXTICNLIKE = id {
                        like = Expr::Not(Box::new(like));
                    }
                    if let F_TEXTICLIKE | F_TEXTICNLIKE = id {
                        like = Expr::Else(Box::new(like), Box::new(self.external(node, ty)));
                    }
                    Some(like)
                }
                (F_JSONB_EQ, &[arg, value]) => {
                    let (input, entry) = self.entry(arg)?;
                    let scalar = containment::scalar_of(containment::constant(value)?)?;
                    matches!(entry, Entry::Path(path) if !path.text).then_some(Expr::JsonEquals(input, scalar))
                }
                (
                    F_BOOL_JSONB | F_NUMERIC_JSONB | F_INT2_JSONB | F_INT4_JSONB | F_INT8_JSONB | F_FLOAT8_JSONB,
                    &[arg],
                ) => {
                    let (input, entry) = self.entry(arg)?;
                    let to = number(exprType(node))?;
                    matches!(entry, Entry::Path(path) if !path.text).then_some(Expr::Cast {
                        input,
                        from: From::Json,
                        to,
                    })
                }
                (
                    F_INT8_INT4 | F_INT8_INT2 | F_INT4_INT2 | F_INT4_INT8 | F_INT2_INT4 | F_INT2_INT8 | F_FLOAT8_INT4
                    | F_FLOAT8_INT8 | F_FLOAT8_INT2 | F_FLOAT8_NUMERIC | F_INT4_FLOAT8 | F_INT8_FLOAT8 | F_INT2_FLOAT8
                    | F_NUMERIC_INT4 | F_NUMERIC_INT8 | F_NUMERIC_INT2 | F_INT4_NUMERIC | F_INT8_NUMERIC
                    | F_INT2_NUMERIC,
                    &[arg],
                ) => Some(Expr::Convert {
                    arg: Box::new(self.compile(arg)?),
                    to: number(exprType(node))?,
                }),
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
                _ => self.single(node, function, &args, ty),
            }
        }
    }

    /// `timestamptz + interval * number`, all but the number constant, with an interval of microseconds only.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn add_interval(&mut self, base: *mut Node, interval: *mut Node) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let base = constant(base)?;
            if !is_a(interval, NodeTag::T_OpExpr) {
                return None;
            }
            let product = &*(interval as *mut OpExpr);
            let args = nodes(product.args);
            let (unit, factor) = match product.opfuncid.to_u32() {
                F_INTERVAL_MUL => (args[0], args[1]),
                F_MUL_D_INTERVAL => (args[1], args[0]),
                _ => return None,
            };
            let unit = &*constant(unit)?.cast_mut_ptr::<Interval>();
            (unit.month == 0 && unit.day == 0).then_some(())?;
            Some(Expr::AddInterval {
                base: base.value() as i64,
                unit: unit.time,
                factor: Box::new(self.typed(factor, Type::Float)?),
            })
        }
    }

    /// A strict function of one integer-like argument beside constants.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn single(&mut self, node: *mut Node, function: Oid, args: &[*mut Node], ty: Type) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let mut varying = args.iter().filter(|&&arg| !reads(arg).is_empty());
            let (&arg, None) = (varying.next()?, varying.next()) else {
                return None;
            };
            let constants = args
                .iter()
                .filter(|&&other| other != arg)
                .all(|&other| constant(other).is_some());
            (constants && func_strict(function) && type_of(exprType(arg), InvalidOid) == Some(Type::Int))
                .then_some(())?;
            self.memo(node, arg, 1, ty)
        }
    }

    /// The call `node` as a function of its argument `arg`, remembered by value.
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn memo(&mut self, node: *mut Node, arg: *mut Node, step: i64, ty: Type) -> Option<Expr> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let compiled = self.compile(arg)?;
            // An argument that PostgreSQL evaluates may as well stay in the whole.
            if matches!(compiled, Expr::External { .. } | Expr::Once { .. }) {
                return None;
            }
            let call = rewrite(node, &mut |inner| {
                (inner == arg).then(|| {
                    let case = make::<CaseTestExpr>(NodeTag::T_CaseTestExpr);
                    (*case).typeId = exprType(arg);
                    (*case).typeMod = exprTypmod(arg);
                    (*case).collation = exprCollation(arg);
                    case as *mut Node
                })
            });
            Some(Expr::Memo {
                id: self.pg_exprs(call, exprType(arg)),
                arg: Box::new(compiled),
                step,
                ty,
            })
        }
    }
}
