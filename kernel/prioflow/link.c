// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: level frames with the other end of a port's wire (docs/protocol.md).
 *
 * Received frames are taken at the netfilter hook of the device, which comes before
 * a bridge does: a bridge throws away what is sent to this address. They set the
 * port's transmit level for as long as they say. Frames are sent by a real-time
 * thread whenever the level that is asked of the peer changes, and again and again
 * while it is above 0, so that a lost one is made up for.
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
/* A release is said this often: a lost one would cost a lifetime. */
#define PRIOFLOW_RELEASES	3
/* Most frames a second that are listened to, and at once. */
#define PRIOFLOW_RATE		10000
#define PRIOFLOW_BURST		500

static const u8 prioflow_address[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
static struct kthread_worker *prioflow_worker;

static struct prioflow_port *prioflow_port_of(struct prioflow_link *link)
{
	return container_of(link, struct prioflow_port, link);
}

/* A level frame, ready to be sent; NULL without memory. */
static struct sk_buff *prioflow_link_skb(struct net_device *dev, u8 mode,
					 const struct prioflow_frame *frame)
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
	eth->h_proto = mode == PRIOFLOW_LINK_MAC_CONTROL ? htons(ETH_P_PAUSE) :
							   htons(PRIOFLOW_ETHERTYPE);
	skb_set_network_header(skb, ETH_HLEN);
	prioflow_frame_build(frame, skb_put(skb, PRIOFLOW_FRAME_SIZE));
	skb->dev = dev;
	skb->protocol = eth->h_proto;
	skb->priority = TC_PRIO_CONTROL;
	return skb;
}

/* What is asked now, as a frame. */
static struct prioflow_frame prioflow_link_say(struct prioflow_link *link, u8 level)
{
	link->said = level;
	link->frames_sent++;
	return (struct prioflow_frame) {
		.level = level,
		.lifetime_ms = level ? PRIOFLOW_LIFETIME_MS : 0,
		.instance = link->instance,
		.sequence = ++link->sequence,
	};
}

/* Says what is asked of the peer, and comes back while that must be repeated. */
static void prioflow_link_work(struct kthread_work *work)
{
	struct prioflow_link *link = container_of(work, struct prioflow_link, work.work);
	struct prioflow_port *port = prioflow_port_of(link);
	struct prioflow_frame frame;
	struct sk_buff *skb;
	bool again;
	u8 mode;

	spin_lock_bh(&port->lock);
	link->releases = port->receive_level ? PRIOFLOW_RELEASES : max(link->releases, 1) - 1;
	again = link->releases;
	frame = prioflow_link_say(link, port->receive_level);
	mode = link->mode;
	spin_unlock_bh(&port->lock);

	skb = prioflow_link_skb(port->dev, mode, &frame);
	if (skb)	/* else the next refresh says it */
		dev_queue_xmit(skb);
	if (again)
		kthread_queue_delayed_work(prioflow_worker, &link->work, PRIOFLOW_REFRESH);
}

/* Has what is asked of the peer said soon. The port's lock, any context. */
void prioflow_link_ask(struct prioflow_link *link)
{
	if (link->mode)
		kthread_mod_delayed_work(prioflow_worker, &link->work, 0);
}

/* Whether one more frame may be listened to. The port's lock. */
static bool prioflow_link_admits(struct prioflow_link *link, u64 now_ns)
{
	const u64 each_ns = NSEC_PER_SEC / PRIOFLOW_RATE;

	link->rate_ns = max(link->rate_ns, now_ns - min(now_ns, PRIOFLOW_BURST * each_ns));
	if (link->rate_ns + each_ns > now_ns)
		return false;
	link->rate_ns += each_ns;
	return true;
}

/* Whether the peer has held this port for too long, or did and is not listened to yet. */
static bool prioflow_link_storms(struct prioflow_port *port, u64 now_ns)
{
	struct prioflow_link *link = &port->link;

	if (now_ns < link->deaf_until_ns) {
		link->ignored++;
		return true;
	}
	if (!port->hold[PRIOFLOW_BY_PEER].level)
		link->held_since_ns = now_ns;
	if (!link->storm_ns || now_ns - link->held_since_ns <= link->storm_ns)
		return false;

	link->deaf_until_ns = now_ns + link->storm_ns;
	if (!link->storms++)
		netdev_warn(port->dev, "prioflow: the peer has paused this port for more than %llu ms and is ignored for as long; said once\n",
			    div_u64(link->storm_ns, NSEC_PER_MSEC));
	return true;
}

static void prioflow_link_obey(struct prioflow_port *port, const struct prioflow_frame *frame)
{
	struct prioflow_link *link = &port->link;
	u64 now_ns = ktime_get_ns();

	spin_lock(&port->lock);
	link->frames_received++;
	if (!link->mode)
		goto unlock;	/* it was switched off just now */
	if (!prioflow_link_admits(link, now_ns)) {
		link->limited++;
		goto unlock;
	}
	if (link->peer_known && link->peer_instance == frame->instance &&
	    (s32)(frame->sequence - link->peer_sequence) <= 0) {
		link->stale++;
		goto unlock;
	}
	link->peer_known = true;
	link->peer_instance = frame->instance;
	link->peer_sequence = frame->sequence;
	prioflow_port_expire(port, now_ns);
	if (frame->level && prioflow_link_storms(port, now_ns))
		prioflow_port_hold(port, PRIOFLOW_BY_PEER, 0, 0, now_ns);
	else
		prioflow_port_hold(port, PRIOFLOW_BY_PEER, frame->level,
				   frame->lifetime_ms * NSEC_PER_MSEC, now_ns);
unlock:
	spin_unlock(&port->lock);
}

/* In softirq, for every frame that the device receives. */
static unsigned int prioflow_link_receive(void *priv, struct sk_buff *skb,
					  const struct nf_hook_state *state)
{
	struct prioflow_port *port = priv;
	u8 octets[PRIOFLOW_FRAME_SIZE];
	struct prioflow_frame frame;
	enum prioflow_verdict verdict;
	u32 length;

	if (likely(skb->protocol != htons(ETH_P_PAUSE) &&
		   skb->protocol != htons(PRIOFLOW_ETHERTYPE)))
		return NF_ACCEPT;
	if (skb_vlan_tag_present(skb) || !skb_mac_header_was_set(skb) ||
	    !ether_addr_equal(eth_hdr(skb)->h_dest, prioflow_address))
		return NF_ACCEPT;
	length = min_t(u32, skb->len, sizeof(octets));
	if (skb_copy_bits(skb, 0, octets, length))
		return NF_ACCEPT;
	verdict = prioflow_frame_parse(octets, length, &frame);
	if (verdict == PRIOFLOW_FRAME_FOREIGN)
		return NF_ACCEPT;

	if (verdict == PRIOFLOW_FRAME_GOOD && is_valid_ether_addr(eth_hdr(skb)->h_source) &&
	    !ether_addr_equal(eth_hdr(skb)->h_source, port->dev->dev_addr)) {
		prioflow_link_obey(port, &frame);
	} else {
		spin_lock(&port->lock);
		port->link.malformed++;
		spin_unlock(&port->lock);
	}
	consume_skb(skb);
	return NF_STOLEN;
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
		NL_SET_ERR_MSG(extack, "prioflow: flow control is between the ends of one wire: this device has none; use the Ethernet ports below it");
		return -EOPNOTSUPP;
	}
	link->hook = (struct nf_hook_ops) {
		.hook		= prioflow_link_receive,
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
		NL_SET_ERR_MSG(extack, "prioflow: the device does not take the address of flow control frames");
		goto err_forward;
	}
	err = nf_register_net_hook(dev_net(port->dev), &link->hook);
	if (err) {
		NL_SET_ERR_MSG(extack, "prioflow: the kernel gives no netfilter ingress hook, which receives flow control frames");
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
	struct prioflow_frame frame;
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
		frame = prioflow_link_say(link, 0);
	link->releases = 0;
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, 0, 0, ktime_get_ns());
	spin_unlock_bh(&port->lock);
	if (release)
		skb = prioflow_link_skb(port->dev, mode, &frame);
	if (skb)
		dev_queue_xmit(skb);
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

/* Begins or ends flow control with the peer; nothing has changed if it fails. RTNL. */
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack)
{
	struct prioflow_link *link = &port->link;
	u8 before = link->mode;
	int err;

	ASSERT_RTNL();
	if (mode == before)
		return 0;
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
