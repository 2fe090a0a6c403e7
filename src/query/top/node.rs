//! The top node as PostgreSQL's executor runs it.

use super::private::{Expressions, TopPlan};
use super::state::Top;
use crate::encoding::shown;
use crate::pg::Slot;
use crate::pg::explain::{Deparser, ExplainState};
use crate::pg::expr::Const;
use crate::pg::node::{Node, Nodes};
use crate::pg::state::{CustomScanState, EState};
use crate::query::batch::child::{begin_child, child, input, rescan_child};
use crate::query::batch::explain::{materialization, named_columns, text};
use crate::query::expr::compile::reads;
use crate::query::plan::node::{CustomNode, ExecMethods};
use crate::query::plan::private::Private;

static METHODS: ExecMethods = ExecMethods::of::<Top>(c"AmaxTop");

impl CustomNode for Top {
    fn methods() -> &'static ExecMethods {
        &METHODS
    }

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Top {
        begin_child(node, estate, flags);
        Top::new(node, &mut *input(node))
    }

    fn next(&mut self, node: &'static CustomScanState) -> Option<&'static Slot> {
        crate::memory::check_for_interrupts();
        node.econtext().reset();
        let mut input = input(node);
        if !self.advance(&mut *input, node.econtext()) {
            return None;
        }
        let rows = input.rows();
        rows.fill(&self.output);
        let slot = rows.scan_slot;
        drop(input);
        Some(node.project(slot))
    }

    fn end(&mut self, node: &CustomScanState) {
        self.restart();
        child(node).end();
    }

    fn rescan(&mut self, node: &CustomScanState) {
        self.restart();
        rescan_child(node);
    }

    /// By what the best rows are found, how many are asked for, and what is read of those alone.
    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        materialization("ultra late", es);
        let deparser = Deparser::new(node, ancestors, es);
        let shown = |expression: &&Node| shown(deparser.text(expression).to_bytes()).into_owned();
        let private = TopPlan::of_plan(node.scan());
        let Expressions {
            groups,
            keys,
            checks,
            limits,
        } = private.expressions(node.scan());
        let mut by: Vec<String> = Vec::new();
        for (key, direction) in keys.iter().zip(&private.keys) {
            // As show_sortorder_options() of explain.c.
            let order = match (direction.descending, direction.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            };
            by.push(shown(key) + order);
        }
        if private.ties {
            by.push("...".into());
        }
        if !groups.is_empty() {
            let groups: Vec<String> = groups.iter().map(shown).collect();
            text(c"Group Key", &groups.join(", "), es);
        }
        if !by.is_empty() {
            text(c"Best By", &by.join(", "), es);
        }
        let known = |limit: &&Node| limit.as_a::<Const>()?.value().map(|rows| rows.value() as u64);
        match limits.iter().map(known).sum::<Option<u64>>() {
            _ if limits.is_empty() => {}
            Some(count) if !private.peers => es.integer(c"Best Rows", count.saturating_add_signed(private.more.into())),
            Some(count) => text(
                c"Best Rows",
                &format!("{} with ties", count.saturating_add_signed(private.more.into())),
                es,
            ),
            None => {
                let limits: Vec<String> = limits.iter().map(shown).collect();
                let ties = if private.peers { " with ties" } else { "" };
                text(c"Best Rows", &(limits.join(" + ") + ties), es);
            }
        }
        let computed = groups.iter().chain(&keys).chain(&checks).flat_map(|node| reads(node));
        let computed: Vec<usize> = computed.collect();
        let mut late = self.output.clone();
        late.retain(|at| !computed.contains(at));
        named_columns(c"Late Columns", input(node).rows(), late, &[], es);
        if es.analyze() && self.all {
            text(c"Handed Up", "all rows", es);
        } else if es.analyze() && self.parts > 1 {
            text(c"Handed Up", &format!("best rows of {} parts", self.parts), es);
        }
    }
}
