#!/bin/sh
# Programs without prioflow's socket options get them by `teiji flow run` and `teiji flow adopt`:
# iperf3, Python, a DDS middleware, a static program. Topology in port.inc; both ends have a link.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# package: iperf3
# package: python3.11-minimal
# package: libpython3.11-minimal
# package: cyclonedds-tools
# plugin: prioflow/tc/q_prioflow.c
# long: floods of several programs
. /suite/lib
. /suite/port.inc
. /suite/socket.inc

# says SENTENCE WORDS COMMAND…: the command fails, with these words in its message.
says() {
    sentence=$1 words=$2
    shift 2
    refused "$sentence" "$@"
    contains "$sentence: the message" "$words" "$said"
}
# field N: of the numbers that `flow.pl ask` prints.
field() { sed 's/ errno=.*//' | cut -d , -f "$1"; }
run() { a teiji flow run "$@"; }
# user.pl COMMAND…: as an unprivileged user.
cat >user.pl <<'END'
$( = 1000; $) = "1000 1000"; $< = $> = 1000; exec @ARGV; die "$ARGV[0]: $!";
END
as_user() { a perl user.pl teiji flow run "$@"; }
# The guest's init leaves zombies.
no_supervisor() {
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2>/dev/null)" != teiji-flow ] ||
            grep -q '^State:.Z' "$process/status" || return 1
    done
}
ends_with() { sentence=$1 code=$2; shift 2; "$@" >ends.log 2>&1; equal "$sentence" "$code" $?; }

if [ ! -e /proc/sys/kernel/seccomp/actions_avail ]; then
    skip 'programs that cannot be changed: this kernel has no seccomp, as debug kernels have not'
    end
fi

wire_up
# Local addresses of programs, and multicast for DDS.
for ns in A B; do must ip -n $ns link set lo up; done
must ip -n A route add 239.0.0.0/8 dev v0
must ip -n B route add 239.0.0.0/8 dev v0p

says "without prioflow a program is not started" "teiji flow enable" run --send -- touch started
check "indeed" [ ! -e started ]
says "nor is a receiver" "no device here has flow control" run --receive 3 -- touch started
ends_with "unless that is permitted" 5 run --send --if-available -- sh -c 'exit 5'
contains "which is reported" "sh starts without flow control: no interface here has prioflow" "$(cat ends.log)"

prioflow limit 20 link mac-control
must b tc qdisc replace dev v0p root handle 1: prioflow link mac-control

# What a program gets. `flow.pl ask` prints what its own socket has.
equal "a program's socket is opted in up to the highest level" 15 "$(run --send perl flow.pl ask | field 1)"
equal "so is one of IPv6" 15 "$(run --send perl flow.pl ask family=6 | field 1)"
equal "or up to the given level" 4 "$(run --send=4 perl flow.pl ask | field 1)"
equal "without teiji it is not" -1 "$(a perl flow.pl ask | field 1)"
found=$(run --send -- perl flow.pl ask sndbuf=150000)
equal "the reservation covers a send buffer that the program sets" "$(echo "$found" | field 3)" "$(echo "$found" | field 7)"
equal "which it gets" 300000 "$(echo "$found" | field 4)"
found=$(run --receive 3 --payload 1000 -- perl flow.pl ask as=receive payload=1000 rcvbuf=30000)
equal "a receiver is opted in at its level" 3 "$(echo "$found" | field 1)"
equal "it pauses its peers when the buffer is full that the program has set" 60000 "$(echo "$found" | field 3)"
equal "the headroom is beside it" $((60000 + $(echo "$found" | field 5))) "$(echo "$found" | field 7)"
equal "a child in another namespace is opted in there" 15 \
    "$(run --send -- ip netns exec B perl flow.pl ask | field 1)"
run --send -- sh -c '(sleep 1; perl flow.pl ask >late.txt) &' 2>late.err
check "a child that outlives the program" wait_for 10 grep -q errno late.txt
equal "is opted in, too" 15 "$(field 1 <late.txt)"
case $(uname -r) in
    # Before 6.11 a process has its filter until its parent has taken note of its end; the guest's
    # init does not, of orphans.
    6.[0-9].* | 6.10.*) skip "the supervisors end with their programs: this kernel keeps the filters of zombies" ;;
    *) check "the supervisors end with their programs" wait_for 5 no_supervisor ;;
esac

ends_with "the exit code is the program's" 7 run --send -- sh -c 'exit 7'
ends_with "so is the signal" 143 run --send -- sh -c 'kill -TERM $$'
ends_with "a missing program is 127" 127 run --send -- /no/such/program
ends_with "a file that is no program is 126" 126 run --send -- /suite/port.inc
cat >number.sh <<'END'
echo $$
exec ip netns exec A teiji flow run --send -- sh -c 'echo $$'
END
equal "the program has the process number of the command" 1 "$(sh number.sh | uniq | wc -l)"
says "two supervisors are refused" "another supervisor" run --send -- teiji flow run --send -- true

# Rights.
must a sysctl -qw net.prioflow.open_levels=0
says "an unprivileged program is refused" "net.prioflow.open_levels" as_user --send -- true
must a sysctl -qw net.prioflow.open_levels=5
equal "with open levels it is opted in up to the highest of them" 4 \
    "$(as_user --send -- perl flow.pl ask | field 1)"
says "a higher level is refused" "level 6 is not open" as_user --send=6 -- true
found=$(as_user --receive 3 -- perl flow.pl ask as=receive payload=1)
equal "a receiver gets a larger buffer, if rmem_max permits it" "3 212992" "$(echo "$found" | field 1) $(echo "$found" | field 3)"
change reaction 32000
# 7.3 begins with 4 MB.
rmem_max=$(sysctl -n net.core.rmem_max)
must sysctl -qw net.core.rmem_max=212992
says "a headroom above rmem_max is refused" "net.core.rmem_max" as_user --receive 3 -- true
must sysctl -qw "net.core.rmem_max=$rmem_max"
change reaction 1000
must a sysctl -qw net.prioflow.open_levels=0
cat >drops.pl <<'END'
use lib "/suite"; use Calls;
$( = 1000; $) = "1000 1000"; $< = $> = 1000;
socket(my $s, 2, 2, 0) or die; bind($s, pack("S n C4 x8", 2, 7009, 0, 0, 0, 0)) or die "bind: $!";
open my $udp, "<", "/proc/net/udp"; while (<$udp>) { print +(split)[7] if /:1B61 /; }
my $found = pack("l l L4 Q", -1, -1, (0) x 5);
get_option($s, 0, 0x5470, $found) or die "getsockopt: $!";
print " ", (unpack "l", $found)[0], "\n";
END
equal "a program that drops its rights keeps flow control, and owns its sockets" "1000 15" \
    "$(run --send -- perl drops.pl)"
says "a level out of range is refused" "0..=15" run --send=16 -- true
says "so is a receive level of 15" "0..=14" run --receive 15 -- true
says "so is no direction" "--receive LEVEL" run true
must a sysctl -qw net.prioflow.send_room=500000
says "a full room is reported before the start" "net.prioflow.send_room" \
    run --send -- true
must a sysctl -qw net.prioflow.send_room=16777216

# iperf3: a sender that loses packets in a short queue. A receiver that keeps up.
b iperf3 -s -D >/dev/null
must wait_for 10 b sh -c 'grep -q :1451 /proc/net/tcp /proc/net/tcp6'
# iperf LOG COMMAND…: LOST/SENT of a flood.
iperf() {
    log=$1
    shift
    a "$@" -c 10.0.0.2 -u -b 40M -l 1000 -w 400000 -n 1500K >"$log" 2>&1
    sed -n 's/.* \([0-9]*\/[0-9]*\) (.*receiver.*/\1/p' "$log"
}
must sysctl -qw net.core.wmem_max=1000000
result=$(iperf ordinary.log iperf3)
echo "iperf3 alone: $result"
within "iperf3 loses packets" 100 1536 "${result%/*}"
before=$(dropped 0)
result=$(iperf run.log teiji flow run --send -- iperf3)
echo "iperf3 with flow run: $result"
# How many it sends depends on when it ends.
equal "with flow run it loses none" 0 "${result%/*}"
within "of as many" 1500 1540 "${result#*/}"
equal "and its queue drops none" "$before" "$(dropped 0)"

# adopt: a running iperf3.
ip netns exec A iperf3 -c 10.0.0.2 -u -b 40M -l 1000 -w 400000 -t 8 >adopted.log 2>&1 &
client=$!
drops_more_than() { [ "$(dropped 0)" -gt "$1" ]; }
must wait_for 20 drops_more_than $((before + 100))
says "another port is not found" "it has descriptor" a teiji flow adopt $client --send --port 9
found=$(a teiji flow adopt $client --send)
contains "adopt prints the socket" "connected to 10.0.0.2:5201: sends up to level 15 are protected" "$found"
sleep 1
adopted=$(dropped 0)
sleep 2
equal "an adopted program loses none" "$adopted" "$(dropped 0)"
found=$(a teiji flow adopt $client --release)
contains "release prints the socket, too" "no flow control any more" "$found"
check "a released one loses some again" wait_for 10 drops_more_than "$adopted"
wait $client
says "a process that has ended is refused" "there is no process" a teiji flow adopt $client --send
says "so is one without UDP sockets" "has no UDP socket now" a teiji flow adopt $$ --send
for pid in $(pidof iperf3); do kill "$pid"; done

# Python: the reader is slow, and sets a small buffer itself. A child of the sender sends.
cat >receive.py <<'END'
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 30000)
s.bind(("", 7001))
s.settimeout(4)
print("ready", flush=True)
came = 0
try:
    while True:
        s.recv(2000)
        came += 1
        if came % 10 == 0:
            time.sleep(0.02)
except TimeoutError:
    print("came", came)
END
cat >send.py <<'END'
import os, socket
child = os.fork()
if child == 0:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(1000):
        s.sendto(bytes(1000), ("10.0.0.2", 7001))
    os._exit(0)
os.waitpid(child, 0)
END
# python READER… -- SENDER…: how many of 1000 datagrams the reader has received.
python() {
    reader=
    while [ "$1" != -- ]; do reader="$reader $1"; shift; done
    shift
    # shellcheck disable=SC2086 # words
    b $reader python3.11 receive.py >python.log 2>&1 &
    must wait_for 30 grep -q ready python.log
    a "$@" python3.11 send.py
    wait $!
    sed -n 's/^came //p' python.log
}
result=$(python -- env)
echo "Python alone: $result of 1000"
within "Python programs lose packets" 1 950 "$result"
result=$(python -- teiji flow run --send --)
echo "Python with flow run at the sender: $result of 1000"
within "with flow run at the sender alone the slow reader loses some" 1 950 "$result"
result=$(python teiji flow run --receive 0 --payload 1000 -- teiji flow run --send --)
echo "Python with flow run: $result of 1000"
equal "with flow run at both ends none is lost" 1000 "$result"
equal "nothing is reported" "" "$(grep teiji: python.log)"

# DDS: best effort, 14 Mbit/s for a wire of 10. The two find each other after 8 s.
# dds READER… -- SENDER…: samples that the subscriber receives and loses from 14 s to 20 s, and what
# A's queue and B's sockets drop.
dds() {
    reader=
    while [ "$1" != -- ]; do reader="$reader $1"; shift; done
    shift
    drops_before=$(($(dropped 0) + $(overflowed)))
    # shellcheck disable=SC2086 # words
    b $reader ddsperf -D 22 -1 -u sub >sub.log 2>&1 &
    a "$@" ddsperf -D 20 -u pub 1500Hz size 1k >pub.log 2>&1
    wait $!
    awk -v drops=$(($(dropped 0) + $(overflowed) - drops_before)) '
        / delta / && $2 >= 14 && $2 < 20.5 { received += $10; lost += $12 }
        END { print received + 0, lost + 0, drops }' sub.log
}
result=$(dds -- env)
echo "DDS alone, received, lost, dropped: $result"
# shellcheck disable=SC2086 # three numbers
set -- $result
within "a DDS subscriber loses samples" 100 1000000 "$2"
within "which the kernel drops" 100 1000000 "$3"
result=$(dds teiji flow run --send --receive 0 -- teiji flow run --send --receive 0 --)
echo "DDS with flow run, received, lost, dropped: $result"
# shellcheck disable=SC2086 # three numbers
set -- $result
within "with flow run it receives samples" 1000 1000000 "$1"
equal "and loses none" 0 "$2"
equal "the kernel drops none" 0 "$3"
equal "nothing is reported by it" "" "$(grep teiji: sub.log pub.log)"

# A static program.
before=$(dropped 0)
run --send -- teiji talk v0 10.0.0.2 --frames 500 --payload 1000 --period 10us --no-stamps --priority 0 >talk.log
equal "a static program loses none" "$before" "$(dropped 0)"

wire_down
end
