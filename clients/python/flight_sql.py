"""Results as data frames, and frames into tables, through services/flight-sql: recipes of a few lines each. `db` is what connect() returns."""

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi
import pandas as pd
import polars as pl
import pyarrow as pa


def connect(uri: str, user: str, password: str, certificate: str | None = None):
    """grpc://localhost:31337, or grpc+tls://… with the file of the certificate that the server's is signed by, if the system does not know it."""
    options = {"username": user, "password": password}
    if certificate:
        with open(certificate) as file:
            options[adbc_driver_flightsql.DatabaseOptions.TLS_ROOT_CERTS.value] = file.read()
    return adbc_driver_flightsql.dbapi.connect(uri, db_kwargs=options, autocommit=True)


def to_pyarrow(db, query: str, parameters=None) -> pa.Table:
    """Parameters are $1, $2, … of the query."""
    with db.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetch_arrow_table()


def to_pandas(db, query: str, parameters=None) -> pd.DataFrame:
    """Columns stay Arrow's: no copy, integers with NULL stay integers, decimals stay decimals."""
    return to_pyarrow(db, query, parameters).to_pandas(types_mapper=pd.ArrowDtype)


def to_polars(db, query: str, parameters=None) -> pl.DataFrame:
    return pl.from_arrow(to_pyarrow(db, query, parameters))


def batches(db, query: str, parameters=None):
    """Record batches as they arrive; memory holds a few."""
    with db.cursor() as cursor:
        cursor.execute(query, parameters)
        yield from cursor.fetch_record_batch()


def load(db, frame, table: str, mode: str = "append") -> int:
    """A frame of pandas, polars or pyarrow into a table; mode "create" makes it, "replace" makes it anew."""
    reader = pa.RecordBatchReader.from_stream(frame)
    with db.cursor() as cursor:
        return cursor.adbc_ingest(table, reader, mode=mode)
