/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: the packets of a qdisc's levels, in the order of coming. A level has a queue for
 * packets that may be dropped and one for those that may not, because their sockets have opted
 * in or they are charged to the port that brought them; a number says which of two came first.
 * Inline, because each packet passes it twice. The qdisc's lock.
 */
#ifndef PRIOFLOW_LEVEL_H
#define PRIOFLOW_LEVEL_H

#include <net/pkt_sched.h>

#include "prioflow.h"

/* In the skb's control block while it waits. */
struct prioflow_wait {
	u64 since_ns;	/* CLOCK_MONOTONIC; 0: it found the device free */
	u32 order;	/* in its level, modulo 2^32 */
	u8 fate;	/* enum prioflow_fate: which of the level's queues it is in */
	u8 payer;	/* slot and one of the port that it is charged to; 0: none */
};

static inline struct prioflow_wait *prioflow_wait(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct prioflow_wait));
	return (struct prioflow_wait *)qdisc_skb_cb(skb)->data;
}

/* The oldest packet of a level that is not empty. */
static inline struct sk_buff *prioflow_level_first(const struct prioflow_level *level)
{
	struct sk_buff *may_go = skb_peek(&level->queue[PRIOFLOW_MAY_GO]);
	struct sk_buff *kept = skb_peek(&level->queue[PRIOFLOW_IS_KEPT]);

	if (!kept)
		return may_go;
	if (!may_go)
		return kept;
	return (s32)(prioflow_wait(may_go)->order - prioflow_wait(kept)->order) < 0 ? may_go : kept;
}

static inline u32 prioflow_level_queued(const struct prioflow_level *level)
{
	return skb_queue_len(&level->queue[PRIOFLOW_MAY_GO]) +
	       skb_queue_len(&level->queue[PRIOFLOW_IS_KEPT]);
}

/* Puts a packet into its level, behind all others; @since_ns is told when it is taken out. */
static inline void prioflow_level_file(struct prioflow_sched *q, u32 number, struct sk_buff *skb,
				       enum prioflow_fate fate, u8 payer, u64 since_ns)
{
	struct prioflow_level *level = &q->level[number];
	u32 length = qdisc_pkt_len(skb);

	*prioflow_wait(skb) = (struct prioflow_wait) {
		.since_ns = since_ns,
		.order = ++level->order,
		.fate = fate,
		.payer = payer,
	};
	__skb_queue_tail(&level->queue[fate], skb);
	level->bytes += length;
	q->backlogged |= BIT(number);
	if (fate == PRIOFLOW_IS_KEPT) {
		q->kept++;
		q->kept_bytes += length;
	} else {
		q->may_drop |= BIT(number);
	}
}

/* The same, and counts it. */
static inline void prioflow_level_add(struct Qdisc *sch, u32 number, struct sk_buff *skb,
				      enum prioflow_fate fate, u8 payer, u64 since_ns)
{
	prioflow_level_file(qdisc_priv(sch), number, skb, fate, payer, since_ns);
	sch->q.qlen++;
	sch->qstats.backlog += qdisc_pkt_len(skb);
}

/* Takes a packet out of its level. Returns since when it has waited, as it was told. */
static inline u64 prioflow_level_remove(struct Qdisc *sch, u32 number, struct sk_buff *skb)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_level *level = &q->level[number];
	const struct prioflow_wait *wait = prioflow_wait(skb);
	u32 length = qdisc_pkt_len(skb);

	__skb_unlink(skb, &level->queue[wait->fate]);
	level->bytes -= length;
	if (wait->fate == PRIOFLOW_IS_KEPT) {
		q->kept--;
		q->kept_bytes -= length;
	} else if (skb_queue_empty(&level->queue[PRIOFLOW_MAY_GO])) {
		q->may_drop &= ~BIT(number);
	}
	if (!prioflow_level_queued(level))
		q->backlogged &= ~BIT(number);
	sch->q.qlen--;
	sch->qstats.backlog -= length;
	if (wait->payer)
		prioflow_forward_release(q, wait->payer - 1, number);
	return wait->since_ns;
}

/* Whether those that may be dropped, with this one, are more than the limits allow. */
static inline bool prioflow_is_full(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	return sch->q.qlen - q->kept >= q->limit ||
	       sch->qstats.backlog - q->kept_bytes + qdisc_pkt_len(skb) > q->limit_bytes;
}

void prioflow_levels_init(struct prioflow_sched *q);
void prioflow_levels_purge(struct prioflow_sched *q);
bool prioflow_level_make_room(struct Qdisc *sch, u32 number, struct sk_buff *skb,
			      struct sk_buff **to_free, u32 *packets, u32 *bytes);

#endif /* PRIOFLOW_LEVEL_H */
