// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: links of kind "vtsn", in pairs: creation, deletion, the module.
 */
#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../uapi/vtsn.h"
#include "vtsn.h"

#define VTSN_MAX_MTU		9500	/* as the i210's longest frame */

bool vtsn_is_port(const struct net_device *dev)
{
	return dev->netdev_ops == &vtsn_netdev_ops;
}

static void vtsn_wire_release(struct kref *ref)
{
	kfree(container_of(ref, struct vtsn_wire, ref));
}

/*
 * Frees what a port holds. Also for a device that was never registered: the core calls a
 * destructor in some of its error paths only, so a second call must do no harm.
 */
static void vtsn_free(struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);
	struct vtsn_wire *wire = port->wire;

	if (!wire)
		return;
	port->wire = NULL;
	__skb_queue_purge(&port->inbound);
	__skb_queue_purge(&port->ring);
	__skb_queue_purge(&port->pause.spare);
	kfree(port->schedule);
	kfree(port->next_schedule);
	kref_put(&wire->ref, vtsn_wire_release);
}

static void vtsn_setup(struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);

	ether_setup(dev);
	dev->netdev_ops = &vtsn_netdev_ops;
	dev->ethtool_ops = &vtsn_ethtool_ops;
#if IS_ENABLED(CONFIG_DCB)
	dev->dcbnl_ops = &vtsn_dcbnl_ops;
#endif
	dev->sysfs_groups[0] = &vtsn_attribute_group;
	dev->needs_free_netdev = true;
	dev->priv_destructor = vtsn_free;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA |
			   NETIF_F_RXALL | NETIF_F_HW_TC;
	dev->features = dev->hw_features & ~NETIF_F_RXALL;
	dev->vlan_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = VTSN_MAX_MTU;

	port->dev = dev;
	port->tx_ring = VTSN_DEFAULT_RING;
	port->rx_ring = VTSN_DEFAULT_RING;
	port->tx_usecs = VTSN_DEFAULT_TX_USECS;
	port->queues_counted = VTSN_DEFAULT_QUEUES;
	port->launch_resolution_ns = 1;
	port->launch_horizon_ns = NSEC_PER_SEC;
	port->stamp_slots = 4;
	port->pause.request_raw = VTSN_NEVER;
	__skb_queue_head_init(&port->inbound);
	__skb_queue_head_init(&port->ring);
	__skb_queue_head_init(&port->pause.spare);
}

static void vtsn_join(struct vtsn_wire *wire, u32 end, struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);

	port->wire = wire;
	wire->port[end] = port;
	kref_get(&wire->ref);
	netif_napi_add(dev, &port->napi, vtsn_poll);
}

static struct vtsn_wire *vtsn_wire_new(void)
{
	struct vtsn_wire *wire = kzalloc(sizeof(*wire), GFP_KERNEL);

	if (!wire)
		return NULL;
	raw_spin_lock_init(&wire->lock);
	kref_init(&wire->ref);
	vtsn_wire_set_rate(wire, 1000);
	wire->delay_ns = 50;	/* 10 m of cable */
	return wire;
}

static int vtsn_validate(struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	if (tb[IFLA_ADDRESS]) {
		if (nla_len(tb[IFLA_ADDRESS]) != ETH_ALEN) {
			NL_SET_ERR_MSG_MOD(extack, "an address has 6 bytes");
			return -EINVAL;
		}
		if (!is_valid_ether_addr(nla_data(tb[IFLA_ADDRESS]))) {
			NL_SET_ERR_MSG_MOD(extack, "a port's address must be a unicast address");
			return -EADDRNOTAVAIL;
		}
	}
	return 0;
}

/* Applies the attributes of a new link, or of its peer. */
static int vtsn_configure(struct net_device *dev, struct nlattr *tb[],
			  struct netlink_ext_ack *extack)
{
	if (dev->num_tx_queues != VTSN_MAX_QUEUES || dev->num_rx_queues != 1) {
		NL_SET_ERR_MSG_MOD(extack, "the number of queues is set by ethtool -L");
		return -EINVAL;
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	return netif_set_real_num_tx_queues(dev, VTSN_DEFAULT_QUEUES);
}

static struct net_device *vtsn_new_peer(struct net *net, struct net_device *dev,
					struct nlattr *tb[], const struct ifinfomsg *ifmp,
					struct netlink_ext_ack *extack)
{
	unsigned char assigned = NET_NAME_USER;
	struct net_device *peer;
	char name[IFNAMSIZ];
	int err;

	if (tb[IFLA_IFNAME]) {
		nla_strscpy(name, tb[IFLA_IFNAME], IFNAMSIZ);
	} else if (strchr(dev->name, '%')) {
		strscpy(name, VTSN_NAME "%d", IFNAMSIZ);
		assigned = NET_NAME_ENUM;
	} else if (snprintf(name, IFNAMSIZ, "%sp", dev->name) >= IFNAMSIZ) {
		NL_SET_ERR_MSG_MOD(extack, "the name leaves no room for the peer's p; name the peer");
		return ERR_PTR(-EINVAL);
	}

	peer = rtnl_create_link(net, name, assigned, &vtsn_link_ops, tb, extack);
	if (IS_ERR(peer))
		return peer;
	err = vtsn_configure(peer, tb, extack);
	if (err) {
		free_netdev(peer);
		return ERR_PTR(err);
	}
	if (ifmp && dev->ifindex)
		peer->ifindex = ifmp->ifi_index;
	return peer;
}

/* Registers both ends, or none. A @dev that is not registered is freed by the caller. */
static int vtsn_register_pair(struct net_device *dev, struct net_device *peer,
			      const struct ifinfomsg *ifmp)
{
	int err;

	err = register_netdevice(peer);
	if (err) {
		vtsn_free(peer);
		free_netdev(peer);
		goto err_dev;
	}
	netif_carrier_off(peer);
	err = rtnl_configure_link(peer, ifmp, 0, NULL);
	if (err < 0)
		goto err_peer;
	/* Failing, this would free what the peer runs on until it is unregistered. */
	dev->priv_destructor = NULL;
	err = register_netdevice(dev);
	if (err)
		goto err_peer;
	dev->priv_destructor = vtsn_free;
	netif_carrier_off(dev);
	return 0;

err_peer:
	unregister_netdevice(peer);
err_dev:
	vtsn_free(dev);
	return err;
}

static int vtsn_newlink(struct net_device *dev, struct compat_newlink *params,
			struct netlink_ext_ack *extack)
{
	struct nlattr *peer_tb[IFLA_MAX + 1] = {};
	struct nlattr **data = params->data;
	struct ifinfomsg *ifmp = NULL;
	struct net_device *peer;
	struct vtsn_wire *wire;
	struct net *peer_net;
	int err;

	/* The core's check is of the namespace's owner. A port takes the machine's time. */
	if (!capable(CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG_MOD(extack, "making a port needs CAP_NET_ADMIN in the initial user namespace");
		return -EPERM;
	}
	if (data && data[VTSN_INFO_PEER]) {
		ifmp = nla_data(data[VTSN_INFO_PEER]);
		err = rtnl_nla_parse_ifinfomsg(peer_tb, data[VTSN_INFO_PEER], extack);
		if (err < 0)
			return err;
		err = vtsn_validate(peer_tb, NULL, extack);
		if (err < 0)
			return err;
	}
	err = vtsn_configure(dev, params->tb, extack);
	if (err)
		return err;
	peer_net = compat_peer_net(params, ifmp ? peer_tb : params->tb);
	if (IS_ERR(peer_net))
		return PTR_ERR(peer_net);
	peer = vtsn_new_peer(peer_net, dev, peer_tb, ifmp, extack);
	compat_peer_net_put(peer_net);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	wire = vtsn_wire_new();
	if (!wire) {
		free_netdev(peer);
		return -ENOMEM;
	}
	vtsn_join(wire, 0, dev);
	vtsn_join(wire, 1, peer);
	vtsn_port(dev)->peer = vtsn_port(peer);
	vtsn_port(peer)->peer = vtsn_port(dev);
	/* From here on only the ports hold references to the wire. */
	kref_put(&wire->ref, vtsn_wire_release);
	return vtsn_register_pair(dev, peer, ifmp);
}

COMPAT_NEWLINK(vtsn_newlink)

static void vtsn_dellink(struct net_device *dev, struct list_head *head)
{
	unregister_netdevice_queue(dev, head);
	unregister_netdevice_queue(vtsn_port(dev)->peer->dev, head);
}

static struct net *vtsn_get_link_net(const struct net_device *dev)
{
	return dev_net(((struct vtsn_port *)netdev_priv(dev))->peer->dev);
}

static unsigned int vtsn_num_tx_queues(void)
{
	return VTSN_MAX_QUEUES;
}

static unsigned int vtsn_num_rx_queues(void)
{
	return 1;
}

static size_t vtsn_get_size(const struct net_device *dev)
{
	return 3 * nla_total_size(sizeof(u32));
}

/* What `ip -d link` shows. */
static int vtsn_fill_info(struct sk_buff *message, const struct net_device *dev)
{
	const struct vtsn_port *port = netdev_priv(dev);

	if (nla_put_u32(message, VTSN_INFO_RATE_MBPS, READ_ONCE(port->wire->mbps)) ||
	    nla_put_u32(message, VTSN_INFO_DELAY_NS, READ_ONCE(port->wire->delay_ns)) ||
	    nla_put_u32(message, VTSN_INFO_PHC_INDEX, ptp_clock_index(port->phc.clock)))
		return -EMSGSIZE;
	return 0;
}

static const struct nla_policy vtsn_policy[VTSN_INFO_MAX + 1] = {
	[VTSN_INFO_PEER]	= { .len = sizeof(struct ifinfomsg) },
	[VTSN_INFO_RATE_MBPS]	= { .type = NLA_REJECT,
				    .reject_message = VTSN_NAME ": the rate is set by ethtool -s" },
	[VTSN_INFO_DELAY_NS]	= { .type = NLA_REJECT,
				    .reject_message = VTSN_NAME ": the delay is set in sysfs" },
	[VTSN_INFO_PHC_INDEX]	= { .type = NLA_REJECT,
				    .reject_message = VTSN_NAME ": the kernel numbers PTP clocks" },
};

struct rtnl_link_ops vtsn_link_ops = {
	.kind			= VTSN_NAME,
	.priv_size		= sizeof(struct vtsn_port),
	.setup			= vtsn_setup,
	.maxtype		= VTSN_INFO_MAX,
	.policy			= vtsn_policy,
	.validate		= vtsn_validate,
	.newlink		= compat_newlink_vtsn_newlink,
	.dellink		= vtsn_dellink,
	.get_size		= vtsn_get_size,
	.fill_info		= vtsn_fill_info,
	.get_link_net		= vtsn_get_link_net,
	.get_num_tx_queues	= vtsn_num_tx_queues,
	.get_num_rx_queues	= vtsn_num_rx_queues,
	COMPAT_PEER_TYPE(VTSN_INFO_PEER)
};

static int __init vtsn_module_init(void)
{
	int err;

	vtsn_fault_init();
	err = rtnl_link_register(&vtsn_link_ops);
	if (err)
		vtsn_fault_exit();
	return err;
}

static void __exit vtsn_module_exit(void)
{
	rtnl_link_unregister(&vtsn_link_ops);
	vtsn_fault_exit();
}

module_init(vtsn_module_init);
module_exit(vtsn_module_exit);

MODULE_DESCRIPTION("Software TSN NIC: pairs of ports joined by a wire");
MODULE_AUTHOR("The Teiji authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_RTNL_LINK(VTSN_NAME);
