// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: frames that a bridge forwards, charged to the port that brought them.
 *
 * A bridge cannot wait. So a frame from a port with a link is not dropped where it waits
 * for another port: it is beside the limit, and counts against the room that its port has
 * in this queue at its level. When as much of the room is left as can still come after
 * asking, the port asks its peer for silence up to that level; and no more when half of the
 * rest has left. A flooded frame counts in each queue in which a copy of it waits. The top
 * level is never silenced, so it has no room of this kind.
 *
 * Counted is from the qdisc's enqueue to its dequeue: what the card's ring holds then is
 * not more than the ring, and needs no room here. A port may go before its frames have, and
 * another take its slot: each ask carries the serial of the port that was asked.
 */
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "../compat/compat.h"
#include "prioflow.h"

/* Octets on the wire of the smallest frame. */
#define PRIOFLOW_SMALLEST	(ETH_ZLEN + PRIOFLOW_WIRE_OVERHEAD)

/* The port of the namespace with a link that has this number. RCU. */
static struct prioflow_port *prioflow_forward_find(struct prioflow_net *net, int ifindex)
{
	struct prioflow_port *port;

	hash_for_each_possible_rcu(net->by_index, port, forward.node, ifindex)
		if (port->dev->ifindex == ifindex)
			return port;
	return NULL;
}

/* Has the peer asked for the highest level that a queue wants silenced. The port's lock. */
static void prioflow_forward_settle(struct prioflow_port *port)
{
	struct prioflow_forward *forward = &port->forward;
	u8 level;

	for (level = PRIOFLOW_TOP_LEVEL; level && !forward->asking[level - 1]; level--)
		;
	prioflow_port_want(port, PRIOFLOW_FOR_FORWARDED, level);
}

/* The port's frames at a level have come to the high mark. The qdisc's lock. */
static void prioflow_forward_above(struct prioflow_port *port, struct prioflow_account *account,
				   u8 level)
{
	struct prioflow_forward *forward = &port->forward;

	spin_lock_bh(&port->lock);
	if (account->serial != forward->serial) {
		account->serial = forward->serial;
		account->asked = 0;
	}
	/* Without a serial the link is being switched off. */
	if (forward->serial && !(account->asked & BIT(level))) {
		account->asked |= BIT(level);
		forward->asking[level]++;
		forward->asks++;
		prioflow_forward_settle(port);
	}
	spin_unlock_bh(&port->lock);
}

/* If the port's frames at a level are down to the low mark, it asks no more. The qdisc's lock. */
static void prioflow_forward_below(struct prioflow_net *net, u32 slot,
				   struct prioflow_account *account, u8 level)
{
	struct prioflow_port *port;

	rcu_read_lock();
	port = rcu_dereference(net->by_slot[slot]);
	if (port && account->frames[level] && account->frames[level] > READ_ONCE(port->forward.low))
		goto unlock;
	account->asked &= ~BIT(level);
	if (!port)
		goto unlock;
	spin_lock_bh(&port->lock);
	if (account->serial == port->forward.serial) {
		port->forward.asking[level]--;
		prioflow_forward_settle(port);
	}
	spin_unlock_bh(&port->lock);
unlock:
	rcu_read_unlock();
}

/*
 * Charges a frame that came by a port, and that a bridge forwards, to that port. Returns the
 * port's slot and one; 0 if the frame is none of these, or beyond the room: then it is
 * treated as any other. The qdisc's lock.
 */
u8 prioflow_forward_charge(struct Qdisc *sch, const struct sk_buff *skb, u8 level)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_account *account;
	struct prioflow_port *port;
	u32 frames, slot = 0;

	if (level == PRIOFLOW_TOP_LEVEL || !netif_is_bridge_port(qdisc_dev(sch)))
		return 0;
	rcu_read_lock();
	port = prioflow_forward_find(q->port->net, skb->skb_iif);
	if (!port || !netif_is_bridge_port(port->dev))
		goto unlock;
	account = &q->account[port->forward.slot];
	frames = account->frames[level];
	if (frames >= READ_ONCE(port->forward.room)) {
		q->beyond++;
		goto unlock;
	}
	account->frames[level] = ++frames;
	q->most_forwarded = max(q->most_forwarded, frames);
	slot = port->forward.slot + 1;
	if (frames >= READ_ONCE(port->forward.high) &&
	    (!(account->asked & BIT(level)) ||
	     account->serial != READ_ONCE(port->forward.serial)))
		prioflow_forward_above(port, account, level);
unlock:
	rcu_read_unlock();
	return slot;
}

/* A frame leaves that was charged to the port of this slot. The qdisc's lock. */
void prioflow_forward_release(struct prioflow_sched *q, u32 slot, u8 level)
{
	struct prioflow_account *account = &q->account[slot];

	account->frames[level]--;
	if (unlikely(account->asked & BIT(level)))
		prioflow_forward_below(q->port->net, slot, account, level);
}

/* All frames leave at once. The qdisc's lock, or nobody else has the qdisc any more. */
void prioflow_forward_purge(struct prioflow_sched *q)
{
	u32 slot, level;

	for (slot = 0; slot < PRIOFLOW_SLOTS; slot++) {
		struct prioflow_account *account = &q->account[slot];
		unsigned long asked = account->asked;

		memset(account->frames, 0, sizeof(account->frames));
		for_each_set_bit(level, &asked, PRIOFLOW_LEVELS)
			prioflow_forward_below(q->port->net, slot, account, level);
	}
}

/* What can still come by the port after asking, in frames of the smallest size. RTNL. */
static int prioflow_forward_headroom(const struct prioflow_port *port, u32 reaction_us, u32 ring,
				     u32 *headroom)
{
	return prioflow_port_in_flight(port, reaction_us, ring, PRIOFLOW_SMALLEST, headroom);
}

/* Whether a room holds what can come after asking, and one frame more. RTNL. */
int prioflow_forward_check(const struct prioflow_port *port, u32 room, u32 reaction_us, u32 ring,
			   struct netlink_ext_ack *extack)
{
	u32 headroom;

	if (!room || prioflow_forward_headroom(port, reaction_us, ring, &headroom))
		return 0;
	if (room > headroom)
		return 0;
	compat_ext_ack(extack, "more frames can come after asking for silence than the room holds",
		       "room for %u frames, but %u can come after asking for silence",
		       room, headroom);
	return -ENOBUFS;
}

/* The marks from the room, and both from what the wire is like now. RTNL. */
void prioflow_forward_measure(struct prioflow_port *port)
{
	struct prioflow_forward *forward = &port->forward;
	u32 headroom, room, high;

	ASSERT_RTNL();
	if (!forward->serial)
		return;
	if (prioflow_forward_headroom(port, port->link.reaction_us, port->link.ring, &headroom))
		headroom = 0;
	room = !headroom ? 0 : forward->room_wanted ?: 2 * headroom;
	/* A wire that became faster: it asks at once, and what is beyond is seen. */
	high = room > headroom ? room - headroom : 1;
	if (room && room <= headroom)
		netdev_warn(port->dev, "prioflow: a room of %u frames is too small: %u can come after asking for silence\n",
			    room, headroom);
	WRITE_ONCE(forward->headroom, headroom);
	WRITE_ONCE(forward->high, high);
	WRITE_ONCE(forward->low, high / 2);
	WRITE_ONCE(forward->room, room);
}

/* Frames that this port brings are charged to it from now on. RTNL. */
int prioflow_forward_start(struct prioflow_port *port, struct netlink_ext_ack *extack)
{
	struct prioflow_net *net = port->net;
	u32 slot;

	for (slot = 0; slot < PRIOFLOW_SLOTS && rtnl_dereference(net->by_slot[slot]); slot++)
		;
	if (slot == PRIOFLOW_SLOTS) {
		NL_SET_ERR_MSG_MOD(extack, "64 devices of a namespace can have a link, and have one");
		return -ENOSPC;
	}
	port->forward.slot = slot;
	spin_lock_bh(&port->lock);
	/* 0 is none. */
	port->forward.serial = ++net->serial ?: ++net->serial;
	spin_unlock_bh(&port->lock);
	prioflow_forward_measure(port);
	rcu_assign_pointer(net->by_slot[slot], port);
	hash_add_rcu(net->by_index, &port->forward.node, port->dev->ifindex);
	return 0;
}

/* Nothing is charged to the port any more, and for what was nothing is asked. RTNL. */
void prioflow_forward_stop(struct prioflow_port *port)
{
	struct prioflow_forward *forward = &port->forward;

	hash_del_rcu(&forward->node);
	RCU_INIT_POINTER(port->net->by_slot[forward->slot], NULL);
	spin_lock_bh(&port->lock);
	WRITE_ONCE(forward->serial, 0);
	memset(forward->asking, 0, sizeof(forward->asking));
	prioflow_forward_settle(port);
	spin_unlock_bh(&port->lock);
	/* Who found it before may still look at it, and must not meet it again elsewhere. */
	synchronize_net();
}
