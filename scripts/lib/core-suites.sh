# PostgreSQL's own regression and isolation suites with amax as the default access method, on a server with assertions. What may differ from
# PostgreSQL's expected output: tests/core/README.md.

CORE_TESTS=$AMAX_ROOT/tests/core

# count_core PART WORK: compares what the tests of a finished run printed with PostgreSQL's expected output, statement by statement
# (tests/core), and adds them to the totals. PostgreSQL's own schedule lets `random` fail; so it is not compared.
count_core() {
    local part=$1 work=$2 verdict test tests
    keep_results "$work" "$part"
    tests=$(grep -v '\.\.\. failed (ignored)' "$work/regress.txt" | regress_results /dev/stdin | cut -d ' ' -f 2 | tr '\n' ' ')
    while read -r verdict test; do
        case $verdict in
            ok) passed ;;
            failed) failed "$part/$test (build/test/$part/diffs/$test.statements)" ;;
            statements) echo "$part: $test statements" ;;
            unused) echo "$part: an exception that nothing needed: $test" ;;
            *) failed "$part could not be compared: $verdict $test" ;;
        esac
    done < <(compare_core "$part" "$work/input" "$tests" 2>&1)
    check_log "$work/output/log/postmaster.log"
}

# compare_core PART INPUT TESTS [OPTION...]: tests/core/compare.py on the results that were kept of PART. TESTS are words of one string.
compare_core() {
    local part=$1 input=$2 kept=$TEST_RESULTS/$1 tests major=()
    read -r -a tests <<<"$3"
    shift 3
    if [ "$PG_MAJOR" != "$OWN_MAJOR" ]; then major=(--major "$PG_MAJOR"); fi
    PYTHONDONTWRITEBYTECODE=1 python3 "$CORE_TESTS/compare.py" "${major[@]}" "$@" "$part" "$input" "$kept/results" "$kept/diffs" "${tests[@]}"
}

# core_source PART: where PostgreSQL has the part's tests.
core_source() {
    case $1 in
        *isolation*) echo "$SOURCE_DIR/src/test/isolation" ;;
        *) echo "$SOURCE_DIR/src/test/regress" ;;
    esac
}

# core_settings KIND: the server settings of a run: normal; eager, everything columnar; columns, that and custom scans, whose plans are
# not PostgreSQL's.
core_settings() {
    echo "default_table_access_method = ${CORE_ACCESS_METHOD:-amax}"
    if [ "$1" != normal ]; then echo "amax.eager = on"; fi
    if [ "$1" != columns ]; then echo "amax.custom_scan = off"; fi
    if [ -n "${CORE_MUTANT:-}" ]; then echo "amax.mutant = $CORE_MUTANT"; fi
}

# run_core_regress PART KIND [TEST...]: src/test/regress. Naming tests runs those after test_setup only.
run_core_regress() {
    local part=$1 work=$RUN_DIR/$1 from selection
    local settings
    settings=$(core_settings "$2")
    from=$(core_source "$part")
    shift 2
    if [ $# -gt 0 ]; then selection=(test_setup "$@"); else selection=("--schedule=$work/input/parallel_schedule"); fi
    ensure_assert_server
    stage_assert_server
    mkdir -p "$work/input"
    cp -r "$from"/{sql,expected,data,parallel_schedule,resultmap} "$from"/*.so "$work/input/"
    run_pg_regress "$(test_programs "$RUN_DIR/pg/bin/pg_config")/regress/pg_regress" "$RUN_DIR/pg/bin" "$work" "$settings" \
        --dlpath="$work/input" --max-concurrent-tests=20 "${selection[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$part could not run"
        return
    }
    count_core "$part" "$work"
}

# run_core_isolation PART KIND [SPEC...]: src/test/isolation.
run_core_isolation() {
    local part=$1 work=$RUN_DIR/$1 from selection
    local settings
    settings=$(core_settings "$2")
    from=$(core_source "$part")
    shift 2
    if [ $# -gt 0 ]; then selection=("$@"); else selection=("--schedule=$work/input/isolation_schedule"); fi
    ensure_assert_server
    stage_assert_server
    mkdir -p "$work/input"
    cp -r "$from"/{specs,expected,isolation_schedule} "$work/input/"
    run_pg_regress "$(test_programs "$RUN_DIR/pg/bin/pg_config")/isolation/pg_isolation_regress" "$RUN_DIR/pg/bin" "$work" "$settings" \
        "${selection[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$part could not run"
        return
    }
    count_core "$part" "$work"
}
