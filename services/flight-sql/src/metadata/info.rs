//! What the server is, and can do.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{
    CommandGetSqlInfo, SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel, SqlSupportedCaseSensitivity,
    SqlSupportedGroupBy, SqlSupportedSubqueries, SqlSupportedTransaction, SqlSupportedUnions,
    SqlTransactionIsolationLevel,
};
use arrow_schema::SchemaRef;
use tonic::Status;

use super::ask;
use crate::error;
use crate::session::Session;

pub fn schema() -> SchemaRef {
    Arc::new(SqlInfoDataBuilder::schema().clone())
}

/// Flags, each of which an enumeration numbers.
fn flags(numbers: &[i32]) -> i32 {
    numbers.iter().fold(0, |flags, number| flags | 1 << number)
}

pub async fn read(session: &Arc<Session>, command: CommandGetSqlInfo) -> Result<RecordBatch, Status> {
    let asked = "SELECT pg_catalog.current_setting('server_version'), \
                   (SELECT pg_catalog.array_agg(word ORDER BY word) FROM pg_catalog.pg_get_keywords() WHERE catcode <> 'U'), \
                   (extract(epoch FROM pg_catalog.current_setting('statement_timeout')::pg_catalog.interval))::pg_catalog.int4";
    let rows = ask(session, asked, &[]).await?;
    let get = |error: tokio_postgres::Error| error::of(&error);
    let row = rows
        .first()
        .ok_or_else(|| Status::internal("PostgreSQL does not answer"))?;
    let version: String = row.try_get(0).map_err(get)?;
    let words: Vec<String> = row.try_get(1).map_err(get)?;
    let timeout: i32 = row.try_get(2).map_err(get)?;

    let mut infos = SqlInfoDataBuilder::new();
    infos.append(SqlInfo::FlightSqlServerName, "PostgreSQL with amax");
    infos.append(SqlInfo::FlightSqlServerVersion, version.as_str());
    infos.append(SqlInfo::FlightSqlServerArrowVersion, "1.3");
    infos.append(SqlInfo::FlightSqlServerReadOnly, false);
    infos.append(SqlInfo::FlightSqlServerSql, true);
    infos.append(SqlInfo::FlightSqlServerSubstrait, false);
    infos.append(
        SqlInfo::FlightSqlServerTransaction,
        SqlSupportedTransaction::Transaction as i32,
    );
    infos.append(SqlInfo::FlightSqlServerCancel, true);
    infos.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    infos.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, true);
    infos.append(SqlInfo::FlightSqlServerStatementTimeout, timeout.saturating_mul(1000));
    infos.append(SqlInfo::FlightSqlServerTransactionTimeout, 0_i32);
    infos.append(SqlInfo::SqlDdlCatalog, false);
    infos.append(SqlInfo::SqlDdlSchema, true);
    infos.append(SqlInfo::SqlDdlTable, true);
    infos.append(
        SqlInfo::SqlIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i64,
    );
    infos.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    infos.append(
        SqlInfo::SqlQuotedIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i64,
    );
    infos.append(SqlInfo::SqlAllTablesAreSelectable, false);
    infos.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedHigh as i64);
    infos.append(SqlInfo::SqlKeywords, words);
    infos.append(SqlInfo::SqlSearchStringEscape, "\\");
    infos.append(SqlInfo::SqlExtraNameCharacters, "$");
    infos.append(SqlInfo::SqlSupportsColumnAliasing, true);
    infos.append(SqlInfo::SqlNullPlusNullIsNull, true);
    infos.append(SqlInfo::SqlSupportsTableCorrelationNames, true);
    infos.append(SqlInfo::SqlSupportsDifferentTableCorrelationNames, false);
    infos.append(SqlInfo::SqlSupportsExpressionsInOrderBy, true);
    infos.append(SqlInfo::SqlSupportsOrderByUnrelated, true);
    infos.append(
        SqlInfo::SqlSupportedGroupBy,
        flags(&[
            SqlSupportedGroupBy::SqlGroupByUnrelated as i32,
            SqlSupportedGroupBy::SqlGroupByBeyondSelect as i32,
        ]),
    );
    infos.append(SqlInfo::SqlSupportsLikeEscapeClause, true);
    infos.append(SqlInfo::SqlSupportsNonNullableColumns, true);
    infos.append(SqlInfo::SqlSupportsIntegrityEnhancementFacility, true);
    infos.append(
        SqlInfo::SqlOuterJoinsSupportLevel,
        flags(&[
            SqlOuterJoinsSupportLevel::SqlLimitedOuterJoins as i32,
            SqlOuterJoinsSupportLevel::SqlFullOuterJoins as i32,
        ]),
    );
    infos.append(SqlInfo::SqlSchemaTerm, "schema");
    infos.append(SqlInfo::SqlProcedureTerm, "procedure");
    infos.append(SqlInfo::SqlCatalogTerm, "database");
    infos.append(SqlInfo::SqlCatalogAtStart, true);
    infos.append(SqlInfo::SqlSelectForUpdateSupported, true);
    infos.append(SqlInfo::SqlStoredProceduresSupported, false);
    infos.append(
        SqlInfo::SqlSupportedSubqueries,
        flags(&[
            SqlSupportedSubqueries::SqlSubqueriesInComparisons as i32,
            SqlSupportedSubqueries::SqlSubqueriesInExists as i32,
            SqlSupportedSubqueries::SqlSubqueriesInIns as i32,
            SqlSupportedSubqueries::SqlSubqueriesInQuantifieds as i32,
        ]),
    );
    infos.append(SqlInfo::SqlCorrelatedSubqueriesSupported, true);
    infos.append(
        SqlInfo::SqlSupportedUnions,
        flags(&[
            SqlSupportedUnions::SqlUnion as i32,
            SqlSupportedUnions::SqlUnionAll as i32,
        ]),
    );
    for name in [
        SqlInfo::SqlMaxColumnNameLength,
        SqlInfo::SqlDbSchemaNameLength,
        SqlInfo::SqlMaxCatalogNameLength,
        SqlInfo::SqlMaxTableNameLength,
        SqlInfo::SqlMaxUsernameLength,
        SqlInfo::SqlMaxProcedureNameLength,
    ] {
        infos.append(name, 63_i64);
    }
    infos.append(SqlInfo::SqlMaxColumnsInTable, 1600_i64);
    infos.append(SqlInfo::SqlMaxColumnsInSelect, 1664_i64);
    infos.append(SqlInfo::SqlMaxColumnsInIndex, 32_i64);
    infos.append(
        SqlInfo::SqlDefaultTransactionIsolation,
        SqlTransactionIsolationLevel::SqlTransactionReadCommitted as i64,
    );
    infos.append(SqlInfo::SqlTransactionsSupported, true);
    infos.append(
        SqlInfo::SqlSupportedTransactionsIsolationLevels,
        flags(&[
            SqlTransactionIsolationLevel::SqlTransactionReadCommitted as i32,
            SqlTransactionIsolationLevel::SqlTransactionRepeatableRead as i32,
            SqlTransactionIsolationLevel::SqlTransactionSerializable as i32,
        ]),
    );
    infos.append(SqlInfo::SqlDataDefinitionCausesTransactionCommit, false);
    infos.append(SqlInfo::SqlDataDefinitionsInTransactionsIgnored, false);
    infos.append(SqlInfo::SqlBatchUpdatesSupported, true);
    infos.append(SqlInfo::SqlSavepointsSupported, false);
    infos.append(SqlInfo::SqlNamedParametersSupported, false);
    let data = infos.build().map_err(error::internal)?;
    data.record_batch(command.info).map_err(error::internal)
}
