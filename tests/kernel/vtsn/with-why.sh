#!/bin/sh
# Why frames are late, as `teiji run --on local --why` tells from the kernel's tracepoints, with causes
# that are planted: interrupts that the kernel's own tracer hwlat disables for 300 us, seen by Debian's rtla,
# too; a sender of higher priority; a lock that another sender has.
#
#     board: line ────── line: peer    (vtsn, in namespaces of teiji's own)
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: rtla
# plugin: vtsn/ip/link_vtsn.c
. /suite/lib

if [ "$slow" != 1 ]; then
    skip 'why frames are late: a debug kernel takes longer than what is planted'
    end
fi

teiji=/init
must modprobe -a vtsn sch_mqprio sch_etf
must head -c 1 /dev/random
trace=/sys/kernel/tracing
[ -e $trace/tracing_on ] || must mount -t tracefs tracefs $trace

# experiment FLOWS [PORT]: the file.
experiment() {
    cat >why.toml <<END
name = "why"
question = "What delays frames?"
wires.line = { between = ["board", "peer"], nic = "vtsn" }
hosts.board.cpu = 0
${2:-}
$1
END
}

# flow NAME PRIORITY [MORE [PERIOD]]: frames that come at all phases of the kernel's tick, at which hwlat wakes.
flow() {
    cat <<END
[flows.$1]
from = "board"
to = "peer"
period = "${4:-1010us}"
frames = 1000
priority = 3
realtime = $2
${3:-}
END
}

# measure [OPTION]: what the run says of its frames.
measure() {
    rm -rf ./*-why
    $teiji run why.toml --on local "${1:---why}" --out . >log 2>&1 || fail "the run: $(tail -n 5 log)"
    $teiji why ./*-why >found 2>&1 || fail "why: $(tail -n 5 found)"
}

# most CAUSE: its maximum in whole us, 0 if it is not in the table.
most() {
    awk -v cause="$1" '/^ +[0-9 ]+[0-9] +[0-9.]+ / && index($0, cause) {
        $0 = substr($0, 1, index($0, cause) - 1); print int($NF); found = 1; exit
    } END { if (!found) print 0 }' found
}

# --- no cause is planted -------------------------------------------------------

experiment "$(flow cycle 80)"
measure
contains 'the causes are in the run, too' 'from the expiry of the sender'"'"'s timer to the driver' "$(cat log)"
within 'most frames have a path' 700 900 "$(sed -n 's/.*cycle: \([0-9]*\) frames.*/\1/p' found)"
contains 'it says what tracing costs' 'while the kernel was traced' "$(cat found)"
equal 'no interrupt is pending for long' 0 "$(most 'interrupt pending until kthread_fn')"
equal 'nothing of the trace is left' '' "$(ls $trace/instances)"

# --- disabled interrupts -------------------------------------------------------

# Debian's 6.1 without PREEMPT_RT has not got it.
if [ -e $trace/hwlat_detector ]; then
    must sh -c "echo 300 >$trace/hwlat_detector/width"
    must sh -c "echo 4000 >$trace/hwlat_detector/window"
    must sh -c "echo hwlat >$trace/current_tracer"
    measure
    within 'interrupts that are disabled for 300 us are found, with function and thread' 100 330 \
        "$(most 'interrupt pending until kthread_fn (called by kthread), in hwlatd (nice 0)')"
    rtla timerlat top -q -c 0 -p 1010 -i 100 -d 5s >rtla.log 2>&1
    contains 'rtla timerlat is delayed by them, too' 'hit stop tracing' "$(cat rtla.log)"
    # The last column of "IRQ Timer Latency" of CPU 0.
    within 'for as long' 100 330 \
        "$(awk -F '|' '$1 ~ /^ *0 #/ { count = split($2, field, " "); print field[count] }' rtla.log | tail -n 1)"
    measure --why=200us
    contains 'a limit ends the trace' 'Tracing ended at cycle:' "$(cat found)"
    late=$(sed -n 's/.*Tracing ended at \(cycle:[0-9]*\),.*/\1/p' found)
    contains 'at a frame that is shown' 'in hwlatd (nice 0)' "$($teiji why ./*-why --frame "$late" 2>&1)"
    must sh -c "echo nop >$trace/current_tracer"
else
    skip 'disabled interrupts: this kernel has no tracer hwlat'
fi

# --- another sender -------------------------------------------------------------

# The first is still sending when the second wakes.
experiment "$(flow first 80; flow second 70 'offset = "5us"')"
measure
within 'a thread of higher priority is found' 1 100 "$(most 'talker-0 (FIFO 80) ran')"

# The second has a higher priority; with PREEMPT_RT it takes the processor, but not the lock.
case $(uname -r) in
6.1.*-rt-* | 6.12.*-rt-*)
    # It wakes at all phases of the first one's sending.
    experiment "$(flow first 70; flow second 80 'offset = "500us"' 1011us)"
    measure
    within 'a lock is found, and who has it' 1 100 \
        "$(most 'waited for the BH lock, held by talker-0 (FIFO 70)')"
    ;;
*) skip 'a lock: this kernel has no BH lock' ;;
esac

# --- the qdisc's timer ----------------------------------------------------------

experiment "$(flow cycle 80 'mode = "launch-time"
margin = "400us"')" '[hosts.board.ports.line.qdisc]
kind = "mqprio"
map = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
queues = ["1@0", "1@1", "2@2"]
classes.0 = { kind = "etf", delta = "150us" }
[hosts.board.ports.line]
queues = 4'
measure
within 'ETF in software keeps a frame until its timer' 100 250 "$(most 'in the qdisc, until its timer expired')"
within 'and its way from there is divided' 1 200 "$(most 'transmit softirq, up to the driver')"

# --- round trips ------------------------------------------------------------------

experiment '[round-trips.ask]
from = "board"
to = "peer"
count = 300
period = "3ms"
realtime = 80
responder-realtime = 80'
measure
within 'round trips have paths, too' 200 270 "$(sed -n 's/.*ask: \([0-9]*\) round trips.*/\1/p' found)"
within 'with the time at the responder' 5 200 "$(most 'the responder, up to the qdisc')"

# --- bad input -------------------------------------------------------------------

refused 'a round trip that was not kept' $teiji why ./*-why --frame ask:7
refused 'a trace for Perfetto' $teiji why ./*-why --perfetto x
rm -rf ./*-why
must $teiji run why.toml --on local --out . >log
$teiji why ./*-why >found 2>&1
contains 'a run without a trace' 'its kernel was not traced: measure again' "$(tr -s ' \n' ' ' <found)"
must modprobe -r vtsn
end
