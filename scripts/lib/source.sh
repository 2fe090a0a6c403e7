# PostgreSQL's source, and a server built from it with assertions: they find what tests do not.

SOURCE_DIR=$BUILD_DIR/pg$PG_MAJOR-src
ASSERT_DIR=$BUILD_DIR/pg$PG_MAJOR-assert
# Raised when what is built changes.
ASSERT_BUILD=2
ASSERT_CONFIGURE=(--enable-cassert --enable-debug --with-icu --with-lz4 --with-zstd 'CFLAGS=-O1 -g')

# Where Debian has the sources of majors that its release 12 does not have.
LATER_SUITES="trixie forky sid"

# write_source_lists DIRECTORY: the machine's own apt sources of this Debian release, as source entries; for another major than its own,
# those of the same mirror's later releases. Third-party repositories are left out: their suites carry other names.
write_source_lists() {
    local directory=$1 codename file suite
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:?no VERSION_CODENAME in /etc/os-release}")
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] || continue
        sed -nE "s#^[[:space:]]*deb[[:space:]]+((\[[^]]*\] *)?[^[:space:]]+[[:space:]]+$codename[-/a-z]*[[:space:]].*)#deb-src \1#p" \
            "$file" >"$directory/$(basename "$file" .list)-one-line.list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        awk -v RS= -v codename="$codename" '
            $0 ~ "(^|\n)Suites:[^\n]*[ \t]" codename && $0 !~ "(^|\n)Enabled:[ \t]*no" {
                sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src")
                sub(/^\n/, "")
                print $0 "\n"
            }' "$file" >"$directory/$(basename "$file")"
    done
    [ "$PG_MAJOR" = "$OWN_MAJOR" ] && return 0
    for file in "$directory"/*.list; do
        [ -f "$file" ] || continue
        for suite in $LATER_SUITES; do sed -n "s/ $codename / $suite /p" "$file"; done >"$file.later"
        mv "$file.later" "$file"
    done
    for file in "$directory"/*.sources; do
        [ -f "$file" ] || continue
        awk -v RS= -v codename="$codename" -v suites="$LATER_SUITES" '
            $0 ~ "(^|\n)Suites:[^\n]*[ \t]" codename "([ \t\n]|$)" {
                sub(/Suites:[^\n]*/, "Suites: " suites)
                print $0 "\n"
            }' "$file" >"$file.later"
        mv "$file.later" "$file"
    done
}

# prepare_apt DIRECTORY: an apt of our own, APT, for these sources.
prepare_apt() {
    local apt=$1
    rm -rf "$apt"
    mkdir -p "$apt"/{parts,lists/partial,cache/archives/partial,download}
    write_source_lists "$apt/parts"
    APT=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root -o Debug::NoLocking=1)
    apt-get "${APT[@]}" -qq update </dev/null >&2 || say "some source indexes could not be fetched"
}

# unpack_source APT PACKAGE DIRECTORY: the newest source of a package that the mirrors really have. An index may announce a version whose
# files the mirror does not hold, so versions are tried from the newest down. apt checks hashes. The upstream archive only: what is tested is
# PostgreSQL, not a distribution's patches.
unpack_source() {
    local apt=$1 package=$2 directory=$3 version archive
    for version in $(apt-cache "${APT[@]}" showsrc --only-source "$package" | sed -n 's/^Version: //p' | sort -rVu); do
        if (cd "$apt/download" && apt-get "${APT[@]}" -qq source --download-only "$package=$version" </dev/null >"$apt/log" 2>&1); then
            archive=$(echo "$apt/download/$package"_*.orig.tar.*)
            rm -rf "$directory" "$directory.new"
            mkdir -p "$directory.new"
            tar -xf "$archive" -C "$directory.new" --strip-components=1
            mv "$directory.new" "$directory"
            say "source of $package $version"
            return 0
        fi
        say "version $version is announced but cannot be fetched"
    done
    [ -e "$apt/log" ] && cat "$apt/log" >&2
    die "no source of $package to be had from this machine's apt sources"
}

# install_companion PACKAGE: an extension of others, from Debian's source of it, for the PostgreSQL of PG_CONFIG.
install_companion() {
    local apt=$RUN_DIR/apt source=$RUN_DIR/$1 log=$RUN_DIR/$1.log
    if [ ! -e "$apt" ]; then prepare_apt "$apt"; fi
    unpack_source "$apt" "$1" "$source"
    make -s -C "$source" "PG_CONFIG=$PG_CONFIG" install </dev/null >"$log" 2>&1 || {
        tail -30 "$log" >&2
        die "$1 did not build"
    }
}

# fetch_source: unpacks the source of this PostgreSQL into $SOURCE_DIR.
fetch_source() {
    [ -e "$SOURCE_DIR/configure" ] && return 0
    say "fetching the source of postgresql-$PG_MAJOR"
    prepare_apt "$BUILD_DIR/apt"
    unpack_source "$BUILD_DIR/apt" "postgresql-$PG_MAJOR" "$SOURCE_DIR"
    rm -rf "$BUILD_DIR/apt"
}

# count_interrupts: has CHECK_FOR_INTERRUPTS() count a variable of the server's down, and cancel the query when it comes to 0, so
# that a test can interrupt a statement wherever that is possible (tests/parts/37-interrupts).
count_interrupts() {
    local header=$SOURCE_DIR/src/include/miscadmin.h globals=$SOURCE_DIR/src/backend/utils/init/globals.c
    local hit='interrupt_countdown > 0 \&\& --interrupt_countdown == 0'
    grep -q interrupt_countdown "$header" && return 0
    sed -i -e '/^extern .* InterruptPending;/a extern PGDLLIMPORT volatile int interrupt_countdown;' \
        -e "0,/(unlikely(InterruptPending))/s//(unlikely(InterruptPending || ($hit \&\& (QueryCancelPending = InterruptPending = true))))/" "$header"
    sed -i '/^volatile sig_atomic_t InterruptPending/a volatile int interrupt_countdown = 0;' "$globals"
    [ "$(cat "$header" "$globals" | grep -c interrupt_countdown)" -eq 3 ] || die "miscadmin.h is not as expected"
}

# ensure_assert_server: PostgreSQL with assertions in $ASSERT_DIR, with what its test suites need beside it.
ensure_assert_server() { locked "pg$PG_MAJOR" ensure_assert_server_alone; }

ensure_assert_server_alone() {
    local log=$BUILD_DIR/pg$PG_MAJOR-build.log
    [ "$(cat "$ASSERT_DIR/complete" 2>/dev/null)" = "$ASSERT_BUILD" ] && return 0
    ensure_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    fetch_source
    count_interrupts
    say "building PostgreSQL with assertions (log: ${log#"$AMAX_ROOT"/})"
    rm -rf "$ASSERT_DIR"
    (
        cd "$SOURCE_DIR" &&
            # What was built from other headers is not built again by itself.
            { [ ! -e GNUmakefile ] || make -s clean; } &&
            ./configure --prefix="$ASSERT_DIR" "${ASSERT_CONFIGURE[@]}" &&
            make -s -j"$(nproc)" -C src install &&
            # Debian's own major has these in its packages.
            { [ "$PG_MAJOR" = "$OWN_MAJOR" ] || make -s -j"$(nproc)" -C contrib install; } &&
            make -s -C src/test/regress all &&
            make -s -C src/test/isolation all
    ) </dev/null >"$log" 2>&1 || {
        tail -30 "$log" >&2
        die "PostgreSQL did not build"
    }
    printf '%s\n' "$ASSERT_BUILD" >"$ASSERT_DIR/complete"
}

# use_headers: what the extension is built against, if not Debian's own.
use_headers() {
    [ "$PG_MAJOR" = "$OWN_MAJOR" ] && return 0
    ensure_assert_server
    export PG_HEADERS=$ASSERT_DIR/bin/pg_config
}

# use_major: programs and servers of another major than Debian's own, with the extension that was built for it.
use_major() {
    [ "$PG_MAJOR" = "$OWN_MAJOR" ] && return 0
    stage_assert_server
    PG_BIN=$RUN_DIR/pg/bin
    PG_CONFIG=$PG_BIN/pg_config
    export LD_LIBRARY_PATH=$RUN_DIR/pg/lib
}

# stage_assert_server: a copy in $RUN_DIR/pg that the server's user can reach wherever the checkout is, and that takes the
# extension without touching the original. PostgreSQL finds its files relative to its programs; libpq needs a hint.
stage_assert_server() { locked "pg$PG_MAJOR-staged" stage_assert_server_alone; }

stage_assert_server_alone() {
    [ -e "$RUN_DIR/pg" ] && return 0
    cp -r "$ASSERT_DIR" "$RUN_DIR/pg"
    install_extension "$RUN_DIR/pg/bin/pg_config"
    give_to_server_user "$RUN_DIR/pg"
}

# stage_own_major: when another major is tested, a copy of Debian's own in $RUN_DIR/own, with the extension for it; OWN_BIN are its programs.
stage_own_major() {
    local own=/usr/lib/postgresql/$OWN_MAJOR library=$TARGET_DIR/release/libamax.so
    mkdir "$RUN_DIR/own"
    cp -rL --parents "$own" "/usr/share/postgresql/$OWN_MAJOR" "$RUN_DIR/own"
    OWN_BIN=$RUN_DIR/own$own/bin
    cp -p "$library" "$RUN_DIR/library"
    (
        PG_MAJOR=$OWN_MAJOR PG_HEADERS=$own/bin/pg_config
        build_extension --features test_hooks
        install_extension "$OWN_BIN/pg_config"
    )
    give_to_server_user "$RUN_DIR/own"
    # Others take the library of the major that is tested from there.
    mv "$RUN_DIR/library" "$library.new"
    mv -f "$library.new" "$library"
}
