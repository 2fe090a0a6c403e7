//! Which expressions of a query there are statistics of.

use super::documents::by_paths;
use super::sample::Of;
use crate::pg::expr::{FuncExpr, OpExpr, PlaceHolderVar, ScalarArrayOpExpr, Var};
use crate::pg::lookup::is_deterministic;
use crate::pg::node::Node;
use crate::pg::parse::{FromExpr, JoinExpr};
use crate::pg::planner::PlannerInfo;
use crate::query::expr::path::{call_of, path_of, question_of};
use crate::query::expr::tree::{any, has, rewrite, walk};
use crate::query::expr::unnesting::bare;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::{
    F_BPCHARICLIKE, F_BPCHARICNLIKE, F_BPCHARICREGEXEQ, F_BPCHARICREGEXNE, F_BPCHARLIKE, F_BPCHARNLIKE,
    F_BPCHARREGEXEQ, F_BPCHARREGEXNE, F_STARTS_WITH, F_TEXTICLIKE, F_TEXTICNLIKE, F_TEXTICREGEXEQ, F_TEXTICREGEXNE,
    F_TEXTLIKE, F_TEXTNLIKE, F_TEXTREGEXEQ, F_TEXTREGEXNE,
};

/// Of a query, at most.
const MOST: usize = 64;

/// Functions that refuse text in a collation that is not deterministic (like.c, regexp.c, varlena.c).
const PATTERNS: [u32; 17] = [
    F_TEXTLIKE,
    F_TEXTNLIKE,
    F_TEXTICLIKE,
    F_TEXTICNLIKE,
    F_TEXTREGEXEQ,
    F_TEXTREGEXNE,
    F_TEXTICREGEXEQ,
    F_TEXTICREGEXNE,
    F_BPCHARLIKE,
    F_BPCHARNLIKE,
    F_BPCHARICLIKE,
    F_BPCHARICNLIKE,
    F_BPCHARREGEXEQ,
    F_BPCHARREGEXNE,
    F_BPCHARICREGEXEQ,
    F_BPCHARICREGEXNE,
    F_STARTS_WITH,
];

/// Whether a condition of the query has such a pattern. PostgreSQL tries patterns on frequent values while it plans: with values that
/// heap has no statistics of, a query would fail whose rows never meet the pattern.
pub fn refuse_patterns(root: &PlannerInfo) -> bool {
    let mut found = false;
    let mut look = |node| {
        found = found || any(node, is_refused);
    };
    if let Some(from) = root.parse().jointree() {
        conditions(from, &mut look);
    }
    found
}

fn is_refused(node: &Node) -> bool {
    let operator = node.as_a::<OpExpr>().map(|op| (op.function(), op.inputcollid()));
    let of_array = || {
        node.as_a::<ScalarArrayOpExpr>()
            .map(|op| (op.function(), op.inputcollid()))
    };
    let call = || node.as_a::<FuncExpr>().map(|call| (call.funcid(), call.inputcollid()));
    let called = operator.or_else(of_array).or_else(call);
    called.is_some_and(|(function, collation)| {
        PATTERNS.contains(&function.to_u32()) && collation != pg_sys::InvalidOid && !is_deterministic(collation)
    })
}

/// Expressions over a relation's documents in the query: those of PostgreSQL alone, and not over other relations. None if it has a pattern that may be refused.
pub fn of_relation(root: &PlannerInfo, relid: pg_sys::Index) -> Vec<&Node> {
    if refuse_patterns(root) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut add = |node| collect(node, relid, &mut found);
    root.targets().for_each(&mut add);
    if let Some(from) = root.parse().jointree() {
        conditions(from, &mut add);
    }
    let mut forms = Vec::new();
    for form in found.into_iter().flat_map(|node| [node, bare(node)]).map(below_joins) {
        if !has(&forms, form) {
            forms.push(form);
        }
    }
    forms
}

/// The conditions of FROM and WHERE.
fn conditions<'a>(node: &'a Node, add: &mut dyn FnMut(&'a Node)) {
    let quals = if let Some(from) = node.as_a::<FromExpr>() {
        from.fromlist().iter().for_each(|item| conditions(item, add));
        from.quals()
    } else if let Some(join) = node.as_a::<JoinExpr>() {
        let sides = join.larg().into_iter().chain(join.rarg());
        sides.for_each(|side| conditions(side, add));
        join.quals()
    } else {
        None
    };
    if let Some(quals) = quals {
        add(quals);
    }
}

fn collect<'a>(node: &'a Node, relid: pg_sys::Index, found: &mut Vec<&'a Node>) {
    walk(node, &mut |node| {
        match node.tag() {
            // Of what is computed of groups, or elsewhere, no question is asked.
            T_Aggref | T_WindowFunc | T_GroupingFunc | T_SubPlan | T_AlternativeSubPlan => return false,
            // Conditions are estimated by their operands.
            T_List | T_TargetEntry | T_BoolExpr | T_NullTest | T_BooleanTest | T_ScalarArrayOpExpr | T_DistinctExpr
            | T_RowCompareExpr => return true,
            // examine_variable() looks below these.
            T_RelabelType => return true,
            T_OpExpr if node.type_oid() == pg_sys::BOOLOID => {
                if let Some(conditions) = by_paths(node) {
                    collect(conditions, relid, found);
                }
                return true;
            }
            _ => {}
        }
        if found.len() < MOST && is_known(node, relid) && !has(found, node) {
            found.push(node);
        }
        path_of(node, &|_| true).is_none()
    });
}

/// Whether an expression is over a relation's documents, and calls nobody's functions but PostgreSQL's.
pub fn is_known(node: &Node, relid: pg_sys::Index) -> bool {
    let (mut known, mut has_path) = (true, false);
    walk(node, &mut |node| {
        known = known && is_plain(node) && node.as_a::<Var>().is_none_or(|var| is_of(var, relid));
        has_path = has_path || path_of(node, &|_| true).is_some() || question_of(node, &|_| true).is_some();
        known
    });
    known && has_path && !node.is_volatile()
}

fn is_of(var: &Var, relid: pg_sys::Index) -> bool {
    var.relation() == relid && var.varlevelsup() == 0 && var.varattno() > 0
}

fn is_plain(node: &Node) -> bool {
    let is_own = |oid: pg_sys::Oid| oid.to_u32() < pg_sys::FirstNormalObjectId;
    let known = matches!(
        node.tag(),
        T_List
            | T_Var
            | T_Const
            | T_PlaceHolderVar
            | T_FuncExpr
            | T_OpExpr
            | T_DistinctExpr
            | T_NullIfExpr
            | T_ScalarArrayOpExpr
            | T_BoolExpr
            | T_NullTest
            | T_BooleanTest
            | T_RelabelType
            | T_CoerceViaIO
            | T_CaseExpr
            | T_CaseWhen
            | T_CaseTestExpr
            | T_CoalesceExpr
            | T_MinMaxExpr
            | T_SubscriptingRef
    );
    let returns_set = node.as_a::<FuncExpr>().is_some_and(FuncExpr::funcretset)
        || node.as_a::<OpExpr>().is_some_and(OpExpr::opretset);
    let typed = !matches!(node.tag(), T_List | T_CaseWhen);
    known
        && !returns_set
        && (!typed || is_own(node.type_oid()))
        && call_of(node).is_none_or(|(function, _)| is_own(function.into()))
}

/// As examine_variable() looks for it: below the outer joins that may make it NULL.
#[cfg(feature = "pg15")]
fn below_joins(node: &Node) -> &Node {
    node
}

#[cfg(not(feature = "pg15"))]
fn below_joins(node: &Node) -> &Node {
    use crate::pg::relids::Relids;
    rewrite(node, &mut |node| {
        let placeholder = node.as_a::<PlaceHolderVar>().map(|placeholder| {
            let copy = crate::pg::node::duplicate(placeholder);
            copy.set_nulling(Relids::NONE);
            &**copy
        });
        placeholder.or_else(|| Some(node.as_a::<Var>()?.below_joins().0))
    })
}

/// The same expression whatever the relation's number is in a query, and wherever it is computed: 1 for the table's rows, 2 for
/// elements of arrays.
pub fn of_table<'a>(node: &'a Node, of: &Of) -> Option<&'a Node> {
    if let Some(placeholder) = node.as_a::<PlaceHolderVar>() {
        return Some(rewrite(placeholder.phexpr()?, &mut |node| of_table(node, of)));
    }
    let var = node.as_a::<Var>()?;
    let (ty, typmod, collation) = (node.type_oid(), node.typmod(), node.collation());
    Some(Var::make(of.relation() as i32, var.varattno(), ty, typmod, collation))
}
