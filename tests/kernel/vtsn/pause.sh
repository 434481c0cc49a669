#!/bin/sh
# Flow control in the MAC: a slow receiver loses frames, or pauses its peer.
#
#     A ────── B, topology in wire.inc; B looks at its ring only every 2 ms.
#
# module: vtsn
# package: iproute2
# package: ethtool
. /suite/lib
. /suite/wire.inc

# burst: 100 frames at line rate into a ring of 32 that is polled every 2 ms.
burst() {
    lost=$(count_b rx_overrun)
    receive
    hold
    send --frames 100 --period 10us --priority "${1:-0}" --payload 400 --no-stamps
    release
    received
    lost=$(($(count_b rx_overrun) - lost))
}

wire_up
must a ethtool -G v0 tx 512 rx 512
must b ethtool -G v0p tx 512 rx 32
one_queue
must b ethtool -C v0p rx-usecs 2000

burst
within "without flow control the ring overruns" 20 68 "$lost"
equal "and every frame is accounted for" 100 $(($(frames) + lost))

must a ethtool -A v0 rx on tx on
must b ethtool -A v0p rx on tx on
burst
equal "with PAUSE nothing is lost" "0 100" "$lost $(frames)"
within "PAUSE frames were sent" 2 1000 "$(count_b tx_pause)"
equal "and each was obeyed" "$(count_b tx_pause)" "$(count_a rx_pause)"
within "frames waited for their end" 1 1000 "$(total_a pause_waits)"
must a ethtool -A v0 rx off tx off
must b ethtool -A v0p rx off tx off

if ip netns exec A dcb pfc show dev v0 >/dev/null 2>&1; then
    must a dcb pfc set dev v0 prio-pfc 0:on 3:on
    must b dcb pfc set dev v0p prio-pfc 0:on 3:on
    refused "PAUSE beside PFC is refused" b ethtool -A v0p rx on tx on
    burst
    equal "with PFC nothing is lost" "0 100" "$lost $(frames)"
    within "PFC frames were sent" 2 1000 "$(count_b tx_pfc)"
    must b dcb pfc set dev v0p prio-pfc 0:off 3:off
    burst
    within "a class that is not paused overruns again" 20 68 "$lost"
else
    skip "PFC: this kernel has no DCB, or there is no dcb program"
fi
wire_down
end
