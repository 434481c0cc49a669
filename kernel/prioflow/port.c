// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: a device's transmit level, below which it sends nothing, and its receive
 * level, below which it requests that its peer sends nothing.
 *
 * A level with a lifetime expires by itself, because the peer that requested it may be gone.
 * Expiry needs no timer of its own: each access expires what is due, and a paused qdisc
 * schedules its watchdog for the end.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "prioflow.h"

/* Gets the device's port, or makes one; NULL without memory. */
struct prioflow_port *prioflow_port_get(struct net_device *dev)
{
	struct prioflow_net *net = prioflow_net_of(dev_net(dev));
	struct prioflow_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &net->ports, list) {
		if (port->dev == dev) {
			port->users++;
			return port;
		}
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->dev = dev;
	port->net = net;
	port->users = 1;
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->qdiscs);
	prioflow_link_init(&port->link);
	prioflow_net_add(net, port);
	return port;
}

/* Releases a port. The last user frees it. */
void prioflow_port_put(struct prioflow_port *port)
{
	ASSERT_RTNL();
	if (--port->users)
		return;
	prioflow_net_remove(port->net, port);
	prioflow_link_end(port);
	kfree_rcu(port, rcu);	/* rx hook and bridge may still read it */
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

/* Accounts that the levels below @level are paused from @now_ns on. */
static void prioflow_port_account(struct prioflow_port *port, u8 level, u64 now_ns)
{
	u32 i;

	lockdep_assert_held(&port->lock);
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

/* Puts the highest held level into force, until the first hold ends. */
static void prioflow_port_apply(struct prioflow_port *port, u64 now_ns)
{
	u64 until_ns = 0;
	u8 level = 0;
	u32 i;

	lockdep_assert_held(&port->lock);
	for (i = 0; i < PRIOFLOW_HOLDS; i++) {
		const struct prioflow_hold *hold = &port->hold[i];

		level = max(level, hold->level);
		if (hold->until_ns && (!until_ns || hold->until_ns < until_ns))
			until_ns = hold->until_ns;
	}
	port->until_ns = until_ns;
	if (level == port->send_level)
		return;
	prioflow_port_account(port, level, now_ns);
	prioflow_event(port, PRIOFLOW_CMD_LEVELS, now_ns);
}

/* Expires holds that are due, at their own end. */
void prioflow_port_expire(struct prioflow_port *port, u64 now_ns)
{
	u32 i;

	lockdep_assert_held(&port->lock);
	while (port->until_ns && now_ns >= port->until_ns) {
		u64 end_ns = port->until_ns;

		for (i = 0; i < PRIOFLOW_HOLDS; i++)
			if (port->hold[i].until_ns == end_ns)
				port->hold[i] = (struct prioflow_hold) {};
		prioflow_port_apply(port, end_ns);
	}
}

/* Returns the transmit level in force, and when it expires (0: never). Any context. */
u8 prioflow_port_send_level(struct prioflow_port *port, u64 *until_ns)
{
	u8 level;

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, ktime_get_ns());
	level = port->send_level;
	*until_ns = port->until_ns;
	spin_unlock_bh(&port->lock);
	return level;
}

/*
 * Holds the transmit level at @level for @lifetime_ns (0: without end). Resumed packets are
 * sent from this context once softirqs are on, or by the current owner of the qdisc.
 * Softirqs off.
 */
void prioflow_port_hold(struct prioflow_port *port, enum prioflow_holder holder, u8 level,
			u64 lifetime_ns, u64 now_ns)
{
	struct prioflow_sched *sched;
	u8 before;

	lockdep_assert_held(&port->lock);
	prioflow_port_expire(port, now_ns);
	before = port->send_level;
	port->hold[holder].level = level;
	port->hold[holder].until_ns = level && lifetime_ns ? now_ns + lifetime_ns : 0;
	prioflow_port_apply(port, now_ns);
	if (port->send_level == before)
		return;		/* a sleeping qdisc watchdog wakes at the old end */
	rcu_read_lock();
	list_for_each_entry(sched, &port->qdiscs, list)
		__netif_schedule(qdisc_root(sched->qdisc));
	rcu_read_unlock();
}

/* Sets the administrator's transmit level. */
void prioflow_port_set_send_level(struct prioflow_port *port, u8 level, u64 lifetime_ns)
{
	spin_lock_bh(&port->lock);
	prioflow_port_hold(port, PRIOFLOW_BY_HAND, level, lifetime_ns, ktime_get_ns());
	spin_unlock_bh(&port->lock);
}

/* Stores one requester's level, and requests the highest from the peer. */
void prioflow_port_request(struct prioflow_port *port, enum prioflow_requester requester,
			   u8 requested)
{
	u8 level = 0;
	u32 i;

	lockdep_assert_held(&port->lock);
	port->requested[requester] = requested;
	for (i = 0; i < PRIOFLOW_REQUESTERS; i++)
		level = max(level, port->requested[i]);
	if (level == port->receive_level)
		return;
	port->receive_level = level;
	prioflow_link_send_soon(port);
	prioflow_event(port, PRIOFLOW_CMD_LEVELS, ktime_get_ns());
}

/* Sets the administrator's receive level. */
void prioflow_port_set_receive_level(struct prioflow_port *port, u8 level)
{
	ASSERT_RTNL();
	spin_lock_bh(&port->lock);
	prioflow_port_request(port, PRIOFLOW_FOR_HAND, level);
	spin_unlock_bh(&port->lock);
}

/* Sets the receive level of the namespace's sockets. */
void prioflow_port_request_for_sockets(struct prioflow_port *port, u8 level)
{
	lockdep_assert_held(&port->net->lock);
	spin_lock(&port->lock);
	prioflow_port_request(port, PRIOFLOW_FOR_SOCKETS, level);
	spin_unlock(&port->lock);
}

/*
 * As __ethtool_get_link_ksettings(), without the device's instance lock (dummy has one since
 * 6.15): tc already holds it.
 */
static int prioflow_port_link_settings(struct net_device *dev,
				       struct ethtool_link_ksettings *settings)
{
	ASSERT_RTNL();
	if (!dev->ethtool_ops->get_link_ksettings)
		return -EOPNOTSUPP;
	memset(settings, 0, sizeof(*settings));
	return dev->ethtool_ops->get_link_ksettings(dev, settings);
}

/* Link rate in Mbit/s; 0 if unknown. */
u32 prioflow_port_rate(const struct prioflow_port *port)
{
	struct ethtool_link_ksettings settings;

	if (prioflow_port_link_settings(port->dev, &settings) ||
	    settings.base.speed == SPEED_UNKNOWN)
		return 0;
	return settings.base.speed;
}

/*
 * In-flight frames after XOFF, if each takes @octets on the wire. Fails if the link rate is
 * unknown.
 */
int prioflow_port_in_flight(const struct prioflow_port *port, u32 reaction_us, u32 ring,
			    u32 octets, u32 *frames)
{
	u32 rate = prioflow_port_rate(port);

	if (!rate)
		return -ENETDOWN;
	/* Mbit/s times microseconds are bits. */
	*frames = ring + div_u64((u64)rate * reaction_us / 8, octets) + 1;
	return 0;
}

/* Fills in the device's counters. */
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats)
{
	u64 now_ns = ktime_get_ns();
	u32 i;

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, now_ns);
	stats->send_level = port->send_level;
	stats->receive_level = port->receive_level;
	prioflow_link_fill(port, &stats->link);
	stats->forward.room = port->forward.room;
	stats->forward.headroom = port->forward.headroom;
	stats->forward.pause_requests = port->forward.pause_requests;
	stats->by.send_hand = port->hold[PRIOFLOW_BY_HAND].level;
	stats->by.send_peer = port->hold[PRIOFLOW_BY_PEER].level;
	stats->by.receive_hand = port->requested[PRIOFLOW_FOR_HAND];
	stats->by.receive_sockets = port->requested[PRIOFLOW_FOR_SOCKETS];
	stats->by.receive_forwarded = port->requested[PRIOFLOW_FOR_FORWARDED];
	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		stats->level[i].pauses = port->pauses[i];
		stats->level[i].paused_ns = port->paused_ns[i];
		if (i < port->send_level)
			stats->level[i].paused_ns += now_ns - port->paused_since_ns[i];
	}
	spin_unlock_bh(&port->lock);
}

/* The link rate may differ after each carrier-up: computes again what depends on it. */
static int prioflow_port_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct prioflow_port *port;

	ASSERT_RTNL();
	if (event != NETDEV_CHANGE && event != NETDEV_UP)
		return NOTIFY_DONE;
	list_for_each_entry(port, &prioflow_net_of(dev_net(dev))->ports, list) {
		if (port->dev != dev)
			continue;
		prioflow_link_measure(port);
		prioflow_forward_measure(port);
	}
	return NOTIFY_DONE;
}

static struct notifier_block prioflow_port_notifier = {
	.notifier_call = prioflow_port_event,
};

int prioflow_port_module_init(void)
{
	return register_netdevice_notifier(&prioflow_port_notifier);
}

void prioflow_port_module_exit(void)
{
	unregister_netdevice_notifier(&prioflow_port_notifier);
}
