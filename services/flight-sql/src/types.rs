//! Types of PostgreSQL as Arrow's, as COPY gives them (src/arrow/types of the extension), for what is described without being read:
//! parameters, and tables. And the other way, for tables that are made for what comes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use tokio_postgres::types::{Kind, Type};

const JSON: &str = "arrow.json";
const UUID: &str = "arrow.uuid";
const EXTENSION: &str = "ARROW:extension:name";

/// The Arrow type of a SQL type that is neither an array nor a domain, and its extension type. None where COPY has none.
pub fn arrow(oid: u32, modifier: i32, is_enum: bool) -> Option<(DataType, Option<&'static str>)> {
    let of = Type::from_oid(oid);
    let plain = |data_type| Some((data_type, None));
    let Some(of) = of else {
        return if is_enum { plain(DataType::Utf8) } else { None };
    };
    match of {
        Type::BOOL => plain(DataType::Boolean),
        Type::INT2 => plain(DataType::Int16),
        Type::INT4 => plain(DataType::Int32),
        Type::INT8 => plain(DataType::Int64),
        Type::OID => plain(DataType::UInt32),
        Type::FLOAT4 => plain(DataType::Float32),
        Type::FLOAT8 => plain(DataType::Float64),
        Type::NUMERIC => plain(numeric(modifier)),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR | Type::TIMETZ => plain(DataType::Utf8),
        Type::BYTEA => plain(DataType::Binary),
        Type::DATE => plain(DataType::Date32),
        Type::TIME => plain(DataType::Time64(TimeUnit::Microsecond)),
        Type::TIMESTAMP => plain(DataType::Timestamp(TimeUnit::Microsecond, None)),
        Type::TIMESTAMPTZ => plain(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        Type::INTERVAL => plain(DataType::Interval(IntervalUnit::MonthDayNano)),
        Type::UUID => Some((DataType::FixedSizeBinary(16), Some(UUID))),
        Type::JSON | Type::JSONB => Some((DataType::Utf8, Some(JSON))),
        _ => None,
    }
}

/// numeric(p, s): numeric.c has both in the modifier, the scale with a sign in eleven bits. Where that is negative, or exceeds the
/// precision, COPY widens the latter.
fn numeric(modifier: i32) -> DataType {
    if modifier < 4 {
        return DataType::Utf8;
    }
    let bits = modifier - 4;
    let (precision, scale) = ((bits >> 16) & 0xffff, ((bits & 0x7ff) ^ 1024) - 1024);
    let precision = match scale < 0 {
        true => precision - scale,
        false => precision.max(scale),
    };
    match (u8::try_from(precision), i8::try_from(scale.max(0))) {
        (Ok(precision @ ..=38), Ok(scale)) => DataType::Decimal128(precision, scale),
        _ => DataType::Utf8,
    }
}

/// A field with what is known of it: of a value, or of an array of such.
pub fn field(
    name: &str,
    made: Option<(DataType, Option<&'static str>)>,
    array: bool,
    nullable: bool,
    mut metadata: HashMap<String, String>,
) -> Field {
    // Neither has COPY a type for an array of what it has none for.
    let array = array && made.is_some();
    let (data_type, extension) = made.unwrap_or((DataType::Utf8, None));
    let data_type = match array {
        true => {
            let element = Field::new_list_field(data_type, true).with_metadata(extended(extension));
            DataType::List(Arc::new(element))
        }
        false => {
            metadata.extend(extended(extension));
            data_type
        }
    };
    Field::new(name, data_type, nullable).with_metadata(metadata)
}

fn extended(extension: Option<&'static str>) -> HashMap<String, String> {
    let both = |name: &str| {
        [
            (EXTENSION.to_owned(), name.to_owned()),
            ("ARROW:extension:metadata".to_owned(), String::new()),
        ]
    };
    extension.map(both).into_iter().flatten().collect()
}

/// A parameter as drivers had best give it. They may give another type: what counts is its text.
pub fn parameter(name: &str, of: &Type) -> Field {
    let (inner, array) = match of.kind() {
        Kind::Array(element) => (element, true),
        _ => (of, false),
    };
    let made = arrow(inner.oid(), -1, matches!(inner.kind(), Kind::Enum(_)));
    // Its text is what people have of a uuid; an interval's, too.
    let made = made.filter(|(data_type, _)| !matches!(data_type, DataType::FixedSizeBinary(_) | DataType::Interval(_)));
    field(name, made, array, true, HashMap::new())
}

/// What a table has for a column of Arrow's.
pub fn sql(field: &FieldRef) -> String {
    let extension = field.metadata().get(EXTENSION).map(String::as_str);
    match (extension, field.data_type()) {
        (Some(UUID), DataType::FixedSizeBinary(16) | DataType::Utf8) => "uuid".into(),
        (Some(JSON), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => "jsonb".into(),
        (_, data_type) => sql_of(data_type),
    }
}

fn sql_of(data_type: &DataType) -> String {
    match data_type {
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => "smallint".into(),
        DataType::UInt16 | DataType::Int32 => "integer".into(),
        DataType::UInt32 | DataType::Int64 => "bigint".into(),
        DataType::UInt64 => "numeric(20, 0)".into(),
        DataType::Float16 | DataType::Float32 => "real".into(),
        DataType::Float64 => "double precision".into(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("numeric({precision}, {scale})"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "bytea".into()
        }
        DataType::Date32 | DataType::Date64 => "date".into(),
        DataType::Time32(_) | DataType::Time64(_) => "time".into(),
        DataType::Timestamp(_, None) => "timestamp".into(),
        DataType::Timestamp(_, Some(_)) => "timestamptz".into(),
        DataType::Duration(_) | DataType::Interval(_) => "interval".into(),
        DataType::Dictionary(_, value) => sql_of(value),
        DataType::RunEndEncoded(_, values) => sql(values),
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
            if !is_nested(element.data_type()) =>
        {
            format!("{}[]", sql(element))
        }
        // Documents: structs, maps, unions, and lists of lists or of these.
        _ => "jsonb".into(),
    }
}

fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_nested(value),
        DataType::RunEndEncoded(_, values) => is_nested(values.data_type()),
        _ => data_type.is_nested(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_of_numeric() {
        let modifier = |precision: i32, scale: i32| ((precision << 16) | (scale & 0x7ff)) + 4;
        assert_eq!(numeric(modifier(10, 2)), DataType::Decimal128(10, 2));
        assert_eq!(numeric(modifier(38, 38)), DataType::Decimal128(38, 38));
        assert_eq!(numeric(modifier(2, 5)), DataType::Decimal128(5, 5));
        assert_eq!(numeric(modifier(2, -3)), DataType::Decimal128(5, 0));
        assert_eq!(numeric(modifier(39, 2)), DataType::Utf8);
        assert_eq!(numeric(-1), DataType::Utf8);
    }

    #[test]
    fn columns_for_what_comes() {
        let sql = |data_type| sql(&Arc::new(Field::new("a", data_type, true)));
        assert_eq!(sql(DataType::Int64), "bigint");
        assert_eq!(sql(DataType::Decimal128(10, 2)), "numeric(10, 2)");
        let text = Arc::new(Field::new("item", DataType::Utf8, true));
        assert_eq!(sql(DataType::List(text.clone())), "text[]");
        let list = Arc::new(Field::new("item", DataType::List(text), true));
        assert_eq!(sql(DataType::List(list)), "jsonb");
        let json = Field::new("a", DataType::Utf8, true).with_metadata(extended(Some(JSON)));
        assert_eq!(super::sql(&Arc::new(json)), "jsonb");
    }
}
