#!/bin/sh
# A boundary clock over three hosts: A synchronises C through B's two ports.
#
#     ptp-a: a0 ────── b0 :ptp-b: b1 ────── c0 :ptp-c
#     drift 0      40 ppm        -25 ppm    -40 ppm
#
# Each port has its own clock: B's ptp4l has boundary_clock_jbod, and its phc2sys
# synchronises b1's clock with b0's.
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
# limit: 900
# long: PTP locks over three hosts and is watched for 30 s
. /suite/lib
. /suite/ptp.inc

must modprobe vtsn
host ptp-a
host ptp-b
host ptp-c
cable ptp-a a0 ptp-b b0
cable ptp-b b1 ptp-c c0
port ptp-a a0 phc_offset_ns 0
port ptp-b b0 phc_drift_ppb 40000
port ptp-b b1 phc_drift_ppb -25000
port ptp-c c0 phc_drift_ppb -40000
port ptp-c c0 phc_offset_ns 1000000

printf '[global]\nboundary_clock_jbod 1\n%s\n' "$GPTP" >/tmp/ptp.cfg
ptp ptp-a 100 a0
ptp ptp-b 200 b0 b1
phc2sys_at ptp-b -a --transportSpecific=0x1 -z /tmp/ptp-b.uds
ptp ptp-c 250 c0
check "B is steady according to its ptp4l" wait_for 90 steady ptp-b.ptp "$PTP_STEADY"
check "C is steady according to its ptp4l" wait_for 90 steady ptp-c.ptp "$PTP_STEADY"
check "B's phc2sys is steady" wait_for 30 steady ptp-b.phc2sys 'phc offset  *-*[0-9] s2'
watch c.txt 30 ptp-c c0 &
watch b.txt 30 ptp-b b0 b1
wait $!
offsets b.txt 1 >b0.txt
offsets b.txt 2 >b1.txt
offsets c.txt 1 >c0.txt
# Line by line at the same time, to a tenth of a second: with a rate error of 1 ppb
# 0.1 ns.
paste c0.txt b1.txt | awk '{ print $1 - $2 }' >hop.txt
at_most 10 "b0 against A's clock for 30 s, by the wire's time" 120 "$(summary <b0.txt)"
# C follows phc2sys's corrections of b1's clock, which vary where its calls are slow.
at_most $((10 * slow)) "c0 against b1's clock" 120 "$(summary <hop.txt)"
# phc2sys reads one clock between two readings of the other, 2.8 us apart, and takes their
# middle as the instant: its error is the difference between the three calls.
at_most $((100 * slow)) "c0 against A's clock, through phc2sys" 120 "$(summary <c0.txt)"
tail -n 2 ptp-b.ptp ptp-c.ptp ptp-b.phc2sys
end_ptp
must ip -n ptp-a link del a0
must ip -n ptp-b link del b1
for name in ptp-a ptp-b ptp-c; do must ip netns del $name; done
must rmmod vtsn
end
