# The Python environment of the Arrow tests.
. "$AMAX_ROOT/tests/python/venv.sh"

VENV=$BUILD_DIR/arrow-venv

ensure_venv() {
    make_venv "$VENV" "$AMAX_ROOT/tests/python/arrow/requirements.txt" "$AMAX_ROOT/clients/python/requirements.txt"
}
