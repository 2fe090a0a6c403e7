# Running pg_regress and pg_isolation_regress, and reading what they print.

# PASSED and FAILED count individual tests of the part that is running.
PASSED=0
FAILED=0

passed() { PASSED=$((PASSED + ${1:-1})); }

# failed MESSAGE: counts one failure and says which.
failed() {
    FAILED=$((FAILED + 1))
    printf 'FAILED  %s\n' "$*"
}

# test_programs PG_CONFIG: the directory below which that PostgreSQL keeps regress/pg_regress and isolation/….
test_programs() { echo "$(dirname "$("$1" --pgxs)")/../test"; }

# regress_results FILE: "ok NAME" or "failed NAME" for each test in the output of pg_regress. PostgreSQL 15: "test NAME ... ok 12 ms", or
# "     NAME ... FAILED (reason) 12 ms" within a parallel group; "failed (ignored)" is what its own schedule says of `random`, which fails
# now and then by design: it is no failure here either. From 16 on: "ok 1 - NAME 12 ms", "not ok 2 + NAME 12 ms".
regress_results() {
    sed -nE -e 's/^(test| {4,})[[:space:]]*([^[:space:]]+)[[:space:]]+\.\.\. (ok|failed \(ignored\)) .*/ok \2/p' \
        -e 's/^(test| {4,})[[:space:]]*([^[:space:]]+)[[:space:]]+\.\.\. FAILED.*/failed \2/p' \
        -e 's/^ok [0-9]+ +[-+] ([^[:space:]]+) .*/ok \1/p' -e 's/^not ok [0-9]+ +[-+] ([^[:space:]]+) .*/failed \1/p' "$1"
}

# check_log FILE: a crash or panic is a failure of its own, whatever the tests printed.
check_log() {
    local pattern='TRAP:|PANIC:|was terminated by signal|panicked at'
    if [ ! -s "$1" ]; then
        failed "no server log"
    elif grep -qE "$pattern" "$1"; then
        failed "the server's log speaks of a crash:"
        grep -E -m 5 "$pattern" "$1"
    else
        passed
    fi
}

# split_diffs FILE DIRECTORY: cuts regression.diffs into DIRECTORY/NAME.diff, without what varies from run to run: the
# directories and times in the headers, and line numbers (an unrelated line added upstream must not matter).
split_diffs() {
    mkdir -p "$2"
    [ -e "$1" ] || return 0
    awk -v directory="$2" '
        /^diff -/ {
            if (out) close(out)
            name = $NF
            sub(/.*\//, "", name)
            sub(/\.out$/, "", name)
            out = directory "/" name ".diff"
            expected = $(NF - 1)
            sub(/.*\//, "", expected)
            header = 2
            next
        }
        header == 2 { print "--- expected/" expected > out; header = 1; next }
        header == 1 { print "+++ results/" name ".out" > out; header = 0; next }
        /^@@ / { print "@@" > out; next }
        out { print > out }' "$1"
}

# run_pg_regress PROGRAM BINDIR WORK SETTINGS ARGUMENT...: a temporary instance in WORK/instance with the given
# settings (one string, lines separated by newlines); output in WORK/output. Succeeds if the program could run at all.
run_pg_regress() {
    local program=$1 bindir=$2 work=$3 settings=$4 status=0
    shift 4
    mkdir -p "$work/output"
    printf 'fsync = off\n%s\n' "$settings" >"$work/extra.conf"
    give_to_server_user "$work"
    as_server_user env LD_LIBRARY_PATH="$bindir/../lib" TMPDIR="$RUN_DIR" \
        "$program" --bindir="$bindir" --temp-instance="$work/instance" --temp-config="$work/extra.conf" \
        --inputdir="$work/input" --outputdir="$work/output" --load-extension=amax "$@" \
        </dev/null >"$work/regress.txt" 2>&1 || status=$?
    # 1 is "some tests failed"; 2 is "could not run".
    [ "$status" -le 1 ] && grep -qE '^#? (All )?[0-9]+ (of|tests? passed)' "$work/regress.txt"
}

# keep_results WORK NAME: what a reader of a failure wants, into build/test/NAME.
keep_results() {
    local keep=$TEST_RESULTS/$2
    rm -rf "$keep"
    mkdir -p "$keep"
    cp -r "$1/output/results" "$keep/" 2>/dev/null || true
    cp "$1/output/regression.diffs" "$keep/" 2>/dev/null || true
    cp "$1/regress.txt" "$keep/"
    cp "$1/output/log/postmaster.log" "$keep/" 2>/dev/null || true
    split_diffs "$1/output/regression.diffs" "$keep/diffs"
}
