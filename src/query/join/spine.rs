//! The hash joins that a node of ours is planned over, taken apart: what they compute, over the columns of the rows of all sides.

use crate::pg::expr::{TargetEntry, Var};
use crate::pg::lookup::operator_function;
use crate::pg::node::{Node, Nodes};
use crate::pg::plan::{Hash, HashJoin, Joins};
use crate::pg::state::{CustomScanState, HashJoinState, PlanState};
use crate::query::expr::entry::expressions;
use crate::query::expr::tree::rewrite;
use crate::query::join_filter::offer::key_type;
use amax_exec::Type;
use pgrx::pg_sys::{INDEX_VAR, INNER_VAR, JoinType, OUTER_VAR};

/// The join on the outer side of another.
pub fn join_below(join: &HashJoin) -> Option<&HashJoin> {
    join.lefttree().and_then(|outer| outer.as_a())
}

/// What becomes of the outer side's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One for each match.
    Inner,
    /// The same, and those without a match.
    Left,
    /// Those with a match.
    Semi,
    /// Those without.
    Anti,
}

impl Kind {
    pub fn of(kind: JoinType::Type) -> Option<Kind> {
        Some(match kind {
            JoinType::JOIN_INNER => Kind::Inner,
            JoinType::JOIN_LEFT => Kind::Left,
            JoinType::JOIN_SEMI => Kind::Semi,
            JoinType::JOIN_ANTI => Kind::Anti,
            _ => return None,
        })
    }

    /// Whether rows without a match are left.
    pub fn keeps_unmatched(self) -> bool {
        matches!(self, Kind::Left | Kind::Anti)
    }
}

/// A join and its inner side.
pub struct Level {
    pub kind: Kind,
    /// The join's node and its table's, which do not run, and the one that gives the side's rows.
    pub join: &'static PlanState,
    pub hash: &'static PlanState,
    pub rows: &'static PlanState,
    /// What those consist of.
    pub columns: Vec<&'static Node>,
    /// The place of the first among all columns.
    pub first: usize,
    /// Of the outer side's rows, over all columns.
    pub outer_keys: Vec<&'static Node>,
    /// Of its own rows, over OUTER_VAR.
    pub inner_keys: Vec<&'static Node>,
    /// What vectors hold of keys.
    pub types: Vec<Type>,
    /// What a match has to fulfil beside, over all columns,
    pub residual: Vec<&'static Node>,
    /// and what joined rows have to.
    pub filter: Vec<&'static Node>,
}

impl Level {
    /// Keys and columns of its rows as the node that gives them computes them.
    pub fn over_input(&self) -> (Vec<&'static Node>, Vec<&'static Node>) {
        let targets = expressions(self.rows.plan().targetlist());
        let over_targets = |nodes: &[&'static Node]| nodes.iter().map(|node| over(node, &targets, &[])).collect();
        (over_targets(&self.inner_keys), over_targets(&self.columns))
    }
}

/// Such joins, from the bottom.
pub struct Spine {
    pub scan: &'static CustomScanState,
    pub levels: Vec<Level>,
    /// What the topmost hands up, over all columns.
    pub output: Vec<&'static Node>,
}

fn over(node: &'static Node, outer: &[&'static Node], inner: &[&'static Node]) -> &'static Node {
    let copy = node.copy();
    rewrite(copy, &mut |node| {
        let var = node.as_a::<Var>()?;
        let columns = match var.varno() {
            OUTER_VAR => outer,
            INNER_VAR => inner,
            _ => return None,
        };
        Some(columns[var.varattno() as usize - 1])
    })
}

impl Spine {
    pub fn of(node: &'static PlanState) -> Spine {
        let Some(join) = node.as_a::<HashJoinState>() else {
            let scan: &CustomScanState = node.as_a().expect("below the joins is a scan");
            return Spine {
                scan,
                levels: Vec::new(),
                output: expressions(scan.plan().targetlist()),
            };
        };
        let mut spine = Spine::of(join.lefttree().expect("a join has two sides"));
        let hash = join.righttree().expect("a join has two sides");
        let rows = hash.lefttree().expect("a hash table is made of rows");
        let plan: &'static HashJoin = join.plan().as_a().expect("the plan of a hash join");
        let table: &'static Hash = hash.plan().as_a().expect("the plan of a hash table");
        let columns = expressions(table.targetlist());
        let first = spine.width();
        let column = |(at, node): (usize, &&Node)| {
            Var::make(
                INDEX_VAR,
                (first + at) as i16 + 1,
                node.type_oid(),
                node.typmod(),
                node.collation(),
            )
        };
        let inner: Vec<&'static Node> = columns.iter().enumerate().map(column).collect();
        let types = (0..plan.hashkeys().len()).map(|key| {
            let (operator, collation) = plan.operator(key);
            key_type(operator_function(operator), collation).expect("the planner chose keys that vectors hold")
        });
        let conditions = |list: Nodes<'static>| -> Vec<&'static Node> {
            list.iter().map(|node| over(node, &spine.output, &inner)).collect()
        };
        spine.levels.push(Level {
            kind: Kind::of(plan.kind()).expect("the planner chose kinds that we know"),
            residual: conditions(plan.joinqual()),
            filter: conditions(plan.qual()),
            join,
            hash,
            rows,
            first,
            outer_keys: plan
                .hashkeys()
                .iter()
                .map(|key| over(key, &spine.output, &[]))
                .collect(),
            inner_keys: table.hashkeys().to_vec(),
            types: types.collect(),
            columns,
        });
        let targets = plan.targetlist().all::<TargetEntry>().filter_map(TargetEntry::expr);
        spine.output = targets.map(|node| over(node, &spine.output, &inner)).collect();
        spine
    }

    /// From the start again, with the parameters of `above` that have changed; whether they are a side's, too. Each node by itself:
    /// PostgreSQL's leave it to their first row, for which nobody may ask them.
    pub fn rescan(&self, above: &PlanState) -> bool {
        let mut above = above;
        let mut changed = false;
        let mut nodes: Vec<&PlanState> = Vec::new();
        for level in self.levels.iter().rev() {
            above.tell(level.join);
            level.join.tell(level.hash);
            changed |= level.hash.is_changed();
            nodes.extend([level.join, level.hash]);
            above = level.join;
        }
        above.tell(self.scan);
        nodes.push(self.scan);
        nodes.into_iter().for_each(PlanState::rescan);
        changed
    }

    /// How many columns are the scan's, the first.
    pub fn of_scan(&self) -> usize {
        self.scan.scan().custom_scan_tlist().len()
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        let end = |level: &Level| level.first + level.columns.len();
        self.levels.last().map_or_else(|| self.of_scan(), end)
    }
}
