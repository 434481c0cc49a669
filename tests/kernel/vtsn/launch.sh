#!/bin/sh
# Launch times: frames are sent at their launch time, and exceptions are counted.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# The stamp is of the start of frame: 8 byte times after the start of the preamble.
SFD=64

# departures: number of frames not sent in time, by rx's `off`.
odd_departures() { rx "NR > 1 { off = at - due - $SFD - $lead; if ($1) odd++ } END { print odd + 0 }"; }

# timed FRAMES ARGUMENTS…: frames with launch times, 1 ms apart; all times are `slow`.
timed() {
    frames=$1
    shift
    receive
    send --frames "$frames" --period ${slow}ms --margin $((20 * slow))ms --priority 3 --realtime 80 "$@"
    received
    lead=$(clock_difference)
}

# amid COMMAND…: runs it once twenty of the frames sent from now on have been transmitted.
amid() {
    sent=$(total_a packets)
    wait_for 60 twenty_left
    "$@"
}
twenty_left() { [ "$(total_a packets)" -ge $((sent + 20)) ]; }

wire_up
set_a delay_ns 0
set_a phc_offset_ns 0
set_b phc_offset_ns 0
three_classes
must a tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta $((10000000 * slow)) offload
deep_queues
contains "tc shows the offload" "offload on" "$(a tc qdisc show dev v0)"
early=$(get_a phc_offset_ns)

timed 300
equal "all timed frames are received" 300 "$(frames)"
equal "each is sent at its launch time, to 2 ns" 0 "$(odd_departures 'off < -2 || off > 2')"
equal "none is late" "0 0" "$(count_a tx0_launch_late) $(count_a tx0_launch_delayed)"

set_a launch_resolution_ns 32
timed 100 --period $((1000007 * slow))ns
equal "with the i210's 32 ns they are sent up to 31 ns early" 0 \
    "$(odd_departures 'off < -33 || off > 2')"
set_a launch_resolution_ns 1

# With a clock ahead of the system's, every launch time has passed.
set_a phc_offset_ns $((50000000 * slow))
timed 20
equal "frames whose launch time has passed are sent at once" 20 "$(frames)"
equal "and counted as late" 20 "$(count_a tx0_launch_late)"

# With a clock far behind, launch times are in the far future.
set_a phc_offset_ns -2000000000
timed 20
equal "frames beyond the horizon are not sent" 0 "$(frames)"
equal "and each frame is counted" 20 "$(count_a tx0_launch_horizon)"
equal "also by the device" 20 "$(a cat /sys/class/net/v0/statistics/tx_dropped)"

# The clock is set back while frames are queued in the NIC.
set_a phc_offset_ns "$early"
before=$(count_a tx0_launch_horizon)
back_and_forth() {
    set_a phc_offset_ns -3000000000
    sleep 0.1
    set_a phc_offset_ns "$early"
}
amid back_and_forth &
timed 700
gone=$(($(count_a tx0_launch_horizon) - before))
within "queued frames are dropped and counted when the clock is set back" 1 200 "$gone"
equal "all others are received" $((700 - gone)) "$(frames)"

# Another frame occupies the MAC.
hold_for_a_while() {
    hold
    sleep 0.05
    release
}
amid hold_for_a_while &
before=$(count_a tx0_launch_delayed)
timed 700
equal "delayed frames are sent in the end" 700 "$(frames)"
within "and are counted as delayed" 20 150 $(($(count_a tx0_launch_delayed) - before))

must a tc qdisc del dev v0 root
timed 20
equal "without ETF offload the NIC ignores launch times" 20 "$(frames)"
wire_down
end
