/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: 16 strict priority levels, of which a device can pause some, and the frames by
 * which the other end of the wire does that.
 *
 * A *port* is the state of a network device: its paused levels, and its *link* with the
 * peer. All prioflow qdiscs of the device share the port, so that a pause applies to all
 * queues of a multiqueue device. A port lives as long as its qdiscs; the RTNL serialises that.
 *
 * Sockets opt in. The packets of an opted-in sender are protected: they are never dropped.
 * An opted-in receiver sends pause requests (XOFF) to the peers of the ports in its scope:
 * all of its namespace, or those of the device that it is bound to. A frame that a bridge
 * forwards is charged to its ingress port, which sends pause requests to its peer.
 *
 * Levels are kept as masks: bit L stands for level L.
 *
 * Lock order: RTNL, then a socket's lock; a receiver's lock, then a namespace's, then a
 * port's. A qdisc's lock comes before a port's, and is never held together with the others.
 */
#ifndef PRIOFLOW_H
#define PRIOFLOW_H

#include <linux/hashtable.h>
#include <linux/if_ether.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/rhashtable-types.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "../uapi/prioflow.h"
#include "frame.h"
#include "pause.h"

/* All levels that can be paused. */
#define PRIOFLOW_PAUSABLE	(BIT(PRIOFLOW_TOP_LEVEL) - 1)

/* The levels below @level. */
static inline u16 prioflow_below(u8 level)
{
	return BIT(level) - 1;
}

/* How a frame's level is determined. Replaced as a whole, under RTNL and the qdisc lock. */
struct prioflow_map {
	u8 source;			/* PRIOFLOW_SOURCE_* */
	u8 level[PRIOFLOW_TABLE_SIZE];
	bool reads_class;		/* the source is IP's traffic class; then: */
	u8 by_class[256];
};

/* Who pauses levels. */
enum prioflow_holder {
	PRIOFLOW_BY_HAND,
	PRIOFLOW_BY_PEER,
	PRIOFLOW_HOLDS
};

#define PRIOFLOW_FOREVER	U64_MAX

/* The levels that one of them pauses, and until when. */
struct prioflow_hold {
	u16 mask;
	u64 until_ns[PRIOFLOW_TOP_LEVEL];	/* CLOCK_MONOTONIC, or PRIOFLOW_FOREVER */
};

/* Paused time without progress (storm.c), under the port's lock. */
struct prioflow_storm {
	u64 limit_ns;			/* pause-storm watchdog timeout; 0: no watchdog */
	u64 since_ns;			/* until when the buckets are computed */
	u16 paused;			/* mask, by the peer, since then */
	u64 bucket_ns[PRIOFLOW_TOP_LEVEL];	/* paused time that no progress has made good */
	u32 sent[PRIOFLOW_TOP_LEVEL];	/* frames that had been sent by then */
	u64 ignore_until_ns[PRIOFLOW_TOP_LEVEL];	/* pause requests are ignored until then */
	u64 ignored;
	u32 count;
};

/* What the peer's frames tell (peer.c), under the port's lock. */
struct prioflow_peer {
	u8 address[ETH_ALEN];		/* source of the last obeyed frame */
	bool known;
	u8 state;			/* PRIOFLOW_PEER_* */
	u8 version;			/* of its protocol; 0: unknown */
	u8 obeys;			/* pauses the levels below */
	bool ignores;			/* its pause-storm watchdog */
	u16 ring;			/* what its headroom covers, as the settings here */
	u32 reaction_us;		/* 0: it does not say */
	u32 instance;
	u32 sequence;
	u32 confirmed;			/* last sequence of ours that it has received */
	u64 confirmed_ns;		/* when that was received; at first the link's start */
	u64 last_rx_ns;			/* its last frame; 0: none yet */
	u32 defied;			/* frames of requested levels since the last request */
	bool defies;			/* they were too many to have been in flight, once */
	u64 since_ns;			/* start of the link, or of its carrier */
};

/* Flow control with the other end of the wire. */
struct prioflow_link {
	u8 mode;			/* PRIOFLOW_LINK_*; under RTNL and the port's lock */
	struct nf_hook_ops hook;
	u32 reaction_us;		/* from XOFF to the last frame, without the rings */
	u32 ring;			/* frames in the rings of both ends */
	u32 rate_mbps;			/* link rate; 0: unknown; RTNL */
	u8 obeys;			/* the peer can pause the levels below */
	struct prioflow_peer peer;
	struct prioflow_storm storm;
	u64 rate_ns;			/* of the rate limit of received frames; the port's lock */

	/* transmit side, under the port's lock */
	struct task_struct *thread;	/* sends; changes under RTNL, too */
	u64 next_ns;			/* when it sends next, CLOCK_MONOTONIC */
	u32 repeats;			/* of the last request, so far */
	u32 instance;
	u32 sequence;
	u16 last_sent;			/* mask */

	/* the sending thread's */
	struct sk_buff_head spare;	/* frames without content */
	const struct sk_buff *own;	/* frame on its way to the qdisc, whose enqueue clears it */

	/* PAUSE and PFC; change under RTNL and the port's lock */
	u32 pause_mbps;			/* the link rate, or an assumed one */
	u16 quanta;			/* of one frame */
	u64 refresh_ns;			/* interval of refreshes */

	/* counters, under the port's lock */
	u64 frames_sent;
	u64 frames_received;
	u64 malformed;
	u64 stale;
	u64 limited;
	u64 no_memory;
	u64 foreign;			/* under a qdisc's lock; racy between several */
};

/* Who sends pause requests to the peer; all their levels are requested. */
enum prioflow_requester {
	PRIOFLOW_FOR_HAND,
	PRIOFLOW_FOR_SOCKETS,
	PRIOFLOW_FOR_FORWARDED,
	PRIOFLOW_REQUESTERS
};

#define PRIOFLOW_SLOTS		64	/* most ports of a namespace with a link */

/* A port as ingress port of a bridge (forward.c). Numbers are frames. */
struct prioflow_forward {
	struct hlist_node node;		/* by interface index */
	u32 serial;			/* 0: no link; changes under RTNL and the port's lock */
	u32 room_config;		/* 0: computed; RTNL */
	/* limits of one queue and level; change under RTNL */
	u32 room;			/* protected frames; 0: none */
	u32 headroom;			/* part of the room for in-flight frames */
	u32 high;			/* XOFF from here */
	u32 low;			/* XON from here down */
	/* under the port's lock */
	u32 xoff_queues[PRIOFLOW_TOP_LEVEL];	/* queues that have a level in XOFF */
	u64 pause_requests;
	u8 slot;			/* index into the accounts of queues; RTNL */
};

/* Whether the peer is standard equipment: it knows PFC priorities or PAUSE, but no levels. */
static inline bool prioflow_link_is_standard(u8 mode)
{
	return mode == PRIOFLOW_LINK_PFC || mode == PRIOFLOW_LINK_PAUSE;
}

/* Packets that wait for the carrier (keep.c), under the port's lock. */
struct prioflow_keep {
	struct nf_hook_ops hook;
	bool hooked;			/* RTNL */
	bool resumes;			/* they are being sent again, and new ones wait behind */
	const struct sk_buff *passing;	/* on its way to the qdisc again, whose enqueue clears it */
	u64 ruled_bytes;		/* of kept packets that a rule protects */
	u64 lost;			/* protected packets that were dropped */
	struct sk_buff_head kept;
	struct delayed_work work;	/* sends them again, if nobody tells when */
};

/* Which ports a receiver sends pause requests to (scope.c). Under the namespace's lock. */
struct prioflow_scope {
	struct list_head list;
	int ifindex;			/* the ports of this device; 0: all */
	u64 slots;			/* mask, of the ports with a link among them; also RTNL */
	u32 users;
	u32 requests[PRIOFLOW_TOP_LEVEL];	/* receivers in XOFF, per level */
	u16 mask;			/* the levels that have some */
};

/* What the senders of one user have reserved. Under the namespace's lock. */
struct prioflow_user {
	struct hlist_node node;
	kuid_t uid;
	u64 reserved;			/* bytes; freed at 0 */
};

/* What the administrator's rules go by (rules.c). */
enum prioflow_rules_kind {
	PRIOFLOW_RULES_PORTS,
	PRIOFLOW_RULES_CGROUPS,
	PRIOFLOW_RULES_KINDS
};

/* State of a network namespace. */
struct prioflow_net {
	struct net *net;
	spinlock_t lock;
	struct list_head ports;		/* changes under RTNL and the lock */
	struct list_head scopes;
	struct list_head receivers;	/* opted-in ones, in the order of their serials; the lock */
	u32 receiver_count;
	u64 receiver_serial;		/* last one given */
	DECLARE_HASHTABLE(users, 6);	/* by user; the lock */
	struct prioflow_port __rcu *by_slot[PRIOFLOW_SLOTS];	/* ports with a link; RTNL */
	DECLARE_HASHTABLE(by_index, 5);	/* the same ports; RTNL */
	u32 serial;			/* last one given to a port; RTNL */
	bool has_senders;		/* or has had; changes under RTNL */
	u32 charge;			/* the largest of its ports' */
	u32 send_room;			/* bytes, of each user */
	u32 receiver_watchdog_ms;
	u8 open_levels;
	struct prioflow_rules __rcu *rules[PRIOFLOW_RULES_KINDS];	/* changes under RTNL */
	struct ctl_table *table;
	struct ctl_table_header *sysctl;

	/* receivers in XOFF (poll.c) */
	spinlock_t poll_lock;		/* nests in a receiver's */
	struct list_head polled;	/* next first; only the timer removes */
	u32 polled_count;
	bool timer_runs;		/* while there are any */
	struct hrtimer timer;
};

struct prioflow_port {
	struct list_head list;		/* in the namespace's ports */
	struct prioflow_net *net;
	struct rcu_head rcu;
	struct net_device *dev;
	u32 users;			/* qdiscs; RTNL */
	spinlock_t lock;		/* protects the update side of the fields below */
	struct list_head qdiscs;
	struct prioflow_hold hold[PRIOFLOW_HOLDS];
	u16 paused;			/* by any of them */
	u64 until_ns;			/* first end of a pause, CLOCK_MONOTONIC; 0: none */
	u16 requested[PRIOFLOW_REQUESTERS];
	u16 request;			/* of the peer: by any of them, widened by the scope */
	u8 scope;			/* PRIOFLOW_SCOPE_* */
	bool propagates;		/* frames for this port may pause other ports */
	u8 protects;			/* PRIOFLOW_PROTECTS_*; changes under RTNL */
	u32 charge;			/* most seen for a frame, in PRIOFLOW_CHARGE_USUAL of the usual */
	struct prioflow_link link;
	struct prioflow_forward forward;
	struct prioflow_keep keep;
	u64 paused_since_ns[PRIOFLOW_LEVELS];
	u64 paused_ns[PRIOFLOW_LEVELS];
	u32 pauses[PRIOFLOW_LEVELS];
};

/* What may protect packets that are charged to no socket, so that a qdisc looks at each. */
#define PRIOFLOW_PROTECTS_BY_RULES	BIT(0)	/* the namespace has some */
#define PRIOFLOW_PROTECTS_KEPT		BIT(1)	/* kept packets are being sent again */

/* Whether the limits apply to a packet. */
enum prioflow_protection {
	PRIOFLOW_DROPPABLE,		/* best effort */
	PRIOFLOW_PROTECTED,		/* by its socket, a rule, or the room of its port */
	PRIOFLOW_PROTECTIONS
};

/* What protects a local packet. */
enum prioflow_protector {
	PRIOFLOW_BY_NOTHING,
	PRIOFLOW_BY_SOCKET,
	PRIOFLOW_BY_RULE,
};

/* The packets of one level, under the qdisc lock. */
struct prioflow_level {
	struct sk_buff_head queue[PRIOFLOW_PROTECTIONS];
	u32 order;			/* sequence of the youngest packet */
	u64 bytes;
	u64 sent;
	u64 sent_bytes;
	u64 dropped;
	u64 longest_wait_ns;
};

/* Frames of one ingress port in a qdisc, under the qdisc lock. */
struct prioflow_account {
	u32 serial;			/* of the port that has sent XOFF */
	u16 xoff;			/* mask of levels in XOFF */
	u32 frames[PRIOFLOW_TOP_LEVEL];
};

struct prioflow_sched {
	struct prioflow_port *port;
	struct sk_buff *bypass;		/* bypass slot (bypass.h): counted, in no level */
	u8 bypass_level;
	struct prioflow_map map;
	struct list_head list;		/* in the port's qdiscs */
	struct Qdisc *qdisc;
	struct qdisc_watchdog watchdog;
	u32 limit;			/* packets */
	u32 limit_bytes;
	u16 one_queue;			/* index + 1 of the only queue; 0: any queue */
	u16 backlogged;			/* mask of levels that hold packets */
	u16 droppable;			/* mask of levels that hold droppable packets */
	u32 protected;			/* packets that the limits do not count */
	u64 protected_bytes;
	struct prioflow_level level[PRIOFLOW_LEVELS];
	u64 ruled;			/* packets that a rule has protected */
	u64 ruled_over_room;		/* packets that it would have, with more room */
	u64 ruled_bytes;		/* truesize of those in the levels */
	u64 over_limit;			/* forwarded frames without room */
	u32 most_forwarded;		/* most at once, of one port and level */
	struct prioflow_account account[PRIOFLOW_SLOTS];	/* by the ports' slots */
};

/* Preamble, start delimiter, frame check sequence and gap, octets. */
#define PRIOFLOW_WIRE_OVERHEAD	(8 + 4 + 12)

#define PRIOFLOW_NO_LEVEL	(-1)

/* The qdisc lock is that of the root qdisc. Without lockdep nothing is read to find it. */
static inline void prioflow_assert_qdisc_lock(const struct Qdisc *sch)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	rcu_read_lock();
	lockdep_assert_held(qdisc_lock(qdisc_root_sleeping(sch)));
	rcu_read_unlock();
}

/* The qdisc that stands for the port's, or NULL. */
static inline struct prioflow_sched *prioflow_port_qdisc(struct prioflow_port *port)
{
	lockdep_assert_held(&port->lock);
	return list_first_entry_or_null(&port->qdiscs, struct prioflow_sched, list);
}

/* A socket that sends pause requests before its buffer is full (receive.c). */
struct prioflow_receiver {
	void (*ready)(struct sock *sk);	/* the socket's own sk_data_ready */
	spinlock_t lock;
	s8 level;			/* or PRIOFLOW_NO_LEVEL; under the lock, as all below */
	u8 requested;			/* requested level + 1; 0: none */
	bool abandoned;			/* has not read for too long: no longer served */
	u32 payload;			/* of its smallest datagram, octets */
	u32 high;			/* XOFF mark, bytes of sk_rmem_alloc */
	u32 low;			/* XON mark */
	u32 headroom;			/* bytes of its buffer for in-flight frames */
	u32 frames;			/* in-flight frames */
	u32 pause_requests;
	struct prioflow_scope *scope;	/* while it has a level */
	struct list_head member;	/* of the namespace's receivers; the namespace's lock */
	u64 serial;			/* of the member */
	u64 inode;
	u32 pid;			/* of the process that has opted it in */
	/* while it is polled, which holds a reference */
	struct list_head node;		/* poll_lock */
	u64 xoff_ns;			/* since when, CLOCK_MONOTONIC; 0: it is not in XOFF */
	u64 read_ns;			/* when it has been seen to read */
	u32 fill;			/* bytes at the last look */
};

/* State of a socket that has opted in (socket.c). */
struct prioflow_socket {
	struct rhash_head node;
	struct rcu_head rcu;
	struct sock *sk;
	void (*destruct)(struct sock *sk);	/* the socket's own sk_destruct */
	s8 send_level;			/* or PRIOFLOW_NO_LEVEL; under the socket's lock */
	u32 reserve;			/* bytes, under the socket's lock */
	struct prioflow_user *user;	/* whose room it has reserved; while reserve is not 0 */
	atomic64_t protected;		/* packets */
	atomic64_t unprotected;
	struct prioflow_receiver receiver;
};

/* classify.c */
/* Not a level: a frame of flow control that this port's link has not sent. */
#define PRIOFLOW_FOREIGN	PRIOFLOW_LEVELS
u8 prioflow_classify(const struct prioflow_sched *q, struct sk_buff *skb);
int prioflow_classify_received(const struct prioflow_map *map, struct sk_buff *skb);
u32 prioflow_map_entries(u8 source);
void prioflow_map_init(struct prioflow_map *map, u8 source);
void prioflow_map_update(struct prioflow_map *map);

/* port.c */
int prioflow_port_module_init(void);
void prioflow_port_module_exit(void);
u32 prioflow_port_rate(const struct prioflow_port *port);
struct prioflow_port *prioflow_port_get(struct net_device *dev);
void prioflow_port_put(struct prioflow_port *port);
void prioflow_port_set_protects(struct prioflow_port *port, u8 what, bool on);
void prioflow_port_join(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_leave(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_expire(struct prioflow_port *port, u64 now_ns);
void prioflow_port_hold(struct prioflow_port *port, enum prioflow_holder holder, u16 mask,
			u64 until_ns);
void prioflow_port_apply(struct prioflow_port *port, u64 now_ns);
void prioflow_port_request(struct prioflow_port *port, enum prioflow_requester requester,
			   u16 mask);
void prioflow_port_set_scope(struct prioflow_port *port, u8 scope);
void prioflow_port_set_receive_level(struct prioflow_port *port, u8 level);
void prioflow_port_set_send_level(struct prioflow_port *port, u8 level, u64 lifetime_ns);
int prioflow_port_in_flight(const struct prioflow_port *port, u32 reaction_us, u32 ring,
			    u32 octets, u32 *frames);
u16 prioflow_port_paused(struct prioflow_port *port, u64 *until_ns);
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats);

/* link.c */
extern const u8 prioflow_address[ETH_ALEN];
void prioflow_link_init(struct prioflow_link *link);
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack);
void prioflow_link_end(struct prioflow_port *port);
void prioflow_link_request(struct prioflow_port *port);
void prioflow_link_measure(struct prioflow_port *port);
void prioflow_link_fill(const struct prioflow_port *port, u64 now_ns,
			struct tc_prioflow_link *stats);

void prioflow_link_await_enqueue(const struct sk_buff **mark, const struct sk_buff *skb);

/* peer.c */
void prioflow_peer_start(struct prioflow_peer *peer, u64 now_ns);
bool prioflow_peer_hear(struct prioflow_link *link, const struct prioflow_frame *frame,
			u64 now_ns);
void prioflow_peer_judge(struct prioflow_port *port, struct sk_buff *skb);
u8 prioflow_peer_state(const struct prioflow_link *link, u16 request, u64 now_ns);

/* storm.c */
void prioflow_storm_account(struct prioflow_port *port, u64 now_ns);
u16 prioflow_storm_ignored(const struct prioflow_storm *storm, u64 now_ns);
u16 prioflow_storm_permitted(struct prioflow_port *port, u16 mask, u64 now_ns);
void prioflow_storm_set_limit(struct prioflow_port *port, u64 limit_ns);

/* keep.c */
void prioflow_keep_init(struct prioflow_keep *keep);
void prioflow_keep_levels(struct prioflow_sched *q);
void prioflow_keep_resume(struct prioflow_port *port);
void prioflow_keep_purge(struct prioflow_port *port);
void prioflow_keep_count_lost(struct prioflow_port *port, u32 packets);
void prioflow_keep_start(struct prioflow_port *port);
void prioflow_keep_end(struct prioflow_port *port);

/* rules.c */
bool prioflow_rules_exist(const struct prioflow_net *net);
bool prioflow_rules_match(struct prioflow_net *net, const struct sk_buff *skb, u8 level);
bool prioflow_rules_protect(struct prioflow_sched *q, const struct sk_buff *skb, u8 level);
int prioflow_rules_sysctl(COMPAT_CTL_TABLE *table, int write, void *buffer, size_t *length,
			  loff_t *offset);
void prioflow_rules_end(struct prioflow_net *net);

/* forward.c */
struct prioflow_port *prioflow_forward_find(struct prioflow_net *net, int ifindex);
u8 prioflow_forward_charge(struct Qdisc *sch, const struct sk_buff *skb, u8 level);
void prioflow_forward_release(struct prioflow_sched *q, u32 slot, u8 level);
void prioflow_forward_purge(struct prioflow_sched *q);
void prioflow_forward_set_propagates(struct prioflow_port *port, bool propagates);
int prioflow_forward_check(const struct prioflow_port *port, u32 room, u32 reaction_us, u32 ring,
			   struct netlink_ext_ack *extack);
void prioflow_forward_measure(struct prioflow_port *port);
int prioflow_forward_start(struct prioflow_port *port, struct netlink_ext_ack *extack);
void prioflow_forward_stop(struct prioflow_port *port);

/* event.c */
int prioflow_event_module_init(void);
void prioflow_event_module_exit(void);
void prioflow_event(const struct prioflow_port *port, u8 command, u64 now_ns);
void prioflow_event_receiver(const struct prioflow_socket *socket, u64 now_ns);

/* rx.c */
unsigned int prioflow_rx(void *priv, struct sk_buff *skb, const struct nf_hook_state *state);

/* net.c */
int prioflow_net_module_init(void);
void prioflow_net_module_exit(void);
struct prioflow_net *prioflow_net_of(const struct net *net);
bool prioflow_net_permits(const struct net *net, u8 level);
void prioflow_net_expect_senders(struct prioflow_net *net);
void prioflow_net_add(struct prioflow_net *net, struct prioflow_port *port);
void prioflow_net_remove(struct prioflow_net *net, struct prioflow_port *port);

/* scope.c */
u64 prioflow_scope_slots(struct prioflow_net *net, int ifindex);
struct prioflow_scope *prioflow_scope_get(struct prioflow_net *net, int ifindex);
void prioflow_scope_put(struct prioflow_net *net, struct prioflow_scope *scope);
void prioflow_scope_request(struct prioflow_net *net, struct prioflow_scope *scope, u8 from,
			    u8 to);
void prioflow_scope_update(struct prioflow_net *net);

/* reserve.c */
int prioflow_reserve(struct prioflow_socket *socket, u32 bytes);
void prioflow_reserve_end(struct prioflow_socket *socket);
u64 prioflow_reserved(struct prioflow_net *net, kuid_t uid);

/* socket.c */
int prioflow_socket_module_init(void);
void prioflow_socket_module_exit(void);
void prioflow_socket_destruct(struct sock *sk);
struct prioflow_socket *prioflow_socket_find(const struct sock *sk);
struct prioflow_socket *prioflow_socket_get(struct sock *sk);
bool prioflow_socket_protects(const struct sock *sk, u8 level, const struct net *net);

/*
 * Whether the packet is charged to a socket that has opted in. Such a packet keeps the socket
 * from destruction.
 */
static __always_inline bool prioflow_socket_is_charged(const struct sk_buff *skb)
{
	return skb->destructor == sock_wfree &&
	       READ_ONCE(skb->sk->sk_destruct) == prioflow_socket_destruct;
}

/* sockopt.c */
int prioflow_sockopt_module_init(void);
void prioflow_sockopt_module_exit(void);

/* receive.c */
void prioflow_receive_init(struct prioflow_socket *socket);
int prioflow_receive_set(struct prioflow_socket *socket, const struct prioflow_receive *set,
			 struct prioflow_scope *scope);
void prioflow_receive_request(struct prioflow_receiver *receiver, struct prioflow_net *net,
			      u8 level);
void prioflow_receive_end(struct prioflow_socket *socket);
void prioflow_receive_measure(struct prioflow_net *net);
bool prioflow_receive_has_level(struct prioflow_net *net, u32 slot, s8 level);
u32 prioflow_receive_high(const struct prioflow_socket *socket);
void prioflow_receive_see(struct prioflow_port *port, const struct sk_buff *skb);
void prioflow_receive_forget(struct prioflow_port *port);

/* headroom.c */
#define PRIOFLOW_CHARGE_USUAL	64
#define PRIOFLOW_CHARGE_MOST	(64 * PRIOFLOW_CHARGE_USUAL)
/* No frame is charged less. */
#define PRIOFLOW_CHARGE_SMALL	(2048 + SKB_DATA_ALIGN(sizeof(struct sk_buff)))
u32 prioflow_headroom_charge(u32 payload);
int prioflow_headroom(const struct prioflow_net *net, u64 slots, u32 payload, s32 level,
		      struct prioflow_receive *need);

/* poll.c */
void prioflow_poll_init(struct prioflow_net *net);
void prioflow_poll_exit(struct prioflow_net *net);
void prioflow_poll_start(struct prioflow_net *net, struct prioflow_receiver *receiver,
			 u64 now_ns);
u32 prioflow_poll_fill(const struct sock *sk);

/* options.c */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb);

/* qdisc.c */
int prioflow_qdisc_module_init(void);
void prioflow_qdisc_module_exit(void);

#endif /* PRIOFLOW_H */
