//! The aggregate node: keys and arguments are computed as vectors of the scan's leaves, and grouped as such.

use super::having::Having;
use super::passes::Passes;
use super::pieces::Inbox;
use super::private::{AggregatePlan, Part};
use super::rows::Inputs;
use super::state::State;
use crate::encoding;
use crate::pg::Slot;
use crate::pg::explain::ExplainState;
use crate::pg::node::Nodes;
use crate::pg::state::{CustomScanState, EState};
use crate::query::batch::child::{begin_child, child, input, rescan_child};
use crate::query::batch::explain::{Conditions, materialization, text};
use crate::query::batch::raise::raise;
use crate::query::expr::entry::expressions;
use crate::query::plan::node::{CustomNode, ExecMethods, state_of};
use crate::query::plan::private::Private;
use std::cell::RefCell;
use std::rc::Rc;

static METHODS: ExecMethods = ExecMethods::of_shared::<Aggregation>(c"AmaxAggregate");

/// A node, or a part of one.
pub struct Aggregation {
    pub plan: AggregatePlan,
    having: Option<Having>,
    /// In the leader that of both parts. It is not borrowed while a node below runs.
    pub state: Rc<RefCell<State>>,
}

impl CustomNode for Aggregation {
    fn methods() -> &'static ExecMethods {
        &METHODS
    }

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Aggregation {
        let plan = AggregatePlan::of_plan(node.scan());
        let below = begin_child(node, estate, flags);
        let entries = expressions(node.scan().custom_scan_tlist());
        let (keys, others) = entries.split_at(plan.keys);
        let aggregates = &others[..plan.aggregates];
        let mut having = None;
        if plan.part != Part::Lower {
            let conditions = AggregatePlan::conditions(node.scan());
            having = Having::new(&conditions, plan.keys, aggregates);
            node.set_conditions(conditions.into_iter().collect());
        }
        if plan.part == Part::Upper {
            let lower = below.lefttree().and_then(|lower| lower.as_a::<CustomScanState>());
            let lower = state_of::<Aggregation>(lower.expect("the lower part is below Gather"));
            let state = lower.borrow().state.clone();
            return Aggregation { plan, having, state };
        }
        let inputs = Inputs::new(&mut *input(node), keys, aggregates, plan.sets.clone());
        let mut state = State::new(inputs, plan.part == Part::Lower);
        if plan.bounds && plan.part == Part::Whole && input(node).has_leaves() {
            state.in_order = state.inputs.key_in_order().map(|key| Rc::new(Passes::new(key.clone())));
        }
        let state = Rc::new(RefCell::new(state));
        Aggregation { plan, having, state }
    }

    fn next(&mut self, node: &'static CustomScanState) -> Option<&'static Slot> {
        if self.plan.part == Part::Lower {
            return self.send(node);
        }
        let (econtext, slot) = (node.econtext(), node.scan_slot());
        loop {
            crate::memory::check_for_interrupts();
            econtext.reset();
            let group = self.next_group(node)?;
            econtext.within(|| self.state.borrow_mut().store(group, slot, econtext));
            econtext.set_row(slot);
            if node.passes() {
                return Some(node.project(slot));
            }
            node.count_removed(1);
        }
    }

    fn end(&mut self, node: &CustomScanState) {
        self.state.borrow_mut().end_waiting();
        child(node).end();
    }

    fn rescan(&mut self, node: &CustomScanState) {
        rescan_child(node);
        // The lower part's groups are the upper one's to forget: this may be another of its passes.
        if self.plan.part != Part::Lower {
            let state = &mut *self.state.borrow_mut();
            state.aggregator.restart();
            state.end_waiting();
            state.next = None;
            state.inbox = Inbox::default();
            state.exchanges = true;
        }
    }

    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        if self.plan.part == Part::Lower {
            return;
        }
        materialization("late", es);
        let conditions = AggregatePlan::conditions(node.scan());
        let shown = Conditions::of(node, ancestors, es);
        if !self.plan.sets.sets.is_empty() {
            self.show_sets(node, &shown, es);
        }
        shown.show(&conditions, node, es);
        if let Some(best) = self.plan.best {
            es.integer(c"Best Groups", best.count as u64);
        }
        if !es.analyze() {
            return;
        }
        let state = self.state.borrow();
        es.integer(c"Passes", state.passes);
        es.integer(c"Memory Peak kB", (state.peak as u64).div_ceil(1024));
        if self.plan.part == Part::Upper {
            state.inbox.explain(es);
        }
    }
}

impl Aggregation {
    fn show_sets<'a>(&self, node: &'a CustomScanState, shown: &Conditions<'a>, es: &ExplainState) {
        let keys = expressions(node.scan().custom_scan_tlist());
        let texts: Vec<_> = keys[..self.plan.keys]
            .iter()
            .map(|key| encoding::shown(shown.text(key).to_bytes()))
            .collect();
        let set = |set: &Vec<bool>| {
            let keys = texts.iter().zip(set).filter(|&(_, &has)| has);
            let keys: Vec<&str> = keys.map(|(text, _)| &**text).collect();
            format!("({})", keys.join(", "))
        };
        let sets: Vec<String> = self.plan.sets.sets.iter().map(set).collect();
        text(c"Grouping Sets", &sets.join(", "), es);
    }

    /// All rows into the aggregator.
    fn read(&mut self, node: &CustomScanState) {
        self.state.borrow_mut().begin_pass();
        match self.plan.part {
            Part::Upper => self.gather(node),
            _ => {
                self.state.borrow().limit(&mut *input(node));
                while self.next_unit(node) {}
            }
        }
    }

    /// The next unit of rows into the aggregator; false at the end.
    pub fn next_unit(&mut self, node: &CustomScanState) -> bool {
        let state = &mut *self.state.borrow_mut();
        let found = state.next_unit(&mut *input(node));
        node.state().within(|| state.spill(node.econtext()));
        found
    }

    fn read_again(&mut self, node: &CustomScanState) {
        match self.plan.part {
            Part::Upper => child(node).rescan(),
            _ => input(node).restart(),
        }
        self.read(node);
    }

    /// The next group of what has been read, or of what there is to read; None after the last.
    fn next_group(&mut self, node: &CustomScanState) -> Option<usize> {
        loop {
            let next = self.state.borrow().next;
            match next {
                None => self.read(node),
                Some(_) => {
                    if let Some(group) = self.state.borrow_mut().take_group() {
                        return Some(group);
                    }
                    let again = self.state.borrow_mut().aggregator.next_pass();
                    if !again {
                        return None;
                    }
                    self.read_again(node);
                }
            }
            if self.state.borrow_mut().begin_if_spoiled() {
                self.read_again(node);
            }
            while self.state.borrow_mut().has_to_scan_again() {
                self.read_again(node);
            }
            let state = &mut *self.state.borrow_mut();
            state.aggregator.arrange().unwrap_or_else(|e| raise(e));
            state.best = self.plan.best.and_then(|best| best.groups(&state.aggregator));
            if let Some(having) = &self.having {
                let left = having.groups(&state.aggregator);
                node.count_removed(state.aggregator.grouping().len() - left.len());
                state.best = Some(left);
            }
            state.next = Some(0);
        }
    }
}

impl State {
    /// The next of the groups that are there; None after the last.
    fn take_group(&mut self) -> Option<usize> {
        let groups = match &self.best {
            Some(best) => best.len(),
            None => self.aggregator.grouping().len(),
        };
        let next = self.next.filter(|&next| next < groups)?;
        self.next = Some(next + 1);
        Some(self.best.as_ref().map_or(next, |best| best[next] as usize))
    }

    /// Whether what has been read is of no use.
    fn begin_if_spoiled(&mut self) -> bool {
        let spoiled = self.aggregator.is_spoiled();
        if spoiled {
            self.exchanges = false;
            self.aggregator.begin_again();
        }
        spoiled
    }

    /// Whether all rows are needed once more for these groups.
    fn has_to_scan_again(&mut self) -> bool {
        let again = self.aggregator.scan_again();
        if again {
            self.exchanges = false;
        }
        again
    }
}
