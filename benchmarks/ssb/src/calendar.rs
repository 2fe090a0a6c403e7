//! The date dimension and the range of order dates.

use chrono::{Datelike, Days, NaiveDate, Weekday};

/// Rows of the date table. The paper says 2,556 for its seven years, one less
/// than the calendar's 2,557: the table ends on 1998-12-30. No order or commit
/// date reaches the missing day.
pub const DATE_ROWS: u64 = 2_556;

/// Days on which orders are placed: 1992-01-01 to 1998-08-02. TPC-H stops 151
/// days before the end of 1998 so that all later dates of an order fit.
pub const ORDER_DAYS: u64 = 2_406;

/// Most days from order to commit date (TPC-H: 30 to 90).
pub const MAX_COMMIT_DELAY: u64 = 90;

/// The day `index` days after 1992-01-01.
pub fn day(index: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(1992, 1, 1)
        .and_then(|first| first.checked_add_days(Days::new(index)))
        .expect("a day of the benchmark's calendar")
}

/// d_datekey: year, month and day as one decimal number, 19980327.
pub fn date_key(date: NaiveDate) -> u32 {
    date.year() as u32 * 10_000 + date.month() * 100 + date.day()
}

/// d_weeknuminyear: weeks of seven days counted from January 1, 1 to 53.
pub fn week_of_year(date: NaiveDate) -> u32 {
    date.ordinal0() / 7 + 1
}

/// d_yearmonth: `Dec1997`.
pub fn year_month(date: NaiveDate) -> String {
    format!("{}{}", &month_name(date)[..3], date.year())
}

/// d_month.
pub fn month_name(date: NaiveDate) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    NAMES[date.month0() as usize]
}

/// d_dayofweek.
pub fn day_name(date: NaiveDate) -> &'static str {
    match date.weekday() {
        Weekday::Sun => "Sunday",
        Weekday::Mon => "Monday",
        Weekday::Tue => "Tuesday",
        Weekday::Wed => "Wednesday",
        Weekday::Thu => "Thursday",
        Weekday::Fri => "Friday",
        Weekday::Sat => "Saturday",
    }
}

/// d_sellingseason.
pub fn selling_season(date: NaiveDate) -> &'static str {
    match date.month() {
        1..=3 => "Winter",
        4 => "Spring",
        5..=8 => "Summer",
        9..=10 => "Fall",
        _ => "Christmas",
    }
}

/// d_holidayfl: the American holidays with a fixed date.
pub fn is_holiday(date: NaiveDate) -> bool {
    matches!((date.month(), date.day()), (1, 1) | (7, 4) | (11, 11) | (12, 25))
}

/// d_lastdayinmonthfl.
pub fn ends_month(date: NaiveDate) -> bool {
    date.succ_opt().is_none_or(|next| next.month() != date.month())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ymd(year: i32, month: u32, day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(year, month, day).unwrap()
    }

    #[test]
    fn the_calendar_covers_orders_and_their_commit_dates() {
        assert_eq!(day(DATE_ROWS - 1), ymd(1998, 12, 30));
        assert_eq!(day(ORDER_DAYS - 1), ymd(1998, 8, 2));
        const { assert!(ORDER_DAYS - 1 + MAX_COMMIT_DELAY < DATE_ROWS) };
    }

    #[test]
    fn parts_of_a_date() {
        assert_eq!(date_key(ymd(1998, 3, 27)), 19_980_327);
        assert_eq!(year_month(ymd(1997, 12, 5)), "Dec1997");
        assert_eq!(week_of_year(ymd(1994, 2, 5)), 6);
        assert_eq!(week_of_year(ymd(1994, 2, 11)), 6);
        assert_eq!(week_of_year(ymd(1994, 2, 12)), 7);
        assert_eq!(week_of_year(ymd(1996, 12, 31)), 53);
        assert_eq!(day_name(ymd(1998, 12, 22)), "Tuesday");
        assert!(ends_month(ymd(1996, 2, 29)) && !ends_month(ymd(1996, 2, 28)));
    }
}
