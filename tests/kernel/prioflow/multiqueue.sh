#!/bin/sh
# A device of several queues, each with a prioflow of its own below mqprio: its levels are the
# device's, so that it is gated as one. Topology in port.inc; what came to B tells.
#
# module: vtsn
# module: prioflow
# module: sch_mqprio
# package: iproute2
# package: ethtool
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

# child QUEUE WORDS…: what is set of the qdisc of queue 0 or 1.
child() {
    queue=$1
    shift
    must a tc qdisc replace dev v0 parent "2:$((queue + 1))" handle "$((queue + 5)):" prioflow "$@"
}
# Packets that wait in queue 0 and in queue 1.
waiting() {
    a tc -s qdisc show dev v0 | awk '
        $1 == "qdisc" { of = $2 == "prioflow" ? $3 : "" }
        $1 == "backlog" && of { packets[of] = $3 + 0 }
        END { print packets["5:"] + 0, packets["6:"] + 0 }'
}

wire_up
# Priority 6 goes to queue 0, 7 to queue 1.
must a tc qdisc replace dev v0 root handle 2: mqprio num_tc 2 \
    map 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
child 0 by priority
child 1 by priority
send 6 2
send 7 3
equal "each level is counted where it left, and together" "7:3 6:2 " \
    "$(a teiji flow status v0 | awk '$1 ~ /^[67]$/ { printf "%s:%s ", $1, $3 }')"

before=$(came)
child 0 send-level 8
send 6 5
send 7 4
sleep 0.3
equal "a level set at one queue holds both" "0 5 4" "$(($(came) - before)) $(waiting)"
child 1 send-level 7
wait_for 5 has_come $((before + 4))
equal "a lower one lets go what has it, in both" "4 5 0" "$(($(came) - before)) $(waiting)"
child 1 send-level 0
check "and none all" wait_for 5 has_come $((before + 9))

child 1 link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control receive-level 9
held() { a teiji flow status v0 | grep -q "transmit level 9 (the peer"; }
check "what the peer asks for is the device's, too" wait_for 5 held
before=$(came)
send 6 5
send 7 4
sleep 0.1
timely equal "so that both queues wait" "0 5 4" "$(($(came) - before)) $(waiting)"
must b tc qdisc change dev v0p root prioflow receive-level 0
check "until it asks no more" wait_for 5 has_come $((before + 9))

must a tc qdisc replace dev v0 parent 2:1 pfifo
child 1 send-level 8
before=$(came)
send 6 5
send 7 4
wait_for 5 has_come $((before + 5))
equal "a queue without prioflow is beside it" "5 0 4" "$(($(came) - before)) $(waiting)"
wire_down
end
