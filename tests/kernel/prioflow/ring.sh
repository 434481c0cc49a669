#!/bin/sh
# A receive ring that overflows, because its port is looked at too seldom: level frames cannot help,
# they are sent for sockets. PAUSE of the MAC beside them is the last resort. Topology in port.inc.
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

overrun() { b ethtool -S v0p | awk '$1 == "rx_overrun:" { print $2 }'; }
paused_by_mac() { a ethtool -S v0 | awk '$1 == "rx_pause:" { print $2 }'; }
# flow: 1000 opted-in datagrams to a slow reader; received, lost by the ring, XOFFs, PAUSEs.
flow() {
    overrun_before=$(overrun) paused_before=$(paused_by_mac)
    b perl flow.pl receive level=2 payload=1000 count=1000 every=20 pause=0.02 idle=2 rcvbuf=300000 >reader.log &
    reader=$!
    must wait_for 10 grep -q ready reader.log
    a perl flow.pl send level=2 priority=2 count=1000 >/dev/null
    wait $reader
    came=$(sed -n 's/^came=\([0-9]*\).*/\1/p' reader.log)
    asks=$(sed -n 's/.* asks=\([0-9]*\).*/\1/p' reader.log)
    lost=$(($(overrun) - overrun_before)) pauses=$(($(paused_by_mac) - paused_before))
}

wire_up
must a ethtool -s v0 speed 100 duplex full autoneg off
must sysctl -qw net.core.rmem_max=2000000
link_up
must b tc qdisc change dev v0p root prioflow by priority
# 82 us a frame, a ring of 16, looked at each 4 ms.
must b ethtool -G v0p rx 16
must b ethtool -C v0p rx-usecs 4000
flow
timely within "level frames alone: the ring loses frames" 10 1000 "$lost"
equal "and nobody else" 1000 $((came + lost))
contains "status says that the NIC sends no PAUSE" "802.3x PAUSE of the NIC: sent off, obeyed off" \
    "$(b teiji flow status v0p)"

must a ethtool -A v0 rx on tx off
must b ethtool -A v0p rx off tx on
flow
equal "with PAUSE of the MAC beside them none is lost" "1000 0" "$came $lost"
timely within "the reader has sent XOFF" 1 1000 "$asks"
timely within "the MAC has sent PAUSE" 1 100000 "$pauses"
contains "status says that it does" "802.3x PAUSE of the NIC: sent on, obeyed off" "$(b teiji flow status v0p)"
check "level frames pass a MAC that obeys PAUSE" a teiji flow check
wire_down
end
