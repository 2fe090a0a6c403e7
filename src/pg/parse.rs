//! Nodes of statements and queries (parsenodes.h).

use super::node::{Node, Nodes, make, new_string, nodes, raw_of};
use super::settings::Portable;
use pgrx::pg_sys;
use std::ffi::CStr;

nodes! {
    RawStmt: T_RawStmt { stmt: node }
    CopyStmt: T_CopyStmt { query: node, is_from: value(bool), is_program: value(bool), options: list }
    DefElem: T_DefElem { arg: node }
    Query: T_Query {
        commandType: value(pg_sys::CmdType::Type), querySource: value(pg_sys::QuerySource::Type),
        hasAggs: value(bool), hasWindowFuncs: value(bool), hasTargetSRFs: value(bool), hasDistinctOn: value(bool), hasSubLinks: value(bool),
        hasModifyingCTE: value(bool), utilityStmt: node, cteList: list, rtable: list, jointree: some(FromExpr), targetList: list,
        mergeActionList: list, returningList: list, groupClause: list, groupingSets: list, havingQual: node,
        windowClause: list, distinctClause: list, sortClause: list, limitOffset: node, limitCount: node,
        limitOption: value(pg_sys::LimitOption::Type), rowMarks: list, setOperations: node,
    }
    RangeTblEntry: T_RangeTblEntry {
        rtekind: value(pg_sys::RTEKind::Type), relid: value(pg_sys::Oid), relkind: value(u8), inh: value(bool),
        lateral: value(bool), security_barrier: value(bool), tablesample: node, subquery: some(Query), functions: list,
        securityQuals: list, ctelevelsup: value(u32), self_reference: value(bool),
    }
    RangeTblFunction: T_RangeTblFunction { funcexpr: node }
    RangeTblRef: T_RangeTblRef { rtindex: value(pg_sys::Index) }
    FromExpr: T_FromExpr { fromlist: list, quals: node }
    JoinExpr: T_JoinExpr { larg: node, rarg: node, quals: node }
    CommonTableExpr: T_CommonTableExpr { ctequery: node }
    WindowClause: T_WindowClause { partitionClause: list, orderClause: list }
    SortGroupClause: T_SortGroupClause {
        tleSortGroupRef: value(u32), eqop: value(pg_sys::Oid), sortop: value(pg_sys::Oid), nulls_first: value(bool),
    }
}

impl CopyStmt {
    /// The table that is copied, if it is not a query.
    pub fn table(&self) -> Option<&pg_sys::RangeVar> {
        // SAFETY: a node of the tree, or null.
        unsafe { (*self.raw()).relation.as_ref() }
    }

    /// Whether it copies a column of this name: all, if none are listed.
    pub fn lists(&self, name: &CStr) -> bool {
        // SAFETY: a list of strings, or null.
        let names = unsafe { Nodes::of((*self.raw()).attlist) };
        !names.is_some() || names.iter().any(|listed| listed.string() == Some(name))
    }

    /// The options' names, and their values where those are plain words or strings.
    pub fn words(&self) -> impl Iterator<Item = (&CStr, Option<&CStr>)> {
        let options = self.options().iter().filter_map(|option| option.as_a::<DefElem>());
        options.map(|option| (option.name(), option.arg().and_then(Node::string)))
    }

    /// Whether an option of its is on. An error, unless its value is a boolean.
    pub fn is_on(&self, name: &CStr) -> bool {
        // SAFETY: an option of the parser's.
        self.option(name)
            .is_some_and(|option| unsafe { pg_sys::defGetBoolean(option.raw()) })
    }

    /// The number that an option of its has; 0 for none. An error, unless its value is an integer.
    pub fn number(&self, name: &CStr) -> i64 {
        // SAFETY: an option of the parser's.
        self.option(name)
            .map_or(0, |option| unsafe { pg_sys::defGetInt64(option.raw()) })
    }

    fn option(&self, name: &CStr) -> Option<&DefElem> {
        let mut options = self.options().iter().filter_map(|option| option.as_a::<DefElem>());
        options.find(|option| option.name() == name)
    }

    /// The file or program that is copied to or from, if it is not the client.
    pub fn filename(&self) -> Option<&CStr> {
        // SAFETY: a string, or null.
        unsafe {
            let name = (*self.raw()).filename;
            (!name.is_null()).then(|| CStr::from_ptr(name))
        }
    }
}

impl DefElem {
    pub fn name(&self) -> &CStr {
        // SAFETY: every option has one.
        unsafe { CStr::from_ptr((*self.raw()).defname) }
    }
}

impl Query {
    /// Whether what is selected is of groups of rows.
    pub fn is_grouped(&self) -> bool {
        self.hasAggs() || self.groupClause().is_some() || self.havingQual().is_some()
    }

    /// A target list in place of its own, which calls no set-returning function.
    pub fn set_targets(&self, targets: Nodes<'_>) {
        // SAFETY: fields of the struct.
        unsafe {
            (*self.raw()).targetList = targets.raw();
            (*self.raw()).hasTargetSRFs = false;
        }
    }

    pub fn set_having(&self, condition: Option<&Node>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).havingQual = raw_of(condition) }
    }

    /// As SQL that says the same under whatever settings (pg_get_querydef()).
    pub fn definition(&self) -> &CStr {
        let _portable = Portable::begin();
        // SAFETY: a query that has been analyzed; a palloc'd string.
        unsafe { CStr::from_ptr(pg_sys::pg_get_querydef(self.raw(), false)) }
    }

    /// The relation of a number.
    pub fn relation(&self, number: pg_sys::Index) -> Option<&RangeTblEntry> {
        self.rtable().get(number as usize - 1)?.as_a()
    }

    /// Puts a call of a function into FROM, as the next relation, whose number is `relation`; `columns` are its names.
    pub fn add_function<'a>(
        &'a self,
        call: &'a Node,
        function: pg_sys::Oid,
        columns: &[&CStr],
        relation: pg_sys::Index,
    ) -> &'a RangeTblEntry {
        // SAFETY: all fields that are not zero are set. A query that selects has a FROM, which may be empty.
        unsafe {
            let called = make::<RangeTblFunction>();
            (*called.raw()).funcexpr = call.raw();
            (*called.raw()).funccolcount = columns.len() as i32;
            let names: Nodes = columns.iter().map(|name| new_string(name)).collect();
            let rte = make::<RangeTblEntry>();
            (*rte.raw()).rtekind = pg_sys::RTEKind::RTE_FUNCTION;
            (*rte.raw()).functions = Nodes::NONE.with(called).raw();
            (*rte.raw()).lateral = true;
            (*rte.raw()).inFromCl = true;
            (*rte.raw()).eref = pg_sys::makeAlias(pg_sys::get_func_name(function), names.raw());
            (*self.raw()).rtable = self.rtable().with(rte).raw();
            let reference = make::<RangeTblRef>();
            (*reference.raw()).rtindex = relation as i32;
            let from = (*self.raw()).jointree;
            (*from).fromlist = Nodes::of((*from).fromlist).with(reference).raw();
            rte
        }
    }
}

impl CommonTableExpr {
    pub fn name(&self) -> &CStr {
        // SAFETY: every one has a name.
        unsafe { CStr::from_ptr((*self.raw()).ctename) }
    }
}

impl RangeTblEntry {
    /// The name of the CTE that it is.
    pub fn cte(&self) -> Option<&CStr> {
        // SAFETY: a string, or null.
        unsafe {
            let name = (*self.raw()).ctename;
            (!name.is_null()).then(|| CStr::from_ptr(name))
        }
    }

    /// Whether it has a column, or an alias of one, of this name.
    pub fn has_column(&self, name: &CStr) -> bool {
        // SAFETY: every entry has a list of strings.
        let names = unsafe { Nodes::of((*(*self.raw()).eref).colnames) };
        names.iter().any(|column| column.string() == Some(name))
    }

    pub fn set_subquery(&self, query: &Query) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).subquery = query.raw() }
    }

    pub fn set_functions(&self, functions: Nodes<'_>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).functions = functions.raw() }
    }
}

impl FromExpr {
    pub fn set_quals(&self, quals: Option<&Node>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).quals = raw_of(quals) }
    }
}

impl WindowClause {
    /// Conditions on values of its functions: where one is false its node need not go on.
    pub fn run_conditions<'a>(&'a self, functions: Nodes<'a>) -> Nodes<'a> {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        {
            let _ = functions;
            // SAFETY: a list of expressions.
            unsafe { Nodes::of((*self.raw()).runCondition) }
        }
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        functions
            .all::<super::expr::WindowFunc>()
            .flat_map(super::expr::WindowFunc::run_conditions)
            .collect()
    }
}

impl JoinExpr {
    pub fn set_quals(&self, quals: Option<&Node>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).quals = raw_of(quals) }
    }
}

impl SortGroupClause {
    /// The expression of a target list that it is about (get_sortgroupclause_expr()).
    pub fn expression<'a>(&self, targets: Nodes<'a>) -> &'a Node {
        // SAFETY: a clause of the query whose target list it is; an error if there is none.
        unsafe { Node::of(pg_sys::get_sortgroupclause_expr(self.raw(), targets.raw())) }
    }
}
