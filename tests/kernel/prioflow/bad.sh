#!/bin/sh
# Options that prioflow refuses, with which message, and without effect; devices that can
# have it. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# module: sch_mqprio
# package: iproute2
# package: ethtool
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

# says PART OPTIONS…: the options are refused with PART in the message, without effect.
says() {
    part=$1
    shift
    was=$(shown)
    if said=$(a tc qdisc change dev v0 root prioflow "$@" 2>&1); then
        fail "\`$*\` is refused"
        return
    fi
    contains "the message for \`$*\`" "$part" "$said"
    equal "a refused change has no effect" "$was" "$(shown)"
}

wire_up
prioflow limit 33
says "as many entries" limit 44 by dscp table 1,2,3
says "as many entries" by pcp table 0,1,2,3,4,5,6,7,8
says "table takes a number up to 14" by pcp table 0,1,2,3,4,5,6,15
says "send-level takes a number up to 15" send-level 16
says "obey takes a number up to 15" obey 16
says "a lifetime needs a send level" limit 44 for 5
says "out of range" limit 0
says "out of range" bytes 5
says "Usage:" by colour
says "Usage:" colour blue
says "limit takes a number" limit many
says "limit takes a number" limit
contains "the limit is unchanged" "limit 33p" "$(shown)"

must a tc qdisc replace dev v0 root handle 3: mq
for queue in 1 2 3 4; do
    check "prioflow can be a child of mq, queue $queue" a tc qdisc replace dev v0 parent 3:$queue prioflow
done
must a tc qdisc replace dev v0 root handle 2: mqprio num_tc 2 map 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 1
check "and of mqprio" a tc qdisc replace dev v0 parent 2:1 prioflow limit 10
wire_down
end
