"""DuckDB with one thread, and tables of PostgreSQL's in it."""

import tempfile

import duckdb


def connect():
    return duckdb.connect(config={"threads": 1})


def copy_table(session, duck, table):
    """Makes a table of `session` anew in DuckDB, which has no char(n): text without the blanks at its end."""
    columns = session.execute("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", [table]).fetchall()
    trimmed = ", ".join(f"rtrim({name})" if type.startswith("character(") else name for name, type in columns)
    types = [(name, "varchar" if type.startswith("character") else type.replace(" without time zone", "")) for name, type in columns]
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        with session.cursor().copy(f"COPY (SELECT {trimmed} FROM {table}) TO STDOUT (FORMAT csv)") as copy:
            for part in copy:
                file.write(part)
        file.flush()
        duck.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {type}' for name, type in types)})")
        duck.execute(f"COPY {table} FROM '{file.name}' (FORMAT csv, HEADER false)")
