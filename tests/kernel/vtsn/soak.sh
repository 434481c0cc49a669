#!/bin/sh
# Soak: two classes flood the wire through gates, with every fault, while PTP controls a clock
# that drifts; every frame is accounted for, and no memory leaks.
#
#     A ────── B, topology in wire.inc; ptp4l on both, A is the master
#
# Here with few frames; docs/performance.md reports ten million.
# module: vtsn
# module: sch_taprio
# package: iproute2
# package: ethtool
# package: linuxptp
# limit: 7200
# long: 20 000 frames through gates and faults
. /suite/lib
. /suite/wire.inc
. /suite/ptp.inc

# Frames per class and round; a talker records its frames, so not too many.
ROUNDS=1
FRAMES=10000

available() { awk '/^MemAvailable/ { print $2 }' /proc/meminfo; }
close() { offset=$(clock_difference); [ "$offset" -gt -"$1" ] && [ "$offset" -lt "$1" ]; }
# talk PRIORITY: for a whole round.
talk() {
    a teiji talk v0 10.0.0.2 --frames "$FRAMES" --period 10us --payload 64 --priority "$1" \
        --no-stamps >/dev/null
}

before=$(available)
wire_up
a ethtool -s v0 speed 10000 duplex full autoneg off
a ethtool -C v0 tx-usecs 1000
b ethtool -C v0p rx-usecs 500 rx-frames 64
faults=$(faults_a)
set_b phc_drift_ppb 40000
set_b phc_offset_ns 1000000
printf '[global]\nnetwork_transport L2\nlogSyncInterval -3\n' >/tmp/ptp.cfg
ptp A 100 v0
ptp B 200 v0p
check "PTP locks" wait_for 60 close 1000
must a tc qdisc replace dev v0 root handle 100: taprio num_tc 2 \
    map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 base-time 0 \
    sched-entry S 01 300000 sched-entry S 02 700000 flags 0x2
for fault in loss duplicate corrupt reorder; do
    must sh -c "echo 1000 >$faults/${fault}_ppm"
done
must sh -c "echo 20000 >$faults/reorder_ns"
# From now on the oscillator drifts the other way.
set_b phc_drift_ppb -40000

round=0
while [ "$round" -lt "$ROUNDS" ]; do
    talk 0 &
    other=$!
    talk 3
    wait "$other"
    round=$((round + 1))
done
check "the clocks agree" wait_for 60 close 20000
end_ptp
sleep 0.1

sent=$(total_a packets)
within "all frames were sent" $((2 * ROUNDS * FRAMES)) 100000000 "$sent"
within "many waited for their gate" $((ROUNDS * FRAMES / 50)) 100000000 "$(total_a gate_waits)"
# A thousandth, within six standard deviations of such a count.
mean=$((sent / 1000)) away=0
while [ $((away * away)) -lt $((36 * mean)) ]; do away=$((away + 1)); done
for fault in lost duplicated corrupted reordered; do
    within "about a thousandth was $fault" $((away < mean ? mean - away : 1)) $((mean + away)) \
        "$(count_a "fault_$fault")"
done
equal "every frame is accounted for" $((sent + $(count_a fault_duplicated))) \
    $(($(count_b rx_packets) + $(count_b rx_overrun) + $(count_b rx_crc_errors) + \
    $(count_b rx_down) + $(count_a fault_lost)))
equal "and so is every frame of the other direction" "$(b ethtool -S v0p | awk \
    '/^ *tx[0-9]+_packets/ { sum += $2 } END { print sum }')" "$(count_a rx_packets)"
a ethtool -S v0 | grep -v ': 0$'
b ethtool -S v0p | grep -v ': 0$'
wire_down
lost=$((before - $(available)))
echo "$sent frames; $lost KiB less memory available than before"
if [ "$slow" = 1 ]; then
    within "no memory leaks" -100000 6000 "$lost"
else
    skip "memory is measured: KASAN holds back freed memory here, and kmemleak finds leaks"
fi
end
