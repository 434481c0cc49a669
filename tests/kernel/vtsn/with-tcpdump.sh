#!/bin/sh
# tcpdump with hardware time stamps: a capture as of a LAN analyser. It agrees with
# the launch times, and `teiji analyze` reads it.
#
#     va (ns dump-a, 10.0.0.1, ETF offload) ────── vb (ns dump-b, 10.0.0.2, tcpdump)
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# package: tcpdump
# shellcheck disable=SC2086 # $A and $B are several words
. /suite/lib

A='ip netns exec dump-a'
B='ip netns exec dump-b'

# tcpdump needs the user to drop privileges to; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
# The paper's; a debug kernel's softirqs are late by many milliseconds at times.
delta=150000 margin=400us
[ "$slow" = 1 ] || delta=150000000 margin=200ms
must modprobe vtsn
must ip netns add dump-a
must ip netns add dump-b
must ip link add va type vtsn
must ip link set vap name vb
must ip link set va netns dump-a
must ip link set vb netns dump-b
must ip -n dump-a link set va up
must ip -n dump-b link set vb up
must ip -n dump-a addr add 10.0.0.1/24 dev va
must ip -n dump-b addr add 10.0.0.2/24 dev vb
must ip -n dump-a neigh add 10.0.0.2 lladdr "$($B cat /sys/class/net/vb/address)" dev va
must $A tc qdisc replace dev va parent root handle 100 mqprio num_tc 3 \
    map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 hw 1
must $A tc qdisc replace dev va parent 100:1 etf clockid CLOCK_TAI delta $delta offload

$B tcpdump -Z root -i vb -B 8192 -j adapter_unsynced --time-stamp-precision=nano -n \
    --immediate-mode -w /tmp/capture.pcap udp >/tmp/tcpdump.log 2>&1 &
dump=$!
if ! wait_for 10 grep -q listening /tmp/tcpdump.log; then
    fail "tcpdump captures with hardware time stamps: $(cat /tmp/tcpdump.log)"
fi
# With mqprio, queue 0 has only frames with launch times.
sent() { $A ethtool -S va | sed -n 's/ *tx0_packets: //p'; }
before=$(sent)
check "teiji sends 500 frames with launch times" \
    $A teiji talk va 10.0.0.2 --frames 500 --period ${slow}ms --margin $margin --realtime 80
sleep 1
kill "$dump"
wait "$dump" 2>/dev/null

left=$(($(sent) - before))
equal "all of them are sent" 500 "$left"
contains "tcpdump captured the sent frames" "$left packets captured" "$(cat /tmp/tcpdump.log)"
analysis=$(teiji analyze /tmp/capture.pcap 2>&1)
status=$?
echo "$analysis"
equal "teiji analyze reads the capture" 0 "$status"
contains "and finds all of them" "$left/" "$analysis"
# Launch times have this interval and no other frame delays them: so do the stamps.
contains "they are exactly $slow ms apart by the NIC's clock" \
    "deviates by 0 … 0 ns from $slow ms" "$analysis"
# All launch times have one phase within the millisecond, and so have the stamps.
phases=$(tcpdump -Z root -r /tmp/capture.pcap -n --time-stamp-precision=nano -tt 2>/dev/null |
    sed 's/^[0-9]*[.]...\([0-9]*\) .*/\1/' | sort -u | wc -l)
equal "in tcpdump's own output all have the same phase of the millisecond" 1 "$phases"

must ip -n dump-a link del va
must ip netns del dump-a
must ip netns del dump-b
must rmmod vtsn
end
