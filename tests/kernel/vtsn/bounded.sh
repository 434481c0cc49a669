#!/bin/sh
# The work with interrupts disabled is bounded, whatever the gate list, and however many frames
# are due at once.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_taprio
# package: iproute2
# package: ethtool
# package: perl-base
. /suite/lib
. /suite/wire.inc

# pour FRAMES QUEUE…: short raw frames into these queues.
pour() {
    # shellcheck disable=SC2016  # perl expands it; SO_SNDBUFFORCE, SO_PRIORITY
    must a perl -e 'my $frames = shift;
        open my $file, "/sys/class/net/v0/ifindex"; my $index = <$file>;
        my $to = pack("SnlSCCa8", 17, 0x88b5, $index, 0, 0, 6, "");
        my $frame = "\xff" x 6 . "\2" x 6 . "\x88\xb5" . "x" x 46;
        for my $queue (@ARGV) {
            socket(my $socket, 17, 3, 0) or die $!;
            setsockopt($socket, 1, 32, pack("i", 1 << 24)) or die $!;
            setsockopt($socket, 1, 12, pack("i", $queue)) or die $!;
            for (1 .. $frames) { send($socket, $frame, 0, $to) or die $!; }
        }' "$@"
}
ALL='0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15'
# A priority is a class is a queue.
gates() {
    # shellcheck disable=SC2086  # words
    must a tc qdisc replace dev v0 root handle 100: taprio num_tc 16 map $ALL \
        queues 1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7 1@8 1@9 1@10 1@11 1@12 1@13 1@14 1@15 \
        base-time 0 $1 flags 0x2
}
# long_list: queue 0 is open in every second of 1022 entries, the others in the last alone.
# tc's messages are too short for so many.
long_list() {
    # shellcheck disable=SC2016  # perl expands it
    must a perl -e '
        open my $file, "/sys/class/net/v0/ifindex"; my $index = <$file>;
        sub attribute { my ($type, $data) = @_;
            pack("SS", 4 + length $data, $type) . $data . "\0" x (-length($data) % 4) }
        sub entry { my ($gates, $ns) = @_;
            attribute(1, attribute(2, "\0") . attribute(3, pack("L", $gates)) . attribute(4, pack("L", $ns))) }
        my $list = join("", map { entry($_ % 2, 2000) } 1 .. 1022) . entry(0xfffe, 400000);
        my $request = pack("CxSlLLL", 0, 0, $index, 0x1000000, 0xffffffff, 0) .
            attribute(1, "taprio\0") .
            attribute(2, attribute(2, $list) . attribute(3, pack("q", 0)) . attribute(10, pack("L", 2)));
        socket(my $socket, 16, 3, 0) or die $!;
        send($socket, pack("LSSLL", 16 + length $request, 36, 0x505, 1, 0) . $request, 0) or die $!;
        recv($socket, my $answer, 65536, 0);
        $! = -unpack("x16l", $answer);
        die $! if $!;'
}
# all_sent FRAMES: since the counters were `sent` and `come`.
all_sent() { [ "$(total_a packets)" = $((sent + $1)) ]; }
come() { b ethtool -S v0p | awk '/^ *rx_(packets|overrun):/ { sum += $2 } END { print sum }'; }
all_come() { [ "$(come)" = $((come + $1)) ]; }

wire_up
rate 10000
must a ethtool -L v0 tx 16
must a ethtool -G v0 tx 4096
must b ethtool -G v0p rx 4096
gates "sched-entry S ffff 1000000"
a sh -c 'for limits in /sys/class/net/v0/queues/tx-*/byte_queue_limits; do
    echo 10000000 >$limits/limit_min
done'
pour 3 $ALL

# A frame is on the wire for 67 ns, less than it takes to compute.
gates "sched-entry S 0000 1000000"
sleep 0.1
sent=$(total_a packets) come=$(come)
pour 4000 0
equal "behind closed gates no frame is sent" 0 $(($(total_a packets) - sent))
gates "sched-entry S 0001 900000 sched-entry S 0000 100000"
check "4000 frames that are due together are sent" wait_for 20 all_sent 4000
check "and received" wait_for 20 all_come 4000
few=$(count_a longest_run)
within "with interrupts disabled a few at a time" 10 100 "$few"

gates "sched-entry S 0000 1000000"
sleep 0.1
sent=$(total_a packets) come=$(come)
# shellcheck disable=SC2086  # words
pour 200 ${ALL#0 }
pour 1000 0
long_list
check "frames of all queues are sent by a list of 1023 entries" wait_for 20 all_sent 4000
check "and received" wait_for 20 all_come 4000
most=$(count_a longest_run)
# A search looks at two cycles at most, and here at one.
within "with interrupts disabled it is searched once for each queue" "$few" $((few + 16 * 1030)) "$most"
echo "$few, with a long list $most"
wire_down
end
