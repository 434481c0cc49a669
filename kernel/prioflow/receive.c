// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: sockets that send pause requests before their buffer is full.
 *
 * The fill level of a socket is sk_rmem_alloc, which the kernel compares with SO_RCVBUF when
 * it drops. It rises to the high mark when a packet is received: sk_data_ready checks that
 * (XOFF). It falls to the low mark when a program reads, which has no callback: a timer polls
 * the sockets in XOFF, round robin, and also notices closed ones (XON). A polled socket is
 * referenced, so that its destruction need not wait for the timer.
 */
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "prioflow.h"

/* Poll interval; bounds the latency of an XON. */
#define PRIOFLOW_POLL_NS	(250 * NSEC_PER_USEC)
/* Sockets per poll: thousands of them must not take all time of a slow processor. */
#define PRIOFLOW_POLL_BATCH		8
#define PRIOFLOW_HEADERS	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr))
#define PRIOFLOW_HEADERS_MAX	(VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

/* Sockets in XOFF, of all namespaces. */
static struct {
	spinlock_t lock;		/* nests in a receiver's */
	struct list_head receivers;		/* next first; only the timer removes */
	u32 count;			/* of receivers */
	bool timer_runs;			/* while there are any */
	struct hrtimer timer;
} prioflow_polled = {
	.lock	= __SPIN_LOCK_UNLOCKED(prioflow_polled.lock),
	.receivers = LIST_HEAD_INIT(prioflow_polled.receivers),
};

/* Requests @level from the peers, or nothing if it is 0. */
static void prioflow_receive_request(struct prioflow_socket *socket, u8 level)
{
	struct prioflow_receiver *receiver = &socket->receiver;

	lockdep_assert_held(&receiver->lock);
	prioflow_net_request(prioflow_net_of(sock_net(socket->sk)), receiver->requested, level);
	receiver->requested = level;
}

/* Has the timer poll the socket until XON. */
static void prioflow_receive_start_polling(struct prioflow_receiver *receiver)
{
	lockdep_assert_held(&receiver->lock);
	spin_lock(&prioflow_polled.lock);
	list_add_tail(&receiver->node, &prioflow_polled.receivers);
	prioflow_polled.count++;
	if (!prioflow_polled.timer_runs)
		hrtimer_start(&prioflow_polled.timer, PRIOFLOW_POLL_NS, HRTIMER_MODE_REL_SOFT);
	prioflow_polled.timer_runs = true;
	spin_unlock(&prioflow_polled.lock);
}

/* The socket has reached its high mark: XOFF. Any context but hardirq. */
static void prioflow_receive_xoff(struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;

	spin_lock_bh(&receiver->lock);
	/* A socket that is being destroyed may still receive a packet. */
	if (receiver->level != PRIOFLOW_NO_LEVEL && !receiver->requested &&
	    refcount_inc_not_zero(&sk->sk_refcnt)) {
		receiver->pause_requests++;
		prioflow_receive_request(socket, receiver->level + 1);
		prioflow_receive_start_polling(receiver);
	}
	spin_unlock_bh(&receiver->lock);
}

/* Replaces the socket's sk_data_ready. Softirqs off, RCU. */
static void prioflow_receive_data_ready(struct sock *sk)
{
	struct prioflow_socket *socket = prioflow_socket_find(sk);
	struct prioflow_receiver *receiver = &socket->receiver;
	int high = min_t(int, READ_ONCE(receiver->high),
			 READ_ONCE(sk->sk_rcvbuf) - READ_ONCE(receiver->headroom));

	if (sk_rmem_alloc_get(sk) >= high)
		prioflow_receive_xoff(socket);
	receiver->ready(sk);
}

/* The next socket to poll; moves it to the end of the list. */
static struct prioflow_socket *prioflow_receive_next(void)
{
	struct prioflow_receiver *receiver;

	spin_lock(&prioflow_polled.lock);
	receiver = list_first_entry(&prioflow_polled.receivers, struct prioflow_receiver, node);
	list_move_tail(&receiver->node, &prioflow_polled.receivers);
	spin_unlock(&prioflow_polled.lock);
	return container_of(receiver, struct prioflow_socket, receiver);
}

/* Polls a socket in XOFF: XON, or another level if the socket has changed it. */
static void prioflow_receive_poll_one(struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;
	bool xon;

	spin_lock(&receiver->lock);
	xon = receiver->level == PRIOFLOW_NO_LEVEL || sock_flag(sk, SOCK_DEAD) ||
	       sk_rmem_alloc_get(sk) <= receiver->low;
	if (xon) {
		prioflow_receive_request(socket, 0);
		spin_lock(&prioflow_polled.lock);
		list_del(&receiver->node);
		prioflow_polled.count--;
		spin_unlock(&prioflow_polled.lock);
	} else if (receiver->requested != receiver->level + 1) {
		prioflow_receive_request(socket, receiver->level + 1);
	}
	spin_unlock(&receiver->lock);
	if (xon)
		sock_put(sk);
}

/* The timer, while a socket is in XOFF. */
static enum hrtimer_restart prioflow_receive_poll(struct hrtimer *timer)
{
	u32 looks = min_t(u32, READ_ONCE(prioflow_polled.count), PRIOFLOW_POLL_BATCH);
	bool again;

	lockdep_assert_in_softirq();
	while (looks--)
		prioflow_receive_poll_one(prioflow_receive_next());
	spin_lock(&prioflow_polled.lock);
	again = prioflow_polled.count;
	prioflow_polled.timer_runs = again;
	/* From now on, so that the interval is free whatever the polls have taken. */
	if (again)
		hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), PRIOFLOW_POLL_NS));
	spin_unlock(&prioflow_polled.lock);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* The truesize of a frame with @payload octets, as usual drivers allocate it. */
static u32 prioflow_receive_charge(u32 payload)
{
	u32 data = SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + PRIOFLOW_HEADERS_MAX + payload) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));

	return roundup_pow_of_two(max_t(u32, data, 2048)) +
	       SKB_DATA_ALIGN(sizeof(struct sk_buff));
}

/*
 * The headroom for in-flight frames of one port after XOFF, if every frame has @payload
 * octets and is for one socket.
 */
static int prioflow_receive_port_headroom(const struct prioflow_port *port, u32 payload,
				      struct prioflow_receive *need)
{
	u32 octets, frames, headroom;
	int err;

	/* Larger datagrams are received as fragments. */
	payload = min_t(u32, payload, READ_ONCE(port->dev->mtu));
	octets = max_t(u32, payload + PRIOFLOW_HEADERS, ETH_ZLEN) + PRIOFLOW_WIRE_OVERHEAD;
	err = prioflow_port_in_flight(port, port->link.reaction_us, port->link.ring, octets,
				      &frames);
	if (err)
		return err;
	headroom = min_t(u64, (u64)frames * prioflow_receive_charge(payload), S32_MAX);
	if (headroom > need->headroom) {
		need->headroom = headroom;
		need->frames = frames;
	}
	return 0;
}

/* The socket's headroom: the largest of all ports with a link. */
int prioflow_receive_headroom(const struct net *net, u32 payload, struct prioflow_receive *need)
{
	struct prioflow_port *port;
	int err = -ENODEV;

	ASSERT_RTNL();
	need->headroom = 0;
	need->frames = 0;
	list_for_each_entry(port, &prioflow_net_of(net)->ports, list) {
		if (port->link.mode == PRIOFLOW_LINK_OFF)
			continue;
		err = prioflow_receive_port_headroom(port, payload, need);
		if (err)
			break;
	}
	return err;
}

/* Sets checked marks and level, or opts out. */
void prioflow_receive_set(struct prioflow_socket *socket, const struct prioflow_receive *set)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;

	sock_owned_by_me(sk);
	spin_lock_bh(&receiver->lock);
	receiver->level = set->level;
	if (set->level != PRIOFLOW_NO_LEVEL) {
		WRITE_ONCE(receiver->high, set->high);
		WRITE_ONCE(receiver->headroom, set->headroom);
		receiver->low = set->low;
	}
	spin_unlock_bh(&receiver->lock);
	if (!receiver->ready) {
		receiver->ready = sk->sk_data_ready;
		write_lock_bh(&sk->sk_callback_lock);
		/* A caller must find receiver->ready set. */
		smp_store_release(&sk->sk_data_ready, prioflow_receive_data_ready);
		write_unlock_bh(&sk->sk_callback_lock);
	}
	/* The socket may be above the high mark already. */
	if (set->level != PRIOFLOW_NO_LEVEL && sk_rmem_alloc_get(sk) >= set->high)
		prioflow_receive_xoff(socket);
}

void prioflow_receive_init(struct prioflow_socket *socket)
{
	spin_lock_init(&socket->receiver.lock);
	socket->receiver.level = PRIOFLOW_NO_LEVEL;
}

int prioflow_receive_module_init(void)
{
	hrtimer_setup(&prioflow_polled.timer, prioflow_receive_poll, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	return 0;
}

/* No socket is left, but the last poll may still run. */
void prioflow_receive_module_exit(void)
{
	hrtimer_cancel(&prioflow_polled.timer);
}
