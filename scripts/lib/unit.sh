# Rust's side: formatting, lints, imports, and the tests of the crates that need no server.

# run_unit [CARGO TEST ARGUMENT...]
run_unit() {
    local log=$RUN_DIR/unit.log status=0 ok bad
    run_check "cargo fmt" bash -c 'cd "$AMAX_ROOT" && cargo fmt --all --check'
    run_check "documents name what is there" "$AMAX_ROOT/scripts/check-docs"
    run_check "the README's picture" "$AMAX_ROOT/scripts/draw-numbers" --check
    run_check "the documentation's pictures" "$AMAX_ROOT/scripts/draw-pictures" --check
    run_check "META.json" "$AMAX_ROOT/scripts/check-meta"
    run_check "the check of imports" "$AMAX_ROOT/scripts/lib/check-imports-test"
    run_check "imports" "$AMAX_ROOT/scripts/check-imports"
    run_check "unsafe" "$AMAX_ROOT/scripts/check-unsafe"
    run_check "guards" "$AMAX_ROOT/scripts/check-guards"
    run_check "tests/core/test_compare.py" env PYTHONDONTWRITEBYTECODE=1 python3 "$AMAX_ROOT/tests/core/test_compare.py"
    run_check "tests/python/docs/test_docs.py" env PYTHONDONTWRITEBYTECODE=1 python3 "$AMAX_ROOT/tests/python/docs/test_docs.py"
    run_check "cargo clippy" run_cargo clippy --workspace --all-targets --features test_hooks -- -D warnings
    export AMAX_FUZZ_SECONDS=${AMAX_FUZZ_SECONDS:-60}
    # The root crate is left out: code that calls PostgreSQL links only into a server.
    run_cargo test --workspace --exclude amax --no-fail-fast "$@" >"$log" 2>&1 || status=$?
    mkdir -p "$TEST_RESULTS"
    cp "$log" "$TEST_RESULTS/unit.log"
    read -r ok bad < <(awk '/^test result:/ { ok += $4; bad += $6 } END { print ok + 0, bad + 0 }' "$log")
    passed "$ok"
    FAILED=$((FAILED + bad))
    if [ "$bad" -gt 0 ]; then grep -E '^test .* FAILED$|^---- |panicked at' "$log" || true; fi
    # A crate that does not compile reports no result at all.
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        tail -40 "$log"
        failed "cargo test could not run"
    elif [ "$ok" -eq 0 ]; then
        failed "cargo test found no tests"
    fi
}

# run_check NAME COMMAND...: one command, one test.
run_check() {
    local name=$1 log=$RUN_DIR/check.log
    shift
    if "$@" >"$log" 2>&1; then
        passed
    else
        tail -60 "$log"
        failed "$name"
    fi
}
