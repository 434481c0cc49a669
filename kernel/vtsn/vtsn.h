/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vtsn: a TSN network card in software, as a pair of ports joined by a wire.
 *
 * Time. Everything on the wire is computed in *wire time*, which is
 * CLOCK_MONOTONIC_RAW in ns (a name that ends in _raw). A clock of a port (PHC)
 * is a function of wire time (a name that ends in _phc). Timers only make the
 * kernel look; what they find was decided by the computation, so a timer that
 * runs late delivers late, but neither moves a departure nor a time stamp.
 *
 * Locking. One raw spinlock a wire covers both MACs, both clocks and all rings:
 * the two ends are one system, whose events are worked off in the order of wire
 * time (wire.c). It is taken in hard interrupts, so it is raw, and nothing under
 * it allocates or frees. Configuration is serialised by the RTNL.
 */
#ifndef VTSN_H
#define VTSN_H

#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/kref.h>
#include <linux/math64.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "../compat/compat.h"

#define VTSN_NAME		"vtsn"
#define VTSN_MAX_QUEUES		16
#define VTSN_DEFAULT_QUEUES	4	/* as the i210 */
#define VTSN_CLASSES		8	/* priorities of IEEE 802.1Q */
#define VTSN_MIN_RING		4
#define VTSN_MAX_RING		4096
#define VTSN_DEFAULT_RING	256	/* as igb */
#define VTSN_DEFAULT_TX_USECS	100
#define VTSN_NEVER		S64_MAX
#define VTSN_CONTROL		VTSN_MAX_QUEUES	/* in place of a queue: a frame of the MAC's own */

/* IEEE 802.3: preamble and SFD, FCS, inter-packet gap, in byte times. */
#define VTSN_PREAMBLE		8
#define VTSN_GAP		12

/* A schedule of gates, IEEE 802.1Q-2022 8.6.8.4 (Qbv). Times in PHC ns. */
struct vtsn_schedule {
	s64 base_phc;
	s64 cycle_ns;
	s64 extension_ns;
	u32 always_open;	/* queues whose gate never closes */
	u32 count;
	struct {
		s64 start_ns;	/* since the start of the cycle */
		u32 gates;	/* open queues, as a mask */
	} entry[];
};

/* A credit-based shaper, IEEE 802.1Q-2022 8.6.8.2. */
struct vtsn_cbs {
	bool enabled;
	s64 idle_bps;
	s64 send_bps;		/* negative */
	s64 high_credit;	/* credits in bit * 10^-9 */
	s64 low_credit;
	s64 credit;		/* at updated_raw */
	s64 updated_raw;
	bool waiting;		/* a frame has waited since updated_raw */
};

enum vtsn_drop {
	VTSN_SENT,		/* not dropped */
	VTSN_DROP_HORIZON,	/* launch time too far ahead */
	VTSN_DROP_NEVER_OPEN,	/* no gate is open long enough for it */
	VTSN_DROP_TIMEOUT,	/* the queue was stuck and was emptied */
};

/* A frame in a transmit ring. */
struct vtsn_desc {
	struct sk_buff *skb;	/* the sender's; released when transmission has ended */
	struct sk_buff *image;	/* what travels; NULL once it does */
	struct sk_buff *twin;	/* a duplicate that a fault asked for */
	s64 queued_raw;
	s64 launch_phc;		/* 0: none */
	s64 done_raw;		/* end of the transmission */
	s64 stamp_phc;		/* of the SFD */
	u32 bytes;		/* as counted towards BQL */
	u16 octets;		/* on the wire, from destination address to FCS */
	u8 class;		/* IEEE 802.1Q priority, for PFC */
	u8 drop;		/* enum vtsn_drop */
	bool stamp;		/* the sender waits for a hardware stamp */
	bool stamp_lost;	/* a fault: it waits in vain */
};

struct vtsn_txq_stats {
	u64 packets;
	u64 bytes;
	u64 launch_late;	/* launch time had passed when the frame came: sent at once */
	u64 launch_delayed;	/* sent later than its launch time: something was in the way */
	u64 launch_horizon;
	u64 gate_waits;		/* had to wait for its gate */
	u64 gate_never;
	u64 credit_waits;
	u64 pause_waits;
	u64 busy_waits;		/* had to wait for a frame on the wire */
	u64 no_memory;
	u64 timeouts;
	u64 flushed;		/* waited when the port went down or its rings were changed */
	u64 stamp_skipped;	/* no slot for its time stamp was free */
	u64 stamp_lost;		/* by a fault */
};

/* A transmit queue. Indices run freely; the slot is index & (ring size - 1). */
struct vtsn_txq {
	struct vtsn_desc *desc;
	u32 tail;		/* next to be filled, by xmit */
	u32 mac;		/* next to be sent, by the MAC */
	u32 clean;		/* next to be released, by NAPI */
	u32 urgent;		/* none before it, from clean on, waits for a stamp */
	bool launch_time;	/* ETF offload is on */
	struct vtsn_cbs cbs;
	struct vtsn_txq_stats stats;
};

struct vtsn_rx_stats {
	u64 packets;
	u64 bytes;
	u64 multicast;
	u64 overrun;		/* ring full */
	u64 crc_errors;
	u64 down;		/* arrived at a port that is down, or not fetched before it was */
	u64 pause;		/* PAUSE frames obeyed */
	u64 pfc;		/* PFC frames obeyed */
};

/* Counted when the frame is sent. A duplicate shares its original's fate. */
struct vtsn_fault_stats {
	u64 lost;
	u64 duplicated;
	u64 corrupted;
	u64 reordered;
	u64 delayed;
};

/* Faults on frames that this port sends; set through debugfs. */
struct vtsn_faults {
	u32 loss_ppm;
	u32 duplicate_ppm;
	u32 corrupt_ppm;
	u32 reorder_ppm;
	u32 reorder_ns;
	u32 jitter_ns;
	u32 stamp_loss_ppm;
	u32 stuck_queues;	/* mask of queues that the MAC does not serve */
	bool any;
	struct rnd_state random;
	struct vtsn_fault_stats stats;
};

/* A PTP hardware clock: a line in (wire time, PHC) that is bent by settings. */
struct vtsn_phc {
	struct ptp_clock_info info;
	struct ptp_clock *clock;
	s64 base_raw;
	s64 base_phc;
	u32 base_frac;		/* of a ns, in 2^-32 */
	s64 rate_q48;		/* deviation from 1, in 2^-48: the sum of the three below */
	s64 adjust_q48;		/* by adjfine */
	s32 drift_ppb;		/* of the oscillator */
	u32 wander_ppb;		/* amplitude of its slow change, a triangle */
	u32 wander_period_ms;
	s64 wander_start_raw;
};

/* What the peer or this port has asked for by IEEE 802.3x PAUSE or 802.1Qbb PFC. */
struct vtsn_pause {
	bool obey;		/* ethtool -A rx */
	bool send;		/* ethtool -A tx */
	u8 pfc_enabled;		/* classes under PFC, by dcbnl */
	s64 until_raw[VTSN_CLASSES];
	u8 asked;		/* classes we have paused at the peer */
	bool asked_all;		/* PAUSE instead of PFC */
	s64 request_raw;	/* when to send the next control frame, or VTSN_NEVER */
	struct sk_buff_head spare;	/* for control frames; NAPI refills it */
	u64 sent;
	u64 sent_pfc;
};

struct vtsn_port {
	struct net_device *dev;
	struct vtsn_wire *wire;
	struct vtsn_port *peer;
	struct napi_struct napi;

	/* Transmit, under wire->lock. */
	struct vtsn_txq txq[VTSN_MAX_QUEUES];
	u32 tx_ring;
	u32 backlog;		/* mask of queues that hold a frame for the MAC */
	u32 sending;		/* mask of queues that hold a frame to be released */
	bool strict;		/* queue 0 first, then 1, ...; else round robin */
	u8 last_queue;
	u8 queues_counted;	/* as many as the port has ever had */
	s64 next_raw;		/* next departure, as of the last event */
	s64 free_raw;		/* the MAC may start the next frame, gap included */
	u8 free_tenths;		/* and this many tenths of a ns later */
	u32 stamps_in_use;
	struct vtsn_schedule *schedule;		/* in force */
	struct vtsn_schedule *next_schedule;	/* in force from its base time on */

	/* Receive, under wire->lock. */
	struct sk_buff_head inbound;	/* on the wire, in order of arrival */
	struct sk_buff_head ring;	/* arrived */
	u32 rx_ring;
	u32 class_count[VTSN_CLASSES];
	struct vtsn_rx_stats rx;

	struct vtsn_pause pause;
	struct vtsn_phc phc;
	struct vtsn_faults faults;
	struct hwtstamp_config stamping;

	/* Interrupt, under wire->lock but for the line's number. */
	struct hrtimer timer;
	call_single_data_t kick;	/* sets the timer, on the port's CPU */
	bool kicked;
	s64 timer_raw;		/* what the timer is set to */
	int irq;
	int cpu;		/* where the line is raised */
	bool up;
	bool masked;		/* NAPI is at work */
	u32 rx_usecs, rx_frames, tx_usecs, tx_frames;
	u64 interrupts;

	/* Settings. */
	u32 launch_resolution_ns;
	u64 launch_horizon_ns;
	u32 stamp_slots;	/* 0: no limit */
	struct dentry *debugfs;
};

struct vtsn_wire {
	raw_spinlock_t lock;
	u32 mbps;
	u32 byte_tenths;	/* time of a byte in 0.1 ns: whole for every rate */
	u32 delay_ns;		/* propagation */
	s64 next_raw;		/* nothing happens before */
	s64 settled_raw;	/* what happened until then is decided */
	struct vtsn_port *port[2];
	struct kref ref;
};

/* In skb->cb of a frame that travels. */
struct vtsn_image {
	s64 arrival_raw;	/* last bit received */
	s64 sfd_raw;		/* start of frame at the receiver */
	s64 stamp_phc;		/* the same by the receiver's clock */
	u32 delay_ns;		/* more, by a fault */
	u8 class;
	bool damaged;
	bool lost;
	bool reordered;
};

static inline struct vtsn_image *vtsn_image(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct vtsn_image) > sizeof(skb->cb));
	return (struct vtsn_image *)skb->cb;
}

static inline struct vtsn_desc *vtsn_slot(struct vtsn_port *port,
					  struct vtsn_txq *txq, u32 index)
{
	return &txq->desc[index & (port->tx_ring - 1)];
}

static inline struct vtsn_port *vtsn_port(struct net_device *dev)
{
	return netdev_priv(dev);
}

/* Time of this many bytes, in ns, rounded up. */
static inline s64 vtsn_bytes_ns(const struct vtsn_wire *wire, u32 bytes)
{
	return DIV_ROUND_UP(bytes * wire->byte_tenths, 10);
}

/* main.c */
extern struct rtnl_link_ops vtsn_link_ops;
bool vtsn_is_port(const struct net_device *dev);

/* netdev.c */
extern const struct net_device_ops vtsn_netdev_ops;
int vtsn_poll(struct napi_struct *napi, int budget);
int vtsn_set_rings(struct vtsn_port *port, u32 tx_ring, u32 rx_ring, u32 queues);
void vtsn_purge(struct vtsn_port *port);

/* wire.c: under wire->lock ... */
void vtsn_wire_run(struct vtsn_wire *wire, s64 now_raw);
bool vtsn_irq_cause(struct vtsn_port *port, s64 now_raw);
void vtsn_wire_set_rate(struct vtsn_wire *wire, u32 mbps);
/* ... but these, which take and release it */
s64 vtsn_wire_enter(struct vtsn_wire *wire, unsigned long *flags) __acquires(&wire->lock);
void vtsn_wire_leave(struct vtsn_wire *wire, s64 now_raw, unsigned long flags)
	__releases(&wire->lock);
void vtsn_wire_watch(struct vtsn_wire *wire, s64 now_raw, unsigned long flags)
	__releases(&wire->lock);

/* irq.c */
int vtsn_irq_create(struct vtsn_port *port);
void vtsn_irq_destroy(struct vtsn_port *port);
int vtsn_irq_request(struct vtsn_port *port);
void vtsn_irq_free(struct vtsn_port *port);
void vtsn_irq_arm(struct vtsn_port *port, s64 event_raw);
void vtsn_irq_quiesce(struct vtsn_port *port);

/* phc.c: all but create, destroy, shift and tai_now under wire->lock */
int vtsn_phc_create(struct vtsn_port *port);
void vtsn_phc_destroy(struct vtsn_port *port);
s64 vtsn_phc_at(const struct vtsn_phc *phc, s64 raw);
s64 vtsn_phc_to_raw(const struct vtsn_phc *phc, s64 when_phc);
s64 vtsn_phc_length(const struct vtsn_phc *phc, s64 length_raw);
void vtsn_phc_retune(struct vtsn_phc *phc, s64 raw);
int vtsn_phc_step(struct vtsn_port *port, s64 raw, s64 now_phc);
int vtsn_phc_shift(struct vtsn_port *port, s64 delta);
s64 vtsn_tai_now(s64 *raw);

/* gate.c: under wire->lock but for vtsn_schedule_new */
struct vtsn_schedule *vtsn_schedule_new(const struct tc_taprio_qopt_offload *offload,
					struct netlink_ext_ack *extack);
struct vtsn_schedule *vtsn_schedule_install(struct vtsn_port *port,
					    struct vtsn_schedule *schedule, s64 now_raw);
s64 vtsn_gate_start(struct vtsn_port *port, u32 queue, s64 from_raw, s64 need_raw);

/* cbs.c: under wire->lock */
s64 vtsn_cbs_ready(const struct vtsn_cbs *cbs, s64 from_raw);
void vtsn_cbs_sent(struct vtsn_cbs *cbs, s64 start_raw, s64 end_raw, bool more);
void vtsn_cbs_queued(struct vtsn_cbs *cbs, s64 now_raw);

/* pause.c: under wire->lock but for vtsn_pause_refill and the dcbnl operations */
extern const struct dcbnl_rtnl_ops vtsn_dcbnl_ops;
bool vtsn_pause_receive(struct vtsn_port *port, struct sk_buff *image);
void vtsn_pause_watch(struct vtsn_port *port, s64 now_raw);
s64 vtsn_pause_due(const struct vtsn_port *port);
struct sk_buff *vtsn_pause_frame(struct vtsn_port *port, s64 start_raw);
void vtsn_pause_refill(struct vtsn_port *port);
void vtsn_pause_reset(struct vtsn_port *port);

/* tc.c */
int vtsn_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data);
bool vtsn_has_offload(const struct vtsn_port *port);

/* ethtool.c, sysfs.c */
extern const struct ethtool_ops vtsn_ethtool_ops;
extern const struct attribute_group vtsn_attribute_group;

/* fault.c */
void vtsn_fault_init(void);
void vtsn_fault_exit(void);
void vtsn_fault_create(struct vtsn_port *port);
void vtsn_fault_destroy(struct vtsn_port *port);
void vtsn_fault_roll(struct vtsn_port *port, struct vtsn_desc *desc);

#endif /* VTSN_H */
