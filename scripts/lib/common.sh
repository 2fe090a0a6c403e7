# Paths, messages, privileges and the scratch directory. Sourced by every script; needs bash.
#
# Two kinds of place are written to: $BUILD_DIR (build/ in the project, kept from run to run) and $RUN_DIR (a scratch
# directory outside it, removed at exit). Servers live in $RUN_DIR, because they run as the user postgres, who may not be
# able to reach the checkout (say, below /root), and because a socket's path must stay short.

set -euo pipefail
umask 022

AMAX_ROOT=${AMAX_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
BUILD_DIR=${BUILD_DIR:-$AMAX_ROOT/build}
TARGET_DIR=${CARGO_TARGET_DIR:-$AMAX_ROOT/target}
# The major of PostgreSQL that the extension is built for and tested on. Debian 12 has packages of its own alone: the others are built
# from source (use_major of scripts/lib/source.sh), and PG_BIN is theirs from then on.
OWN_MAJOR=15
NEWEST_MAJOR=18
PG_MAJOR=${AMAX_PG_MAJOR:-$OWN_MAJOR}
PG_BIN=${PG_BIN:-/usr/lib/postgresql/$PG_MAJOR/bin}
PG_CONFIG=$PG_BIN/pg_config
# What the last run of the tests leaves.
TEST_RESULTS=$BUILD_DIR/test
if [ "$PG_MAJOR" != "$OWN_MAJOR" ]; then TEST_RESULTS+=-$PG_MAJOR; fi
export AMAX_ROOT BUILD_DIR PG_BIN PG_CONFIG

# Locale and environment are part of every expected result: fix them here, once. (pg_regress drops LC_ALL and heeds LANG.)
export LANG=C.UTF-8 LC_ALL=C.UTF-8
unset RUST_BACKTRACE
# (PostgreSQL's image has PG_MAJOR in the environment, among others.)
for variable in $(compgen -e PG | grep -vxE 'PG_BIN|PG_CONFIG|PG_MAJOR' || true); do unset "$variable"; done

say() { printf '%s\n' "==> $*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# SUDO prefixes what changes the system: package installation and files in PostgreSQL's directories.
if [ "$(id -u)" -eq 0 ]; then
    SUDO=()
    SERVER_USER=postgres
else
    SUDO=(sudo)
    SERVER_USER=$(id -un)
fi

# as_server_user COMMAND...: servers refuse to run as root, so root becomes postgres; anybody else stays who they are.
as_server_user() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd "$RUN_DIR" && HOME=$RUN_DIR exec runuser -u "$SERVER_USER" -- "$@")
    else
        (cd "$RUN_DIR" && HOME=$RUN_DIR exec "$@")
    fi
}

# give_to_server_user PATH...
give_to_server_user() {
    if [ "$(id -u)" -eq 0 ]; then chown -R "$SERVER_USER" "$@"; fi
}

# locked NAME COMMAND...: one at a time of the parts that run beside each other. In a subshell.
locked() {
    mkdir -p "$BUILD_DIR"
    (
        flock 9
        "${@:2}" 9>&-
    ) 9>"$BUILD_DIR/$1.lock"
}

EXIT_HOOKS=()
RUN_DIR=

run_exit_hooks() {
    local status=$? i
    trap - EXIT
    for ((i = ${#EXIT_HOOKS[@]} - 1; i >= 0; i--)); do ${EXIT_HOOKS[i]} || true; done
    if [ -n "$RUN_DIR" ]; then rm -rf "$RUN_DIR"; fi
    exit "$status"
}

# make_run_dir: sets RUN_DIR to a new scratch directory of the server's user; it goes away at exit, whatever happens.
make_run_dir() {
    RUN_DIR=$(mktemp -d "${TMPDIR:-/tmp}/amax.XXXXXX")
    trap run_exit_hooks EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    chmod 755 "$RUN_DIR"
    give_to_server_user "$RUN_DIR"
}
