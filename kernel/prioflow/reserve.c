// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: room that opted-in senders have reserved in the qdiscs of their namespace. Each
 * user has the same room, so that no other can take it.
 */
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "prioflow.h"

static struct prioflow_user *prioflow_user_find(struct prioflow_net *net, kuid_t uid)
{
	struct prioflow_user *user;

	lockdep_assert_held(&net->lock);
	hash_for_each_possible(net->users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/* Changes what a socket has reserved to @bytes, which is more. The socket's lock. */
int prioflow_reserve(struct prioflow_socket *socket, u32 bytes)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(socket->sk));
	struct prioflow_user *user = NULL, *spare;
	u32 more = bytes - socket->reserve;
	int err = 0;

	sock_owned_by_me(socket->sk);
	spare = kzalloc(sizeof(*spare), GFP_KERNEL);
	if (!spare)
		return -ENOMEM;
	spare->uid = socket->sk->sk_uid;
	spin_lock_bh(&net->lock);
	user = socket->user ?: prioflow_user_find(net, spare->uid);
	if ((user ? user->reserved : 0) + more > READ_ONCE(net->send_room)) {
		err = -ENOBUFS;
		goto unlock;
	}
	if (!user) {
		user = spare;
		spare = NULL;
		hash_add(net->users, &user->node, __kuid_val(user->uid));
	}
	user->reserved += more;
	socket->user = user;
	WRITE_ONCE(socket->reserve, bytes);
unlock:
	spin_unlock_bh(&net->lock);
	kfree(spare);
	return err;
}

/* Returns what a socket has reserved. Any context: the socket is being destroyed. */
void prioflow_reserve_end(struct prioflow_socket *socket)
{
	struct prioflow_net *net = prioflow_net_of(sock_net(socket->sk));
	struct prioflow_user *user = socket->user;

	if (!user)
		return;
	spin_lock_bh(&net->lock);
	user->reserved -= socket->reserve;
	if (!user->reserved) {
		hash_del(&user->node);
		kfree(user);
	}
	spin_unlock_bh(&net->lock);
}

/* Bytes that the sockets of a user have reserved. */
u64 prioflow_reserved(struct prioflow_net *net, kuid_t uid)
{
	struct prioflow_user *user;
	u64 reserved;

	spin_lock_bh(&net->lock);
	user = prioflow_user_find(net, uid);
	reserved = user ? user->reserved : 0;
	spin_unlock_bh(&net->lock);
	return reserved;
}
