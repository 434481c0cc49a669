/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: 16 strict priority levels, a transmit level below which a device sends
 * nothing, and the frames by which the other end of the wire sets it.
 *
 * A *port* is what prioflow knows of a network device: its levels, and its *link* with
 * the peer. All prioflow qdiscs of the device share it, so that a multiqueue device is
 * gated as one. Ports come and go with their qdiscs, under the RTNL.
 *
 * Locks: a qdisc's, then the port's.
 */
#ifndef PRIOFLOW_H
#define PRIOFLOW_H

#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "../uapi/prioflow.h"

/* Where a frame's level comes from. Read without lock, replaced as a whole. */
struct prioflow_map {
	struct rcu_head rcu;
	u8 source;			/* PRIOFLOW_SOURCE_* */
	u8 level[PRIOFLOW_TABLE_SIZE];
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

	/* received, under the port's lock; instants in CLOCK_MONOTONIC */
	bool peer_known;
	u32 peer_instance;
	u32 peer_sequence;
	u64 held_since_ns;
	u64 deaf_until_ns;
	u64 rate_ns;

	/* sent, under the port's lock */
	struct kthread_delayed_work work;
	u32 instance;
	u32 sequence;
	u8 said;
	u8 releases;			/* how often a release is still to be said */

	/* counters, under the port's lock */
	u64 frames_sent;
	u64 frames_received;
	u64 malformed;
	u64 stale;
	u64 limited;
	u64 ignored;
	u32 storms;
};

struct prioflow_port {
	struct list_head list;		/* all ports, RTNL */
	struct rcu_head rcu;
	struct net_device *dev;
	u32 users;			/* RTNL */
	u8 hand_receive_level;		/* RTNL */
	spinlock_t lock;		/* protects the update side of what follows */
	struct list_head qdiscs;
	struct prioflow_hold hold[PRIOFLOW_HOLDS];
	u8 send_level;
	u8 receive_level;		/* the highest that is asked for */
	u32 asking[PRIOFLOW_LEVELS];	/* how many ask for each */
	struct prioflow_link link;
	u64 until_ns;			/* CLOCK_MONOTONIC; 0: does not end by itself */
	u64 paused_since_ns[PRIOFLOW_LEVELS];
	u64 paused_ns[PRIOFLOW_LEVELS];
	u32 pauses[PRIOFLOW_LEVELS];
};

/* The packets of one level, under the qdisc's lock. */
struct prioflow_level {
	struct sk_buff_head queue;
	u64 bytes;
	u64 sent;
	u64 sent_bytes;
	u64 dropped;
	u64 longest_wait_ns;
};

struct prioflow_sched {
	struct prioflow_port *port;
	struct prioflow_map __rcu *map;
	struct list_head list;		/* of the port's qdiscs */
	struct Qdisc *qdisc;
	struct qdisc_watchdog watchdog;
	u32 limit;			/* packets */
	u32 limit_bytes;
	u16 one_queue;			/* + 1; 0: packets keep theirs */
	u16 backlogged;			/* mask of levels that hold packets */
	struct prioflow_level level[PRIOFLOW_LEVELS];
};

/* classify.c */
u8 prioflow_classify(const struct prioflow_map *map, struct sk_buff *skb);
struct prioflow_map *prioflow_map_new(u8 source);
u32 prioflow_map_entries(u8 source);

/* port.c */
struct prioflow_port *prioflow_port_get(struct net_device *dev);
void prioflow_port_put(struct prioflow_port *port);
void prioflow_port_join(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_leave(struct prioflow_port *port, struct prioflow_sched *sched);
void prioflow_port_expire(struct prioflow_port *port, u64 now_ns);
void prioflow_port_hold(struct prioflow_port *port, enum prioflow_holder holder, u8 level,
			u64 lifetime_ns, u64 now_ns);
void prioflow_port_ask(struct prioflow_port *port, u8 from, u8 to);
void prioflow_port_set_level(struct prioflow_port *port, u8 level, u64 lifetime_ns);
u8 prioflow_port_gate(struct prioflow_port *port, u64 *until_ns);
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats);

/* link.c */
int prioflow_link_module_init(void);
void prioflow_link_module_exit(void);
void prioflow_link_init(struct prioflow_link *link);
int prioflow_link_set_mode(struct prioflow_port *port, u8 mode, struct netlink_ext_ack *extack);
void prioflow_link_end(struct prioflow_port *port);
void prioflow_link_ask(struct prioflow_link *link);
void prioflow_link_fill(const struct prioflow_link *link, struct tc_prioflow_link *stats);

/* options.c */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb);

/* qdisc.c */
extern struct Qdisc_ops prioflow_qdisc_ops;

#endif /* PRIOFLOW_H */
