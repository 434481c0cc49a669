// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the pause-storm watchdog. It ignores the pause requests of a peer that has paused
 * this port for too long.
 *
 * A leaky bucket of paused time, so that a short resume does not reset it: it fills while the
 * peer pauses any level, and empties at the same rate while it does not. Each pausable frame
 * that is sent empties it by a part, too: a peer that reads slowly is paused for most of the
 * time, but frames do leave.
 */
#include "prioflow.h"

/* So many frames within the limit are progress enough. */
#define PRIOFLOW_STORM_FRAMES	64

/* Pausable frames that the port's queues have sent, modulo 2^32. Racy, by a frame. */
static u32 prioflow_storm_sent(const struct prioflow_port *port)
{
	const struct prioflow_sched *sched;
	u32 sent = 0, i;

	list_for_each_entry(sched, &port->qdiscs, list)
		for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++)
			sent += (u32)READ_ONCE(sched->level[i].sent);
	return sent;
}

/* Accounts up to @now_ns, which is before or at any change of what the peer pauses. */
void prioflow_storm_account(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_storm *storm = &port->link.storm;
	u64 passed_ns = now_ns - storm->since_ns;
	u32 sent = prioflow_storm_sent(port), frames;
	u64 drained_ns;

	lockdep_assert_held(&port->lock);
	frames = min_t(u32, sent - storm->sent, PRIOFLOW_STORM_FRAMES);
	drained_ns = frames * div_u64(storm->limit_ns, PRIOFLOW_STORM_FRAMES);
	if (storm->paused)
		storm->bucket_ns += passed_ns;
	else
		drained_ns += passed_ns;
	storm->bucket_ns -= min(storm->bucket_ns, drained_ns);
	storm->since_ns = now_ns;
	storm->sent = sent;
	storm->paused = port->hold[PRIOFLOW_BY_PEER].mask;
}

/* Whether to ignore a pause request. */
bool prioflow_storm_rages(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_storm *storm = &port->link.storm;

	lockdep_assert_held(&port->lock);
	if (now_ns < storm->ignore_until_ns) {
		storm->ignored++;
		return true;
	}
	prioflow_storm_account(port, now_ns);
	if (!storm->limit_ns || storm->bucket_ns <= storm->limit_ns)
		return false;

	storm->bucket_ns = 0;
	storm->ignore_until_ns = now_ns + storm->limit_ns;
	prioflow_event(port, PRIOFLOW_CMD_STORM, now_ns);
	if (!storm->count++)
		netdev_warn(port->dev, "prioflow: the peer has paused this port for more than %llu ms: pause requests are ignored for as long; logged once\n",
			    div_u64(storm->limit_ns, NSEC_PER_MSEC));
	return true;
}
