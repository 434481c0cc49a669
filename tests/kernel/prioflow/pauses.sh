#!/bin/sh
# What a pause covers: a congested level, not the levels below it; the devices that a receiver is
# bound to, and no others. A receiver that does not read is named, and no longer served. What a
# port knows of its peer. Topology in port.inc, and a second wire:
#
#     namespace A: w0  10.0.1.1 ────────── w0p  10.0.1.2 :namespace B
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

# Levels that A's port does not send, if they have a gap.
paused() { a tc -s qdisc show dev v0 | sed -n 's/^ paused levels //p'; }
is_paused() { [ "$(paused)" = "$1" ]; }
state() { a tc -s qdisc show dev "${1:-v0}" | sed -n 's/^ peer [^ ]* version //p'; }
is_state() { [ "$(state)" = "$1" ]; }
peer_covers() { a tc -s qdisc show dev v0 | grep -qx " peer covers: $1"; }
mkfifo go
exec 3<>go
# full_reader LEVEL OPTIONS…: a reader in B that does not read, and is full.
full_reader() {
    level=$1
    shift
    b perl flow.pl receive level="$level" payload=1000 count=2000 hold=1 pid=reader.pid "$@" \
        <go >reader.log &
    must wait_for 10 grep -q ready reader.log
    a perl flow.pl send level="$level" priority="$level" count=2000 source=7002 pid=sender.pid >/dev/null &
}
end_reader() {
    kill -9 "$(cat reader.pid)" "$(cat sender.pid)" 2>/dev/null
    must wait_for 10 has_ended "$(cat reader.pid)"
    must wait_for 10 has_ended "$(cat sender.pid)"
    must wait_for 10 is_at 0
    must wait_for 20 empty
}
empty() { [ "$(queued 1) $(queued 2)" = "0 0" ]; }

wire_up
link_up
must b tc qdisc change dev v0p root prioflow by priority
full_reader 2
check "a full reader pauses its own level alone" wait_for 10 is_paused 2
a perl flow.pl send priority=1 count=20
a perl flow.pl send priority=3 count=20
equal "levels above and below are not paused" "20 20 0 0" "$(sent 1) $(sent 3) $(queued 1) $(queued 3)"
before=$(sent 2)
sleep 0.3
equal "its own is" "$before" "$(sent 2)"
peer_change scope below
check "with the scope below, the levels below are paused, too" wait_for 2 is_at 3
equal "without a gap" "" "$(paused)"
peer_change scope level
check "and resumed by the other scope" wait_for 2 is_paused 2
equal "and no frame is lost" "0 0" "$(dropped 2) $(overflowed)"
end_reader

# Frames of both versions, made by hand; B's own link is off.
peer_change link off
inject 8808 "$(frame 5 400 1)"
timely check "a frame of version 1 pauses all levels below" wait_for 2 is_at 5
equal "without a gap" "" "$(paused)"
contains "and is distinguished" "1 unknown" "$(state)"
must wait_for 2 is_at 0
v2() { frame "$1" "$2" "$3" | sed "s/^\\(.\\{14\\}\\)00\\(....\\)0000/\\102\\2$4/"; }
inject 8808 "$(v2 5 400 2 0012)"
timely check "one of version 2 pauses the levels of its mask" wait_for 2 is_paused 1,4
must wait_for 2 is_at 0
malformed=$(count malformed)
inject 8808 "$(v2 5 400 3 0022)"
inject 8808 "$(v2 15 400 4 8000)"
sleep 0.1
equal "a mask that is not of its level is malformed" "0 $((malformed + 2))" "$(transmit_level) $(count malformed)"

# Standard equipment: PFC pauses priorities one by one.
change link pfc
inject 8808 "01010012$(printf '0000ffff00000000ffff000000000000%052x' 0)"
timely check "PFC pauses the levels of its priorities alone" wait_for 2 is_paused 2,3,8,9
must wait_for 5 is_at 0
equal "over PFC, level 14 cannot be paused" "refused errno=34" \
    "$(must b tc qdisc change dev v0p root prioflow link pfc; b perl flow.pl ask as=receive level=14 payload=1000)"
peer_change link off
change link mac-control

# A receiver that is bound to a device.
must ip link add w0 type vtsn
must ip link set w0 netns A
must ip link set w0p netns B
a sysctl -qw net.ipv6.conf.w0.disable_ipv6=1
b sysctl -qw net.ipv6.conf.w0p.disable_ipv6=1
must a ethtool -s w0 speed 10 duplex full autoneg off
must ip -n A link set w0 up
must ip -n B link set w0p up
must a tc qdisc replace dev w0 root handle 1: prioflow link mac-control
must b tc qdisc replace dev w0p root handle 1: prioflow by priority link mac-control
peer_change link mac-control
transmit_level_of() { a tc -s qdisc show dev "$1" | sed -n 's/^ transmit level \([0-9]*\),.*/\1/p'; }
both() { echo "$(transmit_level_of v0) $(transmit_level_of w0)"; }
are() { [ "$(both)" = "$1" ]; }
full_reader 2
check "an unbound receiver pauses all links" wait_for 10 are "3 3"
end_reader
full_reader 2 device=v0p
must wait_for 10 is_at 3
sleep 0.1
equal "one that is bound to a device pauses that link alone" "3 0" "$(both)"
must ip -n B link add br0 type bridge
must ip -n B link set v0p master br0
sleep 0.1
equal "also as a port of a bridge" "3 0" "$(both)"
end_reader
must ip -n B link set v0p nomaster
must ip -n B link del br0
must ip -n B neighbour replace 10.0.0.1 dev v0p lladdr "$(a cat /sys/class/net/v0/address)" nud permanent
full_reader 2 connect=7002
must wait_for 10 is_at 3
sleep 0.1
equal "one that is connected pauses the link that leads to its peer" "3 0" "$(both)"
end_reader
must ip -n A link del w0

# The receiver watchdog.
must b sysctl -qw net.prioflow.receiver_watchdog=$((700 * slow))
b teiji flow watch v0p --events --for $((8 * slow))s >events.log &
watcher=$!
must wait_for 5 grep -q paused events.log
full_reader 2
must wait_for 10 is_at 3
found=$(b teiji flow status)
contains "status names the socket that pauses the peer" "socket " "$found"
contains "its process, level and time" "of perl ($(cat reader.pid)), level 2: pauses its peers since" "$found"
check "a receiver that does not read is no longer served" wait_for $((5 * slow)) is_at 0
contains "status says so" "no longer served: it loses datagrams" "$(b teiji flow status)"
refused "and flow check has an exit code for it" b teiji flow check
must wait_for 5 grep -q "no longer served" events.log
echo >&3
served() { grep -q "reads again" events.log; }
check "when it reads, it is served again" wait_for $((8 * slow)) served
wait $watcher
end_reader
must b sysctl -qw net.prioflow.receiver_watchdog=$((8000 * slow))

# shellcheck disable=SC2016  # perl expands it
contains "events are for those that may see the receivers" CAP_NET_ADMIN "$(b perl -e '
    ($(, $)) = (1000, 1000); ($<, $>) = (1000, 1000); exec @ARGV' teiji flow watch v0p --events --for 1s 2>&1)"

# What a sender can ask about its packets.
contains "a sender sees its protected packets" "protected=30 unprotected=0" \
    "$(a perl flow.pl send level=2 priority=2 count=30 counts=1)"
contains "and those above its level" "protected=0 unprotected=30" \
    "$(a perl flow.pl send level=1 priority=2 count=30 counts=1)"

# What a port knows of its peer.
check "a peer with a link obeys" wait_for 5 is_state "2 obeys"
check "flow check is content" a teiji flow check
peer_change ring 99 reaction 1234
check "its frames say what its headroom covers" wait_for 5 peer_covers "ring 99 reaction 1234us"
peer_change ring 64 reaction 1000
peer_change obey 3
change receive-level 10
check "one that obeys less says so" wait_for 5 is_state "2 obeys less"
equal "and does" 3 "$(b tc -s qdisc show dev v0p | sed -n 's/^ transmit level \([0-9]*\),.*/\1/p')"
change receive-level 0
peer_change obey 15
must wait_for 5 is_state "2 obeys"

# Its pause-storm watchdog ends an obedience, and its frames say so.
a teiji flow watch v0 --events --for $((20 * slow))s >events.log &
watcher=$!
must wait_for 5 grep -q paused events.log
peer_change storm $((300 * slow))
change receive-level 3
check "a peer whose watchdog has timed out says that it ignores" wait_for 5 is_state "2 ignores"
check "an event says so" wait_for 5 grep -q "the peer's pause-storm watchdog ignores" events.log
kill $watcher
refused "which is an alarm" a teiji flow check
change receive-level 0
peer_change storm $((10000 * slow))
check "until it obeys again" wait_for 5 is_state "2 obeys"

# A's frames are lost: B's come and confirm none of them.
faults=/sys/kernel/debug/vtsn/ptp$(a ethtool -T v0 | sed -n 's/PTP Hardware Clock: //p')
must sh -c "echo 1000000 >$faults/loss_ppm"
check "a peer that receives nothing says so" wait_for 10 is_state "2 receives nothing"
refused "which is an alarm" a teiji flow check
must sh -c "echo 0 >$faults/loss_ppm"
check "until it receives again" wait_for 5 is_state "2 obeys"

# B says that it does not obey for a level, and sends it.
# data TOS: a frame from B, hexadecimal.
data() {
    printf '%s%s080045%s%0112x' "$(plain "$(a cat /sys/class/net/v0/address)")" "$(plain "$peer")" "$1" 0
}
change by dscp
peer_change obey 3
change receive-level 10
must wait_for 5 is_state "2 obeys less"
flood "$(data 70)" 300
peer_change obey 15
check "what a peer sends that says that it obeys less is no defiance" wait_for 5 is_state "2 obeys"

# B says that it obeys, and frames pass its queue by.
change receive-level 9
must wait_for 5 is_state "2 obeys"
flood "$(data 00)" 60
sleep 0.1
equal "as many frames as can have been in flight prove nothing" "2 obeys" "$(state)"
flood "$(data 00)" 300
check "more do: it defies" wait_for 5 is_state "2 defies"
refused "which is an alarm" a teiji flow check
contains "with a reason" "the peer has transmitted levels that pause requests cover" "$(a teiji flow status v0)"
change receive-level 0
change by priority
peer_change link off
check "a peer without a link is silent" wait_for 8 is_state "2 silent"
refused "which is an alarm" a teiji flow check
contains "with a reason" "no level frames are received from the peer" "$(a teiji flow status v0)"
exec 3>&-
wire_down
end
