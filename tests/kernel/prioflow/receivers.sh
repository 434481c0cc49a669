#!/bin/sh
# Opted-in receivers send XOFF to the peer before their buffer is full, and XON when there is
# room or when they end. Receivers without headroom are refused. Topology in
# port.inc: A sends, B reads.
#
# module: vtsn
# module: prioflow
# module: dummy
# module: veth
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

eperm=1 einval=22 enodev=19 erange=34 eopnotsupp=95 enetdown=100 enobufs=105
ask() { b perl flow.pl ask as=receive "$@"; }
# part NUMBER: a field of the structure that ask prints.
part() { cut -d ' ' -f 1 | cut -d , -f "$1"; }

wire_up
prioflow limit 20 by priority link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow by priority

equal "without a link a receiver is refused" "refused errno=$enodev" "$(ask level=1 payload=1200)"
peer_change link mac-control
equal "by default no level is open" "refused errno=$eperm" "$(ask level=1 payload=1200 uid=1000)"
must b sysctl -qw net.prioflow.open_levels=2
contains "open levels need no capability" "1," "$(ask level=1 payload=1200 uid=1000)"
equal "higher ones do" "refused errno=$eperm" "$(ask level=2 payload=1200 uid=1000)"
equal "level 15 is never paused" "refused errno=$erange" "$(ask level=15 payload=1200)"
equal "TCP sockets are refused" "refused errno=$eopnotsupp" "$(ask level=1 family=tcp)"

# At 10 Mbit/s a thousand microseconds are 1250 octets, one frame of 1266 on the wire, or 14
# of the smallest, 84; and one that was begun.
peer_change reaction 1000 ring 10
found=$(ask level=1 payload=1200)
# Of two fragments, of which the second is tiny, one more than of datagrams.
equal "in-flight frames are computed" 12 "$(echo "$found" | part 6)"
# A buffer of 2048 octets and what describes it, which is smaller where pointers are.
within "with the kernel's charge for each, and the one of two that crosses the mark" $((14 * 2240)) $((14 * 2560)) "$(echo "$found" | part 5)"
equal "the rest of the buffer is below the high mark" "$(echo "$found" | part 7)" \
    "$(($(echo "$found" | part 5) + $(echo "$found" | part 3)))"
equal "the low mark is half of the high mark" "$(($(echo "$found" | part 3) / 2))" "$(echo "$found" | part 4)"
equal "small frames are more" 25 "$(ask level=1 payload=1 | part 6)"
must b ethtool -s v0p speed 100 duplex full autoneg off
# Datagrams of two fragments are the worst: 12 500 octets are 7 pairs of 1622, and one tiny.
equal "so are frames on a faster link" 26 "$(ask level=1 payload=1200 | part 6)"
equal "a buffer smaller than the headroom is refused" "refused errno=$enobufs" "$(ask level=1 payload=1200 rcvbuf=20000)"
equal "getsockopt returns the numbers" "26 40000" "$(ask payload=1200 rcvbuf=20000 | tr , ' ' | cut -d ' ' -f 6,7)"
equal "a high mark without headroom is refused" "refused errno=$enobufs" "$(ask level=1 payload=1200 high=190000)"
contains "one with headroom is accepted" "1,1200,90000,45000," "$(ask level=1 payload=1200 high=90000)"
equal "a low mark that is not below the high mark is refused" "refused errno=$einval" "$(ask level=1 payload=1200 high=9000 low=9000)"
refused "a ring above the limit is refused" b tc qdisc change dev v0p root prioflow ring 32001
refused "so is a reaction of 0" b tc qdisc change dev v0p root prioflow reaction 0
must ip -n B link add d0 type dummy
must b tc qdisc replace dev d0 root prioflow link mac-control
contains "a port without a link rate does not count" "1," "$(ask level=1 payload=1200)"
peer_change link off
equal "unless there are no others" "refused errno=$enetdown" "$(ask level=1 payload=1200)"
peer_change link mac-control
must ip -n B link del d0

# A reader that does not read. The sender has not opted in.
mkfifo go
b perl flow.pl receive level=2 payload=1000 count=2000 hold=1 <go >reader.log &
reader=$!
exec 3>go
must wait_for 10 grep -q ready reader.log
a perl flow.pl send level=2 priority=2 count=2000 >flow.log &
sender=$!
check "a full reader pauses the peer up to its level" wait_for 10 is_at 3
check "the sender sleeps" wait_for 10 blocked 2
# The XOFF mark that is in force for the only receiver in XOFF.
mark() { b teiji flow status | sed -n 's/.*, XOFF from \([0-9 ]*\) on$/\1/p' | tr -d ' '; }
before=$(mark)
must ip -n B link set v0p mtu 4000
check "a larger MTU needs more headroom: the high mark is lower" [ "$(mark)" -lt "$before" ]
must ip -n B link set v0p mtu 1500
equal "and a smaller one less again" "$before" "$(mark)"
# A device that hands over the sender's own frames, of which this is of 9000 octets, but for two.
must ip link add x0 netns A mtu 9000 type veth peer name x1 netns B
must a ethtool -K x0 sg off
must b tc qdisc replace dev x1 root handle 1: prioflow link mac-control reaction 1 ring 1
must ip -n B link set x1 up
must ip -n A link set x0 up
must ip -n A address add 10.0.9.1/24 broadcast 10.0.9.255 dev x0
usual=$(mark)
# shellcheck disable=SC2016  # perl expands it
must a perl -e 'socket(S, 2, 2, 0) or die $!; setsockopt(S, 1, 6, pack("i", 1)) or die $!;
    send(S, "x", $_, pack("S n C4 x8", 2, 7009, 10, 0, 9, 255)) or die $! for 0x8000, 0'
check "a driver that charges more for a frame needs more headroom" [ "$(mark)" -lt "$usual" ]
must ip -n B link del x1
equal "until its port is gone" "$before" "$(mark)"
a perl flow.pl send priority=3 count=20
equal "levels above are not paused" "20 0" "$(sent 3) $(queued 3)"
timely equal "and no frame is lost" "0 0" "$(dropped 2) $(overflowed)"
echo >&3
wait_for 30 has_ended $reader
timely contains "when it reads, all are received" "came=2000 " "$(cat reader.log)"
check "and XON is sent" wait_for 2 is_at 0
wait_for 2 has_ended $sender

# Several receivers: the highest level counts; each ends its request when it ends.
# reads LEVEL PORT FIFO: a reader that does not read, and is full; its process is in PORT.pid.
reads() {
    b perl flow.pl receive level="$1" payload=1000 count=1 hold=1 port="$2" pid="$2.pid" <go >"$2.log" &
    must wait_for 10 grep -q ready "$2.log"
    a perl flow.pl send level=14 priority=14 count=200 port="$2" wait=poll >/dev/null &
    must wait_for 10 is_at $(($1 + 1))
}
reads 3 7003
before=$(mark)
must b ethtool -s v0p speed 1000 duplex full autoneg off
check "a faster link needs more headroom, also for a receiver that has it" [ "$(mark)" -lt "$before" ]
must b ethtool -s v0p speed 100 duplex full autoneg off
equal "and a slower one less" "$before" "$(mark)"
must wait_for 10 is_at 4
reads 6 7006
kill -9 "$(cat 7006.pid)"
check "when the highest is killed, the next level counts" wait_for 5 is_at 4
kill -9 "$(cat 7003.pid)"
check "when the last is killed, none does" wait_for 5 is_at 0
# Readers of a level below that of the frames that fill them.
reads 5 7005
must b tc qdisc del dev v0p root
check "a deleted port ends its request" wait_for 2 is_at 0
must b tc qdisc replace dev v0p root handle 1: prioflow by priority link mac-control
check "a new port requests the level of the sockets" wait_for 2 is_at 6
kill -9 "$(cat 7005.pid)"
check "until the last socket ends" wait_for 5 is_at 0

# Level 14 is PFC's highest priority, which PFC cannot pause.
b perl flow.pl receive level=14 payload=1200 rcvbuf=106496 count=1 hold=1 port=7014 pid=7014.pid <go >7014.log &
must wait_for 10 grep -q ready 7014.log
refused "PFC is refused while a receiver has level 14" b tc qdisc change dev v0p root prioflow link pfc
contains "and changes nothing" "link mac-control" "$(b tc qdisc show dev v0p)"
peer_change link off
refused "also by a link that was off" b tc qdisc change dev v0p root prioflow link pfc
contains "and is off then" "link off" "$(b tc qdisc show dev v0p)"
peer_change link mac-control
kill -9 "$(cat 7014.pid)"

# A reader that opts in when it is full.
mkfifo late
b perl flow.pl receive level=4 payload=1000 high=20000 low=10000 late=1 count=1 hold=1 rcvbuf=106496 \
    port=7004 pid=7004.pid <late >7004.log &
exec 4>late
must wait_for 10 grep -q ready 7004.log
before=$(sent 4)
a perl flow.pl send priority=4 count=20 port=7004 >flow.log
has_left() { [ "$(sent 4)" = $((before + 20)) ]; }
must wait_for 10 has_left
sleep 0.3
equal "before it opts in it sends no XOFF" 0 "$(transmit_level)"
echo >&4
check "a full socket sends XOFF when it opts in" wait_for 5 is_at 5
kill -9 "$(cat 7004.pid)"
check "and XON when it is closed" wait_for 5 is_at 0

# A socket whose buffer is full of errors.
b perl flow.pl receive level=4 payload=1000 high=20000 low=10000 errors=20 hold=1 count=2 rcvbuf=106496 port=7004 \
    <go >errors.log &
reader=$!
must wait_for 10 grep -q ready errors.log
a perl flow.pl send priority=4 count=1 port=7004 >flow.log
must wait_for 5 is_at 5
echo >&3
check "errors that nobody reads do not keep a receiver in XOFF" wait_for 2 is_at 0
a perl flow.pl send priority=4 count=1 port=7004 >flow.log
wait_for 10 has_ended $reader
contains "they count for XOFF" "came=2 asks=2 " "$(cat errors.log)"

# shellcheck disable=SC2016  # perl expands it
equal "a socket in a BPF sockmap is refused" "busy" "$(b perl -e 'use lib "/suite"; use Calls;
    sub address { substr(pack("P", $_[0]) . "\0" x 8, 0, 8) }
    socket(my $s, 2, 2, 0) or die; bind($s, pack("S n x12", 2, 7009)) or die;
    setsockopt($s, 1, 8, pack("i", 106496));
    my $map = bpf(0, pack("L5", 15, 4, 4, 1, 0));
    my ($key, $value) = (pack("L", 0), pack("L", fileno $s));
    bpf(2, pack("L2", $map, 0) . address($key) . address($value) . pack("Q", 0)) == 0 or die "update: $!";
    print setsockopt($s, 0, 0x5471, pack("l L7", 1, 1000, (0) x 6)) ? "taken" : $! == 16 ? "busy" : $!' 2>&1)"

# A link that gets faster: the high mark falls below the low mark that the receiver has got.
must sysctl -qw net.core.rmem_max=4000000
must b ethtool -s v0p speed 10 duplex full autoneg off
lost=$(overflowed)
pauses() { a tc -s qdisc show dev v0 | sed -n 's/^ *2 .* \([0-9]*\)x .*/\1/p'; }
before=$(pauses)
peer_change reaction 1000 ring 10
b perl flow.pl receive level=2 payload=1000 rcvbuf=300000 count=1000 hold=1 <go >reader.log &
reader=$!
must wait_for 10 grep -q ready reader.log
must b ethtool -s v0p speed 1000 duplex full autoneg off
a perl flow.pl send level=2 priority=2 count=1000 >flow.log &
sender=$!
must wait_for 10 is_at 3
sleep 0.3
equal "the pause lasts while the buffer is above half of the mark" "3 $((before + 1))" "$(transmit_level) $(pauses)"
echo >&3
wait_for 30 has_ended $reader
contains "all are received" "came=1000 " "$(cat reader.log)"
equal "and none is lost" "$lost" "$(overflowed)"
wait_for 5 has_ended $sender
must b ethtool -s v0p speed 100 duplex full autoneg off

# Small and large frames in turn.
must ip -n A link set v0 mtu 9000
must ip -n B link set v0p mtu 9000
peer_change reaction 1000 ring 16
b perl flow.pl receive level=2 payload=64 rcvbuf=1500000 count=2000 hold=1 <go >reader.log &
reader=$!
must wait_for 10 grep -q ready reader.log
a perl flow.pl send level=2 priority=2 count=2000 size=64,8900 >flow.log &
sender=$!
must wait_for 10 is_at 3
sleep 0.3
echo >&3
wait_for 30 has_ended $reader
contains "of datagrams of 64 and 8900 octets all are received" "came=2000 " "$(cat reader.log)"
equal "and none is lost" "$lost" "$(overflowed)"
wait_for 5 has_ended $sender
exec 3>&- 4>&-
wire_down
end
