//! The share of lineorder each of the 13 queries selects, measured over the
//! generated rows, beside the paper's table of filter factors (section 3).

use crate::calendar::{self, ORDER_DAYS};
use crate::dimensions::{self, Make, Place};
use crate::domains::NATIONS;
use crate::lineorder::{Line, Lineorder};
use crate::scale::Scale;
use chrono::{Datelike, NaiveDate};

/// Everything a query's WHERE clause can ask about a row of lineorder.
pub struct Row<'a> {
    line: &'a Line,
    date: NaiveDate,
    customer: Place,
    supplier: Place,
    part: Make,
}

/// A query's selectivity on each table it restricts, 1 where it does not.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Of the days.
    pub date: f64,
    /// Of the parts.
    pub part: f64,
    /// Of the suppliers.
    pub supplier: f64,
    /// Of the customers.
    pub customer: f64,
    /// Of lineorder by its own columns.
    pub line: f64,
}

const ALL: Shares = Shares {
    date: 1.0,
    part: 1.0,
    supplier: 1.0,
    customer: 1.0,
    line: 1.0,
};

impl Shares {
    /// The filter factor on lineorder: the tables are independent.
    pub fn product(&self) -> f64 {
        self.date * self.part * self.supplier * self.customer * self.line
    }
}

/// One of the 13 queries, as far as its filter goes.
pub struct Query {
    /// `Q1.1` to `Q4.3`.
    pub name: &'static str,
    /// The factors in the paper's table.
    pub paper: Shares,
    /// Days of the order calendar that qualify, all of them if the query
    /// does not restrict the date.
    order_days: u64,
    /// Selectivity on lineorder's own columns that the generator aims at.
    line: f64,
    matches: fn(&Row) -> bool,
}

impl Query {
    /// The shares the generator aims at. They differ from the paper's where
    /// the paper rounds: its years are sevenths and its weeks 364ths, while
    /// orders stop in August 1998, and quantities below 25 are 24 of 50.
    pub fn design(&self) -> Shares {
        let date = self.order_days as f64 / ORDER_DAYS as f64;
        Shares {
            date,
            line: self.line,
            ..self.paper
        }
    }

    /// Standard deviation of a measured filter factor over the design's, to
    /// first order: sampling of each dimension's rows, and of the lines, of
    /// which those of one order share date and customer.
    pub fn relative_deviation(&self, scale: Scale) -> f64 {
        let design = self.design();
        let dimension = |share: f64, rows: u64| (1.0 - share) / (share * rows as f64);
        let ordering = scale.customers() - scale.customers() / 3;
        // Lines per order are uniform in 1..=7: E[n^2] / E[n] = 20 / 4, so a
        // qualifying line has four companions on average.
        let together = 1.0 + 4.0 * design.line * design.part * design.supplier;
        let lines = 4.0 * scale.orders() as f64;
        (dimension(design.part, scale.parts())
            + dimension(design.supplier, scale.suppliers())
            + dimension(design.customer, ordering)
            + together / (lines * design.product()))
        .sqrt()
    }
}

const YEAR: f64 = 1.0 / 7.0;
const MONTH: f64 = 1.0 / 84.0;
const REGION: f64 = 1.0 / 5.0;
const NATION: f64 = 1.0 / 25.0;
const TWO_CITIES: f64 = 1.0 / 125.0;
const CATEGORY: f64 = 1.0 / 25.0;
const THREE_DISCOUNTS: f64 = 3.0 / 11.0;

/// 1992 to 1997: two leap years.
const SIX_YEARS: u64 = 2_192;
/// 1997 and what there is of 1998.
const LAST_TWO_YEARS: u64 = 365 + 214;

fn in_region(place: Place, name: &str) -> bool {
    crate::domains::REGIONS[place.region()] == name
}

fn in_nation(place: Place, name: &str) -> bool {
    NATIONS[place.nation].0 == name
}

/// UNITED KI1 or UNITED KI5.
fn in_two_cities(place: Place) -> bool {
    in_nation(place, "UNITED KINGDOM") && matches!(place.city, 1 | 5)
}

fn category(make: Make) -> (u64, u64) {
    (make.manufacturer, make.category)
}

fn discount_and_quantity(
    line: &Line,
    discounts: std::ops::RangeInclusive<u64>,
    quantities: std::ops::RangeInclusive<u64>,
) -> bool {
    discounts.contains(&line.discount) && quantities.contains(&line.quantity)
}

/// The 13 queries in the paper's order.
pub const QUERIES: [Query; 13] = [
    Query {
        name: "Q1.1",
        paper: Shares {
            date: YEAR,
            line: THREE_DISCOUNTS * 0.5,
            ..ALL
        },
        order_days: 365,
        line: THREE_DISCOUNTS * 24.0 / 50.0,
        matches: |r| r.date.year() == 1993 && discount_and_quantity(r.line, 1..=3, 0..=24),
    },
    Query {
        name: "Q1.2",
        paper: Shares {
            date: MONTH,
            line: THREE_DISCOUNTS * 0.2,
            ..ALL
        },
        order_days: 31,
        line: THREE_DISCOUNTS * 10.0 / 50.0,
        matches: |r| (r.date.year(), r.date.month()) == (1994, 1) && discount_and_quantity(r.line, 4..=6, 26..=35),
    },
    Query {
        name: "Q1.3",
        paper: Shares {
            date: 1.0 / 364.0,
            line: THREE_DISCOUNTS * 0.1,
            ..ALL
        },
        order_days: 7,
        line: THREE_DISCOUNTS * 5.0 / 50.0,
        matches: |r| {
            (r.date.year(), calendar::week_of_year(r.date)) == (1994, 6)
                && discount_and_quantity(r.line, 5..=7, 36..=40)
        },
    },
    Query {
        name: "Q2.1",
        paper: Shares {
            part: CATEGORY,
            supplier: REGION,
            ..ALL
        },
        order_days: ORDER_DAYS,
        line: 1.0,
        matches: |r| category(r.part) == (1, 2) && in_region(r.supplier, "AMERICA"),
    },
    Query {
        name: "Q2.2",
        paper: Shares {
            part: 8.0 / 1_000.0,
            supplier: REGION,
            ..ALL
        },
        order_days: ORDER_DAYS,
        line: 1.0,
        matches: |r| category(r.part) == (2, 2) && (21..=28).contains(&r.part.brand) && in_region(r.supplier, "ASIA"),
    },
    Query {
        name: "Q2.3",
        paper: Shares {
            part: 1.0 / 1_000.0,
            supplier: REGION,
            ..ALL
        },
        order_days: ORDER_DAYS,
        line: 1.0,
        matches: |r| category(r.part) == (2, 2) && r.part.brand == 39 && in_region(r.supplier, "EUROPE"),
    },
    Query {
        name: "Q3.1",
        paper: Shares {
            date: 6.0 * YEAR,
            customer: REGION,
            supplier: REGION,
            ..ALL
        },
        order_days: SIX_YEARS,
        line: 1.0,
        matches: |r| r.date.year() <= 1997 && in_region(r.customer, "ASIA") && in_region(r.supplier, "ASIA"),
    },
    Query {
        name: "Q3.2",
        paper: Shares {
            date: 6.0 * YEAR,
            customer: NATION,
            supplier: NATION,
            ..ALL
        },
        order_days: SIX_YEARS,
        line: 1.0,
        matches: |r| {
            r.date.year() <= 1997 && in_nation(r.customer, "UNITED STATES") && in_nation(r.supplier, "UNITED STATES")
        },
    },
    Query {
        name: "Q3.3",
        paper: Shares {
            date: 6.0 * YEAR,
            customer: TWO_CITIES,
            supplier: TWO_CITIES,
            ..ALL
        },
        order_days: SIX_YEARS,
        line: 1.0,
        matches: |r| r.date.year() <= 1997 && in_two_cities(r.customer) && in_two_cities(r.supplier),
    },
    Query {
        name: "Q3.4",
        paper: Shares {
            date: MONTH,
            customer: TWO_CITIES,
            supplier: TWO_CITIES,
            ..ALL
        },
        order_days: 31,
        line: 1.0,
        matches: |r| {
            (r.date.year(), r.date.month()) == (1997, 12) && in_two_cities(r.customer) && in_two_cities(r.supplier)
        },
    },
    Query {
        name: "Q4.1",
        paper: Shares {
            customer: REGION,
            supplier: REGION,
            part: 2.0 / 5.0,
            ..ALL
        },
        order_days: ORDER_DAYS,
        line: 1.0,
        matches: |r| in_region(r.customer, "AMERICA") && in_region(r.supplier, "AMERICA") && r.part.manufacturer <= 2,
    },
    Query {
        name: "Q4.2",
        paper: Shares {
            date: 2.0 * YEAR,
            customer: REGION,
            supplier: REGION,
            part: 2.0 / 5.0,
            ..ALL
        },
        order_days: LAST_TWO_YEARS,
        line: 1.0,
        matches: |r| {
            r.date.year() >= 1997
                && in_region(r.customer, "AMERICA")
                && in_region(r.supplier, "AMERICA")
                && r.part.manufacturer <= 2
        },
    },
    Query {
        name: "Q4.3",
        paper: Shares {
            date: 2.0 * YEAR,
            customer: REGION,
            supplier: NATION,
            part: CATEGORY,
            ..ALL
        },
        order_days: LAST_TWO_YEARS,
        line: 1.0,
        matches: |r| {
            r.date.year() >= 1997
                && in_region(r.customer, "AMERICA")
                && in_nation(r.supplier, "UNITED STATES")
                && category(r.part) == (1, 4)
        },
    },
];

/// What [`measure`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows of lineorder.
    pub lines: u64,
    /// Rows each query selects, in the order of [`QUERIES`].
    pub selected: [u64; 13],
}

/// Generates the data set without encoding it and evaluates every filter on
/// every row. Memory: the three dimensions' join attributes.
pub fn measure(scale: Scale, seed: u64) -> Counts {
    let customers: Vec<_> = (1..=scale.customers())
        .map(|key| dimensions::customer_place(seed, key))
        .collect();
    let suppliers: Vec<_> = (1..=scale.suppliers())
        .map(|key| dimensions::supplier_place(seed, key))
        .collect();
    let parts: Vec<_> = (1..=scale.parts())
        .map(|key| dimensions::part_make(seed, key))
        .collect();
    let days: Vec<_> = (0..ORDER_DAYS).map(calendar::day).collect();
    let lineorder = Lineorder::new(seed, scale);
    let mut counts = Counts::default();
    for number in 1..=scale.orders() {
        let order = lineorder.order(number);
        for line in order.lines() {
            let row = Row {
                line,
                date: days[order.day as usize],
                customer: customers[order.customer as usize - 1],
                supplier: suppliers[line.supplier as usize - 1],
                part: parts[line.part as usize - 1],
            };
            counts.lines += 1;
            for (count, query) in counts.selected.iter_mut().zip(&QUERIES) {
                *count += u64::from((query.matches)(&row));
            }
        }
    }
    counts
}
