#!/bin/sh
# From asking for silence to silence: how many frames still come, and for how long, by the size
# of the sender's ring and by how many bytes may be in it (byte queue limits, BQL). What has left
# the queue is in nobody's hands; the study had 446 us and 4 to 5 frames with a ring of 4.
# Topology in port.inc, at 100 Mbit/s; both ends share a processor.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# package: tcpdump
# plugin: prioflow/tc/q_prioflow.c
# limit: 900
# long: a flood for each of nine rings
. /suite/lib
. /suite/port.inc
. /suite/link.inc
. /suite/socket.inc

# tcpdump looks up the user it is to become; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd

# Reads B's capture: its own frames that ask for a level, and what came of A's after the first of
# them. Prints the most frames and the longest time in us, which is to the end of the last frame.
cat >xoff.pl <<'END'
use strict;
open my $file, "<:raw", shift or die $!;
read $file, my $head, 24;
my ($asked, $count, $last, $silences, $most, $longest) = (0, 0, 0, 0, 0, 0);
while (read($file, my $record, 16) == 16) {
    my ($s, $ns, $captured, $length) = unpack "V4", $record;
    read $file, my $data, $captured;
    my $at = $s * 1e9 + $ns;
    my $type = unpack "H*", substr $data, 12, 8;
    if ($type eq "8808fffe02544a01") {
        my $level = ord substr $data, 20, 1;
        if ($level && !$asked) {
            ($asked, $count, $last) = ($at, 0, $at);
        } elsif (!$level && $asked) {
            $silences++;
            $most = $count if $count > $most;
            $longest = $last - $asked if $last - $asked > $longest;
            $asked = 0;
        }
    } elsif ($asked && $type =~ /^0800/) {
        # The stamp is of the frame's beginning; 80 ns for each octet, the FCS included.
        my $end = $at + ($length + 4) * 80;
        if ($end > $asked) { $count++; $last = $end; }
    }
}
printf "%d %d %d\n", $silences, $most, $longest / 1000;
END
captured() { b grep -q listening tcpdump.log; }
silences=$((slow > 1 ? 3 : 6))

# xoff RING LEAST MOST: so many silences under a flood, with a ring of that size that holds from
# LEAST to MOST bytes; their number, the most frames and the longest time in $silent, $frames, $us.
xoff() {
    must a ethtool -G v0 tx "$1"
    # Down to what one frame takes first: it falls slowly by itself.
    for most in 1300 "$3"; do
        a sh -c "cd /sys/class/net/v0/queues/tx-0/byte_queue_limits
            echo 0 >limit_min; echo $most >limit_max; echo $2 >limit_min"
        a perl flow.pl send size=1200 sndbuf=200000 priority=1 count=1000000 pid=A.pid >/dev/null &
        before=$(came)
        must wait_for 20 has_come $((before + 200))
        [ $most = "$3" ] || stop_flood
    done
    rm -f tcpdump.log
    ip netns exec B tcpdump -Z root -i v0p -B 16384 -s 64 -j adapter_unsynced \
        --time-stamp-precision=nano -n -w xoff.pcap 2>tcpdump.log >/dev/null &
    dump=$!
    must wait_for 10 captured
    i=0
    while [ $i -lt $silences ]; do
        peer_change receive-level 2
        sleep 0.02
        peer_change receive-level 0
        # Not at the same place of a frame each time.
        sleep 0.0${i}7
        i=$((i + 1))
    done
    stop_flood
    # tcpdump writes what is older than a second.
    sleep 1.2
    kill $dump
    wait $dump
    # shellcheck disable=SC2046 # three numbers
    set -- $(perl xoff.pl xoff.pcap)
    silent=$1 frames=$2 us=$3
}
stop_flood() {
    kill -9 "$(cat A.pid)"
    wait_for 10 gone "$(cat A.pid)"
    rm -f A.pid
    must wait_for 20 all_left
}
gone() { [ ! -e "/proc/$1" ]; }
all_left() { [ "$(queued 1)" = 0 ]; }

wire_up
must a ethtool -s v0 speed 100 duplex full autoneg off
must a ethtool -L v0 tx 1
link_up
for ring in 4 64 256; do
    full=$((ring * 1242))
    for bytes in "0 1000000000" "0 2484" "$full $full"; do
        # shellcheck disable=SC2086 # two numbers
        xoff $ring $bytes
        case $bytes in
            *00) most="what BQL finds" ;;
            "0 2"*) most="two frames" ;;
            *) most="as many as there is room for" ;;
        esac
        told="a ring of $ring, in it $most"
        echo "$told: at most $frames frames and $us us after asking, of $silent silences"
        equal "$told: every silence is seen" $silences "$silent"
        case $ring$bytes in
            4*) timely within "$told: no more frames than the study's" 1 5 "$frames" ;;
            *"0 2484") timely within "$told: the ring's size does not matter" 1 4 "$frames" ;;
            # The sender's own buffer holds some 130.
            *"$full") timely within "$told: it decides" $((ring > 64 ? 80 : 32)) $((ring + 2)) "$frames" ;;
        esac
    done
done
wire_down
end
