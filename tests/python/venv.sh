# Python environments of tests, in $BUILD_DIR.

export PYTHONDONTWRITEBYTECODE=1

# make_venv DIRECTORY REQUIREMENTS [FILE...]: one with these requirements; made again when they, or files that they include, have changed.
make_venv() { locked "$(basename "$1")" make_venv_alone "$@"; }

make_venv_alone() {
    local wanted
    wanted=$(cat "${@:2}")
    if [ "$(cat "$1/complete" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || ensure_packages python3 python3-venv
    say "making a Python environment"
    rm -rf "$1"
    python3 -m venv "$1" >&2
    "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2" >&2
    printf '%s\n' "$wanted" >"$1/complete"
}
