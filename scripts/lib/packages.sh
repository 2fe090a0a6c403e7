# Debian packages. Only what is missing is installed; nothing present is upgraded on purpose.

# libicu-dev: headers of PostgreSQL that include those of ICU.
COMPILER_PACKAGES=(libclang-dev clang pkg-config build-essential libicu-dev)
BUILD_PACKAGES=(postgresql-$OWN_MAJOR postgresql-server-dev-$OWN_MAJOR "${COMPILER_PACKAGES[@]}" xz-utils)
TEST_PACKAGES=(python3 bison flex libreadline-dev zlib1g-dev liblz4-dev libzstd-dev bzip2 diffutils patch)

package_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# ensure_packages NAME...: installs those missing, with apt-get; fails if that is impossible.
ensure_packages() {
    local package missing=()
    for package in "$@"; do
        package_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

# install_packages NAME...: with apt-get, whether installed or not; options of `apt-get install` may come first.
install_packages() {
    command -v apt-get >/dev/null || die "packages missing and no apt-get here: $*"
    if [ ${#SUDO[@]} -gt 0 ]; then
        command -v sudo >/dev/null || die "packages missing: $*; run as root or install sudo"
    fi
    say "installing $*"
    "${SUDO[@]}" apt-get update -qq </dev/null >&2 || say "apt-get update reported a failure; trying to install all the same"
    "${SUDO[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2 ||
        die "apt-get could not install: $*"
}

# ensure_headers: PostgreSQL's headers from a package of this system; false where there is none.
ensure_headers() {
    local package=postgresql-server-dev-$PG_MAJOR
    if package_installed "$package"; then return 0; fi
    # Images come without lists of packages.
    [ -n "$(apt-cache madison "$package")" ] || "${SUDO[@]}" apt-get update -qq </dev/null >&2 || true
    [ -n "$(apt-cache madison "$package")" ] || return 1
    ensure_packages "$package"
}

# ensure_rust: puts cargo on PATH, or fails with what to do.
ensure_rust() {
    if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    fi
    command -v cargo >/dev/null || die "cargo not found; install Rust 1.95 or later first (https://rustup.rs)"
}
