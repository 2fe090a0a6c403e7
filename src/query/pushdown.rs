//! Paths instead of documents above the scan: PostgreSQL's scans and joins hand up plain variables only, and whatever
//! is above them computes its expressions from those. A path wrapped in a PlaceHolderVar is computed at the bottom, and
//! only its value goes up, through joins, sorts, windows, set-returning functions and aggregates. Paths are strict, so
//! it does not matter on which side of an outer join they are computed.

use super::correlated;
use super::expr::part::known_part;
use super::expr::path::{JsonPath, call_of, path_of, question_of};
use super::expr::tree::{any, has, rewrite, rewrite_all, rewrite_query, walk, walk_all};
use super::late;
use super::plan::wanted::{ancestry, translated};
use super::plan::workers;
use super::scan::plan::Columnar;
use super::statistics;
use super::unnest::plan::unnesting;
use super::unnest::select::move_to_from;
use crate::guc;
use crate::pg::catalog::has_partitions_with;
use crate::pg::expr::{Aggref, Const, FuncExpr, PlaceHolderVar, SubscriptingRef, Var, WindowFunc};
use crate::pg::lookup::held;
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{FromExpr, JoinExpr, RangeTblEntry, SortGroupClause};
use crate::pg::planner::{AppendRelInfo, IndexOptInfo, PlannerInfo, RelOptInfo, StatisticExtInfo};
use amax_format::Question;
use pgrx::pg_sys;

/// When the planner learns of a relation: the first place after the tree has been preprocessed, and the last before
/// variables are handed out.
pub fn relation_info(root: &PlannerInfo, table: pg_sys::Oid, inhparent: bool, rel: &RelOptInfo) {
    let parse = root.parse();
    let computes_above = parse.rtable().len() > 1
        || parse.hasAggs()
        || parse.hasWindowFuncs()
        || parse.hasTargetSRFs()
        || parse.groupClause().is_some();
    if !guc::custom_scan() {
        return;
    }
    let is_base = rel.reloptkind() == pg_sys::RelOptKind::RELOPT_BASEREL;
    if inhparent {
        if is_base && computes_above && is_partitioned(root, rel, table) && !root.may_have_ends_by_index() {
            push_down(root, rel);
        }
        return;
    }
    if !is_base {
        keep_of_member(root, rel);
    }
    if Columnar::of(table).is_none() {
        return;
    }
    workers::charge();
    if rel.reloptkind() == pg_sys::RelOptKind::RELOPT_BASEREL {
        correlated::narrow(root, rel);
    }
    if rel.reloptkind() == pg_sys::RelOptKind::RELOPT_BASEREL && computes_above {
        push_down(root, rel);
        late::postpone(root, rel, table);
    }
    statistics::offer(root, rel, table);
}

/// Whether a table has partitions of ours.
fn is_partitioned(root: &PlannerInfo, rel: &RelOptInfo, table: pg_sys::Oid) -> bool {
    root.entry(rel.relid()).relkind() == pg_sys::RELKIND_PARTITIONED_TABLE && has_partitions_with(table, c"amax")
}

/// What is found by expressions of a partition, where those are wrapped for its parent.
fn keep_of_member(root: &PlannerInfo, rel: &RelOptInfo) {
    let chain = ancestry(root, rel.relid());
    let Some(topmost) = chain.first().map(|info| info.parent_relid()) else {
        return;
    };
    let mut wrapper = Wrapper::new(root, rel.relid(), Vec::new());
    let parse = root.parse();
    let sources = root.processed_tlist().as_node().into_iter().chain(parse.havingQual());
    for source in sources.chain(parse.jointree().map(|from| &**from)) {
        walk(source, &mut |node| {
            let wrapped = node.as_a::<PlaceHolderVar>();
            if let Some(wrapped) =
                wrapped.filter(|wrapped| wrapped.phrels().is_one() && wrapped.phrels().contains(topmost))
            {
                let expression = wrapped.phexpr().map(|inner| translated(root, inner, &chain));
                let of_member = (expression, translated(root, node, &chain));
                wrapper
                    .known
                    .extend(of_member.0.map(|expression| (expression, of_member.1)));
            }
            wrapped.is_none()
        });
    }
    if !wrapper.known.is_empty() {
        wrapper.keep_statistics(rel);
        wrapper.keep_indexes(rel);
    }
}

fn push_down(root: &PlannerInfo, rel: &RelOptInfo) {
    move_to_from(root, rel.relid());
    // The elements of its documents' arrays are read by the scan as well.
    let elements = unnesting(root, rel.relid());
    // Where an index finds what is least or greatest, that is known by its argument.
    let kept = if root.may_have_ends_by_index() {
        indexed_paths(rel)
    } else {
        Vec::new()
    };
    let mut wrapper = Wrapper::new(root, rel.relid(), kept);
    wrapper.wrap_query();
    wrapper.keep_statistics(rel);
    wrapper.keep_indexes(rel);
    for function in elements {
        let mut wrapper = Wrapper::new(root, function, Vec::new());
        wrapper.of_table = false;
        wrapper.wrap_query();
    }
}

struct Wrapper<'a> {
    root: &'a PlannerInfo,
    relid: pg_sys::Index,
    /// Of elements only paths are wrapped.
    of_table: bool,
    /// Paths that stay as they are.
    kept: Vec<JsonPath>,
    /// Paths met, and what takes their place.
    known: Vec<(&'a Node, &'a Node)>,
    /// Above grouping sets: the groups' keys. A path is computed of those there, which are NULL in some of the sets.
    keys: Option<Vec<&'a Node>>,
}

impl<'a> Wrapper<'a> {
    fn new(root: &'a PlannerInfo, relid: pg_sys::Index, kept: Vec<JsonPath>) -> Wrapper<'a> {
        Wrapper {
            root,
            relid,
            of_table: true,
            kept,
            known: Vec::new(),
            keys: None,
        }
    }

    fn wrap_query(&mut self) {
        let (root, parse) = (self.root, self.root.parse());
        self.keys = keys_of_sets(root);
        root.set_targets(self.wrap_all(root.processed_tlist()));
        parse.set_having(parse.havingQual().map(|having| self.wrap(having)));
        self.keys = None;
        if let Some(from) = parse.jointree() {
            self.wrap_joins(from);
        }
        // Of an arm of UNION ALL the planner asks the whole union what it refers to, which has its own copy.
        let arms = root.append_rel_list().all::<AppendRelInfo>();
        let arms: Vec<pg_sys::Index> = arms.map(AppendRelInfo::child_relid).collect();
        let relations = (1..).zip(parse.rtable().all::<RangeTblEntry>());
        for (_, rte) in relations.filter(|(at, rte)| rte.lateral() && !arms.contains(at)) {
            if rte.rtekind() == pg_sys::RTEKind::RTE_FUNCTION {
                rte.set_functions(self.wrap_all(rte.functions()));
            } else if let Some(query) = rte.subquery() {
                rte.set_subquery(rewrite_query(query, &mut |node| self.replacement_below(node)));
            }
        }
    }

    /// What takes the place of a node of a lateral subquery, which has not been planned yet, and of which this query is the one above.
    fn replacement_below(&mut self, node: &'a Node) -> Option<&'a Node> {
        if node.is_a::<PlaceHolderVar>() {
            return Some(node);
        }
        let relid = self.relid;
        let is_ours = |node: &Node| {
            let var = node.as_a::<Var>();
            var.is_some_and(|var| var.varlevelsup() == 1 && var.relation() == relid)
        };
        if !may_be_path(node) || !any(node, is_ours) {
            return None;
        }
        Some(self.wrapped_path(node.of_level(-1))?.of_level(1))
    }

    /// What takes the place of an expression that is wrapped.
    fn wrapped(&self, node: &Node) -> Option<&'a Node> {
        self.known
            .iter()
            .find(|known| known.0.equals(node))
            .map(|known| known.1)
    }

    /// Extended statistics on expressions are found by the expressions: those of wrapped paths, too.
    fn keep_statistics(&self, rel: &RelOptInfo) {
        for known in rel.statlist().all::<StatisticExtInfo>() {
            if let Some(expressions) = self.all_wrapped(known.exprs()) {
                rel.add_statistics(known.with(expressions));
            }
        }
    }

    /// So are indexes; as they were they are found by the conditions of the relation alone, which are not wrapped.
    fn keep_indexes(&self, rel: &RelOptInfo) {
        for known in rel.indexlist().all::<IndexOptInfo>() {
            if let (Some(expressions), Some(columns)) =
                (self.all_wrapped(known.indexprs()), self.all_wrapped(known.indextlist()))
            {
                rel.add_index(known.with(expressions, columns));
            }
        }
    }

    /// The same with what takes the place of what is wrapped, if anything is.
    fn all_wrapped<'b>(&self, nodes: Nodes<'b>) -> Option<Nodes<'b>>
    where
        'a: 'b,
    {
        let mut changed = false;
        let wrapped = rewrite_all(nodes, &mut |node| {
            let wrapped = self.wrapped(node)?;
            changed = true;
            Some(wrapped)
        });
        changed.then_some(wrapped)
    }

    fn wrap(&mut self, node: &'a Node) -> &'a Node {
        rewrite(node, &mut |node| self.replacement(node))
    }

    fn wrap_all(&mut self, nodes: Nodes<'a>) -> Nodes<'a> {
        rewrite_all(nodes, &mut |node| self.replacement(node))
    }

    /// What takes the place of a node, if it is not only what is below it that may change.
    fn replacement(&mut self, node: &'a Node) -> Option<&'a Node> {
        if node.is_a::<PlaceHolderVar>() {
            // Somebody else's; what is in it is computed where that is.
            return Some(node);
        }
        if let Some(call) = node.as_a::<WindowFunc>() {
            let args = self.wrap_all(call.args());
            call.set(args, call.aggfilter().map(|filter| self.wrap(filter)));
            return Some(node);
        }
        if let Some(keys) = self.keys.take() {
            // What is aggregated is of rows, unless it has arguments of the group.
            let of_rows = node
                .as_a::<Aggref>()
                .is_some_and(|call| !call.aggdirectargs().is_some());
            let wraps = of_rows || has(&keys, node);
            let wrapped = wraps.then(|| self.wrap(node));
            self.keys = Some(keys);
            return wrapped;
        }
        if let Some(call) = node.as_a::<Aggref>() {
            let (direct, args) = (self.wrap_all(call.aggdirectargs()), self.wrap_all(call.args()));
            call.set(direct, args, call.aggfilter().map(|filter| self.wrap(filter)));
            return Some(node);
        }
        self.wrapped_path(node)
    }

    /// The same of a path of the relation or a question about one, or of rows of jsonb_path_query().
    fn wrapped_path(&mut self, node: &'a Node) -> Option<&'a Node> {
        let relid = self.relid;
        let is_ours = |var: &Var| var.relation() == relid;
        if let Some(call) = values_of(node).filter(|call| self.of_table && question_of(call.array, &is_ours).is_some())
        {
            let array = self.replacement(call.array)?;
            return Some(rewrite(node, &mut |part| match part {
                part if std::ptr::eq(part, call.document) => Some(array),
                part if std::ptr::eq(part, call.path) => elements(),
                _ => None,
            }));
        }
        let path = match question_of(node, &is_ours).filter(|_| self.of_table) {
            // It may raise an error, so it stays where the query has it; what it asks about may go.
            Some((_, Question::Length)) => return None,
            Some((path, _)) => Some(path),
            None => path_of(node, &is_ours),
        };
        match path {
            Some(path) if self.kept.contains(&path) => return Some(node),
            Some(_) => {}
            None => drop(known_part(node, &is_ours).filter(|_| self.of_table)?),
        }
        if let Some(wrapped) = self.wrapped(node) {
            return Some(wrapped);
        }
        let wrapped = self.placeholder(node);
        self.known.push((node, wrapped));
        Some(wrapped)
    }

    fn placeholder(&self, expression: &'a Node) -> &'a Node {
        let number = self.root.next_placeholder();
        #[cfg(feature = "pg15")]
        return PlaceHolderVar::new(expression, self.relid, number);
        #[cfg(not(feature = "pg15"))]
        {
            // Below the outer joins that may make it NULL.
            let mut nulling = None;
            let bottom = rewrite(expression, &mut |node| {
                let (below, joins) = node.as_a::<Var>()?.below_joins();
                nulling = Some(joins);
                Some(below)
            });
            let made = PlaceHolderVar::new(bottom, self.relid, number);
            nulling.into_iter().for_each(|nulling| made.set_nulling(nulling));
            made
        }
    }

    /// Conditions between relations; those of one are the scan's own.
    fn wrap_joins(&mut self, node: &'a Node) {
        if let Some(from) = node.as_a::<FromExpr>() {
            from.fromlist().iter().for_each(|item| self.wrap_joins(item));
            from.set_quals(self.wrap_conditions(from.quals()));
        } else if let Some(join) = node.as_a::<JoinExpr>() {
            join.larg()
                .into_iter()
                .chain(join.rarg())
                .for_each(|side| self.wrap_joins(side));
            join.set_quals(self.wrap_conditions(join.quals()));
        }
    }

    fn wrap_conditions(&mut self, quals: Option<&'a Node>) -> Option<&'a Node> {
        let conditions = Nodes::of_node(quals);
        // preprocess_qual_conditions() of planner.c has made lists of them.
        assert!(quals.is_none() || conditions.is_some(), "conditions are a list");
        let conditions = conditions.iter();
        let conditions: Nodes = conditions
            .map(|condition| match self.root.varnos(condition).is_several() {
                true => self.wrap(condition),
                false => condition,
            })
            .collect();
        conditions.as_node()
    }
}

/// Whether a node is of a kind that paths are, and questions about them.
fn may_be_path(node: &Node) -> bool {
    node.is_a::<SubscriptingRef>() || call_of(node).is_some()
}

/// A call of jsonb_path_query().
struct Values<'a> {
    document: &'a Node,
    path: &'a Node,
    /// What it returns, as an array.
    array: &'a Node,
}

/// The rows of jsonb_path_query() are the elements of what jsonb_path_query_array() returns, which is computed at the bottom.
fn values_of(node: &Node) -> Option<Values<'_>> {
    let call = node.as_a::<FuncExpr>()?;
    let args = call.args();
    let &[document, path, ..] = &args.to_vec()[..] else {
        return None;
    };
    let of_array = pg_sys::F_JSONB_PATH_QUERY_ARRAY.into();
    let is_one = matches!(
        call.funcid().to_u32(),
        pg_sys::F_JSONB_PATH_QUERY | pg_sys::F_JSONB_PATH_QUERY_TZ
    );
    is_one.then(|| Values {
        document,
        path,
        array: FuncExpr::of_plain(of_array, pg_sys::JSONBOID, args),
    })
}

/// `$[*]`: the elements of an array.
fn elements<'a>() -> Option<&'a Node> {
    // SAFETY: a path.
    let path =
        unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonpath_in, &[pgrx::IntoDatum::into_datum(c"$[*]")]) };
    let of_bytes = held(pg_sys::JSONPATHOID);
    Some(Const::make(
        pg_sys::JSONPATHOID,
        pg_sys::InvalidOid,
        (of_bytes.len, of_bytes.by_value),
        (path?, false),
    ))
}

/// The expressions that a query with grouping sets groups by.
fn keys_of_sets(root: &PlannerInfo) -> Option<Vec<&Node>> {
    let parse = root.parse();
    let clauses = parse.groupClause().all::<SortGroupClause>();
    let keys = clauses.map(|clause| clause.expression(root.processed_tlist()));
    parse.groupingSets().is_some().then(|| keys.collect())
}

/// Paths in the expressions and predicates of a relation's indexes.
fn indexed_paths(rel: &RelOptInfo) -> Vec<JsonPath> {
    let mut found = Vec::new();
    for index in rel.indexlist().all::<IndexOptInfo>() {
        for list in [index.indexprs(), index.indpred()] {
            walk_all(list, &mut |node| {
                let question = || question_of(node, &|_| true).map(|(path, _)| path);
                let path = path_of(node, &|_| true).or_else(question);
                let inner = path.is_none();
                found.extend(path);
                inner
            });
        }
    }
    found
}
