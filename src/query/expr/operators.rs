//! PostgreSQL's functions and types as vectorized expressions know them.

use super::constant::{bytes, constant};
use crate::pg::datum::{of_bytes, varlena};
use crate::pg::lookup::{compare_text, is_bytewise, is_deterministic};
use crate::pg::node::Node;
use amax_exec::{
    Arithmetic, Buckets, Comparison, Decimal, Function1, Pattern, TextFunction, TimeType, To, Type, Unit, are_ordered,
    as_like, is_comparable,
};
use pgrx::pg_sys::*;

/// Longer regular expressions may be too complex for PostgreSQL, which says so.
const LONGEST_REGEX: usize = 255;

/// What LIKE, ILIKE, a regular expression or starts_with() asks, if bytes alone tell; like.c, regexp.c and varlena.c raise errors for
/// other collations.
pub fn pattern_of(function: u32, collation: Oid, pattern: &Node) -> Option<Pattern> {
    let bytes = bytes(pattern)?;
    let utf8 = encoding()?;
    if collation == InvalidOid || !is_deterministic(collation) {
        return None;
    }
    match function {
        F_STARTS_WITH => Some(Pattern::starting_with(bytes)),
        F_TEXTLIKE | F_TEXTNLIKE if utf8 || !bytes.contains(&b'_') => Pattern::like(bytes),
        F_TEXTICLIKE | F_TEXTICNLIKE if utf8 && lowers_ascii(collation) => Pattern::ilike(bytes),
        F_TEXTREGEXEQ | F_TEXTREGEXNE if bytes.len() <= LONGEST_REGEX => {
            let like = as_like(bytes).filter(|_| utf8 || !bytes.contains(&b'.'))?;
            Pattern::like(&like)
        }
        // Letters of a pattern match themselves in the other case, too, as upper() and lower() have it (regc_locale.c).
        F_TEXTICREGEXEQ | F_TEXTICREGEXNE
            if bytes.len() <= LONGEST_REGEX && utf8 && lowers_ascii(collation) && raises_ascii(collation) =>
        {
            Pattern::ilike(&as_like(bytes)?)
        }
        _ => None,
    }
}

/// Whether the database's encoding is UTF-8; None if it is neither that nor one byte for each character.
pub fn encoding() -> Option<bool> {
    // SAFETY: what the database's encoding is.
    let (utf8, most) = unsafe {
        let utf8 = GetDatabaseEncoding() == pg_enc::PG_UTF8 as i32;
        (utf8, pg_database_encoding_max_length())
    };
    (utf8 || most == 1).then_some(utf8)
}

/// Whether lower() changes ASCII letters to their counterparts and nothing else of ASCII, unlike Turkish.
fn lowers_ascii(collation: Oid) -> bool {
    changes_ascii(F_LOWER_TEXT, collation, <[u8]>::to_ascii_lowercase)
}

/// The same of upper().
fn raises_ascii(collation: Oid) -> bool {
    changes_ascii(F_UPPER_TEXT, collation, <[u8]>::to_ascii_uppercase)
}

/// Whether a function of one text does this to ASCII.
fn changes_ascii(function: u32, collation: Oid, to: fn(&[u8]) -> Vec<u8>) -> bool {
    let ascii: Vec<u8> = (1..128).collect();
    // SAFETY: a function of one text, which returns one.
    unsafe { varlena(OidFunctionCall1Coll(function.into(), collation, of_bytes(&ascii))) == to(&ascii) }
}

/// A text of a text, and that; what is beside it is constant.
pub fn text_function<'a>(function: u32, collation: Oid, args: &[&'a Node]) -> Option<(TextFunction, &'a Node)> {
    let count = |node: &Node| constant(node, INT4OID).map(|value| value.value() as i32);
    // varlena.c raises errors for other collations.
    let is_plain = || collation != InvalidOid && is_deterministic(collation);
    let found = match (function, args) {
        (F_LEFT, [_, most]) => TextFunction::Left(count(most)?),
        // PostgreSQL negates it, and the least has no negative.
        (F_RIGHT, [_, most]) => TextFunction::Right(count(most).filter(|&most| most > i32::MIN)?),
        (F_SUBSTR_TEXT_INT4 | F_SUBSTRING_TEXT_INT4, [_, start]) => TextFunction::Substring {
            start: count(start)?.into(),
            end: i64::MAX,
        },
        (F_SUBSTR_TEXT_INT4_INT4 | F_SUBSTRING_TEXT_INT4_INT4, [_, start, length]) => {
            let start = i64::from(count(start)?);
            // A negative length is an error.
            let length = i64::from(count(length).filter(|&length| length >= 0)?);
            TextFunction::Substring {
                start,
                end: start + length,
            }
        }
        (F_UPPER_TEXT, [_]) if is_plain() => raises_ascii(collation).then_some(TextFunction::Upper)?,
        (F_LOWER_TEXT, [_]) if is_plain() => lowers_ascii(collation).then_some(TextFunction::Lower)?,
        (F_BTRIM_TEXT, [_]) => TextFunction::Trim { start: true, end: true },
        (F_LTRIM_TEXT, [_]) => TextFunction::Trim {
            start: true,
            end: false,
        },
        // A cast of char(n) as well.
        (F_RTRIM_TEXT | F_TEXT_BPCHAR, [_]) => TextFunction::Trim {
            start: false,
            end: true,
        },
        (F_SPLIT_PART, [_, delimiter, piece]) if is_plain() => TextFunction::SplitPart {
            delimiter: bytes(delimiter).filter(|bytes| !bytes.is_empty())?.to_vec(),
            piece: usize::try_from(count(piece)?).ok()?.checked_sub(1)?,
        },
        (F_REPLACE, [_, from, to]) if is_plain() => TextFunction::Replace {
            from: bytes(from).filter(|bytes| !bytes.is_empty())?.to_vec(),
            to: bytes(to)?.to_vec(),
        },
        (F_TEXTCAT, [text, behind]) if bytes(behind).is_some() => {
            return Some((TextFunction::Surround(Vec::new(), bytes(behind)?.to_vec()), text));
        }
        (F_TEXTCAT, [before, text]) => {
            return Some((TextFunction::Surround(bytes(before)?.to_vec(), Vec::new()), text));
        }
        _ => return None,
    };
    Some((found, args.first()?))
}

/// What width_bucket() asks between constant bounds, and the number.
pub fn buckets_of<'a>(function: u32, args: &[&'a Node]) -> Option<(Buckets, &'a Node)> {
    let &[arg, low, high, count] = args else {
        return None;
    };
    let count = || Some(constant(count, INT4OID)?.value() as i32);
    let float = |node| Some(f64::from_bits(constant(node, FLOAT8OID)?.value() as u64));
    let buckets = match function {
        F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4 => Buckets::of_floats(float(low)?, float(high)?, count()?),
        F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4 => Buckets::of_decimals(decimal(low)?, decimal(high)?, count()?),
        _ => None,
    };
    buckets.map(|buckets| (buckets, arg))
}

/// The mantissa and the scale of a constant that has them.
fn decimal(node: &Node) -> Option<(i64, u16)> {
    // SAFETY: a numeric.
    let payload = constant(node, NUMERICOID).map(|value| unsafe { varlena(value) })?;
    match Decimal::of_payload(payload)? {
        Decimal::Small { mantissa, scale } => Some((mantissa, scale)),
        _ => None,
    }
}

/// What a place in a text is asked of, and the text.
pub fn position_of<'a>(function: u32, collation: Oid, args: &[&'a Node]) -> Option<(Vec<u8>, &'a Node)> {
    let (F_POSITION_TEXT_TEXT | F_STRPOS, &[text, sought]) = (function, args) else {
        return None;
    };
    let is_plain = collation != InvalidOid && is_deterministic(collation);
    is_plain.then_some((bytes(sought)?.to_vec(), text))
}

/// Text cast to a time.
pub fn time(ty: Oid) -> Option<TimeType> {
    match ty {
        DATEOID => Some(TimeType::Date),
        TIMESTAMPOID => Some(TimeType::Timestamp),
        TIMESTAMPTZOID => Some(TimeType::TimestampTz),
        _ => None,
    }
}

/// What a function takes of a timestamp or cuts it to, if that does not depend on a time zone.
pub fn unit_of(function: u32, name: &Node) -> Option<Unit> {
    let unit = Unit::by_name(&bytes(name)?.to_ascii_lowercase())?;
    let known = match function {
        F_DATE_TRUNC_TEXT_TIMESTAMP => unit.cuts(),
        F_EXTRACT_TEXT_TIMESTAMP | F_DATE_PART_TEXT_TIMESTAMP => unit.is_field(false),
        F_EXTRACT_TEXT_TIMESTAMPTZ => unit.is_field(true),
        _ => false,
    };
    known.then_some(unit)
}

/// Microseconds in which a field of a timestamp changes once at most: clocks of all time zones in use agree on quarters
/// of an hour, and where one does not, the function is not the same at both ends of the step.
pub fn step_of(field: &Node) -> i64 {
    const SECOND: i64 = 1_000_000;
    let Some(name) = bytes(field) else {
        return 1;
    };
    match name.to_ascii_lowercase().as_slice() {
        b"second" | b"milliseconds" | b"microseconds" | b"epoch" | b"julian" => 1,
        b"minute" => 60 * SECOND,
        b"hour" | b"day" | b"week" | b"month" | b"quarter" | b"year" | b"decade" | b"century" | b"millennium"
        | b"dow" | b"doy" | b"isodow" | b"isoyear" => 15 * 60 * SECOND,
        _ => 1,
    }
}

/// A type as a cast's target.
pub fn number(ty: Oid) -> Option<To> {
    let int = |min: i64, max: i64| Some(To::Int { min, max });
    match ty {
        INT2OID => int(i16::MIN.into(), i16::MAX.into()),
        INT4OID => int(i32::MIN.into(), i32::MAX.into()),
        INT8OID => int(i64::MIN, i64::MAX),
        FLOAT8OID => Some(To::Float),
        NUMERICOID => Some(To::Numeric),
        BOOLOID => Some(To::Bool),
        _ => None,
    }
}

macro_rules! comparisons {
    ($id:expr, $($ty:expr => [$($eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident),+]),+) => {
        match $id {
            $($($eq => Some((Comparison::Equal, $ty)),
                $ne => Some((Comparison::NotEqual, $ty)),
                $lt => Some((Comparison::Less, $ty)),
                $le => Some((Comparison::LessEqual, $ty)),
                $gt => Some((Comparison::Greater, $ty)),
                $ge => Some((Comparison::GreaterEqual, $ty)),)+)+
            _ => None,
        }
    };
}

/// What a comparison operator's function asks, and as what its operands are held. Text has an order only bytewise.
pub fn comparison(function: u32, collation: Oid) -> Option<(Comparison, Type)> {
    let uuids = comparisons!(function, Type::Text => [F_UUID_EQ F_UUID_NE F_UUID_LT F_UUID_LE F_UUID_GT F_UUID_GE]);
    if uuids.is_some() {
        return uuids;
    }
    let found = comparisons!(function,
        Type::Int => [
            F_INT2EQ F_INT2NE F_INT2LT F_INT2LE F_INT2GT F_INT2GE,
            F_INT4EQ F_INT4NE F_INT4LT F_INT4LE F_INT4GT F_INT4GE,
            F_INT8EQ F_INT8NE F_INT8LT F_INT8LE F_INT8GT F_INT8GE,
            F_INT24EQ F_INT24NE F_INT24LT F_INT24LE F_INT24GT F_INT24GE,
            F_INT42EQ F_INT42NE F_INT42LT F_INT42LE F_INT42GT F_INT42GE,
            F_INT28EQ F_INT28NE F_INT28LT F_INT28LE F_INT28GT F_INT28GE,
            F_INT82EQ F_INT82NE F_INT82LT F_INT82LE F_INT82GT F_INT82GE,
            F_INT48EQ F_INT48NE F_INT48LT F_INT48LE F_INT48GT F_INT48GE,
            F_INT84EQ F_INT84NE F_INT84LT F_INT84LE F_INT84GT F_INT84GE,
            F_DATE_EQ F_DATE_NE F_DATE_LT F_DATE_LE F_DATE_GT F_DATE_GE,
            F_TIME_EQ F_TIME_NE F_TIME_LT F_TIME_LE F_TIME_GT F_TIME_GE,
            F_TIMESTAMP_EQ F_TIMESTAMP_NE F_TIMESTAMP_LT F_TIMESTAMP_LE F_TIMESTAMP_GT F_TIMESTAMP_GE,
            F_TIMESTAMPTZ_EQ F_TIMESTAMPTZ_NE F_TIMESTAMPTZ_LT F_TIMESTAMPTZ_LE F_TIMESTAMPTZ_GT F_TIMESTAMPTZ_GE
        ],
        Type::Float => [
            F_FLOAT4EQ F_FLOAT4NE F_FLOAT4LT F_FLOAT4LE F_FLOAT4GT F_FLOAT4GE,
            F_FLOAT8EQ F_FLOAT8NE F_FLOAT8LT F_FLOAT8LE F_FLOAT8GT F_FLOAT8GE,
            F_FLOAT48EQ F_FLOAT48NE F_FLOAT48LT F_FLOAT48LE F_FLOAT48GT F_FLOAT48GE,
            F_FLOAT84EQ F_FLOAT84NE F_FLOAT84LT F_FLOAT84LE F_FLOAT84GT F_FLOAT84GE
        ],
        Type::Numeric => [F_NUMERIC_EQ F_NUMERIC_NE F_NUMERIC_LT F_NUMERIC_LE F_NUMERIC_GT F_NUMERIC_GE],
        Type::Bool => [F_BOOLEQ F_BOOLNE F_BOOLLT F_BOOLLE F_BOOLGT F_BOOLGE],
        Type::Text => [F_TEXTEQ F_TEXTNE F_TEXT_LT F_TEXT_LE F_TEXT_GT F_TEXT_GE]
    )?;
    if found.1 == Type::Text {
        let usable = match found.0 {
            // PostgreSQL says so when it compares.
            _ if collation == InvalidOid => false,
            Comparison::Equal | Comparison::NotEqual => is_deterministic(collation),
            _ => is_bytewise(collation),
        };
        return usable.then_some(found);
    }
    Some(found)
}

/// A comparison of text with a constant that digits decide where its collation's order is not that of bytes, the text, and the
/// constant.
pub fn digits_compared<'a>(
    function: u32,
    collation: Oid,
    left: &'a Node,
    right: &'a Node,
) -> Option<(Comparison, &'a Node, Vec<u8>)> {
    let comparison = match function {
        F_TEXT_LT => Comparison::Less,
        F_TEXT_LE => Comparison::LessEqual,
        F_TEXT_GT => Comparison::Greater,
        F_TEXT_GE => Comparison::GreaterEqual,
        _ => return None,
    };
    let (comparison, text, constant) = match bytes(right) {
        Some(constant) => (comparison, left, constant),
        None => (comparison.flip(), right, bytes(left)?),
    };
    let known = collation != InvalidOid && is_comparable(constant) && encoding().is_some();
    let ordered = || are_ordered(|a, b| compare_text(a, b, collation));
    (known && is_deterministic(collation) && ordered()).then(|| (comparison, text, constant.to_vec()))
}

/// What an operator's function computes.
pub fn arithmetic(function: u32) -> Option<Arithmetic> {
    Some(match function {
        F_INT2PL | F_INT4PL | F_INT8PL | F_INT24PL | F_INT42PL | F_INT28PL | F_INT82PL | F_INT48PL | F_INT84PL
        | F_FLOAT8PL | F_NUMERIC_ADD => Arithmetic::Add,
        F_INT2MI | F_INT4MI | F_INT8MI | F_INT24MI | F_INT42MI | F_INT28MI | F_INT82MI | F_INT48MI | F_INT84MI
        | F_FLOAT8MI | F_NUMERIC_SUB => Arithmetic::Subtract,
        F_INT2MUL | F_INT4MUL | F_INT8MUL | F_INT24MUL | F_INT42MUL | F_INT28MUL | F_INT82MUL | F_INT48MUL
        | F_INT84MUL | F_FLOAT8MUL | F_NUMERIC_MUL => Arithmetic::Multiply,
        F_INT2DIV | F_INT4DIV | F_INT8DIV | F_INT24DIV | F_INT42DIV | F_INT28DIV | F_INT82DIV | F_INT48DIV
        | F_INT84DIV | F_FLOAT8DIV | F_NUMERIC_DIV => Arithmetic::Divide,
        F_INT2MOD | F_INT4MOD | F_INT8MOD | F_NUMERIC_MOD => Arithmetic::Modulo,
        _ => return None,
    })
}

/// A function of one number, and that; decimals are constant.
pub fn function1<'a>(function: u32, args: &[&'a Node]) -> Option<(Function1, &'a Node)> {
    let (&arg, decimals) = match args {
        [arg] => (arg, 0),
        [arg, decimals] => (arg, constant(decimals, INT4OID)?.value() as i32),
        _ => return None,
    };
    let found = match function {
        F_ABS_INT2 | F_ABS_INT4 | F_ABS_INT8 | F_INT2ABS | F_INT4ABS | F_INT8ABS | F_ABS_FLOAT4 | F_ABS_FLOAT8
        | F_FLOAT4ABS | F_FLOAT8ABS | F_ABS_NUMERIC | F_NUMERIC_ABS => Function1::Abs,
        F_INT2UM | F_INT4UM | F_INT8UM | F_FLOAT4UM | F_FLOAT8UM | F_NUMERIC_UMINUS => Function1::Negate,
        F_SIGN_FLOAT8 | F_SIGN_NUMERIC => Function1::Sign,
        F_FLOOR_FLOAT8 | F_FLOOR_NUMERIC => Function1::Floor,
        F_CEIL_FLOAT8 | F_CEILING_FLOAT8 | F_CEIL_NUMERIC | F_CEILING_NUMERIC => Function1::Ceil,
        F_ROUND_FLOAT8 | F_DROUND | F_ROUND_NUMERIC_INT4 | F_ROUND_NUMERIC => Function1::Round(decimals),
        F_TRUNC_FLOAT8 | F_DTRUNC | F_TRUNC_NUMERIC_INT4 | F_TRUNC_NUMERIC => Function1::Truncate(decimals),
        F_SQRT_FLOAT8 | F_DSQRT => Function1::Sqrt,
        F_EXP_FLOAT8 | F_DEXP => Function1::Exp,
        F_LN_FLOAT8 | F_DLOG1 => Function1::Ln,
        F_LOG_FLOAT8 | F_LOG10_FLOAT8 | F_DLOG10 => Function1::Log10,
        _ => return None,
    };
    Some((found, arg))
}
