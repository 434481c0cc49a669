#!/bin/sh
# ip with vtsn's plug-in: names and namespaces of both ends in one command, and a
# port in `ip -d link`.
#
# module: vtsn
# package: iproute2
# package: ethtool
# plugin: vtsn/ip/link_vtsn.c
. /suite/lib

shown() { ip -n ip-a -d link show dev left; }

must modprobe vtsn
must ip netns add ip-a
must ip netns add ip-b
check "both ends get their names and namespaces" ip link add left netns ip-a type vtsn \
    peer name right netns ip-b address 02:00:00:00:00:0b
contains "the peer has the given address" 02:00:00:00:00:0b "$(ip -n ip-b link show dev right)"
contains "a port is shown with its rate and the delay of its wire" \
    'vtsn rate 1000Mbit delay 50ns phc ptp' "$(shown)"
ptp=$(ip netns exec ip-a ethtool -T left | sed -n 's/^PTP Hardware Clock: //p')
contains "and with its clock, by ethtool's number" "phc ptp$ptp " "$(shown)"
must ip netns exec ip-b ethtool -s right speed 100 duplex full autoneg off
must ip netns exec ip-b sh -c 'echo 1234 >/sys/class/net/right/vtsn/delay_ns'
contains "a setting of one end is shown at the other" 'vtsn rate 100Mbit delay 1234ns' "$(shown)"
contains "as JSON, too" '"info_data":{"rate_mbps":100,"delay_ns":1234,"phc_index":' \
    "$(ip -n ip-a -d -j link show dev left)"
refused "an unknown option" ip link add other type vtsn speed 100
refused "a peer of another type" ip link add other type vtsn peer name last type veth
refused "an existing name for the peer" ip -n ip-a link add other type vtsn peer name left
refused "none of them stays" ip -n ip-a link show dev other
check "without options the peer's name is made" ip link add other type vtsn
check "it exists" ip link show dev otherp
must ip link del other
must ip -n ip-a link del left
must ip netns del ip-a
must ip netns del ip-b
must rmmod vtsn
end
