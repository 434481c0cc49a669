// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: protected packets while the device has no carrier.
 *
 * When the carrier is lost, the core resets the device's qdiscs and puts noop_qdisc in their
 * place, which drops what is sent and says nothing to its sender. So the packets that a reset
 * takes from a qdisc, and those sent later, wait at the port: they stay charged to their sockets,
 * whose senders sleep for buffer as they do in a pause. When the carrier is back they are sent
 * again. Forwarded frames do not wait: one unplugged cable would pause all ports of a bridge.
 *
 * The core also does that, for a moment, while a qdisc is exchanged. It tells nobody when it is
 * done, so a work looks.
 *
 * Packets on their way to noop_qdisc pass a netfilter egress hook. It costs each packet of the
 * device, so it is registered when the first sender of the namespace opts in.
 */
#include <linux/net.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>

#include "level.h"
#include "prioflow.h"

/* New packets wait behind kept ones until so many batches of these have been sent. */
#define PRIOFLOW_KEEP_ROUNDS	8

/* Whether the device, which is up, loses what is sent now. RCU, or RTNL. */
static bool prioflow_keep_is_down(const struct net_device *dev)
{
	const struct netdev_queue *first = dev->_tx;
	const struct netdev_queue *last = first + dev->num_tx_queues - 1;

	/* The core exchanges the qdiscs of all queues one after the other. */
	return !netif_carrier_ok(dev) || rcu_access_pointer(first->qdisc) == &noop_qdisc ||
	       rcu_access_pointer(last->qdisc) == &noop_qdisc;
}

static bool prioflow_keep_must_wait(const struct prioflow_port *port)
{
	const struct net_device *dev = port->dev;

	/* A device that is set down will drop its kept packets, if it has not already. */
	return READ_ONCE(port->keep.resumes) || (prioflow_keep_is_down(dev) && netif_running(dev));
}

/* Whether a packet is protected, and there is room for it. Counts it. */
static bool prioflow_keep_takes(struct prioflow_port *port, struct sk_buff *skb)
{
	const struct prioflow_sched *sched = prioflow_port_qdisc(port);
	u8 level;

	if (!skb->sk)	/* also the link's own frames */
		return false;
	level = sched ? prioflow_classify(sched, skb) : PRIOFLOW_FOREIGN;
	if (level == PRIOFLOW_FOREIGN)
		return false;
	if (prioflow_socket_is_charged(skb) &&
	    prioflow_socket_protects(skb->sk, level, dev_net(port->dev)))
		return true;
	if (!prioflow_rules_match(port->net, skb, level))
		return false;
	if (port->keep.ruled_bytes + skb->truesize > READ_ONCE(port->net->send_room)) {
		/* While they are sent again, the qdisc may still take it. */
		if (!port->keep.resumes)
			port->keep.lost++;
		return false;
	}
	port->keep.ruled_bytes += skb->truesize;
	return true;
}

static unsigned int prioflow_keep_hook(void *priv, struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	struct prioflow_port *port = priv;
	struct prioflow_keep *keep = &port->keep;
	unsigned int verdict = NF_ACCEPT;

	if (likely(!prioflow_keep_must_wait(port)) || skb == READ_ONCE(keep->passing) ||
	    !(prioflow_socket_is_charged(skb) ||
	      READ_ONCE(port->protects) & PRIOFLOW_PROTECTS_BY_RULES))
		return NF_ACCEPT;
	spin_lock_bh(&port->lock);
	if (prioflow_keep_must_wait(port) && prioflow_keep_takes(port, skb)) {
		skb_dst_force(skb);
		__skb_queue_tail(&keep->kept, skb);
		/* Otherwise a notification follows. */
		if (netif_carrier_ok(port->dev))
			schedule_delayed_work(&keep->work, 1);
		verdict = NF_STOLEN;
	}
	spin_unlock_bh(&port->lock);
	return verdict;
}

/*
 * Takes the protected packets out of a qdisc that is being reset, highest level first, if that is
 * for the carrier: then a notification of the device's state follows. The caller drops the rest.
 */
void prioflow_keep_levels(struct prioflow_sched *q)
{
	struct prioflow_port *port = q->port;
	struct net_device *dev = port->dev;
	struct sk_buff *skb, *next;
	struct sk_buff_head older;
	int number;

	if (!netif_running(dev) ||
	    (netif_carrier_ok(dev) && !test_bit(__LINK_STATE_LINKWATCH_PENDING, &dev->state)))
		return;
	__skb_queue_head_init(&older);
	spin_lock_bh(&port->lock);
	/* The oldest are those that the driver has not taken, or that a parent has looked at. */
	skb_queue_walk_safe(&q->qdisc->gso_skb, skb, next) {
		if (!prioflow_keep_takes(port, skb))
			continue;
		__skb_unlink(skb, &q->qdisc->gso_skb);
		__skb_queue_tail(&older, skb);
	}
	for (number = PRIOFLOW_TOP_LEVEL; number >= 0; number--) {
		struct sk_buff_head *queue = &q->level[number].queue[PRIOFLOW_PROTECTED];

		skb_queue_walk_safe(queue, skb, next) {
			u8 charged = prioflow_skb_cb(skb)->charged;

			if (charged && charged != PRIOFLOW_CHARGED_BY_RULE)
				continue;
			__skb_unlink(skb, queue);
			__skb_queue_tail(&older, skb);
		}
	}
	skb_queue_splice(&older, &port->keep.kept);
	spin_unlock_bh(&port->lock);
}

/* Sends the kept packets, if the device sends again. */
void prioflow_keep_resume(struct prioflow_port *port)
{
	struct prioflow_keep *keep = &port->keep;
	struct sk_buff_head batch;
	struct sk_buff *skb;
	u32 round = 0;

	/* Nobody exchanges the qdiscs meanwhile. */
	ASSERT_RTNL();
	if (prioflow_keep_is_down(port->dev))
		return;
	__skb_queue_head_init(&batch);
	prioflow_port_set_protects(port, PRIOFLOW_PROTECTS_KEPT, true);
	for (;;) {
		spin_lock_bh(&port->lock);
		skb_queue_splice_init(&keep->kept, &batch);
		keep->ruled_bytes = 0;
		WRITE_ONCE(keep->resumes, !skb_queue_empty(&batch) &&
					  round++ < PRIOFLOW_KEEP_ROUNDS);
		spin_unlock_bh(&port->lock);
		if (skb_queue_empty(&batch))
			break;
		while ((skb = __skb_dequeue(&batch))) {
			WRITE_ONCE(keep->passing, skb);
			dev_queue_xmit(skb);
			prioflow_link_await_enqueue(&keep->passing, skb);
			cond_resched();
		}
	}
	prioflow_port_set_protects(port, PRIOFLOW_PROTECTS_KEPT, false);
}

static void prioflow_keep_work(struct work_struct *work)
{
	struct prioflow_keep *keep = container_of(work, struct prioflow_keep, work.work);

	/* Who ends the work has the RTNL. */
	if (!rtnl_trylock()) {
		schedule_delayed_work(&keep->work, 1);
		return;
	}
	prioflow_keep_resume(container_of(keep, struct prioflow_port, keep));
	rtnl_unlock();
}

void prioflow_keep_init(struct prioflow_keep *keep)
{
	__skb_queue_head_init(&keep->kept);
	INIT_DELAYED_WORK(&keep->work, prioflow_keep_work);
}

/* Counts protected packets that are being dropped. */
void prioflow_keep_count_lost(struct prioflow_port *port, u32 packets)
{
	spin_lock_bh(&port->lock);
	port->keep.lost += packets;
	spin_unlock_bh(&port->lock);
}

/* Drops the kept packets. */
void prioflow_keep_purge(struct prioflow_port *port)
{
	struct sk_buff_head dropped;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&port->lock);
	port->keep.lost += skb_queue_len(&port->keep.kept);
	skb_queue_splice_init(&port->keep.kept, &dropped);
	port->keep.ruled_bytes = 0;
	spin_unlock_bh(&port->lock);
	__skb_queue_purge(&dropped);
}

/* Has the port keep packets that are sent without carrier. */
void prioflow_keep_start(struct prioflow_port *port)
{
	struct prioflow_keep *keep = &port->keep;
	int err;

	ASSERT_RTNL();
	if (!IS_ENABLED(CONFIG_NETFILTER_EGRESS)) {
		pr_warn_once("prioflow: without CONFIG_NETFILTER_EGRESS, packets that are sent without carrier are lost\n");
		return;
	}
	if (keep->hooked)
		return;
	keep->hook = (struct nf_hook_ops) {
		.hook		= prioflow_keep_hook,
		.dev		= port->dev,
		.priv		= port,
		.pf		= NFPROTO_NETDEV,
		.hooknum	= NF_NETDEV_EGRESS,
		.priority	= INT_MAX,
	};
	err = nf_register_net_hook(dev_net(port->dev), &keep->hook);
	keep->hooked = !err;
	if (err && net_ratelimit())
		netdev_warn(port->dev, "prioflow: cannot register a netfilter egress hook (error %d): packets that are sent without carrier are lost until it is tried again with the next change of the carrier\n",
			    err);
}

/* Ends that, and drops the kept packets. */
void prioflow_keep_end(struct prioflow_port *port)
{
	struct prioflow_keep *keep = &port->keep;

	ASSERT_RTNL();
	if (keep->hooked) {
		nf_unregister_net_hook(dev_net(port->dev), &keep->hook);
		synchronize_net();	/* the hook may be keeping a last one */
	}
	cancel_delayed_work_sync(&keep->work);
	prioflow_keep_purge(port);
}
