//! The fact table: orders of one to seven lines.

use crate::calendar::{self, MAX_COMMIT_DELAY, ORDER_DAYS};
use crate::dimensions::retail_price;
use crate::domains;
use crate::rng::RowRng;
use crate::scale::Scale;
use crate::sink::RowSink;

const STREAM: u64 = 4;

/// Lines of an order (TPC-H): 1 to this many.
pub const MAX_LINES: usize = 7;

/// One line of an order. Money is in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// lo_partkey.
    pub part: u64,
    /// lo_suppkey.
    pub supplier: u64,
    /// lo_quantity, 1 to 50.
    pub quantity: u64,
    /// lo_discount in percent, 0 to 10.
    pub discount: u64,
    /// lo_tax in percent, 0 to 8.
    pub tax: u64,
    /// Day of lo_commitdate, counted from 1992-01-01.
    pub commit_day: u64,
    /// Index into [`domains::SHIP_MODES`].
    pub ship_mode: usize,
}

impl Line {
    /// lo_extendedprice: quantity times the part's retail price.
    pub fn extended_price(&self) -> u64 {
        self.quantity * retail_price(self.part)
    }

    /// lo_revenue: the extended price less the discount.
    pub fn revenue(&self) -> u64 {
        self.extended_price() * (100 - self.discount) / 100
    }

    /// lo_supplycost: six tenths of the part's retail price.
    pub fn supply_cost(&self) -> u64 {
        6 * retail_price(self.part) / 10
    }

    /// This line's share of lo_ordtotalprice (TPC-H: discount and tax applied).
    fn charged(&self) -> u64 {
        self.revenue() * (100 + self.tax) / 100
    }
}

/// One order.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// lo_orderkey: the first eight of each 32 keys are used (TPC-H 4.2.3).
    pub key: u64,
    /// lo_custkey: customers whose key is a multiple of three never order.
    pub customer: u64,
    /// Day of lo_orderdate, counted from 1992-01-01.
    pub day: u64,
    /// Index into [`domains::PRIORITIES`].
    pub priority: usize,
    lines: [Line; MAX_LINES],
    line_count: usize,
}

impl Order {
    /// The order's lines, at least one.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.line_count]
    }
}

/// Draws orders and writes their lines.
pub struct Lineorder {
    seed: u64,
    scale: Scale,
    date_keys: Vec<u64>,
}

impl Lineorder {
    /// Prepares the calendar.
    pub fn new(seed: u64, scale: Scale) -> Self {
        let date_keys = (0..calendar::DATE_ROWS)
            .map(|index| u64::from(calendar::date_key(calendar::day(index))))
            .collect();
        Self { seed, scale, date_keys }
    }

    /// Order `number`, from 1 to [`Scale::orders`].
    pub fn order(&self, number: u64) -> Order {
        let mut rng = RowRng::new(self.seed, STREAM, number);
        let (parts, suppliers) = (self.scale.parts(), self.scale.suppliers());
        let mut order = Order {
            key: (number >> 3 << 5) | (number & 7),
            customer: ordering_customer(rng.below(ordering_customers(self.scale.customers()))),
            day: rng.below(ORDER_DAYS),
            priority: rng.below(domains::PRIORITIES.len() as u64) as usize,
            lines: [Line::default(); MAX_LINES],
            line_count: rng.between(1, MAX_LINES as u64) as usize,
        };
        for line in &mut order.lines[..order.line_count] {
            *line = Line {
                part: rng.between(1, parts),
                supplier: rng.between(1, suppliers),
                quantity: rng.between(1, 50),
                discount: rng.between(0, 10),
                tax: rng.between(0, 8),
                commit_day: order.day + rng.between(30, MAX_COMMIT_DELAY),
                ship_mode: rng.below(domains::SHIP_MODES.len() as u64) as usize,
            };
        }
        order
    }

    /// Writes the lines of order `number`; returns how many.
    pub fn write(&self, number: u64, out: &mut impl RowSink) -> u64 {
        let order = self.order(number);
        let total = order.lines().iter().map(Line::charged).sum();
        for (index, line) in order.lines().iter().enumerate() {
            out.int("lo_orderkey", order.key);
            out.int("lo_linenumber", index as u64 + 1);
            out.int("lo_custkey", order.customer);
            out.int("lo_partkey", line.part);
            out.int("lo_suppkey", line.supplier);
            out.int("lo_orderdate", self.date_keys[order.day as usize]);
            out.text("lo_orderpriority", domains::PRIORITIES[order.priority]);
            out.text("lo_shippriority", "0");
            out.int("lo_quantity", line.quantity);
            out.int("lo_extendedprice", line.extended_price());
            out.int("lo_ordtotalprice", total);
            out.int("lo_discount", line.discount);
            out.int("lo_revenue", line.revenue());
            out.int("lo_supplycost", line.supply_cost());
            out.int("lo_tax", line.tax);
            out.int("lo_commitdate", self.date_keys[line.commit_day as usize]);
            out.text("lo_shipmode", domains::SHIP_MODES[line.ship_mode]);
            out.end_row();
        }
        order.line_count as u64
    }
}

/// How many of `customers` have a key that is no multiple of three.
fn ordering_customers(customers: u64) -> u64 {
    customers - customers / 3
}

/// The key of the `index`-th customer (from 0) who orders: 1, 2, 4, 5, 7, …
fn ordering_customer(index: u64) -> u64 {
    index / 2 * 3 + index % 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_customers_never_orders_and_all_others_can() {
        for customers in [2, 3, 4, 5, 6, 300] {
            let keys: Vec<_> = (0..ordering_customers(customers)).map(ordering_customer).collect();
            let expected: Vec<_> = (1..=customers).filter(|key| key % 3 != 0).collect();
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn values_stay_in_their_domains() {
        let scale = Scale::new(0.01).unwrap();
        let lineorder = Lineorder::new(7, scale);
        let mut keys = std::collections::HashSet::new();
        for number in 1..=scale.orders() {
            let order = lineorder.order(number);
            assert!(keys.insert(order.key) && order.key % 32 < 8);
            assert!((1..=scale.customers()).contains(&order.customer));
            assert!(order.day < ORDER_DAYS && (1..=7).contains(&order.lines().len()));
            for line in order.lines() {
                assert!((1..=scale.parts()).contains(&line.part));
                assert!((1..=scale.suppliers()).contains(&line.supplier));
                assert!((1..=50).contains(&line.quantity) && line.discount <= 10 && line.tax <= 8);
                assert!((order.day + 30..=order.day + 90).contains(&line.commit_day));
                assert!(line.revenue() <= line.extended_price());
            }
        }
    }
}
