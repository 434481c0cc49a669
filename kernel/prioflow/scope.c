// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: scopes of receivers: which ports send the pause requests of which sockets. A
 * scope is a device, and stands for its port, or for the ports below it (of a bridge, a bond,
 * a VLAN device); or it is the whole namespace.
 *
 * A scope counts its receivers in XOFF. What each port requests is computed from the scopes
 * that cover it, so nothing is wrong when a port joins a bridge meanwhile.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>

#include "prioflow.h"

/* Whether a scope, by its interface index, covers a port. */
bool prioflow_scope_covers(const struct prioflow_net *net, int ifindex,
			   const struct prioflow_port *port)
{
	struct net_device *upper;
	bool covers;

	if (!ifindex || ifindex == port->dev->ifindex)
		return true;
	rcu_read_lock();
	upper = dev_get_by_index_rcu(net->net, ifindex);
	covers = upper && netdev_has_upper_dev_all_rcu(port->dev, upper);
	rcu_read_unlock();
	return covers;
}

/* Levels that a scope's receivers have in XOFF. */
static u16 prioflow_scope_mask(const struct prioflow_scope *scope)
{
	u16 mask = 0;
	u32 level;

	for (level = 0; level < PRIOFLOW_TOP_LEVEL; level++)
		if (scope->requests[level])
			mask |= BIT(level);
	return mask;
}

/* Has each port request what the scopes that cover it want. */
void prioflow_scope_apply(struct prioflow_net *net)
{
	const struct prioflow_scope *scope;
	struct prioflow_port *port;
	u16 mask;

	lockdep_assert_held(&net->lock);
	list_for_each_entry(port, &net->ports, list) {
		mask = 0;
		list_for_each_entry(scope, &net->scopes, list)
			if (prioflow_scope_covers(net, scope->ifindex, port))
				mask |= prioflow_scope_mask(scope);
		spin_lock(&port->lock);
		prioflow_port_request(port, PRIOFLOW_FOR_SOCKETS, mask);
		spin_unlock(&port->lock);
	}
}

/* Changes a receiver's request from level @from - 1 to @to - 1; 0 is none. */
void prioflow_scope_request(struct prioflow_net *net, struct prioflow_scope *scope, u8 from, u8 to)
{
	bool changed = false;

	spin_lock_bh(&net->lock);
	if (from)
		changed |= !--scope->requests[from - 1];
	if (to)
		changed |= !scope->requests[to - 1]++;
	if (changed)
		prioflow_scope_apply(net);
	spin_unlock_bh(&net->lock);
}

/* Gets the scope of a device; 0: of the namespace. NULL without memory. */
struct prioflow_scope *prioflow_scope_get(struct prioflow_net *net, int ifindex)
{
	struct prioflow_scope *scope, *made;

	made = kzalloc(sizeof(*made), GFP_KERNEL);
	if (!made)
		return NULL;
	made->ifindex = ifindex;
	spin_lock_bh(&net->lock);
	list_for_each_entry(scope, &net->scopes, list) {
		if (scope->ifindex == ifindex) {
			scope->users++;
			goto unlock;
		}
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
