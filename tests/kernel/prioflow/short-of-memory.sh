#!/bin/sh
# Each allocation that can fail does, one after the other: the command is refused without
# effect, or works nevertheless; a frame without memory is sent later.
# Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# limit: 3000
. /suite/lib
. /suite/port.inc
. /suite/link.inc

. /suite/failures

# What there is of the module: its references, its settings, and what tc shows of it.
state() {
    read -r uses 2>/dev/null </sys/module/prioflow/refcnt || uses=none
    echo "module $uses:" /proc/sys/net/prioflow/* "$($look)"
}
look=

must rmmod prioflow
within_frames 32
beneath do_one_initcall
each "loading the module" "rmmod prioflow" perl -e "$insert" "$(find /lib/modules -name prioflow.ko)"
must modprobe prioflow

wire_up
a sysctl -qw net.prioflow.send_room=100000000
# fail-nth counts the command's own allocations, so it must be in the namespace already.
inside() {
    must ip -n A link set v0 netns 1
    must ip link set v0 up
}
inside
within_frames 32
beneath tc_modify_qdisc
look="tc qdisc show dev v0"
each "a qdisc" "tc qdisc del dev v0 root" tc qdisc add dev v0 root handle 1: prioflow
each "a qdisc with options" "tc qdisc del dev v0 root" \
    tc qdisc add dev v0 root handle 1: prioflow limit 7 bytes 90000 by priority \
    table 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,14 send-level 3 link mac-control storm 500 room 900
# The core's own way to make one: without memory the device gets none that works.
look=
default=/proc/sys/net/core/default_qdisc
usual=$(cat $default)
must sh -c "echo prioflow >$default"
beneath dev_activate
# Without a qdisc, which the device gets when it is set up.
none() { ip link set v0 down && tc qdisc add dev v0 root pfifo && tc qdisc del dev v0 root; }
must none
each "a default qdisc" none ip link set v0 up
must sh -c "echo $usual >$default"
must ip link set v0 up
beneath tc_modify_qdisc
look="tc qdisc show dev v0"
must tc qdisc add dev v0 root handle 1: prioflow
back() { tc qdisc replace dev v0 root handle 1: prioflow link off limit 1000 by dscp send-level 0 room 0; }
must back
each "a link" back tc qdisc change dev v0 root prioflow link mac-control limit 9
each "a link of standard frames" back tc qdisc change dev v0 root prioflow link pfc by pcp room 999
must tc qdisc change dev v0 root prioflow link mac-control
must tc qdisc change dev v0 root prioflow link off
look=
anew() { tc qdisc del dev v0 root && tc qdisc add dev v0 root handle 1: prioflow link mac-control; }
each "another qdisc in its place" anew tc qdisc replace dev v0 root handle 2: prioflow link mac-control

# opt OPTION FORMAT VALUES…: a program that opts in, and exits.
opt='my ($option, @set) = @ARGV; socket(my $s, 2, 2, 0) or die;
    setsockopt($s, 0, $option, pack($option == 0x5470 ? "l l L4 Q" : "l L7", @set)) or exit 1;'
beneath_module prioflow
within_frames 8
each "a sender" true perl -e "$opt" 21616 1 -1 0 0 0 0 0
each "a receiver" true perl -e "$opt" 21617 1 1200 0 0 0 0 0 0
each "a namespace" true perl -e 'use lib "/suite"; use Calls; unshare(0x40000000) or exit 1'
reserved() {
    perl -e 'use lib "/suite"; use Calls;
        socket(my $s, 2, 2, 0) or die; my $set = pack("l l L4 Q", -1, -1, (0) x 5);
        get_option($s, 0, 0x5470, $set) or die;
        print((unpack "l l L4 Q", $set)[6]);'
}
equal "no bytes stay reserved" 0 "$(reserved)"

# Frames: the sending thread gets no memory: it uses its stock, and then tries again. It calls the driver
# itself, which has memory: vtsn's copy for the wire is allocated further up.
within_frames 6
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control
b_level() { b tc -s qdisc show dev v0p | sed -n 's/^ transmit level \([0-9]*\),.*/\1/p'; }
b_is_at() { [ "$(b_level)" = "$1" ]; }
# next_frame's reader is B: tc would need memory beneath the module.
a() { b "$@"; }
expect 5
failures
count=$failures
for injector in $injectors; do echo 100 >$injector/probability; done
tc qdisc change dev v0 root prioflow receive-level 5
check "an XOFF reaches the peer while there is no memory" wait_for 5 arrived
sleep 0.5
failures
within "when allocations fail" 1 $plenty $((failures - count))
for injector in $injectors; do echo 0 >$injector/probability; done
check "later ones are sent when there is memory again" wait_for 5 b_is_at 5
must tc qdisc change dev v0 root prioflow receive-level 0
check "and so is XON" wait_for 5 b_is_at 0
must ip link del v0
ip netns del A
ip netns del B
wait_for 10 no_port
end
