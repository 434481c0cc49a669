// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the packets of a qdisc's levels, beside what each packet passes (level.h): who
 * makes room for whom. The qdisc's lock.
 */
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "level.h"

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
