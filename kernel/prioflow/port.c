// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the levels that a device pauses, and those that it requests its peer to pause.
 *
 * A pause with a lifetime ends by itself, because the peer that requested it may be gone.
 * That needs no timer of its own: each access ends what is due, and a qdisc with paused
 * packets schedules its watchdog for the first end.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "prioflow.h"

static struct prioflow_port *prioflow_port_find(struct prioflow_net *net,
						const struct net_device *dev)
{
	struct prioflow_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &net->ports, list)
		if (port->dev == dev)
			return port;
	return NULL;
}

/* Notes that @what (PRIOFLOW_PROTECTS_*) protects packets, or does no more. */
void prioflow_port_set_protects(struct prioflow_port *port, u8 what, bool on)
{
	ASSERT_RTNL();
	WRITE_ONCE(port->protects, on ? port->protects | what : port->protects & ~what);
}

/* Gets the device's port, or makes one; NULL without memory. */
struct prioflow_port *prioflow_port_get(struct net_device *dev)
{
	struct prioflow_net *net = prioflow_net_of(dev_net(dev));
	struct prioflow_port *port = prioflow_port_find(net, dev);

	if (port) {
		port->users++;
		return port;
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->dev = dev;
	port->net = net;
	port->users = 1;
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->qdiscs);
	port->propagates = true;
	port->charge = PRIOFLOW_CHARGE_USUAL;
	prioflow_port_set_protects(port, PRIOFLOW_PROTECTS_BY_RULES, prioflow_rules_exist(net));
	prioflow_link_init(&port->link);
	prioflow_keep_init(&port->keep);
	prioflow_net_add(net, port);
	if (net->has_senders)
		prioflow_keep_start(port);
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
	prioflow_keep_end(port);
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

/* Accounts that the levels of @mask, and no others, are paused from @now_ns on. */
static void prioflow_port_account(struct prioflow_port *port, u16 mask, u64 now_ns)
{
	unsigned long ended = port->paused & ~mask, begun = mask & ~port->paused;
	u32 i;

	lockdep_assert_held(&port->lock);
	for_each_set_bit(i, &ended, PRIOFLOW_LEVELS)
		port->paused_ns[i] += now_ns - port->paused_since_ns[i];
	for_each_set_bit(i, &begun, PRIOFLOW_LEVELS) {
		port->paused_since_ns[i] = now_ns;
		port->pauses[i]++;
	}
	WRITE_ONCE(port->paused, mask);
}

/* Whether a pause that is in force ends at an instant, and at which; 0: none does. */
static u64 prioflow_port_first_end(const struct prioflow_port *port)
{
	u64 first_ns = PRIOFLOW_FOREVER;
	u32 holder, i;

	for (holder = 0; holder < PRIOFLOW_HOLDS; holder++) {
		const struct prioflow_hold *hold = &port->hold[holder];
		unsigned long mask = hold->mask;

		for_each_set_bit(i, &mask, PRIOFLOW_TOP_LEVEL)
			first_ns = min(first_ns, hold->until_ns[i]);
	}
	return first_ns == PRIOFLOW_FOREVER ? 0 : first_ns;
}

/* Puts the held levels into force. */
static void prioflow_port_enforce(struct prioflow_port *port, u64 now_ns)
{
	u16 mask = 0;
	u32 i;

	lockdep_assert_held(&port->lock);
	for (i = 0; i < PRIOFLOW_HOLDS; i++)
		mask |= port->hold[i].mask;
	port->until_ns = prioflow_port_first_end(port);
	prioflow_storm_account(port, now_ns);
	if (mask == port->paused)
		return;
	prioflow_port_account(port, mask, now_ns);
	prioflow_event(port, PRIOFLOW_CMD_LEVELS, now_ns);
}

/* Ends the pauses that are due, at their own end. */
void prioflow_port_expire(struct prioflow_port *port, u64 now_ns)
{
	u32 holder, i;

	lockdep_assert_held(&port->lock);
	while (port->until_ns && now_ns >= port->until_ns) {
		u64 end_ns = port->until_ns;

		for (holder = 0; holder < PRIOFLOW_HOLDS; holder++) {
			struct prioflow_hold *hold = &port->hold[holder];

			for (i = 0; i < PRIOFLOW_TOP_LEVEL; i++)
				if (hold->until_ns[i] <= end_ns)
					hold->mask &= ~BIT(i);
		}
		prioflow_port_enforce(port, end_ns);
	}
}

/* Returns the paused levels, and when the first pause ends (0: none does). Any context. */
u16 prioflow_port_paused(struct prioflow_port *port, u64 *until_ns)
{
	u16 mask;

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, ktime_get_ns());
	mask = port->paused;
	*until_ns = port->until_ns;
	spin_unlock_bh(&port->lock);
	return mask;
}

/*
 * Pauses these levels until then; if that is 0, resumes them. Takes effect with
 * prioflow_port_apply().
 */
void prioflow_port_hold(struct prioflow_port *port, enum prioflow_holder holder, u16 mask,
			u64 until_ns)
{
	struct prioflow_hold *hold = &port->hold[holder];
	unsigned long levels = mask & PRIOFLOW_PAUSABLE;
	u32 i;

	lockdep_assert_held(&port->lock);
	if (!until_ns) {
		hold->mask &= ~levels;
		return;
	}
	hold->mask |= levels;
	for_each_set_bit(i, &levels, PRIOFLOW_TOP_LEVEL)
		hold->until_ns[i] = until_ns;
}

/*
 * Puts changed pauses into force. Resumed packets are sent from this context once softirqs
 * are on, or by the current owner of the qdisc. The caller has ended what was due. Softirqs
 * off.
 */
void prioflow_port_apply(struct prioflow_port *port, u64 now_ns)
{
	u64 until_before_ns = port->until_ns;
	struct prioflow_sched *sched;
	u16 before = port->paused;

	prioflow_port_enforce(port, now_ns);
	/* A qdisc's watchdog wakes at the old end, if there is one: the new one may not be earlier. */
	if (port->paused == before &&
	    (!port->until_ns || (until_before_ns && port->until_ns >= until_before_ns)))
		return;
	rcu_read_lock();
	list_for_each_entry(sched, &port->qdiscs, list)
		__netif_schedule(qdisc_root(sched->qdisc));
	rcu_read_unlock();
}

/* Sets the administrator's transmit level: pauses all levels below. */
void prioflow_port_set_send_level(struct prioflow_port *port, u8 level, u64 lifetime_ns)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, now_ns);
	prioflow_port_hold(port, PRIOFLOW_BY_HAND, PRIOFLOW_PAUSABLE, 0);
	prioflow_port_hold(port, PRIOFLOW_BY_HAND, prioflow_below(level),
			   lifetime_ns ? now_ns + lifetime_ns : PRIOFLOW_FOREVER);
	prioflow_port_apply(port, now_ns);
	spin_unlock_bh(&port->lock);
}

/* Requests a pause of the levels of all requesters from the peer. */
static void prioflow_port_update_request(struct prioflow_port *port)
{
	u16 mask = 0;
	u32 i;

	lockdep_assert_held(&port->lock);
	for (i = 0; i < PRIOFLOW_REQUESTERS; i++)
		mask |= port->requested[i];
	if (port->scope == PRIOFLOW_SCOPE_BELOW)
		mask = prioflow_below(fls(mask));
	if (mask == port->request)
		return;
	WRITE_ONCE(port->request, mask);
	port->link.peer.defied = 0;
	prioflow_link_request(port);
	prioflow_event(port, PRIOFLOW_CMD_LEVELS, ktime_get_ns());
}

/* Stores the levels that one requester has the peer pause. */
void prioflow_port_request(struct prioflow_port *port, enum prioflow_requester requester, u16 mask)
{
	lockdep_assert_held(&port->lock);
	port->requested[requester] = mask;
	prioflow_port_update_request(port);
}

void prioflow_port_set_scope(struct prioflow_port *port, u8 scope)
{
	spin_lock_bh(&port->lock);
	port->scope = scope;
	prioflow_port_update_request(port);
	spin_unlock_bh(&port->lock);
}

/* Sets the administrator's receive level: requests a pause of all levels below. */
void prioflow_port_set_receive_level(struct prioflow_port *port, u8 level)
{
	spin_lock_bh(&port->lock);
	prioflow_port_request(port, PRIOFLOW_FOR_HAND, prioflow_below(level));
	spin_unlock_bh(&port->lock);
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
	/* A detached driver may not touch its NIC. */
	if (!netif_device_present(dev))
		return -ENODEV;
	memset(settings, 0, sizeof(*settings));
	return dev->ethtool_ops->get_link_ksettings(dev, settings);
}

/* Link rate in Mbit/s; 0 if unknown, as without carrier. */
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
	u32 rate = port->link.rate_mbps;

	if (!rate)
		return -ENETDOWN;
	/* Mbit/s times microseconds are bits. */
	*frames = ring + div_u64((u64)rate * reaction_us / 8, octets) + 1;
	return 0;
}

/* Fills in the device's counters. */
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats)
{
	struct tc_prioflow_by *by = &stats->by;
	u64 now_ns = ktime_get_ns();
	u32 i;

	spin_lock_bh(&port->lock);
	prioflow_port_expire(port, now_ns);
	stats->paused = port->paused;
	stats->request = port->request;
	prioflow_link_fill(port, now_ns, &stats->link);
	stats->forward.room = port->forward.room;
	stats->forward.headroom = port->forward.headroom;
	stats->forward.pause_requests = port->forward.pause_requests;
	stats->kept = skb_queue_len(&port->keep.kept);
	stats->lost = port->keep.lost;
	by->paused_hand = port->hold[PRIOFLOW_BY_HAND].mask;
	by->paused_peer = port->hold[PRIOFLOW_BY_PEER].mask;
	by->request_hand = port->requested[PRIOFLOW_FOR_HAND];
	by->request_sockets = port->requested[PRIOFLOW_FOR_SOCKETS];
	by->request_forwarded = port->requested[PRIOFLOW_FOR_FORWARDED];
	by->send_hand = fls(by->paused_hand);
	by->send_peer = fls(by->paused_peer);
	by->receive_hand = fls(by->request_hand);
	by->receive_sockets = fls(by->request_sockets);
	by->receive_forwarded = fls(by->request_forwarded);
	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		stats->level[i].pauses = port->pauses[i];
		stats->level[i].paused_ns = port->paused_ns[i];
		if (port->paused & BIT(i))
			stats->level[i].paused_ns += now_ns - port->paused_since_ns[i];
	}
	spin_unlock_bh(&port->lock);
}

/* Computes again what depends on a device's link rate, which may differ after carrier-up. */
static void prioflow_port_measure(struct prioflow_port *port)
{
	prioflow_link_measure(port);
	prioflow_forward_measure(port);
	prioflow_receive_measure(port->net);
	if (!netif_carrier_ok(port->dev))
		return;
	prioflow_receive_forget(port);
	/* What was requested before may not have reached the peer that is there now. */
	spin_lock_bh(&port->lock);
	prioflow_peer_start(&port->link.peer, ktime_get_ns());
	prioflow_link_request(port);
	spin_unlock_bh(&port->lock);
	if (port->net->has_senders)
		prioflow_keep_start(port);	/* if there was no memory before */
	prioflow_keep_resume(port);
}

static int prioflow_port_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct prioflow_net *net = prioflow_net_of(dev_net(dev));
	struct prioflow_port *port = prioflow_port_find(net, dev);

	ASSERT_RTNL();
	switch (event) {
	case NETDEV_CHANGE:
	case NETDEV_UP:
		if (port)
			prioflow_port_measure(port);
		break;
	case NETDEV_CHANGEMTU:
		/* Larger frames take more of a receiver's buffer. */
		if (port)
			prioflow_receive_measure(net);
		break;
	case NETDEV_DOWN:
		if (port)
			prioflow_keep_purge(port);
		break;
	case NETDEV_CHANGEUPPER:
		/* Sockets that are bound to a bridge stand for other ports now. */
		prioflow_scope_update(net);
		prioflow_receive_measure(net);
		break;
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
