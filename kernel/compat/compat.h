/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels we build for (6.1 and newer). The only place
 * that asks for LINUX_VERSION_CODE: each block names the release that changed
 * the interface and offers the newer spelling to the older kernel.
 */
#ifndef TEIJI_COMPAT_H
#define TEIJI_COMPAT_H

#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/timekeeping.h>
#include <linux/version.h>
#include <net/genetlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>

/* 6.11: struct ethtool_ts_info is for user space alone. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define kernel_ethtool_ts_info ethtool_ts_info
#endif

/* 6.13: hrtimer_setup() takes the place of hrtimer_init(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/*
 * 6.14: the affinity of an interrupt changes at once, unless its chip's flags say otherwise.
 * Before, the chip's handler changes it later, unless the interrupt has this flag.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define COMPAT_IRQ_MOVE_PCNTXT	IRQ_MOVE_PCNTXT
#else
#define COMPAT_IRQ_MOVE_PCNTXT	0
#endif

/* 6.6, and stable releases since: multicast groups have flags of their own. */
#ifdef GENL_MCAST_CAP_NET_ADMIN
#define COMPAT_GENL_MCAST_ADMIN	GENL_MCAST_CAP_NET_ADMIN
#else
#define COMPAT_GENL_MCAST_ADMIN	GENL_UNS_ADMIN_PERM
#endif

/* 6.14: kthread_run_worker() also wakes the worker; an unwoken one counts as load. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define kthread_run_worker	kthread_create_worker
#endif

/*
 * 6.6: registering a namespace's sysctls takes their number. Before, an empty entry ends
 * the table; since 6.11 it would be an entry like any other.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define compat_register_net_sysctl(net, path, table, count)	\
	register_net_sysctl(net, path, table)
#else
#define compat_register_net_sysctl	register_net_sysctl_sz
#endif

/* 6.11: handlers of sysctls do not change their table. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define COMPAT_CTL_TABLE	struct ctl_table
#else
#define COMPAT_CTL_TABLE	const struct ctl_table
#endif

/* 6.5: segmentation has a header of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

/* 6.5: taprio has a command instead of a flag. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define compat_taprio_is_replace(offload)	((offload)->enable)
#define compat_taprio_is_destroy(offload)	(!(offload)->enable)
#else
#define compat_taprio_is_replace(offload)	((offload)->cmd == TAPRIO_CMD_REPLACE)
#define compat_taprio_is_destroy(offload)	((offload)->cmd == TAPRIO_CMD_DESTROY)
#endif

/*
 * 7.3 at the latest (versions between 6.12 and 7.3 were not tried): qdiscs have drop reasons
 * of their own. Before, the core sets QDISC_DROP.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#define compat_qdisc_drop_over_limit(skb, sch, to_free)			\
	qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT)
#else
#define compat_qdisc_drop_over_limit	qdisc_drop
#endif

/*
 * 6.19: a packet's number of segments is kept with its length, and counts in the parents'
 * statistics. A segment has inherited that of the whole.
 */
static inline void compat_qdisc_init_pkt_len(struct sk_buff *skb, u32 length)
{
	qdisc_skb_cb(skb)->pkt_len = length;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
}

/* 6.4: mqprio and taprio pass an extack to the driver. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define compat_offload_extack(offload)	NULL
#else
#define compat_offload_extack(offload)	((offload)->extack)
#endif

/*
 * 6.2: an extack message may contain numbers; @text is the message without. Both begin with
 * the module's name.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define compat_ext_ack(extack, text, ...)	NL_SET_ERR_MSG_MOD(extack, text)
#else
#define compat_ext_ack(extack, text, ...)	NL_SET_ERR_MSG_FMT_MOD(extack, __VA_ARGS__)
#endif

/* 6.3: mqprio can validate the queue counts for the driver. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define compat_mqprio_validates_queues(base)	do { (void)(base); } while (0)
#else
#define compat_mqprio_validates_queues(base)				\
	do {								\
		struct tc_mqprio_caps *caps = (base)->caps;		\
									\
		caps->validate_queue_counts = true;			\
	} while (0)
#endif

/*
 * 6.4: taprio queries the device's capabilities. Here gates belong to queues, as before 6.4,
 * and the lower queue has priority whatever its class.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define compat_taprio_caps(caps)	do { (void)(caps); } while (0)
#else
#define compat_taprio_caps(caps)					\
	do {								\
		struct tc_taprio_caps *_caps = (caps);			\
									\
		_caps->gate_mask_per_txq = true;			\
		_caps->broken_mqprio = true;				\
	} while (0)
#endif

/*
 * 7.2 at the latest (versions between 6.12 and 7.2 were not tried): a snapshot and a cross
 * timestamp are of the clock with the given id.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define sys_systime	sys_realtime
#define compat_cross_clock(cross)	CLOCK_REALTIME
#else
#define compat_cross_clock(cross)	((cross)->clock_id)
#endif

/* Clock @id (before 7.2 always CLOCK_REALTIME) and CLOCK_MONOTONIC_RAW at one instant. */
static inline void compat_snapshot(clockid_t id, ktime_t *system, ktime_t *raw)
{
	struct system_time_snapshot now;

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	ktime_get_snapshot(&now);
	*system = now.real;
	*raw = now.raw;
#else
	ktime_get_snapshot_id(id, &now);
	*system = now.systime;
	*raw = now.monoraw;
#endif
}

/* 6.6: operations instead of an ioctl configure time stamping. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define COMPAT_HAVE_NDO_HWTSTAMP
#endif

/*
 * A driver's newlink(dev, params, extack), and the namespace of a pair's peer: up to 6.12
 * the driver finds the namespace and owns a reference to it, from 6.13 on the core does if
 * it knows the peer's attribute, from 6.15 on the parameters are in a structure.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
struct compat_newlink {
	struct net *net;
	struct nlattr **tb;
	struct nlattr **data;
};

#define COMPAT_NEWLINK(name)							\
static int compat_newlink_##name(struct net *net, struct net_device *dev,	\
				 struct nlattr *tb[], struct nlattr *data[],	\
				 struct netlink_ext_ack *extack)		\
{										\
	struct compat_newlink params = { net, tb, data };			\
										\
	return name(dev, &params, extack);					\
}
#else
#define compat_newlink rtnl_newlink_params
#define COMPAT_NEWLINK(name)							\
static int compat_newlink_##name(struct net_device *dev,			\
				 struct rtnl_newlink_params *params,		\
				 struct netlink_ext_ack *extack)		\
{										\
	return name(dev, params, extack);					\
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_PEER_TYPE(attribute)
static inline struct net *compat_peer_net(struct compat_newlink *params, struct nlattr **tb)
{
	return rtnl_link_get_net(params->net, tb);
}

static inline void compat_peer_net_put(struct net *net)
{
	put_net(net);
}
#else
#define COMPAT_PEER_TYPE(attribute)	.peer_type = (attribute),
static inline struct net *compat_peer_net(struct compat_newlink *params, struct nlattr **tb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return params->net;
#else
	return rtnl_newlink_peer_net(params);
#endif
}

static inline void compat_peer_net_put(struct net *net)
{
}
#endif

#endif /* TEIJI_COMPAT_H */
