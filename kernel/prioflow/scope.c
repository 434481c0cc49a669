// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: scopes of receivers: which ports send the pause requests of which sockets. A
 * scope is a device, and stands for its port, or for the ports below it (of a bridge, a bond,
 * a VLAN device); or it is the whole namespace.
 *
 * A scope counts its receivers in XOFF. What each port with a link requests is computed from the
 * scopes that cover it, so nothing is wrong when a port joins a bridge meanwhile.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "prioflow.h"

/* Most scopes of a namespace: what changes one looks at all of them, with softirqs off. */
#define PRIOFLOW_SCOPES		64

/* The slots of some ports of a namespace. */
struct prioflow_scope_slots {
	struct prioflow_net *net;
	u64 mask;
};

/* Takes the slot of a device that has a link. */
static int prioflow_scope_add_slot(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct prioflow_scope_slots *slots = priv->data;
	struct prioflow_port *port;

	/* A device may be above one of another namespace. */
	port = net_eq(dev_net(dev), slots->net->net) ?
	       prioflow_forward_find(slots->net, dev->ifindex) : NULL;
	if (port)
		slots->mask |= BIT_ULL(port->forward.slot);
	return 0;
}

/* The slots of the ports with a link that the scope of a device covers; 0: of the namespace. */
u64 prioflow_scope_slots(struct prioflow_net *net, int ifindex)
{
	struct prioflow_scope_slots slots = { .net = net };
	struct netdev_nested_priv priv = { .data = &slots };
	struct net_device *dev;

	/* Devices change under it. */
	ASSERT_RTNL();
	if (!ifindex)
		return U64_MAX;
	rcu_read_lock();
	dev = dev_get_by_index_rcu(net->net, ifindex);
	if (dev) {
		prioflow_scope_add_slot(dev, &priv);
		netdev_walk_all_lower_dev_rcu(dev, prioflow_scope_add_slot, &priv);
	}
	rcu_read_unlock();
	return slots.mask;
}

/* Has each port with a link request what the scopes that cover it want. */
static void prioflow_scope_apply(struct prioflow_net *net)
{
	const struct prioflow_scope *scope;
	struct prioflow_port *port;
	u32 slot;
	u16 mask;

	lockdep_assert_held(&net->lock);
	rcu_read_lock();
	for (slot = 0; slot < PRIOFLOW_SLOTS; slot++) {
		port = rcu_dereference(net->by_slot[slot]);
		if (!port)
			continue;
		mask = 0;
		list_for_each_entry(scope, &net->scopes, list)
			if (scope->slots & BIT_ULL(slot))
				mask |= scope->mask;
		spin_lock(&port->lock);
		prioflow_port_request(port, PRIOFLOW_FOR_SOCKETS, mask);
		spin_unlock(&port->lock);
	}
	rcu_read_unlock();
}

/* Ports have begun or ended a link, or devices are above other ones now. */
void prioflow_scope_update(struct prioflow_net *net)
{
	struct prioflow_scope *scope;

	ASSERT_RTNL();
	spin_lock_bh(&net->lock);
	list_for_each_entry(scope, &net->scopes, list)
		scope->slots = prioflow_scope_slots(net, scope->ifindex);
	prioflow_scope_apply(net);
	spin_unlock_bh(&net->lock);
}

/* Changes a receiver's request from level @from - 1 to @to - 1; 0 is none. */
void prioflow_scope_request(struct prioflow_net *net, struct prioflow_scope *scope, u8 from, u8 to)
{
	u16 before;

	spin_lock_bh(&net->lock);
	before = scope->mask;
	if (from && !--scope->requests[from - 1])
		scope->mask &= ~BIT(from - 1);
	if (to && !scope->requests[to - 1]++)
		scope->mask |= BIT(to - 1);
	if (scope->mask != before)
		prioflow_scope_apply(net);
	spin_unlock_bh(&net->lock);
}

/* Gets the scope of a device; 0: of the namespace. Or an error: -ENOMEM, -ENOSPC if there are too many. */
struct prioflow_scope *prioflow_scope_get(struct prioflow_net *net, int ifindex)
{
	struct prioflow_scope *scope, *made;
	u32 count = 0;

	ASSERT_RTNL();
	made = kzalloc(sizeof(*made), GFP_KERNEL);
	if (!made)
		return ERR_PTR(-ENOMEM);
	made->ifindex = ifindex;
	made->slots = prioflow_scope_slots(net, ifindex);
	spin_lock_bh(&net->lock);
	list_for_each_entry(scope, &net->scopes, list) {
		count++;
		if (scope->ifindex == ifindex) {
			scope->users++;
			goto unlock;
		}
	}
	if (count == PRIOFLOW_SCOPES) {
		scope = ERR_PTR(-ENOSPC);
		goto unlock;
	}
	scope = made;
	made = NULL;
	scope->users = 1;
	list_add(&scope->list, &net->scopes);
unlock:
	spin_unlock_bh(&net->lock);
	kfree(made);
	return scope;
}

/* Any context. The receiver has withdrawn its request. */
void prioflow_scope_put(struct prioflow_net *net, struct prioflow_scope *scope)
{
	if (!scope)
		return;
	spin_lock_bh(&net->lock);
	if (!--scope->users) {
		list_del(&scope->list);
		kfree(scope);
	}
	spin_unlock_bh(&net->lock);
}
