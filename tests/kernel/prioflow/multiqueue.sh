#!/bin/sh
# A device of several queues, each with its own prioflow below mqprio: levels belong to the
# device, for all queues. Topology in port.inc; checked by the frames that B receives.
#
# module: vtsn
# module: prioflow
# module: sch_mqprio
# package: iproute2
# package: ethtool
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

# child QUEUE WORDS…: sets options of the qdisc of queue 0 or 1.
child() {
    queue=$1
    shift
    must a tc qdisc replace dev v0 parent "2:$((queue + 1))" handle "$((queue + 5)):" prioflow "$@"
}
# Packets queued in queue 0 and in queue 1.
waiting() {
    a tc -s qdisc show dev v0 | awk '
        $1 == "qdisc" { of = $2 == "prioflow" ? $3 : "" }
        $1 == "backlog" && of { packets[of] = $3 + 0 }
        END { print packets["5:"] + 0, packets["6:"] + 0 }'
}

# UDP datagrams that B has received: level frames do not count.
came() { b awk '$1 == "Udp:" && ++line == 2 { print $2 + $3 + $4 }' /proc/net/snmp; }

wire_up
# Priority 6 goes to queue 0, 7 to queue 1.
must a tc qdisc replace dev v0 root handle 2: mqprio num_tc 2 \
    map 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
child 0 by priority
child 1 by priority
send 6 2
send 7 3
equal "each level is counted by its queue, and in sum" "7:3 6:2 " \
    "$(a teiji flow status v0 | awk '$1 ~ /^[67]$/ { printf "%s:%s ", $1, $3 }')"

before=$(came)
child 0 send-level 8
send 6 5
send 7 4
sleep 0.3
equal "a level set at one queue pauses both" "0 5 4" "$(($(came) - before)) $(waiting)"
child 1 send-level 7
wait_for 5 has_come $((before + 4))
equal "a lower level resumes packets in both" "4 5 0" "$(($(came) - before)) $(waiting)"
child 1 send-level 0
check "and level 0 all" wait_for 5 has_come $((before + 9))

child 1 link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control receive-level 9
held() { a teiji flow status v0 | grep -q "paused here: level 0-8 (the peer"; }
check "the peer's request applies to the device" wait_for 5 held
before=$(came)
send 6 5
send 7 4
sleep 0.1
timely equal "so that both queues are paused" "0 5 4" "$(($(came) - before)) $(waiting)"
must b tc qdisc change dev v0p root prioflow receive-level 0
check "until XON" wait_for 5 has_come $((before + 9))

must a tc qdisc replace dev v0 parent 2:1 pfifo
child 1 send-level 8
before=$(came)
send 6 5
send 7 4
wait_for 5 has_come $((before + 5))
equal "a queue without prioflow is not paused" "5 0 4" "$(($(came) - before)) $(waiting)"
wire_down
end
