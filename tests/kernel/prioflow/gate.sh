#!/bin/sh
# The transmit level: the device sends nothing below it, its senders sleep, it expires.
# Topology in port.inc; checked by the frames that B receives.
#
# module: vtsn
# module: prioflow
# module: sch_tbf
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: bash
# package: coreutils
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

now_cs() { tr -d . </proc/uptime | cut -d ' ' -f 1; }

wire_up
prioflow limit 500 by priority
change send-level 5
contains "the transmit level is shown" "send-level 5" "$(shown)"
before=$(came)
send 4 10
sleep 0.3
equal "packets below the transmit level are not sent" "0 10" "$(($(came) - before)) $(queued 4)"
send 5 3
wait_for 5 has_come $((before + 3))
equal "packets at the level are sent" "3 0" "$(($(came) - before)) $(queued 5)"
change send-level 4
wait_for 5 has_come $((before + 13))
equal "a lower transmit level resumes the queued packets" "13 0" "$(($(came) - before)) $(queued 4)"

change send-level 15
send 14 4
check "level 15 is never paused" a arping -c 1 -w 2 -I v0 10.0.0.2
equal "level 14 is paused by 15" 4 "$(queued 14)"
change send-level 0

before=$(came)
change send-level 5 for $((500 * slow))
start=$(now_cs)
contains "the remaining lifetime is shown" " ms" "$(shown)"
# talk waits until the frames are counted as sent: until the level is resumed.
send 4 10 &
sender=$!
has_queued() { [ "$(queued 4)" = "$1" ]; }
wait_for 5 has_queued 10
equal "a level with a lifetime pauses, too" 10 "$(queued 4)"
wait_for 30 has_come $((before + 10))
within "and expires, in centiseconds" $((40 * slow)) $((75 * slow)) $(($(now_cs) - start))
contains "the expired level is shown as 0" "send-level 0" "$(shown)"
wait "$sender"

# A pause without an end gets one: nothing but that wakes the qdisc.
before=$(came)
change send-level 5
send 4 10 &
sender=$!
wait_for 5 has_queued 10
change send-level 5 for $((300 * slow))
check "an end that a pause gets later is kept" wait_for 30 has_come $((before + 10))
wait "$sender"

before=$(came)
change send-level 5 for $((60000 * slow))
send 4 10 &
sender=$!
wait_for 5 has_queued 10
start=$(now_cs)
change send-level 5 for $((300 * slow))
must wait_for $((90 * slow)) has_come $((before + 10))
within "so is an earlier one than before, in centiseconds" $((25 * slow)) $((75 * slow)) $(($(now_cs) - start))
wait "$sender"

# A blocking sender of 300 datagrams, more than a send buffer holds. The destination address
# does not exist, so that there are no replies.
must ip -n A neighbour replace 10.0.0.3 dev v0 lladdr "$peer" nud permanent
change send-level 5
before=$(came)
a bash -c 'dd if=/dev/zero bs=1000 count=300 >/dev/udp/10.0.0.3/7001; echo $? >dd.status' 2>dd.log &
sender=$!
rm -f dd.status
queues_many() { [ "$(queued 0)" -gt 20 ]; }
wait_for 5 queues_many
sleep 1
waiting=$(queued 0)
within "a blocking sender queues the contents of its send buffer" 21 299 "$waiting"
sleep 0.5
equal "then it sleeps and queues no more" "$waiting" "$(queued 0)"
equal "and has not finished" no "$([ -e dd.status ] && cat dd.status || echo no)"
change send-level 0
wait "$sender"
equal "it wakes when the level is resumed, and has sent all" 0 "$(cat dd.status)"
wait_for 5 has_come $((before + 300))
equal "and no packet is lost" "300 0" "$(($(came) - before)) $(dropped 0)"

# Below a shaper without tokens, a packet that finds prioflow empty is queued (bypass slot).
shaper() { must a tc qdisc "$1" dev v0 root handle 9: tbf rate "$2" burst 1600 limit 100000; }
# waits_alone PRIORITY [OPTIONS…]: queues such a packet.
waits_alone() {
    priority=$1
    shift
    a tc qdisc del dev v0 root 2>/dev/null
    shaper add 8bit
    must a tc qdisc add dev v0 parent 9:1 handle 1: prioflow by priority "$@"
    before=$(came)
    send 7 1 1450
    wait_for 5 has_come $((before + 1))
    send "$priority" 1
}
below() { must a tc qdisc change dev v0 parent 9:1 prioflow "$@"; }
waits_alone 4
# The shaper applies its new rate when the level changes or a packet is queued.
shaper change 10mbit
below send-level 5
sleep 0.3
equal "a rising level pauses a packet in the bypass slot" "1 1" \
    "$(($(came) - before)) $(queued 4)"
send 5 1
wait_for 5 has_come $((before + 2))
equal "while a higher level is sent" "2 1" "$(($(came) - before)) $(queued 4)"
below send-level 0
wait_for 5 has_come $((before + 3))
equal "and resumes it" "3 0 1" "$(($(came) - before)) $(queued 4) $(sent 4)"
waits_alone 4
equal "the statistics of its level count it" "1 0" "$(queued 4) $(sent 4)"
send 9 1
send 4 1
equal "together with later packets" "2 1" "$(queued 4) $(queued 9)"
shaper change 10mbit
send 7 1
wait_for 5 has_come $((before + 5))
equal "all of them are sent" "2 1 0 0" "$(sent 4) $(sent 9) $(queued 4) $(queued 9)"
waits_alone 4 limit 1
send 9 1
equal "a packet of a higher level pushes it out" "1 0 1" "$(dropped 4) $(queued 4) $(queued 9)"
waits_alone 4 limit 1
send 3 1
equal "a packet of a lower level does not" "0 1 1" "$(dropped 4) $(queued 4) $(dropped 3)"
waits_alone 4
must a tc qdisc del dev v0 root
sleep 0.3
equal "deleting the qdisc drops it" 1 $(($(came) - before))
wire_down
end
