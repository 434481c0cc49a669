#!/bin/sh
# Changes under traffic in both directions: settings, offloads, carrier, namespaces, the module.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# module: sch_taprio
# package: iproute2
# package: ethtool
# limit: 900
. /suite/lib
. /suite/wire.inc

# traffic: in both directions, through all errors, until quiet. Fast enough that every change
# meets frames, slow enough for a debug kernel.
traffic() {
    ip netns exec A teiji talk v0 10.0.0.2:9000 --frames 1000000 --period 2ms --payload 200 \
        --no-stamps --csv >/dev/null 2>&1 &
    from_a=$!
    ip netns exec B teiji talk v0p 10.0.0.1:9000 --frames 1000000 --period 2ms --payload 200 \
        --no-stamps --csv >/dev/null 2>&1 &
    from_b=$!
}
# A talker may have ended itself: where its port was deleted.
quiet() {
    kill "$from_a" "$from_b" 2>/dev/null
    wait
}

# moving: both ends receive frames.
moving() {
    before="$(count_a rx_packets) $(count_b rx_packets)"
    wait_for 5 moved
}
moved() {
    set -- $before "$(count_a rx_packets)" "$(count_b rx_packets)"
    [ "$3" -gt "$1" ] && [ "$4" -gt "$2" ]
}

wire_up
traffic
check "traffic flows in both directions" moving
for round in 1 2 3; do
    must a ethtool -G v0 tx 64 rx 64
    must b ethtool -G v0p tx 512 rx 512
    must a ethtool -L v0 tx 8
    must a ethtool -L v0 tx 2
    must a ethtool -s v0 speed 100 duplex full autoneg off
    must a ethtool -s v0 speed 10000 duplex full autoneg off
    must a ethtool -C v0 rx-usecs 50 tx-usecs 30 rx-frames 8
    must a ethtool -C v0 rx-usecs 0 tx-usecs 0 rx-frames 0
done
must a ethtool -L v0 tx 4
check "traffic survives changes of rings, queues, rate and moderation" moving

for round in 1 2 3; do
    three_classes
    must a tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta 150000 offload
    must a tc qdisc del dev v0 root
    for window in 300000 100000; do
        must a tc qdisc replace dev v0 root handle 100: taprio num_tc 2 \
            map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 base-time 0 \
            sched-entry S 01 "$window" sched-entry S 02 700000 flags 0x2
    done
    must a tc qdisc del dev v0 root
done
check "traffic survives adding and deleting offloads" moving

must ip -n B link set v0p down
equal "an end that goes down takes down the other's carrier" 0 "$(a cat /sys/class/net/v0/carrier)"
must ip -n B link set v0p up
equal "and brings it back" 1 "$(a cat /sys/class/net/v0/carrier)"
quiet

# Sent frames were received, or are counted.
sleep 0.2
sent=$(total_a packets)
found=$(($(count_b rx_packets) + $(count_b rx_overrun) + $(count_b rx_down) + $(count_b rx_crc_errors)))
equal "every frame that A sent is accounted for at B" "$sent" "$found"

traffic
check "traffic flows again" moving
must ip link add v5 type vtsn
must ip netns del B
quiet
no_more_v0() { ! ip -n A link show dev v0; }
check "deleting the namespace of one end deletes both" wait_for 5 no_more_v0
must ip netns del A

wire_up
traffic
check "traffic flows on a new pair" moving
check "the module unloads under traffic, with all its ports" rmmod vtsn
quiet
refused "and the ports are deleted" ip -n A link show dev v0
must ip netns del A
must ip netns del B
equal "with their interrupts" "" "$(grep vtsn /proc/interrupts)"
must modprobe vtsn
end
