#!/bin/sh
# Hardware time stamps: of the same start of frame at both ends, the wire's delay apart.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
. /suite/lib
. /suite/wire.inc

wire_up
for delay in 0 50 123456; do
    set_a delay_ns "$delay"
    equal "the delay is the wire's: B shows A's" "$delay" "$(get_b delay_ns)"
    receive
    send --frames 50 --period 1ms --priority 0
    received
    wanted=$((delay + $(clock_difference)))
    # Both files are in order of sequence: paste them and compare the card's stamps.
    odd=$(awk -F, -v wanted="$wanted" "$NS"'
        FNR == 1 { next }
        NR == FNR { sent[$1] = $7; next }
        sent[$2] == "" || ns($5) - ns(sent[$2]) != wanted { odd++ }
        END { print odd + 0 }' tx.csv rx.csv)
    equal "delay $delay ns: all frames arrive" 50 "$(frames)"
    equal "delay $delay ns: each frame's stamps differ by it to the ns" 0 "$odd"
done
set_a delay_ns 0

# Ten frames of 42 + 1472 bytes wait for the first.
one_queue
set_a tx_stamp_slots 1
receive
hold
release_at 15140
send --frames 10 --period 100us --priority 0 --payload 1472
received
equal "with one slot, one of ten waiting frames gets a stamp" 1 \
    "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"
equal "and the others are counted" 9 "$(total_a stamp_skipped)"
equal "though all are sent" 10 "$(frames)"
set_a tx_stamp_slots 0
hold
release_at 30280
send --frames 20 --period 100us --priority 0 --payload 1472
equal "without a limit all get theirs" 20 "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"

contains "the PTP filters come down to version 2 events" "rx_filter 12" \
    "$(a hwstamp_ctl -i v0 -r 6 -t 1)"
contains "and stamps are on as asked" "tx_type 1" "$(a hwstamp_ctl -i v0)"
wire_down
end
