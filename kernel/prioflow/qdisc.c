// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the queueing discipline.
 *
 * 16 levels, strict priority: the highest level that holds a packet is served first. When
 * the limit is reached, a packet pushes out the youngest packet of the lowest level below
 * its own. Packets of sockets that have opted in (socket.c), and frames that a bridge
 * forwards from ports with a link (forward.c), are protected: exempt from the limit and
 * never dropped. The packets of a level that the device pauses (port.c) stay charged to their
 * sockets, so that a sender whose buffer is full sleeps instead of losing packets.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/gen_stats.h>

#include "../compat/compat.h"
#include "bypass.h"
#include "classify.h"
#include "level.h"
#include "prioflow.h"

/* Interval between looks for the carrier while packets wait for it. */
#define PRIOFLOW_CARRIER_POLL_NS	(10 * NSEC_PER_MSEC)

/* Appends to a level. */
static __always_inline void prioflow_append(struct sk_buff *skb, struct Qdisc *sch, u32 number,
					   enum prioflow_protection prot, u8 charged)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	bool waits;

	waits = q->backlogged || READ_ONCE(q->port->paused);
	prioflow_level_add(sch, number, skb, prot, charged, waits ? ktime_get_ns() : 0);
}

/* Adds one frame to a full qdisc: drops packets of lower levels, or the frame. */
static noinline int prioflow_add_to_full(struct sk_buff *skb, struct Qdisc *sch, u32 number,
					 struct sk_buff **to_free)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	u32 packets = 0, bytes = 0;
	int result;

	if (prioflow_level_push_out(sch, number, skb, to_free, &packets, &bytes)) {
		prioflow_append(skb, sch, number, PRIOFLOW_DROPPABLE, 0);
		if (!packets)
			return NET_XMIT_SUCCESS;
		/*
		 * Parents do not count this packet then: so one of the dropped ones is not
		 * subtracted, and no parent is taken for empty meanwhile.
		 */
		result = NET_XMIT_CN;
		packets--;
		bytes -= qdisc_pkt_len(skb);
	} else {
		q->level[number].dropped++;
		result = compat_qdisc_drop_over_limit(skb, sch, to_free);
	}
	if (packets || bytes)
		qdisc_tree_reduce_backlog(sch, packets, bytes);
	return result;
}

/* Adds one droppable frame. */
static noinline int prioflow_add_droppable(struct sk_buff *skb, struct Qdisc *sch, u32 number,
					   struct sk_buff **to_free)
{
	if (unlikely(prioflow_is_full(sch, skb)))
		return prioflow_add_to_full(skb, sch, number, to_free);
	prioflow_append(skb, sch, number, PRIOFLOW_DROPPABLE, 0);
	return NET_XMIT_SUCCESS;
}

/* Adds one frame. */
static int prioflow_add(struct sk_buff *skb, struct Qdisc *sch, u32 number,
			enum prioflow_protector by, struct sk_buff **to_free)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	u8 charged = 0;

	if (skb->skb_iif) {	/* locally generated packets have no ingress port */
		charged = prioflow_forward_charge(sch, skb, number);
	} else if (by == PRIOFLOW_BY_RULE) {
		charged = PRIOFLOW_CHARGED_BY_RULE;
		q->ruled_bytes += skb->truesize;
	}
	if (!charged && by == PRIOFLOW_BY_NOTHING)
		return prioflow_add_droppable(skb, sch, number, to_free);
	prioflow_append(skb, sch, number, PRIOFLOW_PROTECTED, charged);
	return NET_XMIT_SUCCESS;
}

/*
 * Adds a GSO packet: segments it here, because segments of the device would be sent all at
 * once, past a rising transmit level and ahead of higher levels. The last frame carries the
 * socket's charge for all.
 */
static noinline int prioflow_add_frames(struct sk_buff *skb, struct Qdisc *sch, u32 number,
					enum prioflow_protector by, struct sk_buff **to_free)
{
	u32 before = qdisc_pkt_len(skb), frames = 0, bytes = 0;
	struct sk_buff *all, *frame, *next;
	bool displaced = false;

	all = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(all))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(all, frame, next) {
		u32 length = frame->len;

		skb_mark_not_on_list(frame);
		compat_qdisc_init_pkt_len(frame, length);
		switch (prioflow_add(frame, sch, number, by, to_free)) {
		case NET_XMIT_SUCCESS:
			frames++;
			bytes += length;
			break;
		case NET_XMIT_CN:	/* has taken the place of another in the parents */
			displaced = true;
		}
	}
	if (!frames && displaced) {
		consume_skb(skb);
		return NET_XMIT_CN;
	}
	if (!frames) {
		kfree_skb_reason(skb, SKB_DROP_REASON_QDISC_DROP);
		return NET_XMIT_DROP;
	}
	/* Parents have counted one packet. */
	qdisc_tree_reduce_backlog(sch, 1 - frames, before - bytes);
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

/* What protects a packet. */
static enum prioflow_protector prioflow_protector_of(struct prioflow_sched *q,
						     const struct sk_buff *skb, u32 number)
{
	struct prioflow_port *port = q->port;
	/* A kept packet was counted when its qdisc or the port took it. */
	bool kept = skb == READ_ONCE(port->keep.passing);

	if (kept)
		WRITE_ONCE(port->keep.passing, NULL);
	if (prioflow_socket_is_charged(skb) &&
	    (kept || prioflow_socket_protects(skb->sk, number, dev_net(port->dev))))
		return PRIOFLOW_BY_SOCKET;
	if (READ_ONCE(port->protects) & PRIOFLOW_PROTECTS_BY_RULES &&
	    prioflow_rules_protect(q, skb, number))
		return PRIOFLOW_BY_RULE;
	/* Of a packet socket's segments the last one is charged for all. */
	return kept ? PRIOFLOW_BY_SOCKET : PRIOFLOW_BY_NOTHING;
}

/* Adds a packet that may be protected, or is GSO. */
static noinline int prioflow_add_packet(struct sk_buff *skb, struct Qdisc *sch, u32 number,
					struct sk_buff **to_free)
{
	enum prioflow_protector by = prioflow_protector_of(qdisc_priv(sch), skb, number);

	prioflow_bypass_flush(sch);
	if (unlikely(skb_is_gso(skb)))
		return prioflow_add_frames(skb, sch, number, by, to_free);
	return prioflow_add(skb, sch, number, by, to_free);
}

static int prioflow_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	u32 number;

	prioflow_assert_qdisc_lock(sch);
	number = prioflow_level_of(q, skb);
	if (unlikely(number == PRIOFLOW_FOREIGN)) {
		q->port->link.foreign++;
		return qdisc_drop(skb, sch, to_free);
	}
	/* One ring, so that the core does not bulk-dequeue for another (prioflow_init). */
	if (unlikely(q->one_queue))
		skb_set_queue_mapping(skb, q->one_queue - 1);
	if (unlikely(skb->skb_iif || prioflow_socket_is_charged(skb) || skb_is_gso(skb) ||
		     READ_ONCE(q->port->protects)))
		return prioflow_add_packet(skb, sch, number, to_free);
	if (prioflow_can_bypass(sch)) {
		prioflow_bypass_put(sch, skb, number);
		return NET_XMIT_SUCCESS;
	}
	prioflow_bypass_flush(sch);
	return prioflow_add_droppable(skb, sch, number, to_free);
}

/* The backlogged levels that may send; if none may, schedules the watchdog. */
static noinline u32 prioflow_may_send(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	u64 until_ns;
	u32 levels;

	levels = q->backlogged & ~prioflow_port_paused(q->port, &until_ns);
	if (!levels && until_ns)
		qdisc_watchdog_schedule_ns(&q->watchdog, until_ns);
	return levels;
}

/* The level to serve now, or -1. */
static __always_inline int prioflow_next(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	u32 levels = q->backlogged;

	if (unlikely(levels && READ_ONCE(q->port->paused)))
		levels = prioflow_may_send(sch);
	return levels ? __fls(levels) : -1;
}

static void prioflow_count_sent(struct Qdisc *sch, struct prioflow_level *level,
				const struct sk_buff *skb)
{
	u32 length = qdisc_pkt_len(skb);

	level->sent++;
	level->sent_bytes += length;
	_bstats_update(&sch->bstats, length, 1);
}

/* What the driver gets without carrier is lost; the core is still to stop the qdiscs. */
static noinline void prioflow_await_carrier(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns() + PRIOFLOW_CARRIER_POLL_NS);
}

static struct sk_buff *prioflow_peek(struct Qdisc *sch)
{
	struct sk_buff *skb = prioflow_bypass_ready(sch);
	struct prioflow_sched *q = qdisc_priv(sch);
	int number;

	if (unlikely(!netif_carrier_ok(qdisc_dev(sch))))
		return NULL;
	if (skb)
		return skb;
	prioflow_bypass_flush(sch);
	number = prioflow_next(sch);
	return number < 0 ? NULL : prioflow_level_first(&q->level[number]);
}

/* Dequeues from the levels. */
static noinline struct sk_buff *prioflow_dequeue_level(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_level *level;
	struct sk_buff *skb;
	u64 queued_ns;
	int number;

	prioflow_bypass_flush(sch);
	number = prioflow_next(sch);
	if (number < 0)
		return NULL;
	level = &q->level[number];
	skb = prioflow_level_first(level);
	queued_ns = prioflow_level_remove(sch, number, skb);
	if (queued_ns)
		level->longest_wait_ns = max(level->longest_wait_ns, ktime_get_ns() - queued_ns);
	prioflow_count_sent(sch, level, skb);
	return skb;
}

static struct sk_buff *prioflow_dequeue(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	prioflow_assert_qdisc_lock(sch);
	if (!sch->q.qlen)
		return NULL;
	if (unlikely(!netif_carrier_ok(qdisc_dev(sch)))) {
		prioflow_await_carrier(sch);
		return NULL;
	}
	skb = prioflow_bypass_ready(sch);
	if (!skb)
		return prioflow_dequeue_level(sch);
	q->bypass = NULL;
	sch->q.qlen--;
	sch->qstats.backlog -= qdisc_pkt_len(skb);
	prioflow_count_sent(sch, &q->level[q->bypass_level], skb);
	return skb;
}

static int prioflow_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	int err;

	q->qdisc = sch;
	qdisc_watchdog_init(&q->watchdog, sch);
	prioflow_levels_init(q);
	prioflow_map_init(&q->map, PRIOFLOW_SOURCE_DSCP);
	q->limit = max_t(u32, dev->tx_queue_len, 1);
	q->limit_bytes = U32_MAX;
	q->port = prioflow_port_get(dev);
	if (!q->port)
		return -ENOMEM;
	INIT_LIST_HEAD(&q->list);
	if (sch->parent == TC_H_ROOT && netif_is_multiqueue(dev)) {
		/*
		 * As the only qdisc of several rings: the core would dequeue packets for
		 * rings that are full, past the transmit level. Use one ring instead.
		 */
		sch->flags |= TCQ_F_ONETXQUEUE;
		q->one_queue = sch->dev_queue - dev->_tx + 1;
	}
	err = prioflow_change(sch, opt, extack);
	if (err)
		return err;	/* the core calls destroy */
	prioflow_port_join(q->port, q);
	return 0;
}

static void prioflow_reset(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (!q->port)	/* init has failed */
		return;
	prioflow_bypass_flush(sch);
	prioflow_keep_levels(q);
	prioflow_levels_purge(q);
}

static void prioflow_destroy(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	if (q->port) {
		prioflow_port_leave(q->port, q);
		prioflow_port_put(q->port);
	}
}

static int prioflow_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct tc_prioflow_xstats *stats;	/* too large for the stack */
	int err;
	u32 i;

	stats = kzalloc(sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -1;
	prioflow_port_fill(q->port, stats);
	sch_tree_lock(sch);
	prioflow_bypass_flush(sch);
	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		stats->level[i].sent = q->level[i].sent;
		stats->level[i].sent_bytes = q->level[i].sent_bytes;
		stats->level[i].dropped = q->level[i].dropped;
		stats->level[i].longest_wait_ns = q->level[i].longest_wait_ns;
		stats->level[i].queued = prioflow_level_queued(&q->level[i]);
		stats->level[i].queued_bytes = q->level[i].bytes;
	}
	stats->forward.over_limit = q->over_limit;
	stats->forward.most = q->most_forwarded;
	stats->ruled = q->ruled;
	stats->ruled_over_room = q->ruled_over_room;
	sch_tree_unlock(sch);
	err = gnet_stats_copy_app(d, stats, sizeof(*stats));
	kfree(stats);
	return err;
}

/* Classes 1 to 16 are the levels 0 to 15, for `tc -s class`. They take no child qdisc. */
static struct Qdisc *prioflow_leaf(struct Qdisc *sch, unsigned long class)
{
	return NULL;
}

static unsigned long prioflow_find(struct Qdisc *sch, u32 classid)
{
	u32 minor = TC_H_MIN(classid);

	return minor <= PRIOFLOW_LEVELS ? minor : 0;
}

static int prioflow_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
			       struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(class);
	return 0;
}

static int prioflow_dump_class_stats(struct Qdisc *sch, unsigned long class, struct gnet_dump *d)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct gnet_stats_queue queue = {};
	struct gnet_stats_basic_sync basic;
	struct prioflow_level *level;

	level = &q->level[class - 1];
	gnet_stats_basic_sync_init(&basic);
	sch_tree_lock(sch);
	prioflow_bypass_flush(sch);
	queue.qlen = prioflow_level_queued(level);
	queue.backlog = level->bytes;
	queue.drops = level->dropped;
	u64_stats_set(&basic.packets, level->sent);
	u64_stats_set(&basic.bytes, level->sent_bytes);
	sch_tree_unlock(sch);
	if (gnet_stats_copy_basic(d, NULL, &basic, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &queue, queue.qlen) < 0)
		return -1;
	return 0;
}

static void prioflow_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	u32 i;

	for (i = 0; !walker->stop && i < PRIOFLOW_LEVELS; i++) {
		if (walker->count >= walker->skip && walker->fn(sch, i + 1, walker) < 0) {
			walker->stop = 1;
			break;
		}
		walker->count++;
	}
}

static const struct Qdisc_class_ops prioflow_class_ops = {
	.leaf		= prioflow_leaf,
	.find		= prioflow_find,
	.dump		= prioflow_dump_class,
	.dump_stats	= prioflow_dump_class_stats,
	.walk		= prioflow_walk,
};

static struct Qdisc_ops prioflow_qdisc_ops __read_mostly = {
	.cl_ops		= &prioflow_class_ops,
	.id		= "prioflow",
	.priv_size	= sizeof(struct prioflow_sched),
	.enqueue	= prioflow_enqueue,
	.dequeue	= prioflow_dequeue,
	.peek		= prioflow_peek,
	.init		= prioflow_init,
	.reset		= prioflow_reset,
	.destroy	= prioflow_destroy,
	.change		= prioflow_change,
	.dump		= prioflow_dump,
	.dump_stats	= prioflow_dump_stats,
	.owner		= THIS_MODULE,
};

int prioflow_qdisc_module_init(void)
{
	return register_qdisc(&prioflow_qdisc_ops);
}

void prioflow_qdisc_module_exit(void)
{
	unregister_qdisc(&prioflow_qdisc_ops);
}
