// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: a device's transmit level: nothing below it leaves.
 *
 * A level that was set for a while ends by itself: who asked for silence may have
 * gone. The end needs no timer of its own; whoever looks finds that it has come,
 * and a qdisc that holds packets back has its watchdog look in time.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "prioflow.h"

static LIST_HEAD(prioflow_ports);	/* RTNL */

/* The device's port; NULL without memory. RTNL. */
struct prioflow_port *prioflow_port_get(struct net_device *dev)
{
	struct prioflow_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &prioflow_ports, list) {
		if (port->dev == dev) {
			port->users++;
			return port;
		}
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->dev = dev;
	port->users = 1;
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->qdiscs);
	list_add(&port->list, &prioflow_ports);
	return port;
}

/* The qdiscs that used it are gone, and so are all who looked at it. RTNL. */
void prioflow_port_put(struct prioflow_port *port)
{
	ASSERT_RTNL();
	if (--port->users)
		return;
	list_del(&port->list);
	kfree(port);
}

void prioflow_port_join(struct prioflow_port *port, struct prioflow_sched *sched)
{
	spin_lock_bh(&port->lock);
	list_add(&sched->list, &port->qdiscs);
	spin_unlock_bh(&port->lock);
}

void prioflow_port_leave(struct prioflow_port *port, struct prioflow_sched *sched)
{
	spin_lock_bh(&port->lock);
	list_del(&sched->list);
	spin_unlock_bh(&port->lock);
}

/* Notes that the levels below @level are paused from @now_ns on, the others not. */
static void prioflow_port_account(struct prioflow_port *port, u8 level, u64 now_ns)
{
	u32 i;

	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		if (i < port->send_level && i >= level) {
			port->paused_ns[i] += now_ns - port->paused_since_ns[i];
		} else if (i >= port->send_level && i < level) {
			port->paused_since_ns[i] = now_ns;
			port->pauses[i]++;
		}
	}
	WRITE_ONCE(port->send_level, level);
}

/* Ends a level whose time is over, at the instant at which it was. */
static void prioflow_port_expire(struct prioflow_port *port, u64 now_ns)
{
	if (!port->until_ns || now_ns < port->until_ns)
		return;
	prioflow_port_account(port, 0, port->until_ns);
	WRITE_ONCE(port->until_ns, 0);
}

/* The level in force, and when it expires (0: never). Any context. */
u8 prioflow_port_gate(struct prioflow_port *port, u64 *until_ns)
{
	u8 level = READ_ONCE(port->send_level);

	if (likely(!level))
		return 0;
	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, ktime_get_ns());
	level = port->send_level;
	*until_ns = port->until_ns;
	spin_unlock_bh(&port->lock);
	return level;
}

/*
 * Sets the transmit level for @lifetime_ns, or for good if that is 0. Released
 * packets leave in this context, or in that of whoever holds the qdisc.
 */
void prioflow_port_set_level(struct prioflow_port *port, u8 level, u64 lifetime_ns)
{
	struct prioflow_sched *sched;
	u64 now_ns = ktime_get_ns();

	/* With softirqs off the transmission that is asked for runs at the end, here. */
	local_bh_disable();
	rcu_read_lock();
	spin_lock(&port->lock);
	prioflow_port_expire(port, now_ns);
	prioflow_port_account(port, level, now_ns);
	WRITE_ONCE(port->until_ns, level && lifetime_ns ? now_ns + lifetime_ns : 0);
	list_for_each_entry(sched, &port->qdiscs, list)
		__netif_schedule(qdisc_root(sched->qdisc));
	spin_unlock(&port->lock);
	rcu_read_unlock();
	local_bh_enable();
}

/* The device's part of the counters. */
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats)
{
	u64 now_ns = ktime_get_ns();
	u32 i;

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, now_ns);
	stats->send_level = port->send_level;
	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		stats->level[i].pauses = port->pauses[i];
		stats->level[i].paused_ns = port->paused_ns[i];
		if (i < port->send_level)
			stats->level[i].paused_ns += now_ns - port->paused_since_ns[i];
	}
	spin_unlock_bh(&port->lock);
}
