//! The state of a top node: the best rows by their keys and positions, found in the batches of the node below.

use super::hand::Hand;
use super::private::{Expressions, TopPlan};
use super::reading::{Keep, KeepOfEach, Order, Place, Read};
use super::wanted::MOST;
use crate::pg::state::{CustomScanState, ExprContext, Prepared};
use crate::query::batch::Batches;
use crate::query::batch::computed::Computed;
use crate::query::batch::contract::{Interest, Positions};
use crate::query::expr::collation::Collations;
use crate::query::expr::compile::all_reads;
use crate::query::plan::costs::hash_memory;
use crate::query::plan::private::Private;
use amax_exec::{External, SortKey, Top as Best, TopOfEach, TopsOfEach, Type, Zones, is_harmless};
use std::cell::RefCell;
use std::rc::Rc;

/// Rows equal to the last one that are kept, where other keys decide between them; more are PostgreSQL's to sort.
const MOST_TIES: usize = 10_000;

/// Which leaves may have rows among the best.
struct Reach {
    order: Rc<Order>,
    best: Rc<RefCell<Best<Place>>>,
}

impl Interest for Reach {
    fn includes(&self, zones: &dyn Zones, external: &dyn External) -> bool {
        let order = &self.order;
        let mut computed = order.keys.iter().chain(&order.checks);
        let best = self.best.borrow();
        !computed.all(|c| is_harmless(c.vector(), zones, external))
            || best.reaches(order.keys[0].vector(), zones, &order.collations)
    }

    fn has_ranks(&self) -> bool {
        true
    }

    fn rank(&self, zones: &dyn Zones) -> i64 {
        self.order.sort[0].rank(self.order.keys[0].vector(), zones)
    }
}

pub struct Top {
    order: Rc<Order>,
    /// Whether bounds may leave out leaves.
    bounds: bool,
    /// LIMIT, and OFFSET if there is one, or what row numbers are bounded by; none if one row of each group is asked for.
    limits: Vec<Prepared>,
    /// How many rows are asked for beside those.
    more: i64,
    /// Columns that rows are compared by.
    compared: Vec<usize>,
    /// Columns that the target list reads.
    pub(super) output: Vec<usize>,
    /// What is handed up; None before rows have been read.
    hand: Option<Hand>,
    /// Whether there is nothing after that.
    ended: bool,
    /// Whether all rows were handed up, as they were too many, or those after so many parts.
    pub(super) all: bool,
    /// Parts of the rows of which the best of each group were handed up, as memory was full.
    pub(super) parts: u64,
}

impl Top {
    /// Of a node that begins, whose input has begun.
    pub(super) fn new(node: &'static CustomScanState, input: &mut dyn Batches) -> Top {
        let plan = node.scan();
        let private = TopPlan::of_plan(plan);
        let Expressions {
            groups,
            keys,
            checks,
            limits,
        } = private.expressions(plan);
        let collations = Collations::of(&keys);
        let groups = Computed::over_columns(input, &groups);
        let keys = Computed::over_columns(input, &keys);
        let checks = Computed::over_columns(input, &checks);
        let output = all_reads(plan.targetlist());
        let computed = groups.iter().chain(&keys).chain(&checks);
        let compared: Vec<usize> = computed.flat_map(|c| c.reads.iter().copied()).collect();
        input.read([compared.as_slice(), &output].concat());
        let sort: Vec<SortKey> = keys
            .iter()
            .zip(&private.keys)
            .map(|(key, direction)| SortKey {
                ty: key.ty,
                descending: direction.descending,
                nulls_first: direction.nulls_first,
            })
            .collect();
        // The latest rows are at the end of what grows with time.
        if groups.is_empty() && sort[0].descending {
            input.take_last_first();
        }
        Top {
            order: Rc::new(Order {
                groups,
                keys,
                checks,
                sort,
                collations,
                ties: private.ties || private.peers,
            }),
            bounds: private.bounds,
            limits: limits
                .into_iter()
                .map(|limit| Prepared::new(limit, Some(node)))
                .collect(),
            more: private.more.into(),
            compared,
            output,
            hand: None,
            ended: false,
            all: false,
            parts: 0,
        }
    }

    /// How many rows are asked for; None if it is all of them, or more than are kept. Limit has evaluated the same, and
    /// raised its errors.
    fn count(&self, econtext: &ExprContext) -> Option<usize> {
        if self.limits.is_empty() {
            return Some(1);
        }
        let mut found = self.limits.iter().map(|limit| match limit.eval(econtext) {
            (_, true) => None,
            (value, false) => Some(value.value() as i64),
        });
        // Without a limit all rows are wanted, without an offset those from the first.
        let count = found.next()??;
        let offset = found.next().flatten().unwrap_or(0);
        let all = count.checked_add(offset)?.saturating_add(self.more);
        (all <= MOST).then_some(all.max(0) as usize)
    }

    /// Begins again.
    pub(super) fn restart(&mut self) {
        (self.hand, self.ended, self.all, self.parts) = (None, false, false, 0);
    }

    /// Has the input's rows be at the next one to hand up; false after the last.
    pub(super) fn advance(&mut self, input: &mut dyn Batches, econtext: &ExprContext) -> bool {
        loop {
            if let Some(hand) = &mut self.hand
                && hand.next(input)
            {
                return true;
            }
            if self.ended {
                return false;
            }
            if self.all {
                self.ended = true;
                self.hand = Some(Hand::all());
            } else {
                match self.count(econtext) {
                    None => self.all = true,
                    Some(count) if self.order.groups.is_empty() => self.find(input, count),
                    Some(1) => self.find_of_each(input, TopOfEach::new),
                    Some(count) => {
                        self.find_of_each(input, |groups, keys, ties| TopsOfEach::new(groups, keys, count, ties))
                    }
                }
            }
        }
    }

    /// Finds the best rows. If they turn out to be too many, or to take too much memory, those so far are handed up, and
    /// then all that come after them: what was read is not read again, as in a parallel plan no other process has it.
    fn find(&mut self, input: &mut dyn Batches, count: usize) {
        let (positions, fits) = self.best(input, count);
        self.all = !fits;
        self.ended = fits;
        self.hand = Some(Hand::best(positions));
    }

    /// Where the best rows are, and whether they are the best of all: not if they became too many, or took too much memory.
    fn best(&self, input: &mut dyn Batches, count: usize) -> (Vec<Positions>, bool) {
        input.start();
        let order = &self.order;
        let best = Rc::new(RefCell::new(Best::new(order.sort.clone(), count, order.ties)));
        if self.bounds {
            input.limit_to(Some(Rc::new(Reach {
                order: order.clone(),
                best: best.clone(),
            })));
        }
        let read = self.read(input, &best, |best| best.len() <= 2 * count + MOST_TIES);
        input.limit_to(None);
        input.rows().clear();
        input.stop(read.rows);
        let best = Rc::into_inner(best).expect("nobody else has it any more").into_inner();
        let fits = read.fits;
        (read.positions(best.finish(&order.collations)), fits)
    }

    /// Reads rows by what they are compared by; what else is handed up is read of those that are left.
    fn read<K: Keep>(&self, input: &mut dyn Batches, best: &RefCell<K>, fits: impl Fn(&K) -> bool) -> Read {
        input.read(self.compared.clone());
        let read = self.order.read(input, best, fits);
        input.read([self.compared.as_slice(), &self.output].concat());
        read
    }

    /// Finds the best rows of each group: of all rows, or of those that come before memory is full. Those after them are
    /// a part of their own. If that leaves most rows, all that come after it are handed up.
    fn find_of_each<K: KeepOfEach>(
        &mut self,
        input: &mut dyn Batches,
        new: impl FnOnce(Vec<Type>, Vec<SortKey>, bool) -> K,
    ) {
        input.start();
        let order = &self.order;
        let groups: Vec<Type> = order.groups.iter().map(|group| group.ty).collect();
        let best = RefCell::new(new(groups, order.sort.clone(), order.ties));
        let memory = hash_memory();
        let read = self.read(input, &best, |best| best.bytes_used() <= memory);
        input.rows().clear();
        input.stop(read.rows);
        let places = best.into_inner().finish(&order.collations);
        self.parts += 1;
        self.ended = read.fits;
        self.all = !read.fits && places.len() > read.rows / 2;
        self.hand = Some(Hand::best(read.positions(places)));
    }
}
