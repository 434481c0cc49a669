#!/bin/sh
# Interrupts: a line of its own, its thread, moderation, and NAPI in a thread.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
# package: util-linux
. /suite/lib
. /suite/wire.inc

wire_up
irq=$(get_b irq)
contains "the line is listed under the port's name" "v0p" "$(grep "^ *$irq:" /proc/interrupts)"
if uname -v | grep -q PREEMPT_RT; then
    thread=$(ps | awk -v name="irq/$irq-v0p" 'index($0, name) && !/awk/ { print $1 }')
    within "PREEMPT_RT gives it a thread" 1 100000 "${thread:-0}"
    must chrt -f -p 77 "$thread"
    contains "whose priority can be set" "priority: 77" "$(chrt -p "$thread")"
else
    skip "the interrupt's thread: this kernel is not PREEMPT_RT"
fi
must sh -c "echo 1 >/proc/irq/$irq/smp_affinity"
equal "its affinity can be set" 1 "$(sed 's/^0*//' /proc/irq/$irq/smp_affinity)"

# interrupts: B's, for 100 frames 100 us apart.
interrupts() {
    before=$(count_b interrupts)
    receive 2
    send --frames 100 --period 100us --priority 0 --no-stamps
    received
    equal "$1: all frames arrive" 100 "$(frames)"
    number=$(($(count_b interrupts) - before))
}
interrupts "without moderation"
within "without moderation each frame has its interrupt" 95 105 "$number"
must b ethtool -C v0p rx-usecs 1000
interrupts "rx-usecs 1000"
within "rx-usecs 1000 takes about ten together" 8 14 "$number"
must b ethtool -C v0p rx-usecs 5000 rx-frames 4
interrupts "rx-frames 4"
within "rx-frames 4 does not wait for the fifth" 23 30 "$number"
must b ethtool -C v0p rx-usecs 0 rx-frames 0
refused "moderation beyond 10 ms is refused" b ethtool -C v0p rx-usecs 10001

# released ARGUMENTS…: A's interrupts, for 100 frames 100 us apart; a few more are for
# frames that the kernel itself exchanges.
released() {
    before=$(count_a interrupts)
    send --frames 100 --period 100us --priority 0 "$@"
    sleep 0.1
    number=$(($(count_a interrupts) - before))
}
must a ethtool -C v0 tx-usecs 0
released --no-stamps
within "without moderation each frame sent has its interrupt" 95 130 "$number"
must a ethtool -C v0 tx-usecs 1000
released --no-stamps
within "tx-usecs 1000 takes about ten together" 8 40 "$number"
must a ethtool -C v0 tx-usecs 10000
released
within "which a stamp does not wait for" 95 130 "$number"
equal "and each comes" 100 "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"

must sh -c 'ip netns exec B sh -c "echo 1 >/sys/class/net/v0p/threaded"'
receive 2
send --frames 50 --period 200us --priority 0 --no-stamps
received
equal "NAPI works in a thread, too" 50 "$(frames)"
contains "which there is" "napi/v0p" "$(ps)"
must sh -c 'ip netns exec B sh -c "echo 0 >/sys/class/net/v0p/threaded"'

# A ring of four with moderation of 10 ms: a hundred frames would take 250 ms.
must a ethtool -G v0 tx 4
receive 2
send --frames 100 --period 100us --priority 0 --no-stamps
received
equal "a full ring does not wait either: all frames arrive" 100 "$(frames)"
within "within less than half of that time" 1 100000000 \
    "$(rx 'NR == 2 { first = at } { last = at } END { print last - first }')"
must a ethtool -G v0 tx 256
must a ethtool -C v0 tx-usecs 100

one_queue
inflight() { a cat /sys/class/net/v0/queues/tx-0/byte_queue_limits/inflight; }
hold
send --frames 20 --period 50us --priority 0 --no-stamps
equal "byte queue limits count what waits in the ring" $((20 * (42 + 64))) "$(inflight)"
release
sleep 0.1
equal "and nothing when it has left" 0 "$(inflight)"
wire_down
end
