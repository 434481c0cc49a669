#!/bin/sh
# Every frame is accounted for, under every fault, in overruns, and when a port goes down.
#
#     [A] va ────── vap [B]
#
# module: vtsn
# package: iproute2
# package: ethtool
. /suite/lib

# No frames of IPv6 itself: they would be counted.
no_ipv6() { ip netns exec "$1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'; }
must ip netns add A
must ip netns add B
must no_ipv6 A
must no_ipv6 B
must ip link add va netns A type vtsn
must ip -n A link set vap netns B
must ip -n A link set va up
A="ip netns exec A"
B="ip netns exec B"

equal "without its peer a port has no carrier" 0 "$($A cat /sys/class/net/va/carrier)"
must ip -n B link set vap up
equal "with both ends up it has one" 1 "$($A cat /sys/class/net/va/carrier)"
must ip -n A addr add 10.0.0.1/24 dev va
must ip -n B addr add 10.0.0.2/24 dev vap
must ip -n A neigh add 10.0.0.2 lladdr "$($B cat /sys/class/net/vap/address)" dev va
faults=/sys/kernel/debug/vtsn/ptp$($A ethtool -T va | sed -n 's/PTP Hardware Clock: //p')

value() { ip netns exec "$1" ethtool -S "$2" | sed -n "s/^ *$3: //p"; }
sum() { ip netns exec "$1" ethtool -S "$2" | awk "/ ($3):/ { n += \$2 } END { print n + 0 }"; }
talk() { $A teiji talk va 10.0.0.2:7001 --period 20us --no-stamps "$@"; }

# Frames queue up in a stuck queue and are sent back to back when it is served again.
burst() {
    echo 65535 >"$faults/stuck_queues"
    talk --frames 10 --payload "$1" >talk.log
    echo 0 >"$faults/stuck_queues"
    sleep 0.2
}

# byte queue limits would hold back part of a burst
$A sh -c 'for file in /sys/class/net/va/queues/*/byte_queue_limits/limit_min; do echo 100000 >$file; done'
for rate in 10 10000 1000; do
    must $A ethtool -s va speed $rate duplex full autoneg off
    contains "the rate set at one end applies to the other" "${rate}Mb/s" "$($B ethtool vap)"
    burst 64
    burst 1466
done

sent() { sum A va 'tx[0-9]*_packets|tx_pause|tx_pfc|fault_duplicated'; }
unchanged() {
    sent=$(sent)
    come=$(($(sum B vap 'rx_packets|rx_overrun|rx_crc_errors|rx_down|rx_pause|rx_pfc') + $(value A va fault_lost)))
    [ "$sent" = "$(sent)" ]
}
accounted() {
    sleep 0.3
    # The kernel sends frames of its own (ARP): none between the readings.
    wait_for 20 unchanged
    equal "$1" "$sent" "$come"
}
accounted "every frame of the bursts is accounted for"

fault() {
    before=$(value A va "fault_$2")
    echo 100000 >"$faults/$1"
    talk --frames 300 >talk.log
    echo 0 >"$faults/$1"
    sleep 0.2
    within "about a tenth is $2 by $1" 10 60 $(($(value A va "fault_$2") - before))
    accounted "with $1 every frame is accounted for"
}
fault loss_ppm lost
fault duplicate_ppm duplicated
fault corrupt_ppm corrupted
fault reorder_ppm reordered
equal "corrupted frames are dropped by checksum" "$(value A va fault_corrupted)" "$(value B vap rx_crc_errors)"
echo 5000 >"$faults/jitter_ns"
talk --frames 100 >talk.log
echo 0 >"$faults/jitter_ns"
within "nearly all are delayed by jitter" 95 110 "$(value A va fault_delayed)"
refused "more than a million in a million is refused" sh -c "echo 1000001 >$faults/loss_ppm"

# a small ring overruns while the receiver does not poll
must $B ethtool -G vap rx 4
$B ethtool -C vap rx-usecs 5000
burst 1464
within "a ring of four that is not polled overruns" 1 10 "$(value B vap rx_overrun)"
accounted "overruns are accounted for"
$B ethtool -C vap rx-usecs 0
must $B ethtool -G vap rx 256

# flows spread over queues by their port numbers, and some of the queues are removed
must $A ethtool -L va tx 16
for flow in 1 2 3 4 5 6 7 8 9; do
    $A teiji talk va "10.0.0.2:80$flow$flow" --frames 5 --no-stamps >talk.log
done
must $A ethtool -L va tx 1
# Repeated until no frame (the kernel's own ARP) is sent between the readings.
at_rest() {
    of_queues=$(sum A va 'tx[0-9]*_packets')
    of_port=$($A cat /sys/class/net/va/statistics/tx_packets)
    [ "$of_queues" = "$(sum A va 'tx[0-9]*_packets')" ]
}
wait_for 20 at_rest
equal "a removed queue keeps its counters" "$of_port" "$of_queues"
must $A ethtool -L va tx 4
accounted "with other numbers of queues every frame is accounted for"

# down with frames in the queue
flushed=$(sum A va 'tx[0-9]*_flushed')
echo 65535 >"$faults/stuck_queues"
talk --frames 20 >talk.log
must ip -n A link set va down
within "queued frames are counted as flushed when the port goes down" 1 20 $(($(sum A va 'tx[0-9]*_flushed') - flushed))
echo 0 >"$faults/stuck_queues"
must ip -n A link set va up
must ip -n A neigh replace 10.0.0.2 lladdr "$($B cat /sys/class/net/vap/address)" dev va
talk --frames 20 >talk.log
accounted "after down and up every frame is accounted for"

must $B ethtool -K vap gro off
check "threaded NAPI can be enabled" $B sh -c 'echo 1 >/sys/class/net/vap/threaded'
talk --frames 200 >talk.log
accounted "with threaded NAPI every frame is accounted for"

must ip -n A link del va
must ip netns del A
must ip netns del B
end
