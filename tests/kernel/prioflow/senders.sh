#!/bin/sh
# Packets of opted-in senders are never dropped: a sender sleeps, or gets EAGAIN and is woken.
# Permissions and levels. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# module: af_packet
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/socket.inc

eperm=1 ebadf=9 eagain=11 einval=22 erange=34 eopnotsupp=95 enobufs=105 eintr=4
reserved() { a perl flow.pl ask | sed 's/.*,\([0-9]*\) errno.*/\1/'; }
is_reserved() { [ "$(reserved)" = "$1" ]; }
sysctl_a() { must a sysctl -qw "net.prioflow.$1"; }
all_left() { [ "$(queued 1)" = 0 ]; }

wire_up
index=$(a cat /sys/class/net/v0/ifindex)
mac=$(a cat /sys/class/net/v0/address | tr -d :)
to="to=$(echo "$peer" | tr -d :) from=$mac index=$index"
# The destination addresses do not exist, so that there are no replies.
must ip -n B address del 10.0.0.2/24 dev v0p

# Refused options.
equal "by default no level is open" "refused errno=$eperm" "$(a perl flow.pl ask level=0 uid=1000)"
sysctl_a open_levels=4
contains "open levels need no capability" "3,-1," "$(a perl flow.pl ask level=3 uid=1000)"
equal "higher ones do" "refused errno=$eperm" "$(a perl flow.pl ask level=4 uid=1000)"
contains "CAP_NET_ADMIN allows all levels" "15,-1," "$(a perl flow.pl ask level=15)"
refused "open_levels above 16 is refused" a sysctl -qw net.prioflow.open_levels=17
equal "level 16 is refused" "refused errno=$erange" "$(a perl flow.pl ask level=16)"
equal "level -2 is refused" "refused errno=$erange" "$(a perl flow.pl ask level=-2)"
equal "TCP sockets are refused" "refused errno=$eopnotsupp" "$(a perl flow.pl ask level=1 family=tcp)"
equal "raw sockets are refused" "refused errno=$eopnotsupp" "$(a perl flow.pl ask level=1 family=raw)"
equal "a structure of another size is refused" "refused errno=$einval" "$(a perl flow.pl ask level=1 long=1)"
equal "a bad descriptor is refused" "refused errno=$ebadf" "$(a perl flow.pl ask level=1 fd=77)"
equal "a descriptor that is not a socket is refused" "refused errno=88" "$(a perl flow.pl ask level=1 fd=1)"
sysctl_a send_room=500000
equal "a sender without room is refused" "refused errno=$enobufs" "$(a perl flow.pl ask level=1 sndbuf=100000)"
equal "getsockopt returns the numbers" "-1,-1,531072,200000,500000,0,0 errno=0" "$(a perl flow.pl ask sndbuf=100000)"
check "and no bytes stay reserved" is_reserved 0
sysctl_a send_room=16777216

# Senders without and with opt-in.
prioflow limit 20 by priority send-level 5
a perl flow.pl send priority=1 count=100 sndbuf=150000 >plain.log &
plain=$!
wait_for 20 has_ended $plain
equal "a sender without opt-in gets no error" "sent=100 again=0 errno=0" "$(cat plain.log)"
equal "and its packets are dropped" "20 80" "$(queued 1) $(dropped 1)"
change send-level 0
must wait_for 10 all_left
change send-level 5
# sleeps NAME WORDS…: an opted-in sender of 300 sleeps, with more packets queued than the limit.
sleeps() {
    name=$1
    shift
    sent_before=$(sent 1)
    dropped_before=$(dropped 1)
    a perl flow.pl send level=1 priority=1 count=300 pid=flow.pid "$@" >flow.log &
    flow=$!
    wait_for 10 blocked 1
    waiting=$(queued 1)
    within "$name: the contents of its buffer are queued, beside the limit" 30 299 "$waiting"
    check "$name: it has not finished" kill -0 $flow
}
# ends NAME: it wakes, and no packet is lost.
ends() {
    change send-level 0
    wait_for 20 has_ended $flow
    contains "$1: it wakes, and has sent all" "sent=300 " "$(cat flow.log)"
    contains "$1: without an error" "errno=0" "$(cat flow.log)"
    must wait_for 10 all_left
    equal "$1: and no packet is lost" "300 0" \
        "$(($(sent 1) - sent_before)) $(($(dropped 1) - dropped_before))"
    change send-level 5
}
sleeps "UDP over IPv4"
ends "UDP over IPv4"
# shellcheck disable=SC2086 # words
{
    sleeps "a packet socket" family=packet $to
    ends "a packet socket"
}
for how in select poll epoll; do
    sleeps "$how" wait=$how
    ends "$how"
    within "$how: it gets EAGAIN" 1 300 "$(sed 's/.*again=\([0-9]*\).*/\1/' flow.log)"
done
check "reserved bytes are returned" wait_for 2 is_reserved 0

# The limit applies to other packets as before; they push out no protected packet.
sleeps "beside others"
send 3 30
equal "beside others: the limit counts only the others" "20 10" "$(queued 3) $(dropped 3)"
equal "beside others: they do not push out protected packets of a lower level" "$waiting" "$(queued 1)"
ends "beside others"
sent_before=$(sent 2)
a perl flow.pl send level=1 priority=2 count=60 sndbuf=150000 >flow.log
equal "above its level its packets are droppable" 40 "$(dropped 2)"
change send-level 0
change send-level 5

# While asleep.
sleeps "a time limit" timeout=$slow
wait_for $((10 + slow)) has_ended $flow
contains "a time limit: the send ends by SO_SNDTIMEO" "errno=$eagain" "$(cat flow.log)"
change send-level 0
must wait_for 10 all_left
change send-level 5
sleeps "a signal" alarm=$slow
wait_for $((10 + slow)) has_ended $flow
contains "a signal: it ends the send" "errno=$eintr" "$(cat flow.log)"
change send-level 0
must wait_for 10 all_left
change send-level 5
sleeps "a kill"
before=$(sent 1)
kill -9 "$(cat flow.pid)"
check "a kill: the process ends" wait_for 5 has_ended $flow
equal "a kill: its packets stay queued" "$waiting" "$(queued 1)"
refused "a kill: their bytes stay reserved" is_reserved 0
change send-level 0
must wait_for 10 all_left
equal "a kill: the packets are sent" "$waiting" "$(($(sent 1) - before))"
check "a kill: then the reserved bytes are returned" wait_for 5 is_reserved 0

# Four senders of one level, served in turns.
change send-level 5
for port in 1 2 3 4; do
    a perl flow.pl send level=1 priority=1 count=100000 port=700$port sndbuf=30000 pid=fair$port.pid >fair$port.log &
done
must wait_for 10 blocked 1
b perl -e 'socket(S, 17, 3, 0x0300) or die $!; my %n; my $all = 0; $| = 1; print STDERR "ready\n";
    while ($all < 1200 && defined recv(S, $_, 2000, 0)) {
        my $port = unpack("n", substr($_, 36, 2));
        next unless $port > 7000 && $port < 7005;
        $n{$port}++; $all++;
    }
    my @n = sort { $a <=> $b } values %n;
    print scalar(@n), " ", $n[0], "\n";' >fair.log 2>fair.ready &
counter=$!
must wait_for 10 grep -q ready fair.ready
change send-level 0
wait_for 60 has_ended $counter
equal "all four senders of a level are served" 4 "$(cut -d ' ' -f 1 fair.log)"
within "fairly, of 300 each" 200 300 "$(cut -d ' ' -f 2 fair.log)"
for port in 1 2 3 4; do kill "$(cat fair$port.pid)"; done

# TCP beside protected packets of its level: all of it is received.
must ip -n B address add 10.0.0.2/24 dev v0p
change limit 20
b perl -e 'socket(L, 2, 1, 0); setsockopt(L, 1, 2, pack("i", 1)); bind(L, pack("S n a4 x8", 2, 7009, "")) or die $!;
    listen(L, 1); print STDERR "ready\n"; accept(S, L); my $all = 0;
    while (my $n = sysread(S, $_, 65536)) { $all += $n; } print "$all\n";' >tcp.log 2>tcp.ready &
server=$!
must wait_for 10 grep -q ready tcp.ready
a perl flow.pl send level=1 count=300 >flow.log &
must a perl -e 'socket(S, 2, 1, 0); connect(S, pack("S n C4 x8", 2, 7009, 10, 0, 0, 2)) or die $!;
    syswrite(S, "x" x 10000) or die $! for 1 .. 50;'
wait_for 30 has_ended $server
equal "TCP loses nothing" 500000 "$(cat tcp.log)"

# IPv6 last: from now on its own frames may be sent in between.
must a sysctl -qw net.ipv6.conf.v0.disable_ipv6=0
must ip -n A address add fd00::1/64 dev v0 nodad
must ip -n A neighbour replace fd00::2 dev v0 lladdr "$peer" nud permanent
change limit 1000 send-level 5
sleeps "UDP over IPv6" family=6
ends "UDP over IPv6"

# A namespace is deleted while its sender sleeps.
change send-level 5 for $((3000 * slow))
sleeps "a namespace"
kill -9 "$(cat flow.pid)"
wire_down
check "a namespace is deleted with a sleeping sender" wait_for 10 no_port
end
