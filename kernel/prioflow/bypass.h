/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: the bypass slot. A droppable packet that finds the qdisc empty and no level paused
 * is nearly always dequeued next. It goes into the slot instead of its level, and is counted as
 * any other. While the slot is taken the levels are empty: code that reads or changes the
 * levels flushes the slot into its level first. Needs the qdisc lock.
 */
#ifndef PRIOFLOW_BYPASS_H
#define PRIOFLOW_BYPASS_H

#include "level.h"
#include "prioflow.h"

/* Whether a droppable packet can go into the slot now. It does not wait: no limit applies. */
static __always_inline bool prioflow_can_bypass(struct Qdisc *sch)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	prioflow_assert_qdisc_lock(sch);
	return !sch->q.qlen && !READ_ONCE(q->port->paused);
}

static __always_inline void prioflow_bypass_put(struct Qdisc *sch, struct sk_buff *skb, u32 number)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	prioflow_assert_qdisc_lock(sch);
	q->bypass = skb;
	q->bypass_level = number;
	sch->q.qlen++;
	sch->qstats.backlog += qdisc_pkt_len(skb);
}

/* The packet in the slot, if all levels may still send. */
static __always_inline struct sk_buff *prioflow_bypass_ready(struct Qdisc *sch)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	prioflow_assert_qdisc_lock(sch);
	return q->bypass && !READ_ONCE(q->port->paused) ? q->bypass : NULL;
}

/* Moves the packet in the slot to its level. */
static inline void prioflow_bypass_flush(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	if (likely(!q->bypass))
		return;
	prioflow_level_append(q, q->bypass_level, q->bypass, PRIOFLOW_DROPPABLE, 0, 0);
	q->bypass = NULL;
}

#endif /* PRIOFLOW_BYPASS_H */
