// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: frames that a bridge forwards, charged to their ingress port.
 *
 * A bridge cannot block its senders. So a frame from a port with a link is protected in the
 * egress queue: it is exempt from the limit, and counts against the room that its ingress
 * port has in this queue at its level. When the rest of the room is the headroom (in-flight
 * frames after XOFF), the port sends XOFF for that level; when half of the other part has
 * left, XON. A flooded frame counts in each queue that holds a copy. The top level is never
 * paused, so it has no such room. With propagate off, frames for a port are droppable.
 *
 * A frame counts from the qdisc's enqueue to its dequeue; the NIC's ring needs no room here.
 * A port may be freed before its frames, and another take its slot: each XOFF carries the
 * serial of the port that has sent it.
 */
#include <linux/if_ether.h>
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "../compat/compat.h"
#include "prioflow.h"

/* Smallest frame, octets on the wire. */
#define PRIOFLOW_SMALLEST	(ETH_ZLEN + PRIOFLOW_WIRE_OVERHEAD)

/* The port with a link that has this interface index, or NULL. RCU. */
struct prioflow_port *prioflow_forward_find(struct prioflow_net *net, int ifindex)
{
	struct prioflow_port *port;

	hash_for_each_possible_rcu(net->by_index, port, forward.node, ifindex)
		if (port->dev->ifindex == ifindex)
			return port;
	return NULL;
}

/* Requests a pause of the levels that a queue has in XOFF from the peer. */
static void prioflow_forward_request(struct prioflow_port *port)
{
	u16 mask = 0;
	u32 level;

	lockdep_assert_held(&port->lock);
	for (level = 0; level < PRIOFLOW_TOP_LEVEL; level++)
		if (port->forward.xoff_queues[level])
			mask |= BIT(level);
	prioflow_port_request(port, PRIOFLOW_FOR_FORWARDED, mask);
}

/* The port's frames at a level have reached the high mark: XOFF. */
static void prioflow_forward_xoff(struct prioflow_port *port, struct prioflow_account *account,
				   u8 level)
{
	struct prioflow_forward *forward = &port->forward;

	spin_lock_bh(&port->lock);
	if (account->serial != forward->serial) {
		account->serial = forward->serial;
		account->xoff = 0;
	}
	/* Without a serial the link is being disabled. */
	if (forward->serial && !(account->xoff & BIT(level))) {
		account->xoff |= BIT(level);
		forward->xoff_queues[level]++;
		forward->pause_requests++;
		prioflow_forward_request(port);
	}
	spin_unlock_bh(&port->lock);
}

/* XON of a port, or NULL if it has ended, for a queue that has its level in XOFF. */
static void prioflow_forward_xon(struct prioflow_port *port, struct prioflow_account *account,
				  u8 level)
{
	account->xoff &= ~BIT(level);
	if (!port)
		return;
	spin_lock_bh(&port->lock);
	if (account->serial == port->forward.serial) {
		port->forward.xoff_queues[level]--;
		prioflow_forward_request(port);
	}
	spin_unlock_bh(&port->lock);
}

/* XON if the port's frames at a level are down to the low mark. */
static void prioflow_forward_check_xon(struct prioflow_net *net, u32 slot,
				       struct prioflow_account *account, u8 level)
{
	struct prioflow_port *port;

	rcu_read_lock();
	port = rcu_dereference(net->by_slot[slot]);
	if (!port || !account->frames[level] ||
	    account->frames[level] <= READ_ONCE(port->forward.low))
		prioflow_forward_xon(port, account, level);
	rcu_read_unlock();
}

/*
 * Charges a frame that a bridge forwards to its ingress port. Returns the port's slot + 1; 0
 * if the frame is not forwarded from a port with a link, or exceeds the room: then it is
 * droppable.
 */
u8 prioflow_forward_charge(struct Qdisc *sch, const struct sk_buff *skb, u8 level)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_account *account;
	struct prioflow_port *port;
	u32 frames, slot = 0;

	prioflow_assert_qdisc_lock(sch);
	if (level == PRIOFLOW_TOP_LEVEL || !netif_is_bridge_port(qdisc_dev(sch)) ||
	    !READ_ONCE(q->port->propagates))
		return 0;
	rcu_read_lock();
	port = prioflow_forward_find(q->port->net, skb->skb_iif);
	if (!port || !netif_is_bridge_port(port->dev))
		goto unlock;
	account = &q->account[port->forward.slot];
	frames = account->frames[level];
	if (frames >= READ_ONCE(port->forward.room)) {
		q->over_limit++;
		goto unlock;
	}
	account->frames[level] = ++frames;
	q->most_forwarded = max(q->most_forwarded, frames);
	slot = port->forward.slot + 1;
	if (frames >= READ_ONCE(port->forward.high) &&
	    (!(account->xoff & BIT(level)) ||
	     account->serial != READ_ONCE(port->forward.serial)))
		prioflow_forward_xoff(port, account, level);
unlock:
	rcu_read_unlock();
	return slot;
}

/* Uncharges a frame of the port in this slot. */
void prioflow_forward_release(struct prioflow_sched *q, u32 slot, u8 level)
{
	struct prioflow_account *account = &q->account[slot];

	prioflow_assert_qdisc_lock(q->qdisc);
	account->frames[level]--;
	if (unlikely(account->xoff & BIT(level)))
		prioflow_forward_check_xon(q->port->net, slot, account, level);
}

/* XON for all that the queue has in XOFF. The qdisc lock, or the qdisc is being destroyed. */
static void prioflow_forward_xon_all(struct prioflow_sched *q)
{
	u32 slot, level;

	rcu_read_lock();
	for (slot = 0; slot < PRIOFLOW_SLOTS; slot++) {
		struct prioflow_port *port = rcu_dereference(q->port->net->by_slot[slot]);
		struct prioflow_account *account = &q->account[slot];
		unsigned long xoff = account->xoff;

		for_each_set_bit(level, &xoff, PRIOFLOW_LEVELS)
			prioflow_forward_xon(port, account, level);
	}
	rcu_read_unlock();
}

/* Uncharges all frames. The qdisc lock, or the qdisc is being destroyed. */
void prioflow_forward_purge(struct prioflow_sched *q)
{
	u32 slot;

	for (slot = 0; slot < PRIOFLOW_SLOTS; slot++)
		memset(q->account[slot].frames, 0, sizeof(q->account[slot].frames));
	prioflow_forward_xon_all(q);
}

/* Whether frames for the port may pause other ports; if not, those in its queues do no more. */
void prioflow_forward_set_propagates(struct prioflow_port *port, bool propagates)
{
	struct prioflow_sched *sched;

	/* Queues come and go under it. */
	ASSERT_RTNL();
	WRITE_ONCE(port->propagates, propagates);
	if (propagates)
		return;
	list_for_each_entry(sched, &port->qdiscs, list) {
		sch_tree_lock(sched->qdisc);
		prioflow_forward_xon_all(sched);
		sch_tree_unlock(sched->qdisc);
	}
}

/* In-flight frames after XOFF, of the smallest size. */
static int prioflow_forward_headroom(const struct prioflow_port *port, u32 reaction_us, u32 ring,
				     u32 *headroom)
{
	return prioflow_port_in_flight(port, reaction_us, ring, PRIOFLOW_SMALLEST, headroom);
}

/* Whether the room is larger than the headroom. */
int prioflow_forward_check(const struct prioflow_port *port, u32 room, u32 reaction_us, u32 ring,
			   struct netlink_ext_ack *extack)
{
	u32 headroom;

	ASSERT_RTNL();
	if (!room || prioflow_forward_headroom(port, reaction_us, ring, &headroom))
		return 0;
	if (room > headroom)
		return 0;
	compat_ext_ack(extack, "more frames can be in flight after XOFF than the room holds",
		       "room for %u frames, but %u can be in flight after XOFF",
		       room, headroom);
	return -ENOBUFS;
}

/* Computes room and marks from the current link rate. */
void prioflow_forward_measure(struct prioflow_port *port)
{
	struct prioflow_forward *forward = &port->forward;
	u32 headroom, room, high;

	ASSERT_RTNL();
	if (!forward->serial)
		return;
	if (prioflow_forward_headroom(port, port->link.reaction_us, port->link.ring, &headroom))
		headroom = 0;
	room = !headroom ? 0 : forward->room_config ?: 2 * headroom;
	/* The link became faster: XOFF from the first frame on, and count the excess. */
	high = room > headroom ? room - headroom : 1;
	if (room && room <= headroom && net_ratelimit())
		netdev_warn(port->dev, "prioflow: room for %u frames is too small: %u can be in flight after XOFF\n",
			    room, headroom);
	WRITE_ONCE(forward->headroom, headroom);
	WRITE_ONCE(forward->high, high);
	WRITE_ONCE(forward->low, high / 2);
	WRITE_ONCE(forward->room, room);
}

/* Starts charging frames to this ingress port. */
int prioflow_forward_start(struct prioflow_port *port, struct netlink_ext_ack *extack)
{
	struct prioflow_net *net = port->net;
	u32 slot;

	ASSERT_RTNL();
	for (slot = 0; slot < PRIOFLOW_SLOTS && rtnl_dereference(net->by_slot[slot]); slot++)
		;
	if (slot == PRIOFLOW_SLOTS) {
		NL_SET_ERR_MSG_MOD(extack, "at most 64 devices of a namespace can have a link");
		return -ENOSPC;
	}
	port->forward.slot = slot;
	spin_lock_bh(&port->lock);
	/* 0 means none. */
	port->forward.serial = ++net->serial ?: ++net->serial;
	spin_unlock_bh(&port->lock);
	prioflow_forward_measure(port);
	rcu_assign_pointer(net->by_slot[slot], port);
	hash_add_rcu(net->by_index, &port->forward.node, port->dev->ifindex);
	prioflow_scope_update(net);
	return 0;
}

/* Stops charging frames to the port, and withdraws its pause requests. */
void prioflow_forward_stop(struct prioflow_port *port)
{
	struct prioflow_forward *forward = &port->forward;

	ASSERT_RTNL();
	hash_del_rcu(&forward->node);
	RCU_INIT_POINTER(port->net->by_slot[forward->slot], NULL);
	spin_lock_bh(&port->lock);
	WRITE_ONCE(forward->serial, 0);
	memset(forward->xoff_queues, 0, sizeof(forward->xoff_queues));
	prioflow_forward_request(port);
	spin_unlock_bh(&port->lock);
	/* RCU readers may still be on this hash chain: do not add the port to another yet. */
	synchronize_net();
	prioflow_scope_update(port->net);
	spin_lock_bh(&port->lock);
	prioflow_port_request(port, PRIOFLOW_FOR_SOCKETS, 0);
	spin_unlock_bh(&port->lock);
}
