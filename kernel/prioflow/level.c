// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the packets of a qdisc's levels: in the order of coming, and who makes room
 * for whom. A level has a queue for packets that may be dropped and one for those that
 * may not, because their sockets have opted in or they are charged to the port that brought
 * them; a number says which of two came first.
 * The qdisc's lock.
 */
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "prioflow.h"

/* In the skb's control block while it waits. */
struct prioflow_wait {
	u64 since_ns;	/* CLOCK_MONOTONIC; 0: it found the device free */
	u32 order;	/* in its level, modulo 2^32 */
	u8 fate;	/* enum prioflow_fate: which of the level's queues it is in */
	u8 payer;	/* slot and one of the port that it is charged to; 0: none */
};

static struct prioflow_wait *prioflow_wait(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct prioflow_wait));
	return (struct prioflow_wait *)qdisc_skb_cb(skb)->data;
}

/* The oldest packet of a level that is not empty. */
struct sk_buff *prioflow_level_first(const struct prioflow_level *level)
{
	struct sk_buff *may_go = skb_peek(&level->queue[PRIOFLOW_MAY_GO]);
	struct sk_buff *kept = skb_peek(&level->queue[PRIOFLOW_IS_KEPT]);

	if (!may_go || !kept)
		return may_go ?: kept;
	return (s32)(prioflow_wait(may_go)->order - prioflow_wait(kept)->order) < 0 ? may_go : kept;
}

u32 prioflow_level_queued(const struct prioflow_level *level)
{
	return skb_queue_len(&level->queue[PRIOFLOW_MAY_GO]) +
	       skb_queue_len(&level->queue[PRIOFLOW_IS_KEPT]);
}

/* Puts a packet into its level, behind all others; @since_ns is told when it is taken out. */
void prioflow_level_add(struct Qdisc *sch, u32 number, struct sk_buff *skb,
			enum prioflow_fate fate, u8 payer, u64 since_ns)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_level *level = &q->level[number];

	prioflow_wait(skb)->since_ns = since_ns;
	prioflow_wait(skb)->order = ++level->order;
	prioflow_wait(skb)->fate = fate;
	prioflow_wait(skb)->payer = payer;
	__skb_queue_tail(&level->queue[fate], skb);
	level->bytes += qdisc_pkt_len(skb);
	q->backlogged |= BIT(number);
	if (fate == PRIOFLOW_IS_KEPT) {
		q->kept++;
		q->kept_bytes += qdisc_pkt_len(skb);
	} else {
		q->may_drop |= BIT(number);
	}
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
}

/* Takes a packet out of its level. Returns since when it has waited, as it was told. */
u64 prioflow_level_remove(struct Qdisc *sch, u32 number, struct sk_buff *skb)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_level *level = &q->level[number];
	u8 fate = prioflow_wait(skb)->fate, payer = prioflow_wait(skb)->payer;

	__skb_unlink(skb, &level->queue[fate]);
	level->bytes -= qdisc_pkt_len(skb);
	if (!prioflow_level_queued(level))
		q->backlogged &= ~BIT(number);
	if (fate == PRIOFLOW_IS_KEPT) {
		q->kept--;
		q->kept_bytes -= qdisc_pkt_len(skb);
	} else if (skb_queue_empty(&level->queue[fate])) {
		q->may_drop &= ~BIT(number);
	}
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	if (payer)
		prioflow_forward_release(q, payer - 1, number);
	return prioflow_wait(skb)->since_ns;
}

/* Whether those that may be dropped, with this one, are more than the limits allow. */
static bool prioflow_is_full(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	return sch->q.qlen - q->kept >= q->limit ||
	       sch->qstats.backlog - q->kept_bytes + qdisc_pkt_len(skb) > q->limit_bytes;
}

/*
 * Makes room for a packet of level @number; false if it is itself the least. What
 * was dropped is added to @packets and @bytes.
 */
bool prioflow_level_make_room(struct Qdisc *sch, u32 number, struct sk_buff *skb,
			      struct sk_buff **to_free, u32 *packets, u32 *bytes)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct sk_buff *victim;
	u32 lowest;

	while (prioflow_is_full(sch, skb)) {
		if (!q->may_drop)
			return false;
		lowest = __ffs(q->may_drop);
		if (lowest >= number)
			return false;
		victim = skb_peek_tail(&q->level[lowest].queue[PRIOFLOW_MAY_GO]);
		prioflow_level_remove(sch, lowest, victim);
		q->level[lowest].dropped++;
		*bytes += qdisc_pkt_len(victim);
		(*packets)++;
		qdisc_drop(victim, sch, to_free);
	}
	return true;
}

void prioflow_levels_init(struct prioflow_sched *q)
{
	u32 i, fate;

	for (i = 0; i < PRIOFLOW_LEVELS; i++)
		for (fate = 0; fate < PRIOFLOW_FATES; fate++)
			__skb_queue_head_init(&q->level[i].queue[fate]);
}

/* Forgets all packets; they are freed when the RTNL is let go. */
void prioflow_levels_purge(struct prioflow_sched *q)
{
	u32 i, fate;

	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		for (fate = 0; fate < PRIOFLOW_FATES; fate++) {
			struct sk_buff_head *queue = &q->level[i].queue[fate];

			rtnl_kfree_skbs(skb_peek(queue), skb_peek_tail(queue));
		}
		q->level[i].bytes = 0;
	}
	prioflow_levels_init(q);
	prioflow_forward_purge(q);
	q->backlogged = 0;
	q->may_drop = 0;
	q->kept = 0;
	q->kept_bytes = 0;
}
