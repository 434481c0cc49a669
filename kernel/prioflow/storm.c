// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the pause-storm watchdog. It ignores the peer's pause requests for a level that the
 * peer has paused for too long.
 *
 * Each level has a leaky bucket of paused time, so that a short resume does not reset it: it
 * fills while the peer pauses the level, and empties at the same rate while it does not.
 * Frames empty it by a part, too: those of the level, and, while the level may send, those of
 * others, which strict priority or an empty queue has given the wire. So a peer that reads slowly,
 * and pauses this port for most of the time, is obeyed, but one that takes other levels' frames
 * alone is not.
 */
#include "prioflow.h"

/* So many frames within the limit are progress enough. */
#define PRIOFLOW_STORM_FRAMES	64

/* Frames of a level that the port's queues have sent, modulo 2^32. Racy, by a frame. */
static u32 prioflow_storm_sent(const struct prioflow_port *port, u32 level)
{
	const struct prioflow_sched *sched;
	u32 sent = 0;

	list_for_each_entry(sched, &port->qdiscs, list)
		sent += (u32)READ_ONCE(sched->level[level].sent);
	return sent;
}

/* Accounts up to @now_ns, which is before or at any change of what the peer pauses. */
void prioflow_storm_account(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_storm *storm = &port->link.storm;
	u64 each_ns = div_u64(storm->limit_ns, PRIOFLOW_STORM_FRAMES);
	/* Another CPU may have come first, with a later time. */
	u64 passed_ns = now_ns - min(now_ns, storm->since_ns), drained_ns;
	u32 frames[PRIOFLOW_TOP_LEVEL], all = 0, i, sent;

	lockdep_assert_held(&port->lock);
	for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++) {
		sent = prioflow_storm_sent(port, i);
		frames[i] = min_t(u32, sent - storm->sent[i], PRIOFLOW_STORM_FRAMES);
		storm->sent[i] = sent;
		all = min_t(u32, all + frames[i], PRIOFLOW_STORM_FRAMES);
	}
	for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++) {
		if (storm->paused & BIT(i)) {
			storm->bucket_ns[i] += passed_ns;
			drained_ns = frames[i] * each_ns;
		} else {
			drained_ns = passed_ns + all * each_ns;
		}
		storm->bucket_ns[i] -= min(storm->bucket_ns[i], drained_ns);
	}
	storm->since_ns += passed_ns;
	storm->paused = port->hold[PRIOFLOW_BY_PEER].mask;
}

/* The levels whose pause requests are ignored now. */
u16 prioflow_storm_ignored(const struct prioflow_storm *storm, u64 now_ns)
{
	u16 mask = 0;
	u32 i;

	for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++)
		if (now_ns < storm->ignore_until_ns[i])
			mask |= BIT(i);
	return mask;
}

/* From now on ignores requests for the levels whose buckets hold more than the limit. */
static void prioflow_storm_detect(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_storm *storm = &port->link.storm;
	bool found = false;
	u32 i;

	for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++) {
		if (storm->bucket_ns[i] <= storm->limit_ns)
			continue;
		storm->bucket_ns[i] = 0;
		storm->ignore_until_ns[i] = now_ns + storm->limit_ns;
		found = true;
	}
	if (!found)
		return;
	/* The peer learns it at once, for what it sees then is no defiance. */
	prioflow_link_request(port);
	prioflow_event(port, PRIOFLOW_CMD_STORM, now_ns);
	if (!storm->count++)
		netdev_warn(port->dev, "prioflow: the peer has paused this port for more than %llu ms: pause requests are ignored for as long; logged once\n",
			    div_u64(storm->limit_ns, NSEC_PER_MSEC));
}

/* The levels of a pause request that are obeyed. */
u16 prioflow_storm_permitted(struct prioflow_port *port, u16 mask, u64 now_ns)
{
	struct prioflow_storm *storm = &port->link.storm;
	u16 ignored;

	lockdep_assert_held(&port->lock);
	prioflow_storm_account(port, now_ns);
	if (storm->limit_ns)
		prioflow_storm_detect(port, now_ns);
	ignored = mask & prioflow_storm_ignored(storm, now_ns);
	if (ignored)
		storm->ignored++;
	return mask & ~ignored;
}

/* Sets the timeout, 0: no watchdog. What has been paused by then does not count. */
void prioflow_storm_set_limit(struct prioflow_port *port, u64 limit_ns)
{
	struct prioflow_storm *storm = &port->link.storm;
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&port->lock);
	prioflow_port_expire(port, now_ns);
	prioflow_storm_account(port, now_ns);
	storm->limit_ns = limit_ns;
	memset(storm->bucket_ns, 0, sizeof(storm->bucket_ns));
	memset(storm->ignore_until_ns, 0, sizeof(storm->ignore_until_ns));
}
