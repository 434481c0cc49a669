#!/bin/sh
# Random flows through random networks: topology, link rates, levels, sizes, IPv4 and IPv6, VLAN,
# multicast, fragments, buffers, readers that pause or are stopped, pauses by hand, lost level
# frames. Whatever they are: each datagram comes once, in order. A seed determines all.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# plugin: vtsn/ip/link_vtsn.c
# long: five networks with up to 18 readers each
. /suite/lib
. /suite/matrix.inc

# benches/guest-soak-matrix has more.
first=1 last=5
must sysctl -qw net.core.rmem_max=16000000
frames=0 asks=0 lost=0
# Frames that the fault injection has removed; only ports that send level frames alone have one.
removed() {
    while read -r ns port; do in_ns "$ns" ethtool -S "$port"; done <ports |
        awk '$1 == "fault_lost:" { sum += $2 } END { print sum + 0 }'
}
seed=$first
while [ "$seed" -le $last ]; do
    one_seed "$seed"
    lost=$((lost + $(removed)))
    equal "seed $seed: all flows are complete and in order" "" "$(cat wrong)"
    seed=$((seed + 1))
done
network_down
within "readers have paused their peers" 1 1000000 $asks
within "level frames were lost" 1 1000000 $lost
echo "$frames datagrams, $asks XOFFs, $lost level frames lost"
end
