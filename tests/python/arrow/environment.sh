# The Python environment of the Arrow tests, in $BUILD_DIR; made again when what it is made from has changed.

VENV=$BUILD_DIR/arrow-venv
export PYTHONDONTWRITEBYTECODE=1

ensure_venv() {
    local requirements=$AMAX_ROOT/tests/python/arrow/requirements.txt wanted
    wanted=$(cat "$requirements" "$AMAX_ROOT/clients/python/requirements.txt")
    if [ "$(cat "$VENV/complete" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || ensure_packages python3 python3-venv
    say "making a Python environment"
    rm -rf "$VENV"
    python3 -m venv "$VENV" >&2
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >&2
    printf '%s\n' "$wanted" >"$VENV/complete"
}
