#!/bin/sh
# The administrator's rules protect packets of sockets that have not opted in: of a range of ports,
# or of the programs of a cgroup. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
. /suite/lib
. /suite/port.inc
. /suite/socket.inc

# shellcheck disable=SC2016  # the other shell expands it
rule() { a sh -c 'echo "$2" >"/proc/sys/net/prioflow/protected_$1"' sh "$1" "$2" 2>/dev/null; }
# refused KIND TEXT: and the rules stay as they were.
refused() {
    before=$(a sysctl -n "net.prioflow.protected_$1")
    ! rule "$1" "$2" && [ "$(a sysctl -n "net.prioflow.protected_$1")" = "$before" ]
}
# Sends COUNT datagrams of 500 octets from a bound port, without opting in.
# shellcheck disable=SC2016  # perl expands it
from='my ($local, $remote, $priority, $count, $connect) = @ARGV;
    socket(S, 2, 2, 0) or die $!;
    bind(S, pack("S n x12", 2, $local)) or die $!;
    setsockopt(S, 1, 12, pack("i", $priority)) or die $!;
    my $there = pack("S n C4 x8", 2, $remote, 10, 0, 0, 2);
    if ($connect) { connect(S, $there) or die $!; }
    for (1 .. $count) { defined($connect ? send(S, "x" x 500, 0) : send(S, "x" x 500, 0, $there)) or die $!; }'
# burst LOCAL REMOTE PRIORITY COUNT [connect]: queued and dropped of them, while nothing is sent.
burst() {
    before=$(dropped "$3")
    change send-level 8
    a perl -e "$from" "$@"
    echo "$(queued "$3") $(($(dropped "$3") - before))"
    change send-level 0
    must wait_for 10 drained "$3"
}
drained() { [ "$(queued "$1")" = 0 ]; }
ruled() { a tc -s qdisc show dev v0 | sed -n "s/^ by rule:.* $1 \\([0-9]*\\).*/\\1/p"; }

wire_up
prioflow limit 50 by priority

equal "without a rule the limit applies" "50 20" "$(burst 7400 9 2 70)"
must rule ports "5201:2, 7400-7409:3"
equal "what was written is read" "5201:2, 7400-7409:3" "$(a sysctl -n net.prioflow.protected_ports)"
equal "packets of a port in the range are protected" "70 0" "$(burst 7405 9 2 70)"
equal "up to the rule's level" "70 0" "$(burst 7400 9 3 70)"
equal "above it they are not" "50 20" "$(burst 7400 9 4 70)"
equal "nor are those of another port" "50 20" "$(burst 7410 9 2 70)"
equal "a connected socket's remote port counts, too" "70 0" "$(burst 9000 5201 2 70 connect)"
equal "an unconnected one's does not" "50 20" "$(burst 9000 5201 2 70)"
equal "what rules protect is counted" 210 "$(ruled protected)"
check "and shown" sh -c "ip netns exec A teiji flow status v0 | grep -q 'protected by rules: 210 packets'"

# Rules reserve nothing: their room is that of one user.
must a sysctl -qw net.prioflow.send_room=20000
left=$(burst 7400 9 2 70)
within "the room bounds what is protected" 50 69 "${left% *}"
within "and what is beyond is counted" 1 70 "$(ruled over-room)"
must a sysctl -qw net.prioflow.send_room=16777216

# A sender whose buffer is full sleeps, as one that has opted in.
before=$(dropped 2)
change send-level 8
# shellcheck disable=SC2016  # perl expands it
a perl -e 'socket(S, 2, 2, 0); setsockopt(S, 1, 7, pack("i", 20000)); setsockopt(S, 1, 12, pack("i", 2));
    bind(S, pack("S n x12", 2, 7401));
    open my $file, ">", "sleeper"; print $file $$; close $file;
    for (1 .. 100) { send(S, "x" x 500, 0, pack("S n C4 x8", 2, 9, 10, 0, 0, 2)) or die $! }' &
sleeper=$!
sleep 1
check "a sender sleeps when its buffer is full" grep -q '^State:.S' "/proc/$(cat sleeper)/status"
equal "and nothing is dropped" 0 $(($(dropped 2) - before))
change send-level 0
wait_for 10 has_ended $sleeper
check "until there is room again" has_ended $sleeper

for wrong in 5 x:2 5:x 5:16 0:2 70000:2 7-5:2 5-:2 -5:2 5:-1 \
    "1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1"; do
    check "refused: ports $wrong" refused ports "$wrong"
done
check "refused: a cgroup that is not there" refused cgroups /no-such:2
check "refused: a cgroup without level" refused cgroups /
must rule ports ""
equal "an empty list ends the rules" "50 20" "$(burst 7400 9 2 70)"

# The same by the command.
protect() { a teiji flow protect "$@" 2>&1; }
equal "without rules it says so" "no rules: only packets of sockets that opt in are protected" "$(protect)"
must protect --ports 5201 --level 2
equal "a rule is added, with its setting" \
    "ports 5201: protected up to level 2|ports 7400-7409: protected up to level 3|to keep it, in /etc/sysctl.d: net.prioflow.protected_ports=5201:2 7400-7409:3|" \
    "$(protect --ports 7400-7409 --level 3 | tr '\n' '|')"
equal "it holds" "70 0" "$(burst 7405 9 3 70)"
must protect --ports 7400-7409 --level 2
equal "its level is changed" "50 20" "$(burst 7405 9 3 70)"
must protect --ports 5201 --remove
equal "a rule is removed" "ports 7400-7409: protected up to level 2" "$(protect)"
must protect --ports 7400-7409 --remove
check "not one that is not there" sh -c '! ip netns exec A teiji flow protect --ports 9 --remove'
equal "a control group that is not there is named" \
    "teiji: there is no control group /no-such (version 2); /proc/PID/cgroup has the path of a process, behind 0::; \`teiji flow protect\` lists the rules" \
    "$(protect --cgroup /no-such --level 1)"

# By cgroup: of the socket, which has that of its maker, or of one below.
[ -d /sys/fs/cgroup ] || must mkdir -p /sys/fs/cgroup
must mount -t cgroup2 none /sys/fs/cgroup
must mkdir -p /sys/fs/cgroup/line/below
must rule cgroups /line:3
equal "other programs are not protected" "50 20" "$(burst 7400 9 2 70)"
within_group() { (echo 0 >"/sys/fs/cgroup/$1/cgroup.procs"; shift; "$@"); }
equal "those of the cgroup are" "70 0" "$(within_group line burst 7400 9 2 70)"
equal "and of one below" "70 0" "$(within_group line/below burst 7400 9 2 70)"
must rmdir /sys/fs/cgroup/line/below
must rmdir /sys/fs/cgroup/line
equal "a rule may stay when its cgroup goes" "50 20" "$(burst 7400 9 2 70)"

# Rules are of a namespace, and hold for packets that wait for the carrier.
must rule ports 7400-7409:3
equal "another namespace has none" "" "$(b sysctl -n net.prioflow.protected_ports)"
down() { ! a ip link show dev v0 | grep -q 'state UP'; }
up() { ! down; }
received() { b awk '$1 == "Udp:" && ++line == 2 { print $2 + $3 + $4 }' /proc/net/snmp; }
count_before=$(received)
change send-level 8
a perl -e "$from" 7400 9 2 10
must ip -n B link set v0p down
must wait_for 5 down
a perl -e "$from" 7400 9 2 10
a perl -e "$from" 7500 9 2 10
must ip -n B link set v0p up
must wait_for 5 up
change send-level 0
wait_for 5 drained 2
sleep 0.2
equal "packets that a rule protects wait for the carrier" 20 $(($(received) - count_before))
umount /sys/fs/cgroup
wire_down
end
