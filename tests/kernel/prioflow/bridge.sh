#!/bin/sh
# Bridges whose ports have a link lose no forwarded frame: A and B send in a tight loop to a slow
# reader three bridges away. Topology in bridge.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# plugin: vtsn/ip/link_vtsn.c
# limit: 1200
# long: thousands of frames over three bridges, four times
. /suite/lib
. /suite/socket.inc
. /suite/bridge.inc

# A debug kernel exceeds the reaction time, and its CPU is slower than the wires: there only
# errors of the modules count.
frames=$((slow > 1 ? 600 : 1500))
level=level=1

# receive NAMESPACE WORDS…: starts a reader there; its result is in NAMESPACE.log.
receive() {
    ns=$1
    shift
    in_ns "$ns" perl flow.pl receive payload=1200 rcvbuf=200000 "$@" <go >"$ns.log" &
    readers="$readers $!"
    must wait_for 20 grep -q ready "$ns.log"
}
# send NAMESPACE WORDS…: starts a sender there; its process is $sender.
send() {
    ns=$1
    shift
    in_ns "$ns" perl flow.pl send size=1200 sndbuf=200000 "$@" >"$ns.sent" &
    sender=$!
    senders="$senders $sender"
}
# done_all: waits for the end of senders and readers.
done_all() {
    for pid in $senders $readers; do wait_for 600 has_ended "$pid"; done
    senders="" readers=""
}
came() { sed -n 's/came=\([0-9]*\) .*/\1/p' "$1.log"; }
asks() { sed -n 's/.*asks=\([0-9]*\).*/\1/p' "$1.log"; }
senders="" readers=""
# A reader with hold waits for a line of this.
mkfifo go
exec 3<>go

# both_to_S WORDS…: A and B to S at level 1, with a slow reader; losses in $lost.
both_to_S() {
    before=$(lost)
    receive S count=$((2 * frames)) pause=0.05 idle=5 "$@"
    send A tos=16 count=$frames "$@"
    send B tos=16 count=$frames "$@"
    done_all
    lost=$(lost_since "$before")
    equal "all are sent" "sent=$frames again=0 errno=0 sent=$frames again=0 errno=0" "$(cat A.sent B.sent | paste -s -d ' ')"
}

network_up
neighbours
all_prioflow
both_to_S
timely within "without a link frames are lost" 1 $((2 * frames)) $((2 * frames - $(came S)))
echo "without a link: $(came S) of $((2 * frames)) came, lost in queues, at ports, in sockets: $lost"

all_prioflow link mac-control
both_to_S $level
equal "with links all are received" $((2 * frames)) "$(came S)"
equal "no frame is lost in queues, at ports or in sockets" "0 0 0" "$lost"
timely within "because the reader has sent XOFF" 1 1000000 "$(asks S)"
for port in "Z zy" "Y yx" "X xa" "X xb"; do
    # shellcheck disable=SC2086 # two words
    timely within "and so has bridge port $port, for its forwarded frames" 1 1000000 "$(forwarded $port pause-requests)"
done
at_14() { in_ns X tc -s class show dev xy | awk '$1 == "class" { on = $3 == "1:f" } on && $1 == "Sent" { print $4; exit }'; }
before=$(at_14)
must in_ns A arping -q -c 1 -w 2 -I a0 10.0.0.2
equal "an ARP frame that a bridge forwards is at level 14" $((before + 1)) "$(at_14)"
echo "most frames of one port and level in a queue: X $(forwarded X xy most) Y $(forwarded Y yz most)" \
    "Z $(forwarded Z zs most); room $(forwarded X xa room), headroom $(forwarded X xa headroom)"
equal "no frame exceeded its port's room" "0 0 0" \
    "$(forwarded X xy over-limit) $(forwarded Y yz over-limit) $(forwarded Z zs over-limit)"
check "at the end no level is paused" wait_for 5 none_paused

# A jam at level 1 from the reader back to both senders; higher levels are not paused.
before=$(lost)
receive S count=$((2 * frames)) idle=5 hold=1 $level
send A tos=16 count=$frames $level
send B tos=16 count=$frames $level
check "a reader that does not read pauses A" wait_for 60 is_at A a0 2
check "and B" wait_for 60 is_at B b0 2
in_ns S perl flow.pl receive port=7004 count=50 idle=5 >above.log &
above=$!
must wait_for 20 grep -q ready above.log
in_ns A perl flow.pl send tos=64 port=7004 count=50 >above.sent
wait_for 60 has_ended $above
timely contains "a higher level passes all bridges meanwhile" "came=50 " "$(cat above.log)"
# B also listens: frames that A floods are in two queues of X, and one copy is paused.
send A tos=16 port=7005 host=255 size=500 count=20
equal "the jam lasts" "2 2" "$(transmit_level A a0) $(transmit_level B b0)"
echo >&3
done_all
timely equal "when it reads, all are received" $((2 * frames)) "$(came S)"
timely equal "and none was lost" "0 0 0" "$(lost_since "$before")"
check "no level is paused any more" wait_for 5 none_paused

# Flooded frames: one copy for B, a quick reader, and one for S, a slow one.
before=$(lost)
receive S count=$frames pause=0.05 idle=5 $level
receive B count=$frames idle=5 $level
send A tos=16 host=255 count=$frames $level
done_all
equal "each copy of a flooded frame is received" "$frames $frames" "$(came S) $(came B)"
equal "and none is lost" "0 0 0" "$(lost_since "$before")"
check "then no level is paused" wait_for 5 none_paused

contains "a room below the headroom is refused" "can be in flight after XOFF" \
    "$(in_ns X tc qdisc change dev xa root prioflow room 10 2>&1)"
equal "without effect" "$(forwarded X xb room)" "$(forwarded X xa room)"
must in_ns X tc qdisc change dev xa root prioflow reaction 1000 room 1000
equal "a larger room is accepted" 1000 "$(forwarded X xa room)"
refused "a ring that makes the headroom larger than the room is refused" in_ns X tc qdisc change dev xa root prioflow ring 1000
network_down

# Spanning trees and VLANs: tagged frames, whose level is that of IP.
network_up stp_state 1 forward_delay 200 vlan_filtering 1
ports "$bridges" >which
while read -r ns port; do must in_ns "$ns" bridge vlan add dev "$port" vid 5; done <which
for host in A:a0:1 B:b0:3 S:s0:2; do
    ns=${host%%:*} address=${host##*:} port=${host#*:}
    must ip -n "$ns" address flush dev "${port%:*}"
    must ip -n "$ns" link add v5 link "${port%:*}" type vlan id 5
    must ip -n "$ns" link set v5 up
    address "$ns" v5 "10.0.0.$address"
done
neighbours "" v5
all_prioflow link mac-control
both_to_S $level
equal "over VLAN-aware bridges with spanning trees all are received" $((2 * frames)) "$(came S)"
equal "and none is lost" "0 0 0" "$lost"
network_down
end
