#!/bin/sh
# A guest whose clock is eight times slower than QEMU's: its timers come when they should, and
# each costs one interrupt, not a hundred. The real-time clock of the machine is QEMU's.
#
# module: lapic_freq
# cpus: 2
# instruction: 125ps
# package: coreutils
# package: kmod
. /suite/lib

# Interrupts of the local timers of all processors, until now.
timers() { awk '$1 == "LOC:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i; print sum }' /proc/interrupts; }
ms() { tr -d . </proc/uptime | awk '{ print 10 * $1 }'; }
machine() { cat /sys/class/rtc/rtc0/since_epoch 2>/dev/null; }

equal "both processors are there" 0-1 "$(cat /sys/devices/system/cpu/online)"
equal "the TSC is the clock" tsc "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"

start=$(ms) before=$(timers) machine_start=$(machine)
sleep 2
within "two seconds take two seconds" 2000 2040 $(($(ms) - start))
# Two processors' ticks, 1000 a second at most, and what else there is.
within "in which the timers interrupt as often as they tick, or less" 2 6000 $(($(timers) - before))
faster="and the machine's own clock goes on by sixteen"
if [ -n "$machine_start" ]; then
    within "$faster" 15 17 $(($(machine) - machine_start))
else
    skip "$faster: this kernel has no driver for it"
fi

# Many short ones: each is set anew.
start=$(ms) before=$(timers)
for _ in $(seq 100); do sleep 0.005; done
within "a hundred times five milliseconds take half a second, and what starting them does" 500 1200 $(($(ms) - start))
within "with few interrupts each" 100 6000 $(($(timers) - before))

must rmmod lapic_freq
start=$(ms) before=$(timers)
sleep 1
within "what it has put right stays when it is gone: a second is one" 1000 1040 $(($(ms) - start))
within "and has as many interrupts" 1 3000 $(($(timers) - before))
check "it comes again" modprobe lapic_freq
end
