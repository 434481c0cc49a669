#!/bin/sh
# iperf3 at 100 Mbit/s: the line rate is reached, and every frame is accounted for.
#
#     va (ns perf-a, 10.0.0.1) ────── 100 Mbit/s ────── vb (ns perf-b, 10.0.0.2)
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: iperf3
# long: floods of 100 Mbit/s
# shellcheck disable=SC2086 # $A and $B are several words
. /suite/lib

A='ip netns exec perf-a'
B='ip netns exec perf-b'

# sum NAMESPACE DEV PATTERN: of the ethtool statistics that match.
sum() {
    total=0
    for value in $(ip netns exec "$1" ethtool -S "$2" | sed -n "s/^ *$3: //p"); do
        total=$((total + value))
    done
    echo $total
}

# sent NS DEV: frames, duplicates included.
sent() { echo $(($(sum "$1" "$2" 'tx[0-9]*_packets') + $(sum "$1" "$2" 'fault_duplicated'))); }

# unchanged NS DEV NS DEV: reads both ends; true if the first sent nothing meanwhile.
unchanged() {
    sent=$(sent "$1" "$2")
    lost=$(($(sum "$1" "$2" 'fault_lost') + $(sum "$3" "$4" 'rx_overrun') +
        $(sum "$3" "$4" 'rx_crc_errors') + $(sum "$3" "$4" 'rx_down')))
    found=$(sum "$3" "$4" 'rx_packets')
    [ "$sent" = "$(sent "$1" "$2")" ]
}

# accounted SENTENCE: all frames of either end were received, or counted as lost.
accounted() {
    for way in 'perf-a va perf-b vb' 'perf-b vb perf-a va'; do
        # shellcheck disable=SC2086 # four words
        set -- "$1" $way
        # The kernel sends frames of its own (ARP, IPv6): none between the readings.
        wait_for 5 unchanged "$2" "$3" "$4" "$5"
        echo "$3 to $5: $sent sent, $found received, $lost lost and counted"
        equal "$1, $3 to $5: sent = received + counted losses" "$sent" $((found + lost))
    done
}

# line_rate SENTENCE LEAST MOST KBIT_PER_S: as `within`, where the kernel is fast enough.
line_rate() {
    if [ "$slow" = 1 ]; then
        within "$@"
    else
        skip "$1: a debug kernel sends $4 kbit/s"
        within "$1, as far as this kernel can" 1 "$3" "$4"
    fi
}

must modprobe vtsn
must ip netns add perf-a
must ip netns add perf-b
must ip link add va type vtsn
must ip link set vap name vb
must ip link set va netns perf-a
must ip link set vb netns perf-b
must $A ethtool -s va speed 100 duplex full autoneg off
must ip -n perf-a link set va up
must ip -n perf-b link set vb up
must ip -n perf-a addr add 10.0.0.1/24 dev va
must ip -n perf-b addr add 10.0.0.2/24 dev vb
must wait_for 5 $A ping -c 1 -W 1 10.0.0.2
must $B iperf3 -s -D
sleep 0.5

# 1448 of the 1538 byte times of a full TCP segment are payload: 94.1 Mbit/s.
rate=$($A iperf3 -c 10.0.0.2 -t 2 -f k | sed -n 's/.* \([0-9]*\) Kbits.*receiver.*/\1/p')
echo "TCP: ${rate:-none} kbit/s"
line_rate "TCP reaches the line rate" 92500 94150 "${rate:-0}"
sleep 0.5
accounted "TCP"

# 1472 of 1538 byte times of a full datagram are payload: 95.7 Mbit/s.
rate=$($A iperf3 -c 10.0.0.2 -u -b 110M -l 1472 -t 1 -f k | sed -n 's/.* \([0-9]*\) Kbits.*receiver.*/\1/p')
echo "UDP, more than fits: ${rate:-none} kbit/s"
line_rate "UDP beyond the line rate gets the line rate" 93500 95800 "${rate:-0}"
sleep 0.5
accounted "UDP beyond the line rate"

ptp=$($A ethtool -T va | sed -n 's/PTP Hardware Clock: //p')
faults=/sys/kernel/debug/vtsn/ptp$ptp
if [ -d "$faults" ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null; then
    echo 20000 >"$faults/loss_ppm"
    echo 20000 >"$faults/corrupt_ppm"
    $A iperf3 -c 10.0.0.2 -u -b 20M -l 1000 -t 1 >/dev/null
    echo 0 >"$faults/loss_ppm"
    echo 0 >"$faults/corrupt_ppm"
    sleep 0.5
    within "faults lost frames" 1 100000 "$(sum perf-a va fault_lost)"
    within "faults corrupted frames" 1 100000 "$(sum perf-b vb rx_crc_errors)"
    # A frame may be both lost and corrupted: a lost one is not received corrupted.
    accounted "UDP with faults"
else
    skip "faults under iperf3: this kernel has no debugfs"
fi

for pid in $(pidof iperf3); do kill "$pid"; done
must ip -n perf-a link del va
must ip netns del perf-a
must ip netns del perf-b
must rmmod vtsn
end
