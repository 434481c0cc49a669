#!/bin/sh
# Invalid settings are refused without effect, with a message where the interface has
# one.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_taprio
# module: sch_etf
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# says SENTENCE WORDS COMMAND…: refused, with these words in the message.
says() {
    sentence=$1 words=$2
    shift 2
    if said=$("$@" 2>&1); then
        fail "$sentence: \`$*\` succeeded"
    else
        contains "$sentence" "$words" "$said"
    fi
}

gates() {
    a tc qdisc replace dev v0 root handle 100: taprio num_tc 2 \
        map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 "$@" flags 0x2
}

wire_up
says "a name too long for the peer's p" "name the peer" ip link add v23456789012345 type vtsn
says "queues at creation" "ethtool -L" ip link add v9 numtxqueues 3 type vtsn
says "a multicast address" "unicast address" ip link add v9 address 01:02:03:04:05:06 type vtsn
must ip link add v8p type dummy
says "an existing name for the peer" "File exists" ip link add v8 type vtsn
refused "no device of it stays" ip link show dev v8
must ip link del v8p
check "and the name can be used later" ip link add v8 type vtsn
must ip link del v8

says "a ring of 1" "at least 4 entries" a ethtool -G v0 tx 1
says "a ring of 0" "" a ethtool -G v0 rx 0
says "a ring above the largest size" "" a ethtool -G v0 tx 4097
equal "the rings are unchanged" "256 256" \
    "$(a ethtool -g v0 | awk '/^Current/ { on = 1 } on && ($1 == "RX:" || $1 == "TX:") { printf "%s%s", sep, $2; sep = " " }')"
must a ethtool -G v0 tx 80
equal "a size between powers of two is rounded up" 128 \
    "$(a ethtool -g v0 | awk '/^Current/ { on = 1 } on && $1 == "TX:" { print $2 }')"
says "0 queues" "" a ethtool -L v0 tx 0
says "too many queues" "exceeds maximum" a ethtool -L v0 tx 17

says "a negative delay" "error" set_a delay_ns -1
says "a launch resolution of 0" "error" set_a launch_resolution_ns 0

says "an empty gate list" "" gates base-time 0
says "an entry of 0 ns" "" gates base-time 0 sched-entry S 01 0
# In Linux 6.1 a driver cannot return a message, and has to check short entries itself.
case $(uname -r) in
    6.1.*) why= ;;
    *)
        why="base time"
        says "an entry shorter than a frame" "" gates base-time 0 sched-entry S 01 100
        ;;
esac
says "a negative base time" "$why" gates base-time -1000 sched-entry S 01 1000000
says "a base time beyond the range" "$why" gates base-time 9000000000000000000 sched-entry S 01 1000000
says "a cycle beyond 64 bits" "" gates base-time 0 cycle-time 9223372036854775807 \
    sched-entry S 01 1000000
refused "a class with queues that do not exist" a tc qdisc replace dev v0 root handle 100: \
    mqprio num_tc 2 map 0 1 queues 1@0 4@3 hw 1
refused "rates of mqprio" a tc qdisc replace dev v0 root handle 100: mqprio num_tc 2 map 0 1 \
    queues 1@0 1@1 hw 1 mode channel shaper bw_rlimit min_rate 1Mbit 2Mbit max_rate 3Mbit 4Mbit
contains "the qdisc is unchanged" "qdisc mq 0: root" "$(a tc qdisc show dev v0)"

must gates base-time 0 sched-entry S 03 1000000
refused "fewer queues while classes use them" a ethtool -L v0 tx 2
refused "a shaper beside gates" a tc qdisc replace dev v0 parent 100:1 \
    cbs idleslope 20000 sendslope -980000 hicredit 30 locredit -1470 offload 1
must a tc qdisc del dev v0 root

receive
send --frames 20 --period 1ms --priority 0 --no-stamps
received
equal "afterwards frames are received" 20 "$(frames)"
wire_down
end
