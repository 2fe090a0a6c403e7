//! Nodes of expressions (primnodes.h), and making some.

use super::node::{Node, Nodes, make, nodes};
#[cfg(not(feature = "pg15"))]
use super::relids::Relids;
use pgrx::pg_sys;

nodes! {
    Var: T_Var { varno: value(i32), varattno: value(i16), vartype: value(pg_sys::Oid), varlevelsup: value(u32) }
    Const: T_Const { consttype: value(pg_sys::Oid), constvalue: value(pg_sys::Datum), constisnull: value(bool) }
    Param: T_Param { paramkind: value(pg_sys::ParamKind::Type), paramid: value(i32) }
    FuncExpr: T_FuncExpr {
        funcid: value(pg_sys::Oid), funcretset: value(bool), funcformat: value(pg_sys::CoercionForm::Type),
        inputcollid: value(pg_sys::Oid), args: list,
    }
    OpExpr: T_OpExpr {
        opno: value(pg_sys::Oid), opfuncid: value(pg_sys::Oid), opretset: value(bool), inputcollid: value(pg_sys::Oid),
        args: list,
    }
    ScalarArrayOpExpr: T_ScalarArrayOpExpr {
        opno: value(pg_sys::Oid), opfuncid: value(pg_sys::Oid), inputcollid: value(pg_sys::Oid),
        useOr: value(bool), args: list,
    }
    BoolExpr: T_BoolExpr { boolop: value(pg_sys::BoolExprType::Type), args: list }
    NullTest: T_NullTest { arg: node, nulltesttype: value(pg_sys::NullTestType::Type), argisrow: value(bool) }
    BooleanTest: T_BooleanTest { arg: node, booltesttype: value(pg_sys::BoolTestType::Type) }
    RelabelType: T_RelabelType { arg: node }
    CoerceViaIO: T_CoerceViaIO { arg: node, resulttype: value(pg_sys::Oid) }
    SubscriptingRef: T_SubscriptingRef {
        refexpr: node, refassgnexpr: node, refcontainertype: value(pg_sys::Oid), refupperindexpr: list, reflowerindexpr: list,
    }
    FieldSelect: T_FieldSelect { arg: node, fieldnum: value(i16) }
    CaseExpr: T_CaseExpr { arg: node, args: list, defresult: node }
    CaseWhen: T_CaseWhen { expr: node, result: node }
    CoalesceExpr: T_CoalesceExpr { args: list }
    MinMaxExpr: T_MinMaxExpr { op: value(pg_sys::MinMaxOp::Type), args: list }
    RowCompareExpr: T_RowCompareExpr { largs: list, rargs: list }
    PlaceHolderVar: T_PlaceHolderVar { phexpr: node, phrels: rels, phid: value(u32) }
    TargetEntry: T_TargetEntry { expr: node, ressortgroupref: value(u32), resjunk: value(bool) }
    Aggref: T_Aggref {
        aggfnoid: value(pg_sys::Oid), aggtype: value(pg_sys::Oid), inputcollid: value(pg_sys::Oid), aggorder: list,
        aggdirectargs: list, aggdistinct: list, aggsplit: value(pg_sys::AggSplit::Type), agglevelsup: value(u32),
        aggfilter: node, args: list,
    }
    GroupingFunc: T_GroupingFunc { refs: node, agglevelsup: value(u32) }
    SubPlan: T_SubPlan { testexpr: node, plan_id: value(i32), useHashTable: value(bool), parParam: list, args: list }
    WindowFunc: T_WindowFunc { winfnoid: value(pg_sys::Oid), args: list, aggfilter: node }
}

impl Var {
    /// The number of its relation in the query that it is in, or of one around that.
    pub fn relation(&self) -> pg_sys::Index {
        self.varno() as pg_sys::Index
    }

    /// The row's `ctid`, NULL where the variable's row is.
    pub fn ctid<'a>(&self) -> &'a Node {
        let copy = self.copy();
        let var = copy.as_a::<Var>().expect("a copy is of the same kind").raw();
        let attribute = pg_sys::SelfItemPointerAttributeNumber as i16;
        // SAFETY: fields of the struct, which is ours.
        unsafe {
            ((*var).varattno, (*var).varattnosyn) = (attribute, attribute);
            ((*var).vartype, (*var).vartypmod, (*var).varcollid) = (pg_sys::TIDOID, -1, pg_sys::InvalidOid);
        }
        copy
    }

    /// makeVar().
    pub fn make<'a>(relation: i32, attribute: i16, ty: pg_sys::Oid, typmod: i32, collation: pg_sys::Oid) -> &'a Node {
        // SAFETY: numbers; a new node.
        unsafe { Node::of(pg_sys::makeVar(relation as _, attribute, ty, typmod, collation, 0).cast()) }
    }
}

/// Whether rows of a relation have TIDs before a block, or from its start on: `ctid operator (block, 0)`.
pub fn ctid_compared<'a>(relation: i32, operator: u32, block: u32) -> &'a Node {
    let attribute = pg_sys::SelfItemPointerAttributeNumber as i16;
    let ctid = Var::make(relation, attribute, pg_sys::TIDOID, -1, pg_sys::InvalidOid);
    let (bi_hi, bi_lo) = ((block >> 16) as u16, block as u16);
    let tid = pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi, bi_lo },
        ip_posid: 0,
    };
    // SAFETY: room for a TID.
    let value = unsafe { pg_sys::palloc(size_of_val(&tid)).cast::<pg_sys::ItemPointerData>() };
    // SAFETY: it is as large.
    unsafe { value.write(tid) };
    // SAFETY: looks the operator up.
    let function = unsafe { pg_sys::get_opcode(operator.into()) };
    let length = size_of::<pg_sys::ItemPointerData>() as i16;
    let constant = Const::make(
        pg_sys::TIDOID,
        pg_sys::InvalidOid,
        (length, false),
        (value.into(), false),
    );
    OpExpr::make((operator, function.to_u32()), pg_sys::BOOLOID, ctid, constant)
}

impl Const {
    /// The value unless it is NULL.
    pub fn value(&self) -> Option<pg_sys::Datum> {
        (!self.constisnull()).then(|| self.constvalue())
    }

    /// makeConst(). A value that is not passed by value stays as long as the node.
    pub fn make<'a>(
        ty: pg_sys::Oid,
        collation: pg_sys::Oid,
        (len, by_value): (i16, bool),
        (value, null): (pg_sys::Datum, bool),
    ) -> &'a Node {
        // SAFETY: a new node.
        unsafe { Node::of(pg_sys::makeConst(ty, -1, collation, i32::from(len), value, null, by_value).cast()) }
    }
}

/// Until the plan is finished an operator may come without its function (negate_clause() of prepqual.c).
fn function_of(operator: pg_sys::Oid, function: pg_sys::Oid) -> pg_sys::Oid {
    match function {
        // SAFETY: looks the operator up.
        pg_sys::InvalidOid => unsafe { pg_sys::get_opcode(operator) },
        function => function,
    }
}

impl FuncExpr {
    /// A cast of a constant by a function.
    pub fn cast(function: pg_sys::Oid, to: pg_sys::Oid, arg: &Node) -> &Node {
        let (none, form) = (pg_sys::InvalidOid, pg_sys::CoercionForm::COERCE_EXPLICIT_CAST);
        FuncExpr::make(function, to, [none, none], form, Nodes::NONE.with(arg))
    }

    /// A call of a function of one argument.
    pub fn call(function: pg_sys::Oid, to: pg_sys::Oid, collation: pg_sys::Oid, arg: &Node) -> &Node {
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        FuncExpr::make(
            function,
            to,
            [collation, pg_sys::InvalidOid],
            form,
            Nodes::NONE.with(arg),
        )
    }

    /// A call that no query can contain: the function itself is its collation.
    pub fn marked<'a>(function: pg_sys::Oid, to: pg_sys::Oid, args: Nodes<'a>) -> &'a Node {
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        FuncExpr::make(function, to, [pg_sys::InvalidOid, function], form, args)
    }

    /// Whether it is such a call.
    pub fn is_marked(&self) -> bool {
        self.inputcollid() == self.funcid()
    }

    /// A call of a function whose result and arguments have no collation.
    pub fn of_plain<'a>(function: pg_sys::Oid, to: pg_sys::Oid, args: Nodes<'a>) -> &'a Node {
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        FuncExpr::make(function, to, [pg_sys::InvalidOid; 2], form, args)
    }

    /// makeFuncExpr(), with the collations of the result and of the input.
    fn make<'a>(
        function: pg_sys::Oid,
        to: pg_sys::Oid,
        [result, input]: [pg_sys::Oid; 2],
        form: pg_sys::CoercionForm::Type,
        args: Nodes<'a>,
    ) -> &'a Node {
        // SAFETY: a list of expressions; a new node.
        unsafe { Node::of(pg_sys::makeFuncExpr(function, to, args.raw(), result, input, form).cast()) }
    }

    /// Whether it was written as a cast, or put in for one.
    pub fn is_cast(&self) -> bool {
        use pg_sys::CoercionForm::{COERCE_EXPLICIT_CAST, COERCE_IMPLICIT_CAST};
        matches!(self.funcformat(), COERCE_EXPLICIT_CAST | COERCE_IMPLICIT_CAST)
    }
}

impl OpExpr {
    /// Of such a node, or of one of the kinds that have the same fields.
    pub fn like(node: &Node) -> Option<&OpExpr> {
        use pg_sys::NodeTag::{T_DistinctExpr, T_NullIfExpr, T_OpExpr};
        let same = matches!(node.tag(), T_OpExpr | T_DistinctExpr | T_NullIfExpr);
        // SAFETY: by its tag it is such a struct (primnodes.h).
        same.then(|| unsafe { OpExpr::of(node.raw().cast()) })
    }

    pub fn function(&self) -> pg_sys::Oid {
        function_of(self.opno(), self.opfuncid())
    }

    /// A call of an operator of this function (make_opclause()).
    pub fn make<'a>(
        (operator, function): (u32, u32),
        result: pg_sys::Oid,
        left: &'a Node,
        right: &'a Node,
    ) -> &'a Node {
        // SAFETY: two expressions; a new node, which is an OpExpr.
        unsafe {
            // As the parser says it of PostgreSQL's own types.
            let (collation, input) = (pg_sys::get_typcollation(result), right.collation());
            let (left, right) = (left.raw().cast(), right.raw().cast());
            let op = pg_sys::make_opclause(operator.into(), result, false, left, right, collation, input);
            (*op.cast::<pg_sys::OpExpr>()).opfuncid = function.into();
            Node::of(op.cast())
        }
    }
}

impl CoerceViaIO {
    /// A cast by input and output to a type without a collation.
    pub fn make(arg: &Node, to: pg_sys::Oid) -> &Node {
        // SAFETY: all fields that are not zero are set.
        unsafe {
            let made = make::<CoerceViaIO>();
            (*made.raw()).arg = arg.raw().cast();
            (*made.raw()).resulttype = to;
            (*made.raw()).coerceformat = pg_sys::CoercionForm::COERCE_EXPLICIT_CAST;
            (*made.raw()).location = -1;
            Node::of(made.raw().cast())
        }
    }
}

/// Raises an error if the call is none of those that no query can contain ([`FuncExpr::marked`]).
///
/// # Safety
/// PostgreSQL's description of the call.
pub unsafe fn check_marked(call: pg_sys::FunctionCallInfo, name: &str) {
    // SAFETY: as the caller promises.
    let (function, mark) = unsafe { ((*(*call).flinfo).fn_oid, (*call).fncollation) };
    if function != mark {
        let message = format!("{name} is called by plans of amax only");
        pgrx::ereport!(ERROR, pgrx::PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message);
    }
}

impl SubPlan {
    /// Other values for its parameters.
    pub fn set_args(&self, args: Nodes<'_>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).args = args.raw() }
    }
}

impl ScalarArrayOpExpr {
    pub fn function(&self) -> pg_sys::Oid {
        function_of(self.opno(), self.opfuncid())
    }
}

impl BoolExpr {
    /// makeBoolExpr().
    pub fn make<'a>(op: pg_sys::BoolExprType::Type, args: Nodes<'a>) -> &'a Node {
        // SAFETY: a list of expressions; a new node.
        unsafe { Node::of(pg_sys::makeBoolExpr(op, args.raw(), -1).cast()) }
    }
}

impl NullTest {
    /// `IS NOT NULL`, of a value that is no row.
    pub fn is_not_null(arg: &Node) -> &Node {
        // SAFETY: all fields that are not zero are set.
        unsafe {
            let made = make::<NullTest>();
            (*made.raw()).arg = arg.raw().cast();
            (*made.raw()).nulltesttype = pg_sys::NullTestType::IS_NOT_NULL;
            Node::of(made.raw().cast())
        }
    }
}

impl TargetEntry {
    /// makeTargetEntry(), of a copy of the expression.
    pub fn make<'a>(expression: &Node, number: i16) -> &'a Node {
        let copy = expression.copy().raw();
        // SAFETY: an expression; a new node.
        unsafe { Node::of(pg_sys::makeTargetEntry(copy.cast(), number, std::ptr::null_mut(), false).cast()) }
    }
}

impl TargetEntry {
    /// A copy with another expression.
    pub fn with<'a>(&self, expression: &Node) -> &'a Node {
        // SAFETY: a copy of the node, whose expression is replaced.
        unsafe {
            let copy = pg_sys::flatCopyTargetEntry(self.raw());
            (*copy).expr = expression.raw().cast();
            Node::of(copy.cast())
        }
    }
}

impl Aggref {
    /// In place: the planner has made its lists of them (preprocess_aggrefs()), and sorts by what they say from 16 on.
    pub fn set(&self, direct: Nodes<'_>, args: Nodes<'_>, filter: Option<&Node>) {
        // SAFETY: fields of the struct.
        unsafe {
            (*self.raw()).aggdirectargs = direct.raw();
            (*self.raw()).args = args.raw();
            (*self.raw()).aggfilter = super::node::raw_of(filter).cast();
        }
    }
}

impl WindowFunc {
    /// As create_one_window_path() of planner.c makes expressions of them.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    pub fn run_conditions(&self) -> Vec<&Node> {
        // SAFETY: a list of such conditions; new nodes.
        unsafe {
            let conditions = Nodes::of((*self.raw()).runCondition);
            let expression = |condition: &Node| {
                let condition = &*condition.raw().cast::<pg_sys::WindowFuncRunCondition>();
                let (call, other) = (self.copy().raw().cast(), condition.arg);
                let (left, right) = if condition.wfunc_left {
                    (call, other)
                } else {
                    (other, call)
                };
                let (operator, collation, none) = (condition.opno, condition.inputcollid, pg_sys::InvalidOid);
                Node::of(pg_sys::make_opclause(operator, pg_sys::BOOLOID, false, left, right, none, collation).cast())
            };
            conditions.iter().map(expression).collect()
        }
    }

    /// In place: the planner has made its lists of them (find_window_functions()).
    pub fn set(&self, args: Nodes<'_>, filter: Option<&Node>) {
        // SAFETY: fields of the struct.
        unsafe {
            (*self.raw()).args = args.raw();
            (*self.raw()).aggfilter = super::node::raw_of(filter).cast();
        }
    }
}

impl PlaceHolderVar {
    /// For an expression of one relation, with the next number of the query's (make_placeholder_expr() of placeholder.c).
    pub fn new(expression: &Node, relation: pg_sys::Index, number: pg_sys::Index) -> &PlaceHolderVar {
        // SAFETY: all fields that are not zero are set.
        unsafe {
            let made = make::<PlaceHolderVar>();
            (*made.raw()).phexpr = expression.raw().cast();
            (*made.raw()).phrels = pg_sys::bms_make_singleton(relation as i32);
            (*made.raw()).phid = number;
            made
        }
    }

    /// The outer joins above it that may make it NULL.
    #[cfg(not(feature = "pg15"))]
    pub fn set_nulling(&self, nulling: Relids) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).phnullingrels = nulling.raw() }
    }
}

#[cfg(not(feature = "pg15"))]
impl Var {
    /// A copy below the outer joins that may make it NULL, and those.
    pub fn below_joins<'a>(&self) -> (&'a Node, Relids) {
        let copy = self.copy();
        let var = copy.as_a::<Var>().expect("a copy is of the same kind");
        // SAFETY: fields of the struct, which is ours.
        unsafe {
            let nulling = std::mem::replace(&mut (*var.raw()).varnullingrels, std::ptr::null_mut());
            (copy, Relids::of(nulling))
        }
    }

    /// A copy above these outer joins, which may make it NULL, and no others.
    pub fn above_joins<'a>(&self, nulling: Relids) -> &'a Node {
        let copy = self.copy();
        let var = copy.as_a::<Var>().expect("a copy is of the same kind");
        // SAFETY: a field of the struct, which is ours.
        unsafe { (*var.raw()).varnullingrels = nulling.raw() };
        copy
    }
}

/// A value that is not known yet, of an expression's type: that of a CASE (CaseTestExpr).
pub fn case_value<'a>(ty: pg_sys::Oid, typmod: i32, collation: pg_sys::Oid) -> &'a Node {
    nodes! { CaseTestExpr: T_CaseTestExpr {} }
    // SAFETY: all fields are set.
    unsafe {
        let made = make::<CaseTestExpr>();
        (*made.raw()).typeId = ty;
        (*made.raw()).typeMod = typmod;
        (*made.raw()).collation = collation;
        Node::of(made.raw().cast())
    }
}

/// A cast without effect (makeRelabelType()).
pub fn relabelled(arg: &Node, ty: pg_sys::Oid) -> &Node {
    let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CAST;
    // SAFETY: an expression; a new node.
    unsafe { Node::of(pg_sys::makeRelabelType(arg.raw().cast(), ty, -1, pg_sys::InvalidOid, form).cast()) }
}

/// Conditions as one (make_ands_explicit()).
pub fn all_of<'a>(conditions: Nodes<'a>) -> &'a Node {
    // SAFETY: a list of conditions.
    unsafe { Node::of(pg_sys::make_ands_explicit(conditions.raw()).cast()) }
}

/// expression_returns_set().
pub fn returns_set(node: &Node) -> bool {
    // SAFETY: an expression.
    unsafe { pg_sys::expression_returns_set(node.raw()) }
}
