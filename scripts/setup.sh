# shellcheck shell=bash
# What ./run and ./test share: finds out what is missing, says why, installs it.
#
# To be sourced from the root of the tree, under `set -euo pipefail`. Nothing
# here changes the machine when nothing is missing, and then it takes no time.

# Oldest cargo that builds Teiji: Debian 13's.
CARGO_MINIMUM=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
readonly CARGO_MINIMUM
# Room for the laboratory's kernel, headers and QEMU, in MB (measured: 490, 190 of them the
# package index; a package lies beside its files for a while).
readonly CACHE_MB=800

readonly RELEASE_DIR="${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-gnu/release"

readonly OS_RELEASE=/etc/os-release

say() { printf '%s\n' "$*"; }
# done_line NAME WHAT [NOTE]: a finished step.
done_line() { printf '✓ %-12s %-50s %s\n' "$1" "$2" "${3:-}"; }
# die SENTENCE: the cause and the next step, then the end.
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# seconds_since START: START is a value of $SECONDS.
seconds_since() { printf '%s s' $((SECONDS - $1)); }

# os_release KEY: a value of os-release(5), empty if there is none.
os_release() {
    if [ -r "$OS_RELEASE" ]; then
        sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$OS_RELEASE"
    fi
}

# --- what is missing ---------------------------------------------------------

missing_packages=()
missing_reasons=()

# want PACKAGE REASON: notes a package to be installed.
want() {
    missing_packages+=("$1")
    missing_reasons+=("  $1: $2")
}

# need_command COMMAND PACKAGE REASON: wants PACKAGE unless COMMAND is there.
need_command() { have "$1" || want "$2" "$3"; }

# version_at_least MINIMUM VERSION
version_at_least() { printf '%s\n%s\n' "$1" "$2" | sort --version-sort --check=quiet; }

# tool_version COMMAND: the number in "cargo 1.85.0 (…)"; empty if it does not run.
tool_version() { "$1" --version 2>/dev/null | sed -n '1s/^[a-z]* \([0-9][0-9.]*\).*/\1/p'; }

# recent_rust: whether cargo and rustc are there and recent enough.
recent_rust() {
    local tool version
    for tool in cargo rustc; do
        have "$tool" || return 1
        version=$(tool_version "$tool")
        [ -n "$version" ] && version_at_least "$CARGO_MINIMUM" "$version" || return 1
    done
}

# want_rust: the packages of this Debian that bring a recent cargo.
want_rust() {
    local found="none found"
    have cargo && found="found $(tool_version cargo)"
    if [ "$(os_release VERSION_ID)" = 12 ]; then
        want cargo-web "builds Teiji, at least $CARGO_MINIMUM is needed ($found)"
        want rustc-web "compiles it"
    else
        want cargo "builds Teiji, at least $CARGO_MINIMUM is needed ($found)"
        want rustc "compiles it"
    fi
}

# A cargo from rustup is often not in PATH of a non-interactive shell.
use_rustup_cargo() {
    if ! recent_rust && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
        export PATH
    fi
}

# recent_qemu: whether the system's QEMU does (teiji looks closer, and fetches a
# private one where it does not).
recent_qemu() {
    local version
    have qemu-system-x86_64 || return 1
    version=$(qemu-system-x86_64 --version 2>/dev/null |
        sed -n '1s/.*version \([0-9][0-9.]*\).*/\1/p')
    [ -n "$version" ] && version_at_least 10 "$version"
}

# check_build_tools: notes what building and the laboratory need.
check_build_tools() {
    [ "$(uname -m)" = x86_64 ] || die "$0 builds on x86-64 only, this is $(uname -m): build the" \
        "program for it on an x86-64 machine (scripts/program-for), and copy it here"
    use_rustup_cargo
    recent_rust || want_rust
    need_command cc gcc "links the program, compiles kernel modules"
    need_command make make "builds kernel modules"
    [ -e /usr/lib/x86_64-linux-gnu/libc.a ] || ! have apt-get ||
        want libc6-dev "the C library to link statically"
    [ -e /etc/ssl/certs/ca-certificates.crt ] || ! have apt-get ||
        want ca-certificates "cargo fetches crates over HTTPS"
}

# --- installing it -----------------------------------------------------------

# Without a terminal nobody can type sudo's password.
sudo=(sudo)
[ -t 0 ] || sudo=(sudo -n)

# may_install: whether this user can install packages.
may_install() {
    [ "$(id -u)" = 0 ] && return 0
    have sudo || return 1
    [ -t 0 ] || "${sudo[@]}" true 2>/dev/null
}

# Variables that name a proxy: sudo would drop them.
readonly PROXY_VARIABLES="http_proxy https_proxy no_proxy"

# as_root COMMAND…: with a umask that lets every user read what gets installed.
as_root() {
    local name settings=()
    for name in $PROXY_VARIABLES; do
        [ -z "${!name:-}" ] || settings+=("$name=${!name}")
    done
    # shellcheck disable=SC2016  # the inner shell expands it
    local command=(env "${settings[@]}" sh -c 'umask 022; exec "$@"' sh "$@")
    if [ "$(id -u)" = 0 ]; then "${command[@]}"; else "${sudo[@]}" "${command[@]}"; fi
}

# explain_transfer LOG SERVER: ends with a sentence if LOG says why SERVER could not be used.
# For apt, cargo and pip: these are their words and those of curl, OpenSSL and GnuTLS.
explain_transfer() {
    local log=$1 server=$2 cause
    # matching PATTERN: whether LOG has it; the first such line becomes the cause.
    matching() {
        cause=$(grep -m 1 -iE "$1" "$log") || return 1
        cause=$(sed -E 's/^ *((E|W|error|warning): )?//' <<<"${cause:0:300}")
    }
    if matching "certificate|CAfile|SSL peer"; then
        die "the certificate of $server is not trusted ($cause); if a proxy or this network has a CA of its" \
            "own, copy its certificate to /usr/local/share/ca-certificates/NAME.crt, run update-ca-certificates" \
            "as root and $0 again; if the clock of this machine is wrong, set it"
    elif matching "\b(407|403|451)\b|Forbidden|Proxy Authentication|authentication required"; then
        die "$server refused ($cause); if a proxy is needed here, set http_proxy and https_proxy" \
            "(now: http_proxy=${http_proxy:-unset}, https_proxy=${https_proxy:-unset}) and run $0 again"
    elif matching "resolv|could not connect|unable to connect|unreachable|timed out|connection refused|connection reset|no route"; then
        die "no way to $server ($cause); connect this machine to the network, or set http_proxy and" \
            "https_proxy if a proxy is needed here, and run $0 again"
    elif matching "No space left|enough free space|disk quota"; then
        die "the disk is full ($cause); make room and run $0 again"
    fi
}

# What apt says while its mirror's index and files differ.
readonly MIRROR_CHANGING="404 |Hash Sum mismatch|unexpected size|Mirror sync in progress|was not found"
# How long a mirror is given before its index is fetched again (seconds).
readonly MIRROR_PAUSE_S=${MIRROR_PAUSE_S:-20}

# apt_install PACKAGE…: installs, or ends with a sentence.
apt_install() {
    local log try cause
    log=$(mktemp)
    for try in 1 2; do
        # Index failures of unrelated sources do no harm; what matters fails below.
        as_root apt-get -qq -o Acquire::Retries=2 update >"$log" 2>&1 </dev/null || true
        if as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -y -o Acquire::Retries=2 \
            -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
            rm -f "$log"
            return
        fi
        if [ "$try" = 2 ] || ! grep -qE "$MIRROR_CHANGING" "$log"; then break; fi
        say "The package server's index and files differ, as while it is updated: trying again in $MIRROR_PAUSE_S s …"
        sleep "$MIRROR_PAUSE_S"
    done
    cause=$(grep -m 1 -E '^(E|W): ' "$log" | cut -c 4-) || cause="no message"
    if grep -qE "$MIRROR_CHANGING" "$log"; then
        die "the package server is being updated, or its mirror is out of date ($cause); run $0 again later," \
            "or name another mirror in /etc/apt/sources.list"
    elif grep -qE "Could not get lock|Unable to acquire" "$log"; then
        die "another program is installing packages ($cause); let it end and run $0 again"
    fi
    explain_transfer "$log" "the package server"
    cat "$log" >&2
    die "apt-get could not install $* (its messages are above)"
}

# install_missing: says what is missing and why, then installs it.
install_missing() {
    [ ${#missing_packages[@]} -gt 0 ] || return 0
    local started=$SECONDS
    say "Missing on this machine:"
    printf '%s\n' "${missing_reasons[@]}"
    if ! have apt-get || ! have dpkg; then
        local system
        system=$(os_release PRETTY_NAME)
        die "${system:-this system} is not a Debian-like system: install these by hand" \
            "(cargo and rustc ≥ $CARGO_MINIMUM from https://rustup.rs, the others under your system's" \
            "names, and qemu-system-x86_64 ≥ 10), then run $0 again"
    fi
    may_install || die "installing needs root or sudo; ask an administrator for:" \
        "apt-get install --no-install-recommends ${missing_packages[*]}"
    say "Installing with apt-get …"
    apt_install "${missing_packages[@]}"
    hash -r
    done_line installed "${#missing_packages[@]} packages" "$(seconds_since "$started")"
    missing_packages=()
    missing_reasons=()
}

# require_rust: after installing; a Debian that has no recent cargo ends here.
require_rust() {
    recent_rust && return
    die "cargo $CARGO_MINIMUM or newer is needed ($(tool_version cargo || true) found) and" \
        "$(os_release PRETTY_NAME) does not package it; install it from https://rustup.rs"
}

# --- room --------------------------------------------------------------------

# free_mb DIR: megabytes free for this user in DIR or its nearest existing parent.
free_mb() {
    local dir=$1
    while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
    df -Pm "$dir" | awk 'NR == 2 { print $4 }'
}

# require_space DIR MB WHAT ADVICE
require_space() {
    local free
    free=$(free_mb "$1")
    [ "$free" -ge "$2" ] || die "$3 needs about $2 MB in $1, $free MB are free; make room, or $4"
}

# check_space MB: before a first build that needs MB, and before the laboratory is fetched.
check_space() {
    local cache="${XDG_CACHE_HOME:-$HOME/.cache}/teiji"
    [ -x "$RELEASE_DIR/teiji" ] ||
        require_space "${CARGO_TARGET_DIR:-$PWD/target}" "$1" "building" "set CARGO_TARGET_DIR"
    [ -e "$cache/kernels/debian:6.12-rt" ] ||
        require_space "$cache" "$CACHE_MB" "the laboratory" "set XDG_CACHE_HOME"
}

# --- building ----------------------------------------------------------------

# explain_cargo_failure: after a failed build; network and disk have their own sentence.
explain_cargo_failure() {
    [ "$(free_mb "${CARGO_TARGET_DIR:-$PWD/target}")" -ge 20 ] || die "the disk is full; make room and run $0 again"
    local log
    log=$(mktemp)
    if ! cargo fetch --locked >"$log" 2>&1; then
        explain_transfer "$log" "crates.io"
        cat "$log" >&2
        die "cargo could not fetch the crates that the build needs (its messages are above)"
    fi
    rm -f "$log"
    die "the build failed (see above)"
}

# newer_sources: whether anything changed since the program was built.
newer_sources() {
    [ ! -x "$RELEASE_DIR/teiji" ] ||
        [ -n "$(find Cargo.toml Cargo.lock .cargo crates kernel papers -newer "$RELEASE_DIR/teiji" -type f -print -quit)" ]
}

# build_release: builds the `teiji` program.
build_release() {
    local started=$SECONDS quiet=(--quiet)
    if newer_sources; then
        quiet=()
        [ -x "$RELEASE_DIR/teiji" ] || say "Building teiji; the first time takes some minutes"
    fi
    cargo build "${quiet[@]}" --release --locked --package teiji-cli || explain_cargo_failure
    done_line build "$("$RELEASE_DIR/teiji" --version)" "$(seconds_since "$started")"
}
