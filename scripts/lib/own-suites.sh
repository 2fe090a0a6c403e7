# The project's own SQL tests and isolation specs, on Debian's PostgreSQL.

# count_own NAME WORK: adds the tests of a finished run to the totals.
count_own() {
    local verdict test
    keep_results "$2" "$1"
    while read -r verdict test; do
        if [ "$verdict" = ok ]; then passed; else failed "$1/$test (build/test/$1/diffs/$test.diff)"; fi
    done < <(regress_results "$2/regress.txt")
    check_log "$2/output/log/postmaster.log"
}

# expect FROM TO: copies what is expected, with what another major than Debian's own shows differently: FROM/pgN/TEST.diff.
expect() {
    local from=$1 to=$2 diff
    mkdir -p "$to"
    cp "$from"/*.out "$to/" 2>/dev/null || true
    for diff in "$from/pg$PG_MAJOR"/*.diff; do
        [ -e "$diff" ] || continue
        patch -s "$to/$(basename "$diff" .diff).out" "$diff" || failed "$diff does not apply"
    done
}

# expect_all DIRECTORY TEST...: an empty expected file where a test has none yet: it fails, instead of stopping the run.
expect_all() {
    local directory=$1 test
    shift
    for test in "$@"; do
        [ -e "$directory/$test.out" ] || : >"$directory/$test.out"
    done
}

# run_own_sql NAME SETTINGS [TEST...]: sql/*.sql against expected/*.out.
run_own_sql() {
    local name=$1 settings=$2 work=$RUN_DIR/$1 tests
    shift 2
    tests=("$@")
    if [ ${#tests[@]} -eq 0 ]; then mapfile -t tests < <(cd "$AMAX_ROOT/sql" && printf '%s\n' *.sql | sed 's/\.sql$//'); fi
    mkdir -p "$work/input/data"
    cp -r "$AMAX_ROOT/sql" "$AMAX_ROOT/docs" "$work/input/"
    expect "$AMAX_ROOT/expected" "$work/input/expected"
    expect_all "$work/input/expected" "${tests[@]}"
    local file
    for file in "$AMAX_ROOT"/data/*.jsonl.xz; do
        xz -dc "$file" >"$work/input/data/$(basename "$file" .xz)"
    done
    # What VACUUM reclaims depends on who else has a snapshot. What costs much because all else is disabled would be compiled, which takes a fifth of the time.
    settings+=$'\nautovacuum = off\njit = off'
    run_pg_regress "$(test_programs "$PG_CONFIG")/regress/pg_regress" "$PG_BIN" "$work" "$settings" "${tests[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$name could not run"
        return
    }
    count_own "$name" "$work"
}

# run_own_isolation NAME SETTINGS [SPEC...]: isolation/specs/*.spec against isolation/expected/*.out.
run_own_isolation() {
    local name=$1 settings=$2 work=$RUN_DIR/$1 specs
    shift 2
    specs=("$@")
    if [ ${#specs[@]} -eq 0 ]; then
        mapfile -t specs < <(cd "$AMAX_ROOT/isolation/specs" && printf '%s\n' *.spec | sed 's/\.spec$//')
    fi
    mkdir -p "$work/input"
    cp -r "$AMAX_ROOT/isolation/specs" "$work/input/"
    expect "$AMAX_ROOT/isolation/expected" "$work/input/expected"
    expect_all "$work/input/expected" "${specs[@]}"
    # As in `run_own_sql`: autovacuum's ANALYZE of a catalog has a snapshot.
    settings+=$'\nmax_prepared_transactions = 10\nautovacuum = off'
    run_pg_regress "$(test_programs "$PG_CONFIG")/isolation/pg_isolation_regress" "$PG_BIN" "$work" "$settings" "${specs[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$name could not run"
        return
    }
    count_own "$name" "$work"
}
