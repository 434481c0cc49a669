#!/bin/sh
# `teiji doctor` on a port that somebody sets up wrongly: it names each mistake, the command that it
# prints takes it away, and ethtool, tc, chrt and ip say the same.
#
#     A: v0 (looked at) ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# package: util-linux
# package: linuxptp
# package: procps
. /suite/lib
. /suite/wire.inc
. /suite/ptp.inc

if [ "$slow" != 1 ]; then
    skip 'what is found of a port: a debug kernel has other settings, and takes longer'
    end
fi

# lacks SENTENCE PART TEXT
lacks() {
    case "$3" in
        *"$2"*) fail "$1: \`$2\` is in: $3" ;;
        *) ok "$1" ;;
    esac
}
# doctor [OPTION…]: what it says of v0, in `said`, and by the ids of its findings, in `ids`.
doctor() {
    said=$(a teiji doctor v0 "$@" 2>&1)
    code=$?
    ids=$(a teiji doctor v0 --json 2>&1 | sed -n 's/^ *"id": "\(.*\)",$/\1/p' | xargs)
}
# flat: what it says, in one line.
flat() { echo "$said" | tr -s '\n ' ' '; }
# command_of ID: the command of a finding.
command_of() {
    a teiji doctor v0 --json | sed -n "/\"id\": \"$1\"/,/\"command\"/s/^ *\"command\": \"\(.*\)\"\$/\1/p"
}
# finds ID SENTENCE: and says why it matters.
finds() {
    doctor
    contains "$1 is found" " $1 " " $ids "
    contains "$1 is explained" "$2" "$(flat)"
}
# cured ID: by the command that it names.
cured() {
    line=$(command_of "$1")
    echo "$line"
    check "the command for $1 succeeds" a sh -c "$line"
    doctor
    lacks "$1 is gone" " $1 " " $ids "
}

wire_up
set_a phc_offset_ns 0
doctor
echo "$said"
equal "it can be looked at" 0 $code
contains "launch times: ready" "launch times READY" "$(flat)"
contains "the driver is named" "v0 (vtsn" "$said"
finds no-etf 'v0 has no etf qdisc now'
cured no-etf
contains "tc shows etf with offload" "offload on" "$(a tc qdisc show dev v0 | grep etf)"
doctor --require launch-times
equal "with --require: exit code" 0 $code

# With PREEMPT_RT etf's timers expire in threads of the lowest real-time priority.
if pgrep '^ktimers/' >/dev/null; then
    before=$(pgrep '^ktimers/')
    finds timer-thread-priority 'the qdisc timers of v0 expire in ktimers/0 (fifo 1)'
    cured timer-thread-priority
    contains "chrt says the same" "priority: 60" "$(chrt -p "$(pgrep -x ktimers/0)")"
    for thread in $before; do chrt -f -p 1 "$thread"; done
else
    skip 'the timers of etf: this kernel has no thread for them'
fi

# Moderated and deferred interrupts.
must a ethtool -C v0 rx-usecs 20 tx-usecs 10
finds interrupt-moderation 'delays interrupts by 20 µs after reception and 10 µs after transmission'
cured interrupt-moderation
contains "ethtool says the same" "rx-usecs: 0" "$(a ethtool -c v0 | tr '\t' ' ')"
a sh -c 'echo 3 >/sys/class/net/v0/napi_defer_hard_irqs; echo 100000 >/sys/class/net/v0/gro_flush_timeout'
finds interrupts-deferred 'by up to 300 µs'
cured interrupts-deferred

# Frames that are too late for their launch times.
a teiji talk v0 10.0.0.2 --frames 5 --period "${slow}ms" --margin 1us >/dev/null 2>&1
dropped=$(a tc -s qdisc show dev v0 | sed -n '/qdisc etf/,/Sent/s/.*dropped \([0-9]*\),.*/\1/p')
at_least_one=$((dropped > 0))
equal "tc shows that etf has dropped frames" 1 "$at_least_one"
finds etf-drops "etf on v0 has dropped $dropped frames"

# A PHC that shows UTC while CLOCK_TAI shows TAI.
set_a phc_offset_ns -37000000000
finds phc-offset 'the PHC of v0 is 37 s behind CLOCK_TAI; that is TAI − UTC'
contains "and nothing is ready" "launch times NOT READY" "$(flat)"
doctor --require launch-times
equal "with --require, not ready: exit code" 4 $code
set_a phc_offset_ns 0
a phc2sys -s CLOCK_REALTIME -c v0 -O 0 >/dev/null 2>&1 &
wait_for 5 pgrep -x phc2sys >/dev/null
finds phc2sys-direction 'phc2sys runs from CLOCK_REALTIME to the PHC of v0: launch times follow'
kill $!
wait $! 2>/dev/null

# Links.
must a ip link set v0 down
finds down 'v0 is down'
cured down
must wait_for 5 a grep -q 1 /sys/class/net/v0/carrier

# Threads: with PREEMPT_RT the port's interrupt has one, and RCU's callbacks have theirs.
if grep -q PREEMPT_RT /proc/version && pgrep '^rcuc/' >/dev/null; then
    must chrt -f -p 10 "$(pgrep -x ksoftirqd/0)"
    finds ksoftirqd-over-rcu 'ksoftirqd/0 (fifo 10) has a higher priority than rcu'
    cured ksoftirqd-over-rcu
    contains "chrt says the same" "11" "$(chrt -p "$(pgrep -x rcuc/0)")"
    must chrt -o -p 0 "$(pgrep -x ksoftirqd/0)"
else
    skip 'the order of threads: this kernel has no threads for RCU callbacks'
fi

# Without rights: what can be seen without them.
said=$(a setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
    teiji doctor v0 2>&1)
equal "without rights: exit code" 0 $?
contains "without rights it says so" 'this user has no CAP_NET_ADMIN' "$(flat)"
contains "without rights etf is seen all the same" 'etf on v0 has dropped' "$(flat)"

# What it costs.
said=$(a teiji doctor v0 --probe 500ms 2>&1)
contains "a probe measures" 'Measured: a thread of real-time priority 79 woke late by' "$(flat)"

# Bad input.
said=$(a teiji doctor nowhere0 2>&1)
equal "an interface that is not there: exit code" 2 $?
contains "it names those that are there" 'there is no interface `nowhere0` here; there are lo, v0' "$said"
said=$(a teiji doctor v0 --probe 1ms 2>&1)
equal "a probe that is too short: exit code" 2 $?
contains "a probe that is too short says so" 'give it 200ms or more' "$said"
before=$(a sh -c 'tc qdisc show dev v0; ethtool -c v0; ip link show v0')
a teiji doctor v0 --probe 200ms >/dev/null 2>&1
equal "looking changes nothing" "$before" "$(a sh -c 'tc qdisc show dev v0; ethtool -c v0; ip link show v0')"
wire_down
end
