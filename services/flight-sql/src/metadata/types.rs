//! The types that columns may have, as ODBC and JDBC number them.

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{CommandGetXdbcTypeInfo, Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};
use arrow_schema::SchemaRef;
use tonic::Status;

use crate::error;

/// Name, number, size, and whether values are written in quotes.
const TYPES: [(&str, XdbcDataType, Option<i32>, bool); 18] = [
    ("bool", XdbcDataType::XdbcBit, Some(1), false),
    ("int2", XdbcDataType::XdbcSmallint, Some(16), false),
    ("int4", XdbcDataType::XdbcInteger, Some(32), false),
    ("int8", XdbcDataType::XdbcBigint, Some(64), false),
    ("float4", XdbcDataType::XdbcReal, Some(24), false),
    ("float8", XdbcDataType::XdbcDouble, Some(53), false),
    ("numeric", XdbcDataType::XdbcNumeric, Some(1000), false),
    ("text", XdbcDataType::XdbcVarchar, None, true),
    ("varchar", XdbcDataType::XdbcVarchar, Some(10_485_760), true),
    ("bpchar", XdbcDataType::XdbcChar, Some(10_485_760), true),
    ("bytea", XdbcDataType::XdbcVarbinary, None, true),
    ("date", XdbcDataType::XdbcDate, Some(13), true),
    ("time", XdbcDataType::XdbcTime, Some(15), true),
    ("timestamp", XdbcDataType::XdbcTimestamp, Some(29), true),
    ("timestamptz", XdbcDataType::XdbcTimestamp, Some(35), true),
    ("interval", XdbcDataType::XdbcInterval, Some(49), true),
    ("uuid", XdbcDataType::XdbcVarchar, Some(36), true),
    ("jsonb", XdbcDataType::XdbcLongvarchar, None, true),
];

pub fn schema() -> SchemaRef {
    XdbcTypeInfoDataBuilder::new().schema()
}

pub fn read(command: CommandGetXdbcTypeInfo) -> Result<RecordBatch, Status> {
    let all = all()?;
    all.record_batch(command.data_type).map_err(error::internal)
}

fn all() -> Result<XdbcTypeInfoData, Status> {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    for (name, data_type, size, quoted) in TYPES {
        let quote = quoted.then(|| "'".to_owned());
        let is_number = matches!(
            data_type,
            XdbcDataType::XdbcSmallint
                | XdbcDataType::XdbcInteger
                | XdbcDataType::XdbcBigint
                | XdbcDataType::XdbcReal
                | XdbcDataType::XdbcDouble
                | XdbcDataType::XdbcNumeric
        );
        let is_text = matches!(name, "text" | "varchar" | "bpchar");
        let parameters: &[&str] = match name {
            "numeric" => &["precision", "scale"],
            "varchar" | "bpchar" => &["length"],
            "time" | "timestamp" | "timestamptz" => &["precision"],
            _ => &[],
        };
        let radix = match name {
            "numeric" => 10,
            _ => 2,
        };
        builder.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type,
            column_size: size,
            literal_prefix: quote.clone(),
            literal_suffix: quote,
            create_params: Some(parameters.iter().map(|name| (*name).to_owned()).collect()),
            nullable: Nullable::NullabilityNullable,
            case_sensitive: is_text,
            searchable: match is_text {
                true => Searchable::Full,
                false => Searchable::Basic,
            },
            unsigned_attribute: is_number.then_some(false),
            fixed_prec_scale: false,
            auto_increment: is_number.then_some(false),
            local_type_name: Some(name.to_owned()),
            minimum_scale: (name == "numeric").then_some(-1000),
            maximum_scale: (name == "numeric").then_some(1000),
            sql_data_type: data_type,
            datetime_subcode: match name {
                "time" => Some(XdbcDatetimeSubcode::XdbcSubcodeTime),
                "timestamp" => Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
                "timestamptz" => Some(XdbcDatetimeSubcode::XdbcSubcodeTimestampWithTimezone),
                _ => None,
            },
            num_prec_radix: is_number.then_some(radix),
            interval_precision: None,
        });
    }
    builder.build().map_err(error::internal)
}
