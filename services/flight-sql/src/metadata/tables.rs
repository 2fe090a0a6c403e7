//! Catalogs, schemas and tables.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_flight::sql::{CommandGetDbSchemas, CommandGetTables};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tokio_postgres::Row;
use tonic::Status;

use super::{ask, batch, described, texts, usable};
use crate::error;
use crate::schema::encoded;
use crate::session::Session;
use crate::types;

/// The kinds of relations, by the names that drivers show. The system's are told apart, as drivers leave them out.
const KINDS: [&str; 7] = [
    "FOREIGN TABLE",
    "MATERIALIZED VIEW",
    "PARTITIONED TABLE",
    "SYSTEM TABLE",
    "SYSTEM VIEW",
    "TABLE",
    "VIEW",
];

const KIND: &str = "CASE WHEN c.relkind = 'f' THEN 'FOREIGN TABLE' WHEN c.relkind = 'm' THEN 'MATERIALIZED VIEW' \
                    WHEN c.relkind = 'p' THEN 'PARTITIONED TABLE' \
                    ELSE CASE WHEN n.nspname IN ('pg_catalog', 'information_schema') THEN 'SYSTEM ' ELSE '' END \
                         || CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END END";

pub fn catalogs_schema() -> SchemaRef {
    described(&[("catalog_name", DataType::Utf8, false)])
}

/// The one that the server is connected to: others need other connections.
pub async fn catalogs(session: &Arc<Session>) -> Result<RecordBatch, Status> {
    let rows = ask(session, "SELECT pg_catalog.current_database()::pg_catalog.text", &[]).await?;
    batch(catalogs_schema(), vec![texts(&rows, 0)?])
}

pub fn schemas_schema() -> SchemaRef {
    described(&[
        ("catalog_name", DataType::Utf8, true),
        ("db_schema_name", DataType::Utf8, false),
    ])
}

pub async fn schemas(session: &Arc<Session>, command: CommandGetDbSchemas) -> Result<RecordBatch, Status> {
    let query = "SELECT pg_catalog.current_database()::pg_catalog.text, n.nspname::pg_catalog.text FROM pg_catalog.pg_namespace n \
                 WHERE pg_catalog.has_schema_privilege(n.oid, 'USAGE, CREATE') AND n.nspname !~ '^pg_(toast|temp_)' \
                   AND ($1::pg_catalog.text IS NULL OR pg_catalog.current_database() = $1) \
                   AND ($2::pg_catalog.text IS NULL OR n.nspname LIKE $2) ORDER BY n.nspname";
    let rows = ask(session, query, &[&command.catalog, &command.db_schema_filter_pattern]).await?;
    batch(schemas_schema(), vec![texts(&rows, 0)?, texts(&rows, 1)?])
}

pub fn table_types_schema() -> SchemaRef {
    described(&[("table_type", DataType::Utf8, false)])
}

pub fn table_types() -> Result<RecordBatch, Status> {
    batch(table_types_schema(), vec![Arc::new(StringArray::from(KINDS.to_vec()))])
}

pub fn tables_schema(with_schema: bool) -> SchemaRef {
    let mut fields = vec![
        ("catalog_name", DataType::Utf8, true),
        ("db_schema_name", DataType::Utf8, true),
        ("table_name", DataType::Utf8, false),
        ("table_type", DataType::Utf8, false),
    ];
    if with_schema {
        fields.push(("table_schema", DataType::Binary, false));
    }
    described(&fields)
}

pub async fn tables(session: &Arc<Session>, command: CommandGetTables) -> Result<RecordBatch, Status> {
    let query = format!(
        "SELECT pg_catalog.current_database()::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text, {KIND}, c.oid \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_(toast|temp_)' AND {} \
           AND ($1::pg_catalog.text IS NULL OR pg_catalog.current_database() = $1) \
           AND ($2::pg_catalog.text IS NULL OR n.nspname LIKE $2) AND ($3::pg_catalog.text IS NULL OR c.relname LIKE $3) \
           AND (pg_catalog.cardinality($4::pg_catalog.text[]) = 0 OR ({KIND}) = ANY ($4)) \
         ORDER BY n.nspname, c.relname, 4",
        usable("c", "n")
    );
    let rows = ask(
        session,
        &query,
        &[
            &command.catalog,
            &command.db_schema_filter_pattern,
            &command.table_name_filter_pattern,
            &command.table_types,
        ],
    )
    .await?;
    let mut columns: Vec<ArrayRef> = (0..4).map(|at| texts(&rows, at)).collect::<Result<_, _>>()?;
    if command.include_schema {
        columns.push(Arc::new(column_schemas(session, &rows).await?));
    }
    batch(tables_schema(command.include_schema), columns)
}

/// The columns of tables, each as a schema.
async fn column_schemas(session: &Arc<Session>, tables: &[Row]) -> Result<BinaryArray, Status> {
    let get = |row: &Row| row.try_get::<_, u32>(4).map_err(|error| error::of(&error));
    let oids: Vec<u32> = tables.iter().map(get).collect::<Result<_, _>>()?;
    // A domain counts as what it is over, whose modifier is the innermost's.
    let query = "WITH RECURSIVE d(domain, base, modifier) AS ( \
                   SELECT oid, typbasetype, typtypmod FROM pg_catalog.pg_type WHERE typtype = 'd' \
                   UNION ALL \
                   SELECT d.domain, t.typbasetype, t.typtypmod FROM d JOIN pg_catalog.pg_type t ON t.oid = d.base WHERE t.typtype = 'd'), \
                 b AS (SELECT d.* FROM d JOIN pg_catalog.pg_type t ON t.oid = d.base WHERE t.typtype <> 'd') \
                 SELECT a.attrelid, a.attname::pg_catalog.text, a.attnotnull, pg_catalog.format_type(a.atttypid, a.atttypmod), \
                   coalesce(e.oid, t.oid), coalesce(b.modifier, a.atttypmod), coalesce(e.typtype, t.typtype) = 'e', e.oid IS NOT NULL, \
                   a.attidentity <> '' OR coalesce(pg_catalog.pg_get_expr(v.adbin, v.adrelid) LIKE 'nextval(%', false), \
                   pg_catalog.col_description(a.attrelid, a.attnum) \
                 FROM pg_catalog.pg_attribute a LEFT JOIN b ON b.domain = a.atttypid \
                   JOIN pg_catalog.pg_type t ON t.oid = coalesce(b.base, a.atttypid) \
                   LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typlen = -1 \
                   LEFT JOIN pg_catalog.pg_attrdef v ON v.adrelid = a.attrelid AND v.adnum = a.attnum \
                 WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum";
    let mut fields: HashMap<u32, Vec<Field>> = HashMap::new();
    for row in ask(session, query, &[&oids]).await? {
        let (table, field) = column(&row).map_err(|error| error::of(&error))?;
        fields.entry(table).or_default().push(field);
    }
    let schemas = oids
        .iter()
        .map(|oid| encoded(&Schema::new(fields.remove(oid).unwrap_or_default())));
    let schemas: Vec<_> = schemas.collect::<Result<_, _>>()?;
    Ok(BinaryArray::from_iter_values(schemas))
}

/// The table that a column is of, and its field.
fn column(row: &Row) -> Result<(u32, Field), tokio_postgres::Error> {
    let (name, not_null, shown): (String, bool, String) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    let (oid, modifier, is_enum, is_array): (u32, i32, bool, bool) =
        (row.try_get(4)?, row.try_get(5)?, row.try_get(6)?, row.try_get(7)?);
    let (counts, remark): (bool, Option<String>) = (row.try_get(8)?, row.try_get(9)?);
    let mut metadata = HashMap::from([
        ("postgresql.type".to_owned(), shown.clone()),
        ("ARROW:FLIGHT:SQL:TYPE_NAME".to_owned(), shown),
        (
            "ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT".to_owned(),
            u8::from(counts).to_string(),
        ),
    ]);
    if let Some(remark) = remark {
        metadata.insert("ARROW:FLIGHT:SQL:REMARKS".to_owned(), remark);
    }
    let made = types::arrow(oid, modifier, is_enum);
    Ok((
        row.try_get(0)?,
        types::field(&name, made, is_array, !not_null, metadata),
    ))
}
