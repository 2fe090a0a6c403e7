# Building the extension and installing it.

# run_cargo SUBCOMMAND ARGUMENT...: the one place that says how cargo is called.
# pgrx declares a newer rustc than it needs, hence --ignore-rust-version. A clean checkout must agree with Cargo.lock.
run_cargo() {
    local subcommand=$1
    shift
    (cd "$AMAX_ROOT" &&
        CARGO_TARGET_DIR=$TARGET_DIR PGRX_PG_CONFIG_PATH=${PG_HEADERS:-$PG_CONFIG} \
            cargo "$subcommand" --ignore-rust-version ${CI:+--locked} "$@" </dev/null)
}

# build_extension [CARGO ARGUMENT...]: a release build against PostgreSQL's headers. The tests' has the feature test_hooks.
build_extension() {
    say "building the extension for PostgreSQL $PG_MAJOR"
    run_cargo build --release --package amax --no-default-features --features "pg$PG_MAJOR" "$@"
}

# install_extension PG_CONFIG: puts library, control file and SQL scripts where that PostgreSQL looks for them. A library
# built against one minor release, with or without assertions, serves every server of the same major version.
# (The library is replaced, not overwritten: a running server may have it mapped.)
install_extension() {
    local pkglibdir sharedir prefix=()
    pkglibdir=$("$1" --pkglibdir)
    sharedir=$("$1" --sharedir)
    [ -w "$pkglibdir" ] || prefix=("${SUDO[@]}")
    "${prefix[@]}" install -m 755 "$TARGET_DIR/release/libamax.so" "$pkglibdir/amax.so.new"
    "${prefix[@]}" mv -f "$pkglibdir/amax.so.new" "$pkglibdir/amax.so"
    "${prefix[@]}" install -m 644 "$AMAX_ROOT"/extension/amax.control "$AMAX_ROOT"/extension/amax--*.sql "$sharedir/extension/"
}

# Settings that only a build for the tests knows (feature test_hooks).
HOOKS=(amax.fault_point amax.fault_allocation amax.mutant)

# hooks_in FILE: which of them a library names.
hooks_in() {
    local hook
    for hook in "${HOOKS[@]}"; do
        if LC_ALL=C grep -qaF "$hook" "$1"; then echo "$hook"; fi
    done
}

# keep_installed PG_CONFIG: what is installed there now comes back at exit, so that no tests' build stays behind: if nothing is, nothing;
# if that is a tests' build, of a run that was killed, a release build. Needs RUN_DIR.
keep_installed() {
    KEPT_FOR=$1
    mkdir "$RUN_DIR/kept"
    cp -p "$(installed_library "$1")" "$("$1" --sharedir)"/extension/amax{.control,--*.sql} "$RUN_DIR/kept/" 2>/dev/null || true
    EXIT_HOOKS+=(put_back)
}

installed_library() { echo "$("$1" --pkglibdir)/amax.so"; }

put_back() {
    local library sharedir prefix=()
    library=$(installed_library "$KEPT_FOR")
    sharedir=$("$KEPT_FOR" --sharedir)
    [ -w "$(dirname "$library")" ] || prefix=("${SUDO[@]}")
    # Not what somebody else has installed meanwhile.
    [ -n "$(hooks_in "$library")" ] || return 0
    if [ -e "$RUN_DIR/kept/amax.so" ] && [ -n "$(hooks_in "$RUN_DIR/kept/amax.so")" ]; then
        build_extension && install_extension "$KEPT_FOR"
        return
    fi
    "${prefix[@]}" rm -f "$library" "$sharedir"/extension/amax{.control,--*.sql}
    if [ -e "$RUN_DIR/kept/amax.so" ]; then
        "${prefix[@]}" install -m 755 "$RUN_DIR/kept/amax.so" "$library"
        "${prefix[@]}" install -m 644 "$RUN_DIR"/kept/amax{.control,--*.sql} "$sharedir/extension/"
    fi
}
