// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the state of a socket that has opted in.
 *
 * It lives from the first socket option until the socket is destructed, which is not before
 * its last packet is freed; sk_destruct leads here. A hash table finds it. For sockets that
 * have not opted in, a packet costs no more than a comparison of sk_destruct. Each socket
 * holds a reference to the module.
 */
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "prioflow.h"

static const struct rhashtable_params prioflow_sockets_params = {
	.key_len		= sizeof(struct sock *),
	.key_offset		= offsetof(struct prioflow_socket, sk),
	.head_offset		= offsetof(struct prioflow_socket, node),
	.automatic_shrinking	= true,
};

static struct rhashtable prioflow_sockets;

/*
 * Replaces the socket's sk_destruct. Any context. It still runs after module_put(); the
 * module's exit waits for that.
 */
void prioflow_socket_destruct(struct sock *sk)
{
	struct prioflow_socket *socket = prioflow_socket_find(sk);

	rhashtable_remove_fast(&prioflow_sockets, &socket->node, prioflow_sockets_params);
	prioflow_reserve_end(socket);
	prioflow_receive_end(socket);
	socket->destruct(sk);
	kfree_rcu(socket, rcu);
	module_put(THIS_MODULE);
}

/*
 * The socket's state; NULL if it has not opted in. The caller has a reference to @sk. It does
 * not look at sk_destruct: L2TP may have replaced it since, and calls ours in the end.
 */
struct prioflow_socket *prioflow_socket_find(const struct sock *sk)
{
	return rhashtable_lookup_fast(&prioflow_sockets, &sk, prioflow_sockets_params);
}

/* The same, made if there is none. The caller holds the module. */
struct prioflow_socket *prioflow_socket_get(struct sock *sk)
{
	struct prioflow_socket *socket = prioflow_socket_find(sk);
	int err;

	sock_owned_by_me(sk);
	if (socket)
		return socket;
	socket = kzalloc(sizeof(*socket), GFP_KERNEL);
	if (!socket)
		return ERR_PTR(-ENOMEM);
	socket->sk = sk;
	socket->send_level = PRIOFLOW_NO_LEVEL;
	prioflow_receive_init(socket);
	err = rhashtable_lookup_insert_fast(&prioflow_sockets, &socket->node,
					    prioflow_sockets_params);
	if (err) {
		kfree(socket);
		return ERR_PTR(err);
	}
	__module_get(THIS_MODULE);
	socket->destruct = sk->sk_destruct;
	WRITE_ONCE(sk->sk_destruct, prioflow_socket_destruct);
	return socket;
}

/*
 * Whether a packet charged to the socket is protected: the socket is of this namespace, has
 * opted in up to this level, and has not exceeded its reservation. Counts both.
 */
bool prioflow_socket_protects(const struct sock *sk, u8 level, const struct net *net)
{
	/* It lives as long as the socket, which the packet keeps from destruction. */
	struct prioflow_socket *socket = prioflow_socket_find(sk);
	bool protects;

	if (!socket || READ_ONCE(socket->send_level) == PRIOFLOW_NO_LEVEL)
		return false;
	protects = level <= READ_ONCE(socket->send_level) && net_eq(sock_net(sk), net) &&
		   sk_wmem_alloc_get(sk) <= READ_ONCE(socket->reserve);
	atomic64_inc(protects ? &socket->protected : &socket->unprotected);
	return protects;
}

int prioflow_socket_module_init(void)
{
	return rhashtable_init(&prioflow_sockets, &prioflow_sockets_params);
}

void prioflow_socket_module_exit(void)
{
	rhashtable_destroy(&prioflow_sockets);
}
