//! EXPLAIN (VERBOSE): why an aggregate above a scan is PostgreSQL's.

use crate::pg::explain::{Deparser, ExplainState};
use crate::pg::expr::{Aggref, TargetEntry};
use crate::pg::node::{Node, Nodes};
use crate::pg::plan::{Agg, Plan};
use crate::pg::state::CustomScanState;
use crate::query::batch::explain::Conditions;
use crate::query::batch::reasons::line;
use crate::query::expr::tree::{has, walk_all};
use crate::query::expr::why::no_vectors;
use crate::query::plan::aggregates::why_not;
use pgrx::pg_sys::NodeTag;

/// PostgreSQL's Agg node above a scan's, and how far, if nothing stands between them that computes anything.
fn aggregate_above(ancestors: Nodes<'_>) -> Option<(usize, &Agg)> {
    let passes = |node: &Node| {
        use NodeTag::*;
        matches!(node.tag(), T_Sort | T_IncrementalSort | T_Gather | T_GatherMerge)
    };
    let (at, above) = ancestors.iter().enumerate().find(|(_, node)| !passes(node))?;
    Some((at, above.as_a::<Agg>()?))
}

/// Keys and aggregates that have no vectorized form, each with its reason.
pub(super) fn left<'a>(
    node: &'a CustomScanState,
    shown_as: &Conditions<'a>,
    ancestors: Nodes<'_>,
    es: &ExplainState,
) -> Vec<String> {
    let Some((at, agg)) = aggregate_above(ancestors) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let columns: Vec<&TargetEntry> = node.plan().targetlist().all::<TargetEntry>().collect();
    for &key in agg.keys() {
        let key = columns.get(key as usize - 1).and_then(|column| column.expr());
        if let Some((key, reason)) = key.and_then(|key| Some((key, no_vectors(key)?))) {
            lines.push(line(shown_as.text(key), &reason));
        }
    }
    let deparser = Deparser::of_ancestor(agg, ancestors, at, es);
    let mut known: Vec<&Node> = Vec::new();
    let mut look = |node| {
        let Some(aggregate) = Node::as_a::<Aggref>(node).filter(|_| !has(&known, node)) else {
            return true;
        };
        known.push(node);
        if let Some(reason) = why_not(aggregate) {
            lines.push(line(deparser.text(node), &reason));
        }
        false
    };
    walk_all(Plan::targetlist(agg), &mut look);
    walk_all(Plan::qual(agg), &mut look);
    lines
}
