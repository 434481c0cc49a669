#!/bin/sh
# Protected packets wait for the carrier: those queued when it is lost, and those sent
# meanwhile. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/socket.inc

# The core has given the qdisc to the device, or taken it.
activated() { a ip link show dev v0 | grep -q 'state UP'; }
deactivated() { ! activated; }
unplug() {
    must ip -n B link set v0p down
    must wait_for 5 deactivated
}
plug() {
    must ip -n B link set v0p up
    must ip -n B neighbour replace 10.0.0.1 dev v0p lladdr "$(a cat /sys/class/net/v0/address)" nud permanent
    must wait_for 5 activated
}
# Numbers of the datagrams that B receives, in order.
# shellcheck disable=SC2016  # perl expands it
numbers='socket(S, 2, 2, 0) or die $!; bind(S, pack("S n x12", 2, 7002)) or die $!; $| = 1;
    print "ready\n";
    while (1) {
        my $mask = ""; vec($mask, fileno(S), 1) = 1;
        select($mask, undef, undef, '$((3 * slow))') == 1 or last;
        recv(S, $_, 2000, 0); print unpack("N", $_), "\n";
    }'
# numbered FROM TO: A sends datagrams with these numbers, opted in or not.
# shellcheck disable=SC2016  # perl expands it
numbered='my ($from, $to, $level) = @ARGV;
    socket(S, 2, 2, 0) or die $!;
    if ($level >= 0) { setsockopt(S, 0, 0x5470, pack("l l L4 Q", $level, -1, (0) x 5)) or die $!; }
    setsockopt(S, 1, 12, pack("i", 2)) or die $!;
    $| = 1; my $there = pack("S n C4 x8", 2, 7002, 10, 0, 0, 2);
    for my $i ($from .. $to) { defined send(S, pack("N", $i) . "x" x 500, 0, $there) or print "$!\n"; }
    print "sent\n"; <STDIN>; for my $i ($to + 1 .. $to + 20) { send(S, pack("N", $i) . "x" x 500, 0, $there) }
    print "sent more\n"; <STDIN>'

wire_up
prioflow limit 500 by priority
[ -p go ] || mkfifo go
exec 3<>go
# twice LEVEL: 20 datagrams wait in the qdisc, 20 more are sent without carrier.
twice() {
    b perl -e "$numbers" >numbers.log &
    reader=$!
    must wait_for 10 grep -q ready numbers.log
    change send-level 3
    a perl -e "$numbered" 1 20 "$1" <go >sender.log 2>&1 &
    sender=$!
    must wait_for 10 grep -q '^sent$' sender.log
    must equal "they wait" 20 "$(queued 2)"
    unplug
    echo >&3
    must wait_for 10 grep -q '^sent more$' sender.log
    plug
    change send-level 0
    wait_for $((20 * slow)) has_ended $reader
    echo >&3
    wait_for 5 has_ended $sender
    grep -c '^[0-9]' numbers.log
}
equal "without opting in all are lost" 0 "$(twice -1 | tail -1)"
equal "opted in for a lower level, too" 0 "$(twice 1 | tail -1)"
equal "opted in, none is" 40 "$(twice 2 | tail -1)"
equal "and they are received in order" "$(seq 1 40)" "$(grep '^[0-9]' numbers.log)"

# Segments that the qdisc has made.
b perl -e "$numbers" >numbers.log &
reader=$!
must wait_for 10 grep -q ready numbers.log
change limit 5 send-level 3
a perl -e 'socket(S, 2, 2, 0) or die $!;
    setsockopt(S, 0, 0x5470, pack("l l L4 Q", 2, -1, (0) x 5)) or die $!;
    setsockopt(S, 1, 12, pack("i", 2)) or die $!;
    setsockopt(S, 17, 103, pack("i", 504)) or die $!;
    send(S, join("", map { pack("N", $_) . "x" x 500 } 1 .. 20), 0, pack("S n C4 x8", 2, 7002, 10, 0, 0, 2)) or die $!;
    $| = 1; print "sent\n"; <STDIN>' <go >sender.log 2>&1 &
sender=$!
must wait_for 10 grep -q '^sent$' sender.log
equal "segments of a protected packet wait" 20 "$(queued 2)"
unplug
plug
are_back() { [ "$(queued 2)" = 20 ]; }
wait_for 5 are_back
change limit 500 send-level 0
wait_for $((20 * slow)) has_ended $reader
echo >&3
wait_for 5 has_ended $sender
equal "all of them are received when the carrier is back" "$(seq 1 20)" "$(grep '^[0-9]' numbers.log)"

# A sender sleeps without carrier as in a pause, and set down drops what is kept.
unplug
a perl flow.pl send level=2 priority=2 count=300 sndbuf=20000 pid=sender.pid >sender.log &
sender=$!
sleep $slow
check "the sender sleeps" grep -q '^State:.S' "/proc/$(cat sender.pid)/status"
must ip -n A link set v0 down
wait_for 5 has_ended $sender
check "until the device is set down" has_ended $sender
contains "which is counted" "protected packets: kept 0 lost" "$(a tc -s qdisc show dev v0)"
must ip -n A link set v0 up
# Neighbours go when a device is set down.
must ip -n A neighbour replace 10.0.0.2 dev v0 lladdr "$peer" nud permanent
plug

# The same with a sender that does not stop.
b perl -e "$numbers" >numbers.log &
reader=$!
must wait_for 10 grep -q ready numbers.log
a perl -e "$numbered" 1 2000 2 <go >sender.log 2>&1 &
sender=$!
for round in 1 2 3; do
    sleep 0.2
    unplug
    sleep 0.2
    plug
done
wait_for $((60 * slow)) has_ended $reader
echo >&3
echo >&3
wait_for 5 has_ended $sender
contains "a flood goes on after the carrier was lost" 2000 "$(grep '^[0-9]' numbers.log)"
timely check "and its datagrams are received in order" awk '/^[0-9]/ { if ($1 <= last) exit 1; last = $1 }' numbers.log

# Under load: only frames transmitted before the carrier was lost are missing. With a ring of four
# frames and no limit of bytes (BQL), the driver gives back what finds no room.
arrived_down() { b ethtool -S v0p | awk '$1 == "rx_down:" { print $2 }'; }
for ring in "$(a ethtool -g v0 | awk '/^Current/ { now = 1 } now && $1 == "TX:" { print $2 }')" 4; do
    must a ethtool -G v0 tx "$ring"
    for queue in $(a ls -d /sys/class/net/v0/queues/tx-*); do
        must a sh -c "echo 1000000 >$queue/byte_queue_limits/limit_min"
    done
    down_before=$(arrived_down)
    b perl flow.pl receive count=2000 idle=$((4 * slow)) rcvbuf=4000000 >reader.log &
    reader=$!
    must wait_for 10 grep -q ready reader.log
    a perl flow.pl send level=2 priority=2 count=2000 sndbuf=200000 counts=1 >sender.log &
    sender=$!
    for round in 1 2 3; do
        sleep 0.3
        unplug
        sleep 0.2
        plug
    done
    wait_for $((60 * slow)) has_ended $sender
    wait_for $((60 * slow)) has_ended $reader
    equal "all of a flood are protected, ring $ring" "sent=2000 again=0 protected=2000 unprotected=0 errno=0" "$(cat sender.log)"
    received=$(sed -n 's/^came=\([0-9]*\).*/\1/p' reader.log)
    equal "and received, or they reach the port while it is down" 2000 $((received + $(arrived_down) - down_before))
    within "which are few" 0 60 $((2000 - received))
done
wire_down
end
