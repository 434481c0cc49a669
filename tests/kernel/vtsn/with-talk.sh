#!/bin/sh
# What `teiji talk` reports of frames that were not transmitted on time: number, reason, and
# exit code (0 all on time, 3 some not, 1 none transmitted).
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# package: util-linux
# long: two dozen talkers of 300 frames and more
. /suite/lib
. /suite/wire.inc

period=$((1000 * slow))us
margin=$((20 * slow))ms

# defaults ARGUMENTS…: a talker's default arguments, except those given.
defaults() {
    for default in "--frames 300" "--period $period" "--priority 3" "--realtime 80"; do
        case " $* " in *" ${default%% *} "*) ;; *) echo "$default" ;; esac
    done
}

# says SENTENCE EXIT WORDS ARGUMENTS…: a talker of 300 frames ends with that exit code, and
# its output has WORDS.
says() {
    sentence=$1 exit=$2 words=$3
    shift 3
    a teiji talk v0 10.0.0.2 $(defaults "$@") "$@" >talk.log 2>&1
    code=$?
    equal "$sentence: exit code" "$exit" "$code"
    contains "$sentence" "$words" "$(cat talk.log)"
}
timed() { says "$@" --margin "$margin"; }

wire_up
three_classes
must a tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta $((10000000 * slow)) offload
deep_queues
set_a phc_offset_ns 0
# A timestamp for each queued frame with a launch time.
set_a tx_stamp_slots 0

timed 'all on time' 0 '300 frames transmitted on time (within'
says 'all on time on wake-up' 0 '300 frames transmitted on time (within' --priority 0
timed 'without timestamps that is unknown' 0 'unknown without timestamps' --no-stamps

set_a phc_offset_ns 2000000000
timed 'a PHC that is ahead' 3 ' ahead of CLOCK_TAI'
contains 'and every frame is late' '300 late: transmitted more than' "$(cat talk.log)"
says 'which does not matter on wake-up' 0 '300 frames transmitted on time' --priority 0

set_a phc_offset_ns -5000000000
timed 'a PHC that is far behind: nothing is transmitted' 1 ' behind CLOCK_TAI'
contains 'and no frame has a timestamp' '300 without transmit timestamp: the driver had them' "$(cat talk.log)"

# Within the horizon of a second the NIC accepts every launch time, by a wrong clock.
set_a phc_offset_ns -100000000
timed 'a PHC that is a tenth of a second behind' 3 'behind CLOCK_TAI' --frames 40 --period 20ms
contains 'and every frame is late by that' '40 late: transmitted more than' "$(cat talk.log)"
set_a phc_offset_ns -500000000
# Frames of a debug kernel have a longer period, and too few are kept at a time.
timely timed 'frames that the NIC keeps for so long fill the send buffer' 3 \
    'refused by the send call: Resource temporarily unavailable (errno 11)'
set_a phc_offset_ns 0

must sh -c "echo 1000000 >$(faults_a)/stamp_loss_ppm"
timed 'lost timestamps' 3 '300 without transmit timestamp: the driver had them, the NIC gave none'
must sh -c "echo 100000 >$(faults_a)/stamp_loss_ppm"
timed 'some lost timestamps' 3 'without transmit timestamp'
must sh -c "echo 0 >$(faults_a)/stamp_loss_ppm"
a teiji talk v0 10.0.0.2 --frames 3 --period $period --priority 0 --json >talk.json 2>talk.log
equal 'well done says nothing beside the JSON' '' "$(cat talk.log)"
contains 'which has the counts' '"on_time": 3' "$(cat talk.json)"

says 'frames without launch time where ETF wants one' 1 'etf drops frames without launch time'
# Handed over after their launch time.
says 'a margin that is too short' 1 'lengthen --margin' --margin 8us
contains 'and who dropped them' '300 dropped by ETF' "$(cat talk.log)"

# The class without qdisc: mqprio adds noop, which drops all without a message.
must a tc qdisc del dev v0 parent 100:1
timed 'a class without qdisc' 1 'they entered the qdisc and did not reach the driver'
says 'and so without launch times' 1 'one without settings (noop) drops all'

must a tc qdisc del dev v0 root
timed 'launch times that nobody keeps are early' 3 'no etf or taprio qdisc of v0 keeps launch times'

# A host that does not answer: the kernel queues the frames, then drops them.
a teiji talk v0 10.0.0.9 --frames 20 --period $period >talk.log 2>&1
equal 'a host that is not there: exit code' 1 $?
contains 'a host that is not there' '10.0.0.9 does not answer ARP' "$(cat talk.log)"

must ip -n B link set v0p down
says 'without carrier' 1 'v0 has no carrier'
must ip -n B link set v0p up

# Another thread has the CPU for a while, at a real-time priority above the talker's.
hog() { a chrt -f 90 sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'; }
says_late() {
    a teiji talk v0 10.0.0.2 --frames 2000 --period 1ms "$@" >talk.log 2>&1 &
    talker=$!
    sleep 0.5
    hog
    wait "$talker"
    equal "late frames of a busy CPU: exit code $*" 3 $?
    contains "are counted $*" 'the talker woke too late' "$(cat talk.log)"
    contains "with what to do $*" '--realtime 80' "$(cat talk.log)"
}
says_late
says_late --no-stamps
wire_down
end
