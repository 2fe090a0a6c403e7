# PostgreSQL's own regression and isolation suites with amax as the default access method, on a server with assertions.
#
# A test may differ from PostgreSQL's expected output only if tests/core/exceptions.txt names it with a reason and the
# difference is exactly a recorded one: tests/core/diffs/MODE/TEST.diff, or TEST_1.diff, TEST_2.diff, … where, as in
# PostgreSQL's expected/, more than one outcome is right. What varies from run to run has a weaker check: see tolerated.

CORE_TESTS=$AMAX_ROOT/tests/core

# exception_reason MODE TEST: prints the reason given for it, if there is one.
exception_reason() {
    # What holds for core-eager holds with custom scans too.
    for mode in "$1" "${1/core-columns/core-eager}"; do
        sed -nE "s/^$mode[[:space:]]+$2[[:space:]]+(.+)$/\1/p" "$CORE_TESTS/exceptions.txt"
    done | sed -n 1p
}

# same_lines PATTERN DIFF: whether a difference takes away and adds the same lines, of those that match, in whatever order.
same_lines() {
    cmp -s <(sed -nE '/^---/d; s/^-//p' "$2" | grep -E "$1" | sort) <(sed -nE '/^\+\+\+/d; s/^\+//p' "$2" | grep -E "$1" | sort)
}

# tolerated MODE TEST DIFF REASON: what may differ without having been recorded to the line. In eager mode what is columnar depends on
# which snapshots other tests hold, so physical order does: the same rows in another order are let through there. A test whose
# reason begins with "varies:" also shows plans or TIDs that follow from it; its errors and warnings must still be PostgreSQL's.
tolerated() {
    if [[ $1 == *-eager || $1 == *-columns ]] && same_lines '' "$3"; then return 0; fi
    local errors='^(ERROR|FATAL|PANIC|WARNING|server closed|connection to)'
    # Tests of BRIN warn if their plans have no sequential scan: "did not get seqscan plan".
    if [[ $1 == *-columns ]]; then errors=${errors/WARNING/WARNING:  ([^d]|d[^i])}; fi
    [[ $4 == varies:* ]] && same_lines "$errors" "$3"
}

# known_difference MODE TEST DIFF: whether DIFF equals a recorded one.
known_difference() {
    local recorded
    local mode=${1/core-columns/core-eager}
    for recorded in "$CORE_TESTS/diffs/$mode/$2.diff" "$CORE_TESTS/diffs/$mode/$2"_[0-9].diff; do
        if [ -e "$recorded" ] && cmp -s "$recorded" "$3"; then return 0; fi
    done
    return 1
}

# without_plans FILE: its lines without what EXPLAIN printed.
without_plans() { awk '/QUERY PLAN/ { plan = 1 } !plan { print } /^\([0-9]+ rows?\)$/ { plan = 0 }' "$1"; }

# same_but_plans WORK TEST: whether the output has the expected lines, in whatever order, plans aside.
same_but_plans() {
    local expected
    for expected in "$1/input/expected/$2.out" "$1/input/expected/$2"_[0-9].out; do
        [ -e "$expected" ] || continue
        if cmp -s <(without_plans "$expected" | sort) <(without_plans "$1/output/results/$2.out" | sort); then return 0; fi
    done
    return 1
}

# count_core MODE WORK: like count_own, with the exceptions.
count_core() {
    local mode=$1 verdict test reason diff
    keep_results "$2" "$mode"
    while read -r verdict test; do
        reason=$(exception_reason "$mode" "$test")
        diff=$BUILD_DIR/test/$mode/diffs/$test.diff
        if [ "$verdict" = ok ]; then
            passed
            if [ -n "$reason" ]; then echo "note    $mode/$test is listed as an exception and passes"; fi
        elif [ -n "$reason" ] && [ -e "$diff" ] && known_difference "$mode" "$test" "$diff"; then
            passed
            echo "expected difference  $mode/$test: $reason"
        elif [ -e "$diff" ] && tolerated "$mode" "$test" "$diff" "$reason"; then
            passed
            echo "expected difference  $mode/$test: ${reason:-the same rows in another order}"
        elif [ "$mode" = core-columns ] && same_but_plans "$2" "$test"; then
            passed
            echo "expected difference  $mode/$test: plans are ours"
        else
            failed "$mode/$test (build/test/$mode/diffs/$test.diff)"
        fi
    done < <(regress_results "$2/regress.txt")
    check_log "$2/output/log/postmaster.log"
}

# core_settings KIND: the server settings of a run: normal; eager, everything columnar; columns, that and custom scans, whose plans are
# not PostgreSQL's.
core_settings() {
    echo "default_table_access_method = ${CORE_ACCESS_METHOD:-amax}"
    if [ "$1" != normal ]; then echo "amax.eager = on"; fi
    if [ "$1" != columns ]; then echo "amax.custom_scan = off"; fi
}

# run_core_regress MODE KIND [TEST...]: src/test/regress. Naming tests runs those after test_setup only.
run_core_regress() {
    local mode=$1 work=$RUN_DIR/$1 from=$SOURCE_DIR/src/test/regress selection
    local settings
    settings=$(core_settings "$2")
    shift 2
    if [ $# -gt 0 ]; then selection=(test_setup "$@"); else selection=("--schedule=$work/input/parallel_schedule"); fi
    ensure_assert_server
    stage_assert_server
    mkdir -p "$work/input"
    cp -r "$from"/{sql,expected,data,parallel_schedule,resultmap} "$from"/*.so "$work/input/"
    run_pg_regress "$(test_programs "$RUN_DIR/pg/bin/pg_config")/regress/pg_regress" "$RUN_DIR/pg/bin" "$work" "$settings" \
        --dlpath="$work/input" --max-concurrent-tests=20 "${selection[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$mode could not run"
        return
    }
    count_core "$mode" "$work"
}

# run_core_isolation MODE KIND [SPEC...]: src/test/isolation.
run_core_isolation() {
    local mode=$1 work=$RUN_DIR/$1 from=$SOURCE_DIR/src/test/isolation selection
    local settings
    settings=$(core_settings "$2")
    shift 2
    if [ $# -gt 0 ]; then selection=("$@"); else selection=("--schedule=$work/input/isolation_schedule"); fi
    ensure_assert_server
    stage_assert_server
    mkdir -p "$work/input"
    cp -r "$from"/{specs,expected,isolation_schedule} "$work/input/"
    run_pg_regress "$(test_programs "$RUN_DIR/pg/bin/pg_config")/isolation/pg_isolation_regress" "$RUN_DIR/pg/bin" "$work" "$settings" \
        "${selection[@]}" || {
        tail -20 "$work/regress.txt"
        failed "$mode could not run"
        return
    }
    count_core "$mode" "$work"
}
