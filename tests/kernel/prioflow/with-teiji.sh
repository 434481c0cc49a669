#!/bin/sh
# `teiji flow` sets, changes, shows and removes flow control, consistent with tc. Topology in
# port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

# says SENTENCE WORDS COMMAND…: the command fails, with these words in its message.
says() {
    sentence=$1 words=$2
    shift 2
    refused "$sentence" "$@"
    contains "$sentence: the message" "$words" "$said"
}

wire_up
says "status without flow control is refused" "teiji flow enable v0" a teiji flow status v0
says "so is disable" "has no flow control" a teiji flow disable v0
contains "status of all interfaces finds none" "no interface here" "$(a teiji flow status)"
says "an unknown interface is refused" 'no interface `nowhere` here; there are lo, v0' a teiji flow enable nowhere
says "a level above 15 is refused" "0..=15" a teiji flow enable v0 --send-level 16
says "a table that fits no source is refused" "not 3" a teiji flow enable v0 --table 0,1,2
says "a table that fits another source is refused" "not as many entries" a teiji flow enable v0 --by dscp --table 0,1,2,3,4,5,6,7
says "fewer bytes than a frame are refused" "1514" a teiji flow enable v0 --bytes 1513
says "a lifetime without a level is refused" "--send-level" a teiji flow enable v0 --for 1s
says "usage errors are shown in a guest, too" "Usage: teiji flow enable" a teiji flow enable v0 --for 1s
says "a fraction of a millisecond is refused" "whole multiples of 1 ms" a teiji flow enable v0 --storm 100us
says "a time below the kernel's range is refused" "at least, not 0 s" a teiji flow enable v0 --reaction 0s
says "a time above the kernel's range is refused" "32 ms at most" a teiji flow enable v0 --reaction 1s
says "a ring above the kernel's range is refused" "1..=32000" a teiji flow enable v0 --ring 40000
says "a room above the kernel's range is refused" "0..=32000" a teiji flow enable v0 --room 32001
equal "none of them had an effect" 0 "$(a tc qdisc show dev v0 | grep -c prioflow)"

found=$(a teiji flow enable v0 --limit 150 --by priority)
contains "enable prints the equivalent tc command" "tc qdisc replace dev v0 root handle 100: prioflow limit 150 by priority link mac-control" "$found"
contains "tc shows the options" "limit 150p by priority" "$(shown)"
contains "and the link" "link mac-control" "$(shown)"
contains "enable warns of a ring that can hold more frames than the headroom" \
    "warning: XOFF does not stop the frames in the transmit ring, up to 256," "$found"
a sh -c 'for queue in /sys/class/net/v0/queues/tx-*; do echo 3028 >$queue/byte_queue_limits/limit_max; done'
equal "not if BQL admits at most two frames" 0 "$(a teiji flow status v0 | grep -c warning)"
a teiji flow enable v0 --storm 20s --reaction 250us --ring 4 >/dev/null
contains "an option that is not given is unchanged" "limit 150p by priority" "$(shown)"
contains "a given one is changed" "storm 20000" "$(shown)"
contains "status shows the limit" "150 packets may wait" "$(a teiji flow status v0)"
a teiji flow enable v0 --bytes 90000 --table 0,1,2,3,4,5,6,7,7,7,7,7,7,7,7,14 >/dev/null
contains "table and bytes can be set" "limit 150p bytes 90000 by priority table 0,1,2,3,4,5,6,7,7,7,7,7,7,7,7,14" "$(shown)"
contains "status shows them" "level by priority, a table of its own · 150 packets or 90 000 bytes may wait" \
    "$(a teiji flow status v0)"
a teiji flow enable v0 --bytes none --by priority >/dev/null
contains "and can be reset" "limit 150p by priority table 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,14" "$(shown)"
a teiji flow enable v0 --send-level 3 --for 60s >/dev/null
contains "a send level can have a lifetime" "send-level 3 for 59" "$(shown)"
a teiji flow enable v0 --send-level 0 >/dev/null
must b teiji flow enable v0p --receive-level 5 --by priority
check "the peer pauses this port" wait_for 2 is_at 5
send 4 5
sleep 0.1
status=$(a teiji flow status v0)
timely contains "status shows the transmit level and who set it" "paused here: level 0-4 (the peer $peer)   paused at the peer: none" "$status"
timely check "and the queued packets" sh -c "echo '$status' | grep -q '^  4  *5  *0  *0  *1[^ ]* '"
contains "the peer's status shows who set the receive level" "paused at the peer: level 0-4 (by hand)" "$(b teiji flow status)"
json=$(a teiji flow status v0 --json | tr -d ' \n')
timely contains "the JSON has the paused levels" '"paused":[0,1,2,3,4]' "$json"
timely contains "and who set the levels" "\"transmit_by_peer\":[0,1,2,3,4],\"receive_by_hand\":[]" "$json"
contains "and the capacity of the ring" '"transmit_ring":{"frames":256,"byte_limit":3028}' "$json"
contains "and the table" '"table":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,14]' "$json"

a teiji flow watch v0 --every 500ms --for 2s >watch.log &
watcher=$!
sleep 0.7
must b teiji flow enable v0p --receive-level 0
send 7 20
wait $watcher
equal "watch prints four rows" 4 "$(grep -c '^  [0-9]' watch.log)"
timely check "with levels and packets" grep -q ' 7: ' watch.log
check "the resumed packets are sent" wait_for 5 sh -c "ip netns exec A teiji flow status v0 | grep -q '^  4  *0  *5 '"
says "an interval of 0 is refused" "above zero" a teiji flow watch v0 --every 0s

a teiji flow watch v0 --events --for 2s >events.log &
watcher=$!
must wait_for 10 grep -q paused events.log
for level in 6 0; do
    must b teiji flow enable v0p --receive-level $level
    sleep 0.1
done
must a teiji flow enable v0 --receive-level 4
must a teiji flow enable v0 --receive-level 0
wait $watcher
timely equal "each change is an event" "– –, 0-5 –, – –, – 0-3, – –" \
    "$(awk '/^  [0-9]/ && NF == 3 { print $2 " " $3 }' events.log | paste -s -d , | sed 's/,/, /g')"

# A tight send loop against a slow listener.
must a ethtool -s v0 speed 100 duplex full autoneg off
must b teiji flow enable v0p --link mac-control
b teiji listen v0p --flow-control 3 --pause 20ms --for 4s >listen.log &
listener=$!
sleep 0.5
a teiji talk v0 10.0.0.2 --flow-control 3 --priority 3 --frames 3000 --payload 1000 --period 10us \
    --no-stamps >talk.log
wait $listener
timely check "no frame of a tight loop is lost" grep -q '^flow 0: 3000 ' listen.log
says "frames without IP cannot opt in" "is for UDP" \
    a teiji talk v0 "$peer" --flow-control 3 --frames 1 --period 1ms
says "level 15 cannot be paused" "0..=14" b teiji listen v0p --flow-control 15

must a teiji flow disable v0
says "without flow control a listener is refused" "prioflow" \
    a teiji listen v0 --flow-control 3 --for 1s
equal "disable removes the qdisc" 0 "$(a tc qdisc show dev v0 | grep -c prioflow)"
must a tc qdisc replace dev v0 root handle 8: prioflow
found=$(a teiji flow enable v0 --limit 20)
contains "a qdisc made by tc is changed in place" "root handle 8: prioflow limit 20" "$found"
contains "enable reports that it has no link" "without a link, as it was" "$found"
found=$(a teiji flow enable v0 --link mac-control)
equal "not if a link is given" 0 "$(echo "$found" | grep -c 'as it was')"
contains "other options are unchanged" "limit 20p" "$(shown)"
must a tc qdisc replace dev v0 root handle 7: pfifo limit 9
says "another qdisc is not replaced" "tc qdisc del dev v0 root" a teiji flow enable v0
contains "and is unchanged" "qdisc pfifo 7: root" "$(a tc qdisc show dev v0)"

# A profile sets all ports of a file, or none. Two ports of a namespace.
must ip link add w0 type vtsn
must ip link set w0 netns A
must ip -n A link set w0 up
flow_of() { a tc qdisc show dev "$1" | grep prioflow | head -n 1; }
a teiji flow disable v0 >/dev/null 2>&1
says "without flow control there is no profile" "nothing to keep" a teiji flow profile
a teiji flow enable v0 --limit 150 --by pcp --table 0,0,1,1,2,2,3,14 --storm 0 --ring 9 >/dev/null
a teiji flow enable w0 --bytes 90000 --link pause --reaction 250us >/dev/null
v0_before=$(flow_of v0)
before="$v0_before $(flow_of w0)"
a teiji flow profile >flow.toml
a teiji flow disable v0 >/dev/null
must a teiji flow enable w0 --bytes none --link off --limit 33 --reaction 1ms
found=$(a teiji apply flow.toml)
equal "a profile restores the settings exactly" "$before" "$(flow_of v0) $(flow_of w0)"
contains "the tc command of each port is printed" "tc qdisc replace dev w0 root" "$found"
equal "the restored settings give the same profile" "$(cat flow.toml)" "$(a teiji flow profile)"
sed 's/w0/nowhere/' flow.toml >more.toml
says "a profile with an unknown interface is refused" "flow.toml is applied again" a teiji apply more.toml
equal "without effect" "$before" "$(flow_of v0) $(flow_of w0)"
a teiji revert >/dev/null
contains "what was changed by hand is there again" "limit 33p" "$(flow_of w0)"
equal "and what had none has none" "" "$(flow_of v0)"
a teiji flow disable w0 >/dev/null
must a tc qdisc add dev w0 root pfifo
says "so is a profile for a port with another qdisc" "has a configured qdisc (pfifo" a teiji apply flow.toml
equal "and the port before it stays without" "" "$(flow_of v0)"
must a tc qdisc del dev w0 root
sed 's/^reaction.*/room = 65\nring = 64/' flow.toml >refused.toml
says "so is a profile that the kernel refuses" "can be in flight after XOFF" a teiji apply refused.toml
equal "and a port without prioflow stays without" "" "$(flow_of v0)"
wire_down
end
