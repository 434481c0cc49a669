# shellcheck shell=bash
# Other processors than this machine's: what building for them needs, and the build. Needs
# scripts/setup.sh.
#
# The table of teiji itself is crates/teiji-lab/src/arch.rs; here is what only a build needs.

# Debian's name, Rust's target, the linker, its package, that of the C library, a file of it.
readonly PROCESSORS=(
    "arm64 aarch64-unknown-linux-gnu aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross /usr/aarch64-linux-gnu/lib/libc.a"
    "armhf armv7-unknown-linux-gnueabihf arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf libc6-dev-armhf-cross /usr/arm-linux-gnueabihf/lib/libc.a"
)
# Their names.
readonly PROCESSOR_NAMES=("${PROCESSORS[@]%% *}")

# processor NAME: its entry, in the variables target, linker, gcc, libc and library.
processor() {
    local entry
    for entry in "${PROCESSORS[@]}"; do
        if [ "${entry%% *}" = "$1" ]; then
            # shellcheck disable=SC2034  # for the caller
            read -r _ target linker gcc libc library <<<"$entry"
            return
        fi
    done
    die "there is no processor \`$1\`; there are ${PROCESSOR_NAMES[*]}"
}

# check_processor_tools NAME: notes what a build for it needs.
check_processor_tools() {
    local target linker gcc libc library
    processor "$1"
    need_command "$linker" "$gcc" "links programs for $1"
    [ -e "$library" ] || want "$libc" "the C library for $1"
}

# standard_library NAME: has cargo find Rust's standard library for it: rustup's, or that of Debian
# for its own compiler, unpacked without installing anything. Says why not, and fails, if it cannot.
standard_library() {
    local target linker gcc libc library
    processor "$1"
    [ ! -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] || return 0
    if have rustup && [[ "$(rustc --print sysroot)" = */toolchains/* ]]; then
        rustup -q target add "$target" >/dev/null 2>&1 && return
        say "rustup could not fetch the standard library for $1; is there a way to static.rust-lang.org?"
        return 1
    fi
    debian_standard_library "$1" "$target"
}

# debian_standard_library NAME TARGET: see standard_library.
debian_standard_library() {
    local name=$1 target=$2 package root variable started=$SECONDS
    package=$(dpkg -S "$(rustc --print target-libdir)" 2>/dev/null | sed -n 's/^\(libstd-rust-[a-z-]*dev\).*/\1/p' | head -n 1)
    if [ -z "$package" ]; then
        say "this rustc is neither rustup's nor Debian's: add the standard library for $target to it"
        return 1
    fi
    root="${CARGO_TARGET_DIR:-$PWD/target}/standard-library/$package-$name"
    if [ ! -d "$root/usr/lib/rustlib/$target/lib" ]; then
        say "Fetching Rust's standard library for $name …"
        fetch_package_for "$name" "$package" "$(dpkg-query -W -f '${Version}' "$package")" "$root" || return 1
        done_line rust "the standard library for $name" "$(seconds_since "$started")"
    fi
    # Only for this target: what runs while building has the compiler's own.
    mkdir -p "$root/lib"
    ln -sfn ../usr/lib/rustlib "$root/lib/rustlib"
    variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_RUSTFLAGS
    export "$variable=-C target-feature=+crt-static --sysroot $root"
}

# fetch_package_for NAME PACKAGE VERSION DIR: unpacks a package of this Debian for another
# processor, with a package index of its own.
fetch_package_for() {
    local name=$1 package=$2 version=$3 dir=$4 apt log
    apt="$dir/apt"
    rm -rf "$dir"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    log="$apt/log"
    local options=(-qq -o APT::Architecture="$name" -o APT::Architectures="$name" -o Dir::State::lists="$apt/lists"
        -o Dir::Cache="$apt/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)")
    if (cd "$apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" download "$package=$version") >"$log" 2>&1 &&
        dpkg-deb --extract "$apt/$package"_*.deb "$dir"; then
        rm -rf "$apt"
        return
    fi
    say "$package $version for $name could not be fetched:"
    tail -n 3 "$log"
    rm -rf "$dir"
    return 1
}

# program_for NAME: builds teiji for it, where it is found from the laboratory; sets PROGRAM.
program_for() {
    local target linker gcc libc library started=$SECONDS
    processor "$1"
    standard_library "$1" || die "teiji cannot be built for $1 (see above)"
    PROGRAM="${CARGO_TARGET_DIR:-target}/$target/release/teiji"
    [ -x "$PROGRAM" ] || say "Building teiji for $1; the first time takes some minutes"
    cargo build --quiet --release --locked --package teiji-cli --target "$target" || explain_cargo_failure
    done_line "for $1" "$PROGRAM" "$(seconds_since "$started")"
}
