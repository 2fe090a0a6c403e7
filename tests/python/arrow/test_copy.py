"""COPY … TO … (FORMAT arrow): destinations, framing, options, privileges, and every other COPY left alone."""

import os
import subprocess

import psycopg
import pyarrow as pa
import pytest

from conftest import copy_bytes, table


@pytest.fixture
def t(db):
    db.execute("DROP TABLE IF EXISTS t CASCADE")
    db.execute("CREATE TABLE t (a int, gone text, b text, twice int GENERATED ALWAYS AS (a * 2) STORED)")
    db.execute("INSERT INTO t SELECT i, 'x', 'row ' || i FROM generate_series(1, 1000) i")
    db.execute("ALTER TABLE t DROP COLUMN gone")
    yield "t"
    db.execute("DROP TABLE t CASCADE")


@pytest.fixture
def server_file(db):
    """Names of files the server writes and the test reads: both run on this machine."""
    directory = db.execute("SHOW data_directory").fetchone()[0]
    made = []

    def name(suffix):
        made.append(f"{directory}/copied{len(made)}{suffix}")
        return made[-1]

    yield name
    for path in made:
        if os.path.exists(path):
            os.unlink(path)


EXPECTED = {"a": list(range(1, 1001)), "b": [f"row {i}" for i in range(1, 1001)]}


def test_table_to_stdout(db, t):
    result = table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)"))
    assert result.to_pydict() == EXPECTED  # like COPY: no dropped and no generated column


def test_column_list(db, t):
    result = table(copy_bytes(db, "COPY t (b, a) TO STDOUT (FORMAT arrow)"))
    assert result.column_names == ["b", "a"]
    assert result.to_pydict() == EXPECTED
    for columns, error in [("nope", psycopg.errors.UndefinedColumn), ("a, a", psycopg.errors.DuplicateColumn),
                           ("twice", psycopg.errors.InvalidColumnReference)]:
        with pytest.raises(error):
            copy_bytes(db, f"COPY t ({columns}) TO STDOUT (FORMAT arrow)")


def test_column_and_table_names_need_quotes(db):
    db.execute('DROP SCHEMA IF EXISTS "My schema" CASCADE; CREATE SCHEMA "My schema"')
    db.execute('CREATE TABLE "My schema"."T 1" ("Col ""x""" int, "T 1" text)')
    db.execute("""INSERT INTO "My schema"."T 1" VALUES (1, 'x')""")
    result = table(copy_bytes(db, 'COPY "My schema"."T 1" TO STDOUT (FORMAT arrow)'))
    assert result.to_pydict() == {'Col "x"': [1], "T 1": ["x"]}
    db.execute('DROP SCHEMA "My schema" CASCADE')


def test_inheritance_children_are_not_copied(db, t):
    db.execute("CREATE TABLE child () INHERITS (t)")
    db.execute("INSERT INTO child (a) VALUES (-1)")
    assert table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1000


def test_temporary_table(db):
    db.execute("CREATE TEMP TABLE mine AS SELECT 1 AS x")
    assert table(copy_bytes(db, "COPY mine TO STDOUT (FORMAT arrow)")).to_pydict() == {"x": [1]}


def test_rows_without_columns(db):
    db.execute("CREATE TEMP TABLE empty_rows ()")
    db.execute("INSERT INTO empty_rows SELECT FROM generate_series(1, 7)")
    stream = copy_bytes(db, "COPY empty_rows TO STDOUT (FORMAT arrow)")
    batches = list(pa.ipc.open_stream(stream))
    assert sum(batch.num_rows for batch in batches) == 7 and batches[0].num_columns == 0


def test_data_modifying_query(db, t):
    result = table(copy_bytes(db, "COPY (DELETE FROM t WHERE a <= 10 RETURNING a) TO STDOUT (FORMAT arrow)"))
    assert result["a"].to_pylist() == list(range(1, 11))
    assert db.execute("SELECT count(*) FROM t").fetchone() == (990,)


def test_own_changes_are_seen(db, t):
    with db.transaction():
        db.execute("INSERT INTO t VALUES (0, 'new')")
        assert table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1001


def test_command_tag(db, t, server_file):
    cursor = db.execute(f"COPY t TO '{server_file('')}' (FORMAT arrow)")
    assert cursor.statusmessage == "COPY 1000" and cursor.rowcount == 1000


@pytest.mark.parametrize("suffix, options, framing", [
    (".arrow", "", "file"), (".feather", "", "file"), (".arrows", "", "stream"), ("", "", "stream"),
    (".arrow", ", framing 'stream'", "stream"), ("", ", FRAMING file", "file"),
])
def test_file(db, t, server_file, suffix, options, framing):
    path = server_file(suffix)
    db.execute("SET amax.arrow_batch_rows = 300")
    db.execute(f"COPY t TO '{path}' (FORMAT arrow{options})")
    with open(path, "rb") as file:
        magic = file.read(6)
    assert (magic == b"ARROW1") == (framing == "file")
    reader = (pa.ipc.open_file if framing == "file" else pa.ipc.open_stream)(path if framing == "file" else open(path, "rb"))
    assert reader.read_all().to_pydict() == EXPECTED
    if framing == "file":
        assert reader.num_record_batches == 4
    assert os.stat(path).st_mode & 0o777 == 0o644


def test_stdout_in_file_framing(db, t):
    data = copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow, framing file)")
    assert pa.ipc.open_file(data).read_all().to_pydict() == EXPECTED


def test_what_waits_for_the_client_is_bounded(db, server_file):
    """One batch of 45 MB: it arrives as it is, and the session does not keep memory for all of it."""
    path = server_file("")
    db.execute("SET amax.arrow_batch_rows = 1000000; SET amax.arrow_batch_size = '64MB'")
    query = "SELECT i, repeat(chr(65 + i % 26), 100) FROM generate_series(1, 400000) i"
    db.execute(f"COPY ({query}) TO '{path}' (FORMAT arrow)")
    data = copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)")
    with open(path, "rb") as file:
        assert data == file.read()
    assert len(data) > 40 << 20
    kept = db.execute("SELECT total_bytes FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext'").fetchone()[0]
    assert kept < 20 << 20


@pytest.mark.parametrize("framing, open_", [("stream", pa.ipc.open_stream), ("file", pa.ipc.open_file)])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compression(db, t, framing, open_, compression):
    plain = copy_bytes(db, "COPY (SELECT i, repeat('abc', 20) FROM generate_series(1, 5000) i) TO STDOUT (FORMAT arrow, compression none)")
    data = copy_bytes(db, "COPY (SELECT i, repeat('abc', 20) FROM generate_series(1, 5000) i) TO STDOUT "
                      f"(FORMAT arrow, framing {framing}, compression {compression})")
    assert open_(data).read_all().to_pydict() == pa.ipc.open_stream(plain).read_all().to_pydict()
    assert len(data) < len(plain) / 3
    data = copy_bytes(db, f"COPY t TO STDOUT (FORMAT arrow, framing {framing}, compression {compression})")
    assert open_(data).read_all().to_pydict() == EXPECTED


def test_program(db, t, server_file):
    path = server_file("")
    db.execute(f"COPY t TO PROGRAM 'cat >{path}' (FORMAT arrow)")
    with open(path, "rb") as file:
        assert pa.ipc.open_stream(file).read_all().to_pydict() == EXPECTED


def test_program_that_fails(db, t):
    with pytest.raises(psycopg.errors.ExternalRoutineException) as raised:
        db.execute("COPY t TO PROGRAM 'cat >/dev/null; exit 3' (FORMAT arrow)")
    assert raised.value.diag.message_primary == "program \"cat >/dev/null; exit 3\" failed"
    assert raised.value.diag.message_detail == "child process exited with exit code 3"
    with pytest.raises(psycopg.errors.Error) as raised:
        db.execute("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 100000)) TO PROGRAM 'true' (FORMAT arrow)")
    assert "Broken pipe" in raised.value.diag.message_primary


def test_bad_files(db, t, server_file):
    with pytest.raises(psycopg.errors.InvalidName):
        db.execute("COPY t TO 'relative.arrow' (FORMAT arrow)")
    with pytest.raises(psycopg.errors.UndefinedFile) as raised:
        db.execute("COPY t TO '/nowhere/at/all.arrow' (FORMAT arrow)")
    assert raised.value.diag.message_primary == \
        'could not open file "/nowhere/at/all.arrow" for writing: No such file or directory'
    with pytest.raises(psycopg.errors.WrongObjectType):
        db.execute("COPY t TO '/tmp' (FORMAT arrow)")
    if os.path.exists("/dev/full"):
        with pytest.raises(psycopg.errors.DiskFull):
            db.execute("COPY t TO '/dev/full' (FORMAT arrow)")


@pytest.mark.parametrize("option", [
    "DELIMITER ','", "HEADER", "NULL ''", "QUOTE '\"'", "ESCAPE 'x'", "FORCE_QUOTE *", "ENCODING 'utf8'", "FREEZE", "nonsense 1",
])
def test_options_of_other_formats(db, t, option):
    with pytest.raises(psycopg.errors.SyntaxError) as raised:
        copy_bytes(db, f"COPY t TO STDOUT (FORMAT arrow, {option})")
    assert "not available with format arrow" in raised.value.diag.message_primary


@pytest.mark.parametrize("options", ["FORMAT arrow, FORMAT csv", "FORMAT csv, FORMAT arrow", "FORMAT arrow, FORMAT arrow",
                                     "FORMAT arrow, framing file, framing file", "FORMAT arrow, compression lz4, compression zstd"])
def test_options_given_twice(db, t, options):
    with pytest.raises(psycopg.errors.SyntaxError, match="conflicting or redundant options"):
        copy_bytes(db, f"COPY t TO STDOUT ({options})")


@pytest.mark.parametrize("option", ["framing tape", "compression snappy", "compression"])
def test_bad_options(db, t, option):
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        copy_bytes(db, f"COPY t TO STDOUT (FORMAT arrow, {option})")



@pytest.mark.parametrize("kind, definition", [
    ("view", "CREATE VIEW thing AS SELECT 1"),
    ("materialized view", "CREATE MATERIALIZED VIEW thing AS SELECT 1"),
    ("partitioned table", "CREATE TABLE thing (a int) PARTITION BY LIST (a)"),
    ("sequence", "CREATE SEQUENCE thing"),
])
def test_other_relations(db, kind, definition):
    db.execute(definition)
    try:
        with pytest.raises(psycopg.errors.WrongObjectType, match=f'cannot copy from {kind} "thing"'):
            copy_bytes(db, "COPY thing TO STDOUT (FORMAT arrow)")
    finally:
        db.execute(f"DROP {kind if kind != 'partitioned table' else 'table'} thing")


@pytest.mark.parametrize("query, message", [
    ("SELECT 1 AS x INTO other", "SELECT INTO"), ("INSERT INTO t VALUES (1)", "RETURNING"),
])
def test_queries_copy_does_not_take(db, t, query, message):
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=message):
        copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)")


@pytest.mark.parametrize("statement", [
    "COPY t TO STDOUT", "COPY t TO STDOUT (FORMAT csv, HEADER)", "COPY t (a) TO STDOUT (FORMAT binary)", "COPY t TO STDOUT BINARY",
    "COPY (SELECT 'arrow' AS format) TO STDOUT",
])
def test_other_formats_are_untouched(db, t, statement):
    with_library = copy_bytes(db, statement)
    db.execute("ALTER DATABASE postgres RESET session_preload_libraries")
    try:
        with psycopg.connect(autocommit=True) as plain:
            assert copy_bytes(plain, statement) == with_library
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                copy_bytes(plain, "COPY t TO STDOUT (FORMAT arrow)")
            plain.execute("SELECT amax.load()")
            assert table(copy_bytes(plain, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1000
    finally:
        db.execute("ALTER DATABASE postgres SET session_preload_libraries = 'amax'")


def test_unknown_format_is_postgresqls_error(db, t):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='COPY format "arrows" not recognized'):
        copy_bytes(db, "COPY t TO STDOUT (FORMAT arrows)")


def test_beside_another_utility_hook(db, t):
    """tests/parts/50-arrow preloads pg_stat_statements, which has a utility hook too, before amax and after it."""
    db.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    db.execute("SELECT pg_stat_statements_reset()")
    assert table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1000
    assert len(copy_bytes(db, "COPY t TO STDOUT").splitlines()) == 1000
    db.execute("CREATE TEMP TABLE other AS TABLE t")
    counted = dict(db.execute("SELECT query, rows FROM pg_stat_statements").fetchall())
    assert counted["COPY t TO STDOUT"] == 1000
    assert counted["CREATE TEMP TABLE other AS TABLE t"] == 1000
    # Asked first, it counts our statement too, with its rows.
    preloaded = db.execute("SHOW shared_preload_libraries").fetchone()[0].split(",")
    if preloaded[0] == "amax":
        assert counted["COPY t TO STDOUT (FORMAT arrow)"] == 1000


def test_psql(t):
    """psql's own COPY writes the bytes as they come."""
    program = os.path.join(os.environ.get("PG_BIN", ""), "psql")
    data = subprocess.run([program, "-X", "-c", "COPY t TO STDOUT (FORMAT arrow)"], check=True, capture_output=True).stdout
    assert table(data).to_pydict() == EXPECTED


def test_file_and_program_need_their_roles(db, role, t, server_file):
    path = server_file("")
    db.execute("GRANT SELECT ON t TO arrow_reader")
    for destination, group in [(f"'{path}'", "pg_write_server_files"), (f"PROGRAM 'cat >{path}'", "pg_execute_server_program")]:
        statement = f"COPY t TO {destination} (FORMAT arrow)"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=group):
            role.execute(statement)
        assert not os.path.exists(path)
        db.execute(f"GRANT {group} TO arrow_reader")
        assert role.execute(statement).rowcount == 1000
        os.unlink(path)


def test_table_privileges(db, role, t):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        copy_bytes(role, "COPY t TO STDOUT (FORMAT arrow)")
    db.execute("GRANT SELECT (b) ON t TO arrow_reader")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        copy_bytes(role, "COPY t TO STDOUT (FORMAT arrow)")
    assert table(copy_bytes(role, "COPY t (b) TO STDOUT (FORMAT arrow)")).column_names == ["b"]


def test_row_level_security(db, role, t):
    db.execute("GRANT SELECT ON t TO arrow_reader")
    db.execute("CREATE POLICY few ON t FOR SELECT TO arrow_reader USING (a <= 3)")
    db.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    assert table(copy_bytes(role, "COPY t TO STDOUT (FORMAT arrow)"))["a"].to_pylist() == [1, 2, 3]
    assert table(copy_bytes(db, "COPY t TO STDOUT (FORMAT arrow)")).num_rows == 1000
    role.execute("SET row_security = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        copy_bytes(role, "COPY t TO STDOUT (FORMAT arrow)")


def test_in_a_procedural_language(db, t, server_file):
    """The tree of a cached plan is executed twice."""
    path = server_file("")
    db.execute(f"CREATE OR REPLACE FUNCTION dump() RETURNS void LANGUAGE plpgsql AS "
               f"$$ BEGIN COPY (SELECT * FROM t) TO '{path}' (FORMAT arrow); END $$")
    for _ in range(3):
        db.execute("SELECT dump()")
    with open(path, "rb") as file:
        assert pa.ipc.open_stream(file).read_all().num_rows == 1000
    db.execute("DROP FUNCTION dump()")


def test_parallel_query(db, t):
    db.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0")
    query = "SELECT a, b FROM t WHERE a % 2 = 0"
    plan = "\n".join(row[0] for row in db.execute(f"EXPLAIN {query}"))
    assert "Workers Planned" in plan
    assert sorted(table(copy_bytes(db, f"COPY ({query}) TO STDOUT (FORMAT arrow)"))["a"].to_pylist()) == list(range(2, 1001, 2))


def test_extended_protocol(db, t):
    with db.cursor() as cursor, cursor.copy("COPY (SELECT * FROM t WHERE a < %s) TO STDOUT (FORMAT arrow)", (5,)) as copy:
        assert table(b"".join(copy)).num_rows == 4
