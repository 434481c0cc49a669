/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: 16 strict priority levels, and a transmit level below which a device
 * sends nothing.
 *
 * A *port* is what prioflow knows of a network device: its transmit level. All
 * prioflow qdiscs of the device share it, so that a multiqueue device is gated as
 * one. Ports come and go with their qdiscs, under the RTNL.
 */
#ifndef PRIOFLOW_H
#define PRIOFLOW_H

#include <linux/list.h>
#include <linux/netdevice.h>
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

struct prioflow_port {
	struct list_head list;		/* all ports, RTNL */
	struct net_device *dev;
	u32 users;			/* RTNL */
	spinlock_t lock;		/* protects the update side of what follows */
	struct list_head qdiscs;
	u8 send_level;
	u64 until_ns;			/* CLOCK_MONOTONIC; 0: does not expire */
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
void prioflow_port_set_level(struct prioflow_port *port, u8 level, u64 lifetime_ns);
u8 prioflow_port_gate(struct prioflow_port *port, u64 *until_ns);
void prioflow_port_fill(struct prioflow_port *port, struct tc_prioflow_xstats *stats);

/* options.c */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb);

/* qdisc.c */
extern struct Qdisc_ops prioflow_qdisc_ops;

#endif /* PRIOFLOW_H */
