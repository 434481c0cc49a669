// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: flow control with the other end of a port's wire (docs/protocol.md), by level
 * frames, or by PAUSE or PFC where that is standard equipment.
 *
 * Received frames are taken at the netfilter hook of the device (hear.c), which comes
 * before a bridge does: a bridge throws away what is sent to this address. Frames are
 * sent by a real-time thread whenever the level that is asked of the peer changes, and
 * again and again while it is above 0, so that a lost one is made up for.
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
/* A pause shorter than so many ticks would end before it can be repeated. */
#define PRIOFLOW_PAUSE_TICKS	3
/* Until the rate of the wire is known. */
#define PRIOFLOW_RATE_MBPS	1000
/* A release is said this often: a lost one would cost a lifetime. */
#define PRIOFLOW_RELEASES	3

const u8 prioflow_address[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
static struct kthread_worker *prioflow_worker;

static struct prioflow_port *prioflow_port_of(struct prioflow_link *link)
{
	return container_of(link, struct prioflow_port, link);
}

/* A frame, ready to be sent, with room for its octets; NULL without memory. */
static struct sk_buff *prioflow_link_skb(struct net_device *dev, u8 mode)
{
	u32 room = LL_RESERVED_SPACE(dev);
	struct sk_buff *skb;
	struct ethhdr *eth;

	skb = alloc_skb(room + ETH_ZLEN + dev->needed_tailroom, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
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

/* What is asked now, in the octets of a frame. The port's lock. */
static void prioflow_link_say(struct prioflow_link *link, u8 mode, u8 level, u8 *octets)
{
	struct prioflow_frame frame = {
		.level = level,
		.lifetime_ms = level ? PRIOFLOW_LIFETIME_MS : 0,
		.instance = link->instance,
	};

	link->said = level;
	link->frames_sent++;
	if (prioflow_link_is_standard(mode)) {
		prioflow_pause_build(mode == PRIOFLOW_LINK_PFC, level, link->quanta, octets);
	} else {
		frame.sequence = ++link->sequence;
		prioflow_frame_build(&frame, octets);
	}
}

/* Says what is asked of the peer, and comes back while that must be repeated. */
static void prioflow_link_work(struct kthread_work *work)
{
	struct prioflow_link *link = container_of(work, struct prioflow_link, work.work);
	struct prioflow_port *port = prioflow_port_of(link);
	u8 octets[PRIOFLOW_FRAME_SIZE], mode;
	unsigned long refresh;
	struct sk_buff *skb;
	bool again;

	spin_lock_bh(&port->lock);
	link->releases = port->receive_level ? PRIOFLOW_RELEASES : max(link->releases, 1) - 1;
	again = link->releases;
	mode = link->mode;
	refresh = prioflow_link_is_standard(mode) ? link->refresh : PRIOFLOW_REFRESH;
	prioflow_link_say(link, mode, port->receive_level, octets);
	spin_unlock_bh(&port->lock);

	skb = prioflow_link_skb(port->dev, mode);
	if (skb) {	/* else the next refresh says it */
		skb_put_data(skb, octets, sizeof(octets));
		dev_queue_xmit(skb);
	}
	if (again)
		kthread_queue_delayed_work(prioflow_worker, &link->work, refresh);
}

/* Has what is asked of the peer said soon. The port's lock, any context. */
void prioflow_link_ask(struct prioflow_link *link)
{
	if (link->mode)
		kthread_mod_delayed_work(prioflow_worker, &link->work, 0);
}

/* Whether a wire with one peer is at the other end of this device. */
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

	if (!prioflow_link_possible(port->dev)) {
		NL_SET_ERR_MSG_MOD(extack, "flow control is between the ends of one wire: this device has none; use the Ethernet ports below it");
		return -EOPNOTSUPP;
	}
	link->hook = (struct nf_hook_ops) {
		.hook		= prioflow_hear,
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
		NL_SET_ERR_MSG_MOD(extack, "the device does not take the address of flow control frames");
		goto err_forward;
	}
	err = nf_register_net_hook(dev_net(port->dev), &link->hook);
	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "the kernel gives no netfilter ingress hook, which receives flow control frames");
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
 * Does not listen to the peer any more, and leaves it with nothing asked of it. A qdisc
 * that goes cannot say so: its queues do not send any more; what it asked for ends with
 * the lifetime. RTNL.
 */
static void prioflow_link_stop(struct prioflow_port *port, u8 mode, bool last)
{
	struct prioflow_link *link = &port->link;
	u8 octets[PRIOFLOW_FRAME_SIZE];
	struct sk_buff *skb = NULL;
	bool release;

	nf_unregister_net_hook(dev_net(port->dev), &link->hook);
	dev_mc_del(port->dev, prioflow_address);
	prioflow_forward_stop(port);
	/* The mode is off, so that nobody queues it any more. */
	kthread_cancel_delayed_work_sync(&link->work);
	spin_lock_bh(&port->lock);
	release = link->said && !last;
	if (release)
		prioflow_link_say(link, mode, 0, octets);
	link->releases = 0;
	memset(link->silent_until_ns, 0, sizeof(link->silent_until_ns));
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, 0, 0, ktime_get_ns());
	spin_unlock_bh(&port->lock);
	if (release)
		skb = prioflow_link_skb(port->dev, mode);
	if (skb) {
		skb_put_data(skb, octets, sizeof(octets));
		dev_queue_xmit(skb);
	}
}

/* The port goes, and its link with it. RTNL. */
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

/* How long a pause may be, and how often it is repeated, on the wire as it is now. RTNL. */
void prioflow_link_measure(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;
	u32 rate = prioflow_port_rate(port) ?: PRIOFLOW_RATE_MBPS, longest;
	unsigned long lifetime;

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
		netdev_warn(port->dev, "prioflow: on this wire a pause ends before it is repeated\n");
}

/* Begins or ends flow control with the peer; nothing has changed if it fails. RTNL. */
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
		NL_SET_ERR_MSG_MOD(extack, "on a wire this fast the longest pause ends before it can be repeated; use level frames");
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
		prioflow_link_ask(link);
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

/* The link's part of the counters. The port's lock. */
void prioflow_link_fill(const struct prioflow_link *link, struct tc_prioflow_link *stats)
{
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
	/* Whoever waits for memory to become free must not be kept from saying so. */
	sched_set_fifo(prioflow_worker->task);
	return 0;
}

void prioflow_link_module_exit(void)
{
	kthread_destroy_worker(prioflow_worker);
}
