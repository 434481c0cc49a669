#!/bin/sh
# Thousands of receivers in XOFF in one network namespace do not delay those of another. Topology in
# port.inc, and a second wire:
#
#     namespace C: w0 ────────── w0p :namespace D
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

c() { ip netns exec C "$@"; }
count=$((slow > 1 ? 200 : 4000))
# A tenth of it per datagram: slower than the wire, which takes 86 us, and than a sender on a debug
# kernel, which takes 3 ms.
pause=0.002
crowds="C1 C2 C3 C4 C5"
[ "$slow" = 1 ] || pause=0.06
# exchange: 2000 datagrams to a reader that sends XOFF again and again; ms of the whole.
exchange() {
    b perl flow.pl receive level=2 payload=1000 count=2000 high=20000 low=10000 rcvbuf=400000 every=10 pause=$pause \
        pid=reader.pid >reader.log &
    reader=$!
    must wait_for 10 grep -q ready reader.log
    began=$(awk '{ print $1 * 1000 }' /proc/uptime)
    a perl flow.pl send level=2 priority=2 count=2000 >/dev/null
    wait $reader
    awk -v began="$began" '{ print int($1 * 1000 - began) }' /proc/uptime
    must grep -q 'came=2000' reader.log
}

wire_up
must a ethtool -s v0 speed 100 duplex full autoneg off
must sysctl -qw net.core.rmem_max=2000000 net.ipv4.udp_mem="400000 400000 400000"
link_up reaction 100 ring 16
must b tc qdisc change dev v0p root prioflow by priority reaction 100 ring 16
for ns in C D $crowds; do
    ip netns del $ns 2>/dev/null
    must ip netns add $ns
done
must ip link add w0 type vtsn
must ip link set w0 netns C
must ip link set w0p netns D
must ip -n C link set lo up
must ip -n C link set w0 up
must ip -n D link set w0p up
must c tc qdisc replace dev w0 root handle 1: prioflow link mac-control reaction 100 ring 16

alone=$(exchange)
[ -p go ] || mkfifo go
exec 3<>go
# crowd NAMESPACE COUNT: receivers whose low mark is never reached, filled over loopback.
crowd() {
    # shellcheck disable=SC2016  # perl expands it
    ip netns exec "$1" sh -c "ulimit -n 20000; exec perl -e 'my \$count = shift; my @all; \$| = 1;
        socket(my \$from, 2, 2, 0) or die;
        for my \$n (0 .. \$count - 1) {
            socket(my \$s, 2, 2, 0) or die \"socket: \$!\";
            bind(\$s, pack(\"S n C4 x8\", 2, 10000 + \$n, 127, 0, 0, 1)) or die \"bind: \$!\";
            setsockopt(\$s, 0, 0x5471, pack(\"l L7\", 1, 1000, 5000, 2000, (0) x 4)) or die \"opt in: \$!\";
            send(\$from, \"x\" x 1000, 0, pack(\"S n C4 x8\", 2, 10000 + \$n, 127, 0, 0, 1)) or die for 1 .. 4;
            push @all, \$s;
        }
        print \"ready\n\"; <STDIN>' $2" <go >"$1.log" 2>&1 &
    must wait_for 120 grep -q . "$1.log"
}
crowd C $count
many=$!
contains "they are in XOFF" "ready" "$(cat C.log)"
check "their port requests their level" sh -c "ip netns exec C tc -s qdisc show dev w0 | grep -q 'receive level 2'"
beside=$(exchange)
timely within "so many receivers of another namespace delay nobody" 1 $((alone * 13 / 10)) "$beside"
within "whose pauses count" 3 100000 "$(sed -n 's/.*asks=\([0-9]*\).*/\1/p' reader.log)"
echo "alone $alone ms, beside $count receivers in XOFF $beside ms"
echo >&3
wait $many

# A hundred in each of five namespaces, which poll their own.
for ns in $crowds; do
    must ip -n "$ns" link add w0 type vtsn
    for device in lo w0 w0p; do must ip -n "$ns" link set $device up; done
    must ip netns exec "$ns" tc qdisc replace dev w0 root handle 1: prioflow link mac-control reaction 100 ring 16
    crowd "$ns" 100
done
contains "receivers of five namespaces are in XOFF" "ready ready ready ready ready" "$(for ns in $crowds; do cat "$ns.log"; done | paste -s -d ' ')"
beside=$(exchange)
asks=$(sed -n 's/.*asks=\([0-9]*\).*/\1/p' reader.log)
# On a CPU that all of them share, of ARM, too; sixteen poll intervals are 4 ms.
timely within "each resume is late by sixteen poll intervals at most" 1 $((alone + 4 * asks)) "$beside"
echo "beside a hundred in each of five namespaces $beside ms, $asks XOFFs"
for ns in $crowds; do
    echo >&3
    ip netns del "$ns"
done
ip netns del C
ip netns del D
wire_down
end
