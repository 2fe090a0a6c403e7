//! EXPLAIN of a join: in which order the other sides were asked, and what they left.

use super::node::Join;
use crate::encoding::shown;
use crate::pg::explain::ExplainState;
use crate::pg::node::Nodes;
use crate::pg::state::CustomScanState;
use crate::query::batch::explain::{Conditions, materialization, text};
use crate::query::batch::reasons;

impl Join {
    pub(super) fn show(&self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        materialization("ultra late", es);
        let shown_as = Conditions::of(node, ancestors, es);
        if es.verbose() {
            reasons::show(reasons::of_rows(&self.rows, &shown_as), es);
        }
        let indexes =
            self.indexes
                .iter()
                .flatten()
                .map(|index| match es.analyze() && !self.spine.scan.plan().parallel_aware() {
                    true => format!("{} ({} of {})", shown(index.name.as_bytes()), index.told, index.asked),
                    false => shown(index.name.as_bytes()).into_owned(),
                });
        let indexes: Vec<String> = indexes.collect();
        if !indexes.is_empty() {
            text(c"Join Indexes", &indexes.join(", "), es);
        }
        // Not where others have rows of the scan, too.
        if es.analyze() && !self.spine.scan.plan().parallel_aware() {
            let keys = |side: usize| {
                let keys = self.spine.levels[side].outer_keys.iter();
                let keys: Vec<_> = keys.map(|key| shown(shown_as.text(key).to_bytes())).collect();
                keys.join(", ")
            };
            let probe = |place| {
                let at = self.order.at(place);
                let passed = self.order.passed(at);
                format!("{} ({} of {})", keys(at), passed.left, passed.asked)
            };
            let probes: Vec<String> = (0..self.order.len()).map(probe).collect();
            text(c"Probes", &probes.join(", "), es);
            let by_keys = (0..self.by_keys.len()).filter(|&side| self.by_keys[side]).map(keys);
            let by_keys: Vec<String> = by_keys.collect();
            if !by_keys.is_empty() {
                text(c"Sides Read by Keys", &by_keys.join("; "), es);
            }
        }
    }
}
