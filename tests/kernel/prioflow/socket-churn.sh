#!/bin/sh
# Opted-in sockets are made and closed at both ends while the qdiscs are, too; no request and
# no reservation stays, and each socket holds the module. Topology in port.inc.
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

reserved() { "$1" perl flow.pl ask | sed 's/.*,\([0-9]*\) errno.*/\1/'; }
is_free() { [ "$(reserved a) $(reserved b)" = "0 0" ]; }
# sum WORD: of both programs.
sum() { sed -n "s/.*$1=\\([0-9]*\\) .*/\\1/p" a.log b.log | { read -r a; read -r b; echo $((a + b)); }; }
# Options that make the headroom small enough for the default buffer.
both() {
    for end in "a tc qdisc replace dev v0" "b tc qdisc replace dev v0p"; do
        # shellcheck disable=SC2086 # words
        must $end root handle 1: prioflow by priority limit 20 link mac-control reaction 100 ring 10
    done
}

wire_up
must a ethtool -s v0 speed 1000 duplex full autoneg off
both
a perl flow.pl churn port=7001 at=1 count=600 >a.log &
first=$!
b perl flow.pl churn port=7001 at=2 count=600 >b.log &
second=$!
rounds=0
while kill -0 $first 2>/dev/null && [ $rounds -lt 60 ]; do
    case $((rounds % 4)) in
        0) a tc qdisc del dev v0 root ;;
        1) b tc qdisc replace dev v0p root pfifo ;;
        2) a tc qdisc replace dev v0 root handle 1: prioflow by priority limit 20 link off ;;
        3) both ;;
    esac
    rounds=$((rounds + 1))
done
wait $first
equal "sockets are made and closed at one end" 0 $?
wait $second
equal "and at the other" 0 $?
within "while the qdiscs are removed and added" 4 60 $rounds
within "many have opted in" 600 2400 "$(sum opted)"
within "and sent XOFF" 20 2400 "$(sum asks)"
both
# Their last packets are still queued.
check "no bytes stay reserved" wait_for 10 is_free
check "no level stays paused" wait_for 5 is_at 0
contains "and sockets opt in as before" "3,-1," "$(a perl flow.pl ask level=3)"

mkfifo go
b perl flow.pl receive level=2 payload=1000 count=1 hold=1 idle=1 <go >reader.log &
reader=$!
exec 3>go
must wait_for 10 grep -q ready reader.log
must b tc qdisc del dev v0p root
must a tc qdisc del dev v0 root
refused "an opted-in socket holds the module" rmmod prioflow
exec 3>&-
wait $reader
wire_down
end
