// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: flow control with the other end of a port's wire (docs/protocol.md), by level
 * frames, or by PAUSE or PFC with standard equipment.
 *
 * Frames are received at the device's netfilter ingress hook (rx.c), which runs before a
 * bridge: a bridge drops frames to this address. A real-time thread sends a frame whenever
 * the requested level changes, and refreshes it while it is above 0, to survive a lost frame.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/kthread.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "../compat/compat.h"
#include "frame.h"
#include "prioflow.h"

#define PRIOFLOW_REFRESH	msecs_to_jiffies(PRIOFLOW_LIFETIME_MS / 4)
/* A pause shorter than so many ticks ends before it can be refreshed. */
#define PRIOFLOW_PAUSE_TICKS	3
/* While the link rate is unknown. */
#define PRIOFLOW_RATE_MBPS	1000
/* XON is sent so often: a lost one would cost a lifetime. */
#define PRIOFLOW_XON_REPEATS	3

const u8 prioflow_address[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
static struct kthread_worker *prioflow_worker;

static struct prioflow_port *prioflow_port_of(struct prioflow_link *link)
{
	return container_of(link, struct prioflow_port, link);
}

/* Makes a frame without payload; NULL without memory. */
static struct sk_buff *prioflow_link_skb(struct net_device *dev, u8 mode)
{
	u32 reserve = LL_RESERVED_SPACE(dev);
	struct sk_buff *skb;
	struct ethhdr *eth;

	skb = alloc_skb(reserve + ETH_ZLEN + dev->needed_tailroom, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, reserve);
	skb_reset_mac_header(skb);
	eth = skb_put(skb, ETH_HLEN);
	ether_addr_copy(eth->h_dest, prioflow_address);
	ether_addr_copy(eth->h_source, dev->dev_addr);
	eth->h_proto = mode == PRIOFLOW_LINK_EXPERIMENTAL ? htons(PRIOFLOW_ETHERTYPE) :
							    htons(ETH_P_PAUSE);
	skb_set_network_header(skb, ETH_HLEN);
	skb->dev = dev;
	skb->protocol = eth->h_proto;
	skb->priority = TC_PRIO_CONTROL;
	return skb;
}

/* Writes the payload of a frame that requests @level. */
static void prioflow_link_fill_frame(struct prioflow_port *port, u8 mode, u8 level, u8 *octets)
{
	struct prioflow_link *link = &port->link;
	struct prioflow_frame frame = {
		.level = level,
		.lifetime_ms = level ? PRIOFLOW_LIFETIME_MS : 0,
		.instance = link->instance,
	};

	lockdep_assert_held(&port->lock);
	link->last_sent_level = level;
	link->frames_sent++;
	if (prioflow_link_is_standard(mode)) {
		prioflow_pause_build(mode == PRIOFLOW_LINK_PFC, level, link->quanta, octets);
	} else {
		frame.sequence = ++link->sequence;
		prioflow_frame_build(&frame, octets);
	}
}

/* Sends the requested level, and requeues itself while that needs a refresh. */
static void prioflow_link_work(struct kthread_work *work)
{
	struct prioflow_link *link = container_of(work, struct prioflow_link, work.work);
	struct prioflow_port *port = prioflow_port_of(link);
	u8 octets[PRIOFLOW_FRAME_SIZE], mode;
	unsigned long refresh;
	struct sk_buff *skb;
	bool again;

	spin_lock_bh(&port->lock);
	link->xons_left = port->receive_level ? PRIOFLOW_XON_REPEATS : max(link->xons_left, 1) - 1;
	again = link->xons_left;
	mode = link->mode;
	refresh = prioflow_link_is_standard(mode) ? link->refresh : PRIOFLOW_REFRESH;
	prioflow_link_fill_frame(port, mode, port->receive_level, octets);
	spin_unlock_bh(&port->lock);

	skb = prioflow_link_skb(port->dev, mode);
	if (skb) {	/* else the next refresh sends it */
		skb_put_data(skb, octets, sizeof(octets));
		dev_queue_xmit(skb);
	}
	if (again)
		kthread_queue_delayed_work(prioflow_worker, &link->work, refresh);
}

/* Has the worker send the requested level now. Any context. */
void prioflow_link_send_soon(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;

	lockdep_assert_held(&port->lock);
	if (link->mode)
		kthread_mod_delayed_work(prioflow_worker, &link->work, 0);
}

/* Whether the device is one end of a wire with one peer. */
static bool prioflow_link_possible(const struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER && !(dev->flags & IFF_LOOPBACK) &&
	       !netif_is_bridge_master(dev) && !netif_is_lag_master(dev) && !is_vlan_dev(dev) &&
	       !netif_is_macvlan(dev);
}

static int prioflow_link_start(struct prioflow_port *port, struct netlink_ext_ack *extack)
{
	struct prioflow_link *link = &port->link;
	int err;

	ASSERT_RTNL();
	if (!prioflow_link_possible(port->dev)) {
		NL_SET_ERR_MSG_MOD(extack, "flow control is between the ends of one wire; use the Ethernet ports below this device");
		return -EOPNOTSUPP;
	}
	link->hook = (struct nf_hook_ops) {
		.hook		= prioflow_rx,
		.dev		= port->dev,
		.priv		= port,
		.pf		= NFPROTO_NETDEV,
		.hooknum	= NF_NETDEV_INGRESS,
		.priority	= INT_MIN,
	};
	err = prioflow_forward_start(port, extack);
	if (err)
		return err;
	err = dev_mc_add(port->dev, prioflow_address);
	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "the device cannot receive the multicast address of flow control frames");
		goto err_forward;
	}
	err = nf_register_net_hook(dev_net(port->dev), &link->hook);
	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "cannot register a netfilter ingress hook (CONFIG_NETFILTER_INGRESS)");
		goto err_address;
	}
	return 0;

err_address:
	dev_mc_del(port->dev, prioflow_address);
err_forward:
	prioflow_forward_stop(port);
	return err;
}

/*
 * Stops receiving from the peer, and sends XON. @last: the port's last qdisc is being
 * destroyed and can send no more, so the request ends by its lifetime.
 */
static void prioflow_link_stop(struct prioflow_port *port, u8 mode, bool last)
{
	struct prioflow_link *link = &port->link;
	u8 octets[PRIOFLOW_FRAME_SIZE];
	struct sk_buff *skb = NULL;
	bool xon;

	ASSERT_RTNL();
	nf_unregister_net_hook(dev_net(port->dev), &link->hook);
	dev_mc_del(port->dev, prioflow_address);
	prioflow_forward_stop(port);
	/* The mode is off: nothing queues the work any more. */
	kthread_cancel_delayed_work_sync(&link->work);
	spin_lock_bh(&port->lock);
	xon = link->last_sent_level && !last;
	if (xon)
		prioflow_link_fill_frame(port, mode, 0, octets);
	link->xons_left = 0;
	memset(link->paused_until_ns, 0, sizeof(link->paused_until_ns));
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, 0, 0, ktime_get_ns());
	spin_unlock_bh(&port->lock);
	if (xon)
		skb = prioflow_link_skb(port->dev, mode);
	if (skb) {
		skb_put_data(skb, octets, sizeof(octets));
		dev_queue_xmit(skb);
	}
}

/* Ends the link of a port that is being freed. */
void prioflow_link_end(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;
	u8 mode = link->mode;

	if (!mode)
		return;
	spin_lock_bh(&port->lock);
	link->mode = PRIOFLOW_LINK_OFF;
	spin_unlock_bh(&port->lock);
	prioflow_link_stop(port, mode, true);
}

/* Computes length and refresh interval of a pause from the link rate. */
void prioflow_link_measure(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;
	unsigned long lifetime;
	u32 rate, longest;

	rate = prioflow_port_rate(port) ?: PRIOFLOW_RATE_MBPS;
	longest = div_u64((u64)rate * PRIOFLOW_LIFETIME_MS * (USEC_PER_SEC / MSEC_PER_SEC),
			  PRIOFLOW_QUANTUM_BITS);
	spin_lock_bh(&port->lock);
	link->rate_mbps = rate;
	link->quanta = min_t(u32, longest, PRIOFLOW_QUANTA_MAX);
	lifetime = usecs_to_jiffies(link->quanta * PRIOFLOW_QUANTUM_BITS / rate);
	link->refresh = max_t(unsigned long, lifetime / 4, 1);
	link->too_fast = lifetime < PRIOFLOW_PAUSE_TICKS;
	spin_unlock_bh(&port->lock);
	if (link->too_fast && prioflow_link_is_standard(link->mode))
		netdev_warn(port->dev, "prioflow: at this link rate a pause ends before it can be refreshed\n");
}

/* Enables or disables flow control with the peer; unchanged on failure. */
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack)
{
	struct prioflow_link *link = &port->link;
	u8 before = link->mode;
	int err;

	ASSERT_RTNL();
	if (mode == before)
		return 0;
	prioflow_link_measure(port);
	if (prioflow_link_is_standard(mode) && link->too_fast) {
		NL_SET_ERR_MSG_MOD(extack, "at this link rate the longest pause ends before it can be refreshed; use level frames");
		return -EOPNOTSUPP;
	}
	if (!before) {
		err = prioflow_link_start(port, extack);
		if (err)
			return err;
	}
	spin_lock_bh(&port->lock);
	link->mode = mode;
	if (port->receive_level)
		prioflow_link_send_soon(port);
	spin_unlock_bh(&port->lock);
	if (!mode)
		prioflow_link_stop(port, before, false);
	return 0;
}

void prioflow_link_init(struct prioflow_link *link)
{
	kthread_init_delayed_work(&link->work, prioflow_link_work);
	link->storm_ns = PRIOFLOW_STORM_MS * NSEC_PER_MSEC;
	link->reaction_us = PRIOFLOW_REACTION_US;
	link->ring = PRIOFLOW_RING;
	link->instance = get_random_u32();
	link->sequence = get_random_u32();
}

/* Fills in the link's counters. */
void prioflow_link_fill(const struct prioflow_port *port, struct tc_prioflow_link *stats)
{
	const struct prioflow_link *link = &port->link;

	lockdep_assert_held(&port->lock);
	stats->frames_sent = link->frames_sent;
	stats->frames_received = link->frames_received;
	stats->malformed = link->malformed;
	stats->stale = link->stale;
	stats->limited = link->limited;
	stats->ignored = link->ignored;
	stats->storms = link->storms;
	ether_addr_copy(stats->peer, link->peer);
}

int prioflow_link_module_init(void)
{
	prioflow_worker = kthread_run_worker(0, "prioflow");
	if (IS_ERR(prioflow_worker))
		return PTR_ERR(prioflow_worker);
	/* A late XOFF loses packets, a late XON costs throughput. */
	sched_set_fifo(prioflow_worker->task);
	return 0;
}

void prioflow_link_module_exit(void)
{
	kthread_destroy_worker(prioflow_worker);
}
