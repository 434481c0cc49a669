#!/bin/sh
# Each allocation and registration that can fail does, one after the other: the command is
# refused without effect, or works nevertheless.
#
#     v0 ────── v0p, in one namespace; for the frames A ────── B, topology in wire.inc
#
# The module's own allocations fail one by one; of the kernel's on its behalf
# (beneath register_netdevice and the like) every fourth or so, at growing intervals.
#
# module: vtsn
# module: sch_mqprio
# module: sch_etf
# module: sch_taprio
# module: sch_cbs
# package: iproute2
# package: ethtool
# package: perl-base
# limit: 3000
. /suite/lib
. /suite/wire.inc

. /suite/failures

# The state of the driver, in all its interfaces. Few processes: there are hundreds of
# failures, and the kernels that have them are slow.
state() {
    read -r uses 2>/dev/null </sys/module/vtsn/refcnt || uses=none
    echo "module $uses:" /sys/class/net/* /sys/class/net/v0*/queues/* /sys/class/ptp/* \
        /sys/kernel/debug/vtsn/* /sys/kernel/irq/*
    [ -e /sys/class/net/v0 ] || return 0
    read -r flags </sys/class/net/v0/flags
    echo "flags $flags, $($look)"
}
# The setting that a command changes.
look=

must rmmod vtsn
within_frames 32
beneath do_one_initcall
each "loading the module" "rmmod vtsn" perl -e "$insert" "$(find /lib/modules -name vtsn.ko)"
must modprobe vtsn

beneath_module vtsn
within_frames 8
each "making a pair" "ip link del v0" ip link add v0 type vtsn
within_frames 32
some "what the kernel makes for a pair" "ip link del v0" ip link add v0 type vtsn
must ip link add v0 type vtsn
must ip link set v0p up
# Rings of more than a page would be allocated elsewhere when the first attempt fails.
must ethtool -G v0 tx 16
# Once: the first time the kernel makes files below /proc/irq, and if one has no memory
# it complains about itself when that is removed.
must ip link set v0 up
must ip link set v0 down
each "an end that is set up" "ip link set v0 down" ip link set v0 up
must ip link set v0 up
look="ethtool -g v0"
each "rings of a port that is up" "ethtool -G v0 tx 16" ethtool -G v0 tx 32
look=
within_frames 8
each "more queues" "ethtool -L v0 tx 4" ethtool -L v0 tx 8
within_frames 32
some "what the kernel makes for more queues" "ethtool -L v0 tx 4" ethtool -L v0 tx 8
look="ethtool -a v0"
each "PAUSE" "ethtool -A v0 rx off tx off" ethtool -A v0 rx on tx on

# tc undoes the driver's changes when it fails itself.
beneath tc_modify_qdisc
look="tc qdisc show dev v0"
classes="root handle 100: mqprio num_tc 2 map 0 1 queues 1@0 1@1 hw 1"
classes_anew() { tc qdisc del dev v0 root && tc qdisc add dev v0 $classes; }
each "classes" "tc qdisc del dev v0 root" tc qdisc add dev v0 $classes
each "gates" "tc qdisc del dev v0 root" \
    tc qdisc add dev v0 root handle 100: taprio num_tc 2 map 0 1 queues 1@0 1@1 \
    base-time 0 sched-entry S 01 300000 sched-entry S 02 700000 flags 0x2
look=
check "no offload stays" ethtool -L v0 tx 3
must ethtool -L v0 tx 4
must tc qdisc add dev v0 $classes
look="tc qdisc show dev v0"
each "launch time" classes_anew \
    tc qdisc replace dev v0 parent 100:1 etf clockid CLOCK_TAI delta 150000 offload
each "a shaper" classes_anew tc qdisc replace dev v0 parent 100:1 \
    cbs idleslope 20000 sendslope -980000 hicredit 30 locredit -1470 offload 1
must tc qdisc del dev v0 root
check "no offload of these stays, either" ethtool -L v0 tx 3
check "then the module unloads, with its ports" rmmod vtsn
must modprobe vtsn

# Frames without memory are counted, and the next ones are sent.
wire_up
before=$(total_a packets)
beneath_module vtsn
for injector in $injectors; do echo 20 >$injector/probability; done
send --frames 200 --period 2ms --no-stamps
for injector in $injectors; do echo 0 >$injector/probability; done
no_memory=$(total_a no_memory)
within "frames without memory are counted" 1 199 "$no_memory"
equal "and all others are sent" 200 $((no_memory + $(total_a packets) - before))
arrived() { [ "$(count_b rx_packets)" = "$(total_a packets)" ]; }
check "and received" wait_for 10 arrived
receive
send --frames 20 --period 1ms --no-stamps
received
equal "with memory all frames are sent again" 20 "$(frames)"
wire_down
end
