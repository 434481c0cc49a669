#!/bin/sh
# From socket to socket over a wire of 100 Mbit/s (10 on slower kernels): a tight send loop against
# a slower reader. Without flow control frames are lost, and counted where; with it none is.
# Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# long: floods of 20 000 frames
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

frames=20000 rate=100 pause=0.005 fast_pause=0.02
[ $slow -eq 1 ] || frames=1000 rate=10 pause=1 fast_pause=1
# over WORDS…: so many datagrams of 1200 octets to a reader that sleeps after each 20; both opt
# in if a level is among the words. The number of received ones is in $came.
over() {
    sent_before=$(sent 0)
    dropped_before=$(dropped 0)
    overflowed_before=$(overflowed)
    b perl flow.pl receive payload=1200 count=$frames pause=$pause idle=3 "$@" >reader.log &
    reader=$!
    must wait_for 10 grep -q ready reader.log
    a perl flow.pl send size=1200 count=$frames sndbuf=200000 "$@" >flow.log &
    wait_for 300 has_ended $!
    wait_for 300 has_ended $reader
    equal "all are sent" "sent=$frames again=0 errno=0" "$(cat flow.log)"
    came=$(sed -n 's/came=\([0-9]*\) .*/\1/p' reader.log)
    dropped=$(($(dropped 0) - dropped_before))
    overflowed=$(($(overflowed) - overflowed_before))
}

wire_up
must a ethtool -s v0 speed $rate duplex full autoneg off
prioflow limit 50 link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control

over
timely within "without flow control the sender's queue drops packets" 1 $frames "$dropped"
within "and so does the reader's socket" 1 $frames "$overflowed"
equal "no frame is lost elsewhere" $frames $((came + dropped + overflowed))
equal "and no level was paused" 0 \
    "$(a tc -s qdisc show dev v0 | awk '$6 ~ /^[0-9]+x$/ { pauses += $6 } END { print pauses + 0 }')"

over level=0
timely equal "with flow control all are received" "$frames 0 0" "$came $dropped $overflowed"
within "because the reader has sent XOFF" 1 $frames "$(sed -n 's/.*asks=\([0-9]*\).*/\1/p' reader.log)"
within "and the sender's port was paused" 1 1000000 "$(count received)"
equal "the sender's queue is empty" "$frames 0" "$(($(sent 0) - sent_before)) $(queued 0)"

over level=0 every=1000 pause=0.5
timely equal "all are received with long pauses, too" "$frames 0 0" "$came $dropped $overflowed"
check "at the end no level is paused" wait_for 2 is_at 0

# At 10 Gbit/s the link carries more in a reaction time than a default buffer holds.
must sysctl -qw net.core.rmem_max=8000000
must a ethtool -s v0 speed 10000 duplex full autoneg off
must a tc qdisc change dev v0 root prioflow reaction 200
must b tc qdisc change dev v0p root prioflow reaction 200
over level=0 rcvbuf=600000 pause=$fast_pause every=200
timely equal "all are received at 10 Gbit/s" "$frames 0 0" "$came $dropped $overflowed"
within "because the reader has sent XOFF there, too" 1 $frames "$(sed -n 's/.*asks=\([0-9]*\).*/\1/p' reader.log)"
wire_down
end
