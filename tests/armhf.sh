#!/usr/bin/env bash
# Compiles kernel modules for a 32-bit machine, armhf, with W=1, and fails if one warns or
# needs a function of libgcc that the kernel does not have (64-bit division).
#
# Usage: tests/armhf.sh FOLDER [MODULE…]      (vtsn and prioflow)
#
# FOLDER gets Debian 12's compiler and headers, 100 MB, unless it has them already. The system
# stays as it is.
set -euo pipefail
root=$(realpath -m "${1:?usage: tests/armhf.sh FOLDER [MODULE…]}")
shift
[ $# -gt 0 ] || set -- vtsn prioflow
kernel=$(realpath "$(dirname "$0")/../kernel")
abi=6.12

if [ ! -e "$root/complete" ]; then
    mkdir -p "$root"/{lists,cache/archives,debs,root}/
    # A package list of its own: apt looks for two architectures in it, and installs nothing.
    echo "deb http://deb.debian.org/debian bookworm main" >"$root/sources"
    echo "deb http://deb.debian.org/debian bookworm-backports main" >>"$root/sources"
    cat >"$root/apt.conf" <<CONF
Dir::State "$root"; Dir::State::lists "$root/lists"; Dir::State::status "$root/status";
Dir::Cache "$root/cache"; Dir::Etc::sourcelist "$root/sources"; Dir::Etc::sourceparts "-";
APT::Architecture "amd64"; APT::Architectures { "amd64"; "armhf"; };
CONF
    : >"$root/status"
    export APT_CONFIG="$root/apt.conf"
    apt-get -qq update
    headers=$(apt-cache pkgnames "linux-headers-$abi" | grep -- '-rt-armmp$' | sort -V | tail -n 1)
    version=${headers#linux-headers-}
    version=${version%-rt-armmp}
    (cd "$root/debs" && apt-get -qq download "$headers:armhf" "linux-headers-$version-common-rt" \
        "linux-kbuild-$version" {gcc,cpp}-12-arm-linux-gnueabihf binutils-arm-linux-gnueabihf \
        libgcc-12-dev-armhf-cross libmpc3 libmpfr6 libisl23 libgmp10 libjansson4)
    for package in "$root"/debs/*.deb; do dpkg-deb -x "$package" "$root/root"; done
    sed -i "s#/usr/src/linux-headers#$root/root&#" "$root/root/usr/src/$headers/Makefile"
    touch "$root/complete"
fi

export PATH="$root/root/usr/bin:$PATH" LD_LIBRARY_PATH="$root/root/usr/lib/x86_64-linux-gnu"
build=$(echo "$root"/root/usr/src/linux-headers-*-rt-armmp)
failed=0
for module; do
    rm -rf "$root/source"
    cp -r "$kernel" "$root/source"
    log="$root/$module.log"
    if ! make -C "$build" M="$root/source/$module" W=1 CONFIG_DEBUG_INFO_BTF_MODULES= \
        DEB_BUILD_ARCH=amd64 modules >"$log" 2>&1 || grep -q 'warning:' "$log"; then
        grep -A 3 'warning:\|rror:' "$log" >&2
        echo "$module: not without warnings ($log)"
        failed=1
    else
        echo "$module: compiled for ${build##*/linux-headers-}, no warnings, no function of libgcc missing"
    fi
done
exit "$failed"
