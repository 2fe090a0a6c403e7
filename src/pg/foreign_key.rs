//! Foreign keys as the planner knows them (pathnodes.h), and those that there might as well be.

use super::node::copied;
use super::planner::{IndexOptInfo, PlannerInfo, RelOptInfo};
use pgrx::pg_sys;

/// Columns of two tables that are equal, and the operator that says so.
#[derive(Clone, Copy)]
pub struct Equal {
    pub of: i16,
    pub to: i16,
    pub operator: pg_sys::Oid,
}

impl PlannerInfo {
    /// Has joins of two tables by these columns be estimated as if those of the first were a foreign key that refers to the second's; when equalities are known,
    /// and before joins are looked at (match_foreign_keys_to_quals() of initsplan.c). False if they are not known to be equal.
    pub fn expect_foreign_key(&self, of: &RelOptInfo, to: &RelOptInfo, columns: &[Equal]) -> bool {
        let mut key = pg_sys::ForeignKeyOptInfo {
            type_: pg_sys::NodeTag::T_ForeignKeyOptInfo,
            con_relid: of.relid(),
            ref_relid: to.relid(),
            nkeys: columns.len() as i32,
            ..Default::default()
        };
        for (at, column) in columns.iter().enumerate() {
            key.conkey[at] = column.of;
            key.confkey[at] = column.to;
            key.conpfeqop[at] = column.operator;
        }
        // SAFETY: the planner's node, and a new one; the list's cell is the planner's, too.
        unsafe {
            let key = copied(&key);
            for at in 0..columns.len() {
                let class = pg_sys::match_eclasses_to_foreign_key_col(self.raw(), key, at as i32);
                let Some(known) = class.as_ref() else { return false };
                (*key).eclass[at] = class;
                (*key).nmatched_ec += 1;
                (*key).nconst_ec += i32::from(known.ec_has_const);
            }
            (*self.raw()).fkey_list = pg_sys::lappend((*self.raw()).fkey_list, key.cast());
        }
        true
    }
}

impl IndexOptInfo {
    /// The columns of a table that have no values twice, as this index sees to; None if it does not, or not of columns alone.
    pub fn unique_columns(&self) -> Option<Vec<i16>> {
        // SAFETY: fields of the struct; an array of as many columns as it says.
        let columns: Vec<i16> = unsafe {
            let index = &*self.raw();
            let unique = index.unique && index.immediate && !index.hypothetical && index.indpred.is_null();
            let keys = if unique { index.nkeycolumns as usize } else { 0 };
            (0..keys).map(|at| *index.indexkeys.add(at) as i16).collect()
        };
        (!columns.is_empty() && columns.iter().all(|&column| column > 0)).then_some(columns)
    }
}
