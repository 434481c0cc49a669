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
    must a perl -e 'use Socket; my $checksum = shift;
        socket(my $socket, AF_INET, SOCK_RAW, 17) or die $!;
        my $to = pack_sockaddr_in(0, inet_aton("10.0.0.2"));
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
must a ethtool -K v0 tx off
equal "and with the sending stack's" 10 "$(of_udp NoPorts talk)"
# With frames of wrong FCS, too.
must b ethtool -K v0p rx-all on
must a ethtool -K v0 tx on
must sh -c "echo 1000000 >$(faults_a)/corrupt_ppm"
within "damaged frames that the receiver wants are not received as datagrams" 0 3 "$(of_udp NoPorts talk)"
wire_down
end
