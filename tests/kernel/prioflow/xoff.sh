#!/bin/sh
# From XOFF to the last frame: number of in-flight frames and time, by the size of the sender's
# ring and by the bytes that BQL admits to it. Frames in the ring cannot be paused; the
# study had 446 us and 4 to 5 frames with a ring of 4.
# Topology in port.inc, at 100 Mbit/s; both ends share a CPU.
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

# tcpdump needs the user to drop privileges to; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd

# Reads B's capture: its own XOFF frames, and the frames of A received after the first of
# them. Prints the most frames and the longest time in us, up to the end of the last frame.
cat >xoff.pl <<'END'
use strict;
open my $file, "<:raw", shift or die $!;
read $file, my $head, 24;
my ($since, $count, $last, $pauses, $most, $longest) = (0, 0, 0, 0, 0, 0);
while (read($file, my $record, 16) == 16) {
    my ($s, $ns, $captured, $length) = unpack "V4", $record;
    read $file, my $data, $captured;
    my $at = $s * 1e9 + $ns;
    my $type = unpack "H*", substr $data, 12, 8;
    if ($type eq "8808fffe02544a01") {
        # A's own hello.
        next if unpack("H12", substr $data, 6, 6) ne $ARGV[0];
        my $level = ord substr $data, 20, 1;
        if ($level && !$since) {
            ($since, $count, $last) = ($at, 0, $at);
        } elsif (!$level && $since) {
            $pauses++;
            $most = $count if $count > $most;
            $longest = $last - $since if $last - $since > $longest;
            $since = 0;
        }
    } elsif ($since && $type =~ /^0800/) {
        # The stamp is of the frame's beginning; 80 ns per octet, the FCS included.
        my $end = $at + ($length + 4) * 80;
        if ($end > $since) { $count++; $last = $end; }
    }
}
printf "%d %d %d\n", $pauses, $most, $longest / 1000;
END
captured() { b grep -q listening tcpdump.log; }
pauses=$((slow > 1 ? 3 : 6))

# xoff RING LEAST MOST: so many pauses under a flood, with a ring of that size and BQL from
# LEAST to MOST bytes; their number, the most frames and the longest time in $pauses_seen, $frames, $us.
xoff() {
    must a ethtool -G v0 tx "$1"
    # Down to one frame first: BQL decreases slowly by itself.
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
    while [ $i -lt $pauses ]; do
        peer_change receive-level 2
        sleep 0.02
        peer_change receive-level 0
        # Not at the same point of a frame each time.
        sleep 0.0${i}7
        i=$((i + 1))
    done
    stop_flood
    # tcpdump writes packets after a second.
    sleep 1.2
    kill $dump
    wait $dump
    # shellcheck disable=SC2046 # three numbers
    set -- $(perl xoff.pl xoff.pcap "$(plain "$peer")")
    pauses_seen=$1 frames=$2 us=$3
}
stop_flood() {
    kill -9 "$(cat A.pid)"
    wait_for 10 has_ended "$(cat A.pid)"
    rm -f A.pid
    must wait_for 20 all_left
}
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
            *00) most="by BQL" ;;
            "0 2"*) most="to two frames" ;;
            *) most="by the ring size" ;;
        esac
        what="a ring of $ring, limited $most"
        echo "$what: at most $frames frames and $us us after XOFF, of $pauses_seen pauses"
        equal "$what: every pause is seen" $pauses "$pauses_seen"
        case $ring$bytes in
            4*) timely within "$what: no more in-flight frames than in the study" 1 5 "$frames" ;;
            *"0 2484") timely within "$what: the ring size does not matter" 1 4 "$frames" ;;
            # The sender's own buffer holds about 130.
            *"$full") timely within "$what: the ring size determines the in-flight frames" $((ring > 64 ? 80 : 32)) $((ring + 2)) "$frames" ;;
        esac
    done
done
wire_down
end
