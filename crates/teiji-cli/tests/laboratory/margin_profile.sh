#!/bin/sh
# `teiji margin` on NICs ends with a profile that `teiji apply` takes: the set-up that was measured, with the delta
# that held. Also the limit of idle states, which only a guest can set for a test.
#
#     v0 (talker) ── wire ── v0p (listener)
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# long: a margin is measured
. /suite/lib

limit() { cat /sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us; }

must ip link add v0 type vtsn
must ip link set v0 up
must ip link set v0p up
mkdir -p /tmp/margin
cd /tmp/margin || exit 1
cat >drive.toml <<'END'
name = "drive"
question = "How early must a frame be ready?"
wires.line = { between = ["talker", "listener"] }

[hosts.talker.system]
idle-latency = "20us"

[hosts.talker.ports.line.qdisc]
kind = "mqprio"
queues = ["1@0", "1@1"]
map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
classes.0 = { kind = "etf", delta = "150us" }

[flows.cycle]
from = "talker"
to = "listener"
period = "1ms"
frames = 400
priority = 3
mode = "launch-time"
margin = "400us"
END
had=$(limit)
output=$(teiji margin drive.toml --on local --bind talker=v0,listener=v0p --probability 0.1 2>&1)
equal 'a margin held' 0 $?
echo "$output"
contains 'margin names the next step' 'teiji apply teiji-margin.profile.toml --confirm 60s' "$output"
equal 'the measurement leaves no limit' "$had" "$(limit)"
cat teiji-margin.profile.toml
contains 'the profile has the margin' '# Margin for ' "$(cat teiji-margin.profile.toml)"
us=$(sed -n 's/.*delta = "\([0-9]*\)us".*/\1/p' teiji-margin.profile.toml)
saved=$(tr ',' '\n' <teiji-margin.json | sed -n 's/.*"delta_ns": *\([0-9]*\).*/\1/p')
equal 'its delta is that of the saved margin' "$saved" "${us}000"
output=$(teiji apply teiji-margin.profile.toml 2>&1)
equal 'it is applied' 0 $?
echo "$output"
contains 'tc shows the delta' "delta ${us}000" "$(tc qdisc show dev v0)"
equal 'CPUs have the limit' 20 "$(limit)"
teiji status
equal 'the machine is as the profile says' 0 $?
teiji revert
equal 'the limit is as it was' "$had" "$(limit)"
refused 'etf is gone' sh -c 'tc qdisc show dev v0 | grep -q etf'
ip link del v0
end
