# shellcheck shell=bash
# Debians in namespaces: what scripts/fresh and tests/systemd.sh have in common.

# cannot SENTENCE: not possible on this machine.
cannot() {
    printf '%s\n' "$*" >&2
    exit 77
}

# The mirror that base systems are made from, and that they use.
# shellcheck disable=SC2034  # of those that source this
readonly MIRROR=${FRESH_MIRROR:-http://deb.debian.org}

# populate_dev DIR: the devices that a program may expect, without those of this machine.
populate_dev() {
    local node name major minor
    mount -t tmpfs -o mode=755 tmpfs "$1"
    mkdir "$1/pts" "$1/shm" "$1/net"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/pts"
    mount -t tmpfs tmpfs "$1/shm"
    for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 net/tun:10:200; do
        IFS=: read -r name major minor <<<"$node"
        mknod -m 666 "$1/$name" c "$major" "$minor"
    done
    ln -s pts/ptmx "$1/ptmx"
    ln -s /proc/self/fd "$1/fd"
    ln -s fd/0 "$1/stdin"
    ln -s fd/1 "$1/stdout"
    ln -s fd/2 "$1/stderr"
}
