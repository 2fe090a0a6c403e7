"""The systems under test."""

from ..config import Options
from .base import System


def make(name: str, options: Options) -> System:
    """The system of that name. Embedded ones are only imported where they are used: they bring threads along."""
    if name == "duckdb":
        from .duckdb import DuckDB
        return DuckDB(name, options)
    if name == "clickhouse":
        from .clickhouse import ClickHouse
        return ClickHouse(name, options)
    from .postgres import Postgres
    return Postgres(name, options)
