// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: receives the peer's level frames, or PAUSE or PFC of standard equipment
 * (docs/protocol.md). Each sets the port's transmit level for its lifetime. Frames above the
 * rate limit are ignored, and so is a peer that the pause-storm watchdog has caught.
 */
#include <linux/etherdevice.h>
#include <linux/netfilter.h>

#include "frame.h"
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

/* The pause-storm watchdog: whether to ignore a pause request. */
static bool prioflow_rx_is_storm(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_link *link = &port->link;

	lockdep_assert_held(&port->lock);
	if (now_ns < link->ignore_until_ns) {
		link->ignored++;
		return true;
	}
	if (!port->hold[PRIOFLOW_BY_PEER].level)
		link->held_since_ns = now_ns;
	if (!link->storm_ns || now_ns - link->held_since_ns <= link->storm_ns)
		return false;

	link->ignore_until_ns = now_ns + link->storm_ns;
	prioflow_event(port, PRIOFLOW_CMD_STORM, now_ns);
	if (!link->storms++)
		netdev_warn(port->dev, "prioflow: the peer has paused this port for more than %llu ms: pause requests are ignored for as long; logged once\n",
			    div_u64(link->storm_ns, NSEC_PER_MSEC));
	return true;
}

/* Pauses the levels below @level, or resumes all if it is 0. */
static void prioflow_rx_obey(struct prioflow_port *port, const u8 *peer, u8 level,
			       u64 lifetime_ns, u64 now_ns)
{
	lockdep_assert_held(&port->lock);
	ether_addr_copy(port->link.peer, peer);
	prioflow_port_expire(port, now_ns);
	if (level && prioflow_rx_is_storm(port, now_ns))
		level = 0;
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, level, lifetime_ns, now_ns);
}

/* Obeys a level frame. */
static void prioflow_rx_level(struct prioflow_port *port, const u8 *peer,
				const struct prioflow_frame *frame)
{
	struct prioflow_link *link = &port->link;
	u64 now_ns = ktime_get_ns();

	spin_lock(&port->lock);
	if (!prioflow_rx_within_rate(port, now_ns))
		goto unlock;
	if (link->peer_known && link->peer_instance == frame->instance &&
	    (s32)(frame->sequence - link->peer_sequence) <= 0) {
		link->stale++;
		goto unlock;
	}
	link->peer_known = true;
	link->peer_instance = frame->instance;
	link->peer_sequence = frame->sequence;
	prioflow_rx_obey(port, peer, frame->level, frame->lifetime_ms * NSEC_PER_MSEC,
			   now_ns);
unlock:
	spin_unlock(&port->lock);
}

/*
 * Obeys PAUSE or PFC. A transmit level has no gaps: it pauses all priorities up to the
 * highest paused one, until the last of their pauses ends.
 */
static void prioflow_rx_pause(struct prioflow_port *port, const u8 *peer,
				const struct prioflow_pause *pause)
{
	u64 now_ns = ktime_get_ns(), until_ns = now_ns;
	struct prioflow_link *link = &port->link;
	u8 paused = 0;
	u32 i;

	spin_lock(&port->lock);
	if (!prioflow_rx_within_rate(port, now_ns))
		goto unlock;
	for (i = 0; i < PRIOFLOW_PRIORITIES; i++) {
		if (pause->priorities & BIT(i))
			link->paused_until_ns[i] = now_ns +
				div_u64((u64)pause->quanta[i] * PRIOFLOW_QUANTUM_BITS *
					(NSEC_PER_SEC / USEC_PER_SEC), link->rate_mbps);
		if (link->paused_until_ns[i] > now_ns) {
			paused |= BIT(i);
			until_ns = max(until_ns, link->paused_until_ns[i]);
		}
	}
	prioflow_rx_obey(port, peer, prioflow_pause_level(paused), until_ns - now_ns, now_ns);
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
	if (likely(skb->protocol != htons(ETH_P_PAUSE) &&
		   skb->protocol != htons(PRIOFLOW_ETHERTYPE)))
		return NF_ACCEPT;
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
