#!/bin/sh
# The priorities, budgets and polling of an experiment, as `teiji run --on local` sets
# them, seen from outside with chrt and sysctl: while it runs, when it ended, when it
# was interrupted, and when it was killed.
#
#     board: line ────── line: peer    (vtsn, in namespaces of teiji's own)
#
# module: vtsn
# package: iproute2
# package: util-linux
# package: ethtool
# package: procps
# plugin: vtsn/ip/link_vtsn.c
. /suite/lib

# The debug kernels have neither ktimers nor RPS, which the experiment sets.
if [ "$slow" != 1 ]; then
    skip 'the priorities of an experiment: a debug kernel has neither ktimers nor RPS'
    end
fi

teiji=/init
must modprobe vtsn
# The run needs random numbers, which a guest without devices does not have yet;
# reading them makes the kernel collect some.
must head -c 1 /dev/random

# scheduling NAME: policy and priority of threads whose names begin so, in one line.
scheduling() {
    for tid in $(grep -ls "^$1" /proc/[0-9]*/comm | cut -d/ -f3); do
        chrt -p "$tid" | sed 's/.*: //'
    done | xargs
}

# limit: what limits real-time threads, in us of each second: the fair server of CPU 0 (6.12 and
# newer), or the sysctl.
fair=/sys/kernel/debug/sched/fair_server
limit() {
    if [ ! -e $fair ]; then sysctl -n kernel.sched_rt_runtime_us; return; fi
    server=$(cat $fair/cpu0/runtime)
    if [ "$server" = 0 ]; then echo -1; else echo $((1000000 - server / 1000)); fi
}

# kernel: the settings of the machine that the experiment changes, in one line.
kernel() {
    echo "$(scheduling ksoftirqd/0)" "$(scheduling ktimers/0)" \
        "$(sysctl -n net.core.netdev_budget net.core.netdev_budget_usecs net.core.dev_weight \
            | xargs)" "$(limit)" | xargs
}

# experiment FRAMES INTERRUPTS [MORE]: the file, with frames of 10 ms.
experiment() {
    cat >prio.toml <<END
name = "prio"
question = "Who runs when?"
wires.line = { between = ["board", "peer"], nic = "vtsn" }

[hosts.board.system]
ksoftirqd = { priority = 1 }
netdev-budget = 200
netdev-budget-time = "12ms"
dev-weight = 32
rt-runtime = "$runtime"
$3

[hosts.board.ports.line]
$2
napi = { priority = 40, cpus = [0], defer-hard-irqs = 2, gro-flush-timeout = "$((20 * slow))us" }
rps = [0]
xps = [[0], [0]]
bql = 3028
gso-max-size = 9000

[flows.cycle]
from = "board"
to = "peer"
period = "10ms"
frames = $1
$poll
END
}

# start: the experiment in the background, until its NAPI threads have their priority.
start() {
    rm -rf ./*-prio
    $teiji run prio.toml --on local --out . >log 2>&1 &
    run=$!
    wait_for $((20 * slow)) over || true
    polled || fail "the run set no priority: $(cat log)"
}
over() { polled || ! kill -0 "$run"; }
polled() { [ "$(scheduling napi/line-)" = 'SCHED_FIFO 40' ]; }
as_before() { [ "$(kernel)" = "$before" ]; }

# On a kernel so slow that real-time threads leave no CPU time it would never end.
if [ "$slow" = 1 ]; then runtime=unlimited runtime_us=-1; else runtime=900ms runtime_us=900000; fi
before=$(kernel)
bound=$(sysctl -n kernel.sched_rt_runtime_us)
irq=
if uname -v | grep -q PREEMPT_RT; then irq='irq = { priority = 60, cpus = [0] }'; fi
# Not every kernel with PREEMPT_RT has these threads.
timers= more=
if [ -n "$(scheduling ktimers/0)" ]; then
    timers='SCHED_RR 2' more='ktimers = { policy = "rr", priority = 2 }'
fi
# Debian's 6.1 with PREEMPT_RT has none.
if [ -e /proc/sys/net/core/busy_poll ]; then poll='listener-busy-poll = "50us"'; else poll=; fi
experiment 200 "$irq" "$more"
check 'check finds no mistake' $teiji check prio.toml
start
equal 'the kernel has what the experiment asks for' \
    "$(echo SCHED_FIFO 1 $timers 200 12000 32 $runtime_us)" "$(kernel)"
# Both ports are called line; only the board's has settings.
if [ -n "$irq" ]; then
    equal 'one interrupt has its priority, the other the usual one' \
        'SCHED_FIFO 50 SCHED_FIFO 60' "$(scheduling 'irq/[0-9]*-line' | xargs -n 2 | sort | xargs)"
fi
if wait "$run"; then ok 'the run ends well'; else fail "the run ends well: $(tail -n 3 log)"; fi
manifest=$(cat ./*-prio/manifest.json)
for said in '"ksoftirqd": "fifo 1"' '"NAPI threads": "fifo 40"' '"gro_flush_timeout": "'$((20000 * slow))'"' \
    '"rps_cpus": "0"' '"xps_cpus of tx-1": "0"' '"byte_queue_limits/limit_max": "3028"' '"gso_max_size": "9000"' ${irq:+'"interrupt threads": "fifo 60"'}; do
    contains "it says $said" "$said" "$manifest"
done
refused 'all settings are as configured' grep -q 'configured: ' ./*-prio/summary.json
equal 'it leaves the kernel as it was' "$before" "$(kernel)"
equal 'and the bound of deadline threads' "$bound" "$(sysctl -n kernel.sched_rt_runtime_us)"

# Forwards, so that the run ends sooner.
experiment 200 "$irq" "$more"
start
sleep 0.5
must date -s "@$(($(date +%s) + 2))"
wait "$run"
contains 'a clock that is set meanwhile is reported' 'CLOCK_TAI was set by' "$(tr -s ' \n' ' ' <log)"

experiment 60000 "$irq" "$more"
start
kill -INT "$run"
wait "$run"
equal 'an interrupted run leaves the kernel as it was' "$before" "$(kernel)"

start
kill -KILL "$run"
wait "$run" 2>/dev/null
check 'a killed run leaves the kernel as it was, too' wait_for $((20 * slow)) as_before

# Missing things are refused, without effect.
if [ -z "$irq" ]; then
    experiment 1 'irq = { priority = 60 }' ''
    $teiji run prio.toml --on local --out . >log 2>&1
    contains 'an interrupt without thread is refused' 'have no threads; there are: ' "$(cat log)"
    equal 'and the kernel is as it was' "$before" "$(kernel)"
fi
if [ -z "$timers" ]; then
    experiment 1 '' 'ktimers = { priority = 2 }'
    $teiji run prio.toml --on local --out . >log 2>&1
    contains 'ktimers that are not there are refused' 'this kernel has no thread `ktimers/0`' "$(cat log)"
fi
experiment 1 '' ''
setpriv --bounding-set -sys_nice --inh-caps -sys_nice $teiji run prio.toml --on local --out . >log 2>&1
contains 'without the right to it, that is said' 'CAP_SYS_NICE is missing' "$(cat log)"
equal 'and the kernel is as it was without the right' "$before" "$(kernel)"

# The printed commands do the same. (Except the one that waits for the carrier: busybox's
# `sh -c` runs its own `ip`.)
experiment 1 "$irq" "$more"
$teiji plan prio.toml | grep -v '^timeout' >plan.sh
must sh -e plan.sh
equal 'the printed commands set the kernel' \
    "$(echo SCHED_FIFO 1 $timers 200 12000 32 $runtime_us)" "$(kernel)"
equal 'and the threads that poll' 'SCHED_FIFO 40' "$(scheduling napi/line-)"
if [ -n "$irq" ]; then
    equal 'and one interrupt' 'SCHED_FIFO 50 SCHED_FIFO 60' \
        "$(scheduling 'irq/[0-9]*-line' | xargs -n 2 | sort | xargs)"
fi
ip netns del board
ip netns del peer
for tid in $(pgrep '^ksoftirqd/'); do must chrt -o -p 0 "$tid"; done
for tid in $(pgrep '^ktimers/'); do must chrt -f -p 1 "$tid"; done
must sysctl -qw net.core.netdev_budget=300 net.core.netdev_budget_usecs=8000 net.core.dev_weight=64
if [ -e $fair ]; then echo $((1000000000 - ${before##* } * 1000)) >$fair/cpu0/runtime; fi
must sysctl -qw kernel.sched_rt_runtime_us="$bound"
equal 'the script leaves the kernel as it was' "$before" "$(kernel)"
end
