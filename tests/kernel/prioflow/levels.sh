#!/bin/sh
# The level of a frame: by DSCP, TOS bits, VLAN tag or priority; network control is always at
# level 15. Topology in port.inc; checked by the counters of A's classes.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: iputils-ping
# package: iputils-arping
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc

ping_once() { a ping -c 1 -W 2 -Q "$1" 10.0.0.2; }

wire_up
must a tc qdisc add dev v0 root handle 1: prioflow
contains "the default source is DSCP" "by dscp" "$(shown)"
contains "the default limit is the device's txqueuelen" "limit $(a cat /sys/class/net/v0/tx_queue_len)p" "$(shown)"
for level in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
    equal "DSCP $((level * 4)) is level $level" "$level:1" "$(levels ping_once $((level * 16)))"
done
equal "no DSCP leads to level 15" "14:1 14:1" "$(levels ping_once 0xf0) $(levels ping_once 0xfc)"
equal "EF, DSCP 46, is level 11" 11:1 "$(levels ping_once 0xb8)"
equal "the ECN bits change nothing" 3:1 "$(levels ping_once 0x33)"

equal "IP options change nothing" 3:1 "$(levels a ping -c 1 -W 2 -R -Q 0x30 10.0.0.2)"
equal "a fragment with PTP's port number at the place of the UDP header is not PTP" 3:2 \
    "$(levels a ping -c 1 -W 2 -s 2000 -p 013f -Q 0x30 10.0.0.2)"
must ip -n A neighbour replace 10.0.0.3 dev v0 lladdr 01:80:c2:00:00:0e nud permanent
equal "IP to a link-local group address is level 15" 15:1 "$(levels a ping -c 1 -W 1 -Q 0x30 10.0.0.3)"
must ip -n A neighbour replace 10.0.0.3 dev v0 lladdr 01:80:c2:00:01:0e nud permanent
equal "IP to another group address is not" 3:1 "$(levels a ping -c 1 -W 1 -Q 0x30 10.0.0.3)"

equal "ARP is level 15" 15:1 "$(levels a arping -c 1 -w 2 -I v0 10.0.0.2)"
must ip -n A route add 224.0.1.0/24 dev v0
# ptp FROM TO [UID]: a datagram between these ports, to PTP's group.
ptp() {
    # shellcheck disable=SC2016  # perl expands it
    a perl -e 'my ($from, $to, $uid) = @ARGV;
        socket(S, 2, 2, 0) or die $!;
        $> = $uid if $uid;
        bind(S, pack("S n a4 x8", 2, $from, "")) or $uid or die $!;
        send(S, "x" x 44, 0, pack("S n C4 x8", 2, $to, 224, 0, 1, 129)) or die $!;' "$@"
}
equal "PTP over UDP is level 15" 15:1 "$(levels ptp 319 319)"
equal "a datagram from another port is not PTP" 0:1 "$(levels ptp 0 319)"
equal "nor is that of a program which may not have the port" 0:1 "$(levels ptp 319 320 1000)"
equal "nor one to a single host" 0:1 "$(levels a teiji talk v0 10.0.0.2:319 --frames 1 --no-stamps)"
# join LEVEL OPTION GROUP: A joins a multicast group and leaves it; its reports are delayed.
join() {
    # shellcheck disable=SC2016  # perl expands it
    a perl -e 'my ($class, $option, $group, $index) = @ARGV;
        socket(S, $class ? 10 : 2, 2, 0) or die $!;
        my $set = pack("H*", $group) . ($class ? pack("i", $index) : pack("x4 i", $index));
        setsockopt(S, $class, $option, $set) or die $!' "$1" "$2" "$3" "$(a cat /sys/class/net/v0/ifindex)"
    sleep 3
}
equal "an IGMP report is level 15" 15 "$(levels join 0 35 ef010101 | sed 's/:[0-9]*//g')"
equal "a frame that is not IP is level 0" 0:1 \
    "$(levels a teiji talk v0 "$peer" --frames 1 --no-stamps)"

change by tos
equal "TOS low delay is level 8" 8:1 "$(levels ping_once 0x10)"
equal "TOS throughput is level 4" 4:1 "$(levels ping_once 0x08)"
change by pcp
equal "a tag with PCP 7 is level 14" 14:1 \
    "$(levels a teiji talk v0 "$peer" --vlan 5:7 --frames 1 --no-stamps)"
for pcp in 0 3 6; do
    equal "a tag with PCP $pcp is level $((2 * pcp + 1))" "$((2 * pcp + 1)):1" \
        "$(levels a teiji talk v0 "$peer" --vlan 5:$pcp --frames 1 --no-stamps)"
done
equal "a frame without a tag is PCP 0" 1:1 "$(levels ping_once 0xe0)"
equal "whatever its DSCP" 1:1 "$(levels ping_once 0x1c)"
must ip -n A link add link v0 name v0.5 type vlan id 5 egress-qos-map 6:3
a sysctl -qw net.ipv6.conf.v0/5.disable_ipv6=1
must ip -n A link set v0.5 up
equal "the tag of a VLAN device counts, too" 7:1 \
    "$(levels a teiji talk v0.5 "$peer" --priority 6 --frames 1 --no-stamps)"
change by dscp
must ip -n A link add link v0.5 name v0.5.7 type vlan id 7
a sysctl -qw net.ipv6.conf.v0/5/7.disable_ipv6=1
must ip -n A address add 10.0.1.1/24 dev v0.5.7
must ip -n A link set v0.5.7 up
must ip -n A neighbour replace 10.0.1.2 dev v0.5.7 lladdr "$peer" nud permanent
equal "behind two tags the source is still DSCP" 6:1 "$(levels a ping -c 1 -W 1 -Q 0x60 10.0.1.2)"
must ip -n A link del v0.5

change by priority
for priority in 0 6 15 200; do
    level=$((priority < 14 ? priority : 14))
    # shellcheck disable=SC2016  # perl expands it
    equal "SO_PRIORITY $priority is level $level" "$level:1" "$(levels a perl -e 'socket(my $s, 2, 2, 0);
        setsockopt($s, 1, 12, pack("i", shift));
        send($s, "x", 0, pack("S n C4 x8", 2, 9, 10, 0, 0, 2)) or die $!' "$priority")"
done
equal "DSCP 15, for which the kernel sets priority 4, is level 4" 4:1 "$(levels ping_once 0x3c)"
change by priority table 9,8,7,6,5,4,3,2,1,0,0,0,0,0,0,0
contains "a table is shown" "by priority table 9,8,7,6,5,4,3,2,1,0,0,0,0,0,0,0" "$(shown)"
equal "and used" 3:1 "$(levels send 6 1)"

change by dscp
a sysctl -qw net.ipv6.conf.v0.disable_ipv6=0
b sysctl -qw net.ipv6.conf.v0p.disable_ipv6=0
classes >before
wait_for 10 sh -c 'ip -n B -6 address show dev v0p | grep -v tentative | grep -q "inet6 fe80"'
local=$(ip -n B -6 address show dev v0p | awk '$1 == "inet6" { sub("/.*", "", $2); print $2 }')
wait_for 10 a ping -c 1 -W 1 -Q 0x30 "$local%v0"
classes >after
equal "IPv6 neighbour discovery is at level 15" "3 15" \
    "$(awk 'NR == FNR { sent[$1] = $2; next } $2 > sent[$1] { printf "%s%s", gap, $1; gap = " " }' before after)"
equal "an MLD report is level 15" 15 \
    "$(levels join 41 20 ff0e00000000000000000000000000aa | sed 's/:[0-9]*//g')"
contains "the traffic class of IPv6 is the level" 6:1 "$(levels a ping -c 1 -W 2 -Q 0x60 "$local%v0")"

# A VLAN device with an address of its own: its kernel's ARP requests, which no socket sends.
a sysctl -qw net.ipv6.conf.v0.disable_ipv6=1
b sysctl -qw net.ipv6.conf.v0p.disable_ipv6=1
must ip -n A link add link v0 name v0.6 address 02:00:00:00:00:06 type vlan id 6
a sysctl -qw net.ipv6.conf.v0/6.disable_ipv6=1
must ip -n A address add 10.0.6.1/24 dev v0.6
must ip -n A link set v0.6 up
equal "ARP of a VLAN device with another address is level 15" 15 \
    "$(levels a ping -c 1 -W 2 10.0.6.2 | sed 's/:[0-9]*//g')"
must ip -n A link del v0.6

# A bond's port has the bond's address, but sends LACP from its own.
if ip -n A link add bond0 address 02:00:00:00:00:b0 type bond mode 802.3ad lacp_rate fast miimon 100 2>made.log; then
    a sysctl -qw net.ipv6.conf.bond0.disable_ipv6=1
    must ip -n A link set v0 down
    must ip -n A link set v0 master bond0
    must ip -n A link set bond0 up
    equal "a bond gives its port another address" 02:00:00:00:00:b0 "$(a cat /sys/class/net/v0/address)"
    equal "LACP is level 15" 15 "$(levels sleep 4 | sed 's/:[0-9]*//g')"
else
    skip "LACP is level 15: this kernel has no bonding: $(cat made.log)"
fi
wire_down
end
