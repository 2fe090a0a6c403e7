//! The generated data against the SSB paper: row counts, value domains and
//! the filter factors of the 13 queries.

use amax_ssb::filter_factors::{QUERIES, measure};
use amax_ssb::scale::Scale;
use amax_ssb::sink::Format;
use amax_ssb::table::{Table, Written, generate};
use std::collections::{BTreeMap, HashSet};

const SEED: u64 = 42;

fn write(table: Table, sf: f64, seed: u64, format: Format) -> (Written, Vec<u8>) {
    let mut bytes = Vec::new();
    let scale = Scale::new(sf).unwrap();
    let written = generate(table, scale, seed, format, &mut bytes).unwrap();
    (written, bytes)
}

/// The paper's table of total filter factors, as the fractions it gives.
#[test]
fn the_paper_s_shares_multiply_to_its_totals() {
    let totals = [
        0.0194805,
        0.00064935,
        0.000075,
        1.0 / 125.0,
        1.0 / 625.0,
        1.0 / 5_000.0,
        6.0 / 175.0,
        6.0 / 4_375.0,
        6.0 / 109_375.0,
        1.0 / 1_312_500.0,
        2.0 / 125.0,
        4.0 / 875.0,
        2.0 / 21_875.0,
    ];
    for (query, total) in QUERIES.iter().zip(totals) {
        let ratio = query.paper.product() / total;
        // The first three are printed with two to six digits.
        assert!((ratio - 1.0).abs() < 2e-3, "{}: {ratio}", query.name);
    }
}

/// Three comparisons at SF 1, each with the tolerance it deserves.
#[test]
fn filter_factors_match_the_paper() {
    let scale = Scale::new(1.0).unwrap();
    let counts = measure(scale, SEED);
    // 1.5 million orders, lines uniform in 1..=7 (variance 4): standard
    // deviation 2,449; the paper says 6,000,000, TPC-H's own 6,001,215.
    assert!(counts.lines.abs_diff(6_000_000) < 4 * 2_449, "{}", counts.lines);
    for (query, selected) in QUERIES.iter().zip(counts.selected) {
        let (paper, design) = (query.paper.product(), query.design().product());
        let measured = selected as f64 / counts.lines as f64;
        // Measured against what the generator aims at: sampling only, four
        // standard deviations (a wrong predicate or domain is off by far
        // more on all but Q3.4, which expects five rows).
        let deviation = query.relative_deviation(scale);
        assert!(
            (measured / design - 1.0).abs() <= 4.0 * deviation,
            "{}: {measured} for {design} ± {:.1} %",
            query.name,
            100.0 * deviation
        );
        // The aim against the paper: only the calendar and the 24 of 50
        // quantities separate them. 1997 and 1998 hold 579 of 2,406 order
        // days for the paper's 2/7 (-15.8 %); a month 31 for 1/84 (+8.2 %).
        let bias = design / paper;
        assert!((0.842..=1.083).contains(&bias), "{}: {bias}", query.name);
        // And the queries without a date agree with the paper exactly.
        if query.paper.date == 1.0 {
            assert!((bias - 1.0).abs() < 1e-9, "{}: {bias}", query.name);
        }
    }
}

#[test]
fn row_counts_match_the_paper() {
    let rows = |table, sf| write(table, sf, SEED, Format::Csv).0.rows;
    assert_eq!(rows(Table::Date, 1.0), 2_556);
    assert_eq!(rows(Table::Customer, 1.0), 30_000);
    assert_eq!(rows(Table::Supplier, 1.0), 2_000);
    assert_eq!(rows(Table::Part, 1.0), 200_000);
    assert_eq!(rows(Table::Part, 2.0), 400_000);
    // 15,000 orders of 1 to 7 lines: standard deviation 245.
    assert!(rows(Table::Lineorder, 0.01).abs_diff(60_000) < 4 * 245);
}

/// Distinct values per column, by name, through a CSV and a JSON reader that
/// must agree on every field.
fn distinct(table: Table, sf: f64) -> BTreeMap<String, HashSet<String>> {
    let (written, csv) = write(table, sf, SEED, Format::Csv);
    let (also_written, jsonl) = write(table, sf, SEED, Format::Jsonl);
    assert_eq!(
        (written.bytes, also_written.bytes),
        (csv.len() as u64, jsonl.len() as u64)
    );
    let mut columns: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_slice());
    let mut lines = std::str::from_utf8(&jsonl).unwrap().lines();
    let mut rows = 0;
    for record in reader.records() {
        let record = record.unwrap();
        let document: serde_json::Map<String, serde_json::Value> = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(document.len(), record.len());
        for (name, value) in &document {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert!(
                record.iter().any(|field| field == text),
                "{name}: {text} not in {record:?}"
            );
            columns.entry(name.clone()).or_default().insert(text);
        }
        rows += 1;
    }
    assert!(lines.next().is_none());
    assert_eq!((rows, rows), (written.rows, also_written.rows));
    columns
}

#[test]
fn columns_have_the_paper_s_cardinalities() {
    let expect = |table, sf, cardinalities: &[(&str, usize)]| {
        let columns = distinct(table, sf);
        for (name, cardinality) in cardinalities {
            assert_eq!(columns[*name].len(), *cardinality, "{name}");
        }
        columns
    };
    let part = [
        ("p_mfgr", 5),
        ("p_category", 25),
        ("p_brand1", 1_000),
        ("p_color", 94),
        ("p_type", 150),
        ("p_size", 50),
        ("p_container", 40),
    ];
    let columns = expect(Table::Part, 0.1, &part);
    for (name, width) in [("p_name", 22), ("p_color", 11), ("p_type", 25), ("p_brand1", 9)] {
        assert!(columns[name].iter().all(|value| value.len() <= width), "{name}");
    }
    let customer = [("c_city", 250), ("c_nation", 25), ("c_region", 5), ("c_mktsegment", 5)];
    expect(Table::Customer, 0.2, &customer);
    expect(
        Table::Supplier,
        1.0,
        &[("s_city", 250), ("s_nation", 25), ("s_region", 5)],
    );
    let date = [
        ("d_datekey", 2_556),
        ("d_dayofweek", 7),
        ("d_month", 12),
        ("d_year", 7),
        ("d_yearmonth", 84),
        ("d_yearmonthnum", 84),
        ("d_daynuminyear", 366),
        ("d_weeknuminyear", 53),
        ("d_sellingseason", 5),
        ("d_holidayfl", 2),
    ];
    let columns = expect(Table::Date, 1.0, &date);
    assert!(columns["d_date"].contains("December 22, 1998"));
    let lineorder = [
        ("lo_linenumber", 7),
        ("lo_orderpriority", 5),
        ("lo_quantity", 50),
        ("lo_discount", 11),
        ("lo_tax", 9),
        ("lo_shipmode", 7),
        ("lo_orderdate", 2_406),
    ];
    let columns = expect(Table::Lineorder, 0.02, &lineorder);
    // Referential integrity of the two dates.
    let days = &distinct(Table::Date, 1.0)["d_datekey"];
    assert!(columns["lo_orderdate"].is_subset(days));
    assert!(columns["lo_commitdate"].is_subset(days));
}

#[test]
fn the_same_seed_writes_the_same_bytes_and_another_does_not() {
    for table in [Table::Lineorder, Table::Customer, Table::Supplier, Table::Part] {
        let bytes = |seed| write(table, 0.01, seed, Format::Csv).1;
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }
}
