#!/bin/sh
# Gates by schedule (taprio): each frame is sent inside its window, to its last bit.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_taprio
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# gates ARGUMENTS…: priority 3 is class 0, others class 1; entries and options.
gates() {
    a tc qdisc replace dev v0 root handle 100: taprio num_tc 2 \
        map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 "$@" flags 0x2
}

# flood PAYLOAD: both classes at once, each temporarily more than its window holds.
flood() {
    receive
    a teiji talk v0 10.0.0.2 --flow 0 --priority 3 --frames 2000 --period 37us --payload "$1" \
        --no-stamps --csv >/dev/null &
    other=$!
    a teiji talk v0 10.0.0.2 --flow 1 --priority 0 --frames 2000 --period 41us --payload "$1" \
        --no-stamps --csv >/dev/null
    wait "$other"
    received
}

# outside CYCLE OPEN CLOSE FLOW BYTES: frames of a flow that began before OPEN or ended
# after CLOSE, in ns of the cycle; BYTES are those from preamble to FCS.
outside() {
    rx "\$1 == $4 {
            start = (at - 64 - $lead) % $1
            if (start < 0) start += $1
            if (start < $2 || start + 8 * $5 > $3) odd++
        } END { print odd + 0 }"
}

wire_up
set_a delay_ns 0
a ethtool -G v0 tx 1024 rx 4096 >/dev/null
b ethtool -G v0p tx 1024 rx 4096 >/dev/null
set_a phc_offset_ns 0
set_b phc_offset_ns 0
must gates base-time 0 sched-entry S 01 300000 sched-entry S 02 700000
deep_queues
contains "tc shows the schedule" "cycle-time 1000000" "$(a tc qdisc show dev v0)"
for payload in 24 1400; do
    flood "$payload"
    lead=$(clock_difference)
    within "$payload bytes: frames of both classes are received" 3000 4000 "$(frames)"
    equal "$payload bytes: class 0 is sent in its window" 0 \
        "$(outside 1000000 0 300000 0 $((payload + 54)))"
    equal "$payload bytes: class 1 is sent in its window" 0 \
        "$(outside 1000000 300000 1000000 1 $((payload + 54)))"
done
within "waits for gates are counted" 100 100000 "$(total_a gate_waits)"

# A window of 5 us is too short for 1400 bytes (11.7 us), and long enough for 24.
must gates base-time 0 sched-entry S 01 5000 sched-entry S 02 995000
sleep 0.1
receive
send --frames 5 --period 1ms --priority 3 --payload 24 --no-stamps
before=$(count_b rx_packets)
# In the background: talk waits until its frame is sent.
send --frames 1 --period 1ms --priority 3 --payload 1400 --no-stamps &
sender=$!
never() { [ "$(total_a gate_never)" = 1 ]; }
check "a frame that fits no window is counted" wait_for 5 never
sleep 0.1
equal "and not sent" "$before" "$(count_b rx_packets)"
equal "nor dropped" 0 "$(a cat /sys/class/net/v0/statistics/tx_dropped)"
must gates base-time 0 sched-entry S 01 20000 sched-entry S 02 980000
received
wait "$sender"
equal "it is sent by the next list with a window that is long enough" 6 "$(frames)"

# A future base time: the old schedule applies until then. Class 0 is closed until the change.
must gates base-time 0 sched-entry S 02 1000000
sleep 0.1
start=$(($(get_a phc | cut -d' ' -f2) + 800000000 + 300000000 * slow))
start=$((start / 1000000 * 1000000))
must gates base-time "$start" sched-entry S 03 1000000
receive
before=$(count_b rx_packets)
# talk waits until the frames are counted as sent: until the gate opens.
send --frames 10 --period 1ms --priority 3 --no-stamps --payload 24 &
sender=$!
sleep 0.3
equal "no frame is sent while its gate is closed" "$before" "$(count_b rx_packets)"
while [ "$(get_a phc | cut -d' ' -f2)" -lt "$start" ]; do sleep 0.1; done
received
wait "$sender"
equal "frames wait for the new schedule's base time" 10 "$(frames)"
first=$(awk -F, 'NR == 2 { print $5 }' rx.csv)
# From the preamble to the SFD, where stamps are taken, are 64 ns; clocks round them.
within "and are sent at the base time" 62 100000 $((first - start))

# extended NS: class 0 is open in the second half of each cycle of 1 ms; the schedule ends
# 200 us into a cycle. How many frames are sent in that rest, and how many after it?
# All times are `slow`.
extended() {
    must a tc qdisc del dev v0 root
    must gates base-time 0 cycle-time-extension $(($1 * slow)) \
        sched-entry S 02 $((500000 * slow)) sched-entry S 01 $((500000 * slow))
    start=$(($(get_a phc | cut -d' ' -f2) + 1100000000 + 300000000 * slow))
    start=$((start / (1000000 * slow) * 1000000 * slow + 200000 * slow))
    must gates base-time "$start" sched-entry S 02 1000000
    receive
    # Until 120 ms before it: the talker is ready shortly after.
    while [ "$(get_a phc | cut -d' ' -f2)" -lt $((start - 120000000 * slow)) ]; do sleep 0.01; done
    send --frames 1500 --period $((100 * slow))us --priority 3 --no-stamps --payload 24
    received
    lead=$(clock_difference)
    rest=$(rx "{ start = at - 64 - $lead - ns(\"$start\") }
        start >= -200000 * $slow && start < 0 { odd++ } END { print odd + 0 }")
    after=$(rx "{ start = at - 64 - $lead - ns(\"$start\") }
        start >= 0 { odd++ } END { print odd + 0 }")
}
extended 300000
timely within "a rest not longer than the extension extends the cycle before it" 1 100 "$rest"
equal "until the new schedule's base time" 0 "$after"
extended 100000
equal "a longer rest is a cycle of its own" 0 "$rest"
within "both times frames were sent before" 1 1499 "$(frames)"

must a tc qdisc del dev v0 root
receive
send --frames 10 --period 1ms --priority 3 --no-stamps
received
equal "without the qdisc all gates are open" 10 "$(frames)"
wire_down
end
