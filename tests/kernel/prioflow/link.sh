#!/bin/sh
# Level frames: the peer sets the transmit level for a lifetime; frames that are not obeyed;
# devices that cannot have a link. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc

now_cs() { tr -d . </proc/uptime | cut -d ' ' -f 1; }

wire_up
prioflow by priority
inject 8808 "$(frame 5 1000 1)"
sleep 0.1
equal "without a link no frame is obeyed" 0 "$(transmit_level)"
refused "without a link a receive level is refused" a tc qdisc change dev v0 root prioflow receive-level 3

link_up
expect 5
peer_change receive-level 5
check "the peer sets the transmit level" wait_for 2 is_at 5
must wait_for 5 arrived
contains "with the frame of docs/protocol.md" \
    "0180c2000001$(plain "$peer")8808fffe02544a0105020064001f" "$(cat frame.hex)"
equal "of the length of MAC control frames" 120 "$(awk '{ print length($0) }' frame.hex)"
before=$(sent 4)
send 4 5
sleep 0.5
equal "packets below stay paused for longer than a lifetime" "0 5" "$(($(sent 4) - before)) $(queued 4)"
equal "because the peer refreshes its pause request" 1 "$(($(count received) > 10))"
change send-level 7
equal "the higher of send level and peer's level is in force" 7 "$(transmit_level)"
change send-level 2
check "whichever is higher" wait_for 2 is_at 5
change send-level 0
peer_change receive-level 3
check "the peer can request a lower level" wait_for 2 is_at 3
all_left() { [ "$(sent 4)" = $((before + 5)) ]; }
wait_for 2 all_left
equal "and queued packets are resumed" "5 0" "$(($(sent 4) - before)) $(queued 4)"
peer_change receive-level 6
must wait_for 2 is_at 6
peer_change receive-level 0
check "XON resumes all levels" wait_for 2 is_at 0
sent=$(b tc -s qdisc show dev v0p | grep -c 'sent 0 ')
sleep 0.3
after=$(count received)
sleep 0.3
within "after XON the peer sends hellos only" 0 1 $(($(count received) - after))
equal "and has sent some" 0 "$sent"
peer_change receive-level 6
must wait_for 2 is_at 6
expect 0
peer_change link off receive-level 0
check "a link that is disabled sends XON" wait_for 2 arrived
contains "by a frame of level 0" 8808fffe02544a0100 "$(cat frame.hex)"
peer_change link mac-control receive-level 6
must wait_for 2 is_at 6
must b tc qdisc del dev v0p root
check "after deletion of the peer's qdisc the request expires" wait_for 2 is_at 0
must b tc qdisc replace dev v0p root handle 1: prioflow

start=$(now_cs)
inject 8808 "$(frame 9 400 1)"
timely check "one frame sets the level" wait_for 2 is_at 9
check "the level expires after its lifetime" wait_for 2 is_at 0
timely within "not later, in centiseconds" 35 80 $(($(now_cs) - start))
inject 88b5 "$(frame 8 1000 2)"
timely check "frames with the experimental ethertype are obeyed, too" wait_for 2 is_at 8
peer_change link experimental receive-level 10
check "and a port can send them" wait_for 2 is_at 10
peer_change receive-level 15
must wait_for 2 is_at 15
check "level 15 is never paused" a arping -c 1 -w 2 -I v0 10.0.0.2
peer_change link off receive-level 0
must wait_for 2 is_at 0

# not_obeyed WHAT COUNTER COUNT: the frame was not obeyed, and is counted in COUNTER.
not_obeyed() {
    what=$1
    sleep 0.05
    equal "$what" "0 $3" "$(transmit_level) $(count "$2")"
}
inject 8808 "$(frame 16 100 20)"
not_obeyed "level 16 is not obeyed" malformed 1
inject 8808 "$(frame 5 0 21)"
not_obeyed "a level without lifetime is not obeyed" malformed 2
inject 8808 "$(frame 5 1001 22)"
not_obeyed "a lifetime that is too long is not obeyed" malformed 3
inject 8808 "$(frame 0 100 23)"
not_obeyed "level 0 with a lifetime is not obeyed" malformed 4
inject 8808 "$(frame 5 100 24 1 2)"
not_obeyed "another version is not obeyed" malformed 5
inject 8808 "$(frame 5 1000 25)" 0180c2000001 010000000001
not_obeyed "a group address as source is not obeyed" malformed 6
inject 8808 "$(frame 5 1000 26)" 0180c2000001 "$(plain "$(a cat /sys/class/net/v0/address)")"
not_obeyed "the port's own address as source is not obeyed" malformed 7
before=$(count received)
inject 8808 "$(frame 5 1000 27)" "$(plain "$(a cat /sys/class/net/v0/address)")"
inject 8808 "$(frame 5 1000 28)" ffffffffffff
inject 8808 "$(frame 5 1000 29)" 0180c200000e
inject 81000005 "8808$(frame 5 1000 30)"
inject 8808 "$(frame 5 1000 31 | sed s/02544a/00005e/)"
inject 8808 "fffe$(printf '%088x' 0)"
not_obeyed "frames with other addresses, tags or extensions are passed on" malformed 7
equal "and not counted" "$before" "$(count received)"

# stale SENTENCE LEVEL COUNT: the last frame was stale and has not changed the level.
stale() {
    sleep 0.05
    timely equal "$1" "$2" "$(transmit_level)"
    equal "$1, and is counted" "$3" "$(count stale)"
}
inject 8808 "$(frame 5 1000 4294967295 7)"
timely check "the first sequence number is arbitrary" wait_for 2 is_at 5
inject 8808 "$(frame 0 0 4294967290 7)"
stale "an older frame is not obeyed" 5 1
inject 8808 "$(frame 6 1000 0 7)"
timely check "sequence numbers wrap at 2^32" wait_for 1 is_at 6
inject 8808 "$(frame 4 1000 0 7)"
stale "a duplicate is not obeyed" 6 2
inject 8808 "$(frame 0 0 0 8)"
check "a new instance is obeyed at once" wait_for 1 is_at 0
equal "and not counted as stale" 2 "$(count stale)"

# Each frame twice: a guest sends hardly faster than the rate limit. A debug kernel sends
# more slowly even so.
must a ethtool -s v0 speed 1000 duplex full autoneg off
faults=/sys/kernel/debug/vtsn/ptp$(b ethtool -T v0p | sed -n 's/PTP Hardware Clock: //p')
limited() {
    must sh -c "echo 1000000 >$faults/duplicate_ppm"
    flood "0180c2000001$(plain "$peer")8808$(frame 5 100 1 9)" 5000
    must sh -c "echo 0 >$faults/duplicate_ppm"
    [ "$(count limited)" -gt 0 ]
}
timely check "frames above the rate limit are not obeyed" limited
must wait_for 2 is_at 0
inject 8808 "$(frame 5 500 9999 9)"
timely check "later frames are obeyed" wait_for 1 is_at 5
must wait_for 2 is_at 0

has_stormed() { [ "$(count storms)" -ge "$1" ]; }
change storm 300
peer_change link mac-control receive-level 5
timely check "a peer sets the level" wait_for 2 is_at 5
timely check "the pause-storm watchdog ignores its requests after the timeout" wait_for 2 is_at 0
check "the watchdog timeout is counted" wait_for 2 has_stormed 1
timely check "after the same time the requests are obeyed again" wait_for 2 is_at 5
check "and ignored again" wait_for 2 has_stormed 2
equal "the kernel log has it once" 1 "$(dmesg | grep -c 'prioflow: the peer has paused')"
change storm 0
must wait_for 2 is_at 5
sleep 1
check "without a watchdog the peer is obeyed without end" wait_for 1 is_at 5
stormed=$(count storms)
sleep 1
equal "and no timeout is counted" "$stormed" "$(count storms)"

# Frames of a level that may be sent are no progress of one that may not.
peer_change receive-level 1
must wait_for 2 is_at 1
stormed=$(count storms)
before=$(sent 5)
send 5 3000 &
sender=$!
flows() { [ "$(sent 5)" -gt $((before + 100)) ]; }
must wait_for 5 flows
change storm 300
check "a level is ignored although others are sent" wait_for $((2 * slow)) has_stormed $((stormed + 1))
wait $sender
peer_change link off receive-level 0
must wait_for 2 is_at 0

must ip -n A link add br0 type bridge
must ip -n A link set br0 up
must ip -n A link set v0 master br0
# The peer has sent its three XON frames by then.
sleep 0.3
before=$(count received)
inject 8808 "$(frame 5 1000 10000 9)"
sleep 0.05
equal "a bridge port receives level frames" $((before + 1)) "$(count received)"
timely check "and obeys them" wait_for 2 is_at 5
equal "the bridge does not receive them" 0 "$(a cat /sys/class/net/br0/statistics/multicast)"

# no_link DEVICE: can have prioflow, but no link; a refused change has no effect.
no_link() {
    must a tc qdisc replace dev "$1" root prioflow
    contains "a link on $1 is refused" "between the ends of one wire" \
        "$(a tc qdisc change dev "$1" root prioflow limit 7 link mac-control 2>&1)"
    check "and the refused change has no effect on $1" sh -c "! ip netns exec A tc qdisc show dev $1 | grep 'limit 7p'"
}
must ip -n A link add v0.5 link v0 type vlan id 5
for device in lo br0 v0.5; do no_link $device; done
# no_link_of DEVICE TYPE…: the same of a new device.
no_link_of() {
    device=$1
    shift
    if ip -n A link add "$device" "$@" 2>made.log; then
        no_link "$device"
        must ip -n A link del "$device"
    else
        skip "a link on $device is refused: this kernel has none: $(cat made.log)"
    fi
}
no_link_of bond0 type bond
# A device beneath one of these cannot be a bridge's port.
must ip -n A link set v0 nomaster
no_link_of macvlan0 link v0 type macvlan
no_link_of ipvlan0 link v0 type ipvlan
no_link_of macsec0 link v0 type macsec
no_link_of vxlan0 type vxlan id 7 remote 10.0.0.2 dstport 4789
wire_down
end
