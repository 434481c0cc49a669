#!/bin/sh
# `teiji top` on two ports: what it shows of flows, qdiscs, flow control and drops is what the talker,
# tc, ethtool and the kernel's counters say.
#
#     A: v0 (mqprio, etf; then prioflow) ────── B, topology in wire.inc
#
# module: vtsn
# module: prioflow
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/wire.inc

if [ "$slow" != 1 ]; then
    skip 'what top shows: a debug kernel takes longer'
    end
fi

# watch: `teiji top` at both ports, a line of JSON each half second, until `watched`.
watch() {
    rm -f a.json b.json
    ip netns exec A teiji top v0 --json --every 500ms >a.json 2>a.log &
    top_a=$!
    ip netns exec B teiji top v0p --json --every 500ms >b.json 2>b.log &
    top_b=$!
    must wait_for 20 test -s a.json -a -s b.json
}
watched() {
    # One interval more, in which nothing happens.
    sleep 1.1
    kill -INT $top_a $top_b
    wait $top_a
    equal 'Ctrl-C ends it with 130' 130 $?
    wait $top_b
}
# last FILE: its last look, a value a line.
last() { tail -n 1 "$1" | tr '{},' '\n\n\n'; }
# value KEY: the first value of this key on standard input.
value() { sed -n "s/^\"$1\"://p" | head -n 1; }
# least FILE KEY, most FILE KEY: of a flow's two extremes, over all looks.
extremes() { grep -o "\"$2\":\[[-0-9]*,[-0-9]*\]" "$1" | tr ':[],' '    '; }
least() { extremes "$@" | awk 'NR == 1 || $2 + 0 < m { m = $2 + 0 } END { print m }'; }
most() { extremes "$@" | awk 'NR == 1 || $3 + 0 > m { m = $3 + 0 } END { print m }'; }
# talk ARGUMENTS…: 500 frames with launch times, 3 ms before.
talk() {
    a teiji talk v0 10.0.0.2 --frames 500 --period 1ms --priority 3 --realtime 80 --margin 3ms "$@" \
        >talk.log 2>&1
}

wire_up
three_classes
must a tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta 1000000 offload
deep_queues
set_a phc_offset_ns 0

watch
talk
watched
contains 'the talker says that all were on time' '500 frames transmitted on time' "$(cat talk.log)"
equal 'each is seen on its way out' 500 "$(last a.json | value frames_total)"
equal 'and at the other end' 500 "$(last b.json | value frames_total)"
equal 'none is lost' 0 "$(last b.json | value lost_total)"
# Nobody listens at B's port. Reasons are of the whole machine.
within 'which is why the kernel drops them' 500 520 "$(last b.json | value NO_SOCKET)"
# ETF hands them to the driver when the delta begins.
within 'the margin left is the delta of etf at most' 900000 1000000 "$(most a.json left_ns)"
within 'and most of it at least' 500000 1000000 "$(least a.json left_ns)"
# On the wire at the launch time, to the nanosecond; interrupt and softirq come after it.
within 'what arrives is late by the receiving kernel alone' 1 300000 "$(least b.json latency_ns)"
contains 'it says which flow' '"name":"test flow 0, UDP 10.0.0.1:' "$(tail -n 1 a.json)"

dropped_by_etf() {
    a tc -s qdisc show dev v0 parent 100:1 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'
}
before=$(dropped_by_etf)
watch
a teiji talk v0 10.0.0.2 --frames 500 --period 1ms --priority 3 --realtime 80 --margin 8us >talk.log 2>&1
watched
dropped=$(dropped_by_etf)
within 'etf drops frames that come too late, says tc' 400 500 $((dropped - before))
etf=$(tail -n 1 a.json | grep -o '"parent":"100:1","settings":.*' | tr '{},' '\n\n\n')
equal 'and top says the same of the child' "$dropped" "$(echo "$etf" | value drops)"
equal 'the kernel gives the reason' $((dropped - before)) "$(last a.json | value QDISC_DROP)"

must a tc qdisc del dev v0 root
must a teiji flow enable v0 --by priority
must b teiji flow enable v0p --by priority
watch
a teiji talk v0 10.0.0.2 --frames 300 --period 1ms --priority 3 >talk.log 2>&1
watched
level=$(tail -n 1 a.json | grep -o '"level":3,[^}]*' | tr '{},' '\n\n\n')
equal 'a level has its packets' 300 "$(echo "$level" | value sent)"
contains 'and the peer is known' '"peer":"obeys"' "$(last a.json)"
equal 'tc has them in the qdisc' 300 "$(a tc -s qdisc show dev v0 root | sed -n 's/.* \([0-9]*\) pkt .*/\1/p' |
    awk '{ print ($1 >= 300) * 300 }')"

# An interface that goes, and another one of its name.
rm a.json
a teiji top v0 --json --every 200ms --count 20 >a.json 2>a.log &
top_a=$!
must wait_for 20 test -s a.json
must a ip link set v0 down
must a ip link set v0 name gone
sleep 1
must a ip link set gone name v0
must a ip link set v0 up
must ip -n A neighbour replace 10.0.0.2 dev v0 lladdr "$(b cat /sys/class/net/v0p/address)" nud permanent
# Until it has looked again.
sleep 0.5
a teiji talk v0 10.0.0.2 --frames 50 --period 1ms --priority 3 >talk.log 2>&1
wait $top_a
equal 'an interface may go and come back' 0 $?
contains 'meanwhile it is gone' '"traffic":null' "$(cat a.json)"
contains 'and then it is there again' '"carrier":true' "$(last a.json)"
equal 'with its flows' 50 "$(last a.json | value frames_total)"
text=$(a teiji top v0 --count 1 --every 100ms)
contains 'as text it has a row for the level' 'level 3' "$text"
contains 'and the reasons' 'Drops  of the whole machine since the start:' "$text"
equal 'nothing is left in tracefs' '' "$(ls /sys/kernel/tracing/instances 2>/dev/null)"
wire_down
end
