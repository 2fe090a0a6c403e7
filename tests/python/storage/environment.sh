# The Python environment of the storage tests, and how their parts count.
. "$AMAX_ROOT/tests/python/venv.sh"

STORAGE_TESTS=$AMAX_ROOT/tests/python/storage
VENV=$BUILD_DIR/storage-venv

ensure_venv() {
    make_venv "$VENV" "$STORAGE_TESTS/requirements.txt"
}

# Servers that a test left behind, when it was interrupted.
stop_storage_servers() {
    local file
    for file in "$RUN_DIR"/*/postmaster.pid; do
        [ -e "$file" ] && as_server_user "$PG_BIN/pg_ctl" -D "$(dirname "$file")" -m immediate -w stop >/dev/null
    done
}
EXIT_HOOKS+=(stop_storage_servers)

TESTS_STATUS=0
TESTS_PASSED=0
TESTS_FAILED=0

# run_tests PROGRAM [ARGUMENT...]: a Python program whose last line is "N passed, N failed"; one of several of a part.
run_tests() {
    local out=$RUN_DIR/out
    "$VENV/bin/python" "$1" "$RUN_DIR" "$results" "${@:2}" 2>&1 | tee "$out" || TESTS_STATUS=$?
    if [[ $(tail -n 1 "$out") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        TESTS_PASSED=$((TESTS_PASSED + BASH_REMATCH[1]))
        TESTS_FAILED=$((TESTS_FAILED + BASH_REMATCH[2]))
    else
        TESTS_FAILED=$((TESTS_FAILED + 1))
    fi
}

# The counts of all of them.
end_tests() {
    if [ "$TESTS_STATUS" -ne 0 ] && [ "$TESTS_FAILED" -eq 0 ]; then TESTS_FAILED=1; fi
    echo "$TESTS_PASSED passed, $TESTS_FAILED failed"
    [ "$TESTS_FAILED" -eq 0 ]
}
