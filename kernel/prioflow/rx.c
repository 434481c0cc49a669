// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: receives the peer's level frames, or PAUSE or PFC of standard equipment
 * (docs/protocol.md). Each pauses levels of the port for its lifetime. Frames above the rate
 * limit are ignored, and so are requests for levels that the pause-storm watchdog has found (storm.c).
 */
#include <linux/etherdevice.h>
#include <linux/netfilter.h>

#include "prioflow.h"

/* Rate limit: frames per second, and burst. */
#define PRIOFLOW_RX_RATE		10000
#define PRIOFLOW_RX_BURST		500

/* Whether the frame is within the rate limit. */
static bool prioflow_rx_within_rate(struct prioflow_port *port, u64 now_ns)
{
	const u64 each_ns = NSEC_PER_SEC / PRIOFLOW_RX_RATE;
	struct prioflow_link *link = &port->link;

	lockdep_assert_held(&port->lock);
	link->frames_received++;
	if (!link->mode)
		return false;	/* switched off meanwhile */
	link->rate_ns = max(link->rate_ns, now_ns - min(now_ns, PRIOFLOW_RX_BURST * each_ns));
	if (link->rate_ns + each_ns > now_ns) {
		link->limited++;
		return false;
	}
	link->rate_ns += each_ns;
	return true;
}

/* The levels of these that the peer may pause now. */
static u16 prioflow_rx_permitted(struct prioflow_port *port, u16 mask, u64 now_ns)
{
	mask &= prioflow_below(port->link.obeys);
	return mask ? prioflow_storm_permitted(port, mask, now_ns) : 0;
}

/* Obeys a level frame. */
static void prioflow_rx_level(struct prioflow_port *port, const u8 *from,
			      const struct prioflow_frame *frame)
{
	struct prioflow_link *link = &port->link;
	u64 now_ns = ktime_get_ns();
	u16 mask;

	spin_lock(&port->lock);
	if (!prioflow_rx_within_rate(port, now_ns))
		goto unlock;
	if (!prioflow_peer_hear(link, frame, now_ns)) {
		link->stale++;
		goto unlock;
	}
	ether_addr_copy(link->peer.address, from);
	prioflow_port_expire(port, now_ns);
	mask = prioflow_rx_permitted(port, frame->mask, now_ns);
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, PRIOFLOW_PAUSABLE, 0);
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, mask,
			   now_ns + frame->lifetime_ms * NSEC_PER_MSEC);
	prioflow_port_apply(port, now_ns);
unlock:
	spin_unlock(&port->lock);
}

/* Obeys PAUSE or PFC: each priority of the frame for its own time. */
static void prioflow_rx_pause(struct prioflow_port *port, const u8 *from,
			      const struct prioflow_pause *pause)
{
	struct prioflow_link *link = &port->link;
	u64 now_ns = ktime_get_ns();
	u16 levels, paused = 0;
	u32 i;

	spin_lock(&port->lock);
	if (!prioflow_rx_within_rate(port, now_ns))
		goto unlock;
	link->peer.last_rx_ns = now_ns;
	ether_addr_copy(link->peer.address, from);
	prioflow_port_expire(port, now_ns);
	for (i = 0; i < PRIOFLOW_PRIORITIES; i++)
		if (pause->priorities & BIT(i) && pause->quanta[i])
			paused |= 3 << 2 * i;
	paused = prioflow_rx_permitted(port, paused, now_ns);
	for (i = 0; i < PRIOFLOW_PRIORITIES; i++) {
		if (!(pause->priorities & BIT(i)))
			continue;
		levels = 3 << 2 * i;
		prioflow_port_hold(port, PRIOFLOW_BY_PEER, levels, 0);
		prioflow_port_hold(port, PRIOFLOW_BY_PEER, levels & paused, now_ns +
				   div_u64((u64)pause->quanta[i] * PRIOFLOW_QUANTUM_BITS *
					   (NSEC_PER_SEC / USEC_PER_SEC), link->pause_mbps));
	}
	prioflow_port_apply(port, now_ns);
unlock:
	spin_unlock(&port->lock);
}

/* Netfilter ingress hook, for each frame that the device receives. */
unsigned int prioflow_rx(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct prioflow_port *port = priv;
	u8 octets[PRIOFLOW_FRAME_SIZE];
	enum prioflow_verdict verdict;
	struct prioflow_pause pause;
	struct prioflow_frame frame;
	u32 length;
	u8 mode;

	lockdep_assert_in_softirq();
	prioflow_receive_see(port, skb);
	if (likely(skb->protocol != htons(ETH_P_PAUSE) &&
		   skb->protocol != htons(PRIOFLOW_ETHERTYPE))) {
		if (unlikely(READ_ONCE(port->request)))
			prioflow_peer_judge(port, skb);
		return NF_ACCEPT;
	}
	if (skb_vlan_tag_present(skb) || !skb_mac_header_was_set(skb) ||
	    !ether_addr_equal(eth_hdr(skb)->h_dest, prioflow_address))
		return NF_ACCEPT;
	mode = READ_ONCE(port->link.mode);
	length = min_t(u32, skb->len, sizeof(octets));
	if (skb_copy_bits(skb, 0, octets, length))
		return NF_ACCEPT;
	if (!prioflow_link_is_standard(mode))
		verdict = prioflow_frame_parse(octets, length, &frame);
	else if (skb->protocol == htons(ETH_P_PAUSE))
		verdict = prioflow_pause_parse(octets, length, mode == PRIOFLOW_LINK_PFC, &pause);
	else
		verdict = PRIOFLOW_FRAME_FOREIGN;
	if (verdict == PRIOFLOW_FRAME_FOREIGN)
		return NF_ACCEPT;

	if (verdict != PRIOFLOW_FRAME_GOOD || !is_valid_ether_addr(eth_hdr(skb)->h_source) ||
	    ether_addr_equal(eth_hdr(skb)->h_source, port->dev->dev_addr)) {
		spin_lock(&port->lock);
		port->link.malformed++;
		spin_unlock(&port->lock);
		kfree_skb_reason(skb, SKB_DROP_REASON_NETFILTER_DROP);
		return NF_STOLEN;
	}
	if (prioflow_link_is_standard(mode))
		prioflow_rx_pause(port, eth_hdr(skb)->h_source, &pause);
	else
		prioflow_rx_level(port, eth_hdr(skb)->h_source, &frame);
	consume_skb(skb);
	return NF_STOLEN;
}
