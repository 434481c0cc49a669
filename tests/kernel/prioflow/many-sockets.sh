#!/bin/sh
# Thousands of sockets that opt in (fewer on slower kernels), and end: by closing them and by
# killing their process. Their reservations and pause requests end with them.
# Topology in port.inc.
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

count=$((slow > 1 ? 200 : 2000))
cat >many.pl <<'END_OF_PERL'
# many.pl COUNT: so many senders and receivers; reports when all have opted in, and waits for a
# line. Receivers have the ports from 10000 on.
my $count = shift; my @sockets; $| = 1;
for my $n (0 .. 2 * $count - 1) {
    socket(my $s, 2, 2, 0) or die "socket $n: $!";
    if ($n % 2) {
        bind($s, pack("S n a4 x8", 2, 10000 + $n / 2, "")) or die "bind: $!";
        setsockopt($s, 0, 0x5471, pack("l L7", $n % 14, 1000, 5000, 2000, ("") x 4)) or die "receive $n: $!";
    } else {
        setsockopt($s, 1, 7, pack("i", 3000));
        setsockopt($s, 0, 0x5470, pack("l l L4 Q", 3, -1, (0) x 5)) or die "send $n: $!";
    }
    push @sockets, $s;
}
print "ready $$\n";
<STDIN>;
my $came = 0;
for my $s (@sockets) { my $data; while (defined recv($s, $data, 2000, 0x40)) { $came++; } }
print "came $came\n";
<STDIN>;
END_OF_PERL
reserved() { b perl flow.pl ask | sed 's/.*,\([0-9]*\) errno.*/\1/'; }
is_free() { [ "$(reserved)" = 0 ]; }
# many: starts them; $many is their process.
many() {
    rm -f many.log
    b sh -c "ulimit -n 20000; exec perl many.pl $count" <go >many.log 2>&1 &
    wait_for 120 grep -q . many.log
    contains "$((2 * count)) sockets opt in" ready "$(cat many.log)"
    many=$(sed -n 's/ready //p' many.log)
}

wire_up
must a ethtool -s v0 speed $((slow > 1 ? 10 : 100)) duplex full autoneg off
mkfifo go
exec 3<>go
prioflow limit 20000 by priority link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control reaction 100 ring 10
must b sysctl -qw net.prioflow.send_room=4000000000
must sysctl -qw net.ipv4.udp_mem="200000 200000 200000"

many
within "each sender has a reservation" $((count * 131072)) 4000000000 "$(reserved)"
# Four datagrams fill a receiver above its high mark: the highest level is requested.
a perl -e 'my $count = shift; socket(S, 2, 2, 0) or die; setsockopt(S, 1, 12, pack("i", 14));
    for my $n (0 .. $count - 1) { for (1 .. 4) {
        send(S, "x" x 1000, 0, pack("S n C4 x8", 2, 10000 + $n, 10, 0, 0, 2)) or die "send: $!"; } }' $count
all_sent() { [ "$(sent 14)" = $((4 * count)) ]; }
must wait_for 60 all_sent
sleep 0.5
check "receivers of all levels send XOFF: the highest counts" wait_for 20 is_at 14
echo >&3
check "they read" wait_for 120 grep -q came many.log
equal "all sent datagrams" "came $((4 * count))" "$(tail -n 1 many.log)"
check "and send XON" wait_for 20 is_at 0
echo >&3
check "they are closed" wait_for 60 has_ended "$many"
check "no bytes stay reserved" wait_for 20 is_free

many
a perl -e 'socket(S, 2, 2, 0) or die; setsockopt(S, 1, 12, pack("i", 14));
    for (1 .. 9) { send(S, "x" x 1000, 0, pack("S n C4 x8", 2, 10012, 10, 0, 0, 2)) or die "send: $!"; }'
check "one of thousands sends XOFF" wait_for 20 is_at 12
kill -9 "$many"
check "their process is killed" wait_for 60 has_ended "$many"
check "no bytes stay reserved after the kill" wait_for 20 is_free
check "and no level stays paused" wait_for 20 is_at 0
wire_down
check "and the module is not in use" wait_for 10 grep -qx 0 /sys/module/prioflow/refcnt
end
