// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the state of a network namespace.
 *
 *     net.prioflow.open_levels         levels below it are open to all; the others need
 *                                      CAP_NET_ADMIN. Default 0: none is open.
 *     net.prioflow.send_room           most bytes that the opted-in senders of one user may
 *                                      have queued
 *     net.prioflow.receiver_watchdog   ms without a read after which a receiver in XOFF is no
 *                                      longer served; 0: no watchdog
 *     net.prioflow.protected_ports     rules.c has these
 *     net.prioflow.protected_cgroups
 */
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/netns/generic.h>

#include "../compat/compat.h"
#include "prioflow.h"

#define PRIOFLOW_SEND_ROOM		(16 * 1024 * 1024)
/* Before the peers' pause-storm watchdogs ignore all receivers. */
#define PRIOFLOW_RECEIVER_WATCHDOG_MS	8000

static unsigned int prioflow_net_id __read_mostly;
static unsigned int prioflow_levels = PRIOFLOW_LEVELS;

static const struct ctl_table prioflow_sysctl[] = {
	{
		.procname	= "open_levels",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
	}, {
		.procname	= "send_room",
		.maxlen		= sizeof(u32),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	}, {
		.procname	= "receiver_watchdog",
		.maxlen		= sizeof(u32),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	}, {
		.procname	= "protected_ports",
		.mode		= 0644,
		.proc_handler	= prioflow_rules_sysctl,
		.extra2		= (void *)PRIOFLOW_RULES_PORTS,
	}, {
		.procname	= "protected_cgroups",
		.mode		= 0644,
		.proc_handler	= prioflow_rules_sysctl,
		.extra2		= (void *)PRIOFLOW_RULES_CGROUPS,
	},
	{}	/* terminates the table before 6.11 */
};

struct prioflow_net *prioflow_net_of(const struct net *net)
{
	return net_generic(net, prioflow_net_id);
}

/* Whether the caller may use the level for a socket of this namespace. */
bool prioflow_net_permits(const struct net *net, u8 level)
{
	return level < READ_ONCE(prioflow_net_of(net)->open_levels) ||
	       ns_capable(net->user_ns, CAP_NET_ADMIN);
}

/* Adds a port to its namespace. */
void prioflow_net_add(struct prioflow_net *net, struct prioflow_port *port)
{
	ASSERT_RTNL();
	spin_lock_bh(&net->lock);
	list_add(&port->list, &net->ports);
	spin_unlock_bh(&net->lock);
}

void prioflow_net_remove(struct prioflow_net *net, struct prioflow_port *port)
{
	ASSERT_RTNL();
	spin_lock_bh(&net->lock);
	list_del(&port->list);
	spin_unlock_bh(&net->lock);
}

/* A socket opts in for sending: from now on, all ports keep packets without carrier. */
void prioflow_net_expect_senders(struct prioflow_net *net)
{
	struct prioflow_port *port;

	if (READ_ONCE(net->has_senders))
		return;
	rtnl_lock();
	WRITE_ONCE(net->has_senders, true);
	list_for_each_entry(port, &net->ports, list)
		prioflow_keep_start(port);
	rtnl_unlock();
}

static int __net_init prioflow_net_init(struct net *net)
{
	struct prioflow_net *own = prioflow_net_of(net);
	struct ctl_table *table;

	own->net = net;
	spin_lock_init(&own->lock);
	INIT_LIST_HEAD(&own->ports);
	INIT_LIST_HEAD(&own->scopes);
	INIT_LIST_HEAD(&own->receivers);
	hash_init(own->users);
	hash_init(own->by_index);
	own->charge = PRIOFLOW_CHARGE_USUAL;
	own->send_room = PRIOFLOW_SEND_ROOM;
	own->receiver_watchdog_ms = PRIOFLOW_RECEIVER_WATCHDOG_MS;
	prioflow_poll_init(own);
	table = kmemdup(prioflow_sysctl, sizeof(prioflow_sysctl), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = &own->open_levels;
	table[0].extra2 = &prioflow_levels;
	table[1].data = &own->send_room;
	table[2].data = &own->receiver_watchdog_ms;
	table[3].extra1 = own;
	table[4].extra1 = own;
	own->table = table;
	own->sysctl = compat_register_net_sysctl(net, "net/prioflow", table,
						 ARRAY_SIZE(prioflow_sysctl) - 1);
	if (!own->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit prioflow_net_exit(struct net *net)
{
	struct prioflow_net *own = prioflow_net_of(net);

	unregister_net_sysctl_table(own->sysctl);
	kfree(own->table);
	prioflow_rules_end(own);
	/* No socket is left, but the last poll may still run. */
	prioflow_poll_exit(own);
}

static struct pernet_operations prioflow_net_operations = {
	.init	= prioflow_net_init,
	.exit	= prioflow_net_exit,
	.id	= &prioflow_net_id,
	.size	= sizeof(struct prioflow_net),
};

int prioflow_net_module_init(void)
{
	return register_pernet_subsys(&prioflow_net_operations);
}

void prioflow_net_module_exit(void)
{
	unregister_pernet_subsys(&prioflow_net_operations);
}
