# Starts a laboratory board: its name, its NICs, sshd. Init runs it once, after it has loaded modules; its
# standard error is the reason that the host shows.
# shellcheck shell=dash
set -eu
# shellcheck source=/dev/null
. /etc/teiji/board

# Names for busybox's programs; those of Debian's packages stay.
/bin/busybox --install -s /bin 2>/dev/null || true

hostname "$NAME"
mkdir -p /dev/pts /dev/shm /run/sshd /var/log /var/tmp /var/lib
ln -sf /run /var/run
ln -sf /proc/mounts /etc/mtab
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
# Not every kernel has them.
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null || true
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || true
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
mkfifo -m 600 "$POWER_FIFO"

# call NAME MAC: gives the NIC with this address this name.
call() {
    for folder in /sys/class/net/*; do
        if [ "$(cat "$folder/address")" = "$2" ]; then
            ip link set "${folder##*/}" name "$1"
            return
        fi
    done
    echo "no NIC has the address $2" >&2
    exit 1
}
call "$MANAGEMENT_NIC" "$MANAGEMENT_MAC"
call "$WIRE_NIC" "$WIRE_MAC"
ip link set lo up
ip address add "$MANAGEMENT_ADDRESS" dev "$MANAGEMENT_NIC"
ip link set "$MANAGEMENT_NIC" up
ip link set "$WIRE_NIC" up

/usr/sbin/sshd -E /var/log/sshd.log
# It writes the file when it listens.
tries=0
until [ -s /run/sshd.pid ]; do
    tries=$((tries + 1))
    if [ "$tries" = 600 ]; then
        echo "sshd does not listen after 60 s: $(cat /var/log/sshd.log)" >&2
        exit 1
    fi
    sleep 0.1
done
