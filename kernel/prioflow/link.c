// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: flow control with the other end of a port's wire (docs/protocol.md), by level
 * frames, or by PAUSE or PFC with standard equipment.
 *
 * Frames are received at the device's netfilter ingress hook (rx.c), which runs before a
 * bridge: a bridge drops frames to this address. A real-time thread of the port sends a
 * frame whenever the request changes, repeats it soon, to survive lost frames, and refreshes
 * it as long as it asks for a pause. It depends on no softirq and on no other port: a
 * high-resolution timer wakes it, and it has frames to send without memory.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>

#include "../compat/compat.h"
#include "prioflow.h"

#define PRIOFLOW_REFRESH_NS	(PRIOFLOW_LIFETIME_MS * NSEC_PER_MSEC / 4)
/* A pause must not end before the thread can refresh it. */
#define PRIOFLOW_LIFETIME_MIN_NS	(400 * NSEC_PER_USEC)
/* While the link rate is unknown. */
#define PRIOFLOW_RATE_MBPS	1000
/* A resume is sent once and repeated so often: if all are lost, it costs a lifetime. */
#define PRIOFLOW_RESUME_REPEATS	2
/* Frames that a pause request must not wait for: with it, the one within its reaction time. */
#define PRIOFLOW_SAFE_REPEATS	3
/* First interval between repeats, at least. */
#define PRIOFLOW_REPEAT_MIN_NS	(50 * NSEC_PER_USEC)
/* How many times as long as sending took others have the CPU: receiving takes time, too. */
#define PRIOFLOW_OTHERS_SHARE	3
/* Looks at whether another CPU has enqueued a packet, and time between them. */
#define PRIOFLOW_ENQUEUE_LOOKS	10
#define PRIOFLOW_ENQUEUE_US	20
/* Frames in stock. */
#define PRIOFLOW_SPARE		8

const u8 prioflow_address[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

/*
 * Waits until a qdisc has cleared the mark of a packet that has been sent, and clears it. Since 6.19
 * another CPU may enqueue it, a little later; and it may have been dropped on its way.
 */
void prioflow_link_await_enqueue(const struct sk_buff **mark, const struct sk_buff *skb)
{
	u32 looks = PRIOFLOW_ENQUEUE_LOOKS;

	while (READ_ONCE(*mark) == skb && looks--)
		usleep_range(PRIOFLOW_ENQUEUE_US, 2 * PRIOFLOW_ENQUEUE_US);
	WRITE_ONCE(*mark, NULL);
}

/* Puts a frame without content in stock. */
static bool prioflow_link_store(struct prioflow_port *port, gfp_t flags)
{
	struct net_device *dev = port->dev;
	u32 reserve = LL_RESERVED_SPACE(dev);
	struct sk_buff *skb;

	skb = alloc_skb(reserve + ETH_ZLEN + dev->needed_tailroom, flags);
	if (!skb)
		return false;
	skb_reserve(skb, reserve);
	__skb_queue_tail(&port->link.spare, skb);
	return true;
}

/*
 * Gives a frame to the driver, past the qdiscs: who has one run may be preempted in the driver, for
 * longer than a pause lasts, and would keep what is enqueued meanwhile. The lock of the driver's queue
 * inherits priority (PREEMPT_RT). Returns false if the queue takes no frame now.
 */
static bool prioflow_link_pass_qdiscs(struct net_device *dev, struct sk_buff *skb)
{
	struct netdev_queue *txq;
	bool passed = false;
	u16 queue;

	/* Packet sockets lock their queues without disabling softirqs, which lock them, too. */
	local_bh_disable();
	queue = netdev_pick_tx(dev, skb, NULL);
	txq = netdev_get_tx_queue(dev, queue);
	/* Without a carrier the core would count each as a drop of the device. */
	if (netif_running(dev) && netif_carrier_ok(dev) && !netif_xmit_frozen_or_drv_stopped(txq)) {
		/* Packet sockets see it as they would on its usual way. */
		if (dev_nit_active(dev))
			dev_queue_xmit_nit(skb, dev);
		passed = dev_xmit_complete(__dev_direct_xmit(skb, queue));
	}
	local_bh_enable();
	return passed;
}

/* Sends a frame with this payload. The sending thread, or RTNL without one. */
static void prioflow_link_transmit(struct prioflow_port *port, u8 mode, const u8 *octets)
{
	struct prioflow_link *link = &port->link;
	struct net_device *dev = port->dev;
	struct sk_buff *skb;
	struct ethhdr *eth;

	while (skb_queue_len(&link->spare) < PRIOFLOW_SPARE &&
	       prioflow_link_store(port, GFP_NOWAIT | __GFP_NOWARN))
		;
	skb = __skb_dequeue(&link->spare);
	if (!skb) {	/* a later repeat sends it */
		spin_lock_bh(&port->lock);
		link->no_memory++;
		spin_unlock_bh(&port->lock);
		return;
	}
	skb_reset_mac_header(skb);
	eth = skb_put(skb, ETH_HLEN);
	ether_addr_copy(eth->h_dest, prioflow_address);
	ether_addr_copy(eth->h_source, dev->dev_addr);
	eth->h_proto = mode == PRIOFLOW_LINK_EXPERIMENTAL ? htons(PRIOFLOW_ETHERTYPE) :
							    htons(ETH_P_PAUSE);
	skb_set_network_header(skb, ETH_HLEN);
	skb_put_data(skb, octets, PRIOFLOW_FRAME_SIZE);
	skb->dev = dev;
	skb->protocol = eth->h_proto;
	skb->priority = TC_PRIO_CONTROL;
	if (prioflow_link_pass_qdiscs(dev, skb))
		return;
	/* By this the qdisc tells it from a forged one (classify.c). */
	WRITE_ONCE(link->own, skb);
	dev_queue_xmit(skb);
	prioflow_link_await_enqueue(&link->own, skb);
}

/* Writes the payload of a frame that requests a pause of the levels of @mask. */
static void prioflow_link_build(struct prioflow_port *port, u8 mode, u16 mask, u64 now_ns,
				u8 *octets)
{
	struct prioflow_link *link = &port->link;
	struct prioflow_frame frame = {
		.mask = mask,
		.lifetime_ms = mask ? PRIOFLOW_LIFETIME_MS : 0,
		.instance = link->instance,
		.obeys = link->obeys,
		.ignores = !!prioflow_storm_ignored(&link->storm, now_ns),
		.ring = link->ring,
		.reaction_us = link->reaction_us,
		.acked_instance = link->peer.instance,
		.acked_sequence = link->peer.sequence,
	};

	lockdep_assert_held(&port->lock);
	link->last_sent = mask;
	link->frames_sent++;
	if (prioflow_link_is_standard(mode)) {
		prioflow_pause_build(mode == PRIOFLOW_LINK_PFC, mask, link->quanta, octets);
	} else {
		frame.sequence = ++link->sequence;
		prioflow_frame_build(&frame, octets);
	}
}

/* The interval at which a pause is refreshed. A link that has become too fast is refreshed too late. */
static u64 prioflow_link_refresh_ns(const struct prioflow_link *link)
{
	if (!prioflow_link_is_standard(link->mode))
		return PRIOFLOW_REFRESH_NS;
	return max_t(u64, link->refresh_ns, PRIOFLOW_LIFETIME_MIN_NS / 4);
}

/*
 * When to send next, after one more frame with the same request. A lost frame is repeated
 * within the reaction time, which the headroom covers, and then in doubling intervals.
 */
static u64 prioflow_link_interval_ns(struct prioflow_link *link, u16 mask)
{
	bool standard = prioflow_link_is_standard(link->mode);
	u32 doublings;
	u64 first_ns;

	if (!mask && link->repeats >= PRIOFLOW_RESUME_REPEATS)
		return standard ? PRIOFLOW_FOREVER : PRIOFLOW_HELLO_MS * NSEC_PER_MSEC;
	first_ns = max_t(u64, link->reaction_us * NSEC_PER_USEC / 4, PRIOFLOW_REPEAT_MIN_NS);
	/* A quarter, then another, then half: the time since the first frame doubles. */
	doublings = min(link->repeats, 31U);
	link->repeats++;
	return min(first_ns << (doublings ? doublings - 1 : 0), prioflow_link_refresh_ns(link));
}

/* Sends the request in force, and says when to send next. */
static void prioflow_link_send(struct prioflow_port *port)
{
	u8 octets[PRIOFLOW_FRAME_SIZE], mode, state;
	struct prioflow_link *link = &port->link;
	u64 now_ns = ktime_get_ns(), interval_ns;

	spin_lock_bh(&port->lock);
	mode = link->mode;
	if (!mode) {	/* being switched off: that sends the last frame */
		link->next_ns = PRIOFLOW_FOREVER;
		spin_unlock_bh(&port->lock);
		return;
	}
	prioflow_link_build(port, mode, port->request, now_ns, octets);
	interval_ns = prioflow_link_interval_ns(link, port->request);
	link->next_ns = interval_ns == PRIOFLOW_FOREVER ? PRIOFLOW_FOREVER : now_ns + interval_ns;
	state = prioflow_peer_state(link, port->request, now_ns);
	if (state != link->peer.state) {
		link->peer.state = state;
		prioflow_event(port, PRIOFLOW_CMD_PEER, now_ns);
	}
	spin_unlock_bh(&port->lock);
	prioflow_link_transmit(port, mode, octets);
}

/*
 * When the thread sends next, after a frame that it had sent at @sent_ns. Others get the larger part of
 * the CPU's time: refreshes on a CPU that is slower than they are, or a program that changes the
 * request all the time, would leave them none. A new request, and the repeats that make it safe,
 * wait no longer than a first repeat does.
 */
static u64 prioflow_link_next_ns(struct prioflow_port *port, u64 sent_ns, u64 cost_ns)
{
	u64 next_ns, others_ns = cost_ns * PRIOFLOW_OTHERS_SHARE;

	spin_lock_bh(&port->lock);
	next_ns = port->link.next_ns;
	if (port->link.repeats <= PRIOFLOW_SAFE_REPEATS)
		others_ns = min_t(u64, others_ns, PRIOFLOW_REPEAT_MIN_NS);
	spin_unlock_bh(&port->lock);
	return max(next_ns, sent_ns + others_ns);
}

/*
 * What sending a frame has cost the CPU, if it took so long and the last one had cost @before_ns. Time
 * in which others had the CPU is no cost: waiting for longer would let pauses end.
 */
static u64 prioflow_link_cost_ns(struct prioflow_port *port, u64 took_ns, u64 before_ns,
				 bool interrupted)
{
	u64 usual_ns;

	if (!interrupted)
		return took_ns;
	spin_lock_bh(&port->lock);
	usual_ns = div_u64(prioflow_link_refresh_ns(&port->link), 2 * PRIOFLOW_OTHERS_SHARE);
	spin_unlock_bh(&port->lock);
	return min(took_ns, max(before_ns, usual_ns));
}

/* The port's sending thread. */
static int prioflow_link_run(void *data)
{
	u64 begun_ns, sent_ns = 0, cost_ns = 0;
	struct prioflow_port *port = data;
	unsigned long switches;
	ktime_t next;

	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		next = ns_to_ktime(min_t(u64, prioflow_link_next_ns(port, sent_ns, cost_ns),
					 KTIME_MAX));
		if (ktime_before(ktime_get(), next)) {
			schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
			continue;
		}
		__set_current_state(TASK_RUNNING);
		switches = current->nvcsw + current->nivcsw;
		begun_ns = ktime_get_ns();
		prioflow_link_send(port);
		sent_ns = ktime_get_ns();
		cost_ns = prioflow_link_cost_ns(port, sent_ns - begun_ns, cost_ns,
						current->nvcsw + current->nivcsw != switches);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Has the thread send the request, and repeat it from the beginning. Any context. */
void prioflow_link_request(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;

	lockdep_assert_held(&port->lock);
	link->repeats = 0;
	link->next_ns = 0;
	if (link->thread && link->mode)
		wake_up_process(link->thread);
}

/* Whether the device shares a wire of another device, or tunnels through it. */
static bool prioflow_link_is_virtual(const struct net_device *dev)
{
	static const char * const kinds[] = {
		"ipvlan", "ipvtap", "vxlan", "geneve", "macsec", "gretap", "ip6gretap", "erspan",
		"ip6erspan", "hsr",
	};
	u32 i;

	for (i = 0; dev->rtnl_link_ops && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(dev->rtnl_link_ops->kind, kinds[i]))
			return true;
	return is_vlan_dev(dev) || netif_is_macvlan(dev);
}

/* Whether the device is one end of a wire with one peer. */
static bool prioflow_link_possible(const struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER && !(dev->flags & IFF_LOOPBACK) &&
	       !netif_is_bridge_master(dev) && !netif_is_lag_master(dev) &&
	       !prioflow_link_is_virtual(dev);
}

/* Makes the sending thread and its stock of frames. It does not send yet. */
static int prioflow_link_make_thread(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;
	struct task_struct *thread;

	ASSERT_RTNL();
	while (skb_queue_len(&link->spare) < PRIOFLOW_SPARE)
		if (!prioflow_link_store(port, GFP_KERNEL))
			goto no_memory;
	spin_lock_bh(&port->lock);
	link->next_ns = PRIOFLOW_FOREVER;
	spin_unlock_bh(&port->lock);
	thread = kthread_run(prioflow_link_run, port, "prioflow/%s", port->dev->name);
	if (IS_ERR(thread))
		goto no_memory;
	/*
	 * A late XOFF loses packets, a late resume costs throughput. chrt changes the priority. A user
	 * namespace's root may have no real-time threads.
	 */
	if (dev_net(port->dev)->user_ns == &init_user_ns)
		sched_set_fifo(thread);
	spin_lock_bh(&port->lock);
	link->thread = thread;
	spin_unlock_bh(&port->lock);
	return 0;

no_memory:
	__skb_queue_purge(&link->spare);
	return -ENOMEM;
}

static void prioflow_link_end_thread(struct prioflow_port *port)
{
	struct prioflow_link *link = &port->link;
	struct task_struct *thread = link->thread;

	ASSERT_RTNL();
	spin_lock_bh(&port->lock);
	link->thread = NULL;
	spin_unlock_bh(&port->lock);
	kthread_stop(thread);
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
	err = prioflow_link_make_thread(port);
	if (err)
		return err;
	err = prioflow_forward_start(port, extack);
	if (err)
		goto err_thread;
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
err_thread:
	prioflow_link_end_thread(port);
	__skb_queue_purge(&link->spare);
	return err;
}

/*
 * Stops receiving from the peer, and resumes it. @last: the port's last qdisc is being
 * destroyed and can send no more, so the request ends by its lifetime.
 */
static void prioflow_link_stop(struct prioflow_port *port, u8 mode, bool last)
{
	struct prioflow_link *link = &port->link;
	u8 octets[PRIOFLOW_FRAME_SIZE];
	bool resume;
	u64 now_ns;

	ASSERT_RTNL();
	nf_unregister_net_hook(dev_net(port->dev), &link->hook);
	dev_mc_del(port->dev, prioflow_address);
	prioflow_forward_stop(port);
	prioflow_link_end_thread(port);
	spin_lock_bh(&port->lock);
	now_ns = ktime_get_ns();
	resume = link->last_sent && !last;
	if (resume)
		prioflow_link_build(port, mode, 0, now_ns, octets);
	prioflow_port_expire(port, now_ns);
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, PRIOFLOW_PAUSABLE, 0);
	prioflow_port_apply(port, now_ns);
	spin_unlock_bh(&port->lock);
	if (resume)
		prioflow_link_transmit(port, mode, octets);
	__skb_queue_purge(&link->spare);
	prioflow_receive_forget(port);
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

static bool prioflow_link_is_too_fast(const struct prioflow_link *link)
{
	return link->refresh_ns < PRIOFLOW_LIFETIME_MIN_NS / 4;
}

/* Computes length and refresh interval of a pause from the link rate. */
void prioflow_link_measure(struct prioflow_port *port)
{
	u32 known = prioflow_port_rate(port), rate = known ?: PRIOFLOW_RATE_MBPS;
	struct prioflow_link *link = &port->link;
	u64 lifetime_ns, longest;

	longest = div_u64((u64)rate * PRIOFLOW_LIFETIME_MS * (USEC_PER_SEC / MSEC_PER_SEC),
			  PRIOFLOW_QUANTUM_BITS);
	spin_lock_bh(&port->lock);
	link->rate_mbps = known;
	link->pause_mbps = rate;
	link->quanta = min_t(u64, longest, PRIOFLOW_QUANTA_MAX);
	lifetime_ns = div_u64((u64)link->quanta * PRIOFLOW_QUANTUM_BITS *
			      (NSEC_PER_SEC / USEC_PER_SEC), rate);
	link->refresh_ns = lifetime_ns / 4;
	spin_unlock_bh(&port->lock);
	if (prioflow_link_is_too_fast(link) && prioflow_link_is_standard(link->mode) &&
	    net_ratelimit())
		netdev_warn(port->dev, "prioflow: at this link rate a pause ends before it can be refreshed\n");
}

/*
 * Enables or disables flow control with the peer; unchanged on failure. The link rate has been
 * measured.
 */
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack)
{
	struct prioflow_link *link = &port->link;
	u8 before = link->mode;
	int err;

	ASSERT_RTNL();
	if (mode == before)
		return 0;
	if (prioflow_link_is_standard(mode) && prioflow_link_is_too_fast(link)) {
		NL_SET_ERR_MSG_MOD(extack, "at this link rate the longest pause ends before it can be refreshed; use level frames");
		return -EOPNOTSUPP;
	}
	if (!before) {
		err = prioflow_link_start(port, extack);
		if (err)
			return err;
	}
	if (mode == PRIOFLOW_LINK_PFC &&
	    prioflow_receive_has_level(port->net, port->forward.slot, PRIOFLOW_TOP_LEVEL - 1)) {
		NL_SET_ERR_MSG_MOD(extack, "a receiver has level 14, which PFC cannot pause");
		if (!before)
			prioflow_link_stop(port, mode, true);
		return -ERANGE;
	}
	spin_lock_bh(&port->lock);
	link->mode = mode;
	if (mode) {
		prioflow_peer_start(&link->peer, ktime_get_ns());
		prioflow_link_request(port);
	}
	spin_unlock_bh(&port->lock);
	if (!mode)
		prioflow_link_stop(port, before, false);
	prioflow_receive_measure(port->net);
	return 0;
}

void prioflow_link_init(struct prioflow_link *link)
{
	__skb_queue_head_init(&link->spare);
	link->storm.limit_ns = (u64)PRIOFLOW_STORM_MS * NSEC_PER_MSEC;
	link->reaction_us = PRIOFLOW_REACTION_US;
	link->ring = PRIOFLOW_RING;
	link->obeys = PRIOFLOW_TOP_LEVEL;
	link->instance = get_random_u32();
	link->sequence = get_random_u32();
	link->peer.confirmed = link->sequence;
}

/* Fills in the link's counters. */
void prioflow_link_fill(const struct prioflow_port *port, u64 now_ns,
			struct tc_prioflow_link *stats)
{
	const struct prioflow_link *link = &port->link;
	const struct prioflow_peer *peer = &link->peer;

	lockdep_assert_held(&port->lock);
	stats->frames_sent = link->frames_sent;
	stats->frames_received = link->frames_received;
	stats->malformed = link->malformed;
	stats->stale = link->stale;
	stats->limited = link->limited;
	stats->ignored = link->storm.ignored;
	stats->storms = link->storm.count;
	stats->foreign = link->foreign;
	stats->no_memory = link->no_memory;
	stats->thread = link->thread ? task_pid_nr(link->thread) : 0;
	ether_addr_copy(stats->peer, peer->address);
	stats->peer_state = prioflow_peer_state(link, port->request, now_ns);
	stats->peer_version = peer->version;
	stats->peer_obeys = peer->obeys;
	stats->peer_ring = peer->ring;
	stats->peer_reaction_us = peer->reaction_us;
	stats->peer_silent_ns = peer->last_rx_ns ? now_ns - peer->last_rx_ns : 0;
}
