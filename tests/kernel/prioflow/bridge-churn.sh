#!/bin/sh
# Ports leave bridges, qdiscs and links are removed and added while frames that they received
# are queued: no pause request stays, and none is sent for a later port. Topology
# in bridge.inc; kernel errors are checked at the end.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# plugin: vtsn/ip/link_vtsn.c
# limit: 900
# long: everything is removed under load, again and again
. /suite/lib
. /suite/socket.inc
. /suite/bridge.inc

# Slow enough for queues to fill and empty with few frames.
rate=10 reaction=5000
# A debug kernel with real-time interrupt threads has no CPU time left under the wires'
# full load.
gap=0 pause=0.005
[ $slow -eq 1 ] || gap=0.05 pause=1
free() {
    for ns in A B S; do kill -9 "$(cat $ns.pid)"; done
    for ns in A B S; do wait_for 20 has_ended "$(cat $ns.pid)"; done
}
let_go() { is_at A a0 0 && is_at B b0 0; }
A_let_go() { is_at A a0 0; }
stands() { is_at A a0 2 && is_at B b0 2; }
xa() { in_ns X tc qdisc change dev xa root prioflow "$@"; }

network_up
neighbours
all_prioflow link mac-control

jam $gap
xa link off
check "a port whose link is disabled sends XON" wait_for 5 A_let_go
equal "other ports stay paused" 2 "$(transmit_level B b0)"
xa link mac-control
check "with a link again it sends XOFF again" wait_for 20 stands
must ip -n X link set xa nomaster
sleep 0.5
equal "a port that leaves the bridge keeps XOFF while its frames are queued" 2 "$(transmit_level A a0)"
must ip -n X link set xa master br0
sleep 0.5
check "and also after its return" stands
must in_ns X tc qdisc replace dev xy root pfifo limit 10
check "deleting the queue of the frames sends XON" wait_for 5 let_go
prioflow X xy link mac-control
check "a new queue fills" wait_for 20 stands
must ip -n X link set xy down
check "setting the port down drops its queue, and sends XON" wait_for 5 let_go
must ip -n X link set xy up
check "the queue fills again when the port is up" wait_for 20 stands
must in_ns X tc qdisc del dev xa root
check "after deletion of a qdisc its request expires" wait_for 5 A_let_go
prioflow X xa link mac-control
check "a new qdisc sends XOFF for its own frames" wait_for 20 stands
must ip -n X link del xa
equal "deleting a port does not resume the other" 2 "$(transmit_level B b0)"
free
B_let_go() { is_at B b0 0; }
check "when all frames have left, no level is paused" wait_for 20 B_let_go

# All of it at any time, under continuous traffic.
network_up
neighbours
all_prioflow link mac-control
in_ns S perl flow.pl receive level=1 payload=1200 rcvbuf=200000 count=1000000 pause=$pause idle=60 pid=S.pid <go >S.log &
must wait_for 20 grep -q ready S.log
for ns in A B; do
    in_ns $ns perl flow.pl send size=1200 sndbuf=200000 tos=16 count=1000000 gap=$gap level=1 pid=$ns.pid \
        >$ns.sent &
done
rounds=0
while [ $rounds -lt $((slow > 1 ? 12 : 24)) ]; do
    case $((rounds % 6)) in
        0) in_ns X tc qdisc replace dev xy root pfifo ;;
        1) prioflow X xy link mac-control ;;
        2) xa link off && in_ns X tc qdisc change dev xb root prioflow room $((rounds + 2000)) ;;
        3) xa link mac-control && ip -n X link set xb nomaster ;;
        4) ip -n X link set xb master br0 && in_ns Y tc qdisc del dev yx root ;;
        5) prioflow Y yx link mac-control ;;
    esac || fail "round $rounds of the changes"
    rounds=$((rounds + 1))
    sleep 0.0$((rounds % 7))
done
ok "ports, qdiscs and links are removed and added under traffic"
before=$(in_ns S cat /sys/class/net/s0/statistics/rx_packets)
passes() { [ "$(in_ns S cat /sys/class/net/s0/statistics/rx_packets)" -gt $((before + 200)) ]; }
check "then frames are forwarded" wait_for 30 passes
free
check "and when all frames are transmitted, no level is paused" wait_for 20 none_paused
# While frames are queued.
jam $gap
kill -9 "$(cat A.pid)" "$(cat B.pid)" "$(cat S.pid)"
network_down
check "a bridge's namespace is deleted with frames in its queues" grep -qx 0 /sys/module/prioflow/refcnt
end
