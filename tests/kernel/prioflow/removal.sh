#!/bin/sh
# Qdisc, bridge port, device, namespace and module are removed in any order, or at once, while
# senders sleep and frames are queued. Topology in bridge.inc, with one bridge; kernel errors
# are checked at the end.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# plugin: vtsn/ip/link_vtsn.c
# long: everything is taken away under load, again and again
. /suite/lib
. /suite/socket.inc
. /suite/bridge.inc

bridges=X
wires="A:a0 X:xa B:b0 X:xb X:xs S:s0"
# So many of the 120 orders; each of the first five begins with another one;
# benches/guest-soak-removal has more.
rounds=6

end_of() { kill -9 "$(cat "$1.pid")" 2>/dev/null; }
# take_away WHAT: removes it, or what is left of it.
take_away() {
    case $1 in
        qdisc) in_ns X tc qdisc del dev xs root ;;
        bridge-port) ip -n X link set xs nomaster ;;
        device) ip -n X link del xb ;;
        # It ends with its last process.
        namespace) end_of A && ip netns del A ;;
        module) rmmod vtsn ;;
    esac >/dev/null 2>&1
}
# in_order WHAT…: one after the other.
in_order() {
    for what in "$@"; do
        take_away "$what"
        ! rmmod prioflow 2>/dev/null || fail "the module of sockets that have opted in can go: $*"
    done
}
# at_once WHAT…: each removal starts while the one before may still run.
at_once() {
    begun=
    for what in "$@"; do
        take_away "$what" &
        begun="$begun $!"
    done
    # shellcheck disable=SC2086 # words
    wait $begun
}

# shellcheck disable=SC2016  # perl expands it
perl -e 'sub orders { my ($head, @rest) = @_;
        return print "@$head\n" unless @rest;
        for my $i (0 .. $#rest) { orders([@$head, $rest[$i]], @rest[grep { $_ != $i } 0 .. $#rest]) }
    }
    orders([], qw(qdisc bridge-port device namespace module))' >orders
available() { awk '/^MemAvailable/ { print $2 }' /proc/meminfo; }
available_before=$(available)
round=0 bad=0
while [ $round -lt $rounds ]; do
    # Every order once in 120 rounds, and the next 120 reversed.
    order=$(sed -n "$((round * 37 % 120 + 1))p" orders)
    [ $(((round + round / 120) % 2)) -eq 0 ] && way=in_order || way=at_once
    network_up
    neighbours
    all_prioflow link mac-control
    jam
    # shellcheck disable=SC2086 # words
    $way $order
    for ns in A B S; do end_of $ns; done
    wait
    network_down
    rmmod prioflow vtsn 2>/dev/null
    for module in prioflow vtsn; do
        [ ! -e /sys/module/$module ] || { fail "$module stays after: $way $order"; bad=$((bad + 1)); }
        must modprobe $module
    done
    round=$((round + 1))
done
equal "after removal in $rounds orders both modules can be unloaded" 0 $bad
echo "$rounds rounds, memory available: $(available) KiB, before $available_before"
end
