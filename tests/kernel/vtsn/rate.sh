#!/bin/sh
# The line rate: queued frames are sent back to back, each taking its own time.
#
#     A ────── B, topology in wire.inc
#
# module: vtsn
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# On the wire: headers 42 + payload + FCS 4 + preamble 8 + gap 12, in bytes.
# spacing RATE PAYLOAD: 21 frames held back, then sent at once.
spacing() {
    rate "$1"
    receive
    hold
    send --frames 21 --period 100us --payload "$2" --priority 0 --no-stamps
    release
    received
    equal "$1 Mbit/s, $2 bytes: all frames are received" 21 "$(frames)"
    # byte time in 0.1 ns: whole for every rate
    wanted=$((20 * ($2 + 66) * (80000 / $1) / 10))
    found=$(rx 'NR == 2 { first = at } END { print at - first }')
    equal "$1 Mbit/s, $2 bytes: 20 frames take their wire time to the ns" "$wanted" "$found"
}

wire_up
one_queue
for mbps in 10 100 1000 2500 10000; do
    spacing "$mbps" 24
    spacing "$mbps" 1472
done
equal "ethtool shows the rate at both ends" "10000Mb/s" \
    "$(b ethtool v0p | awk '$1 == "Speed:" { print $2 }')"
refused "a rate that Ethernet does not have is refused" a ethtool -s v0 speed 42 duplex full autoneg off
refused "half duplex is refused" a ethtool -s v0 speed 100 duplex half autoneg off
equal "and the rate is unchanged" "10000Mb/s" \
    "$(a ethtool v0 | awk '$1 == "Speed:" { print $2 }')"
wire_down
end
