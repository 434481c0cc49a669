#!/bin/sh
# linuxptp over the wire: ptp4l and phc2sys lock, and are correct by wire time.
#
#     a0 (ns ptp-a, PHC drift 0, master) ────── b0 (ns ptp-b, PHC drift 40 ppm, 1 ms off)
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
# limit: 900
# long: PTP locks twice and is watched for 100 s
. /suite/lib
. /suite/ptp.inc

must modprobe vtsn
host ptp-a
host ptp-b
cable ptp-a a0 ptp-b b0
port ptp-a a0 phc_offset_ns 0
port ptp-b b0 phc_drift_ppb 40000

for profile in default gPTP; do
    case $profile in
        default)
            seconds=60
            settings='network_transport L2
logSyncInterval -3'
            ;;
        gPTP)
            seconds=20
            settings=$GPTP
            ;;
    esac
    printf '[global]\n%s\n' "$settings" >/tmp/ptp.cfg
    port ptp-b b0 phc_offset_ns 1000000
    # Checks the ground truth: 1 ms was set, minus drift and delay.
    watch before.txt 1 ptp-b b0
    within "$profile: before that the clocks are 1 ms apart" 900000 1200000 \
        "$(offsets before.txt 1 | head -n 1)"
    ptp ptp-a 100 a0
    ptp ptp-b 200 b0
    check "$profile: ptp4l is steady, its own rms below 10 ns for 5 s" \
        wait_for 90 steady ptp-b.ptp "$PTP_STEADY"
    # The system's clock follows B's NIC; PTP's time is taken as the system's.
    [ "$profile" = gPTP ] || phc2sys_at ptp-b -s b0 -c CLOCK_REALTIME -O 0
    watch truth.txt $seconds ptp-b b0
    at_most 10 "$profile: B's clock against A's for $seconds s, by the wire's time" $((4 * seconds)) \
        "$(offsets truth.txt 1 | summary)"
    if [ "$profile" = default ]; then
        check "phc2sys is steady" wait_for 30 steady ptp-b.phc2sys 'phc offset  *-*[0-9]\{1,2\} s2'
        # Offset of the NIC's clock from the system's CLOCK_TAI, at one instant.
        # shellcheck disable=SC2016 # expanded by the inner shell
        ip netns exec ptp-b sh -c 'n=80; while [ $n -gt 0 ]; do
            cat /sys/class/net/b0/vtsn/phc_offset_ns; sleep 0.25; n=$((n - 1)); done' >system.txt
        at_most 10 "phc2sys: the system's clock against B's for 20 s" 80 "$(summary <system.txt)"
        tail -n 2 ptp-b.phc2sys
    fi
    tail -n 2 ptp-b.ptp
    end_ptp
done

free_system_clock
must ip -n ptp-a link del a0
must ip netns del ptp-a
must ip netns del ptp-b
must rmmod vtsn
end
