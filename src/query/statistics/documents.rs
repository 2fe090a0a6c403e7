//! Conditions about what a document contains, which are estimated by its paths.
//!
//! PostgreSQL tries them on a hundred documents, so of what fewer than one in a hundred contain it knows nothing. But `doc @> '{"a": {"b": 1}}'` is true
//! where `doc->'a'->'b' = '1'` is, and `doc ? 'a'` where `doc->'a'` is not NULL, and of paths there are statistics.

use crate::pg::datum::of_bytes;
use crate::pg::expr::{BoolExpr, FuncExpr, NullTest, OpExpr};
use crate::pg::node::{Node, Nodes};
use crate::pg::planner::{PlannerInfo, RelOptInfo, RestrictInfo};
use crate::pg::statistics::{Rights, VariableStatData, of_frequent};
use crate::query::expr::constant;
use crate::query::expr::containment::{EQUAL, by_field, field};
use crate::query::expr::path::question_of;
use crate::query::expr::tree::{rewrite, walk};
use amax_format::Question;
use pgrx::pg_sys;

/// A condition of this kind.
struct Asked<'a> {
    document: &'a Node,
    /// The same as conditions on paths.
    by_paths: &'a Node,
    /// A document of which it is true.
    example: Vec<u8>,
}

impl<'a> Asked<'a> {
    fn of(condition: &'a Node) -> Option<Asked<'a>> {
        use pg_sys::BoolExprType::{AND_EXPR, OR_EXPR};
        let &[document, sought] = &condition.as_a::<OpExpr>()?.args().to_vec()[..] else {
            return None;
        };
        if let Some(fields) = by_field(condition) {
            return Some(Asked {
                document,
                by_paths: BoolExpr::make(AND_EXPR, fields.into_iter().collect()),
                example: constant::json(sought)?.to_vec(),
            });
        }
        let (op, keys) = match question_of(condition, &|_| true)?.1 {
            Question::HasAny(keys) => (OR_EXPR, keys),
            Question::HasAll(keys) => (AND_EXPR, keys),
            _ => return None,
        };
        if keys.is_empty() {
            return None;
        }
        Some(Asked {
            document,
            by_paths: BoolExpr::make(op, keys.iter().map(|key| has(document, key)).collect()),
            example: object_of(keys)?,
        })
    }
}

/// Whether a document has a key.
fn has<'a>(document: &'a Node, key: &[u8]) -> &'a Node {
    let (function, collation) = (pg_sys::F_JSONB_TYPEOF.into(), pg_sys::DEFAULT_COLLATION_OID);
    // The names of types are few, and fast to compare.
    NullTest::is_not_null(FuncExpr::call(
        function,
        pg_sys::TEXTOID,
        collation,
        field(document, key),
    ))
}

fn object_of(keys: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    let mut builder = amax_jsonb::Builder::new();
    builder.begin_object();
    for key in keys {
        builder.key(&key);
        builder.null();
    }
    builder.end_object();
    builder.finish().ok()
}

/// What it comes to about paths, if it is such a condition.
pub fn by_paths(condition: &Node) -> Option<&Node> {
    Asked::of(condition).map(|asked| asked.by_paths)
}

/// Has such a condition of a relation estimated by its paths, when the statistics of its document are asked for on its behalf; false if there are
/// none, or they may not be looked at.
///
/// The planner does not say which condition it is about. It takes them in order, and keeps what it finds; so it is the first without. The others are
/// told at once what they will come to. This one is tried on an example, which as many documents are taken to be as it is true of, and on
/// another document.
pub fn give(root: &PlannerInfo, rel: &RelOptInfo, is_it: &dyn Fn(&Node) -> bool, data: &VariableStatData) -> bool {
    if Rights::of(root, rel) != Rights::All {
        return false;
    }
    let mut conditions = Vec::new();
    leaves(rel.baserestrictinfo(), &mut conditions);
    let mut open = conditions.into_iter().filter_map(|info| {
        let asked = about(info.clause(), is_it);
        (info.norm_selec() < 0.0 && !asked.is_empty()).then_some((info, asked))
    });
    let Some((_, asked)) = open.next() else {
        return false;
    };
    let [asked] = &asked[..] else {
        return false;
    };
    // Of arrays `?` asks for an element, of which paths by keys know nothing.
    let part_of = |asked: &Asked| Some(root.selectivity(asked.by_paths)).filter(|&part| part > 0.0);
    for (info, _) in open.filter(|(_, asked)| asked.iter().all(|asked| part_of(asked).is_some())) {
        let over_paths = rewrite(info.clause(), &mut by_paths);
        info.set_selectivity(root.selectivity(over_paths), info.outer_selec());
    }
    let Some((part, other)) = part_of(asked).zip(object_of(Vec::new())) else {
        return false;
    };
    let frequent = [(of_bytes(&asked.example), part), (of_bytes(&other), 1.0 - part)];
    data.set(&of_frequent(pg_sys::JSONBOID, EQUAL, &frequent), true);
    true
}

/// The conditions in a list, those below AND and OR each by itself, in the order in which they are estimated.
fn leaves<'a>(list: Nodes<'a>, found: &mut Vec<&'a RestrictInfo>) {
    for node in list.iter() {
        let op = match node.as_a::<RestrictInfo>() {
            Some(info) => match info.orclause() {
                None => {
                    found.push(info);
                    continue;
                }
                Some(op) => op,
            },
            None => node,
        };
        if let Some(op) = op.as_a::<BoolExpr>() {
            leaves(op.args(), found);
        }
    }
}

/// Such conditions about one document.
fn about<'a>(condition: &'a Node, is_it: &dyn Fn(&Node) -> bool) -> Vec<Asked<'a>> {
    let mut found = Vec::new();
    walk(condition, &mut |node| {
        let asked = Asked::of(node).filter(|asked| is_it(asked.document));
        let is_asked = asked.is_some();
        found.extend(asked);
        !is_asked
    });
    found
}
