#!/bin/sh
# Removing prioflow under load, in every way. Topology in port.inc; kernel errors, and whether
# the module can be unloaded, are checked at the end.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# long: everything is taken away under load, again and again
. /suite/lib
. /suite/port.inc
. /suite/link.inc

# Load until the test ends it, more than the link rate; on a debug kernel less, to leave CPU
# time to the rest.
period=100 frames=20000
[ $slow -eq 1 ] || period=10000 frames=1000
load() {
    a teiji talk v0 10.0.0.2 --priority 4 --frames 1000000 --payload 1000 --period ${period}us \
        --no-stamps >/dev/null 2>&1 &
    loader=$!
}
unload() {
    kill "$loader"
    wait "$loader"
}
works() {
    before=$(came)
    wait_for 5 has_come $((before + 5))
}
repeat() {
    count=$1
    shift
    while [ "$count" -gt 0 ]; do
        "$@" || return 1
        count=$((count - 1))
    done
}

add_delete() { a tc qdisc add dev v0 root prioflow limit 50 && a tc qdisc del dev v0 root; }
replace() { a tc qdisc replace dev v0 root pfifo && a tc qdisc replace dev v0 root prioflow; }
close_delete() { a tc qdisc replace dev v0 root prioflow send-level 9 && a tc qdisc del dev v0 root; }
down_up() { ip -n A link set v0 down && ip -n A link set v0 up; }
toggle() {
    a tc qdisc change dev v0 root prioflow send-level 5 for 3 &&
        a tc qdisc change dev v0 root prioflow send-level 0
}
link_on_off() { change link mac-control && change link off; }
link_delete() { a tc qdisc replace dev v0 root prioflow link mac-control && a tc qdisc del dev v0 root; }

# Repetitions; on a debug kernel each takes a second.
turns=12
[ $slow -eq 1 ] || turns=3

wire_up
load
check "it is added and deleted" repeat $turns add_delete
check "it is deleted while its levels are paused" repeat $turns close_delete
check "it is replaced, and replaces" repeat $turns replace
check "its levels are paused and resumed" repeat $turns toggle
check "then packets are still received" works
prioflow limit 50
check "the port is set down and up" repeat $((turns / 3)) down_up
unload
load
check "then packets are received" works
# Level frames all the time: XOFF after XOFF, never XON.
flood "0180c2000001$(plain "$peer")8808$(frame 5 20 1)" $frames &
flooder=$!
check "a link is enabled and disabled while frames are received" repeat $turns link_on_off
check "so is the qdisc with a link" repeat $turns link_delete
wait $flooder
prioflow limit 50
check "then packets are received as before" works
change send-level 9
refused "a module in use cannot be unloaded" rmmod prioflow
unload
wire_down

sysctl -qw net.core.default_qdisc=prioflow
wire_up
contains "it can be the default qdisc" prioflow "$(shown)"
load
check "which sends packets" works
sysctl -qw net.core.default_qdisc=pfifo_fast
# The namespace is deleted with packets in the queue.
ip netns del A
unload
ip netns del B
wait_for 5 no_port
# A dying namespace frees its ports' interrupts first, and their qdiscs after that.
check "then the module can be unloaded" wait_for 5 rmmod prioflow
check "and loaded" modprobe prioflow
equal "and no thread of a link is left" "" "$(grep -l '^prioflow/' /proc/[0-9]*/comm)"
end
