#!/bin/sh
# Hostile neighbours: guests that forge level frames, users that take all room, peers that pause
# for ever. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# module: macvlan
# module: bridge
# module: veth
# package: iproute2
# package: ethtool
# package: iputils-arping
# package: util-linux
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

enobufs=105

wire_up
link_up

# A guest's device shares B's wire. It sends frames that B's peer would obey.
ip netns del G 2>/dev/null
must ip netns add G
must ip -n B link add link v0p name guest type macvlan mode bridge
must ip -n B link set guest netns G
ip netns exec G sysctl -qw net.ipv6.conf.guest.disable_ipv6=1
must ip -n G link set guest up
# forge PROTOCOL FRAME: with what the packet socket says that the frame is, hexadecimal.
forge() {
    # shellcheck disable=SC2016  # perl expands it
    ip netns exec G perl -e 'my ($index, $protocol, $frame) = @ARGV;
        socket(S, 17, 3, 0) or die $!;
        send(S, pack("H*", $frame), 0, pack("S n l S C C a8", 17, hex $protocol, $index, 1, 0, 6, "")) or die $!;' \
        "$(ip netns exec G cat /sys/class/net/guest/ifindex)" "$1" "$2"
}
foreign() { b tc -s qdisc show dev v0p | sed -n 's/^ level frames:.* foreign \([0-9]*\).*/\1/p'; }
before=$(count received)
for protocol in 8808 0800; do
    for type in 8808 88b5; do
        forge $protocol "0180c2000001$(plain "$peer")$type$(frame 15 1000 1 77)"
    done
done
# 802.3x: a MAC obeys PAUSE to its own address, too.
forge 0800 "$(plain "$(a cat /sys/class/net/v0/address)")$(plain "$peer")88080001ffff$(printf '%084x' 0)"
sleep 0.2
equal "a guest's frames of flow control are dropped" 5 "$(foreign)"
equal "and the peer obeys none" 0 "$(transmit_level)"
# One of the peer's own, which come each second.
timely within "nor receives them" 0 1 $(($(count received) - before))
contains "status warns" "5 level frames of other senders" "$(b teiji flow status v0p)"
must b tc qdisc del dev v0p root
must b tc qdisc add dev v0p root handle 1: prioflow
for type in 8808 88b5; do
    forge 0800 "0180c2000001$(plain "$peer")$type$(frame 15 1000 1 77)"
done
sleep 0.2
equal "a guest's level frames are dropped at a port without a link" "2 0" "$(foreign) $(transmit_level)"
must b tc qdisc del dev v0p root
must b tc qdisc add dev v0p root handle 1: prioflow link mac-control storm $((10000 * slow))

# Its network control is as that of a bridge: the peer can pause it.
must ip -n G address add 10.0.0.9/24 dev guest
at_14() { b tc -s class show dev v0p | awk '$1 == "class" { on = $3 == "1:f" } on && $1 == "Sent" { print $4; exit }'; }
# more_at_14 COMMAND…: frames at level 14 that it causes.
more_at_14() {
    before=$(at_14)
    must "$@"
    sleep 0.1
    echo $(($(at_14) - before))
}
equal "a guest's frame to a link-local group address is at level 14" 1 \
    "$(more_at_14 forge 88cc "0180c200000e$(plain "$peer")88cc$(printf '%092x' 0)")"
equal "so is an ARP frame of its kernel" 1 "$(more_at_14 ip netns exec G perl flow.pl send count=1 host=1)"
ip netns del G

# A guest that writes to a macvtap device is in no namespace, and has the device's address.
if ip -n B link add link v0p name tap0 type macvtap mode bridge 2>made.log; then
    b sysctl -qw net.ipv6.conf.tap0.disable_ipv6=1
    must ip -n B link set tap0 up
    # guest_sends FRAME: hexadecimal, behind the header of virtio_net.
    guest_sends() {
        # shellcheck disable=SC2016  # perl expands it
        b perl -e 'my ($frame) = @ARGV;
            my ($number) = glob "/sys/class/net/tap0/tap*/dev" or die "no device number";
            open(D, "<", $number) or die $!;
            my ($major, $minor) = <D> =~ /(\d+):(\d+)/;
            system("mknod", "tap0", "c", $major, $minor) unless -e "tap0";
            open(T, "+<", "tap0") or die "tap0: $!";
            syswrite(T, pack("x10 H*", $frame)) or die "write: $!"' "$1"
    }
    equal "network control of a guest behind macvtap is at level 14" 1 \
        "$(more_at_14 guest_sends "0180c200000e$(plain "$(b cat /sys/class/net/tap0/address)")88cc$(printf '%092x' 0)")"
    must ip -n B link del tap0
    # It would hold macvlan, which this script has named.
    must wait_for 5 rmmod macvtap
else
    skip "network control of a guest behind macvtap is at level 14: this kernel has none: $(cat made.log)"
fi

# The peer is not trusted.
change obey 4
peer_change receive-level 15
check "a port obeys for the levels that it may" wait_for 2 is_at 4
change obey 2
equal "a pause that it may not ends at once" 2 "$(transmit_level)"
change obey 0
equal "with 0 it obeys nothing" 0 "$(transmit_level)"
change obey 15
peer_change receive-level 0
must wait_for 2 is_at 0

# Pauses that are nearly without a break.
peer_change link off
change storm 300
start=$(count storms)
# shellcheck disable=SC2016  # perl expands it
b perl -e 'my ($index, $to) = @ARGV;
    socket(S, 17, 3, 0) or die $!;
    setsockopt(S, 263, 20, pack("i", 1)) or die $!;
    my $at = pack("S n l S C C a8", 17, 0x8808, $index, 1, 0, 6, "");
    my $sequence = 0;
    sub say_ {
        my $frame = pack("H*", $to) . pack("n n n C C C C n n N N x26", 0x8808, 0xfffe, 0x0254, 0x4a,
            1, $_[0], 0, $_[0] ? 500 : 0, 0, 5, ++$sequence);
        send(S, $frame, 0, $at) or die $!;
    }
    for (1 .. 12) { say_(5); select(undef, undef, undef, 0.05); say_(0); }' \
    "$(b cat /sys/class/net/v0p/ifindex)" "0180c2000001$(plain "$peer")"
stormed() { [ "$(count storms)" -gt "$start" ]; }
check "a short resume does not reset the watchdog" wait_for 2 stormed
change storm 10000
sleep 0.4

# The room of senders is each user's own.
must a sysctl -qw net.prioflow.open_levels=4
must a sysctl -qw net.prioflow.send_room=1000000
held=""
for _ in 1 2; do
    ip netns exec A perl flow.pl send level=1 priority=1 sndbuf=100000 owner=1000 count=1000000 gap=1 >/dev/null &
    held="$held $!"
done
sleep 1
equal "a user has no more room than all senders may have" "refused errno=$enobufs" \
    "$(a perl flow.pl ask level=1 sndbuf=100000 owner=1000)"
contains "another user has as much" "1,-1," "$(a perl flow.pl ask level=1 sndbuf=100000 owner=1001)"
contains "and so has root" "1,-1," "$(a perl flow.pl ask level=1 sndbuf=100000)"
for pid in $held; do
    kill -9 "$pid"
    wait_for 5 has_ended "$pid"
done
contains "ended senders return it" "1,-1," "$(a perl flow.pl ask level=1 sndbuf=100000 owner=1000)"
references=$(cat /sys/module/prioflow/refcnt)
contains "opting out without having opted in succeeds" "-1," "$(a perl flow.pl ask level=-1 uid=1000)"
equal "and keeps nothing" "$references" "$(cat /sys/module/prioflow/refcnt)"

# A bridge port towards a peer that is not trusted.
#     A: v0 ── v0p :B, bridge br0: w0p ── w0 :C
ip netns del C 2>/dev/null
must ip netns add C
must ip link add w0 type vtsn
must ip link set w0 netns C
must ip link set w0p netns B
c() { ip netns exec C "$@"; }
for end in C:w0 B:w0p; do
    ip netns exec ${end%:*} sysctl -qw net.ipv6.conf.${end#*:}.disable_ipv6=1
    must ip -n ${end%:*} link set ${end#*:} up
done
must c ethtool -s w0 speed 10 duplex full autoneg off
must ip -n B address flush dev v0p
must ip -n B link add br0 type bridge mcast_snooping 0
b sysctl -qw net.ipv6.conf.br0.disable_ipv6=1
for port in v0p w0p; do must ip -n B link set $port master br0; done
must ip -n B link set br0 up
must ip -n C address add 10.0.0.2/24 dev w0
must ip -n C link set w0 up
there=$(c cat /sys/class/net/w0/address)
must ip -n A neighbour replace 10.0.0.2 dev v0 lladdr "$there" nud permanent
peer_change link mac-control by priority reaction 1000 ring 4
must b tc qdisc replace dev w0p root handle 1: prioflow by dscp link mac-control
must b tc qdisc change dev v0p root prioflow by dscp
change by dscp
must c tc qdisc replace dev w0 root handle 1: prioflow link mac-control receive-level 15
held_at() { b tc -s qdisc show dev w0p | grep -q "^ transmit level 15,"; }
must wait_for 5 held_at
wait_for 5 c arping -q -c 1 -w 1 -I w0 10.0.0.1
a perl flow.pl send tos=$((4 * 16)) count=1000000 gap=0.001 pid=bulk.pid >/dev/null &
check "frames for a paused port pause the port that they come from" wait_for 10 is_at 5
must b tc qdisc change dev w0p root prioflow propagate off
check "and no longer once that port does not propagate" wait_for 5 is_at 0
must b tc qdisc del dev w0p root
must b tc qdisc replace dev w0p root handle 1: prioflow by dscp limit 50 link mac-control propagate off
must wait_for 5 held_at
must wait_for 5 is_at 0
sleep 1
equal "not if it does not propagate" 0 "$(transmit_level)"
dropped_at() { b tc -s qdisc show dev w0p | awk '$1 == "Sent" { print $7 + 0; exit }'; }
check "they are dropped and counted" sh -c "[ $(dropped_at) -gt 0 ]"
kill -9 "$(cat bulk.pid)"
ip netns del C

# Root of a user namespace may have links of its own, whose threads are ordinary ones.
rm -f inside
[ -p go ] || mkfifo go
exec 4<>go
unshare -Urn sh -c 'ip link add u0 type veth peer name u1 && ip link set u0 up && ip link set u1 up &&
    tc qdisc add dev u0 root prioflow link pause && echo $? >inside; read -r done' <&4 >user.log 2>&1 &
user=$!
must wait_for 10 test -s inside
thread=$(b teiji flow status v0p --json | tr -d ' \n' | sed 's/.*"thread":\([0-9]*\).*/\1/')
contains "the initial user namespace's thread is real-time" SCHED_FIFO "$(chrt -p "$thread")"
thread=$(grep -lx prioflow/u0 /proc/[0-9]*/comm | cut -d / -f 3)
contains "another one's is not" SCHED_OTHER "$(chrt -p "$thread")"
echo >&4
wait $user
wire_down
end
