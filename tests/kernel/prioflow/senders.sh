#!/bin/sh
# Senders that opt in are never dropped: they sleep, or are told EAGAIN and woken. Who may,
# and up to what. Topology in port.inc.
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
# A process that nobody has waited for is gone, too.
gone() { ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null; }
all_left() { [ "$(queued 1)" = 0 ]; }

wire_up
index=$(a cat /sys/class/net/v0/ifindex)
mac=$(a cat /sys/class/net/v0/address | tr -d :)
to="to=$(echo "$peer" | tr -d :) from=$mac index=$index"
# Nobody has the addresses they are for, so that nobody answers.
must ip -n B address del 10.0.0.2/24 dev v0p

# What may not be.
equal "nothing is open at first" "refused errno=$eperm" "$(a perl flow.pl ask level=0 uid=1000)"
sysctl_a open_levels=4
contains "levels are opened for all" "3,-1," "$(a perl flow.pl ask level=3 uid=1000)"
equal "up to one" "refused errno=$eperm" "$(a perl flow.pl ask level=4 uid=1000)"
contains "CAP_NET_ADMIN opens the others" "15,-1," "$(a perl flow.pl ask level=15)"
refused "there are no more than 16" a sysctl -qw net.prioflow.open_levels=17
equal "there is no level 16" "refused errno=$erange" "$(a perl flow.pl ask level=16)"
equal "nor one below none" "refused errno=$erange" "$(a perl flow.pl ask level=-2)"
equal "TCP is left alone" "refused errno=$eopnotsupp" "$(a perl flow.pl ask level=1 family=tcp)"
equal "so are raw sockets" "refused errno=$eopnotsupp" "$(a perl flow.pl ask level=1 family=raw)"
equal "another size is not the structure" "refused errno=$einval" "$(a perl flow.pl ask level=1 long=1)"
equal "no descriptor" "refused errno=$ebadf" "$(a perl flow.pl ask level=1 fd=77)"
equal "one of something else" "refused errno=88" "$(a perl flow.pl ask level=1 fd=1)"
sysctl_a send_room=500000
equal "who finds no room is refused" "refused errno=$enobufs" "$(a perl flow.pl ask level=1 sndbuf=100000)"
equal "with the numbers" "-1,-1,531072,200000,500000,0,0 errno=0" "$(a perl flow.pl ask sndbuf=100000)"
check "and nothing stays reserved" is_reserved 0
sysctl_a send_room=16777216

# Who has not opted in, and who has.
prioflow limit 20 by priority send-level 5
a perl flow.pl send priority=1 count=100 sndbuf=150000 >plain.log &
plain=$!
wait_for 20 gone $plain
equal "who has not opted in is told nothing" "sent=100 again=0 errno=0" "$(cat plain.log)"
equal "and dropped" "20 80" "$(queued 1) $(dropped 1)"
change send-level 0
must wait_for 10 all_left
change send-level 5
# sleeps NAME WORDS…: an opted-in sender of 300 sleeps, with more under way than the limit.
sleeps() {
    name=$1
    shift
    sent_before=$(sent 1)
    dropped_before=$(dropped 1)
    a perl flow.pl send level=1 priority=1 count=300 pid=flow.pid "$@" >flow.log &
    flow=$!
    wait_for 10 blocked 1
    waiting=$(queued 1)
    within "$name: what its buffer holds waits, beside the limit" 30 299 "$waiting"
    check "$name: it has not come to its end" kill -0 $flow
}
# ends NAME: it wakes, and nothing is lost.
ends() {
    change send-level 0
    wait_for 20 gone $flow
    contains "$1: it wakes, and has sent all" "sent=300 " "$(cat flow.log)"
    contains "$1: without an error" "errno=0" "$(cat flow.log)"
    must wait_for 10 all_left
    equal "$1: and nothing is lost" "300 0" \
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
    within "$how: it was told EAGAIN" 1 300 "$(sed 's/.*again=\([0-9]*\).*/\1/' flow.log)"
done
check "what was reserved is given back" wait_for 2 is_reserved 0

# Others find the limit as it was, and push out none of them.
sleeps "beside others"
send 3 30
equal "beside others: the limit is theirs alone" "20 10" "$(queued 3) $(dropped 3)"
equal "beside others: nothing of a lower level makes room" "$waiting" "$(queued 1)"
ends "beside others"
sent_before=$(sent 2)
a perl flow.pl send level=1 priority=2 count=60 sndbuf=150000 >flow.log
equal "above its level it is as any other" 40 "$(dropped 2)"
change send-level 0
change send-level 5

# While asleep.
sleeps "a time limit" timeout=$slow
wait_for $((10 + slow)) gone $flow
contains "a time limit: the send ends by SO_SNDTIMEO" "errno=$eagain" "$(cat flow.log)"
change send-level 0
must wait_for 10 all_left
change send-level 5
sleeps "a signal" alarm=$slow
wait_for $((10 + slow)) gone $flow
contains "a signal: the send ends by it" "errno=$eintr" "$(cat flow.log)"
change send-level 0
must wait_for 10 all_left
change send-level 5
sleeps "a kill"
before=$(sent 1)
kill -9 "$(cat flow.pid)"
check "a kill: it ends" wait_for 5 gone $flow
equal "a kill: what it sent still waits" "$waiting" "$(queued 1)"
refused "a kill: and is still reserved" is_reserved 0
change send-level 0
must wait_for 10 all_left
equal "a kill: and leaves" "$waiting" "$(($(sent 1) - before))"
check "a kill: then the room is free" wait_for 5 is_reserved 0

# Four senders of one level that wake by turns.
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
wait_for 60 gone $counter
equal "all four of a level come on" 4 "$(cut -d ' ' -f 1 fair.log)"
within "and none is left behind, of 300" 200 300 "$(cut -d ' ' -f 2 fair.log)"
for port in 1 2 3 4; do kill "$(cat fair$port.pid)"; done

# TCP with others of its level that are never dropped: all of it comes.
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
wait_for 30 gone $server
equal "TCP is never harmed" 500000 "$(cat tcp.log)"

# IPv6 last: from now on frames of its own may come between.
must a sysctl -qw net.ipv6.conf.v0.disable_ipv6=0
must ip -n A address add fd00::1/64 dev v0 nodad
must ip -n A neighbour replace fd00::2 dev v0 lladdr "$peer" nud permanent
change limit 1000 send-level 5
sleeps "UDP over IPv6" family=6
ends "UDP over IPv6"

# A namespace dies while its sender sleeps.
change send-level 5 for $((3000 * slow))
sleeps "a namespace"
kill -9 "$(cat flow.pid)"
wire_down
check "a namespace dies with a sleeping sender" wait_for 10 no_port
end
