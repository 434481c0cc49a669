// SPDX-License-Identifier: GPL-2.0
/*
 * misbehaving: two NICs whose driver does not do as it says, to prove that `teiji apply` notices.
 * ignores0 accepts interrupt moderation and keeps its own; leaves0 accepts it and goes away, as a
 * NIC whose driver resets it. Never load it outside of a laboratory's guest.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>

#define MISBEHAVING_RX_USECS	100U

static struct net_device *misbehaving_ignores;
/* NULL once it has gone. Protected by the RTNL lock. */
static struct net_device *misbehaving_leaves;

static void misbehaving_leave(struct work_struct *work)
{
	rtnl_lock();
	if (misbehaving_leaves)
		unregister_netdevice(misbehaving_leaves);
	misbehaving_leaves = NULL;
	rtnl_unlock();
}

static DECLARE_WORK(misbehaving_work, misbehaving_leave);

static int misbehaving_get_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
				    struct kernel_ethtool_coalesce *kernel,
				    struct netlink_ext_ack *extack)
{
	coalesce->rx_coalesce_usecs = MISBEHAVING_RX_USECS;
	return 0;
}

static int misbehaving_set_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
				    struct kernel_ethtool_coalesce *kernel,
				    struct netlink_ext_ack *extack)
{
	if (dev == misbehaving_leaves)
		schedule_work(&misbehaving_work);
	return 0;
}

static const struct ethtool_ops misbehaving_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS,
	.get_coalesce = misbehaving_get_coalesce,
	.set_coalesce = misbehaving_set_coalesce,
	.get_link = ethtool_op_get_link,
};

static netdev_tx_t misbehaving_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops misbehaving_ops = {
	.ndo_start_xmit = misbehaving_start_xmit,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_mac_address = eth_mac_addr,
};

static void misbehaving_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &misbehaving_ops;
	dev->ethtool_ops = &misbehaving_ethtool_ops;
	dev->needs_free_netdev = true;
	eth_hw_addr_random(dev);
}

static struct net_device *misbehaving_create(const char *name)
{
	struct net_device *dev = alloc_netdev(0, name, NET_NAME_USER, misbehaving_setup);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	return dev;
}

static int __init misbehaving_init(void)
{
	struct net_device *dev;

	dev = misbehaving_create("ignores0");
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	misbehaving_ignores = dev;
	dev = misbehaving_create("leaves0");
	if (IS_ERR(dev)) {
		unregister_netdev(misbehaving_ignores);
		return PTR_ERR(dev);
	}
	misbehaving_leaves = dev;
	return 0;
}

static void __exit misbehaving_exit(void)
{
	unregister_netdev(misbehaving_ignores);
	/* It may have gone, or be about to. */
	misbehaving_leave(NULL);
	cancel_work_sync(&misbehaving_work);
}

module_init(misbehaving_init);
module_exit(misbehaving_exit);

MODULE_DESCRIPTION("NICs that do not do as they say, for tests of `teiji apply`");
MODULE_LICENSE("GPL");
