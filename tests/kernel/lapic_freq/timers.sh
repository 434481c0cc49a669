#!/bin/sh
# A guest whose clock is eight times slower than QEMU's: its timers expire on time, and
# each takes one interrupt, not a hundred. The machine's real-time clock is QEMU's.
#
# module: lapic_freq
# cpus: 2
# instruction: 125ps
# package: coreutils
# package: kmod
. /suite/lib

# Interrupts of the local timers of all CPUs, so far.
timers() { awk '$1 == "LOC:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i; print sum }' /proc/interrupts; }
ms() { tr -d . </proc/uptime | awk '{ print 10 * $1 }'; }
machine() { cat /sys/class/rtc/rtc0/since_epoch 2>/dev/null; }

check "the machine is a guest, which the module requires" grep -qw hypervisor /proc/cpuinfo
refused "without indirect branch tracking, which it does not support" grep -qw ibt /proc/cpuinfo
equal "both CPUs are online" 0-1 "$(cat /sys/devices/system/cpu/online)"
equal "the TSC is the clock source" tsc "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"

start=$(ms) before=$(timers) machine_start=$(machine)
sleep 2
within "two seconds take two seconds" 2000 2040 $(($(ms) - start))
# Two CPUs' ticks, at most 1000 per second, and other timers.
within "the timers interrupt at most as often as they tick" 2 6000 $(($(timers) - before))
faster="and the machine's own clock advances by sixteen"
if [ -n "$machine_start" ]; then
    within "$faster" 15 17 $(($(machine) - machine_start))
else
    skip "$faster: this kernel has no driver for it"
fi

# Many short timers: each is set anew.
start=$(ms) before=$(timers)
for _ in $(seq 100); do sleep 0.005; done
within "a hundred sleeps of five milliseconds take half a second, plus their start" 500 1200 $(($(ms) - start))
within "with few interrupts each" 100 6000 $(($(timers) - before))

must rmmod lapic_freq
start=$(ms) before=$(timers)
sleep 1
within "the correction stays when the module is unloaded: a second is a second" 1000 1040 $(($(ms) - start))
within "with as many interrupts" 1 3000 $(($(timers) - before))
check "the module can be loaded again" modprobe lapic_freq
end
