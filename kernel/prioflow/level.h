/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: the levels of a qdisc. Each level is a FIFO of two queues: one for droppable
 * packets, one for protected packets (of sockets that have opted in, or charged to an ingress
 * port). A sequence number orders the two. Inline, because it runs twice for each packet.
 * Needs the qdisc lock.
 */
#ifndef PRIOFLOW_LEVEL_H
#define PRIOFLOW_LEVEL_H

#include <net/pkt_sched.h>

#include "prioflow.h"

/* In place of a slot + 1: a rule protects the packet. */
#define PRIOFLOW_CHARGED_BY_RULE	(PRIOFLOW_SLOTS + 1)

/* In the skb's control block while it is queued. */
struct prioflow_skb_cb {
	u64 queued_ns;	/* CLOCK_MONOTONIC; 0: no wait expected */
	u32 order;	/* sequence in its level, modulo 2^32 */
	u8 protection;	/* enum prioflow_protection */
	u8 charged;	/* slot + 1 of the port that it is charged to; 0: none; or a rule */
};

static inline struct prioflow_skb_cb *prioflow_skb_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct prioflow_skb_cb));
	return (struct prioflow_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* The oldest packet of a level that is not empty. */
static inline struct sk_buff *prioflow_level_first(const struct prioflow_level *level)
{
	struct sk_buff *droppable = skb_peek(&level->queue[PRIOFLOW_DROPPABLE]);
	struct sk_buff *protected = skb_peek(&level->queue[PRIOFLOW_PROTECTED]);

	if (!protected)
		return droppable;
	if (!droppable)
		return protected;
	return (s32)(prioflow_skb_cb(droppable)->order - prioflow_skb_cb(protected)->order) < 0 ?
	       droppable : protected;
}

static inline u32 prioflow_level_queued(const struct prioflow_level *level)
{
	return skb_queue_len(&level->queue[PRIOFLOW_DROPPABLE]) +
	       skb_queue_len(&level->queue[PRIOFLOW_PROTECTED]);
}

/* Appends a packet to its level; prioflow_level_remove() returns @queued_ns. */
static inline void prioflow_level_append(struct prioflow_sched *q, u32 number, struct sk_buff *skb,
				       enum prioflow_protection prot, u8 charged, u64 queued_ns)
{
	struct prioflow_level *level = &q->level[number];
	u32 length = qdisc_pkt_len(skb);

	*prioflow_skb_cb(skb) = (struct prioflow_skb_cb) {
		.queued_ns = queued_ns,
		.order = ++level->order,
		.protection = prot,
		.charged = charged,
	};
	__skb_queue_tail(&level->queue[prot], skb);
	level->bytes += length;
	q->backlogged |= BIT(number);
	if (prot == PRIOFLOW_PROTECTED) {
		q->protected++;
		q->protected_bytes += length;
	} else {
		q->droppable |= BIT(number);
	}
}

/* The same, and counts it in the qdisc. */
static inline void prioflow_level_add(struct Qdisc *sch, u32 number, struct sk_buff *skb,
				      enum prioflow_protection prot, u8 charged, u64 queued_ns)
{
	prioflow_assert_qdisc_lock(sch);
	prioflow_level_append(qdisc_priv(sch), number, skb, prot, charged, queued_ns);
	sch->q.qlen++;
	sch->qstats.backlog += qdisc_pkt_len(skb);
}

/* Removes a packet from its level; returns the queued_ns that it was appended with. */
static inline u64 prioflow_level_remove(struct Qdisc *sch, u32 number, struct sk_buff *skb)
{
	const struct prioflow_skb_cb *cb = prioflow_skb_cb(skb);
	struct prioflow_sched *q = qdisc_priv(sch);
	u32 length = qdisc_pkt_len(skb);
	struct prioflow_level *level = &q->level[number];

	prioflow_assert_qdisc_lock(sch);
	__skb_unlink(skb, &level->queue[cb->protection]);
	level->bytes -= length;
	if (cb->protection == PRIOFLOW_PROTECTED) {
		q->protected--;
		q->protected_bytes -= length;
	} else if (skb_queue_empty(&level->queue[PRIOFLOW_DROPPABLE])) {
		q->droppable &= ~BIT(number);
	}
	if (!prioflow_level_queued(level))
		q->backlogged &= ~BIT(number);
	sch->q.qlen--;
	sch->qstats.backlog -= length;
	if (cb->charged == PRIOFLOW_CHARGED_BY_RULE)
		q->ruled_bytes -= skb->truesize;
	else if (cb->charged)
		prioflow_forward_release(q, cb->charged - 1, number);
	return cb->queued_ns;
}

/* Whether the droppable packets, with this one, exceed the limits. */
static inline bool prioflow_is_full(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	return sch->q.qlen - q->protected >= q->limit ||
	       sch->qstats.backlog - q->protected_bytes + qdisc_pkt_len(skb) > q->limit_bytes;
}

void prioflow_levels_init(struct prioflow_sched *q);
void prioflow_levels_purge(struct prioflow_sched *q);
bool prioflow_level_push_out(struct Qdisc *sch, u32 number, struct sk_buff *skb,
			     struct sk_buff **to_free, u32 *packets, u32 *bytes);

#endif /* PRIOFLOW_LEVEL_H */
