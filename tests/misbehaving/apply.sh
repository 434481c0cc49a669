#!/bin/sh
# `teiji apply` with NICs that do not do as they say: one that accepts a setting and ignores it, and one that
# goes away while the profile is applied.
#
# module: misbehaving
# package: iproute2
# package: ethtool
. /suite/lib

must ip link set ignores0 up
must ip link set leaves0 up
moderation() { ethtool -c "$1" | grep '^rx-usecs:' | tr -s '\t ' ' '; }
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
echo "$said"
equal 'what is left is put back: exit code' 0 $?
contains 'then nothing is applied' 'no profile is applied here' "$(teiji status 2>&1)"
end
