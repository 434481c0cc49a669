#!/bin/sh
# A receiver that has opted in becomes an L2TP tunnel's socket, which replaces its destructor on
# kernels before 6.12: datagrams still reach it. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# module: l2tp_netlink
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc

wire_up
link_up
must b tc qdisc change dev v0p root prioflow reaction 1 ring 1
# shellcheck disable=SC2016  # perl expands it
b perl -e 'use strict; $| = 1;
    socket(my $s, 2, 2, 0) or die $!;
    bind($s, pack("S n x12", 2, 1701)) or die $!;
    setsockopt($s, 0, 0x5471, pack("l L7", 2, 100, (0) x 6)) or die "opt in: $!";
    socket(my $n, 16, 3, 16) or die $!;
    sub attribute { my ($kind, $data) = @_; my $all = pack("S S", 4 + length $data, $kind) . $data; $all . "\0" x (-length($all) % 4) }
    sub ask { my ($family, $command, $body) = @_;
        my $message = pack("C C S", $command, 1, 0) . $body;
        send($n, pack("L S S L L", 16 + length $message, $family, 5, 1, 0) . $message, 0) or die $!;
        recv($n, my $answer, 8192, 0); $answer }
    my $found = ask(16, 3, attribute(2, "l2tp\0"));
    my ($kind) = unpack("x4 S", $found);
    die "no l2tp" if $kind == 2;
    # The family number is attribute 1.
    my ($at, $family) = (20, 0);
    while ($at < length $found) {
        my ($length, $which) = unpack("S S", substr($found, $at, 4));
        $family = unpack("S", substr($found, $at + 4, 2)) if $which == 1;
        $at += ($length + 3) & ~3;
    }
    my $answer = ask($family, 1, attribute(9, pack("L", 7)) . attribute(10, pack("L", 8)) .
        attribute(7, pack("C", 2)) . attribute(2, pack("S", 0)) . attribute(23, pack("L", fileno $s)));
    my $error = unpack("x16 l", $answer);
    die "tunnel: $error" if $error;
    print "tunnel\n";
    for (1 .. 20) { recv($s, my $data, 2000, 0); print "came ", length $data, "\n"; }' >tunnel.log 2>&1 &
tunnel=$!
check "the receiver is a tunnel" wait_for 10 grep -q tunnel tunnel.log
# Control messages of L2TP version 2 are the program's.
# shellcheck disable=SC2016  # perl expands it
a perl -e 'socket(S, 2, 2, 0) or die $!;
    send(S, pack("n6", 0xc802, 12, 7, 0, $_, 0), 0, pack("S n C4 x8", 2, 1701, 10, 0, 0, 2)) or die $! for 1 .. 20'
wait $tunnel
equal "datagrams reach it" 20 "$(grep -c 'came 12' tunnel.log)"
check "and a closed one pauses nobody" wait_for 2 is_at 0
wire_down
end
