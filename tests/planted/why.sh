#!/bin/sh
# `teiji run --on local --why` names delays that are planted at known instants: by the module beside
# this script (interrupts disabled for 50 us, a lock held for 200 us, a real-time thread that computes for
# 100 us), and by vtsn (a queue of the NIC that is stopped until the kernel's watchdog resets it).
#
#     board: line ────── line: peer    (vtsn, in namespaces of teiji's own)
#
# module: vtsn
# module: planted
# limit: 300
. /suite/lib

if [ "$slow" != 1 ]; then
    skip 'planted delays: a debug kernel takes longer than what is planted'
    end
fi

teiji=/init
must modprobe vtsn
must head -c 1 /dev/random
trace=/sys/kernel/tracing
[ -e $trace/tracing_on ] || must mount -t tracefs tracefs $trace

# experiment PERIOD FRAMES: below the priorities of interrupt threads and of planted-fifo.
experiment() {
    cat >why.toml <<FILE
name = "planted"
question = "What delays frames?"
[wires]
line = { between = ["board", "peer"], nic = "vtsn" }
[hosts.board]
cpu = 0
ports.line.queues = 1
[flows.cycle]
from = "board"
to = "peer"
period = "$1"
frames = $2
realtime = 40
FILE
}

# measure [OPTION…]: what the run shows of its frames.
measure() {
    rm -rf ./*-planted
    $teiji run why.toml --on local --why --out . >log 2>&1
    $teiji why ./*-planted "$@" >found 2>&1 || fail "why: $(tail -n 5 log found)"
}

# most CAUSE: its maximum in whole us, 0 if it is not in the table.
most() {
    awk -v cause="$1" '/^ +[0-9 ]+[0-9] +[0-9.]+ / && index($0, cause) {
        # Thousands are apart.
        $0 = substr($0, 1, index($0, cause) - 1)
        while (match($0, /[0-9] [0-9]/)) $0 = substr($0, 1, RSTART) substr($0, RSTART + 2)
        print int($NF); found = 1; exit
    } END { if (!found) print 0 }' found
}

interrupts='interrupt pending until planted_disable_interrupts (called by planted_thread), in planted-irqs (nice 0)'
computes='planted-fifo (FIFO 50) ran'
# Without PREEMPT_RT the lock does not sleep: its thread goes on, and the sender waits for the processor.
case $(uname -r) in
*-rt-*) lock='waited for a lock in sch_direct_xmit (of the qdisc or the transmit queue), held by planted-lock (nice 0)' ;;
*) lock='planted-lock (nice 0) ran' ;;
esac

# --- the module ------------------------------------------------------------------

# Per 1001 frames each plant meets the sender's timer at all phases, 10 us apart.
experiment 1ms 2500
must modprobe planted
measure
must modprobe -r planted
within 'disabled interrupts: function, thread, and 50 us' 35 55 "$(most "$interrupts")"
# From the sender's timer to the lock tracing takes 50 us. The lock's owner can be preempted meanwhile.
within 'a lock that is held for 200 us: by whom, and how long' 120 280 "$(most "$lock")"
within 'a thread of higher priority, and 100 us' 85 112 "$(most "$computes")"
within 'nearly all is explained' 0 1 "$(most unknown)"

# The figures follow from what is planted.
must modprobe planted interrupts_us=0 lock_us=0 compute_us=300
measure
must modprobe -r planted
equal 'no disabled interrupts where there are none' 0 "$(most planted_disable_interrupts)"
equal 'no lock' 0 "$(most 'held by planted-lock')"
within 'and 300 us of the thread' 285 312 "$(most "$computes")"

# --- a stopped queue --------------------------------------------------------------

# The watchdog comes 5 s after the last frame that was handed over.
stop_queues() {
    for queues in /sys/kernel/debug/vtsn/*/stuck_queues; do echo "$1" >"$queues"; done
}
timed_out() { dmesg | grep -q 'NETDEV WATCHDOG'; }
experiment 10ms 900
(
    sleep 2
    stop_queues 65535
    wait_for 20 timed_out
    stop_queues 0
) &
measure --worst 1
wait
within 'a stopped queue, and when the watchdog reset it' 4000000 6000000 \
    "$(most "in the qdisc, until the kernel's watchdog reset the NIC's stopped queue")"
must modprobe -r vtsn
end
