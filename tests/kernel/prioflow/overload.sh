#!/bin/sh
# An overloaded processor does not end a pause that a port requests. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# package: util-linux
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

# A second CPU makes a guest much slower: the other scripts have one, and this one runs alone with
# two (crates/teiji-cli/tests/laboratory/kernel_modules.rs).
if [ "$(nproc)" = 1 ]; then
    skip "the sending thread moves to another processor: there is one only (--cpus 2)"
    end
fi
wire_up
link_up
peer_change receive-level 3
must wait_for 2 is_at 3
thread=$(b teiji flow status v0p --json | tr -d ' \n' | sed 's/.*"thread":\([0-9]*\).*/\1/')
contains "each link has a sending thread of real-time priority" "SCHED_FIFO" "$(chrt -p "$thread")"
must chrt -f -p 55 "$thread"
# A program of the highest priorities takes the processor of the timers for longer than a
# pause lasts: the sending thread moves to the other one. The ports' interrupts are there: on the
# overloaded one no frame would be received, and a pause that is not renewed ends.
for port in A/v0 B/v0p; do
    irq=$(ip netns exec ${port%/*} cat "/sys/class/net/${port#*/}/vtsn/irq")
    must sh -c "echo 1 >/proc/irq/$irq/smp_affinity_list"
done
must taskset -cp 1 $$
# shellcheck disable=SC2016  # perl expands it
taskset -c 0 chrt -f 60 perl -e 'use lib "/suite"; use Calls;
    select(undef, undef, undef, 0.3);
    my $end = monotonic() + 0.8; 1 while monotonic() < $end' &
hog=$!
# The sender waits in its namespace: a namespace cannot be entered while the kernel's threads do not run.
timely check "frames are sent while the processor is overloaded" \
    a sh -c "sleep 0.4; perl flow.pl send priority=1 count=20; sleep 0.3; kill -0 $hog"
timely equal "an overloaded processor does not end a pause" "0 20" "$(sent 1) $(queued 1)"
wait $hog
peer_change receive-level 0
must wait_for 2 is_at 0

# An ordinary program sends without end, and one of a real-time priority below the thread's takes its
# processor again and again, for longer than a pause lasts: mostly while it has the qdisc run, because so many
# packet sockets look at each frame on its way to the driver. The thread has the other processor.
must chrt -f -p 50 "$thread"
must taskset -cp 1 "$thread"
must a ethtool -s v0 speed 1000 duplex full autoneg off
peer_change receive-level 3
must wait_for 2 is_at 3
# shellcheck disable=SC2016  # perl expands it
b taskset -c 0 perl -e 'my $all = pack("S n l S C C a8", 17, 3, shift, 1, 0, 0, "");
    my @taps = map { my $tap; socket($tap, 17, 3, 0) && bind($tap, $all) or die $!; $tap } 1 .. 500;
    socket(S, 2, 2, 0) or die $!;
    open my $file, ">", "flood.pid"; print $file $$; close $file;
    while (1) { send(S, "x" x 1000, 0, pack("S n C4 x8", 2, 7001, 10, 0, 0, 1)); }' \
    "$(b cat /sys/class/net/v0p/ifindex)" >/dev/null 2>&1 &
flood=$!
# shellcheck disable=SC2016  # perl expands it
taskset -c 0 chrt -f 10 perl -e 'use lib "/suite"; use Calls;
    for my $round (1 .. 5) {
        select(undef, undef, undef, 0.05 + $round * 0.0003);
        my $end = monotonic() + 0.2; 1 while monotonic() < $end;
    }' &
hog=$!
timely check "frames are sent while a sender has the qdisc and no processor" \
    a sh -c "sleep 0.4; perl flow.pl send priority=1 count=20; sleep 0.6; kill -0 $hog"
timely equal "a sender that has the qdisc and no processor does not end a pause" "20 20" "$(sent 1) $(queued 1)"
wait $hog
must kill -9 "$(cat flood.pid)"
wait $flood
peer_change receive-level 0
must wait_for 2 is_at 0
wire_down
end
