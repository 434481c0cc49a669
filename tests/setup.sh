#!/usr/bin/env bash
# Tests scripts/setup.sh against stand-ins for apt-get, sudo and cargo: what a user sees when a
# package server, a proxy or a certificate is in the way.
set -euo pipefail
cd "$(dirname "$0")/.."
failures=0
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

# program NAME TEXT: a stand-in, before the real one in PATH.
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$box/bin/$1"
    chmod +x "$box/bin/$1"
}

# fresh_box: no calls noted; a user who is root, so that sudo does not look for the real apt-get.
fresh_box() {
    rm -rf "${box:?}"/*
    mkdir "$box/bin"
    program id 'echo 0'
    program sudo 'echo "sudo must not be called" >&2; exit 1'
}

# in_setup COMMAND…: the command in a shell that has sourced setup.sh; its output.
in_setup() {
    # shellcheck disable=SC2016  # the inner shell expands it
    env PATH="$box/bin:$PATH" BOX="$box" MIRROR_PAUSE_S=0 bash -c 'set -euo pipefail; . scripts/setup.sh; "$@"' ./run "$@" 2>&1 </dev/null
}

# says NAME PATTERN COMMAND…: the command fails, and its last line matches.
says() {
    local name=$1 pattern=$2 said status=0
    shift 2
    said=$(in_setup "$@") || status=$?
    if [ "$status" != 0 ] && tail -n 1 <<<"$said" | grep -qE "$pattern"; then
        echo "ok: $name"
    else
        printf 'FAILED: %s (exit code %s)\n%s\n' "$name" "$status" "$said"
        failures=$((failures + 1))
    fi
}

# holds NAME COMMAND…
holds() {
    local name=$1
    shift
    if "$@"; then echo "ok: $name"; else
        echo "FAILED: $name"
        failures=$((failures + 1))
    fi
}

# apt_fails WORDS: every installation ends with these words.
apt_fails() {
    fresh_box
    program apt-get "echo \"\$*\" >>\"\$BOX/calls\"; case \"\$*\" in *update*) ;; *) echo '$1' >&2; exit 100 ;; esac"
}

# installations: how often apt-get was to install.
installations() { grep -c install "$box/calls"; }

apt_fails "E: Failed to fetch http://h/x.deb  404  Not Found [IP: 192.0.2.1 80]"
says "a package that is not on the server: the mirror" "out of date.*404  Not Found.*another mirror" apt_install x
holds "it was tried twice" [ "$(installations)" = 2 ]

fresh_box
# shellcheck disable=SC2016
program apt-get 'case "$*" in *update*) exit 0 ;; esac
if [ -e "$BOX/second" ]; then exit 0; fi
touch "$BOX/second"; echo "E: Failed to fetch http://h/x.deb  404  Not Found" >&2; exit 100'
holds "a mirror that is whole the second time does" in_setup apt_install x

apt_fails "E: Failed to fetch http://h/x  407  Proxy Authentication Required"
says "a proxy that wants a password" "refused.*407.*http_proxy" apt_install x
holds "that is not tried again" [ "$(installations)" = 1 ]
apt_fails "E: Failed to fetch http://h/x  403  Forbidden"
says "a server that refuses" "the package server refused.*403" apt_install x
apt_fails "E: Failed to fetch https://h/x  Certificate verification failed: The certificate is NOT trusted."
says "an unknown CA" "not trusted.*update-ca-certificates" apt_install x
apt_fails "W: Failed to fetch http://h/x  Temporary failure resolving 'h'"
says "no network" "no way to the package server.*resolving" apt_install x
apt_fails "E: You don'\\''t have enough free space in /var/cache/apt/archives/."
says "a full disk" "the disk is full" apt_install x
apt_fails "E: Could not get lock /var/lib/dpkg/lock-frontend."
says "another apt-get" "another program is installing" apt_install x
apt_fails "E: nobody foresaw this"
says "anything else: apt's own words" "could not install x" apt_install x

# cargo_fails WORDS: \`cargo fetch\` ends with these words.
cargo_fails() {
    fresh_box
    program cargo "printf '%s\n' \"$1\" >&2; exit 101"
}
cargo_fails "error: failed to get crate
Caused by:
  [60] SSL peer certificate or SSH remote key was not OK (SSL certificate problem: self-signed certificate in certificate chain)"
says "an unknown CA before crates.io" "certificate of crates.io.*update-ca-certificates" explain_cargo_failure
cargo_fails "  failed to download from https://index.crates.io/config.json
  [6] Could not resolve host: index.crates.io"
says "no way to crates.io" "no way to crates.io" explain_cargo_failure
cargo_fails "  failed to get successful HTTP response from https://index.crates.io/config.json, got 403"
says "crates.io refused" "crates.io refused.*got 403" explain_cargo_failure

fresh_box
# shellcheck disable=SC2016
program apt-get 'umask >"$BOX/umask"'
(umask 077 && in_setup apt_install x)
holds "packages are installed readable for all, whatever the umask" grep -qx 0022 "$box/umask"

fresh_box
# shellcheck disable=SC2016
program apt-get 'echo "$http_proxy" >"$BOX/proxy"'
program id 'echo 1000'
# As sudo does: it drops the variables of its caller.
# shellcheck disable=SC2016
program sudo '[ "$1" != -n ] || shift; exec env -i PATH="$PATH" BOX="$BOX" "$@"'
http_proxy=http://proxy:3128 in_setup apt_install x
holds "sudo passes the proxy on" grep -qx http://proxy:3128 "$box/proxy"

exit "$((failures > 0))"
