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
