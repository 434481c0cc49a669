#!/bin/sh
# `teiji apply` with NICs that do not do as they say: one that accepts a setting and ignores it, and one that
# goes away while the profile is applied.
#
# module: misbehaving
# package: iproute2
# package: util-linux
. /suite/lib

must ip link set ignores0 up
must ip link set leaves0 up
queue() { tc qdisc show dev "$1" | sed 's/ refcnt.*//'; }

cat >ignored.toml <<'EOF'
[system]
netdev-budget = 64

[ports.ignores0]
moderation = { rx = "20us" }

[ports.ignores0.qdisc]
kind = "pfifo"
limit = 7
EOF
before=$(queue ignores0)
budget=$(sysctl -n net.core.netdev_budget)
said=$(teiji apply ignored.toml 2>&1)
equal 'a setting that the driver accepts and ignores: exit code' 1 $?
echo "$said"
contains 'the setting is named with its value and the one wanted' 'moderation rx (µs): 100, configured: 20' "$said"
contains 'and that nothing stays' 'Everything is as it was before' "$said"
equal 'the qdisc is as it was' "$before" "$(queue ignores0)"
equal 'so is the kernel' "$budget" "$(sysctl -n net.core.netdev_budget)"
contains 'no profile is applied' 'no profile is applied here' "$(teiji status 2>&1)"

# Containers: a read-only sysfs, of which teiji mounts one for itself if it may; fewer capabilities, or none.
printf '[ports.ignores0]\nnapi = { defer-hard-irqs = 2 }\n' >sysfs.toml
# in_container COMMAND…
in_container() {
    unshare -m sh -c 'mount -o bind /sys /sys && mount -o bind,remount,ro /sys && exec "$@"' sh "$@" 2>&1
}
deferred() { cat /sys/class/net/ignores0/napi_defer_hard_irqs; }
said=$(in_container teiji apply sysfs.toml)
equal 'with a read-only sysfs: exit code' 0 $?
equal 'with a read-only sysfs: applied' 2 "$(deferred)"
said=$(in_container teiji revert)
equal 'with a read-only sysfs: put back' 0 "$(deferred)"
said=$(in_container setpriv --bounding-set=-sys_admin --inh-caps=-all teiji apply sysfs.toml)
equal 'without CAP_SYS_ADMIN there: exit code' 1 $?
echo "$said"
contains 'without CAP_SYS_ADMIN there: reported, with the next step' 'need CAP_SYS_ADMIN: run it with sudo' "$said"
said=$(setpriv --bounding-set=-all --inh-caps=-all teiji apply ignored.toml 2>&1)
equal 'root without capabilities: exit code' 1 $?
echo "$said"
contains 'root without capabilities: reported, with the next step' 'This needs root (CAP_NET_ADMIN)' "$said"
contains 'no profile is applied then' 'no profile is applied here' "$(teiji status 2>&1)"
equal 'nothing has changed' "0 $budget $before" "$(deferred) $(sysctl -n net.core.netdev_budget) $(queue ignores0)"
said=$(in_container setpriv --bounding-set=-all --inh-caps=-all teiji doctor ignores0)
equal 'doctor works there: exit code' 0 $?
contains 'doctor says what is missing' 'this user has no CAP_NET_ADMIN' "$said"

sed 's/ignores0/leaves0/' ignored.toml >leaves.toml
said=$(teiji apply leaves.toml 2>&1)
equal 'a NIC that goes away meanwhile: exit code' 1 $?
echo "$said"
contains 'the NIC is named' 'leaves0' "$said"
check 'it has gone' [ ! -e /sys/class/net/leaves0 ]
equal 'the kernel is as it was' "$budget" "$(sysctl -n net.core.netdev_budget)"
said=$(teiji status 2>&1)
echo "$said"
said=$(teiji revert 2>&1)
equal 'what is left is put back: exit code' 0 $?
echo "$said"
contains 'then nothing is applied' 'no profile is applied here' "$(teiji status 2>&1)"
end
