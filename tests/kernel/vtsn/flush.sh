#!/bin/sh
# Rings that change, and a port that goes down, while frames with time stamps are queued and
# sent ones are being completed.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
# package: perl-base
# package: util-linux
. /suite/lib
. /suite/wire.inc

wire_up
one_queue
rate 10
set_a tx_stamp_slots 0
must a hwstamp_ctl -i v0 -t 1 -r 0
# Polled by a thread that others delay: its work is half done when the port stops.
must a sh -c 'echo 1 >/sys/class/net/v0/threaded'
must chrt --idle --pid 0 "$(grep -l '^napi/v0-' /proc/[0-9]*/comm | cut -d / -f 3)"

# flood: frames that want hardware stamps, as many as the send buffer takes, while `flooded`
# exists; prints how many stamps there were.
flood() {
    # shellcheck disable=SC2016  # perl expands it
    a perl -e 'socket(my $socket, 2, 2, 0) or die $!;
        setsockopt($socket, 1, 37, pack("i", 0x41)) or die $!;
        my ($to, $stamps) = (pack("S n C4 x8", 2, 9, 10, 0, 0, 2), 0);
        while (-e "flooded") {
            send($socket, "frame" x 200, 0x40, $to) for 1 .. 50;
            $stamps++ while defined recv($socket, my $frame, 2000, 0x2040);
        }
        print $stamps'
}
buffers() { awk '$1 == "skbuff_head_cache" { print $2 }' /proc/slabinfo; }
more() { [ "$(total_a packets)" -gt $((packets + $1)) ]; }

# under_flood WHAT COMMAND…: again and again.
under_flood() {
    what=$1
    shift
    : >flooded
    packets=$(total_a packets) dropped=$(total_a flushed) buffers=$(buffers) round=0
    flood >stamps &
    must wait_for 20 more 20
    while [ $round -lt 10 ]; do
        round=$((round + 1))
        "$@"
        sleep 0.01
    done
    rm flooded
    wait
    sleep 0.5
    packets=$(($(total_a packets) - packets))
    dropped=$(($(total_a flushed) - dropped))
    echo "$packets packets, $dropped dropped, $(cat stamps) stamps, buffers: $buffers, $(buffers)"
    timely within "$what under a stamped flood: queued frames are dropped" 5 100000 "$dropped"
    within "sent frames get stamps, and only they" 20 "$packets" "$(cat stamps)"
    # Some are cached for each CPU.
    timely within "and no frame's buffers are left" -5000 200 $(($(buffers) - buffers))
}
resize() { must a ethtool -G v0 tx $((round % 2 ? 256 : 512)); }
down_and_up() {
    must ip -n A link set v0 down
    must ip -n A link set v0 up
    must ip -n A neighbour replace 10.0.0.2 dev v0 lladdr "$peer" nud permanent
}
peer=$(b cat /sys/class/net/v0p/address)
under_flood "rings change" resize
under_flood "the port goes down and up" down_and_up
wire_down
end
