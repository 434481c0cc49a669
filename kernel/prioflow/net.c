// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the state of a network namespace: its ports, its sockets' reservations and their
 * common receive level.
 *
 *     net.prioflow.open_levels   levels below it are open to all; the others need
 *                                CAP_NET_ADMIN. Default 0: none is open.
 *     net.prioflow.send_room     most bytes that all opted-in senders may have queued
 */
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/netns/generic.h>

#include "../compat/compat.h"
#include "prioflow.h"

#define PRIOFLOW_SEND_ROOM	(16 * 1024 * 1024)

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

/* Changes a socket's reservation from @from to @to bytes. */
int prioflow_net_reserve(struct prioflow_net *net, u32 from, u32 to)
{
	int err = 0;

	spin_lock_bh(&net->lock);
	if (to > from && net->reserved + (to - from) > READ_ONCE(net->send_room))
		err = -ENOBUFS;
	else
		net->reserved = net->reserved - from + to;
	spin_unlock_bh(&net->lock);
	return err;
}

u64 prioflow_net_reserved(struct prioflow_net *net)
{
	u64 reserved;

	spin_lock_bh(&net->lock);
	reserved = net->reserved;
	spin_unlock_bh(&net->lock);
	return reserved;
}

/* Adds a port to its namespace. */
void prioflow_net_add(struct prioflow_net *net, struct prioflow_port *port)
{
	ASSERT_RTNL();
	spin_lock_bh(&net->lock);
	list_add(&port->list, &net->ports);
	prioflow_port_request_for_sockets(port, net->receive_level);
	spin_unlock_bh(&net->lock);
}

void prioflow_net_remove(struct prioflow_net *net, struct prioflow_port *port)
{
	ASSERT_RTNL();
	spin_lock_bh(&net->lock);
	list_del(&port->list);
	spin_unlock_bh(&net->lock);
}

/*
 * Changes a socket's request from level @from to @to; 0 is none. The highest of all sockets
 * is requested from the peers. Any context but hardirq.
 */
void prioflow_net_request(struct prioflow_net *net, u8 from, u8 to)
{
	struct prioflow_port *port;
	u8 level;

	spin_lock_bh(&net->lock);
	net->requests[from]--;
	net->requests[to]++;
	for (level = PRIOFLOW_TOP_LEVEL; level && !net->requests[level]; level--)
		;
	if (level != net->receive_level) {
		net->receive_level = level;
		list_for_each_entry(port, &net->ports, list)
			prioflow_port_request_for_sockets(port, level);
	}
	spin_unlock_bh(&net->lock);
}

static int __net_init prioflow_net_init(struct net *net)
{
	struct prioflow_net *own = prioflow_net_of(net);
	struct ctl_table *table;

	spin_lock_init(&own->lock);
	INIT_LIST_HEAD(&own->ports);
	hash_init(own->by_index);
	own->send_room = PRIOFLOW_SEND_ROOM;
	table = kmemdup(prioflow_sysctl, sizeof(prioflow_sysctl), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = &own->open_levels;
	table[0].extra2 = &prioflow_levels;
	table[1].data = &own->send_room;
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
