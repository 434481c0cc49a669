// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: sockets that send pause requests before their buffer is full.
 *
 * The fill level of a socket is sk_rmem_alloc, which the kernel compares with SO_RCVBUF when
 * it drops. It rises to the high mark when a packet is received: sk_data_ready checks that
 * (XOFF). It falls to the low mark when a program reads (poll.c).
 */
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/skmsg.h>
#include <net/sock.h>

#include "prioflow.h"

/* Of one frame; a larger one is no measure. */
#define PRIOFLOW_TRUESIZE_MAX	(256 * 1024)
/* Most receivers of a namespace: a change of a port looks at all of them. */
#define PRIOFLOW_RECEIVERS	16384
/* So many of them at once, with softirqs off. */
#define PRIOFLOW_MEASURE_BATCH	64

/* Requests @level - 1 from the peers, or nothing if it is 0. */
void prioflow_receive_request(struct prioflow_receiver *receiver, struct prioflow_net *net,
			      u8 level)
{
	lockdep_assert_held(&receiver->lock);
	if (level == receiver->requested)
		return;
	prioflow_scope_request(net, receiver->scope, receiver->requested, level);
	receiver->requested = level;
}

/* The socket has reached its high mark: XOFF. Any context but hardirq. */
static void prioflow_receive_xoff(struct prioflow_socket *socket)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(socket->sk));
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;

	spin_lock_bh(&receiver->lock);
	/* A socket that is being destroyed may still receive a packet. */
	if (receiver->level != PRIOFLOW_NO_LEVEL && !receiver->xoff_ns &&
	    refcount_inc_not_zero(&sk->sk_refcnt)) {
		receiver->pause_requests++;
		prioflow_receive_request(receiver, net, receiver->level + 1);
		prioflow_poll_start(net, receiver, ktime_get_ns());
	}
	spin_unlock_bh(&receiver->lock);
}

/* The high mark in force: lower where the driver's frames are larger than usual. */
u32 prioflow_receive_high(const struct prioflow_socket *socket)
{
	const struct prioflow_receiver *receiver = &socket->receiver;
	const struct sock *sk = socket->sk;
	u32 charge = READ_ONCE(prioflow_net_of(sock_net(sk))->charge);
	u64 headroom = (u64)READ_ONCE(receiver->headroom) * charge / PRIOFLOW_CHARGE_USUAL;
	u32 buffer = READ_ONCE(sk->sk_rcvbuf);

	return min_t(u64, READ_ONCE(receiver->high), buffer - min_t(u64, buffer, headroom));
}

static bool prioflow_receive_is_full(const struct prioflow_socket *socket)
{
	return sk_rmem_alloc_get(socket->sk) >= prioflow_receive_high(socket);
}

/* Replaces the socket's sk_data_ready. Softirqs off, RCU. */
static void prioflow_receive_data_ready(struct sock *sk)
{
	struct prioflow_socket *socket = prioflow_socket_find(sk);

	/* A hooked socket has its state until it is destructed. */
	if (WARN_ON_ONCE(!socket))
		return;
	if (!READ_ONCE(socket->receiver.xoff_ns) && prioflow_receive_is_full(socket))
		prioflow_receive_xoff(socket);
	socket->receiver.ready(sk);
}

/* Notes how much more than usual a port's driver charges for a frame. */
void prioflow_receive_see(struct prioflow_port *port, const struct sk_buff *skb)
{
	struct prioflow_net *net = port->net;
	u32 charge;

	/* GRO has joined several frames. */
	if (likely(skb->truesize <= PRIOFLOW_CHARGE_SMALL) || skb_is_gso(skb))
		return;
	charge = min_t(u32, skb->truesize, PRIOFLOW_TRUESIZE_MAX) * PRIOFLOW_CHARGE_USUAL /
		 prioflow_headroom_charge(skb->len);
	charge = min_t(u32, charge, PRIOFLOW_CHARGE_MOST);
	if (charge > READ_ONCE(port->charge))
		WRITE_ONCE(port->charge, charge);
	if (charge > READ_ONCE(net->charge))
		WRITE_ONCE(net->charge, charge);
}

/* Forgets what has been seen at a port: another driver's setting, or peer, may be there. */
void prioflow_receive_forget(struct prioflow_port *port)
{
	const struct prioflow_port *other;
	u32 most = PRIOFLOW_CHARGE_USUAL;

	ASSERT_RTNL();
	WRITE_ONCE(port->charge, PRIOFLOW_CHARGE_USUAL);
	list_for_each_entry(other, &port->net->ports, list)
		most = max(most, READ_ONCE(other->charge));
	WRITE_ONCE(port->net->charge, most);
}

static bool prioflow_receive_in_sockmap(const struct sock *sk)
{
	bool found;

	rcu_read_lock();
	found = sk_psock(sk);
	rcu_read_unlock();
	return found;
}

/*
 * Hooks sk_data_ready. A socket that something else has hooked since is refused, and one in a BPF
 * sockmap, which would put back what was there before.
 */
static int prioflow_receive_hook(struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	struct sock *sk = socket->sk;
	int err = 0;

	sock_owned_by_me(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (!receiver->ready && prioflow_receive_in_sockmap(sk)) {
		err = -EBUSY;
		goto unlock;
	}
	if (!receiver->ready)
		receiver->ready = sk->sk_data_ready;
	if (sk->sk_data_ready == receiver->ready)
		/* A caller must find receiver->ready set. */
		smp_store_release(&sk->sk_data_ready, prioflow_receive_data_ready);
	else if (sk->sk_data_ready != prioflow_receive_data_ready)
		err = -EBUSY;
unlock:
	write_unlock_bh(&sk->sk_callback_lock);
	return err;
}

/* Joins the namespace's receivers. */
static void prioflow_receive_join(struct prioflow_net *net, struct prioflow_receiver *receiver)
{
	spin_lock_bh(&net->lock);
	if (list_empty(&receiver->member)) {
		net->receiver_count++;
		receiver->serial = ++net->receiver_serial;
		list_add_tail(&receiver->member, &net->receivers);
	}
	spin_unlock_bh(&net->lock);
}

static void prioflow_receive_leave(struct prioflow_net *net, struct prioflow_receiver *receiver)
{
	spin_lock_bh(&net->lock);
	if (!list_empty(&receiver->member)) {
		list_del_init(&receiver->member);
		net->receiver_count--;
	}
	spin_unlock_bh(&net->lock);
}

/* Whether a receiver of this level is in a scope that covers the port in a slot. */
bool prioflow_receive_has_level(struct prioflow_net *net, u32 slot, s8 level)
{
	const struct prioflow_receiver *receiver;
	bool found = false;

	spin_lock_bh(&net->lock);
	list_for_each_entry(receiver, &net->receivers, member)
		if (READ_ONCE(receiver->level) == level &&
		    receiver->scope->slots & BIT_ULL(slot))
			found = true;
	spin_unlock_bh(&net->lock);
	return found;
}

/* Sets checked marks, level and scope (which it takes over), or opts out. */
int prioflow_receive_set(struct prioflow_socket *socket, const struct prioflow_receive *set,
			 struct prioflow_scope *scope)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(socket->sk));
	struct prioflow_receiver *receiver = &socket->receiver;
	struct prioflow_scope *before;
	struct sock *sk = socket->sk;
	u64 inode = sock_i_ino(sk);
	int err;

	ASSERT_RTNL();
	sock_owned_by_me(sk);
	if (set->level == PRIOFLOW_NO_LEVEL) {
		/* Who finds it among the receivers finds its scope. */
		prioflow_receive_leave(net, receiver);
	} else {
		/* The RTNL serialises those that join. */
		err = list_empty(&receiver->member) &&
		      READ_ONCE(net->receiver_count) >= PRIOFLOW_RECEIVERS ? -ENOSPC :
		      prioflow_receive_hook(socket);
		if (err) {
			prioflow_scope_put(net, scope);
			return err;
		}
	}
	spin_lock_bh(&receiver->lock);
	before = receiver->scope;
	/* The next poll requests it again, in the new scope. */
	prioflow_receive_request(receiver, net, 0);
	receiver->scope = scope;
	receiver->level = set->level;
	receiver->abandoned = false;
	receiver->read_ns = ktime_get_ns();
	if (set->level != PRIOFLOW_NO_LEVEL) {
		receiver->payload = set->payload;
		receiver->inode = inode;
		receiver->pid = task_tgid_nr(current);
		WRITE_ONCE(receiver->high, set->high);
		WRITE_ONCE(receiver->headroom, set->headroom);
		WRITE_ONCE(receiver->frames, set->frames);
		receiver->low = set->low;
		if (receiver->xoff_ns)
			prioflow_receive_request(receiver, net, set->level + 1);
	}
	spin_unlock_bh(&receiver->lock);
	if (set->level != PRIOFLOW_NO_LEVEL)
		prioflow_receive_join(net, receiver);
	prioflow_scope_put(net, before);
	/* The socket may be above the high mark already. */
	if (set->level != PRIOFLOW_NO_LEVEL && prioflow_receive_is_full(socket))
		prioflow_receive_xoff(socket);
	return 0;
}

/*
 * Computes the headroom of some receivers after the one with the serial @last, and returns that of the last
 * one; 0: there are no more.
 */
static u64 prioflow_receive_measure_some(struct prioflow_net *net, u64 last)
{
	struct prioflow_receiver *receiver;
	u64 next = 0;
	u32 done = 0;

	spin_lock_bh(&net->lock);
	list_for_each_entry(receiver, &net->receivers, member) {
		struct prioflow_receive need;

		if (receiver->serial <= last)
			continue;
		if (done++ == PRIOFLOW_MEASURE_BATCH)
			goto unlock;
		next = receiver->serial;
		/* Without a link rate it keeps what it has. */
		if (prioflow_headroom(net, receiver->scope->slots, receiver->payload, 0, &need))
			continue;
		WRITE_ONCE(receiver->headroom, need.headroom);
		WRITE_ONCE(receiver->frames, need.frames);
	}
	next = 0;
unlock:
	spin_unlock_bh(&net->lock);
	return next;
}

/* Computes all receivers' headroom again: a port's link rate, or what it needs, differs. */
void prioflow_receive_measure(struct prioflow_net *net)
{
	u64 last = 0;

	/* None joins meanwhile. */
	ASSERT_RTNL();
	do {
		last = prioflow_receive_measure_some(net, last);
		cond_resched();
	} while (last);
}

/* The socket is being destroyed: it is not polled any more. Any context. */
void prioflow_receive_end(struct prioflow_socket *socket)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(socket->sk));

	prioflow_receive_leave(net, &socket->receiver);
	prioflow_scope_put(net, socket->receiver.scope);
}

void prioflow_receive_init(struct prioflow_socket *socket)
{
	spin_lock_init(&socket->receiver.lock);
	INIT_LIST_HEAD(&socket->receiver.member);
	socket->receiver.level = PRIOFLOW_NO_LEVEL;
}
