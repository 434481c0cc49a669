#!/bin/sh
# GSO packets are queued as single frames: for limits, for a rising transmit level, for
# higher levels, and for opted-in senders. Topology in
# port.inc.
#
# module: vtsn
# module: prioflow
# module: sch_prio
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

# large LEVEL [OPT]: 40 frames of 1000 octets in one send; opted in with a second word.
large() {
    a perl -e 'my ($level, $opt) = @ARGV;
        socket(my $s, 2, 2, 0) or die "socket: $!";
        setsockopt($s, 1, 12, pack("i", $level)) or die "priority: $!";
        setsockopt($s, 17, 103, pack("i", 1000)) or die "UDP_SEGMENT: $!";
        !$opt || setsockopt($s, 0, 0x5470, pack("l l L4 Q", 3, -1, (0) x 5)) or die "opt in: $!";
        send($s, "x" x 40000, 0, pack("S n C4 x8", 2, 7001, 10, 0, 0, 2)) or die "send: $!";' "$@"
}
all_left() { [ "$(queued 1)" = 0 ]; }

wire_up
# There are no replies.
must ip -n B address del 10.0.0.2/24 dev v0p
# At most two frames in the ring: these cannot be paused.
for limit in $(a sh -c 'ls -d /sys/class/net/v0/queues/tx-*/byte_queue_limits'); do
    a sh -c "echo 2000 >$limit/limit_max"
done
prioflow limit 100 by priority send-level 5
must large 1
equal "one send is 40 frames" 40 "$(queued 1)"
before=$(came)
# In one process: 40 frames take 35 ms.
printf 'qdisc change dev v0 root prioflow send-level %s\n' 0 5 | a tc -batch -
timely within "a rising level pauses the rest" 1 39 "$(sent 1)"
large 6
timely check "a higher level is sent before them" wait_for 1 has_come $((before + $(sent 1) + 40))
change send-level 0
must wait_for 10 all_left
check "at the end all are received" wait_for 5 has_come $((before + 80))

prioflow limit 10 by priority send-level 5
left=$(sent 1) lost=$(dropped 1)
must large 1
equal "the limit counts frames" "10 30" "$(queued 1) $(($(dropped 1) - lost))"
large 3
equal "and higher levels push them out" "0 10" "$(queued 1) $(queued 3)"
change send-level 0
must wait_for 10 all_left
change send-level 5
lost=$(dropped 1)
must large 1 opt
equal "no frame of an opted-in sender is dropped" "40 0" "$(queued 1) $(($(dropped 1) - lost))"
change send-level 0
check "and all are sent" wait_for 10 all_left

# A parent's counts are those of its child.
must a tc qdisc replace dev v0 root handle 3: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
must a tc qdisc replace dev v0 parent 3:1 handle 1: prioflow limit 100 by priority send-level 5
of_parent() { a tc -s qdisc show dev v0 | awk '/^qdisc/ { on = $2 == "prio" } on && $1 == "backlog" { print $3 + 0 }'; }
must large 1
equal "a parent counts frames, too" 40 "$(of_parent)"
must a tc qdisc change dev v0 parent 3:1 handle 1: prioflow send-level 0
parent_empty() { [ "$(of_parent)" = 0 ]; }
check "and none when all are sent" wait_for 10 parent_empty
wire_down
end
