/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: 16 strict priority levels, a transmit level below which a device sends
 * nothing, and the frames by which the other end of the wire sets it.
 *
 * A *port* is what prioflow knows of a network device: its levels, and its *link* with
 * the peer. All prioflow qdiscs of the device share it, so that a multiqueue device is
 * gated as one. Ports come and go with their qdiscs, under the RTNL.
 *
 * Sockets opt in: the packets of a sender are not dropped, a receiver has the peers of
 * all ports of its namespace asked for silence. What a bridge forwards is charged to the
 * port that brought it, which has its peer asked.
 *
 * Locks: the RTNL, then a socket's; and a receiver's, then a namespace's, then a port's. A
 * qdisc's comes before a port's, and is not held together with the others.
 */
#ifndef PRIOFLOW_H
#define PRIOFLOW_H

#include <linux/hashtable.h>
#include <linux/if_ether.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/rhashtable-types.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "../uapi/prioflow.h"
#include "pause.h"

/* Where a frame's level comes from. Changes as a whole, under RTNL and the qdisc's lock. */
struct prioflow_map {
	u8 source;			/* PRIOFLOW_SOURCE_* */
	u8 level[PRIOFLOW_TABLE_SIZE];
	bool reads_class;		/* the source is IP's traffic class, and then: */
	u8 by_class[256];
};

/* Who holds the transmit level up; the highest of them is in force. */
enum prioflow_holder {
	PRIOFLOW_BY_HAND,
	PRIOFLOW_BY_PEER,
	PRIOFLOW_HOLDS
};

struct prioflow_hold {
	u8 level;
	u64 until_ns;			/* CLOCK_MONOTONIC; 0: does not end */
};

/* Flow control with the other end of the wire. */
struct prioflow_link {
	u8 mode;			/* PRIOFLOW_LINK_*; changes under RTNL and the port's lock */
	struct nf_hook_ops hook;
	u64 storm_ns;			/* longest that a peer may hold the port; 0: no end */
	u32 reaction_us;		/* from asking for silence to the last frame, rings aside */
	u32 ring;			/* frames that wait in the rings of both ends */

	/* received, under the port's lock; instants in CLOCK_MONOTONIC */
	u8 peer[ETH_ALEN];		/* the last that was obeyed */
	bool peer_known;
	u32 peer_instance;
	u32 peer_sequence;
	u64 silent_until_ns[PRIOFLOW_PRIORITIES];	/* by PAUSE or PFC */
	u64 held_since_ns;
	u64 deaf_until_ns;
	u64 rate_ns;

	/* sent, under the port's lock */
	struct kthread_delayed_work work;
	u32 instance;
	u32 sequence;
	u8 said;
	u8 releases;			/* how often a release is still to be said */

	/* PAUSE and PFC; change under RTNL and the port's lock */
	u32 rate_mbps;
	u16 quanta;			/* asked for at once */
	bool too_fast;			/* they end before they can be repeated */
	unsigned long refresh;		/* jiffies */

	/* counters, under the port's lock */
	u64 frames_sent;
	u64 frames_received;
	u64 malformed;
	u64 stale;
	u64 limited;
	u64 ignored;
	u32 storms;
};

/* Who has the peer asked for silence; the highest level wanted is asked for. */
enum prioflow_wanter {
	PRIOFLOW_FOR_HAND,
	PRIOFLOW_FOR_SOCKETS,
	PRIOFLOW_FOR_FORWARDED,
	PRIOFLOW_WANTERS
};

#define PRIOFLOW_SLOTS		64	/* ports of a namespace that can have a link */

/* A port as the one that brings what a bridge forwards (forward.c); in frames. */
struct prioflow_forward {
	struct hlist_node node;		/* by interface index */
	u32 serial;			/* 0: off; changes under RTNL and the port's lock */
	u32 room_wanted;		/* 0: what is needed; RTNL */
	/* in one queue, at one level; change under RTNL */
	u32 room;			/* 0: none */
	u32 headroom;			/* of it for what is in flight */
	u32 high;
	u32 low;
	/* under the port's lock */
	u32 asking[PRIOFLOW_TOP_LEVEL];	/* queues that want a level silenced */
	u64 asks;
	u8 slot;			/* in the accounts of queues; RTNL */
};

/* Whether the peer is standard equipment, which knows priorities or nothing of levels. */
static inline bool prioflow_link_is_standard(u8 mode)
{
	return mode == PRIOFLOW_LINK_PFC || mode == PRIOFLOW_LINK_PAUSE;
}

/* What belongs to a network namespace. */
struct prioflow_net {
	spinlock_t lock;
	struct list_head ports;		/* changes under RTNL and the lock */
	u32 asking[PRIOFLOW_LEVELS];	/* how many of its sockets ask for each, under the lock */
	u8 receive_level;		/* the highest of them, under the lock */
	u64 reserved;			/* bytes, by senders, under the lock */
	struct prioflow_port __rcu *by_slot[PRIOFLOW_SLOTS];	/* with a link; RTNL */
	DECLARE_HASHTABLE(by_index, 5);	/* the same; RTNL */
	u32 serial;			/* the last that a port got; RTNL */
	u32 send_room;			/* bytes */
	u8 open_levels;
	struct ctl_table *table;
	struct ctl_table_header *sysctl;
};

struct prioflow_port {
	struct list_head list;		/* of the namespace's ports */
	struct prioflow_net *net;
	struct rcu_head rcu;
	struct net_device *dev;
	u32 users;			/* RTNL */
	spinlock_t lock;		/* protects the update side of what follows */
	struct list_head qdiscs;
	struct prioflow_hold hold[PRIOFLOW_HOLDS];
	u8 send_level;
	u8 wants[PRIOFLOW_WANTERS];
	u8 receive_level;		/* the highest of them: what the peer is asked for */
	struct prioflow_link link;
	struct prioflow_forward forward;
	u64 until_ns;			/* CLOCK_MONOTONIC; 0: does not end by itself */
	u64 paused_since_ns[PRIOFLOW_LEVELS];
	u64 paused_ns[PRIOFLOW_LEVELS];
	u32 pauses[PRIOFLOW_LEVELS];
};

/* Whether a packet may be dropped to make room. */
enum prioflow_fate {
	PRIOFLOW_MAY_GO,
	PRIOFLOW_IS_KEPT,		/* its socket has opted in, or a port has room for it */
	PRIOFLOW_FATES
};

/* The packets of one level, under the qdisc's lock. */
struct prioflow_level {
	struct sk_buff_head queue[PRIOFLOW_FATES];
	u32 order;			/* of the packet that came last */
	u64 bytes;
	u64 sent;
	u64 sent_bytes;
	u64 dropped;
	u64 longest_wait_ns;
};

/* A port's frames that wait in a queue, under the qdisc's lock. */
struct prioflow_account {
	u32 serial;			/* of the port that was asked */
	u16 asked;			/* mask of levels for which it was */
	u32 frames[PRIOFLOW_TOP_LEVEL];
};

struct prioflow_sched {
	struct prioflow_port *port;
	struct sk_buff *passing;	/* pass.h; counted, and in no level */
	u8 passing_level;
	struct prioflow_map map;
	struct list_head list;		/* of the port's qdiscs */
	struct Qdisc *qdisc;
	struct qdisc_watchdog watchdog;
	u32 limit;			/* packets */
	u32 limit_bytes;
	u16 one_queue;			/* + 1; 0: packets keep theirs */
	u16 backlogged;			/* mask of levels that hold packets */
	u16 may_drop;			/* mask of levels that hold packets that may be dropped */
	u32 kept;			/* packets that may not, which no limit counts */
	u64 kept_bytes;
	struct prioflow_level level[PRIOFLOW_LEVELS];
	u64 beyond;			/* forwarded frames that found no room */
	u32 most_forwarded;		/* that waited at once, of one port and level */
	struct prioflow_account account[PRIOFLOW_SLOTS];	/* by the ports' slots */
};

/* Preamble, start delimiter, frame check sequence and gap: octets on the wire. */
#define PRIOFLOW_WIRE_OVERHEAD	(8 + 4 + 12)

#define PRIOFLOW_NO_LEVEL	(-1)

/* A socket that wants the peers silent before its buffer is full (receive.c). */
struct prioflow_receiver {
	void (*ready)(struct sock *sk);	/* the socket's own callback of new data */
	spinlock_t lock;
	s8 level;			/* or PRIOFLOW_NO_LEVEL; under the lock, like all below */
	u8 asked;			/* of the peers, now; 0: nothing */
	u32 high;			/* bytes that it is charged with */
	u32 low;
	u32 headroom;			/* bytes of its buffer, for what is in flight */
	u32 asks;
	struct list_head turn;		/* while it asks, which refers to the socket */
};

/* What is known of a socket that has opted in (socket.c). */
struct prioflow_socket {
	struct rhash_head node;
	struct rcu_head rcu;
	struct sock *sk;
	void (*destruct)(struct sock *sk);	/* the socket's own */
	s8 send_level;			/* or PRIOFLOW_NO_LEVEL; under the socket's lock */
	u32 reserve;			/* bytes, under the socket's lock */
	struct prioflow_receiver receiver;
};

/* classify.c */
u8 prioflow_classify(const struct prioflow_map *map, struct sk_buff *skb);
u32 prioflow_map_entries(u8 source);
void prioflow_map_init(struct prioflow_map *map, u8 source);
void prioflow_map_settle(struct prioflow_map *map);

/* port.c */
int prioflow_port_module_init(void);
void prioflow_port_module_exit(void);
u32 prioflow_port_rate(const struct prioflow_port *port);
struct prioflow_port *prioflow_port_get(struct net_device *dev);
void prioflow_port_put(struct prioflow_port *port);
void prioflow_port_join(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_leave(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_expire(struct prioflow_port *port, u64 now_ns);
void prioflow_port_hold(struct prioflow_port *port, enum prioflow_holder holder, u8 level,
			u64 lifetime_ns, u64 now_ns);
void prioflow_port_ask(struct prioflow_port *port, u8 level);
void prioflow_port_settle(struct prioflow_port *port, u8 level);
void prioflow_port_want(struct prioflow_port *port, enum prioflow_wanter wanter, u8 level);
int prioflow_port_in_flight(const struct prioflow_port *port, u32 reaction_us, u32 ring,
			    u32 octets, u32 *frames);
void prioflow_port_set_level(struct prioflow_port *port, u8 level, u64 lifetime_ns);
u8 prioflow_port_gate(struct prioflow_port *port, u64 *until_ns);
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats);

/* link.c */
extern const u8 prioflow_address[ETH_ALEN];
int prioflow_link_module_init(void);
void prioflow_link_module_exit(void);
void prioflow_link_init(struct prioflow_link *link);
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack);
void prioflow_link_end(struct prioflow_port *port);
void prioflow_link_ask(struct prioflow_link *link);
void prioflow_link_measure(struct prioflow_port *port);
void prioflow_link_fill(const struct prioflow_link *link, struct tc_prioflow_link *stats);

/* forward.c */
u8 prioflow_forward_charge(struct Qdisc *sch, const struct sk_buff *skb, u8 level);
void prioflow_forward_release(struct prioflow_sched *q, u32 slot, u8 level);
void prioflow_forward_purge(struct prioflow_sched *q);
int prioflow_forward_check(const struct prioflow_port *port, u32 room, u32 reaction_us, u32 ring,
			   struct netlink_ext_ack *extack);
void prioflow_forward_measure(struct prioflow_port *port);
int prioflow_forward_start(struct prioflow_port *port, struct netlink_ext_ack *extack);
void prioflow_forward_stop(struct prioflow_port *port);

/* event.c */
int prioflow_event_module_init(void);
void prioflow_event_module_exit(void);
void prioflow_event(const struct prioflow_port *port, u8 command, u64 now_ns);

/* hear.c */
unsigned int prioflow_hear(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);

/* net.c */
int prioflow_net_module_init(void);
void prioflow_net_module_exit(void);
struct prioflow_net *prioflow_net_of(const struct net *net);
bool prioflow_net_permits(const struct net *net, u8 level);
int prioflow_net_reserve(struct prioflow_net *net, u32 from, u32 to);
u64 prioflow_net_reserved(struct prioflow_net *net);
void prioflow_net_add(struct prioflow_net *net, struct prioflow_port *port);
void prioflow_net_remove(struct prioflow_net *net, struct prioflow_port *port);
void prioflow_net_ask(struct prioflow_net *net, u8 from, u8 to);

/* socket.c */
int prioflow_socket_module_init(void);
void prioflow_socket_module_exit(void);
void prioflow_socket_destruct(struct sock *sk);
struct prioflow_socket *prioflow_socket_find(const struct sock *sk);
struct prioflow_socket *prioflow_socket_get(struct sock *sk);
bool prioflow_socket_keeps(const struct sock *sk, u8 level, const struct net *net);

/*
 * Whether the packet is of a socket that has opted in, is charged to it, and so keeps it from
 * destruction.
 */
static __always_inline bool prioflow_socket_pays(const struct sk_buff *skb)
{
	return skb->destructor == sock_wfree &&
	       READ_ONCE(skb->sk->sk_destruct) == prioflow_socket_destruct;
}

/* sockopt.c */
int prioflow_sockopt_module_init(void);
void prioflow_sockopt_module_exit(void);

/* receive.c */
int prioflow_receive_module_init(void);
void prioflow_receive_module_exit(void);
void prioflow_receive_init(struct prioflow_socket *socket);
void prioflow_receive_set(struct prioflow_socket *socket, const struct prioflow_receive *set);
int prioflow_receive_needs(const struct net *net, u32 payload, struct prioflow_receive *need);

/* options.c */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb);

/* qdisc.c */
int prioflow_qdisc_module_init(void);
void prioflow_qdisc_module_exit(void);

#endif /* PRIOFLOW_H */
