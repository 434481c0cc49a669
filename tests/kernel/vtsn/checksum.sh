#!/bin/sh
# Checksums: the receiver's stack drops a datagram with a wrong one, whoever made it.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: perl-base
. /suite/lib
. /suite/wire.inc

# datagrams CHECKSUM: ten UDP datagrams with this checksum in a raw socket.
datagrams() {
    # shellcheck disable=SC2016  # perl expands it
    must a perl -e 'my $checksum = shift;
        socket(my $socket, 2, 3, 17) or die $!;
        my $to = pack("S n C4 x8", 2, 0, 10, 0, 0, 2);
        for (1 .. 10) { send($socket, pack("nnnna4", 9, 7001, 12, $checksum, "word"), 0, $to) or die $!; }' "$1"
}
# B's UDP counters, which include those of wrong checksums.
udp() { b awk -v name="$1" '$1 == "Udp:" && !n { for (n = NF; $n != name; n--); next } $1 == "Udp:" { print $n }' /proc/net/snmp; }

# of_udp NAME COMMAND…: how many more the command makes.
of_udp() {
    name=$1 before=$(udp "$1")
    shift
    "$@"
    sleep 0.2
    echo $(($(udp "$name") - before))
}
wire_up
equal "without a checksum datagrams are received" 10 "$(of_udp NoPorts datagrams 0)"
equal "with a wrong one, made by a program, they are not" 10 "$(of_udp InCsumErrors datagrams 4660)"
equal "nothing is received of them" 0 "$(of_udp NoPorts datagrams 4660)"
talk() { send --frames 10 --period 1ms --priority 0 --no-stamps; }
equal "with the sending NIC's checksum they are received" 10 "$(of_udp NoPorts talk)"
# zero_sum: an IPv6 datagram from port 9999 whose checksum is 0 before it is written as ffff.
zero_sum() {
    # shellcheck disable=SC2016  # perl expands it
    b perl -e 'socket(S, 10, 2, 0) or die $!; bind(S, pack("S n N a16 N", 10, 7001, 0, "", 0)) or die $!;
        $| = 1; print "ready\n"; alarm 5; recv(S, $_, 100, 0); print "came\n"' >zero.log 2>&1 &
    reader=$!
    must wait_for 10 grep -q ready zero.log
    # shellcheck disable=SC2016  # perl expands it
    must a perl -e 'sub address { pack("S n N n8 N", 10, $_[1], 0, 0xfd00, 0, 0, 0, 0, 0, 0, $_[0], 0) }
        socket(S, 10, 2, 0) or die $!; bind(S, address(1, 9999)) or die $!;
        my $sum = 0xfd00 + 1 + 0xfd00 + 2 + 10 + 17 + 9999 + 7001 + 10;
        $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
        send(S, pack("n", 0xffff - $sum), 0, address(2, 7001)) or die $!'
    wait $reader
    tail -n 1 zero.log
}
for end in "A v0 1 $(b cat /sys/class/net/v0p/address)" "B v0p 2 $(a cat /sys/class/net/v0/address)"; do
    # shellcheck disable=SC2086  # four words
    set -- $end
    must ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.disable_ipv6=0"
    must ip -n "$1" address add "fd00::$3/64" dev "$2" nodad
    must ip -n "$1" neighbour replace "fd00::$((3 - $3))" dev "$2" lladdr "$4" nud permanent
done
equal "one that adds up to 0 is no missing one" came "$(zero_sum)"
must a ethtool -K v0 tx off
equal "and with the sending stack's" 10 "$(of_udp NoPorts talk)"
equal "that of the sending stack neither" came "$(zero_sum)"
# With frames of wrong FCS, too.
must b ethtool -K v0p rx-all on
must a ethtool -K v0 tx on
must sh -c "echo 1000000 >$(faults_a)/corrupt_ppm"
within "damaged frames that the receiver wants are not received as datagrams" 0 3 "$(of_udp NoPorts talk)"
wire_down
end
