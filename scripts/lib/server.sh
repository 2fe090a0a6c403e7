# A throwaway server on a unix socket in $RUN_DIR. Nothing listens on the network.

# start_server NAME [SETTING=VALUE...]: initdb in $RUN_DIR/NAME, start, and set PGHOST, PGUSER and PGDATABASE for psql.
# The server is stopped when the script exits. Data checksums are on: damage should be seen where it happens.
start_server() {
    local data=$RUN_DIR/$1 setting
    shift
    as_server_user "$PG_BIN/initdb" -D "$data" --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 \
        --data-checksums --no-sync >"$RUN_DIR/initdb.log" 2>&1 || {
        cat "$RUN_DIR/initdb.log" >&2
        die "initdb failed"
    }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$RUN_DIR'"
        echo "fsync = off"
        for setting in "$@"; do echo "$setting"; done
    } >>"$data/postgresql.conf"
    export PGHOST=$RUN_DIR PGUSER=postgres PGDATABASE=postgres
    SERVER_DATA=$data
    EXIT_HOOKS+=(stop_server)
    as_server_user "$PG_BIN/pg_ctl" -D "$data" -l "$RUN_DIR/server.log" -w start >/dev/null </dev/null || {
        tail -20 "$RUN_DIR/server.log" >&2
        die "the server did not start"
    }
}

# stop_server: a clean shutdown; harmless when it does not run.
stop_server() {
    if [ -n "${SERVER_DATA:-}" ] && [ -e "$SERVER_DATA/postmaster.pid" ]; then
        as_server_user "$PG_BIN/pg_ctl" -D "$SERVER_DATA" -m fast -w stop >/dev/null
    fi
}

# run_psql ARGUMENT...: psql of that server, without the user's own settings, stopping at the first error.
run_psql() { "$PG_BIN/psql" -X -v ON_ERROR_STOP=1 "$@"; }

# copy_documents TABLE FILE.jsonl.xz: one document per line into a table with one jsonb column.
# The delimiter and quote are bytes no document contains, so lines arrive as they are.
copy_documents() {
    xz -dc "$2" | run_psql -q -c "COPY $1 FROM STDIN WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')"
}
