//! From PostgreSQL's expressions over a scan's entries to vectorized ones. What has no fast form stays PostgreSQL's, as
//! an external expression; so every expression of a type that vectors hold has a form.

use super::containment;
use super::datum::type_of;
use super::entry::Entry;
use super::tree::{is_a, is_pure, make, nodes, rewrite, walk};
use amax_exec::{Arithmetic, Comparison, Expr, From, Pattern, To, Type};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use pgrx::pg_sys::*;

/// An expression that PostgreSQL evaluates.
pub struct Outside {
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
    pub outside: Vec<Outside>,
    /// Whether what is compiled is evaluated only for some of the rows: a later argument of AND or OR.
    pub sometimes: bool,
}

/// Entries that an expression reads, from 0.
pub unsafe fn reads(node: *mut Node) -> Vec<usize> {
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

impl Compiler<'_> {
    /// The vectorized form; None if its type is not one that vectors hold, or if it must be left as it is.
    pub unsafe fn compile(&mut self, node: *mut Node) -> Option<Expr> {
        let ty = type_of(exprType(node), exprCollation(node))?;
        if !is_pure(node) {
            return None;
        }
        Some(match self.native(node, ty) {
            Some(expr) => expr,
            None => self.external(node, ty),
        })
    }

    unsafe fn outside(&mut self, node: *mut Node, arg: Oid) -> usize {
        let param = node as *mut Param;
        let is_param = is_a(node, NodeTag::T_Param) && (*param).paramkind == ParamKind::PARAM_EXEC;
        self.outside.push(Outside {
            state: ExecInitExpr(node as *mut pg_sys::Expr, self.parent),
            ty: exprType(node),
            arg,
            reads: reads(node),
            param: is_param.then(|| (*param).paramid as usize),
        });
        self.outside.len() - 1
    }

    unsafe fn external(&mut self, node: *mut Node, ty: Type) -> Expr {
        let id = self.outside(node, InvalidOid);
        match self.outside[id].reads[..] {
            [] => Expr::Once {
                id,
                ty,
                // A subquery that has not run yet is run for the first row that asks for its value, if any does.
                simple: match self.outside[id].param {
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

    /// The entry that a variable refers to.
    unsafe fn entry(&self, node: *mut Node) -> Option<(usize, &Entry)> {
        let var = node as *mut Var;
        (is_a(node, NodeTag::T_Var) && (*var).varno == INDEX_VAR).then(|| {
            let at = (*var).varattno as usize - 1;
            (at, &self.entries[at])
        })
    }

    unsafe fn native(&mut self, node: *mut Node, ty: Type) -> Option<Expr> {
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

    /// `IS TRUE` and the like, of what is quickly evaluated twice.
    unsafe fn truth(&mut self, test: &BooleanTest) -> Option<Expr> {
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

    unsafe fn any(&mut self, op: &ScalarArrayOpExpr) -> Option<Expr> {
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

    /// An operand, if vectors hold it as `ty`.
    unsafe fn typed(&mut self, node: *mut Node, ty: Type) -> Option<Expr> {
        (type_of(exprType(node), exprCollation(node)) == Some(ty))
            .then(|| self.compile(node))
            .flatten()
    }

    unsafe fn call(
        &mut self,
        node: *mut Node,
        function: Oid,
        collation: Oid,
        args: Vec<*mut Node>,
        ty: Type,
    ) -> Option<Expr> {
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
            (F_BOOL_JSONB | F_NUMERIC_JSONB | F_INT2_JSONB | F_INT4_JSONB | F_INT8_JSONB | F_FLOAT8_JSONB, &[arg]) => {
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
                | F_NUMERIC_INT4 | F_NUMERIC_INT8 | F_NUMERIC_INT2 | F_INT4_NUMERIC | F_INT8_NUMERIC | F_INT2_NUMERIC,
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

    /// `timestamptz + interval * number`, all but the number constant, with an interval of microseconds only.
    unsafe fn add_interval(&mut self, base: *mut Node, interval: *mut Node) -> Option<Expr> {
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

    /// A strict function of one integer-like argument beside constants.
    unsafe fn single(&mut self, node: *mut Node, function: Oid, args: &[*mut Node], ty: Type) -> Option<Expr> {
        let mut varying = args.iter().filter(|&&arg| !reads(arg).is_empty());
        let (&arg, None) = (varying.next()?, varying.next()) else {
            return None;
        };
        let constants = args
            .iter()
            .filter(|&&other| other != arg)
            .all(|&other| constant(other).is_some());
        (constants && func_strict(function) && type_of(exprType(arg), InvalidOid) == Some(Type::Int)).then_some(())?;
        self.memo(node, arg, 1, ty)
    }

    /// The call `node` as a function of its argument `arg`, remembered by value.
    unsafe fn memo(&mut self, node: *mut Node, arg: *mut Node, step: i64, ty: Type) -> Option<Expr> {
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
            id: self.outside(call, exprType(arg)),
            arg: Box::new(compiled),
            step,
            ty,
        })
    }
}

/// What LIKE, ILIKE or starts_with() asks, if bytes alone tell; like.c and varlena.c raise errors for other collations.
unsafe fn pattern_of(function: u32, collation: Oid, pattern: *mut Node) -> Option<Pattern> {
    let bytes = super::datum::varlena(constant(pattern)?);
    let utf8 = GetDatabaseEncoding() == pg_enc::PG_UTF8 as i32;
    let bytewise = utf8 || pg_database_encoding_max_length() == 1;
    if !bytewise || collation == InvalidOid || !get_collation_isdeterministic(collation) {
        return None;
    }
    match function {
        F_STARTS_WITH => Some(Pattern::starting_with(bytes)),
        F_TEXTLIKE | F_TEXTNLIKE if utf8 || !bytes.contains(&b'_') => Pattern::like(bytes),
        F_TEXTICLIKE | F_TEXTICNLIKE if utf8 && lowers_ascii(collation) => Pattern::ilike(bytes),
        _ => None,
    }
}

/// Whether lower() changes ASCII letters to their counterparts and nothing else of ASCII, unlike Turkish.
unsafe fn lowers_ascii(collation: Oid) -> bool {
    let ascii: Vec<u8> = (1..128).collect();
    let lower = OidFunctionCall1Coll(F_LOWER_TEXT.into(), collation, super::datum::of_bytes(&ascii));
    super::datum::varlena(lower) == ascii.to_ascii_lowercase()
}

unsafe fn constant(node: *mut Node) -> Option<Datum> {
    let c = node as *mut Const;
    (is_a(node, NodeTag::T_Const) && !(*c).constisnull).then(|| (*c).constvalue)
}

/// Microseconds in which a field of a timestamp changes once at most: clocks of all time zones in use agree on quarters
/// of an hour, and where one does not, the function is not the same at both ends of the step.
unsafe fn step_of(field: *mut Node) -> i64 {
    const SECOND: i64 = 1_000_000;
    let Some(field) = constant(field) else {
        return 1;
    };
    let name = super::datum::varlena(field);
    match name.to_ascii_lowercase().as_slice() {
        b"second" | b"milliseconds" | b"microseconds" | b"epoch" | b"julian" => 1,
        b"minute" => 60 * SECOND,
        b"hour" | b"day" | b"week" | b"month" | b"quarter" | b"year" | b"decade" | b"century" | b"millennium"
        | b"dow" | b"doy" | b"isodow" | b"isoyear" => 15 * 60 * SECOND,
        _ => 1,
    }
}

/// A type as a cast's target.
fn number(ty: Oid) -> Option<To> {
    let int = |min: i64, max: i64| Some(To::Int { min, max });
    match ty {
        INT2OID => int(i16::MIN.into(), i16::MAX.into()),
        INT4OID => int(i32::MIN.into(), i32::MAX.into()),
        INT8OID => int(i64::MIN, i64::MAX),
        FLOAT8OID => Some(To::Float),
        NUMERICOID => Some(To::Numeric),
        BOOLOID => Some(To::Bool),
        _ => None,
    }
}

macro_rules! comparisons {
    ($id:expr, $($ty:expr => [$($eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident),+]),+) => {
        match $id {
            $($($eq => Some((Comparison::Equal, $ty)),
                $ne => Some((Comparison::NotEqual, $ty)),
                $lt => Some((Comparison::Less, $ty)),
                $le => Some((Comparison::LessEqual, $ty)),
                $gt => Some((Comparison::Greater, $ty)),
                $ge => Some((Comparison::GreaterEqual, $ty)),)+)+
            _ => None,
        }
    };
}

/// What a comparison operator's function asks, and as what its operands are held. Text has an order only bytewise.
pub unsafe fn comparison(function: u32, collation: Oid) -> Option<(Comparison, Type)> {
    let found = comparisons!(function,
        Type::Int => [
            F_INT2EQ F_INT2NE F_INT2LT F_INT2LE F_INT2GT F_INT2GE,
            F_INT4EQ F_INT4NE F_INT4LT F_INT4LE F_INT4GT F_INT4GE,
            F_INT8EQ F_INT8NE F_INT8LT F_INT8LE F_INT8GT F_INT8GE,
            F_INT24EQ F_INT24NE F_INT24LT F_INT24LE F_INT24GT F_INT24GE,
            F_INT42EQ F_INT42NE F_INT42LT F_INT42LE F_INT42GT F_INT42GE,
            F_INT28EQ F_INT28NE F_INT28LT F_INT28LE F_INT28GT F_INT28GE,
            F_INT82EQ F_INT82NE F_INT82LT F_INT82LE F_INT82GT F_INT82GE,
            F_INT48EQ F_INT48NE F_INT48LT F_INT48LE F_INT48GT F_INT48GE,
            F_INT84EQ F_INT84NE F_INT84LT F_INT84LE F_INT84GT F_INT84GE,
            F_DATE_EQ F_DATE_NE F_DATE_LT F_DATE_LE F_DATE_GT F_DATE_GE,
            F_TIME_EQ F_TIME_NE F_TIME_LT F_TIME_LE F_TIME_GT F_TIME_GE,
            F_TIMESTAMP_EQ F_TIMESTAMP_NE F_TIMESTAMP_LT F_TIMESTAMP_LE F_TIMESTAMP_GT F_TIMESTAMP_GE,
            F_TIMESTAMPTZ_EQ F_TIMESTAMPTZ_NE F_TIMESTAMPTZ_LT F_TIMESTAMPTZ_LE F_TIMESTAMPTZ_GT F_TIMESTAMPTZ_GE
        ],
        Type::Float => [
            F_FLOAT4EQ F_FLOAT4NE F_FLOAT4LT F_FLOAT4LE F_FLOAT4GT F_FLOAT4GE,
            F_FLOAT8EQ F_FLOAT8NE F_FLOAT8LT F_FLOAT8LE F_FLOAT8GT F_FLOAT8GE,
            F_FLOAT48EQ F_FLOAT48NE F_FLOAT48LT F_FLOAT48LE F_FLOAT48GT F_FLOAT48GE,
            F_FLOAT84EQ F_FLOAT84NE F_FLOAT84LT F_FLOAT84LE F_FLOAT84GT F_FLOAT84GE
        ],
        Type::Numeric => [F_NUMERIC_EQ F_NUMERIC_NE F_NUMERIC_LT F_NUMERIC_LE F_NUMERIC_GT F_NUMERIC_GE],
        Type::Bool => [F_BOOLEQ F_BOOLNE F_BOOLLT F_BOOLLE F_BOOLGT F_BOOLGE],
        Type::Text => [F_TEXTEQ F_TEXTNE F_TEXT_LT F_TEXT_LE F_TEXT_GT F_TEXT_GE]
    )?;
    if found.1 == Type::Text {
        let equality = matches!(found.0, Comparison::Equal | Comparison::NotEqual);
        let usable = if equality {
            get_collation_isdeterministic(collation)
        } else {
            collation == C_COLLATION_OID
        };
        return (collation != InvalidOid && usable).then_some(found);
    }
    Some(found)
}

fn arithmetic(function: u32) -> Option<Arithmetic> {
    Some(match function {
        F_INT2PL | F_INT4PL | F_INT8PL | F_INT24PL | F_INT42PL | F_INT28PL | F_INT82PL | F_INT48PL | F_INT84PL
        | F_FLOAT8PL | F_NUMERIC_ADD => Arithmetic::Add,
        F_INT2MI | F_INT4MI | F_INT8MI | F_INT24MI | F_INT42MI | F_INT28MI | F_INT82MI | F_INT48MI | F_INT84MI
        | F_FLOAT8MI | F_NUMERIC_SUB => Arithmetic::Subtract,
        F_INT2MUL | F_INT4MUL | F_INT8MUL | F_INT24MUL | F_INT42MUL | F_INT28MUL | F_INT82MUL | F_INT48MUL
        | F_INT84MUL | F_FLOAT8MUL | F_NUMERIC_MUL => Arithmetic::Multiply,
        F_INT2DIV | F_INT4DIV | F_INT8DIV | F_INT24DIV | F_INT42DIV | F_INT28DIV | F_INT82DIV | F_INT48DIV
        | F_INT84DIV | F_FLOAT8DIV | F_NUMERIC_DIV => Arithmetic::Divide,
        F_INT2MOD | F_INT4MOD | F_INT8MOD => Arithmetic::Modulo,
        _ => return None,
    })
}
