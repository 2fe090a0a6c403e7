# What the benchmarks' commands share. Needs AMAX_ROOT and BUILD_DIR; starting a server also needs scripts/lib.

# python_environment NAME: sets PYTHON and PYTHONPATH for benchmarks/NAME; its packages live in $BUILD_DIR/NAME-venv.
python_environment() {
    local here=$AMAX_ROOT/benchmarks/$1 venv=$BUILD_DIR/$1-venv
    if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
        echo "creating $1-venv" >&2
        rm -rf "$venv"
        mkdir -p "$BUILD_DIR"
        "${PYTHON:-python3}" -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
        cp "$here/requirements.txt" "$venv/requirements.txt"
    fi
    PYTHON=$venv/bin/python
    export PYTHONPATH=$here:$AMAX_ROOT/benchmarks/common
}

# needs_server ARGUMENT...: whether the command line leaves it to us to start one.
needs_server() {
    local argument
    for argument in "$@"; do
        case $argument in --dsn | --dsn=* | -h | --help) return 1 ;; esac
    done
}

# start_benchmark_server NAME [SETTING...]: builds and installs the extension, starts a server as durable as a real one, sets DSN.
start_benchmark_server() {
    build_extension
    install_extension "$PG_CONFIG"
    make_run_dir
    start_server "$1" "fsync = on" "shared_buffers = '1GB'" "max_wal_size = '8GB'" "${@:2}"
    DSN="host=$RUN_DIR user=postgres dbname=postgres"
}
