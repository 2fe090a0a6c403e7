//! Plans (plannodes.h).

use super::handle::handle;
use super::node::{Kind, Node, Nodes, fields, nodes};
use pgrx::pg_sys;
use std::ffi::CStr;
use std::ops::Deref;

handle! {
    /// A plan of any kind.
    Plan, pg_sys::Plan
}

fields!(Plan {
    targetlist: list,
    qual: list,
    lefttree: some(Plan),
    righttree: some(Plan),
    initPlan: list,
    total_cost: value(f64),
    parallel_aware: value(bool),
});

impl Deref for Plan {
    type Target = Node;

    fn deref(&self) -> &Node {
        // SAFETY: every plan begins with a node's tag.
        unsafe { Node::of(self.raw().cast()) }
    }
}

impl Plan {
    pub fn of_node(node: &Node) -> &Plan {
        // SAFETY: whoever has a plan as a node has it from a list of plans.
        unsafe { Plan::of(node.raw().cast()) }
    }

    /// Has it compute nothing.
    pub fn empty(&self) {
        // SAFETY: fields of the struct.
        unsafe {
            (*self.raw()).qual = std::ptr::null_mut();
            (*self.raw()).targetlist = std::ptr::null_mut();
        }
    }

    /// All expressions of this node, those of the plans that run before it among them; None if it is of a kind that is not known here.
    pub fn expressions(&self) -> Option<Vec<&Node>> {
        use pg_sys::NodeTag::*;
        let (mut lists, mut nodes) = (vec![self.targetlist(), self.qual(), self.initPlan()], Vec::new());
        if let Some(scan) = self.as_a::<FunctionScan>() {
            lists.push(scan.functions());
        } else if let Some(scan) = self.as_a::<CustomScan>() {
            lists.extend([scan.custom_exprs(), scan.custom_scan_tlist()]);
        } else if let Some(scan) = self.as_a::<IndexScan>() {
            lists.extend([
                scan.indexqual(),
                scan.indexqualorig(),
                scan.indexorderby(),
                scan.indexorderbyorig(),
            ]);
        } else if let Some(scan) = self.as_a::<IndexOnlyScan>() {
            lists.extend([scan.indexqual(), scan.recheckqual(), scan.indexorderby()]);
        } else if let Some(scan) = self.as_a::<BitmapIndexScan>() {
            lists.extend([scan.indexqual(), scan.indexqualorig()]);
        } else if let Some(scan) = self.as_a::<BitmapHeapScan>() {
            lists.push(scan.bitmapqualorig());
        } else if let Some(result) = self.as_a::<Result>() {
            nodes.extend(result.resconstantqual());
        } else if let Some(limit) = self.as_a::<Limit>() {
            nodes.extend(limit.limitOffset().into_iter().chain(limit.limitCount()));
        } else if let Some(join) = self.as_a::<NestLoop>() {
            lists.push(join.joinqual());
            nodes.extend(
                join.nestParams()
                    .all::<NestLoopParam>()
                    .filter_map(NestLoopParam::paramval),
            );
        } else if let Some(join) = self.as_a::<HashJoin>() {
            lists.extend([join.joinqual(), join.hashclauses(), join.hashkeys()]);
        } else if let Some(hash) = self.as_a::<Hash>() {
            lists.push(hash.hashkeys());
        } else if !matches!(
            self.tag(),
            T_SeqScan | T_ProjectSet | T_Agg | T_Sort | T_IncrementalSort | T_Unique | T_Material
        ) {
            return None;
        }
        nodes.extend(lists.into_iter().flat_map(|list| list.to_vec()));
        Some(nodes)
    }

    /// The plans that it runs, but for subqueries in its expressions.
    pub fn below(&self) -> impl Iterator<Item = &Plan> {
        let others = self
            .as_a::<CustomScan>()
            .map(CustomScan::custom_plans)
            .or_else(|| self.as_a::<Append>().map(Append::appendplans))
            .or_else(|| self.as_a::<MergeAppend>().map(MergeAppend::mergeplans))
            .unwrap_or(Nodes::NONE);
        let below = self.as_a::<SubqueryScan>().map(SubqueryScan::subplan);
        let below = below.into_iter().chain(self.lefttree()).chain(self.righttree());
        below.chain(others.iter().map(Plan::of_node))
    }

    /// As a join, of the kinds that we look into.
    pub fn as_join(&self) -> Option<&dyn Joins> {
        match self.as_a::<HashJoin>() {
            Some(join) => Some(join),
            None => self.as_a::<NestLoop>().map(|join| join as &dyn Joins),
        }
    }

    pub fn is_backward(&self) -> bool {
        // SAFETY: a plan.
        unsafe { pg_sys::ExecSupportsBackwardScan(self.raw()) }
    }
}

/// Declares kinds of plans.
macro_rules! plans {
    ($($name:ident: $tag:ident { $($fields:tt)* })*) => { $(
        handle! { $name, pg_sys::$name }

        // SAFETY: tags are named as their structs.
        unsafe impl Kind for $name {
            const TAG: pg_sys::NodeTag = pg_sys::NodeTag::$tag;
            type Struct = pg_sys::$name;
        }

        impl Deref for $name {
            type Target = Plan;

            fn deref(&self) -> &Plan {
                // SAFETY: every such struct begins with a plan.
                unsafe { Plan::of(self.raw().cast()) }
            }
        }

        fields!($name { $($fields)* });
    )* };
}

plans! {
    CustomScan: T_CustomScan {
        custom_plans: list, custom_exprs: list, custom_private: list, custom_scan_tlist: list, custom_relids: rels,
    }
    Append: T_Append { appendplans: list }
    MergeAppend: T_MergeAppend { mergeplans: list }
    SubqueryScan: T_SubqueryScan { subplan: of(Plan) }
    NestLoop: T_NestLoop { nestParams: list }
    FunctionScan: T_FunctionScan { functions: list }
    IndexScan: T_IndexScan { indexqual: list, indexqualorig: list, indexorderby: list, indexorderbyorig: list }
    IndexOnlyScan: T_IndexOnlyScan { indexqual: list, recheckqual: list, indexorderby: list }
    BitmapIndexScan: T_BitmapIndexScan { indexqual: list, indexqualorig: list }
    BitmapHeapScan: T_BitmapHeapScan { bitmapqualorig: list }
    Result: T_Result { resconstantqual: node }
    Limit: T_Limit { limitOffset: node, limitCount: node }
    HashJoin: T_HashJoin { hashclauses: list, hashkeys: list }
    Agg: T_Agg { numCols: value(i32) }
    Hash: T_Hash { hashkeys: list }
}

impl Agg {
    /// Its keys, as columns of the plan below from 1.
    pub fn keys(&self) -> &[i16] {
        match self.numCols() {
            0 => &[],
            // SAFETY: so many numbers.
            keys => unsafe { std::slice::from_raw_parts((*self.raw()).grpColIdx, keys as usize) },
        }
    }
}

nodes! {
    NestLoopParam: T_NestLoopParam { paramno: value(i32), paramval: node }
    PlanRowMark: T_PlanRowMark { rti: value(pg_sys::Index), markType: value(pg_sys::RowMarkType::Type) }
}

handle! {
    /// The plan of a statement.
    PlannedStmt, pg_sys::PlannedStmt
}
fields!(PlannedStmt {
    planTree: of(Plan),
    subplans: list,
    rtable: list,
    rowMarks: list,
    jitFlags: value(u32)
});

impl PlannedStmt {
    /// Whether it locks rows of a relation (FOR UPDATE and the like).
    pub fn locks(&self, relation: pg_sys::Index) -> bool {
        let is_lock = |mark: &PlanRowMark| mark.markType() < pg_sys::RowMarkType::ROW_MARK_REFERENCE;
        let marks = self.rowMarks();
        marks
            .all::<PlanRowMark>()
            .any(|mark| mark.rti() == relation && is_lock(mark))
    }

    /// Has PostgreSQL compile nothing.
    pub fn leave_out_jit(&self) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).jitFlags = pg_sys::PGJIT_NONE as i32 }
    }
}

impl CustomScan {
    pub fn scanrelid(&self) -> pg_sys::Index {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).scan.scanrelid }
    }

    pub fn set_private(&self, private: Nodes<'_>) {
        // SAFETY: as above.
        unsafe { (*self.raw()).custom_private = private.raw() }
    }

    /// What EXPLAIN calls it.
    pub fn custom_name(&self) -> &CStr {
        // SAFETY: whoever made the plan has set its methods, which stay.
        unsafe { CStr::from_ptr((*self.methods()).CustomName) }
    }

    pub fn methods(&self) -> *const pg_sys::CustomScanMethods {
        // SAFETY: as above.
        unsafe { (*self.raw()).methods }
    }
}

impl BitmapHeapScan {
    /// Has it not look again at what the index has found.
    pub fn leave_out_recheck(&self) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).bitmapqualorig = std::ptr::null_mut() }
    }
}

/// The fields of joins of all kinds.
pub trait Joins {
    fn join(&self) -> *const pg_sys::Join;

    fn kind(&self) -> pg_sys::JoinType::Type {
        // SAFETY: a field of the struct.
        unsafe { (*self.join()).jointype }
    }

    fn joinqual(&self) -> Nodes<'_> {
        // SAFETY: as above.
        unsafe { Nodes::of((*self.join()).joinqual) }
    }
}

impl Joins for NestLoop {
    fn join(&self) -> *const pg_sys::Join {
        self.raw().cast()
    }
}

impl Joins for HashJoin {
    fn join(&self) -> *const pg_sys::Join {
        self.raw().cast()
    }
}

impl HashJoin {
    /// The operator and the collation of a key.
    pub fn operator(&self, key: usize) -> (pg_sys::Oid, pg_sys::Oid) {
        // SAFETY: lists of as many as there are keys.
        unsafe {
            let at = |list: *mut pg_sys::List| (*(*list).elements.add(key)).oid_value;
            (at((*self.raw()).hashoperators), at((*self.raw()).hashcollations))
        }
    }
}
