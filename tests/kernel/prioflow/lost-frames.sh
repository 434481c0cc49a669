#!/bin/sh
# Lost level frames and an interrupted carrier do not cost a packet. Topology in port.inc; the wire
# loses frames of B, which sends nothing but level frames.
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

frames_sent() { b tc -s qdisc show dev v0p | sed -n 's/^ level frames: sent \([0-9]*\).*/\1/p'; }

wire_up
link_up
must b tc qdisc change dev v0p root prioflow by priority
must a ethtool -s v0 speed 100 duplex full autoneg off
must sysctl -qw net.core.rmem_max=2000000
faults=/sys/kernel/debug/vtsn/ptp$(b ethtool -T v0p | sed -n 's/PTP Hardware Clock: //p')
fault() { must sh -c "echo $2 >$faults/$1"; }
lost() { b ethtool -S v0p | awk '$1 == "fault_lost:" { print $2 }'; }

# flow COUNT: a flood to a slow reader; datagrams received, and XOFFs sent.
flow() {
    b perl flow.pl receive level=2 payload=1000 count="$1" every=20 pause=0.004 idle=2 rcvbuf=300000 >reader.log &
    reader=$!
    must wait_for 10 grep -q ready reader.log
    a perl flow.pl send level=2 priority=2 count="$1" >/dev/null
    wait $reader
    sed -n 's/^came=\([0-9]*\) asks=\([0-9]*\).*/\1 \2/p' reader.log
}
lossless() {
    # shellcheck disable=SC2046  # two numbers
    set -- "$1" "$2" $(flow "$2")
    timely equal "$1: all datagrams come" "$2" "$3"
    timely within "$1: the reader has paused its peer often" 10 100000 "$4"
}
lossless "without faults" 3000
before=$(lost)
fault loss_ppm 50000
lossless "5 % of the level frames are lost" 6000
timely within "and were lost" 5 100000 $(($(lost) - before))
fault loss_ppm 200000
lossless "20 % of the level frames are lost" 3000

# 27 of 1000 requests are late at 30 %, if each frame is lost for itself: three within the reaction
# time, 1 ms, in which 12 datagrams come. Twice that is chance.
fault loss_ppm 300000
# shellcheck disable=SC2046  # two numbers
set -- $(flow 6000)
timely within "30 % are lost: no more datagrams than late requests explain" \
    $((6000 - $2 * 27 * 12 * 2 / 1000)) 6000 "$1"
echo "30 % of the level frames lost: $1 of 6000 came, $2 requests"
fault loss_ppm 0

# XOFF is repeated within the reaction time, and then more and more seldom.
before=$(frames_sent)
peer_change receive-level 3
sleep 0.02
peer_change receive-level 0
sleep 0.02
timely within "one pause of 20 ms is 8 frames, its end 3" 8 14 $(($(frames_sent) - before))

# The carrier is interrupted while the reader has paused its peer.
peer_change receive-level 3
must wait_for 2 is_at 3
must ip -n A link set v0 down
sleep 0.3
must ip -n A link set v0 up
check "a pause is requested again when the carrier returns" wait_for 1 is_at 3
peer_change receive-level 0
must wait_for 2 is_at 0

wire_down
end
