/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: the packet that passes. One that comes while none waits and no level is silent is
 * taken out at once, nearly always; so, if there is no claim on it, it is not filed into its
 * level. It is counted as any other, and the only one there is: whoever looks at the levels, or
 * adds to them, has it filed first. The qdisc's lock.
 */
#ifndef PRIOFLOW_PASS_H
#define PRIOFLOW_PASS_H

#include "level.h"
#include "prioflow.h"

/* Whether a packet on which there is no claim may pass now. */
static __always_inline bool prioflow_may_pass(struct Qdisc *sch, const struct sk_buff *skb)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	return !sch->q.qlen && !READ_ONCE(q->port->send_level) &&
	       qdisc_pkt_len(skb) <= q->limit_bytes;
}

static __always_inline void prioflow_pass(struct Qdisc *sch, struct sk_buff *skb, u32 number)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	q->passing = skb;
	q->passing_level = number;
	sch->q.qlen++;
	sch->qstats.backlog += qdisc_pkt_len(skb);
}

/* The packet that passes, if there is one and all levels may still leave. */
static __always_inline struct sk_buff *prioflow_passing(struct Qdisc *sch)
{
	const struct prioflow_sched *q = qdisc_priv(sch);

	return q->passing && !READ_ONCE(q->port->send_level) ? q->passing : NULL;
}

/* It waits after all, or somebody looks. */
static inline void prioflow_pass_file(struct Qdisc *sch)
{
	struct prioflow_sched *q = qdisc_priv(sch);

	if (likely(!q->passing))
		return;
	prioflow_level_file(q, q->passing_level, q->passing, PRIOFLOW_MAY_GO, 0, 0);
	q->passing = NULL;
}

#endif /* PRIOFLOW_PASS_H */
