// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: sockets that ask for silence before their buffer is full.
 *
 * What a socket holds is what the kernel charges to it, and compares with SO_RCVBUF when
 * it drops. It reaches the high mark when a packet comes, so the callback of new data
 * looks. It falls to the low one when a program reads, which has no callback: a timer
 * looks while the socket asks, and sees a socket that was closed as well. The timer
 * refers to the socket, so that neither has to wait for the other.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "prioflow.h"

/* How often a socket that asks is looked at: a reader that is quicker waits so long. */
#define PRIOFLOW_LOOK_NS	(250 * NSEC_PER_USEC)
/* So many are looked at so often; more of them less often, or they would take all time. */
#define PRIOFLOW_LOOK_AT_MOST	8
#define PRIOFLOW_HEADERS	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr))
#define PRIOFLOW_HEADERS_MAX	(VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

/* Sockets that ask, in all namespaces. */
static atomic_t prioflow_asking = ATOMIC_INIT(0);

/* How long until a socket that asks is looked at again. */
static u64 prioflow_receive_pace_ns(void)
{
	u32 asking = atomic_read(&prioflow_asking);

	return PRIOFLOW_LOOK_NS * (1 + asking / PRIOFLOW_LOOK_AT_MOST);
}

/* Has the peers asked for @level, or for nothing if it is 0. The receiver's lock. */
static void prioflow_receive_ask(struct prioflow_socket *socket, u8 level)
{
	struct prioflow_receiver *receiver = &socket->receiver;

	prioflow_net_ask(prioflow_net_of(sock_net(socket->sk)), receiver->asked, level);
	receiver->asked = level;
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
		atomic_inc(&prioflow_asking);
		hrtimer_start(&receiver->timer, prioflow_receive_pace_ns(),
			      HRTIMER_MODE_REL_SOFT);
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

/* In softirq, while the socket asks. */
static enum hrtimer_restart prioflow_receive_look(struct hrtimer *timer)
{
	struct prioflow_socket *socket =
		container_of(timer, struct prioflow_socket, receiver.timer);
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;
	bool ends;

	spin_lock(&receiver->lock);
	ends = receiver->level == PRIOFLOW_NO_LEVEL || sock_flag(sk, SOCK_DEAD) ||
	       sk_rmem_alloc_get(sk) <= receiver->low;
	if (ends)
		prioflow_receive_ask(socket, 0);
	else if (receiver->asked != receiver->level + 1)
		prioflow_receive_ask(socket, receiver->level + 1);
	spin_unlock(&receiver->lock);
	if (!ends) {
		hrtimer_forward_now(timer, prioflow_receive_pace_ns());
		return HRTIMER_RESTART;
	}
	atomic_dec(&prioflow_asking);
	sock_put(sk);
	return HRTIMER_NORESTART;
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
	hrtimer_setup(&socket->receiver.timer, prioflow_receive_look, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}
