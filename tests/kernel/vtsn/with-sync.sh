#!/bin/sh
# `teiji talk --sync-within` with linuxptp: it waits while ptp4l has no master, sends once PHC
# and CLOCK_TAI agree, and gives up if somebody has put the PHC off.
#
#     A (ptp4l client, phc2sys) ────── B (ptp4l grandmaster), topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: linuxptp
. /suite/lib
. /suite/wire.inc
. /suite/ptp.inc

period=$((1000 * slow))us

# talk LIMIT: ten frames, once PHC and CLOCK_TAI are within 1 µs.
talk() {
    a teiji talk v0 10.0.0.2 --frames 10 --period $period --realtime 80 \
        --sync-within 1us --sync-limit "$1" >talk.log 2>&1
}
# gives_up SENTENCE PART: and sends nothing.
gives_up() {
    talk 3s
    equal "$1: exit code" 1 $?
    contains "$1: why" "not synchronised within 1 µs after 3 s: the PHC of v0 is" "$(cat talk.log)"
    contains "$1" "$2" "$(cat talk.log)"
}
# ptp4l of A has no settings of its own, so that pmc finds it.
client() {
    a ptp4l -f /tmp/ptp.cfg -i v0 -m -s >A.ptp 2>&1 &
    daemons="$! $daemons"
}

mkdir -p /var/run
wire_up
set_a phc_offset_ns 3000000
set_b phc_offset_ns 0
gives_up 'a PHC that is 3 ms ahead' ' ahead of CLOCK_TAI; ptp4l'"'"'s offset is unknown'
set_a phc_offset_ns -3000000
gives_up 'a PHC that is 3 ms behind' ' behind CLOCK_TAI'

for profile in default gPTP; do
    case $profile in
        default) settings='network_transport L2' ;;
        gPTP) settings=$GPTP ;;
    esac
    printf '[global]\n%s\n' "$settings" >/tmp/ptp.cfg
    # PHC and CLOCK_TAI agree by chance; no master is there to say whether they are right.
    set_a phc_offset_ns 0
    client
    must wait_for 20 grep -q LISTENING A.ptp
    gives_up "$profile: a client without master" 'ptp4l has not locked on to a master'

    set_a phc_offset_ns 2000000
    talk 200s &
    talker=$!
    phc2sys_at A -s v0 -c CLOCK_REALTIME -O 0
    ptp B 100 v0p
    wait "$talker"
    equal "$profile: synchronised, it sends: exit code" 0 $?
    contains "$profile: its offset is small" "from its master" "$(grep '^synchronised: ' talk.log)"
    contains "$profile: all frames" '10 frames transmitted on time' "$(cat talk.log)"
    contains "$profile: ptp4l has locked before" ' to SLAVE on' "$(cat A.ptp)"
    tail -n 1 A.ptp
    contains "$profile: top asks ptp4l, too" 'PTP    ptp4l is ' "$(a teiji top v0 --count 4)"

    must a phc_ctl v0 -- adj 0.005
    gives_up "$profile: a PHC put off by hand" 'from its master'
    end_ptp
    must a phc_ctl v0 -- freq 0
    free_system_clock
done
wire_down
end
