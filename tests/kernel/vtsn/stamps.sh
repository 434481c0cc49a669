#!/bin/sh
# Hardware time stamps: of the same start of frame at both ends, apart by the wire's delay.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
# package: perl-base
. /suite/lib
. /suite/wire.inc

wire_up
for delay in 0 50 123456; do
    set_a delay_ns "$delay"
    equal "the delay is the wire's: both ends show the same" "$delay" "$(get_b delay_ns)"
    receive
    send --frames 50 --period 1ms --priority 0
    received
    wanted=$((delay + $(clock_difference)))
    # Both files are in order of sequence: paste them and compare the hardware stamps.
    odd=$(awk -F, -v wanted="$wanted" "$NS"'
        FNR == 1 { next }
        NR == FNR { sent[$1] = $7; next }
        sent[$2] == "" || ns($5) - ns(sent[$2]) != wanted { odd++ }
        END { print odd + 0 }' tx.csv rx.csv)
    equal "delay $delay ns: all frames are received" 50 "$(frames)"
    equal "delay $delay ns: each frame's stamps differ by it to the ns" 0 "$odd"
done
set_a delay_ns 0

# Ten frames of 42 + 1472 bytes are queued behind the first.
one_queue
set_a tx_stamp_slots 1
receive
hold
release_at 15140
send --frames 10 --period 100us --priority 0 --payload 1472
received
equal "with one slot, one of ten queued frames gets a stamp" 1 \
    "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"
equal "and the others are counted as skipped" 9 "$(total_a stamp_skipped)"
equal "though all are sent" 10 "$(frames)"
set_a tx_stamp_slots 0
hold
release_at 30280
send --frames 20 --period 100us --priority 0 --payload 1472
equal "without a limit all get one" 20 "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"

contains "the PTP filters become version 2 events" "rx_filter 12" \
    "$(a hwstamp_ctl -i v0 -r 6 -t 1)"
contains "and transmit stamps are on" "tx_type 1" "$(a hwstamp_ctl -i v0)"

# stamps FLAGS: the number of stamps that a socket with these SO_TIMESTAMPING flags gets of
# one frame.
stamps() {
    # shellcheck disable=SC2016  # perl expands it
    a perl -e 'socket(my $socket, 2, 2, 0) or die $!;
        setsockopt($socket, 1, 37, pack("i", shift)) or die $!;
        send($socket, "frame", 0, pack("S n C4 x8", 2, 9, 10, 0, 0, 2)) or die $!;
        sleep 1;
        $stamps++ while defined recv($socket, my $frame, 2000, 0x2040);
        print $stamps + 0' $(($1))
}
sw=0x12 hw=0x41 both=0x4000
equal "a socket gets the software stamp" 1 "$(stamps $sw)"
equal "or the hardware's" 1 "$(stamps $hw)"
equal "and the hardware's alone if it wants any" 1 "$(stamps "$sw | $hw")"
equal "but both if it says so" 2 "$(stamps "$sw | $hw | $both")"
wire_down
end
