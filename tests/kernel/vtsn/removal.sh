#!/bin/sh
# The module unloads in every state, and a clock set far away blocks nothing.
#
#     [A] va ────── vap [B]
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# module: sch_taprio
# module: sch_cbs
# package: iproute2
# package: ethtool
. /suite/lib

A="ip netns exec A"
settings=/sys/class/net/va/vtsn
pair() {
    must ip netns add A
    must ip netns add B
    must ip link add va netns A type vtsn
    must ip -n A link set vap netns B
    must ip -n A link set va up
    must ip -n B link set vap up
    must ip -n A addr add 10.0.0.1/24 dev va
    must ip -n B addr add 10.0.0.2/24 dev vap
    must ip -n A neigh add 10.0.0.2 lladdr "$(ip netns exec B cat /sys/class/net/vap/address)" dev va
}
# traffic ARGUMENTS…: more frames from A than there is time for; returns when they flow.
traffic() {
    ip netns exec A teiji talk va 10.0.0.2:7001 --frames 50000 --period 50us --no-stamps "$@" >talk.log 2>&1 &
    talker=$!
    must wait_for 20 flows
}
# UDP's counter, which does not depend on qdisc and NIC.
flows() { $A awk '$1 == "Udp:" { out = $5 } END { exit !(out >= 10) }' /proc/net/snmp; }
unload() { kill -0 "$talker" && rmmod vtsn; }

# A gate that is closed until the year 2090, by a clock that drifts.
pair
gates() {
    $A tc qdisc replace dev va root handle 100: taprio num_tc 2 map 0 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 \
        queues 1@0 1@1 "$@" flags 0x2
}
must $A sh -c "echo 100000 >$settings/phc_drift_ppb"
never() { $A ethtool -S va | sed -n 's/ *tx0_gate_never: //p'; }
check "a schedule that never opens a class is accepted" gates base-time 0 sched-entry S 02 300000
check "and one that opens it from 2090 on" gates base-time 3786912000000000000 sched-entry S 01 300000
# IPv6's own frames may have been queued under the first schedule.
before=$(never)
$A teiji talk va 10.0.0.2:7001 --frames 5 --no-stamps >talk.log
equal "its frames are queued" "$before" "$(never)"
faults=/sys/kernel/debug/vtsn/ptp$($A ethtool -T va | sed -n 's/PTP Hardware Clock: //p')
refused "a step of the clock out of range is refused" sh -c "echo 9000000000000000000 >$faults/phc_step_ns"
check "a step of 80 years" sh -c "echo 2524608000000000000 >$faults/phc_step_ns"
check "frames queued for 2090 are sent" wait_for 5 sh -c "$A ethtool -S va | grep -q 'tx0_packets: [1-9]'"
check "a step back" sh -c "echo -2524608000000000000 >$faults/phc_step_ns"
check "the schedule is deleted while frames are queued" $A tc qdisc del dev va root
must ip netns del A
must ip netns del B

# etf AHEAD: launch times, in a clock that is so much ahead of CLOCK_TAI. They are 200 ms
# after the wake-up and ETF hands over at once: no kernel is too slow for the first frames.
etf() {
    must $A tc qdisc replace dev va root handle 100: mqprio $classes hw 1
    must $A tc qdisc replace dev va parent 100:1 etf clockid CLOCK_TAI delta 200000000 offload
    must $A sh -c "echo $1 >$settings/phc_offset_ns"
    traffic --margin 200ms
}
waits() { [ "$($A cat /sys/class/net/va/queues/tx-0/byte_queue_limits/inflight)" -gt 0 ]; }
wait_long() { must $A sh -c "echo 100000000000 >$settings/launch_horizon_ns"; }
# counted NAME: more than 0 at va, over all queues.
counted() { $A ethtool -S va | grep -q "_$1: [1-9]"; }

for state in plain etf late beyond back taprio pending replaced cbs stuck wander tiny full faults \
    namespaces; do
    pair
    classes="num_tc 2 map 0 1 1 0 1 queues 1@0 1@1"
    case $state in
        # queued in the NIC; too late; beyond the horizon; queued while the clock is set back
        etf)
            wait_long
            etf -50000000000
            check "frames are queued in the NIC" wait_for 5 waits
            ;;
        late)
            etf 1000000000
            check "launch times have passed" wait_for 5 counted launch_late
            ;;
        beyond)
            etf -2000000000
            check "launch times are beyond the horizon" wait_for 5 counted launch_horizon
            ;;
        back)
            wait_long
            etf -50000000000
            check "frames are queued in the NIC" wait_for 5 waits
            must $A sh -c "echo -200000000000 >$settings/phc_offset_ns"
            check "the queued frames are dropped" wait_for 5 counted launch_horizon
            ;;
        taprio)
            must $A tc qdisc replace dev va root handle 100: taprio $classes base-time 0 sched-entry S 01 100000 sched-entry S 02 400000000 flags 0x2
            traffic
            ;;
        pending)
            traffic
            must gates base-time 0 sched-entry S 01 100000 sched-entry S 02 400000000
            must gates base-time $(($(date +%s)000000000 + 3600000000000)) sched-entry S 03 1000000
            ;;
        replaced)
            traffic
            for window in 100000 200000 300000; do
                must gates base-time 0 sched-entry S 01 $window sched-entry S 02 700000
            done
            must $A tc qdisc replace dev va root handle 200: mqprio $classes hw 1
            ;;
        cbs)
            must $A tc qdisc replace dev va root handle 100: mqprio $classes hw 1
            must $A tc qdisc replace dev va parent 100:1 cbs idleslope 100 sendslope -999900 hicredit 30 locredit -1470 offload 1
            traffic
            ;;
        stuck)
            for file in /sys/kernel/debug/vtsn/*/stuck_queues; do echo 65535 >"$file"; done
            traffic
            ;;
        wander)
            must $A sh -c "echo 1000 >$settings/phc_wander_period_ms; echo 10000 >$settings/phc_wander_ppb"
            $A sh -c "while echo 10000 >$settings/phc_wander_ppb; do :; done" 2>/dev/null &
            traffic
            ;;
        tiny)
            must $A ethtool -G va tx 4 rx 4
            must ip netns exec B ethtool -G vap tx 4 rx 4
            traffic
            ;;
        full)
            # Frames are in the receiver's ring.
            must ip netns exec B ethtool -C vap rx-usecs 10000
            traffic
            ;;
        faults)
            # Frames are on the wire for up to a second, reordered and duplicated.
            for file in /sys/kernel/debug/vtsn/*/jitter_ns; do echo 1000000000 >"$file"; done
            for file in /sys/kernel/debug/vtsn/*/*_ppm; do echo 300000 >"$file"; done
            traffic
            ;;
        namespaces)
            # Their ports are deleted in the background.
            traffic
            ip netns del A
            ip netns del B
            # Which may finish that.
            unload() { rmmod vtsn; }
            ;;
        plain) traffic ;;
    esac
    check "the module unloads under traffic: $state" unload
    kill "$talker" 2>/dev/null
    wait
    ip netns del A 2>/dev/null
    ip netns del B 2>/dev/null
    must modprobe vtsn
done
end
