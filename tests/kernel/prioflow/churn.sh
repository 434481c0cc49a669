#!/bin/sh
# Taking prioflow away under load, in every way. Topology in port.inc; whether the kernel
# complains is judged at the end, and whether the module can be unloaded.
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

# Until the test ends it, more than the wire carries; on a debug kernel less, or it would
# leave nothing of the processor to the rest.
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

# How often; on a debug kernel each takes a second.
turns=12
[ $slow -eq 1 ] || turns=3

wire_up
load
check "it comes and goes" repeat $turns add_delete
check "it goes while its gate is closed" repeat $turns close_delete
check "it is replaced, and replaces" repeat $turns replace
check "its gate opens and closes" repeat $turns toggle
check "then packets still come" works
prioflow limit 50
check "the port goes down and up" repeat $((turns / 3)) down_up
unload
load
check "and works after it" works
# Level frames come all the time: hold, and hold again, from one who never releases.
flood "0180c2000001$(plain "$peer")8808$(frame 5 20 1)" $frames &
flooder=$!
check "a link comes and goes while frames come" repeat $turns link_on_off
check "so does the qdisc that has it" repeat $turns link_delete
wait $flooder
prioflow limit 50
check "then all is as before" works
change send-level 9
refused "while it is in use the module stays" rmmod prioflow
unload
wire_down

sysctl -qw net.core.default_qdisc=prioflow
wire_up
contains "it can be what every device begins with" prioflow "$(shown)"
load
check "which works" works
sysctl -qw net.core.default_qdisc=pfifo_fast
# The namespace dies with packets in the queue.
ip netns del A
unload
ip netns del B
wait_for 5 no_port
# A dying namespace gives its ports' interrupts back first, and their qdiscs after that.
check "then the module can go" wait_for 5 rmmod prioflow
check "and come back" modprobe prioflow
sleep 0.1
equal "with a thread that sleeps, and is no load" S \
    "$(awk '$2 == "(prioflow)" { print $3 }' /proc/[0-9]*/stat)"
end
