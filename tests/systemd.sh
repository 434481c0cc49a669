#!/usr/bin/env bash
# `teiji apply` on a machine that systemd has started: a profile that is applied at each start, and PTP as units.
# The machine is a minimal Debian in namespaces of its own, with systemd as its first process and a pair
# of veth (v0, v1); the kernel is this machine's.
#
# Usage: tests/systemd.sh TEIJI [SUITE]      a static teiji; bookworm, or another one
# Needs root and mmdebstrap; the base system is kept in ~/.cache/teiji-fresh. Exit code 77: it cannot run
# here, and the last line says why.
set -euo pipefail
# shellcheck source=scripts/namespaces.sh
. "$(dirname "$0")/../scripts/namespaces.sh"

readonly PATHS=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# --- inside the namespaces -------------------------------------------------------

# start ROOT: becomes the machine's first process.
start() {
    local root=$1
    mount --bind "$root" "$root"
    cd "$root"
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs tmpfs run
    # Without it systemd takes this for a container that has no udev, and waits for its devices in vain.
    mkdir run/udev
    : >run/udev/control
    # Not this machine's: udev changes what it finds.
    populate_dev dev
    hostname machine
    ip link set lo up
    ip link add v0 type veth peer name v1
    ip link set v1 up
    exec chroot . env -i "$PATHS" container=lxc /lib/systemd/systemd --log-target=console
}
if [ "${1:-}" = --start ]; then
    start "$2"
fi

# --- outside ---------------------------------------------------------------------

[ $# -ge 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
teiji=$1 suite=${2:-bookworm}
[ -z "${TEIJI_FRESH:-}" ] || cannot "this is a fresh Debian ($TEIJI_FRESH) already"
[ "$(id -u)" = 0 ] || cannot "a machine with systemd needs root"
command -v mmdebstrap >/dev/null || cannot "a machine with systemd needs mmdebstrap: apt-get install mmdebstrap"
# shellcheck disable=SC2016  # the inner shell expands it
unshare --mount --pid --fork --net --cgroup sh -c 'mount -t cgroup2 cgroup2 /mnt' 2>/dev/null ||
    cannot "a machine with systemd needs namespaces and cgroup2, which this machine (a container?) does not allow"

base="${XDG_CACHE_HOME:-$HOME/.cache}/teiji-fresh/systemd-$suite"
if [ ! -e "$base/.ready" ]; then
    rm -rf --one-file-system "$base"
    echo "Making a Debian ($suite) with systemd in $base …" >&2
    mmdebstrap --quiet --variant=minbase --include=systemd-sysv,udev,dbus,iproute2,linuxptp,procps \
        "$suite" "$base" "deb $MIRROR/debian $suite main" >&2 ||
        cannot "a Debian ($suite) could not be made from $MIRROR: see the messages above"
    touch "$base/.ready"
fi

root="$base.$$"
namespaces=
ends() {
    if [ -n "$namespaces" ]; then
        kill -KILL "$namespaces" 2>/dev/null || true
        wait "$namespaces" 2>/dev/null || true
    fi
    namespaces=
}
trap 'ends; rm -rf --one-file-system "$root" "$root.console"' EXIT
trap 'exit 130' INT TERM
cp -a "$base" "$root"
install -m 755 "$teiji" "$root/usr/local/bin/teiji"

# on COMMAND…: on the machine.
on() {
    nsenter --target "$first" --mount --uts --ipc --net --pid --cgroup --root --wd env -i "$PATHS" LC_ALL=C.UTF-8 "$@" 2>&1
}

true_ones=0
# contains SENTENCE WORDS TEXT
contains() {
    case "$3" in
        *"$2"*) true_ones=$((true_ones + 1)) ;;
        *)
            printf '✗ %s: no "%s" in:\n%s\n' "$1" "$2" "$3"
            on journalctl --no-pager --lines 30 || true
            exit 1
            ;;
    esac
}

# within SECONDS COMMAND…: until it is true.
within() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.2
    done
}

has_started() {
    first=$(cut -d ' ' -f 1 "/proc/$namespaces/task/$namespaces/children")
    [ -n "$first" ] || return 1
    case "$(on systemctl is-system-running)" in
        running | degraded) ;;
        *) return 1 ;;
    esac
}

# starts: switches the machine on; false if it does not start.
starts() {
    unshare --mount --propagation private --pid --fork --net --uts --ipc --cgroup --kill-child \
        "$0" --start "$root" >"$root.console" 2>&1 </dev/null &
    namespaces=$!
    within 120 has_started || { tail -n 20 "$root.console"; return 1; }
}

qdisc() { on tc qdisc show dev v0; }
ptp4l() { on pgrep -x ptp4l || true; }
is_another() {
    local now
    now=$(ptp4l)
    [ -n "$now" ] && [ "$now" != "$before" ] && [ "$(on systemctl is-active teiji-ptp4l)" = active ]
}
# starts_again: what teiji has installed does not keep it from starting.
starts_again() {
    ends
    starts || { echo "✗ the machine does not start again"; exit 1; }
}

starts || cannot "systemd does not start here"
cat >"$root/root/queue.toml" <<'TEXT'
[ports.v0.qdisc]
kind = "pfifo"
limit = 7
TEXT
{ cat "$root/root/queue.toml"; printf '[ptp]\nrole = "grandmaster"\ntimestamps = "software"\n'; } >"$root/root/ptp.toml"

contains "it is applied, and at each start" "applied at each start" "$(on teiji apply /root/queue.toml --at-boot)"
contains "the unit is enabled" "<enabled>" "<$(on systemctl is-enabled teiji-profile)>"
contains "and as systemd wants it" "rc 0" "$(on sh -c 'systemd-analyze verify teiji-profile.service; echo rc $?')"
starts_again
contains "the machine has started without a failed unit" "<>" "<$(on systemctl --failed --plain --no-legend --no-pager)>"
contains "the unit has run" "<active>" "<$(on systemctl is-active teiji-profile)>"
contains "its profile is applied" "pfifo 100: root refcnt 3 limit 7p" "$(qdisc)"
contains "status names the file" "/etc/teiji/profile.toml, applied at" "$(on teiji status)"
contains "status names the unit" "teiji-profile.service applies" "$(on teiji status)"
contains "it is put back" "is no longer applied at the machine's start" "$(on teiji revert)"
contains "the queue is as it was" noqueue "$(qdisc)"
contains "there is no unit" "No such file" "$(on ls /etc/systemd/system/teiji-profile.service || true)"

contains "PTP is started" "systemd-run --unit=teiji-ptp4l.service" "$(on teiji apply /root/ptp.toml --at-boot)"
contains "ptp4l answers pmc" GRANDMASTER_SETTINGS "$(on pmc -u -b 0 -s /run/teiji/ptp4l.socket 'GET GRANDMASTER_SETTINGS_NP')"
before=$(ptp4l)
on pkill -KILL -x ptp4l
contains "ptp4l is started again when it fails" yes "$(within 20 is_another && echo yes)"
contains "the machine has the settings" "has the settings of /root/ptp.toml" "$(on teiji diff /root/ptp.toml)"
starts_again
contains "both are there after a start" "<active
active>" "<$(on systemctl is-active teiji-profile teiji-ptp4l)>"
on systemctl stop teiji-ptp4l
contains "a service that somebody stopped is a difference" teiji-ptp4l "$(on teiji status || true)"
contains "all is put back" "was put back" "$(on teiji revert)"
contains "no ptp4l and no file is left" "<>" "<$(ptp4l)$(on ls /etc/teiji)>"
echo "$true_ones sentences true"
