//! Statistics of expressions (pg_statistic): made of a sample as ANALYZE makes a column's, and told to the planner.

use super::guard::guarded;
use super::handle::handle;
use super::lookup::{Held, held};
use super::node::{Node, Nodes, copied, duplicate, fields};
use super::planner::{AppendRelInfo, IndexOptInfo, PlannerInfo, RelOptInfo};
use super::presorted::Presorted;
use super::relation::{Opened, Relation};
pub use super::sampled::{Typed, Values};
use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ptr::null_mut;

handle! {
    /// What the planner knows of an expression (selfuncs.h).
    VariableStatData, pg_sys::VariableStatData
}
fields!(VariableStatData {
    var: node,
    rel: some(RelOptInfo)
});

/// A row of pg_statistic that is in no catalog.
pub struct Statistics(Box<[u64]>, u32);

impl VariableStatData {
    /// Gives it a copy. `may_look`: whether values in it may be shown to functions that might tell of them.
    pub fn set(&self, statistics: &Statistics, may_look: bool) {
        let mut kept = statistics.tuple();
        // SAFETY: a tuple; fields of the struct.
        unsafe {
            (*self.raw()).statsTuple = pg_sys::heap_copytuple(&mut kept);
            (*self.raw()).freefunc = Some(free);
            (*self.raw()).acl_ok = may_look;
        }
    }

    /// Says of its relation, which is no table, that it has no index, as what statistics are offered by looks like one: PostgreSQL would look for
    /// the least and the greatest value in it (get_actual_variable_range() of selfuncs.c).
    pub fn leave_out_indexes(&self) {
        // SAFETY: fields of the structs, of which one is a copy.
        unsafe {
            let rel = copied((*self.raw()).rel);
            (*rel).indexlist = null_mut();
            (*self.raw()).rel = rel;
        }
    }
}

/// # Safety
/// As ReleaseVariableStats() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn free(tuple: pg_sys::HeapTuple) {
    // SAFETY: as `VariableStatData::set` has made it.
    unsafe { pg_sys::heap_freetuple(tuple) }
}

impl Statistics {
    /// As a value of pg_statistic's type, in the current memory context.
    pub fn to_value(&self) -> AnyElement {
        let catalog = Opened::with_lock(pg_sys::StatisticRelationId, pg_sys::AccessShareLock);
        let (mut tuple, desc) = (self.tuple(), catalog.desc().raw());
        // SAFETY: a tuple of the catalog's; a value of its type.
        unsafe {
            let value = pg_sys::heap_copy_tuple_as_datum(&mut tuple, desc);
            AnyElement::from_polymorphic_datum(value, false, (*desc).tdtypeid).expect("it is not NULL")
        }
    }

    fn tuple(&self) -> pg_sys::HeapTupleData {
        pg_sys::HeapTupleData {
            t_len: self.1,
            t_data: self.0.as_ptr().cast_mut().cast(),
            ..Default::default()
        }
    }
}

/// How many values statistics of an attribute have at most (SET STATISTICS, or default_statistics_target).
pub fn target(rel: &Relation, attribute: i16) -> i32 {
    let (cache, number) = (
        pg_sys::SysCacheIdentifier::ATTNUM as i32,
        pg_sys::Anum_pg_attribute_attstattarget as i16,
    );
    let (table, mut null) = (pg_sys::Datum::from(rel.id()), true);
    // SAFETY: an attribute of the table, which is looked up; a setting.
    unsafe {
        let found = pg_sys::SearchSysCache2(cache, table, pg_sys::Datum::from(attribute));
        let mut own = -1;
        if !found.is_null() {
            // 32 bits before 17, then 16, and perhaps NULL.
            let value = pg_sys::SysCacheGetAttr(cache, found, number, &mut null);
            own = if null { -1 } else { i32::from(value.value() as i16) };
            pg_sys::ReleaseSysCache(found);
        }
        if own < 0 {
            pg_sys::default_statistics_target
        } else {
            own
        }
    }
}

/// Statistics of an expression of a table that has `rows` rows (std_typanalyze(), do_analyze_rel() of analyze.c), made in the
/// current memory context, where much is left. None if there are none of such values.
pub fn of_values(of: Typed, target: i32, sample: &mut Values, rows: f64) -> Option<Statistics> {
    let mut made = match Presorted::new(of, sample) {
        Some(mut presorted) => {
            let mut made = compute(presorted.of, target, &mut presorted.values, rows)?;
            presorted.restore(of, &mut made);
            made
        }
        None => compute(of, target, sample, rows)?,
    };
    if let Some(distinct) = sample.distinct {
        made.stadistinct = distinct_of(distinct, rows);
    }
    Some(form(&made))
}

/// What compute_stats of a type makes of values.
fn compute(of: Typed, target: i32, sample: &mut Values, rows: f64) -> Option<pg_sys::VacAttrStats> {
    let ty = catalog_type(of.ty)?;
    let mut attribute = pg_sys::FormData_pg_attribute::default();
    // As examine_attribute() and examine_expression() set it.
    let mut made = pg_sys::VacAttrStats {
        attrtypid: of.ty,
        attrtypmod: of.typmod,
        attrtype: std::ptr::from_ref(ty).cast_mut(),
        attrcollid: of.collation,
        statypid: [of.ty; 5],
        statyplen: [ty.typlen; 5],
        statypbyval: [ty.typbyval; 5],
        statypalign: [ty.typalign; 5],
        exprvals: sample.values.as_mut_ptr(),
        exprnulls: sample.nulls.as_mut_ptr(),
        rowstride: 1,
        ..Default::default()
    };
    set_target(&mut made, &mut attribute, target);
    let own = ty.typanalyze;
    // SAFETY: a struct that is filled as these functions want it; what it points to stays until the statistics have been made.
    let compute = unsafe {
        made.anl_context = pg_sys::CurrentMemoryContext;
        let analyze = match own {
            pg_sys::InvalidOid => pg_sys::std_typanalyze(&mut made),
            _ => pg_sys::OidFunctionCall1Coll(own, pg_sys::InvalidOid, (&raw mut made).into()).value() & 1 != 0,
        };
        made.compute_stats.filter(|_| analyze)?
    };
    // SAFETY: as above.
    unsafe { guarded!(compute(&mut made, Some(fetch), sample.values.len() as i32, rows)) };
    made.stats_valid.then_some(made)
}

/// A type's row of pg_type, a copy in the current memory context.
fn catalog_type<'a>(ty: pg_sys::Oid) -> Option<&'a pg_sys::FormData_pg_type> {
    let (cache, none) = (pg_sys::SysCacheIdentifier::TYPEOID as i32, pg_sys::Datum::null());
    // SAFETY: a type that is looked up.
    unsafe {
        let found = pg_sys::SearchSysCacheCopy(cache, ty.into(), none, none, none);
        (!found.is_null()).then(|| &*pg_sys::GETSTRUCT(found).cast())
    }
}

/// Where functions of analyze.c find it.
#[cfg(any(feature = "pg15", feature = "pg16"))]
fn set_target(made: &mut pg_sys::VacAttrStats, attribute: &mut pg_sys::FormData_pg_attribute, target: i32) {
    attribute.attstattarget = target as _;
    made.attr = attribute;
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn set_target(made: &mut pg_sys::VacAttrStats, _attribute: &mut pg_sys::FormData_pg_attribute, target: i32) {
    made.attstattarget = target;
}

/// # Safety
/// As an AnalyzeAttrComputeStatsFunc calls it that [`of_values`] calls.
#[pg_guard]
unsafe extern "C-unwind" fn fetch(stats: *mut pg_sys::VacAttrStats, row: i32, null: *mut bool) -> pg_sys::Datum {
    // SAFETY: as many values as there are rows.
    unsafe {
        *null = *(*stats).exprnulls.add(row as usize);
        *(*stats).exprvals.add(row as usize)
    }
}

/// stadistinct: what grows with the table is said as a part of its rows (compute_scalar_stats() of analyze.c).
fn distinct_of(distinct: f64, rows: f64) -> f32 {
    match distinct > 0.1 * rows {
        true => (-distinct / rows) as f32,
        false => distinct as f32,
    }
}

/// Statistics that have no values, of a table that has `rows` rows.
pub fn of_counts(null_fraction: f64, width: i32, distinct: f64, rows: f64) -> Statistics {
    form(&pg_sys::VacAttrStats {
        stanullfrac: null_fraction as f32,
        stawidth: width,
        stadistinct: distinct_of(distinct, rows),
        ..Default::default()
    })
}

/// Statistics of a type that has no collation by frequent values alone, which `equal` (an operator) tells apart, and what part of the rows each
/// has. All rows differ.
pub fn of_frequent(ty: pg_sys::Oid, equal: u32, frequent: &[(pg_sys::Datum, f64)]) -> Statistics {
    let mut numbers: Vec<f32> = frequent.iter().map(|frequent| frequent.1 as f32).collect();
    let mut values: Vec<pg_sys::Datum> = frequent.iter().map(|frequent| frequent.0).collect();
    let held = held(ty);
    let mut made = pg_sys::VacAttrStats {
        stadistinct: -1.0,
        statypid: [ty; 5],
        statyplen: [held.len; 5],
        statypbyval: [held.by_value; 5],
        statypalign: [held.align; 5],
        ..Default::default()
    };
    made.stakind[0] = pg_sys::STATISTIC_KIND_MCV as i16;
    made.staop[0] = equal.into();
    (made.numnumbers[0], made.stanumbers[0]) = (numbers.len() as i32, numbers.as_mut_ptr());
    (made.numvalues[0], made.stavalues[0]) = (values.len() as i32, values.as_mut_ptr());
    form(&made)
}

/// A row of pg_statistic as update_attstats() of analyze.c forms it.
fn form(made: &pg_sys::VacAttrStats) -> Statistics {
    let catalog = Opened::with_lock(pg_sys::StatisticRelationId, pg_sys::AccessShareLock);
    let natts = catalog.desc().natts();
    let (mut values, mut nulls) = (vec![pg_sys::Datum::null(); natts], vec![false; natts]);
    let mut set = |number: u32, value: pg_sys::Datum| values[number as usize - 1] = value;
    set(
        pg_sys::Anum_pg_statistic_stanullfrac,
        pg_sys::Datum::from(made.stanullfrac.to_bits()),
    );
    set(pg_sys::Anum_pg_statistic_stawidth, pg_sys::Datum::from(made.stawidth));
    set(
        pg_sys::Anum_pg_statistic_stadistinct,
        pg_sys::Datum::from(made.stadistinct.to_bits()),
    );
    for at in 0..pg_sys::STATISTIC_NUM_SLOTS as usize {
        let number = at as u32;
        set(
            pg_sys::Anum_pg_statistic_stakind1 + number,
            pg_sys::Datum::from(made.stakind[at]),
        );
        set(
            pg_sys::Anum_pg_statistic_staop1 + number,
            pg_sys::Datum::from(made.staop[at]),
        );
        set(
            pg_sys::Anum_pg_statistic_stacoll1 + number,
            pg_sys::Datum::from(made.stacoll[at]),
        );
        // SAFETY: as many values as it says, of the types it says.
        let (numbers, common) = unsafe { (numbers_of(made, at), values_of(made, at)) };
        for (first, array) in [
            (pg_sys::Anum_pg_statistic_stanumbers1, numbers),
            (pg_sys::Anum_pg_statistic_stavalues1, common),
        ] {
            nulls[(first + number) as usize - 1] = array.is_null();
            set(first + number, pg_sys::Datum::from(array));
        }
    }
    // SAFETY: values and NULLs of all attributes; a new tuple.
    unsafe {
        let tuple = pg_sys::heap_form_tuple(catalog.desc().raw(), values.as_mut_ptr(), nulls.as_mut_ptr());
        let len = (*tuple).t_len;
        let mut kept = vec![0_u64; (len as usize).div_ceil(8)].into_boxed_slice();
        std::ptr::copy_nonoverlapping((*tuple).t_data.cast::<u8>(), kept.as_mut_ptr().cast(), len as usize);
        Statistics(kept, len)
    }
}

/// # Safety
/// It points to as many numbers as it says.
unsafe fn numbers_of(made: &pg_sys::VacAttrStats, at: usize) -> *mut pg_sys::ArrayType {
    // SAFETY: as the caller promises.
    let numbers = (0..made.numnumbers[at] as usize).map(|n| unsafe { (*made.stanumbers[at].add(n)).to_bits() });
    let mut numbers: Vec<pg_sys::Datum> = numbers.map(pg_sys::Datum::from).collect();
    // SAFETY: values of that type.
    unsafe { array(&mut numbers, pg_sys::FLOAT4OID, held(pg_sys::FLOAT4OID)) }
}

/// # Safety
/// It points to as many values as it says, of the type it says.
unsafe fn values_of(made: &pg_sys::VacAttrStats, at: usize) -> *mut pg_sys::ArrayType {
    // SAFETY: as the caller promises.
    let values = (0..made.numvalues[at] as usize).map(|n| unsafe { *made.stavalues[at].add(n) });
    let held = Held {
        len: made.statyplen[at],
        by_value: made.statypbyval[at],
        align: made.statypalign[at],
    };
    // SAFETY: as the caller promises.
    unsafe { array(&mut values.collect::<Vec<_>>(), made.statypid[at], held) }
}

/// Null for no values.
///
/// # Safety
/// Values of this type.
unsafe fn array(values: &mut [pg_sys::Datum], ty: pg_sys::Oid, held: Held) -> *mut pg_sys::ArrayType {
    if values.is_empty() {
        return null_mut();
    }
    let (at, n) = (values.as_mut_ptr(), values.len() as i32);
    // SAFETY: as the caller promises.
    unsafe { pg_sys::construct_array(at, n, ty, held.len.into(), held.by_value, held.align) }
}

/// In place of an attribute: no variable is one of it.
const NOTHING: i32 = i16::MAX as i32;

impl RelOptInfo {
    /// Says that there are statistics of these expressions over the table: by an index that is none, which examine_variable() of
    /// selfuncs.c finds, and nobody else has a use for. It is not complete, by a predicate that nothing makes true but what is never
    /// true itself; then its key, which is nothing, would have to be asked for (build_index_paths()). It is named by the table.
    pub fn offer_statistics(&self, table: pg_sys::Oid, expressions: Nodes<'_>) {
        let columns = 1 + expressions.len();
        let mut made = pg_sys::IndexOptInfo {
            type_: pg_sys::NodeTag::T_IndexOptInfo,
            indexoid: table,
            rel: self.raw(),
            ncolumns: columns as i32,
            nkeycolumns: 1,
            indexprs: expressions.raw(),
            hypothetical: true,
            ..Default::default()
        };
        // SAFETY: new nodes and arrays: of as many columns, or keys, as are read. All that is not zero is set.
        unsafe {
            made.indexkeys = pg_sys::palloc0(columns * size_of::<i32>()).cast();
            *made.indexkeys = NOTHING;
            made.canreturn = pg_sys::palloc0(columns).cast();
            for key in [&mut made.indexcollations, &mut made.opfamily, &mut made.opcintype] {
                *key = pg_sys::palloc0(size_of::<pg_sys::Oid>()).cast();
            }
            made.indpred = pg_sys::lappend(null_mut(), pg_sys::makeBoolConst(false, false).cast());
            self.add_index(duplicate(IndexOptInfo::of(&mut made)));
        }
    }

    /// Whether [`RelOptInfo::offer_statistics`] has offered some under this name.
    pub fn offers(&self, index: pg_sys::Oid) -> bool {
        self.offered(index, 2).is_some()
    }

    /// The expression that it has offered as a column, from 1.
    pub fn offered(&self, index: pg_sys::Oid, column: i16) -> Option<&Node> {
        self.all_offered(index).get((column as usize).checked_sub(2)?)
    }

    /// All that it has offered.
    pub fn all_offered(&self, index: pg_sys::Oid) -> Nodes<'_> {
        let all = self.indexlist();
        let mut all = all.all::<IndexOptInfo>();
        // SAFETY: an index has a column.
        let is_ours = |known: &IndexOptInfo| unsafe { *(*known.raw()).indexkeys == NOTHING };
        let found = all.find(|known| known.indexoid() == index && is_ours(known));
        found.map_or(Nodes::of_node(None), |known| known.indexprs())
    }
}

/// What of a table's values planning may use.
#[derive(Clone, Copy, PartialEq)]
pub enum Rights {
    All,
    /// By functions that tell nothing of them.
    Leakproof,
    /// None: some of the rows may be hidden.
    Counts,
}

impl Rights {
    /// As examine_variable() has it of an index's statistics: who may not read a child may read the parent that the query names.
    pub fn of(root: &PlannerInfo, rel: &RelOptInfo) -> Rights {
        let (mut relation, mut may_select) = (rel.relid(), false);
        loop {
            if !root.entry(relation).securityQuals().is_empty() {
                return Rights::Counts;
            }
            may_select = may_select || root.may_select(relation);
            let parent = root.parent(relation).map(AppendRelInfo::parent_relid);
            match parent.filter(|&parent| root.entry(parent).rtekind() == pg_sys::RTEKind::RTE_RELATION) {
                Some(parent) => relation = parent,
                None if may_select => return Rights::All,
                None => return Rights::Leakproof,
            }
        }
    }
}
