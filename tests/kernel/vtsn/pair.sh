#!/bin/sh
# A pair of ports: made, moved to another namespace, deleted from either end.
#
#     vt0 ────── vt0p
#
# module: vtsn
# package: iproute2
# package: ethtool
. /suite/lib

check "a pair is made, its peer named after it" ip link add vt0 type vtsn
check "the peer exists" ip link show dev vt0p
contains "ethtool shows the driver" "driver: vtsn" "$(ethtool -i vt0)"
check "an end moves to another namespace" sh -c 'ip netns add there && ip link set vt0p netns there'
check "it exists there" ip -n there link show dev vt0p
refused "and no longer here" ip link show dev vt0p
check "deleting one end works from here" ip link del vt0
refused "and deletes the other end there" ip -n there link show dev vt0p

must ip netns del there

check "the module unloads" rmmod vtsn
check "requesting its kind loads it again" ip link add vt1 type vtsn
contains "it is loaded" "vtsn " "$(cat /proc/modules)"
must ip link del vt1
end
