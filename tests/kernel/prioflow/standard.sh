#!/bin/sh
# Flow control with standard equipment: PAUSE and PFC frames, made by hand and looked at
# octet by octet, and obeyed and sent by the MAC of vtsn. Topology in port.inc: A has
# prioflow, B is the standard equipment.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# package: tcpdump
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/link.inc

now_cs() { tr -d . </proc/uptime | cut -d ' ' -f 1; }
# hear WORD: from now on B waits for a MAC control frame that begins so, into heard.hex.
hear() {
    rm -f heard.hex heard.log
    # shellcheck disable=SC2016  # perl expands it
    b perl -e 'my $begin = pack("H*", shift);
        socket(S, 17, 3, 0x0300) or die $!; $| = 1; print STDERR "ready\n"; alarm 20;
        while (defined recv(S, $_, 2000, 0)) {
            next unless substr($_, 12, 2) eq "\x88\x08" && index(substr($_, 14), $begin) == 0;
            print unpack("H*", $_); last;
        }' "$1" >heard.hex 2>heard.log &
    must wait_for 10 grep -q ready heard.log
}
heard() { [ -s heard.hex ]; }
# silence VECTOR QUANTA, pause QUANTA: PFC's and PAUSE's octets after the ethertype.
silence() {
    quanta=$(printf %04x "$2")
    printf '010100%02x%s%052x' "$1" "$quanta$quanta$quanta$quanta$quanta$quanta$quanta$quanta" 0
}
pause() { printf '0001%04x%084x' "$1" 0; }

wire_up
# 100 ms are 1953 quanta of 512 bits at 10 Mbit/s: 07a1.
prioflow limit 500 by pcp link pfc
hear 0101
change receive-level 7
check "a level is asked for by PFC" wait_for 5 heard
equal "of the priorities below it, two levels each, for 100 ms; the others are released" \
    "0180c2000001$(plain "$(a cat /sys/class/net/v0/address)")88080101007f07a107a107a107a1000000000000$(printf '%056x' 0)" \
    "$(cat heard.hex)"
hear 0101
check "it is said again" wait_for 5 heard
hear 0101007f07a107a107a107a107a107a107a10000
change receive-level 15
check "the highest priority is never silenced" wait_for 5 heard
hear 0101007f00000000000000000000000000000000
change receive-level 0
check "and all are released by name" wait_for 5 heard

# What is heard. A quantum is 51.2 microseconds; a debug kernel looks only after a second.
say 8808 "$(silence 0x04 $((slow > 1 ? 65535 : 20000)))"
check "a silent priority and those below it wait" wait_for 2 is_at 6
say 8808 "$(silence 0x01 20000)"
sleep 0.1
timely equal "the highest counts" 6 "$(transmit_level)"
say 8808 "$(silence 0x04 0)"
timely check "until it is released" wait_for 1 is_at 2
say 8808 "$(silence 0xff 0)"
check "as all may be" wait_for 1 is_at 0
start=$(now_cs)
say 8808 "$(silence 0x80 9766)"
timely check "of the highest priority level 15 still leaves" wait_for 2 is_at 15
check "a silence ends by itself" wait_for 5 is_at 0
timely within "after 9766 quanta, in centiseconds" 45 120 $(($(now_cs) - start))
say 8808 "$(pause 20000)"
say 8808 "$(frame 5 1000 1)"
say 88b5 "$(silence 0x04 20000)"
say 8808 "$(silence 0x04 20000)" "$(plain "$(a cat /sys/class/net/v0/address)")"
say 810060058808 "$(silence 0x04 20000)"
sleep 0.1
equal "PAUSE, level frames, other ethertypes, addresses and tags are not PFC" 0 "$(transmit_level)"
malformed=$(count malformed)
say 8808 "$(silence 0x04 20000)" 0180c2000001 010000000001
sleep 0.1
equal "nor is what a group sends obeyed" "0 1" "$(transmit_level) $(($(count malformed) - malformed))"

change link pause
hear 000107a1
change receive-level 1
check "PAUSE is asked for whatever the level is" wait_for 5 heard
hear 00010000
change receive-level 0
check "and ended by no quanta" wait_for 5 heard
say 8808 "$(pause 65535)"
check "PAUSE holds all but level 15" wait_for 2 is_at 15
# For three seconds, and these from now on.
say 8808 "$(pause 65535)"
say 8808 "$(silence 0xff 0)"
sleep 0.1
equal "PFC does not end it" 15 "$(transmit_level)"
say 8808 "$(pause 0)"
check "no quanta do" wait_for 2 is_at 0
# tcpdump looks up the user it is to become; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
b tcpdump -Z root --immediate-mode -nn -c 1 -i v0p ether proto 0x8808 >dump.log 2>dump.ready &
dump=$!
must wait_for 10 grep -q listening dump.ready
change receive-level 3
dumped() { ! kill -0 $dump; }
wait_for 10 dumped
contains "tcpdump reads it" Pause "$(cat dump.log)"
change receive-level 0 storm 300
say 8808 "$(pause 65535)"
must wait_for 2 is_at 15
sleep 0.5
say 8808 "$(pause 65535)"
check "who pauses for too long is ignored" wait_for 2 is_at 0
change storm 10000

must a ethtool -s v0 speed 10000 duplex full autoneg off
change link off
contains "on a wire on which no pause lasts there is none" "before it can be refreshed" \
    "$(a tc qdisc change dev v0 root prioflow link pause 2>&1)"
contains "and nothing has changed" "link off" "$(shown)"
must a ethtool -s v0 speed 10 duplex full autoneg off

# The MAC of vtsn obeys what prioflow sends.
# tagged PRIORITY COUNT: B sends so many frames with a tag.
tagged() {
    flood "$(plain "$(a cat /sys/class/net/v0/address)")$(plain "$peer")8100$1""00588b6$(printf '%0100x' 0)" "$2"
}
got() { a cat /sys/class/net/v0/statistics/rx_packets; }
has_got() { [ "$(got)" -ge "$1" ]; }
must b ethtool -A v0p rx on tx off
change link pause receive-level 3
before=$(got)
sleep 0.2
tagged 6 5
sleep 1
equal "a MAC that is paused by prioflow stays silent as long" 0 $(($(got) - before))
change receive-level 0
check "and goes on when it is released" wait_for 5 has_got $((before + 5))
must b ethtool -A v0p rx off tx off
if b dcb pfc set dev v0p prio-pfc all:on 2>/dev/null; then
    change link pfc receive-level 7
    before=$(got)
    sleep 0.2
    tagged 8 5
    check "under PFC, of the priorities above all come" wait_for 5 has_got $((before + 5))
    before=$(got)
    tagged 6 5
    sleep 1
    equal "and of those below none" 0 $(($(got) - before))
    change receive-level 0
    check "until they are released" wait_for 5 has_got $((before + 5))
    must b dcb pfc set dev v0p prio-pfc all:off
else
    skip "a MAC under PFC: this kernel has no DCB, or there is no dcb program"
fi

# And prioflow obeys the MAC. B looks at its ring of 96 only every 10 ms, in which 120
# frames of 1000 octets come.
if [ $slow -gt 1 ]; then
    skip "prioflow obeys a MAC: a debug kernel is not as quick as a ring of this size needs"
    wire_down
    end
fi
must a ethtool -s v0 speed 100 duplex full autoneg off
must b ethtool -G v0p tx 512 rx 96
must b ethtool -C v0p rx-usecs 10000
overrun() { b cat /sys/class/net/v0p/statistics/rx_fifo_errors; }
# burst: 300 frames from A at once; how many B's ring had no room for in $lost.
burst() {
    lost=$(overrun) before=$(came)
    flow=$(sent 1)
    a perl -e 'socket(S, 2, 2, 0) or die $!; my $to = pack("S n C4 x8", 2, 7001, 10, 0, 0, 2);
        for (1 .. 300) { send(S, "x" x 958, 0, $to) or die $!; }'
    all_left() { [ $(($(sent 1) - flow)) -ge 300 ]; }
    wait_for 60 all_left
    sleep 1
    lost=$(($(overrun) - lost)) came=$(($(came) - before))
}
change link off
burst
within "a ring that nobody looks at overruns" 20 300 "$lost"
must b ethtool -A v0p rx off tx on
change link pause
burst
equal "its MAC's PAUSE frames stop prioflow in time" "0 300" "$lost $came"
within "by levels that it holds" 1 1000000 "$(count received)"
must b ethtool -A v0p rx off tx off
if b dcb pfc set dev v0p prio-pfc 0:on 2>/dev/null; then
    change link pfc
    heard=$(count received)
    burst
    equal "so do its PFC frames" "0 300" "$lost $came"
    within "which were heard" 1 1000000 $(($(count received) - heard))
else
    skip "PFC of a MAC: this kernel has no DCB, or there is no dcb program"
fi
wire_down
end
