#!/bin/sh
# The limits in packets and in bytes, the packets dropped at a limit, and the order in which
# levels are sent. A transmit level holds the packets back. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

# The flows of rx.csv in order of arrival, each once if its frames arrived together.
flows() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "flow") column = i; next }
             $column != last { printf "%s%s", gap, $column; gap = " "; last = $column }' rx.csv
}

wire_up
prioflow limit 20 by priority send-level 15
send 1 12
equal "paused packets are queued" 12 "$(queued 1)"
send 4 12
equal "packets of a higher level push out the lowest level" "8 12" "$(queued 1) $(queued 4)"
send 6 12
equal "first all of the lowest level, then the next" "0 8 12" "$(queued 1) $(queued 4) $(queued 6)"
equal "each drop is counted at its level" "12 4 0" "$(dropped 1) $(dropped 4) $(dropped 6)"
send 1 5
equal "packets of the lowest level are dropped at the limit" "0 17" "$(queued 1) $(dropped 1)"
send 6 20
equal "a packet does not push out its own level, but lower ones" "0 20 12" \
    "$(queued 4) $(queued 6) $(dropped 6)"

change limit 1000 bytes 3000
change send-level 0
wait_for 5 sh -c '[ "$(ip netns exec A cat /sys/class/net/v0/statistics/tx_packets)" -ge 20 ]'
equal "all queued packets are sent" "20 0" "$(sent 6) $(queued 6)"
change send-level 15
# 14 + 20 + 8 bytes of headers and 900 of payload: three are 2826 bytes, four 3768.
send 2 12 900
equal "the limit in bytes admits as many packets as fit" "3 9" "$(queued 2) $(dropped 2)"

before=$(came)
change send-level 0
wait_for 5 has_come $((before + 3))
prioflow limit 200 bytes 1000000 by priority send-level 15
for level in 3 9 1 14; do send "$level" 5 400; done
before=$(came)
ip netns exec B teiji listen v0p --csv >rx.csv 2>listen.log &
listener=$!
must wait_for 20 grep -q listening listen.log
change send-level 0
wait_for 20 has_come $((before + 20))
# The listener reads them; unexpected frames would be received, too.
sleep 1
kill $listener
wait $listener
equal "all are received" 20 "$(awk 'NR > 1' rx.csv | wc -l)"
equal "the highest level first" "14 9 3 1" "$(flows)"
equal "and each level counts its sent packets" "5 5 5 5" "$(sent 14) $(sent 9) $(sent 3) $(sent 1)"
wire_down
end
