// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: events for monitors, by generic netlink: a device's level has changed, or the
 * pause-storm watchdog ignores its peer. Sent in the device's network namespace only.
 */
#include <net/genetlink.h>

#include "prioflow.h"

static const struct genl_multicast_group prioflow_groups[] = {
	{ .name = PRIOFLOW_GENL_EVENTS },
};

/* Events only: the family has no requests. */
static struct genl_family prioflow_family __ro_after_init = {
	.name		= PRIOFLOW_GENL_NAME,
	.version	= PRIOFLOW_GENL_VERSION,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.mcgrps		= prioflow_groups,
	.n_mcgrps	= ARRAY_SIZE(prioflow_groups),
};

/* Sends an event to all listeners; to none without memory. */
void prioflow_event(const struct prioflow_port *port, u8 command, u64 now_ns)
{
	struct net *net = dev_net(port->dev);
	struct sk_buff *skb;
	void *header;

	lockdep_assert_held(&port->lock);
	if (likely(!genl_has_listeners(&prioflow_family, net, 0)))
		return;
	skb = genlmsg_new(nla_total_size(sizeof(u32)) + 2 * nla_total_size(sizeof(u8)) +
			  nla_total_size_64bit(sizeof(u64)), GFP_ATOMIC);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &prioflow_family, 0, command);
	if (!header ||
	    nla_put_u32(skb, PRIOFLOW_A_IFINDEX, port->dev->ifindex) ||
	    nla_put_u8(skb, PRIOFLOW_A_SEND_LEVEL, port->send_level) ||
	    nla_put_u8(skb, PRIOFLOW_A_RECEIVE_LEVEL, port->receive_level) ||
	    nla_put_u64_64bit(skb, PRIOFLOW_A_TIME, now_ns, PRIOFLOW_A_PAD)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&prioflow_family, net, skb, 0, 0, GFP_ATOMIC);
}

int prioflow_event_module_init(void)
{
	return genl_register_family(&prioflow_family);
}

void prioflow_event_module_exit(void)
{
	genl_unregister_family(&prioflow_family);
}
