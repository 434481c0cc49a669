#!/bin/sh
# tcpdump with hardware time stamps: a capture as of a LAN analyser. It agrees with
# the launch times, and `teiji analyze` reads it.
#
#     A (teiji talk, ETF offload) ────── B (tcpdump), topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# package: tcpdump
. /suite/lib
. /suite/wire.inc

# tcpdump needs the user to drop privileges to; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
# The paper's; a debug kernel's softirqs are late by many milliseconds at times.
delta=150000 margin=400us
[ "$slow" = 1 ] || delta=150000000 margin=200ms
wire_up
must a tc qdisc replace dev v0 parent root handle 100 mqprio num_tc 3 \
    map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 hw 1
must a tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta "$delta" offload

# Not b(): $! would be the shell of the function, not tcpdump.
ip netns exec B tcpdump -Z root -i v0p -B 8192 -j adapter_unsynced --time-stamp-precision=nano -n \
    --immediate-mode -w /tmp/capture.pcap udp >/tmp/tcpdump.log 2>&1 &
dump=$!
if ! wait_for 10 grep -q listening /tmp/tcpdump.log; then
    fail "tcpdump captures with hardware time stamps: $(cat /tmp/tcpdump.log)"
fi
# With mqprio, queue 0 has only frames with launch times.
sent() { a ethtool -S v0 | sed -n 's/ *tx0_packets: //p'; }
before=$(sent)
check "teiji sends 500 frames with launch times" \
    a teiji talk v0 10.0.0.2 --frames 500 --period "${slow}ms" --margin "$margin" --realtime 80
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
# Launch times have this interval and no other frame delays them, as this port sends no
# other: so do the stamps.
contains "they are exactly $slow ms apart by the NIC's clock" \
    "deviates by 0 … 0 ns from $slow ms" "$analysis"
# All launch times have one phase within the millisecond, and so have the stamps.
phases=$(tcpdump -Z root -r /tmp/capture.pcap -n --time-stamp-precision=nano -tt 2>/dev/null |
    sed 's/^[0-9]*[.]...\([0-9]*\) .*/\1/' | sort -u | wc -l)
equal "in tcpdump's own output all have the same phase of the millisecond" 1 "$phases"

wire_down
end
