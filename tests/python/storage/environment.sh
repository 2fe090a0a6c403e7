# The Python environment of the storage tests, in $BUILD_DIR; made again when what it is made from has changed.

STORAGE_TESTS=$AMAX_ROOT/tests/python/storage
VENV=$BUILD_DIR/storage-venv
export PYTHONDONTWRITEBYTECODE=1

ensure_venv() {
    local wanted
    wanted=$(cat "$STORAGE_TESTS/requirements.txt")
    if [ "$(cat "$VENV/complete" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || ensure_packages python3 python3-venv
    say "making a Python environment"
    rm -rf "$VENV"
    python3 -m venv "$VENV" >&2
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$STORAGE_TESTS/requirements.txt" >&2
    printf '%s\n' "$wanted" >"$VENV/complete"
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
