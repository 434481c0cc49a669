#!/bin/sh
# The transmit level: nothing below it leaves, its senders sleep, it ends by itself.
# Topology in port.inc; what came to B tells.
#
# module: vtsn
# module: prioflow
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
equal "below the level nothing leaves" "0 10" "$(($(came) - before)) $(queued 4)"
send 5 3
wait_for 5 has_come $((before + 3))
equal "at the level all does" "3 0" "$(($(came) - before)) $(queued 5)"
change send-level 4
wait_for 5 has_come $((before + 13))
equal "a lower level lets go what waited" "13 0" "$(($(came) - before)) $(queued 4)"

change send-level 15
send 14 4
check "level 15 is never paused" a arping -c 1 -w 2 -I v0 10.0.0.2
equal "level 14 is" 4 "$(queued 14)"
change send-level 0

before=$(came)
change send-level 5 for $((500 * slow))
start=$(now_cs)
contains "the rest of its life is shown" " ms" "$(shown)"
send 4 10
equal "with a lifetime it holds, too" 10 "$(queued 4)"
wait_for 30 has_come $((before + 10))
within "and ends by itself, in centiseconds" $((40 * slow)) $((75 * slow)) $(($(now_cs) - start))
contains "which can be seen" "send-level 0" "$(shown)"

# A blocking sender of 300 datagrams, more than a send buffer holds. Nobody has the address
# they are for, so that nobody answers.
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
within "a blocking sender queues what its buffer holds" 21 299 "$waiting"
sleep 0.5
equal "then it sleeps, and adds nothing" "$waiting" "$(queued 0)"
equal "and has not come to its end" no "$([ -e dd.status ] && cat dd.status || echo no)"
change send-level 0
wait "$sender"
equal "it wakes when the level is let go, and has sent all" 0 "$(cat dd.status)"
wait_for 5 has_come $((before + 300))
equal "and nothing is lost" "300 0" "$(($(came) - before)) $(dropped 0)"
wire_down
end
