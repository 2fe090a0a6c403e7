//! Leaves that are skipped have no row that passes, in whichever collation, and nothing in them raises an error.

use std::cmp::Ordering;

use amax_exec::{Comparison, Expr, External, TextFunction, TimeType, Type, Unit, VectorBuilder, Zones, passes_none};
use amax_format::iso::{DAY, HOUR, IsoTime, MINUTE};
use amax_format::{ColumnType, Leaf, LeafBuilder, LeafOptions, Value, Zone};
use proptest::prelude::*;

struct Bounds(Option<Zone>);

impl Zones for Bounds {
    fn zone(&self, _input: usize) -> Option<Zone> {
        self.0
    }

    fn is_everywhere(&self, _input: usize) -> bool {
        false
    }
}

/// A constant.
enum Once {
    Text(String),
    Int(i64),
}

impl External for Once {
    fn row(&mut self, _id: usize, _row: u32, _out: &mut VectorBuilder) {
        unreachable!("no row is looked at")
    }

    fn call(&mut self, _id: usize, _word: i64, _out: &mut VectorBuilder) {
        unreachable!("no value is looked at")
    }

    fn once(&mut self, _id: usize, out: &mut VectorBuilder) {
        match self {
            Self::Text(text) => out.push_text(text.as_bytes()),
            Self::Int(word) => out.push_word(*word),
        }
    }
}

fn zone(texts: &[String]) -> Option<Zone> {
    let mut builder = LeafBuilder::new(&[ColumnType::Bytes], LeafOptions::default());
    for (key, text) in texts.iter().enumerate() {
        builder
            .push(key as u64, &[Value::Bytes(text.as_bytes())])
            .expect("a row");
    }
    let image = builder.finish().expect("a leaf");
    Leaf::open(image.as_slice(), image.len() as u64)
        .expect("a leaf")
        .zone(0)
}

/// An order in which runs of digits are numbers, and punctuation counts only where all else is equal.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(u64, String)> {
        let spaced: String = text
            .chars()
            .map(|c| match c {
                c if c.is_ascii_alphabetic() => format!(" {c} "),
                c if c.is_ascii_digit() => c.to_string(),
                _ => " ".to_owned(),
            })
            .collect();
        let part = |part: &str| match part.parse() {
            Ok(number) => (number, String::new()),
            Err(_) => (u64::MAX, part.to_owned()),
        };
        spaced.split_whitespace().map(part).collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// An order in which punctuation counts only where all else is equal.
fn without_punctuation(a: &str, b: &str) -> Ordering {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "");
    plain(a).cmp(&plain(b)).then_with(|| a.cmp(b))
}

fn read(text: &str, ty: TimeType) -> Option<i64> {
    let time = IsoTime::read(text.as_bytes())?;
    Some(match ty {
        TimeType::Date => time.day,
        TimeType::Timestamp => time.local(),
        TimeType::TimestampTz => time.local() - i64::from(time.ahead?) * MINUTE,
    })
}

/// Texts that are times of a few days, most often of one form.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let of = |form: &'static str| prop::collection::vec(form, 1..6);
    prop_oneof![
        of("2026-11-2[1-3]T[01][0-9]:[0-5]0:00Z"),
        of("2026-11-2[1-3]T0[0-3]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?Z"),
        of("2026-11-21 0[0-3]:[0-5]0:00[+-]0[0-9]"),
        of("2026-11-21[T ]0[0-3]:[0-5]0:00(\\+05:30|Z)"),
        of("2026-11-2[1-9]"),
        of("2026-11-2[1-3](T0[0-3]:00:00Z?)?"),
        of("(2026-11-21T00:00:00Z|2026-11-21T00:00|soon)"),
        of("[a-c]{0,12}"),
    ]
}

fn constant() -> impl Strategy<Value = String> {
    prop_oneof![
        "2026-11-2[0-9]",
        "2026-11-2[1-3][T ]0[0-9]",
        "2026-11-2[1-3]T0[0-3]:[0-5]",
        "2026-11-2[1-3]T0[0-3]:[0-5]0:00(\\.5)?Z?",
        "2026-1",
        "2026-11-",
        "2027",
        "[a-c]{0,9}",
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
    ])
}

fn first(text: &str, characters: i32) -> String {
    text.chars().take(characters as usize).collect()
}

fn skips(condition: &Expr, zone: Option<Zone>, once: Once) -> bool {
    passes_none([condition].into_iter(), &Bounds(zone), &mut { once })
}

fn once(ty: Type) -> Box<Expr> {
    Box::new(Expr::Once {
        id: 0,
        ty,
        simple: true,
    })
}

fn left(characters: i32) -> Expr {
    Expr::TextFunction {
        function: TextFunction::Left(characters),
        arg: Box::new(Expr::Text(0)),
        utf8: true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn of_texts(texts in texts(), constant in constant(), comparison in comparison(), characters in 0i32..22) {
        let zone = zone(&texts);
        let of = |arg| Expr::Compare(comparison, Box::new(arg), once(Type::Text));
        let text = || Once::Text(constant.clone());
        if skips(&of(Expr::Text(0)), zone, text()) {
            prop_assert!(texts.iter().all(|text| !comparison.holds(text.as_str().cmp(&constant))), "{texts:?} {comparison:?} {constant}");
        }
        if skips(&of(left(characters)), zone, text()) {
            let passes = |text: &String| comparison.holds(first(text, characters).cmp(&constant));
            prop_assert!(!texts.iter().any(passes), "{texts:?} {characters} {comparison:?} {constant}");
        }
        if amax_exec::is_comparable(constant.as_bytes()) && !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            let digits = |arg| Expr::CompareDigits(comparison, Box::new(arg), constant.clone().into_bytes());
            let passes = |text: &str| {
                let orders = [text.cmp(&constant), by_numbers(text, &constant), without_punctuation(text, &constant)];
                orders.into_iter().any(|order| comparison.holds(order))
            };
            if skips(&digits(Expr::Text(0)), zone, text()) {
                prop_assert!(!texts.iter().any(|text| passes(text)), "{texts:?} {comparison:?} {constant}");
            }
            if skips(&digits(left(characters)), zone, text()) {
                prop_assert!(!texts.iter().any(|text| passes(&first(text, characters))), "{texts:?} {characters} {comparison:?} {constant}");
            }
        }
    }

    #[test]
    fn of_casts(texts in texts(), hour in -40i64..100, comparison in comparison()) {
        let zone = zone(&texts);
        let start = IsoTime::read(b"2026-11-21").expect("a date").day;
        for ty in [TimeType::Date, TimeType::Timestamp, TimeType::TimestampTz] {
            let constant = match ty {
                TimeType::Date => start + hour.div_euclid(24),
                _ => start * DAY + hour * HOUR,
            };
            let cast = |arg| Expr::Time(Box::new(arg), ty);
            let condition = |arg| Expr::Compare(comparison, Box::new(arg), once(Type::Int));
            let holds = |value: i64| comparison.holds(value.cmp(&constant));
            if skips(&condition(cast(Expr::Text(0))), zone, Once::Int(constant)) {
                for text in &texts {
                    prop_assert!(read(text, ty).is_some_and(|value| !holds(value)), "{text} of {texts:?} {ty:?} {comparison:?} {hour}");
                }
            }
            if skips(&condition(cast(left(10))), zone, Once::Int(constant)) {
                for text in &texts {
                    let value = read(&first(text, 10), TimeType::Timestamp).expect("a date");
                    let value = if ty == TimeType::Date { value / DAY } else { value };
                    prop_assert!(ty != TimeType::TimestampTz && !holds(value), "{text} of {texts:?} {ty:?} {comparison:?} {hour}");
                }
            }
            let cut = Expr::Cut(Box::new(cast(Expr::Text(0))), Unit::Day);
            if ty == TimeType::Timestamp && skips(&condition(cut), zone, Once::Int(constant)) {
                for text in &texts {
                    prop_assert!(read(text, ty).is_some_and(|value| !holds(value.div_euclid(DAY) * DAY)), "{text} of {texts:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_skipped() {
    let texts: Vec<String> = (0..6).map(|i| format!("2026-11-21T20:{i}0:00Z")).collect();
    let zone = zone(&texts);
    let of = |comparison, arg| Expr::Compare(comparison, Box::new(arg), once(Type::Text));
    let digits = |comparison, constant: &str| Expr::CompareDigits(comparison, Box::new(Expr::Text(0)), constant.into());
    let text = |text: &str| Once::Text(text.to_owned());
    use Comparison::*;
    for (comparison, constant, expected) in [
        (GreaterEqual, "2026-11-21T21", true),
        (GreaterEqual, "2026-11-21T20", false),
        (Less, "2026-11-21T20", true),
        (Less, "2026-11-21T20:00:00Z", true),
        (Less, "2026-11-21T20:01", false),
        (Greater, "2026-11-21T20:51", true),
    ] {
        assert_eq!(
            skips(&digits(comparison, constant), zone, text("")),
            expected && constant.len() < 20,
            "{constant}"
        );
        let bytewise = skips(&of(comparison, Expr::Text(0)), zone, text(constant));
        assert_eq!(bytewise, expected, "{constant}");
    }
    assert!(skips(&of(Equal, left(13)), zone, text("2026-11-21T21")));
    assert!(!skips(&of(Equal, left(13)), zone, text("2026-11-21T20")));
    // A text that is no time may be an error.
    let cast = Expr::Time(Box::new(Expr::Text(0)), TimeType::TimestampTz);
    let late = Expr::Compare(Greater, Box::new(cast), once(Type::Int));
    assert!(skips(&late, zone, Once::Int(i64::MAX)));
    let mixed = self::zone(&[texts, vec!["2026-11-21T20:00".to_owned()]].concat());
    assert!(!skips(&late, mixed, Once::Int(i64::MAX)));
}
