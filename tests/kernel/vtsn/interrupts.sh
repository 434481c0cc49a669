#!/bin/sh
# Interrupts: the port's line, its thread, moderation, and threaded NAPI.
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
contains "/proc/interrupts lists the line with the port's name" "v0p" "$(grep "^ *$irq:" /proc/interrupts)"
if uname -v | grep -q PREEMPT_RT; then
    thread=$(ps | awk -v name="irq/$irq-v0p" 'index($0, name) && !/awk/ { print $1 }')
    within "PREEMPT_RT has a thread for it" 1 100000 "${thread:-0}"
    must chrt -f -p 77 "$thread"
    contains "whose priority can be set" "priority: 77" "$(chrt -p "$thread")"
else
    thread=
    skip "the interrupt's thread: this kernel is not PREEMPT_RT"
fi
# raised CPU: number of interrupts of the line on it.
raised() { awk -v line="$irq:" -v field=$(($1 + 2)) '$1 == line { print $field }' /proc/interrupts; }
# A thread migrates at its next wake-up.
moved() { send --frames 1 --period 1ms --priority 0 --no-stamps; [ "$(processor)" = "$1" ]; }
processor() { sed 's/.*) //' "/proc/$thread/stat" | cut -d' ' -f37; }
# A second CPU makes a guest much slower: the other scripts have one, and this one runs
# once more with two (crates/teiji-cli/tests/laboratory/kernel_modules.rs).
if [ "$(nproc)" -gt 1 ]; then
    cpus='1 0'
else
    cpus=
    skip "the interrupt moves to another processor: there is one only (--cpus 2)"
fi
for cpu in $cpus; do
    must sh -c "echo $cpu >/proc/irq/$irq/smp_affinity_list"
    equal "its affinity can be set to CPU $cpu" $cpu "$(cat /proc/irq/$irq/effective_affinity_list)"
    if [ -n "$thread" ]; then
        check "its thread migrates to CPU $cpu" wait_for 10 moved $cpu
    fi
    # A timer set before the change still expires on the old CPU.
    send --frames 5 --period 1ms --priority 0 --no-stamps
    before=$(raised $cpu) elsewhere=$(raised $((1 - cpu)))
    send --frames 20 --period 1ms --priority 0 --no-stamps
    within "frames interrupt CPU $cpu" $((before + 1)) 1000000 "$(raised $cpu)"
    equal "and no longer the other CPU" "$elsewhere" "$(raised $((1 - cpu)))"
done

period=$((100 * slow))
# interrupts: of B, for 100 frames.
interrupts() {
    before=$(count_b interrupts)
    receive
    send --frames 100 --period ${period}us --priority 0 --no-stamps
    received
    equal "$1: all frames are received" 100 "$(frames)"
    number=$(($(count_b interrupts) - before))
}
interrupts "without moderation"
within "without moderation each frame has an interrupt" 95 105 "$number"
must b ethtool -C v0p rx-usecs 10000 rx-frames 4
interrupts "rx-frames 4"
within "rx-frames 4 does not wait for the fifth" 23 $((slow > 1 ? 35 : 30)) "$number"

# Of 100 frames, one every `period`, with moderation of `moderated`, so many interrupts: each
# starts with a frame and takes those received meanwhile, and the next starts with the next
# frame; or, at the least, with the one after it.
if [ "$slow" = 1 ]; then period=100 moderated=1000; else period=4000 moderated=10000; fi
few=$((100 * period / (moderated + period)))
least=$((100 * period / (moderated + 2 * period)))
must b ethtool -C v0p rx-usecs $moderated rx-frames 0
interrupts "rx-usecs $moderated"
within "rx-usecs $moderated coalesces as many frames" $least $((few * 3 / 2 + 1)) "$number"
must b ethtool -C v0p rx-usecs 0 rx-frames 0
refused "moderation beyond 10 ms is refused" b ethtool -C v0p rx-usecs 10001

# released ARGUMENTS…: A's interrupts, for 100 frames; plus a few for
# the kernel's own frames.
released() {
    before=$(count_a interrupts)
    send --frames 100 --period ${period}us --priority 0 "$@"
    sleep 0.1
    number=$(($(count_a interrupts) - before))
}
must a ethtool -C v0 tx-usecs 0
released --no-stamps
within "without moderation each sent frame has an interrupt" 95 130 "$number"
must a ethtool -C v0 tx-usecs $moderated
released --no-stamps
within "tx-usecs $moderated coalesces as many frames" $least $((few * 3 + 10)) "$number"
must a ethtool -C v0 tx-usecs 10000
released
within "but not if time stamps are pending" 95 130 "$number"
equal "and each time stamp is reported" 100 "$(awk -F, 'NR > 1 && $7 != ""' tx.csv | wc -l)"

must sh -c 'ip netns exec B sh -c "echo 1 >/sys/class/net/v0p/threaded"'
receive
send --frames 50 --period 200us --priority 0 --no-stamps
received
equal "NAPI works in a thread, too" 50 "$(frames)"
contains "the thread exists" "napi/v0p" "$(ps)"
must sh -c 'ip netns exec B sh -c "echo 0 >/sys/class/net/v0p/threaded"'

# span: time in us of a hundred frames, sent as fast as this kernel can.
span() {
    receive
    send --frames 100 --period 100us --priority 0 --no-stamps
    received
    equal "$1: all frames are received" 100 "$(frames)"
    span=$(rx 'NR == 2 { first = at } { last = at } END { print int((last - first) / 1000) }')
}
# Four at a time with 10 ms between them would be 250 ms or more.
span "in a ring of 256"
usual=$span
must a ethtool -G v0 tx 4
span "in a ring of 4"
within "a full ring does not wait for moderation" 1 $((usual + 60000)) "$span"
must a ethtool -G v0 tx 256
must a ethtool -C v0 tx-usecs 100

one_queue
hold
send --frames 20 --period 50us --priority 0 --no-stamps
equal "byte queue limits count the bytes in the ring" $((20 * (42 + 64))) "$(in_ring)"
release
sleep 0.1
equal "and none when all frames are sent" 0 "$(in_ring)"
wire_down
end
