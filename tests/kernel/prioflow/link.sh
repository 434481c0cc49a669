#!/bin/sh
# Level frames: the peer sets the transmit level, for a while; what is not obeyed, and
# where it cannot be. Topology in port.inc.
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
say 8808 "$(frame 5 1000 1)"
sleep 0.1
equal "without a link nobody is obeyed" 0 "$(transmit_level)"
refused "nor can anything be asked" a tc qdisc change dev v0 root prioflow receive-level 3

link_up
expect 5
peer_change receive-level 5
check "the peer sets the transmit level" wait_for 2 is_at 5
must wait_for 5 arrived
contains "by the frame of docs/protocol.md" \
    "0180c2000001$(plain "$peer")8808fffe02544a01050000640000" "$(cat frame.hex)"
equal "which is as long as MAC control frames are" 120 "$(awk '{ print length($0) }' frame.hex)"
before=$(came)
send 4 5
sleep 0.5
equal "what is below waits for longer than a lifetime" "0 5" "$(($(came) - before)) $(queued 4)"
equal "because the peer has said it again and again" 1 "$(($(count received) > 10))"
change send-level 7
equal "the higher of hand and peer holds" 7 "$(transmit_level)"
change send-level 2
check "whichever it is" wait_for 2 is_at 5
change send-level 0
peer_change receive-level 3
check "the peer may ask for less" wait_for 2 is_at 3
wait_for 2 has_come $((before + 5))
equal "and what waited leaves" "5 0" "$(($(came) - before)) $(queued 4)"
peer_change receive-level 6
must wait_for 2 is_at 6
peer_change receive-level 0
check "or for nothing" wait_for 2 is_at 0
sent=$(b tc -s qdisc show dev v0p | grep -c 'sent 0 ')
sleep 0.3
after=$(count received)
sleep 0.3
equal "and falls silent then" "$after 0" "$(count received) $sent"
peer_change receive-level 6
must wait_for 2 is_at 6
expect 0
peer_change link off receive-level 0
check "who leaves asks for nothing" wait_for 2 arrived
contains "and says so" 8808fffe02544a0100 "$(cat frame.hex)"
peer_change link mac-control receive-level 6
must wait_for 2 is_at 6
must b tc qdisc del dev v0p root
check "a qdisc that goes leaves it to the lifetime" wait_for 2 is_at 0
must b tc qdisc replace dev v0p root handle 1: prioflow

start=$(now_cs)
say 8808 "$(frame 9 400 1)"
timely check "one frame sets the level" wait_for 2 is_at 9
check "for its lifetime" wait_for 2 is_at 0
timely within "and no longer, in centiseconds" 35 80 $(($(now_cs) - start))
say 88b5 "$(frame 8 1000 2)"
timely check "the experimental ethertype is heard, too" wait_for 2 is_at 8
peer_change link experimental receive-level 10
check "and can be what a port sends" wait_for 2 is_at 10
peer_change receive-level 15
must wait_for 2 is_at 15
check "level 15 is never paused" a arping -c 1 -w 2 -I v0 10.0.0.2
peer_change receive-level 0
must wait_for 2 is_at 0

# unheard WHAT COUNTER COUNT: nothing was obeyed, and the counter says why.
unheard() {
    what=$1
    sleep 0.05
    equal "$what" "0 $3" "$(transmit_level) $(count "$2")"
}
say 8808 "$(frame 16 100 20)"
unheard "not obeyed: level 16" malformed 1
say 8808 "$(frame 5 0 21)"
unheard "a level for no time" malformed 2
say 8808 "$(frame 5 1001 22)"
unheard "or for too long" malformed 3
say 8808 "$(frame 0 100 23)"
unheard "none for a while" malformed 4
say 8808 "$(frame 5 100 24 1 2)"
unheard "another version" malformed 5
say 8808 "$(frame 5 1000 25)" 0180c2000001 010000000001
unheard "a group as the sender" malformed 6
say 8808 "$(frame 5 1000 26)" 0180c2000001 "$(plain "$(a cat /sys/class/net/v0/address)")"
unheard "this port itself as the sender" malformed 7
heard=$(count received)
say 8808 "$(frame 5 1000 27)" "$(plain "$(a cat /sys/class/net/v0/address)")"
say 8808 "$(frame 5 1000 28)" ffffffffffff
say 8808 "$(frame 5 1000 29)" 0180c200000e
say 81000005 "8808$(frame 5 1000 30)"
say 8808 "$(frame 5 1000 31 | sed s/02544a/00005e/)"
say 8808 "fffe$(printf '%088x' 0)"
unheard "wrong addresses, tags and others' extensions are not for prioflow" malformed 7
equal "and are not counted" "$heard" "$(count received)"

# stale SENTENCE LEVEL COUNT: the last frame came too late to change the level.
stale() {
    sleep 0.05
    timely equal "$1" "$2" "$(transmit_level)"
    equal "$1, which is counted" "$3" "$(count stale)"
}
say 8808 "$(frame 5 1000 4294967295 7)"
timely check "the first sequence is any" wait_for 2 is_at 5
say 8808 "$(frame 0 0 4294967290 7)"
stale "an older frame changes nothing" 5 1
say 8808 "$(frame 6 1000 0 7)"
timely check "the sequence goes on after 2^32" wait_for 1 is_at 6
say 8808 "$(frame 4 1000 0 7)"
stale "twice the same is once" 6 2
say 8808 "$(frame 0 0 0 8)"
check "who starts anew is heard at once" wait_for 1 is_at 0
equal "and is not stale" 2 "$(count stale)"

# Each frame twice: a guest sends them hardly faster than they are listened to. One on a
# debug kernel does not even so.
must a ethtool -s v0 speed 1000 duplex full autoneg off
faults=/sys/kernel/debug/vtsn/ptp$(b ethtool -T v0p | sed -n 's/PTP Hardware Clock: //p')
limited() {
    must sh -c "echo 1000000 >$faults/duplicate_ppm"
    flood "0180c2000001$(plain "$peer")8808$(frame 5 100 1 9)" 5000
    must sh -c "echo 0 >$faults/duplicate_ppm"
    [ "$(count limited)" -gt 0 ]
}
timely check "a storm of frames is not listened to" limited
must wait_for 2 is_at 0
say 8808 "$(frame 5 500 9999 9)"
timely check "later frames are" wait_for 1 is_at 5
must wait_for 2 is_at 0

has_stormed() { [ "$(count storms)" -ge "$1" ]; }
change storm 300
peer_change receive-level 5
timely check "a peer sets the level" wait_for 2 is_at 5
timely check "who does so for too long is ignored" wait_for 2 is_at 0
check "which is counted" wait_for 2 has_stormed 1
timely check "it is listened to again after as long" wait_for 2 is_at 5
check "and ignored again" wait_for 2 has_stormed 2
equal "the log has it once" 1 "$(dmesg | grep -c 'prioflow: the peer has paused')"
change storm 0
must wait_for 2 is_at 5
sleep 1
check "without a limit it may" wait_for 1 is_at 5
stormed=$(count storms)
sleep 1
equal "and is not ignored" "$stormed" "$(count storms)"
peer_change receive-level 0
must wait_for 2 is_at 0

must ip -n A link add br0 type bridge
must ip -n A link set br0 up
must ip -n A link set v0 master br0
# The peer has said three times by then that it asks for nothing.
sleep 0.3
heard=$(count received)
say 8808 "$(frame 5 1000 10000 9)"
sleep 0.05
equal "a bridge's port hears, too" $((heard + 1)) "$(count received)"
timely check "and obeys" wait_for 2 is_at 5
equal "the bridge does not" 0 "$(a cat /sys/class/net/br0/statistics/multicast)"

# no_link DEVICE: prioflow may be there, a link may not, and nothing stays.
no_link() {
    must a tc qdisc replace dev "$1" root prioflow
    contains "there is no link on $1" "between the ends of one wire" \
        "$(a tc qdisc change dev "$1" root prioflow limit 7 link mac-control 2>&1)"
    check "and nothing of it stays" sh -c "! ip netns exec A tc qdisc show dev $1 | grep 'limit 7p'"
}
must ip -n A link add v0.5 link v0 type vlan id 5
for device in lo br0 v0.5; do no_link $device; done
if ip -n A link add bond0 type bond 2>/dev/null; then
    no_link bond0
else
    skip "there is no link on a bond: this kernel has no bonds"
fi
wire_down
end
