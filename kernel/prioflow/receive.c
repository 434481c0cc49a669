// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: sockets that ask for silence before their buffer is full.
 *
 * What a socket holds is what the kernel charges to it, and compares with SO_RCVBUF when
 * it drops. It reaches the high mark when a packet comes, so the callback of new data
 * looks. It falls to the low one when a program reads, which has no callback: a timer
 * looks at the sockets that ask, in turn, and sees one that was closed as well. Those
 * that wait for a look are referred to, so that their end has not to wait for the timer.
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

/* So long the timer rests: a reader that is quicker waits so long. */
#define PRIOFLOW_LOOK_NS	(250 * NSEC_PER_USEC)
/*
 * So many it looks at then. The others have to wait for theirs: thousands of them on a
 * slow processor must not take all its time.
 */
#define PRIOFLOW_LOOKS		8
#define PRIOFLOW_HEADERS	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr))
#define PRIOFLOW_HEADERS_MAX	(VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

/* Sockets that ask, in all namespaces. */
static struct {
	spinlock_t lock;		/* after a receiver's */
	struct list_head turns;		/* the next to be looked at; only the timer takes off */
	u32 count;			/* how many they are */
	bool watched;			/* by the timer, which runs while there are any */
	struct hrtimer timer;
} prioflow_asking = {
	.lock	= __SPIN_LOCK_UNLOCKED(prioflow_asking.lock),
	.turns	= LIST_HEAD_INIT(prioflow_asking.turns),
};

/* Has the peers asked for @level, or for nothing if it is 0. The receiver's lock. */
static void prioflow_receive_ask(struct prioflow_socket *socket, u8 level)
{
	struct prioflow_receiver *receiver = &socket->receiver;

	prioflow_net_ask(prioflow_net_of(sock_net(socket->sk)), receiver->asked, level);
	receiver->asked = level;
}

/* Has the socket looked at until it asks no more. The receiver's lock. */
static void prioflow_receive_watch(struct prioflow_receiver *receiver)
{
	spin_lock(&prioflow_asking.lock);
	list_add_tail(&receiver->turn, &prioflow_asking.turns);
	prioflow_asking.count++;
	if (!prioflow_asking.watched)
		hrtimer_start(&prioflow_asking.timer, PRIOFLOW_LOOK_NS, HRTIMER_MODE_REL_SOFT);
	prioflow_asking.watched = true;
	spin_unlock(&prioflow_asking.lock);
}

/* The socket holds more than its high mark. Any context but hardirq. */
static void prioflow_receive_above(struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;

	spin_lock_bh(&receiver->lock);
	/* A packet may still come to a socket that is on its way to destruction. */
	if (receiver->level != PRIOFLOW_NO_LEVEL && !receiver->asked &&
	    refcount_inc_not_zero(&sk->sk_refcnt)) {
		receiver->asks++;
		prioflow_receive_ask(socket, receiver->level + 1);
		prioflow_receive_watch(receiver);
	}
	spin_unlock_bh(&receiver->lock);
}

/* Takes the place of the socket's callback of new data. Softirqs off, RCU. */
static void prioflow_receive_ready(struct sock *sk)
{
	struct prioflow_socket *socket = prioflow_socket_find(sk);
	struct prioflow_receiver *receiver = &socket->receiver;
	int high = min_t(int, READ_ONCE(receiver->high),
			 READ_ONCE(sk->sk_rcvbuf) - READ_ONCE(receiver->headroom));

	if (sk_rmem_alloc_get(sk) >= high)
		prioflow_receive_above(socket);
	receiver->ready(sk);
}

/* Whose turn it is; the next turn is another's. */
static struct prioflow_socket *prioflow_receive_turn(void)
{
	struct prioflow_receiver *receiver;

	spin_lock(&prioflow_asking.lock);
	receiver = list_first_entry(&prioflow_asking.turns, struct prioflow_receiver, turn);
	list_move_tail(&receiver->turn, &prioflow_asking.turns);
	spin_unlock(&prioflow_asking.lock);
	return container_of(receiver, struct prioflow_socket, receiver);
}

/* Looks at a socket that asks: whether it still has to, and for what. */
static void prioflow_receive_look(struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;
	bool ends;

	spin_lock(&receiver->lock);
	ends = receiver->level == PRIOFLOW_NO_LEVEL || sock_flag(sk, SOCK_DEAD) ||
	       sk_rmem_alloc_get(sk) <= receiver->low;
	if (ends) {
		prioflow_receive_ask(socket, 0);
		spin_lock(&prioflow_asking.lock);
		list_del(&receiver->turn);
		prioflow_asking.count--;
		spin_unlock(&prioflow_asking.lock);
	} else if (receiver->asked != receiver->level + 1) {
		prioflow_receive_ask(socket, receiver->level + 1);
	}
	spin_unlock(&receiver->lock);
	if (ends)
		sock_put(sk);
}

/* In softirq, while a socket asks. */
static enum hrtimer_restart prioflow_receive_looks(struct hrtimer *timer)
{
	u32 looks = min_t(u32, READ_ONCE(prioflow_asking.count), PRIOFLOW_LOOKS);
	bool again;

	while (looks--)
		prioflow_receive_look(prioflow_receive_turn());
	spin_lock(&prioflow_asking.lock);
	again = prioflow_asking.count;
	prioflow_asking.watched = again;
	/* From now on, so that it rests however long the looks have taken. */
	if (again)
		hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), PRIOFLOW_LOOK_NS));
	spin_unlock(&prioflow_asking.lock);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* What a socket is charged for a frame with @payload octets, by drivers as they are. */
static u32 prioflow_receive_charge(u32 payload)
{
	u32 data = SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + PRIOFLOW_HEADERS_MAX + payload) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));

	return roundup_pow_of_two(max_t(u32, data, 2048)) +
	       SKB_DATA_ALIGN(sizeof(struct sk_buff));
}

/*
 * What can still come by this port after it has asked for silence, if every frame has
 * @payload octets and is for one socket.
 */
static int prioflow_receive_in_flight(const struct prioflow_port *port, u32 payload,
				      struct prioflow_receive *need)
{
	u32 octets, frames, headroom;
	int err;

	/* Larger datagrams come in fragments. */
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

/* What the socket needs: the most of all ports that have a link. RTNL. */
int prioflow_receive_needs(const struct net *net, u32 payload, struct prioflow_receive *need)
{
	struct prioflow_port *port;
	int err = -ENODEV;

	ASSERT_RTNL();
	need->headroom = 0;
	need->frames = 0;
	list_for_each_entry(port, &prioflow_net_of(net)->ports, list) {
		if (port->link.mode == PRIOFLOW_LINK_OFF)
			continue;
		err = prioflow_receive_in_flight(port, payload, need);
		if (err)
			break;
	}
	return err;
}

/* Sets the marks and the level, which were checked, or stops. The socket's lock. */
void prioflow_receive_set(struct prioflow_socket *socket, const struct prioflow_receive *set)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;

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
		/* Whoever calls it finds the one that it leads to. */
		smp_store_release(&sk->sk_data_ready, prioflow_receive_ready);
		write_unlock_bh(&sk->sk_callback_lock);
	}
	/* What has come before brings nobody to look. */
	if (set->level != PRIOFLOW_NO_LEVEL && sk_rmem_alloc_get(sk) >= set->high)
		prioflow_receive_above(socket);
}

void prioflow_receive_init(struct prioflow_socket *socket)
{
	spin_lock_init(&socket->receiver.lock);
	socket->receiver.level = PRIOFLOW_NO_LEVEL;
}

int prioflow_receive_module_init(void)
{
	hrtimer_setup(&prioflow_asking.timer, prioflow_receive_looks, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	return 0;
}

/* Nobody asks any more, but the last look may not have returned. */
void prioflow_receive_module_exit(void)
{
	hrtimer_cancel(&prioflow_asking.timer);
}
