#!/bin/sh
# Priorities and credit-based shapers: order and shares of the queues.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# module: sch_mqprio
# module: sch_cbs
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

wire_up
a ethtool -G v0 tx 1024 rx 4096 >/dev/null
b ethtool -G v0p tx 1024 rx 4096 >/dev/null
must a tc qdisc replace dev v0 root handle 100: mqprio num_tc 3 \
    map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 1@2 hw 1
deep_queues
contains "tc shows the classes" "queues:(0:0) (1:1) (2:2)" "$(a tc qdisc show dev v0)"
receive
hold
send --frames 20 --flow 2 --period 100us --priority 0 --no-stamps
send --frames 20 --flow 1 --period 100us --priority 2 --no-stamps
send --frames 20 --flow 0 --period 100us --priority 3 --no-stamps
release
received
equal "of queued frames, queue 0's are sent first, then 1's, then the others" \
    "20x0 20x1 20x2" \
    "$(rx '{ if ($1 != flow && count) { printf "%dx%d ", count, flow; count = 0 }
             flow = $1; count++ } END { printf "%dx%d", count, flow }')"

# 20 of 1000 Mbit/s: a frame of 1066 bytes with overhead takes 426.4 us.
must a tc qdisc replace dev v0 parent 100:1 cbs idleslope 20000 sendslope -980000 \
    hicredit 30 locredit -1470 offload 1
receive
hold
send --frames 60 --period 20us --priority 3 --payload 1000 --no-stamps
release
received
sent=$(frames)
equal "a shaped class is delayed, its frames are queued" 60 "$sent"
span=$(rx 'NR == 2 { first = at } { last = at } END { print last - first }')
# While the frames were held the credit grew to its limit: 30 bytes, 12 us.
wanted=$(((sent - 1) * 426400 - 12000))
within "each frame waits until the credit of those before it is restored" \
    $((wanted - sent)) $((wanted + sent)) "$span"
within "waits for credit are counted" $((sent - 1)) 60 "$(count_a tx0_credit_waits)"

# Credit that has grown while another class was sending is used in a burst.
must a tc qdisc replace dev v0 parent 100:1 cbs idleslope 500000 sendslope -500000 \
    hicredit 1500 locredit -1470 offload 1
receive
hold
send --frames 4 --flow 1 --period 50us --priority 0 --payload 1472 --no-stamps
release
send --frames 1 --flow 0 --period 50us --priority 3 --payload 200 --no-stamps
received
equal "a single frame of the class is not delayed" 5 "$(frames)"

refused "credits above a megabyte are refused" a tc qdisc replace dev v0 parent 100:1 \
    cbs idleslope 20000 sendslope -980000 hicredit 30000000 locredit -1470 offload 1
refused "a positive send slope is refused" a tc qdisc replace dev v0 parent 100:1 \
    cbs idleslope 20000 sendslope 980000 hicredit 30 locredit -1470 offload 1
contains "and the old shaper is unchanged" "idleslope 500000" "$(a tc qdisc show dev v0)"
wire_down
end
