#!/bin/sh
# Fault injection: each fault has its effect, is counted, and no frame is unaccounted for.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# fault NAME VALUE: 400 frames with it; then it is reset.
fault() {
    must sh -c "echo $2 >$faults/$1"
    crc=$(count_b rx_crc_errors)
    before=$(count_a "fault_$3")
    receive
    send --frames 400 --period 50us --priority 0
    received
    must sh -c "echo 0 >$faults/$1"
    number=$(($(count_a "fault_$3") - before))
    crc=$(($(count_b rx_crc_errors) - crc))
}

wire_up
faults=$(faults_a)
fault loss_ppm 100000 lost
within "a tenth of the frames is lost" 20 70 "$number"
equal "and no others" $((400 - number)) "$(frames)"
fault duplicate_ppm 100000 duplicated
within "a tenth is duplicated" 20 70 "$number"
equal "and no others" $((400 + number)) "$(frames)"
fault corrupt_ppm 100000 corrupted
within "a tenth is corrupted" 20 70 "$number"
equal "which the checksum shows" "$number" "$crc"
equal "and only the others are received" $((400 - number)) "$(frames)"
must sh -c "echo 20000000 >$faults/reorder_ns"
fault reorder_ppm 100000 reordered
within "a tenth is reordered" 20 70 "$number"
within "so that they are received out of order" 10 200 \
    "$(rx '$2 < highest { odd++ } $2 > highest { highest = $2 } END { print odd + 0 }')"
equal "and all are received" 400 "$(frames)"
fault jitter_ns 10000 delayed
equal "jitter loses nothing" 400 "$(frames)"
within "and delays by up to the setting" 5000 10001 \
    "$(awk -F, "$NS"'
        FNR == 1 { next }
        NR == FNR { sent[$1] = ns($7); next }
        { d = ns($5) - sent[$2] } !seen++ { low = high = d }
        d < low { low = d } d > high { high = d }
        END { print high - low }' tx.csv rx.csv)"
must sh -c "echo 1000000 >$faults/stamp_loss_ppm"
send --frames 10 --period 1ms --priority 0
equal "a lost time stamp is not reported" 0 "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"
equal "and is counted" 10 "$(total_a stamp_lost)"
must sh -c "echo 0 >$faults/stamp_loss_ppm"

# The same seed repeats the faults.
set -- 1 2
for round; do
    must sh -c "echo 7 >$faults/seed"
    fault loss_ppm 200000 lost
    rx '{ print $2 }' >"lost.$round"
done
equal "a seed repeats its faults" "" "$(cmp lost.1 lost.2 2>&1)"

# Two frames: byte queue limits stop the queue, and the stack's watchdog checks it.
hold
send --frames 2 --period 50us --priority 0 --no-stamps
timed_out() { [ "$(total_a timeouts)" -gt 0 ]; }
check "the stack's watchdog empties a stuck queue" wait_for 20 timed_out
release
receive
send --frames 10 --period 1ms --priority 0 --no-stamps
received
equal "afterwards frames are received again" 10 "$(frames)"
refused "more than a million in a million is refused" sh -c "echo 1000001 >$faults/loss_ppm"
wire_down
end
