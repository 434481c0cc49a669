// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: generic netlink: events for monitors (a device pauses or requests other levels,
 * the pause-storm watchdog ignores a peer, a peer's state has changed, a receiver is no longer
 * served), and a dump of the opted-in receivers. Both are of one network namespace only.
 */
#include <net/genetlink.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "prioflow.h"

static int prioflow_dump_receivers(struct sk_buff *skb, struct netlink_callback *cb);

static const struct genl_multicast_group prioflow_groups[] = {
	/* An event of a receiver tells what the dump does. */
	{ .name = PRIOFLOW_GENL_EVENTS, .flags = COMPAT_GENL_MCAST_ADMIN },
};

static const struct genl_small_ops prioflow_operations[] = {
	{
		.cmd	= PRIOFLOW_CMD_GET_RECEIVERS,
		.flags	= GENL_UNS_ADMIN_PERM,
		.dumpit	= prioflow_dump_receivers,
	},
};

static struct genl_family prioflow_family __ro_after_init = {
	.name		= PRIOFLOW_GENL_NAME,
	.version	= PRIOFLOW_GENL_VERSION,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.small_ops	= prioflow_operations,
	.n_small_ops	= ARRAY_SIZE(prioflow_operations),
	.resv_start_op	= PRIOFLOW_CMD_GET_RECEIVERS + 1,
	.mcgrps		= prioflow_groups,
	.n_mcgrps	= ARRAY_SIZE(prioflow_groups),
};

/* Sends an event to all listeners of a namespace; to none without memory. */
void prioflow_event(const struct prioflow_port *port, u8 command, u64 now_ns)
{
	struct net *net = dev_net(port->dev);
	struct sk_buff *skb;
	void *header;

	lockdep_assert_held(&port->lock);
	if (likely(!genl_has_listeners(&prioflow_family, net, 0)))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_ATOMIC);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &prioflow_family, 0, command);
	if (!header ||
	    nla_put_u32(skb, PRIOFLOW_A_IFINDEX, port->dev->ifindex) ||
	    nla_put_u16(skb, PRIOFLOW_A_PAUSED, port->paused) ||
	    nla_put_u16(skb, PRIOFLOW_A_REQUEST, port->request) ||
	    nla_put_u8(skb, PRIOFLOW_A_PEER_STATE, port->link.peer.state) ||
	    nla_put_u64_64bit(skb, PRIOFLOW_A_TIME, now_ns, PRIOFLOW_A_PAD)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&prioflow_family, net, skb, 0, 0, GFP_ATOMIC);
}

static int prioflow_put_receiver(struct sk_buff *skb, const struct prioflow_socket *socket,
				 u64 now_ns)
{
	const struct prioflow_receiver *receiver = &socket->receiver;
	u64 xoff_ns = receiver->xoff_ns ? now_ns - receiver->xoff_ns : 0;

	return nla_put_u32(skb, PRIOFLOW_A_IFINDEX, receiver->scope->ifindex) ||
	       nla_put_u64_64bit(skb, PRIOFLOW_A_INODE, receiver->inode, PRIOFLOW_A_PAD) ||
	       nla_put_u32(skb, PRIOFLOW_A_PID, receiver->pid) ||
	       nla_put_u8(skb, PRIOFLOW_A_LEVEL, receiver->level) ||
	       nla_put_u64_64bit(skb, PRIOFLOW_A_XOFF_NS, xoff_ns, PRIOFLOW_A_PAD) ||
	       nla_put_u8(skb, PRIOFLOW_A_ABANDONED, receiver->abandoned) ||
	       nla_put_u32(skb, PRIOFLOW_A_QUEUED, prioflow_poll_fill(socket->sk)) ||
	       nla_put_u32(skb, PRIOFLOW_A_HIGH, prioflow_receive_high(socket)) ||
	       nla_put_u32(skb, PRIOFLOW_A_BUFFER, READ_ONCE(socket->sk->sk_rcvbuf)) ||
	       nla_put_u32(skb, PRIOFLOW_A_PAUSE_REQUESTS, receiver->pause_requests) ?
	       -EMSGSIZE : 0;
}

/* Sends an event of a receiver, as prioflow_event(). */
void prioflow_event_receiver(const struct prioflow_socket *socket, u64 now_ns)
{
	struct net *net = sock_net(socket->sk);
	struct sk_buff *skb;
	void *header;

	lockdep_assert_held(&socket->receiver.lock);
	if (likely(!genl_has_listeners(&prioflow_family, net, 0)) || !socket->receiver.scope)
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_ATOMIC);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &prioflow_family, 0, PRIOFLOW_CMD_RECEIVER);
	if (!header || nla_put_u64_64bit(skb, PRIOFLOW_A_TIME, now_ns, PRIOFLOW_A_PAD) ||
	    prioflow_put_receiver(skb, socket, now_ns)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&prioflow_family, net, skb, 0, 0, GFP_ATOMIC);
}

/* Dumps the receivers; args[0] and args[1] are the serial of the last one that has been dumped. */
static int prioflow_dump_receivers(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(skb->sk));
	u64 last = (u64)(u32)cb->args[1] << 32 | (u32)cb->args[0];
	const struct prioflow_receiver *receiver;
	u64 now_ns = ktime_get_ns();
	void *header;

	spin_lock_bh(&net->lock);
	list_for_each_entry(receiver, &net->receivers, member) {
		if (receiver->serial <= last)
			continue;
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				     &prioflow_family, NLM_F_MULTI, PRIOFLOW_CMD_GET_RECEIVERS);
		if (!header)
			break;
		if (prioflow_put_receiver(skb, container_of(receiver, struct prioflow_socket,
							    receiver), now_ns)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0] = lower_32_bits(receiver->serial);
		cb->args[1] = upper_32_bits(receiver->serial);
	}
	spin_unlock_bh(&net->lock);
	return skb->len;
}

int prioflow_event_module_init(void)
{
	return genl_register_family(&prioflow_family);
}

void prioflow_event_module_exit(void)
{
	genl_unregister_family(&prioflow_family);
}
