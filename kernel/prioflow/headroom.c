// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the headroom that a receiver needs above its XOFF mark, for the frames in flight.
 *
 * The kernel charges a frame by its truesize, which is far from proportional to its length. So
 * the rings count as full of the largest frames, and within the reaction time the worst of all
 * sizes that may come: from the smallest datagram on, each size class of the allocator, and
 * fragments, of which the last may be tiny. The datagram that crosses the mark counts, too:
 * newer kernels accept none that goes beyond the buffer.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/sock.h>

#include "prioflow.h"

#define PRIOFLOW_HEADERS	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr))
#define PRIOFLOW_HEADERS_MAX	(VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr))
/* What a driver allocates around the payload. */
#define PRIOFLOW_AROUND		(NET_SKB_PAD + NET_IP_ALIGN + PRIOFLOW_HEADERS_MAX)
#define PRIOFLOW_BEHIND		SKB_DATA_ALIGN(sizeof(struct skb_shared_info))
#define PRIOFLOW_CLASS_MIN	2048

/* The allocator's size class for a frame with @payload octets. */
static u32 prioflow_headroom_class(u32 payload)
{
	u32 data = SKB_DATA_ALIGN(PRIOFLOW_AROUND + payload) + PRIOFLOW_BEHIND;

	return roundup_pow_of_two(max_t(u32, data, PRIOFLOW_CLASS_MIN));
}

/* The smallest payload that does not fit into a size class. */
static u32 prioflow_headroom_beyond(u32 class)
{
	return ALIGN_DOWN(class - PRIOFLOW_BEHIND, SMP_CACHE_BYTES) - PRIOFLOW_AROUND + 1;
}

/* The truesize of a frame with @payload octets, as usual drivers allocate it. */
u32 prioflow_headroom_charge(u32 payload)
{
	return prioflow_headroom_class(payload) + SKB_DATA_ALIGN(sizeof(struct sk_buff));
}

static u32 prioflow_headroom_wire(u32 payload)
{
	return max_t(u32, payload + PRIOFLOW_HEADERS, ETH_ZLEN) + PRIOFLOW_WIRE_OVERHEAD;
}

/* Takes a larger need. */
static void prioflow_headroom_take(struct prioflow_receive *need, u64 bytes, u32 frames)
{
	bytes = min_t(u64, bytes, S32_MAX);
	if (bytes <= need->headroom)
		return;
	need->headroom = bytes;
	need->frames = frames;
}

/* The need at one port. */
static int prioflow_headroom_port(const struct prioflow_port *port, u32 payload,
				  struct prioflow_receive *need)
{
	u32 mtu = READ_ONCE(port->dev->mtu), most, size, frames, pair_wire, pair_charge;
	u32 around = sizeof(struct iphdr) + sizeof(struct udphdr);
	const struct prioflow_link *link = &port->link;
	u32 whole = link->ring + 1, timed;
	u64 rings;
	int err;

	most = mtu > around ? mtu - around : 1;
	payload = clamp(payload, 1U, most);
	/* Those in the rings, the one that was begun, and the one that crosses the mark. */
	rings = (whole + 1ULL) * prioflow_headroom_charge(most);
	/* Within the reaction time of one size: the smallest, then the smallest of each class. */
	for (size = payload; size <= most;
	     size = prioflow_headroom_beyond(prioflow_headroom_class(size))) {
		err = prioflow_port_in_flight(port, link->reaction_us, link->ring,
					      prioflow_headroom_wire(size), &frames);
		if (err)
			return err;
		timed = frames - whole;
		prioflow_headroom_take(need, rings + (u64)timed * prioflow_headroom_charge(size),
				       frames);
	}
	/* Datagrams of two fragments, a whole one and a tiny one. */
	pair_wire = prioflow_headroom_wire(most) + prioflow_headroom_wire(1);
	pair_charge = prioflow_headroom_charge(most) + prioflow_headroom_charge(1);
	err = prioflow_port_in_flight(port, link->reaction_us, 0, pair_wire, &frames);
	if (err)
		return err;
	frames--;	/* pairs within the reaction time; a tiny one fits beside them */
	prioflow_headroom_take(need, (u64)whole * prioflow_headroom_charge(most) +
			       (frames + 1ULL) * pair_charge + prioflow_headroom_charge(1),
			       whole + 2 * frames + 1);
	return 0;
}

/*
 * The headroom of a socket: the largest of the ports with a link that its scope covers, @slots. Ports
 * without a link rate, as those without carrier, do not count unless there are no others.
 */
int prioflow_headroom(const struct prioflow_net *net, u64 slots, u32 payload, s32 level,
		      struct prioflow_receive *need)
{
	struct prioflow_port *port;
	int err = -ENODEV, one;
	u32 slot;

	ASSERT_RTNL();
	need->headroom = 0;
	need->frames = 0;
	for (slot = 0; slot < PRIOFLOW_SLOTS; slot++) {
		port = rtnl_dereference(net->by_slot[slot]);
		if (!port || !(slots & BIT_ULL(slot)))
			continue;
		/* PFC cannot pause the highest priority: level 15 belongs to it. */
		if (port->link.mode == PRIOFLOW_LINK_PFC && level >= PRIOFLOW_TOP_LEVEL - 1)
			return -ERANGE;
		one = prioflow_headroom_port(port, payload, need);
		if (!one || err == -ENODEV)
			err = one;
	}
	return err;
}
