//! Statistics of the elements of arrays, as a function in FROM takes them apart.

use super::expressions;
use super::kept::give;
use super::sample::Of;
use super::source::Source;
use crate::pg::node::Node;
use crate::pg::parse::{RangeTblEntry, RangeTblFunction};
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::statistics::VariableStatData;
use crate::query::expr::path::{JsonPath, call_of, path_of};
use crate::query::expr::unnesting::{bare, unnests};
use amax_format::{Question, Tag};
use pgrx::pg_sys;

/// The arrays of a relation that a function takes apart, and that relation.
pub struct Arrays<'a> {
    pub rel: &'a RelOptInfo,
    pub source: Source<'a>,
    pub path: JsonPath,
}

impl<'a> Arrays<'a> {
    /// None if it does something else, or nothing is known of them.
    pub fn of(root: &'a PlannerInfo, function: pg_sys::Index, rte: &RangeTblEntry) -> Option<Arrays<'a>> {
        let (table, _) = unnests(function, rte)?;
        let call = rte.functions().get(0)?.as_a::<RangeTblFunction>()?.funcexpr()?;
        let (called, args) = call_of(call)?;
        let is_array = matches!(
            called,
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT
        );
        let path = is_array.then(|| path_of(bare(args[0]), &|_| true))??;
        let rel = root.relation(table)?;
        let source = Source::of(root, rel)?;
        Some(Arrays { rel, source, path })
    }

    /// The elements in a row, on average; rows without an array count. None if nothing is known.
    fn elements(&self) -> Option<f64> {
        let (mut rows, mut elements) = (0, 0);
        for part in self.source.parts() {
            let attribute = self.source.members[part.member].attribute(self.path.attribute)? as usize - 1;
            let Some(lengths) = part.leaf.ask(attribute, &self.path.steps, &Question::Length) else {
                continue;
            };
            rows += part.rows.len();
            let known = part.rows.iter().filter(|&&row| lengths.tag(row as usize) == Tag::Int);
            elements += known.map(|&row| lengths.word(row as usize)).sum::<i64>();
        }
        (rows > 0).then(|| elements as f64 / rows as f64)
    }

    pub fn give(self, root: &PlannerInfo, rel: &RelOptInfo, expression: &Node, data: &VariableStatData) {
        let of = Of::Elements(self.path);
        give(root, self.rel, (&self.source, of, rel.tuples()), expression, data);
        data.leave_out_indexes();
    }
}

/// Tells the planner how many elements a function finds in a row, and of the statistics of what is computed of them; PostgreSQL takes each
/// for one of a hundred. The relation's conditions are estimated anew.
pub fn expect(root: &PlannerInfo, rel: &RelOptInfo, rte: &RangeTblEntry) {
    let Some((arrays, elements)) = Arrays::of(root, rel.relid(), rte).and_then(|arrays| {
        let elements = arrays.elements()?;
        Some((arrays, elements))
    }) else {
        return;
    };
    // As many as there are in all: how many different ones there are is a question about all rows.
    rel.set_tuples((elements * arrays.source.tuples).max(1.0));
    let expressions = expressions::of_relation(root, rel.relid());
    if !expressions.is_empty() {
        rel.offer_statistics(arrays.source.table, expressions.into_iter().collect());
    }
    let selected = root.selectivity_of_all(rel.baserestrictinfo());
    rel.set_rows((elements * selected).max(LEAST));
}

/// Rows of a function, so that nothing is divided by none.
const LEAST: f64 = 1e-3;

/// Before groups are estimated: of a join of all relations a function has as many rows as there are in all arrays, no longer as in
/// those of one row.
pub fn expect_all(root: &PlannerInfo) {
    for rel in root
        .relations()
        .filter(|rel| rel.rtekind() == pg_sys::RTEKind::RTE_FUNCTION)
    {
        if Arrays::of(root, rel.relid(), root.entry(rel.relid())).is_some() {
            rel.expect_rows(rel.tuples() * root.selectivity_of_all(rel.baserestrictinfo()));
        }
    }
}
