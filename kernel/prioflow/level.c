// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the levels of a qdisc, slow path (the fast path is in level.h): push-out and
 * purge.
 */
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "../compat/compat.h"
#include "level.h"

/*
 * Drops the youngest packets of lower levels until a packet of level @number fits; false if
 * there is no droppable packet of a lower level. Adds the dropped ones to @packets and @bytes.
 */
bool prioflow_level_push_out(struct Qdisc *sch, u32 number, struct sk_buff *skb,
			     struct sk_buff **to_free, u32 *packets, u32 *bytes)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct sk_buff *victim;
	u32 lowest;

	prioflow_assert_qdisc_lock(sch);
	while (prioflow_is_full(sch, skb)) {
		if (!q->droppable)
			return false;
		lowest = __ffs(q->droppable);
		if (lowest >= number)
			return false;
		victim = skb_peek_tail(&q->level[lowest].queue[PRIOFLOW_DROPPABLE]);
		prioflow_level_remove(sch, lowest, victim);
		q->level[lowest].dropped++;
		*bytes += qdisc_pkt_len(victim);
		(*packets)++;
		compat_qdisc_drop_over_limit(victim, sch, to_free);
	}
	return true;
}

void prioflow_levels_init(struct prioflow_sched *q)
{
	u32 i, prot;

	for (i = 0; i < PRIOFLOW_LEVELS; i++)
		for (prot = 0; prot < PRIOFLOW_PROTECTIONS; prot++)
			__skb_queue_head_init(&q->level[i].queue[prot]);
}

/* Drops all packets; rtnl_unlock() frees them. */
void prioflow_levels_purge(struct prioflow_sched *q)
{
	u32 i, prot, lost = 0;

	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		lost += skb_queue_len(&q->level[i].queue[PRIOFLOW_PROTECTED]);
		for (prot = 0; prot < PRIOFLOW_PROTECTIONS; prot++) {
			struct sk_buff_head *queue = &q->level[i].queue[prot];

			rtnl_kfree_skbs(skb_peek(queue), skb_peek_tail(queue));
		}
		q->level[i].bytes = 0;
	}
	prioflow_keep_count_lost(q->port, lost);
	prioflow_levels_init(q);
	prioflow_forward_purge(q);
	q->backlogged = 0;
	q->droppable = 0;
	q->protected = 0;
	q->protected_bytes = 0;
	q->ruled_bytes = 0;
}
