#!/bin/sh
# Flow control with standard equipment: PAUSE and PFC frames, made by hand and compared
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
# capture WORD: from now on B waits for a MAC control frame that begins so, into captured.hex.
capture() {
    rm -f captured.hex captured.log
    # shellcheck disable=SC2016  # perl expands it
    b perl -e 'my $begin = pack("H*", shift);
        socket(S, 17, 3, 0x0300) or die $!; $| = 1; print STDERR "ready\n"; alarm 20;
        while (defined recv(S, $_, 2000, 0)) {
            next unless substr($_, 12, 2) eq "\x88\x08" && index(substr($_, 14), $begin) == 0;
            print unpack("H*", $_); last;
        }' "$1" >captured.hex 2>captured.log &
    must wait_for 10 grep -q ready captured.log
}
captured() { [ -s captured.hex ]; }
# pfc VECTOR QUANTA, pause QUANTA: payload of PFC and PAUSE after the ethertype.
pfc() {
    quanta=$(printf %04x "$2")
    printf '010100%02x%s%052x' "$1" "$quanta$quanta$quanta$quanta$quanta$quanta$quanta$quanta" 0
}
pause() { printf '0001%04x%084x' "$1" 0; }

# Levels that A's port does not send, if they have a gap.
paused() { a tc -s qdisc show dev v0 | sed -n 's/^ paused levels //p'; }
is_paused() { [ "$(paused)" = "$1" ]; }

wire_up
# 100 ms are 1953 quanta of 512 bits at 10 Mbit/s: 07a1.
prioflow limit 500 by pcp link pfc
capture 0101
change receive-level 7
check "a receive level sends PFC XOFF" wait_for 5 captured
equal "for the priorities below it, two levels each, for 100 ms; the others are resumed" \
    "0180c2000001$(plain "$(a cat /sys/class/net/v0/address)")88080101007f07a107a107a107a1000000000000$(printf '%056x' 0)" \
    "$(cat captured.hex)"
capture 0101
check "XOFF is refreshed" wait_for 5 captured
capture 0101007f07a107a107a107a107a107a107a10000
change receive-level 15
check "the highest priority is never paused" wait_for 5 captured
capture 0101007f00000000000000000000000000000000
change receive-level 0
check "XON names all priorities" wait_for 5 captured

# Receiving. A quantum is 51.2 microseconds; a debug kernel takes a second to check.
inject 8808 "$(pfc 0x04 $((slow > 1 ? 65535 : 20000)))"
check "a paused priority pauses its two levels" wait_for 2 is_paused 4,5
inject 8808 "$(pfc 0x01 20000)"
sleep 0.1
timely equal "another one does so beside it" 0,1,4,5 "$(paused)"
inject 8808 "$(pfc 0x04 0)"
timely check "until XON for it" wait_for 1 is_at 2
inject 8808 "$(pfc 0xff 0)"
check "all priorities can be paused" wait_for 1 is_at 0
start=$(now_cs)
inject 8808 "$(pfc 0x80 9766)"
timely check "level 15 is not paused with the highest priority" wait_for 2 is_at 15
check "a pause expires" wait_for 5 is_at 0
timely within "after 9766 quanta, in centiseconds" 45 120 $(($(now_cs) - start))
inject 8808 "$(pause 20000)"
inject 8808 "$(frame 5 1000 1)"
inject 88b5 "$(pfc 0x04 20000)"
inject 8808 "$(pfc 0x04 20000)" "$(plain "$(a cat /sys/class/net/v0/address)")"
inject 810060058808 "$(pfc 0x04 20000)"
sleep 0.1
equal "PAUSE, level frames, other ethertypes, addresses and tags are not PFC" 0 "$(transmit_level)"
malformed=$(count malformed)
inject 8808 "$(pfc 0x04 20000)" 0180c2000001 010000000001
sleep 0.1
equal "a frame from a group address is not obeyed" "0 1" "$(transmit_level) $(($(count malformed) - malformed))"

change link pause
capture 000107a1
change receive-level 1
check "any receive level sends PAUSE XOFF" wait_for 5 captured
capture 00010000
change receive-level 0
check "XON is PAUSE with 0 quanta" wait_for 5 captured
inject 8808 "$(pause 65535)"
check "PAUSE pauses all levels but 15" wait_for 2 is_at 15
# For three seconds, from now on.
inject 8808 "$(pause 65535)"
inject 8808 "$(pfc 0xff 0)"
sleep 0.1
equal "PFC does not end the pause" 15 "$(transmit_level)"
inject 8808 "$(pause 0)"
check "0 quanta do" wait_for 2 is_at 0
# tcpdump needs the user to drop privileges to; the guest has none.
[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
b tcpdump -Z root --immediate-mode -nn -c 1 -i v0p ether proto 0x8808 >dump.log 2>dump.ready &
dump=$!
must wait_for 10 grep -q listening dump.ready
change receive-level 3
dumped() { ! kill -0 $dump; }
wait_for 10 dumped
contains "tcpdump decodes it" Pause "$(cat dump.log)"
change receive-level 0 storm 300
inject 8808 "$(pause 65535)"
timely check "the pause lasts until the pause-storm watchdog's timeout" wait_for 2 is_at 15
sleep 0.5
inject 8808 "$(pause 65535)"
check "the pause-storm watchdog ignores requests after the timeout" wait_for 2 is_at 0
change storm 10000

# At 10 Gbit/s the longest pause lasts 3.4 ms.
must a ethtool -s v0 speed 10000 duplex full autoneg off
must b tc qdisc replace dev v0p root handle 1: prioflow link pause by pcp
change receive-level 1
paused_at_peer() { b tc -s qdisc show dev v0p | grep -q "^ transmit level 15,"; }
check "at 10 Gbit/s a pause is requested" wait_for 2 paused_at_peer
pauses=$(b tc -s qdisc show dev v0p | awk '$1 == "14" { print $6 }')
sleep 0.1
timely equal "and refreshed before it ends" "$pauses" \
    "$(b tc -s qdisc show dev v0p | awk '$1 == "14" { print $6 }')"
change receive-level 0
must b tc qdisc del dev v0p root
must a ethtool -s v0 speed 10 duplex full autoneg off

# The MAC of vtsn obeys what prioflow sends.
# tagged PRIORITY COUNT: B sends so many tagged frames.
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
equal "a MAC that prioflow pauses sends nothing" 0 $(($(got) - before))
change receive-level 0
check "and sends again after XON" wait_for 5 has_got $((before + 5))
must b ethtool -A v0p rx off tx off
if b dcb pfc set dev v0p prio-pfc all:on 2>/dev/null; then
    change link pfc receive-level 7
    before=$(got)
    sleep 0.2
    tagged 8 5
    check "under PFC, frames of the priorities above are received" wait_for 5 has_got $((before + 5))
    before=$(got)
    tagged 6 5
    sleep 1
    equal "those of the priorities below are not" 0 $(($(got) - before))
    change receive-level 0
    check "until XON" wait_for 5 has_got $((before + 5))
    must b dcb pfc set dev v0p prio-pfc all:off
else
    skip "a MAC under PFC: this kernel has no DCB, or there is no dcb program"
fi

# And prioflow obeys the MAC. B polls its ring of 96 only every 10 ms, in which 120
# frames of 1000 octets arrive.
if [ $slow -gt 1 ]; then
    skip "prioflow obeys a MAC: a debug kernel is too slow for a ring of this size"
    wire_down
    end
fi
must a ethtool -s v0 speed 100 duplex full autoneg off
must b ethtool -G v0p tx 512 rx 96
must b ethtool -C v0p rx-usecs 10000
overrun() { b cat /sys/class/net/v0p/statistics/rx_fifo_errors; }
# burst: 300 frames from A at once; frames that overran B's ring are in $lost.
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
within "a ring that is not polled overruns" 20 300 "$lost"
must b ethtool -A v0p rx off tx on
change link pause
burst
equal "its MAC's PAUSE frames pause prioflow in time" "0 300" "$lost $came"
within "by the transmit level" 1 1000000 "$(count received)"
must b ethtool -A v0p rx off tx off
if b dcb pfc set dev v0p prio-pfc 0:on 2>/dev/null; then
    change link pfc
    captured=$(count received)
    burst
    equal "so do its PFC frames" "0 300" "$lost $came"
    within "which prioflow received" 1 1000000 $(($(count received) - captured))
else
    skip "PFC of a MAC: this kernel has no DCB, or there is no dcb program"
fi
wire_down
end
