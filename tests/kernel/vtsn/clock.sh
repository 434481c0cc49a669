#!/bin/sh
# A port's PTP hardware clock: setting, adjusting, drift and wander.
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

# run SECONDS: `gain` is the gain of A's clock on wire time in ns, over `elapsed` ns.
run() {
    set -- "$1" $(get_a phc)
    sleep "$1"
    set -- "$2" "$3" $(get_a phc)
    elapsed=$(($3 - $1))
    gain=$(($4 - $2 - elapsed))
}

wire_up
within "a new clock starts as CLOCK_TAI" -1 1 "$(get_a phc_offset_ns)"
run 2
equal "and runs at the rate of wire time" 0 "$gain"

set_a phc_drift_ppb 40000
run 2
within "an oscillator 40 ppm fast gains 40 us per second, to the ns" -1 1 \
    $((gain - elapsed / 25000))
must a phc_ctl v0 -- freq -40000
run 2
within "adjfine corrects the drift" -1 1 "$gain"
must a phc_ctl v0 -- freq 0
set_a phc_drift_ppb -100000
run 1
within "a slow oscillator loses" -1 1 $((gain + elapsed / 10000))
set_a phc_drift_ppb 0

# A triangle of 1000 ppb over 4 s gains 1000e-9 * 4 s / 4 in its first half. Read by one
# process, which takes hardly longer on a slow kernel.
set -- $(a sh -c 'cd /sys/class/net/v0/vtsn
    echo 1000 >phc_wander_ppb
    echo 4000 >phc_wander_period_ms
    for reading in 1 2 3; do read -r both <phc; echo "$both"; sleep 2; done')
within "a wander gains in the first half of its period" 900 1100 $(($4 - $2 - ($3 - $1)))
within "and loses it again in the second" -1100 -900 $(($6 - $4 - ($5 - $3)))
set_a phc_wander_ppb 0

set_a phc_offset_ns 5000000
within "an offset steps the clock" 4999999 5000001 "$(get_a phc_offset_ns)"
must a phc_ctl v0 -- adj -0.005
within "adjtime steps it back" -1 1 "$(get_a phc_offset_ns)"
must a phc_ctl v0 -- set 1000
within "settime sets it" 1000 1010 "$(get_a phc | awk '{ print int($2 / 1000000000) }')"
contains "the cross time stamp works" "offset from CLOCK_REALTIME" "$(a phc_ctl v0 -- cmp)"
echo -7000 >"$(faults_a)/phc_step_ns"
within "fault injection can step the clock" 1000 1011 "$(get_a phc | awk '{ print int($2 / 1000000000) }')"

# shellcheck disable=SC2016  # perl expands it; PTP_ENABLE_PPS, EOPNOTSUPP
equal "a pulse per second is not supported, and no more happens" 95 "$(a perl -e '
    open my $clock, "+<", shift or die $!;
    print ioctl($clock, 0x40043d04, 1) ? 0 : $! + 0' "/dev/ptp$(a ethtool -T v0 | sed -n 's/^PTP Hardware Clock: //p')")"
refused "a drift beyond 1000 ppm is refused" set_a phc_drift_ppb 1000001
refused "a word is refused as offset" set_a phc_offset_ns soon
refused "a frequency beyond the clock's range is refused" \
    sh -c 'ip netns exec A phc_ctl v0 -- freq 20000000 | grep -v failed'
wire_down
end
