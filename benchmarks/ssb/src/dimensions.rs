//! The four dimension tables, row by row.

use crate::calendar;
use crate::domains::{self, NATIONS, REGIONS};
use crate::rng::RowRng;
use crate::sink::RowSink;
use chrono::Datelike;

const CUSTOMER_STREAM: u64 = 1;
const SUPPLIER_STREAM: u64 = 2;
const PART_STREAM: u64 = 3;

/// Where a customer or supplier lives: indexes into the domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index into [`NATIONS`].
    pub nation: usize,
    /// The digit after the nation's name in the city's.
    pub city: u64,
}

impl Place {
    fn draw(rng: &mut RowRng) -> Self {
        Self {
            nation: rng.below(NATIONS.len() as u64) as usize,
            city: rng.below(domains::CITIES_PER_NATION),
        }
    }

    /// Index into [`REGIONS`].
    pub fn region(self) -> usize {
        NATIONS[self.nation].1
    }
}

/// The place of customer `key` (from 1).
pub fn customer_place(seed: u64, key: u64) -> Place {
    Place::draw(&mut RowRng::new(seed, CUSTOMER_STREAM, key))
}

/// The place of supplier `key` (from 1).
pub fn supplier_place(seed: u64, key: u64) -> Place {
    Place::draw(&mut RowRng::new(seed, SUPPLIER_STREAM, key))
}

/// The make of a part; all numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Make {
    /// 1 to 5.
    pub manufacturer: u64,
    /// 1 to 5 within the manufacturer.
    pub category: u64,
    /// 1 to 40 within the category.
    pub brand: u64,
}

impl Make {
    fn draw(rng: &mut RowRng) -> Self {
        Self {
            manufacturer: rng.between(1, domains::MANUFACTURERS),
            category: rng.between(1, domains::CATEGORIES),
            brand: rng.between(1, domains::BRANDS),
        }
    }
}

/// The make of part `key` (from 1).
pub fn part_make(seed: u64, key: u64) -> Make {
    Make::draw(&mut RowRng::new(seed, PART_STREAM, key))
}

/// Retail price of part `key` in cents (TPC-H 4.2.3), 90,000 to 209,899.
pub fn retail_price(key: u64) -> u64 {
    90_000 + (key / 10) % 20_001 + 100 * (key % 1_000)
}

/// 10 to 25 letters and digits.
fn address(rng: &mut RowRng) -> String {
    const ALPHABET: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let length = rng.between(10, 25);
    (0..length).map(|_| char::from(rng.pick(ALPHABET))).collect()
}

/// The nation's code plus ten, then ten digits (TPC-H 4.2.2.9).
fn phone(rng: &mut RowRng, nation: usize) -> String {
    format!(
        "{}-{}-{}-{}",
        nation + 10,
        rng.between(100, 999),
        rng.between(100, 999),
        rng.between(1_000, 9_999)
    )
}

/// Row `key` (from 1) of customer.
pub fn customer(seed: u64, key: u64, out: &mut impl RowSink) {
    let mut rng = RowRng::new(seed, CUSTOMER_STREAM, key);
    let place = Place::draw(&mut rng);
    let nation = NATIONS[place.nation].0;
    out.int("c_custkey", key);
    out.text("c_name", &format!("Customer#{key:09}"));
    out.text("c_address", &address(&mut rng));
    out.text("c_city", &domains::city(nation, place.city));
    out.text("c_nation", nation);
    out.text("c_region", REGIONS[place.region()]);
    out.text("c_phone", &phone(&mut rng, place.nation));
    out.text("c_mktsegment", rng.pick(&domains::SEGMENTS));
    out.end_row();
}

/// Row `key` (from 1) of supplier.
pub fn supplier(seed: u64, key: u64, out: &mut impl RowSink) {
    let mut rng = RowRng::new(seed, SUPPLIER_STREAM, key);
    let place = Place::draw(&mut rng);
    let nation = NATIONS[place.nation].0;
    out.int("s_suppkey", key);
    out.text("s_name", &format!("Supplier#{key:09}"));
    out.text("s_address", &address(&mut rng));
    out.text("s_city", &domains::city(nation, place.city));
    out.text("s_nation", nation);
    out.text("s_region", REGIONS[place.region()]);
    out.text("s_phone", &phone(&mut rng, place.nation));
    out.end_row();
}

/// Row `key` (from 1) of part.
pub fn part(seed: u64, key: u64, out: &mut impl RowSink) {
    let mut rng = RowRng::new(seed, PART_STREAM, key);
    let make = Make::draw(&mut rng);
    let colors = &domains::COLORS;
    let (size, finish, metal) = &domains::TYPE_SYLLABLES;
    let (package, container) = &domains::CONTAINER_SYLLABLES;
    let manufacturer = format!("MFGR#{}", make.manufacturer);
    let category = format!("{manufacturer}{}", make.category);
    let brand = format!("{category}{}", make.brand);
    out.int("p_partkey", key);
    out.text("p_name", &format!("{} {}", rng.pick(colors), rng.pick(colors)));
    out.text("p_mfgr", &manufacturer);
    out.text("p_category", &category);
    out.text("p_brand1", &brand);
    out.text("p_color", rng.pick(colors));
    let kind = format!("{} {} {}", rng.pick(size), rng.pick(finish), rng.pick(metal));
    out.text("p_type", &kind);
    out.int("p_size", rng.between(1, 50));
    out.text("p_container", &format!("{} {}", rng.pick(package), rng.pick(container)));
    out.end_row();
}

/// Row `index` (from 0) of date.
pub fn date(index: u64, out: &mut impl RowSink) {
    let day = calendar::day(index);
    let number_in_week = u64::from(day.weekday().number_from_sunday());
    let year = u64::from(day.year_ce().1);
    let month = u64::from(day.month());
    out.int("d_datekey", u64::from(calendar::date_key(day)));
    out.text(
        "d_date",
        &format!("{} {}, {year}", calendar::month_name(day), day.day()),
    );
    out.text("d_dayofweek", calendar::day_name(day));
    out.text("d_month", calendar::month_name(day));
    out.int("d_year", year);
    out.int("d_yearmonthnum", year * 100 + month);
    out.text("d_yearmonth", &calendar::year_month(day));
    out.int("d_daynuminweek", number_in_week);
    out.int("d_daynuminmonth", u64::from(day.day()));
    out.int("d_daynuminyear", u64::from(day.ordinal()));
    out.int("d_monthnuminyear", month);
    out.int("d_weeknuminyear", u64::from(calendar::week_of_year(day)));
    out.text("d_sellingseason", calendar::selling_season(day));
    out.int("d_lastdayinweekfl", u64::from(number_in_week == 7));
    out.int("d_lastdayinmonthfl", u64::from(calendar::ends_month(day)));
    out.int("d_holidayfl", u64::from(calendar::is_holiday(day)));
    out.int("d_weekdayfl", u64::from((2..=6).contains(&number_in_week)));
    out.end_row();
}
