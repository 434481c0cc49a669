#!/bin/sh
# `teiji apply`: a profile is applied as a whole or not at all, and what was there before comes back: by
# `teiji revert`, after a refused step, without confirmation, and when teiji is killed at any time.
#
#     this namespace: v0 (gets the profile) ────── v0p: B
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# package: iproute2
# package: ethtool
# package: util-linux
# package: procps
# long: teiji is killed 28 times
. /suite/lib
. /suite/wire.inc

# Budgets of the kernel are settings of the first namespace alone.
a() { "$@"; }
# state: all that a profile may change of v0, as other programs see it.
state() {
    a ethtool -l v0 | tr '\t' ' '
    a ethtool -c v0 | grep -E 'usecs|Adaptive' | tr '\t' ' '
    a ethtool -a v0 | tr '\t' ' '
    a tc qdisc show dev v0
    a ip -o address show dev v0 | sed 's/valid_lft.*//'
    a ip -o link show dev v0 | sed 's/qlen.*//; s/qdisc [a-z]*//'
    a sh -c 'cd /sys/class/net/v0; grep . threaded napi_defer_hard_irqs gro_flush_timeout queues/*/xps_cpus queues/*/rps_cpus 2>/dev/null'
    for thread in $(pgrep "^irq/$(get_a irq)-|^ksoftirqd/"); do
        cat "/proc/$thread/comm"
        chrt -p "$thread" | sed 's/^pid [0-9]*//'
    done
    sysctl net.core.netdev_budget net.core.dev_weight
    cat "/proc/irq/$(get_a irq)/smp_affinity_list"
}
# apply [OPTION…] FILE: what it says is in `said`, its exit code in `code`.
apply() {
    said=$(a teiji apply "$@" 2>&1)
    code=$?
}
status() {
    said=$(a teiji status "$@" 2>&1)
    code=$?
}
# as_it_was SENTENCE: the machine is as it was in the beginning.
as_it_was() {
    state >/tmp/now
    equal "$1: the machine is as it was" '' "$(diff /tmp/began /tmp/now)"
}
# nothing_changed SENTENCE: so it is, and nothing is applied.
nothing_changed() {
    as_it_was "$1"
    status
    contains "$1: no profile is applied" 'no profile is applied here' "$said"
}
# settled: nobody is at work.
settled() { ! pgrep -f '(init|teiji) (guard|apply)' >/dev/null; }
revert() { a teiji revert >/dev/null; }

ip netns del B 2>/dev/null
wait_for 5 no_port
must ip netns add B
must ip link add v0 type vtsn
must ip link set v0p netns B
must sysctl -qw net.ipv6.conf.v0.disable_ipv6=1
must ip address add 10.0.0.1/24 dev v0
must ip link set v0 up
must ip -n B link set v0p up
mkdir -p /tmp/profiles
cd /tmp/profiles || exit 1
cat >drive.toml <<'EOF'
[system]
ksoftirqd = { priority = 2 }
netdev-budget = 64

[ports.v0]
moderation = { rx = "20us", tx = "10us" }
pause = true
napi = { threaded = true, defer-hard-irqs = 2, gro-flush-timeout = "50us" }

[ports.v0.qdisc]
kind = "mqprio"
queues = ["1@0", "1@1"]
map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
classes.0 = { kind = "etf", delta = "150us", offload = true }
EOF
state >/tmp/began
status
equal 'status without a profile: exit code' 0 $code
contains 'status without a profile' 'no profile is applied here' "$said"

# Applied, and seen by others.
said=$(a teiji diff drive.toml 2>&1)
equal 'diff before: exit code' 4 $?
contains 'diff names the moderation' 'moderation rx' "$said"
as_it_was 'after diff'
apply drive.toml
echo "$said"
equal 'apply: exit code' 0 $code
contains 'apply prints the commands' 'tc qdisc replace dev v0' "$said"
contains 'tc shows mqprio' 'qdisc mqprio' "$(a tc qdisc show dev v0)"
contains 'tc shows etf with offload' 'offload on' "$(a tc qdisc show dev v0 | grep etf)"
contains 'ethtool shows the moderation' 'rx-usecs: 20' "$(a ethtool -c v0 | tr '\t' ' ')"
contains 'ethtool shows PAUSE' 'TX: on' "$(a ethtool -a v0 | tr -s '\t ' ' ')"
contains 'chrt shows ksoftirqd' 'SCHED_FIFO' "$(chrt -p "$(pgrep -x ksoftirqd/0)")"
equal 'sysctl shows the budget' 64 "$(sysctl -n net.core.netdev_budget)"
contains 'the address is still there' 10.0.0.1 "$(a ip -o address show dev v0)"
contains 'the NIC is still up' 'state UP' "$(a ip -o link show dev v0)"
status
equal 'status: exit code' 0 $code
contains 'status names the file' 'drive.toml, applied at ' "$said"
said=$(a teiji diff drive.toml 2>&1)
equal 'diff afterwards: exit code' 0 $?
apply drive.toml
contains 'applied twice' 'is applied already' "$said"
settled && ok 'no process stays' || fail 'no process stays'
said=$(b teiji status 2>&1)
contains 'another namespace is reported' 'in another network namespace' "$said"

# Changed by somebody else.
must a ethtool -C v0 rx-usecs 7
status
equal 'status after a change: exit code' 4 $code
contains 'status tells the change' 'moderation rx (µs): 7, configured: 20' "$said"
status --json
contains 'as JSON, too' '"differences": [' "$said"
apply drive.toml
equal 'applied again: exit code' 0 $code
contains 'ethtool shows the moderation again' 'rx-usecs: 20' "$(a ethtool -c v0 | tr '\t' ' ')"
said=$(a teiji revert 2>&1)
contains 'revert names the profile' 'drive.toml was put back' "$said"
nothing_changed 'after revert'
said=$(a teiji revert 2>&1)
equal 'reverted twice: exit code' 0 $?

# A step that the kernel refuses, after many that it took.
sed 's/^pause = .*/&\nxps = [[0],[0],[0],[0],[0],[0],[0],[0],[0]]/' drive.toml >refused.toml
apply refused.toml
echo "$said"
equal 'a refused step: exit code' 1 $code
contains 'a refused step is reported' 'transmit queues' "$said"
contains 'its end is reported' 'Everything is as it was before' "$said"
nothing_changed 'after a refused step'
# The same where a profile is applied: that one comes back.
printf '[ports.v0]\nmoderation = { rx = "33us" }\n' >small.toml
apply small.toml
apply refused.toml
contains 'the profile before is applied again' 'small.toml is applied again' "$said"
contains 'ethtool shows that' 'rx-usecs: 33' "$(a ethtool -c v0 | tr '\t' ' ')"
apply drive.toml
contains 'another profile takes its place' '# small.toml was put back' "$said"
revert
nothing_changed 'after two profiles'

# Confirmation.
apply --confirm 3s drive.toml
equal 'with --confirm: exit code' 0 $code
contains 'with --confirm: what is to be done' 'teiji apply --confirmed' "$said"
status
contains 'status has the time' 'unless you confirm' "$said"
apply small.toml
contains 'no other profile meanwhile' 'waits for confirmation' "$said"
said=$(a teiji apply --confirmed 2>&1)
equal 'confirmed: exit code' 0 $?
sleep 4
status
contains 'what is confirmed stays' 'drive.toml, applied at ' "$said"
said=$(a teiji apply --confirmed 2>&1)
equal 'confirmed twice: exit code' 1 $?
revert
apply --confirm 2s drive.toml
wait_for 10 settled
nothing_changed 'not confirmed'
contains 'status says why' 'drive.toml was not confirmed in time' "$said"
contains 'so does the log of the kernel' 'teiji: drive.toml was not confirmed' "$(dmesg)"
apply small.toml
apply --confirm 2s drive.toml
wait_for 10 settled
status
contains 'without confirmation the profile before comes back' 'small.toml, applied at ' "$said"
revert
nothing_changed 'after all of that'

# begins: teiji applies a profile, as process `teiji`, and has written its journal.
begins() {
    teiji apply drive.toml >/dev/null 2>&1 &
    teiji=$!
    until [ -e /run/teiji/journal.json ]; do :; done
}

# Without a cable, and down.
must ip -n B link set v0p down
apply drive.toml
equal 'without a carrier it is applied' 0 $code
must ip link set v0 down
status
contains 'that it is down is reported' '! v0: it is down' "$said"
apply drive.toml
contains 'it is set up again' 'UP' "$(ip -o link show dev v0 | sed 's/.*<//; s/>.*//')"
revert
must ip -n B link set v0p up
wait_for 5 sh -c 'ip -o link show dev v0 | grep -q LOWER_UP'
as_it_was 'after that'

# Killed at any time.
interrupted=0
whole=0
delay=0
while [ $delay -lt 100 ]; do
    begins
    sleep 0.0$(printf %02d $delay)
    kill -9 $teiji 2>/dev/null
    wait $teiji 2>/dev/null
    wait_for 10 settled
    delay=$((delay + 5))
    state >/tmp/now
    status
    case "$said" in
        *'applied at'*)
            whole=$((whole + 1))
            revert
            ;;
        *)
            interrupted=$((interrupted + 1))
            cmp -s /tmp/began /tmp/now || fail "killed after $delay ms: it is as it was: $(diff /tmp/began /tmp/now)"
            ;;
    esac
    state >/tmp/now
    cmp -s /tmp/began /tmp/now || fail "killed after $delay ms, put back: it is as it was: $(diff /tmp/began /tmp/now)"
done
echo "killed: $interrupted times before the end, $whole times after it"
check 'killed: in the middle, too' [ $interrupted -gt 1 ]
nothing_changed 'killed'

# Killed with its guard.
stuck=0
for delay in 00 01 02 04 07 10 20 40; do
    begins
    sleep 0.0$delay
    # Stopped first: it could be at its end before its guard is found.
    kill -STOP $teiji 2>/dev/null
    kill -9 $teiji $(pgrep -f '(init|teiji) guard') 2>/dev/null
    wait $teiji 2>/dev/null
    wait_for 10 settled
    status
    case "$said" in
        *'was interrupted'*)
            stuck=$((stuck + 1))
            equal 'interrupted: exit code of status' 4 $code
            ;;
    esac
    revert
    state >/tmp/now
    cmp -s /tmp/began /tmp/now || fail "killed with its guard after $delay ms: it is as it was: $(diff /tmp/began /tmp/now)"
done
check 'killed with its guard, it was interrupted at least once' [ $stuck -gt 0 ]
nothing_changed 'killed with its guard, and reverted'

# What is refused before anything is changed.
said=$(SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22' a teiji apply drive.toml 2>&1)
equal 'over the connection that it carries: exit code' 1 $?
contains 'it says what to do' '--confirm 60s' "$said"
said=$(SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22' a teiji apply --confirm 60s drive.toml 2>&1)
equal 'with --confirm it is done' 0 $?
revert
apply --at-boot drive.toml
contains 'without systemd' 'was not started by systemd' "$said"
nothing_changed 'without systemd'
sed 's/v0/v9/' drive.toml >absent.toml
apply absent.toml
contains 'without the NIC' 'no interface `v9` here' "$said"
must a tc qdisc add dev v0 root handle 5: pfifo limit 7
apply drive.toml
contains 'with a qdisc of somebody else' 'has a configured qdisc (pfifo 5:)' "$said"
must a tc qdisc del dev v0 root
printf '[ports.v0]\nee = false\n' >mistake.toml
apply mistake.toml
equal 'a mistake: exit code' 2 $code
contains 'a mistake is reported with its place' 'mistake.toml:2:1' "$said"
printf '[ports.v0]\neee = false\n' >eee.toml
apply eee.toml
contains 'a setting that the driver has not' 'ethtool --set-eee v0 eee off' "$said"
said=$(a setpriv --reuid 1000 --clear-groups teiji apply drive.toml 2>&1)
contains 'without rights' 'this needs root: run it with sudo' "$said"
said=$(a setpriv --reuid 1000 --clear-groups teiji diff drive.toml 2>&1)
equal 'without rights nothing is compared' 1 $?
contains 'which is reported' "cannot see who processes the frames" "$said"
must mount -t tmpfs -o size=4k none /run/teiji
dd if=/dev/zero of=/run/teiji/full bs=4k count=1 2>/dev/null
apply drive.toml
contains 'without room' 'No space left on device' "$said"
must umount /run/teiji
nothing_changed 'after what was refused'
apply --confirm 10ms drive.toml
equal 'too short to confirm: exit code' 2 $code

ip link del v0
ip netns del B
end
