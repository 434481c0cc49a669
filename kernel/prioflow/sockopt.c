// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: socket options.
 *
 * They are options of UDP sockets at the level of IP. A packet socket has no such level, so a
 * UDP socket sets them on its behalf. Everything is checked before anything is stored.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <net/dst.h>
#include <net/sock.h>

#include "prioflow.h"

/* Sends may exceed the buffer: one datagram by each of a few threads. */
#define PRIOFLOW_SEND_SLACK	(128 * 1024)

static bool prioflow_is_udp(const struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_UDP &&
	       (sk->sk_family == AF_INET || sk->sk_family == AF_INET6);
}

/* Most bytes that the socket can have queued: fragments may take its buffer twice. */
static u64 prioflow_send_reserve(const struct sock *sk)
{
	return 2 * (u64)READ_ONCE(sk->sk_sndbuf) + PRIOFLOW_SEND_SLACK;
}

/* Opts in for sending, up to a level, or out. */
static int prioflow_set_send(struct sock *sk, s32 level)
{
	u64 reserve = prioflow_send_reserve(sk);
	struct prioflow_socket *socket;
	int err = 0;

	if (level < PRIOFLOW_NO_LEVEL || level > PRIOFLOW_TOP_LEVEL)
		return -ERANGE;
	if (level >= 0 && !prioflow_net_permits(sock_net(sk), level))
		return -EPERM;
	if (reserve > S32_MAX)
		return -ENOBUFS;
	if (level >= 0)
		prioflow_net_expect_senders(prioflow_net_of(sock_net(sk)));
	lock_sock(sk);
	/* Who has not opted in needs no state to opt out, which anybody may. */
	socket = level >= 0 ? prioflow_socket_get(sk) : prioflow_socket_find(sk);
	if (IS_ERR_OR_NULL(socket)) {
		err = PTR_ERR_OR_ZERO(socket);
		goto unlock;
	}
	/* Reserved bytes may be queued: only the socket's destruction returns them. */
	if (level >= 0 && reserve > socket->reserve) {
		err = prioflow_reserve(socket, reserve);
		if (err)
			goto unlock;
	}
	WRITE_ONCE(socket->send_level, level);
unlock:
	release_sock(sk);
	return err;
}

static void prioflow_get_send(struct sock *sk, struct prioflow_send *send)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(sk));
	struct prioflow_socket *socket;

	lock_sock(sk);
	socket = prioflow_socket_find(sk);
	send->level = socket ? socket->send_level : PRIOFLOW_NO_LEVEL;
	send->reserve = prioflow_send_reserve(sk);
	send->buffer = READ_ONCE(sk->sk_sndbuf);
	send->protected = socket ? atomic64_read(&socket->protected) : 0;
	send->unprotected = socket ? atomic64_read(&socket->unprotected) : 0;
	release_sock(sk);
	send->room = READ_ONCE(net->send_room);
	send->reserved = prioflow_reserved(net, sk->sk_uid);
}

/*
 * Sets or gets the sender's options of @sk, or of the packet socket that @send names, which
 * is referenced meanwhile.
 */
static int prioflow_for_sender(struct sock *sk, struct prioflow_send *send, bool set)
{
	struct socket *other = NULL;
	int err = 0;

	if (send->packet_socket >= 0) {
		other = sockfd_lookup(send->packet_socket, &err);
		if (!other)
			return err;
		sk = other->sk;
		if (sk->sk_family != AF_PACKET)
			err = -EOPNOTSUPP;
	} else if (!prioflow_is_udp(sk)) {
		err = -EOPNOTSUPP;
	}
	if (!err && set)
		err = prioflow_set_send(sk, send->level);
	else if (!err)
		prioflow_get_send(sk, send);
	if (other)
		sockfd_put(other);
	return err;
}

/*
 * The device that a receiver stands for: the one it is bound to, or that leads to the peer
 * it is connected to; 0: all of the namespace.
 */
static int prioflow_device_of(struct sock *sk)
{
	struct dst_entry *route;
	int ifindex;

	sock_owned_by_me(sk);
	ifindex = READ_ONCE(sk->sk_bound_dev_if);
	if (ifindex || sk->sk_state != TCP_ESTABLISHED)
		return ifindex;
	route = sk_dst_get(sk);
	if (!route)
		return 0;
	ifindex = route->dev->ifindex;
	dst_release(route);
	return ifindex;
}

/* Completes the marks from the buffer; refuses marks without headroom. */
static int prioflow_check_marks(const struct sock *sk, int ifindex,
				struct prioflow_receive *receive)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(sk));
	u32 buffer = READ_ONCE(sk->sk_rcvbuf);
	int err;

	err = prioflow_headroom(net, prioflow_scope_slots(net, ifindex), receive->payload,
				receive->level, receive);
	if (err)
		return err;
	if (receive->headroom >= buffer)
		return -ENOBUFS;
	if (!receive->high)
		receive->high = buffer - receive->headroom;
	if (receive->high > buffer - receive->headroom)
		return -ENOBUFS;
	if (!receive->low)
		receive->low = receive->high / 2;
	return receive->low < receive->high ? 0 : -EINVAL;
}

/* Opts in for receiving. The RTNL, and the socket's lock (prioflow_device_of). */
static int prioflow_start_receiving(struct sock *sk, struct prioflow_receive *receive)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(sk));
	int err, ifindex = prioflow_device_of(sk);
	struct prioflow_socket *socket;
	struct prioflow_scope *scope;

	ASSERT_RTNL();
	err = prioflow_check_marks(sk, ifindex, receive);
	if (err)
		return err;
	socket = prioflow_socket_get(sk);
	if (IS_ERR(socket))
		return PTR_ERR(socket);
	scope = prioflow_scope_get(net, ifindex);
	if (IS_ERR(scope))
		return PTR_ERR(scope);
	return prioflow_receive_set(socket, receive, scope);
}

/* Opts in for receiving, or out. */
static int prioflow_set_receive(struct sock *sk, struct prioflow_receive *receive)
{
	struct prioflow_socket *socket;
	int err = 0;

	if (!prioflow_is_udp(sk))
		return -EOPNOTSUPP;
	/* The top level is never paused. */
	if (receive->level < PRIOFLOW_NO_LEVEL || receive->level >= PRIOFLOW_TOP_LEVEL)
		return -ERANGE;
	if (receive->level >= 0 && !prioflow_net_permits(sock_net(sk), receive->level))
		return -EPERM;
	rtnl_lock();
	lock_sock(sk);
	if (receive->level >= 0) {
		err = prioflow_start_receiving(sk, receive);
	} else {
		socket = prioflow_socket_find(sk);
		if (socket)
			prioflow_receive_set(socket, receive, NULL);
	}
	release_sock(sk);
	rtnl_unlock();
	return err;
}

/* What is set, and what is needed for datagrams of the payload that the caller names. */
static int prioflow_get_receive(struct sock *sk, struct prioflow_receive *receive)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(sk));
	struct prioflow_socket *socket;
	int err;

	if (!prioflow_is_udp(sk))
		return -EOPNOTSUPP;
	rtnl_lock();
	lock_sock(sk);
	err = prioflow_headroom(net, prioflow_scope_slots(net, prioflow_device_of(sk)),
				receive->payload, 0, receive);
	socket = prioflow_socket_find(sk);
	receive->level = socket ? socket->receiver.level : PRIOFLOW_NO_LEVEL;
	receive->high = socket ? socket->receiver.high : 0;
	receive->low = socket ? socket->receiver.low : 0;
	receive->pause_requests = socket ? READ_ONCE(socket->receiver.pause_requests) : 0;
	receive->buffer = READ_ONCE(sk->sk_rcvbuf);
	release_sock(sk);
	rtnl_unlock();
	return err;
}

/* Programs that do not know the last fields may pass a shorter structure. */
static bool prioflow_is_send_size(unsigned int length)
{
	return length == sizeof(struct prioflow_send) ||
	       length == offsetof(struct prioflow_send, protected);
}

static int prioflow_setsockopt(struct sock *sk, int option, sockptr_t from, unsigned int length)
{
	struct prioflow_receive receive;
	struct prioflow_send send = {};

	switch (option) {
	case PRIOFLOW_SO_SEND:
		if (!prioflow_is_send_size(length))
			return -EINVAL;
		if (copy_from_sockptr(&send, from, length))
			return -EFAULT;
		return prioflow_for_sender(sk, &send, true);
	default:
		if (length != sizeof(receive))
			return -EINVAL;
		if (copy_from_sockptr(&receive, from, sizeof(receive)))
			return -EFAULT;
		return prioflow_set_receive(sk, &receive);
	}
}

static int prioflow_getsockopt(struct sock *sk, int option, void __user *user, int *length)
{
	struct prioflow_receive receive;
	struct prioflow_send send = {};
	int err;

	switch (option) {
	case PRIOFLOW_SO_SEND:
		if (*length < 0 || !prioflow_is_send_size(*length))
			return -EINVAL;
		if (copy_from_user(&send, user, *length))
			return -EFAULT;
		err = prioflow_for_sender(sk, &send, false);
		if (!err && copy_to_user(user, &send, *length))
			err = -EFAULT;
		return err;
	default:
		if (*length != sizeof(receive))
			return -EINVAL;
		if (copy_from_user(&receive, user, sizeof(receive)))
			return -EFAULT;
		err = prioflow_get_receive(sk, &receive);
		if (!err && copy_to_user(user, &receive, sizeof(receive)))
			err = -EFAULT;
		return err;
	}
}

#define PRIOFLOW_SOCKOPT(family) {			\
	.pf		= family,			\
	.set_optmin	= PRIOFLOW_SO_SEND,		\
	.set_optmax	= PRIOFLOW_SO_RECEIVE + 1,	\
	.set		= prioflow_setsockopt,		\
	.get_optmin	= PRIOFLOW_SO_SEND,		\
	.get_optmax	= PRIOFLOW_SO_RECEIVE + 1,	\
	.get		= prioflow_getsockopt,		\
	.owner		= THIS_MODULE,			\
}

static struct nf_sockopt_ops prioflow_sockopt[] = {
	PRIOFLOW_SOCKOPT(PF_INET),
	PRIOFLOW_SOCKOPT(PF_INET6),
};

int prioflow_sockopt_module_init(void)
{
	int err = nf_register_sockopt(&prioflow_sockopt[0]);

	if (err)
		return err;
	err = nf_register_sockopt(&prioflow_sockopt[1]);
	if (err)
		nf_unregister_sockopt(&prioflow_sockopt[0]);
	return err;
}

void prioflow_sockopt_module_exit(void)
{
	nf_unregister_sockopt(&prioflow_sockopt[1]);
	nf_unregister_sockopt(&prioflow_sockopt[0]);
}
