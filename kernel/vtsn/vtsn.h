/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vtsn: a software TSN NIC, in pairs of ports joined by a wire.
 *
 * Time. Everything on the wire is computed in *wire time*, which is
 * CLOCK_MONOTONIC_RAW in ns (names that end in _raw). The clock of a port (PHC)
 * is a function of wire time (names that end in _phc). Timers only trigger the
 * computation, and never enter it: a late timer delays a delivery, but changes
 * neither departures nor time stamps.
 *
 * Locking. One raw spinlock per wire covers both MACs, both clocks and all rings:
 * the two ends are one system, whose events are processed in the order of wire
 * time (wire.c). It is taken in hard interrupts, so it is raw, and nothing under
 * it allocates or frees. The RTNL serialises configuration.
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
#define VTSN_CONTROL		VTSN_MAX_QUEUES	/* instead of a queue: the MAC's own frame */

/* IEEE 802.3: preamble and SFD, FCS, inter-packet gap, in byte times. */
#define VTSN_PREAMBLE		8
#define VTSN_GAP		12

/* A schedule of gates, IEEE 802.1Q-2022 8.6.8.4 (Qbv). Times in PHC ns. */
struct vtsn_schedule {
	s64 base_phc;
	s64 cycle_ns;
	s64 extension_ns;
	s64 extend_phc;		/* from here to the base the previous one's last entry applies */
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
	s64 ready_raw;		/* when it allows the next frame */
	bool waiting;		/* a frame has been queued since updated_raw */
};

/*
 * What is known of a queue's gate, in PHC ns: for frames of @need or longer, no start from
 * @from to @open; from there to @close it is open. All 0: nothing.
 */
struct vtsn_gate {
	s64 need;
	s64 from;
	s64 open;		/* VTSN_NEVER: no window is that long */
	s64 close;
	s64 open_raw;
};

enum vtsn_drop {
	VTSN_SENT,		/* not dropped */
	VTSN_DROP_HORIZON,	/* launch time too far ahead */
	VTSN_DROP_TIMEOUT,	/* the queue was stuck, and emptied */
};

/* A frame in a transmit ring. */
struct vtsn_desc {
	struct sk_buff *skb;	/* the sender's; freed after the transmission */
	struct sk_buff *image;	/* the frame on the wire; NULL once it is there */
	struct sk_buff *duplicate;	/* by fault injection */
	s64 queued_raw;
	s64 launch_phc;		/* 0: none */
	s64 done_raw;		/* end of the transmission */
	s64 stamp_phc;		/* of the SFD */
	u32 bytes;		/* as counted towards BQL */
	u16 octets;		/* on the wire, from destination address to FCS */
	u8 class;		/* IEEE 802.1Q priority, for PFC */
	u8 drop;		/* enum vtsn_drop */
	bool gate_never;	/* waits for another gate list, as counted */
	bool stamp;		/* the sender waits for a hardware stamp */
	bool stamp_lost;	/* by fault injection */
};

struct vtsn_txq_stats {
	u64 packets;
	u64 bytes;
	u64 launch_late;	/* launch time had passed on arrival: sent at once */
	u64 launch_delayed;	/* sent later than its launch time */
	u64 launch_horizon;
	u64 gate_waits;		/* waited for its gate */
	u64 gate_never;		/* fits no window: waits for another gate list */
	u64 credit_waits;
	u64 pause_waits;
	u64 busy_waits;		/* waited for a frame on the wire */
	u64 no_memory;
	u64 timeouts;
	u64 flushed;		/* queued when the port went down or its rings changed */
	u64 stamp_skipped;	/* no free slot for its time stamp */
	u64 stamp_lost;		/* by fault injection */
};

/* A transmit queue. Indices run freely; the slot is index & (ring size - 1). */
struct vtsn_txq {
	struct vtsn_desc *desc;
	u32 tail;		/* next to be filled, by xmit */
	u32 mac;		/* next to be sent, by the MAC */
	u32 clean;		/* next to be freed, by NAPI */
	u32 urgent;		/* first one from clean on that waits for a stamp */
	bool launch_time;	/* ETF offload is on */
	struct vtsn_gate gate;
	struct vtsn_cbs cbs;
	struct vtsn_txq_stats stats;
};

struct vtsn_rx_stats {
	u64 packets;
	u64 bytes;
	u64 multicast;
	u64 overrun;		/* ring full */
	u64 crc_errors;
	u64 down;		/* arrived at a port that was down, or flushed from the ring */
	u64 pause;		/* PAUSE frames obeyed */
	u64 pfc;		/* PFC frames obeyed */
};

/* Counted when the frame is sent. A duplicate has the faults of its original. */
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

/* A PTP hardware clock: piecewise linear over wire time. */
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

/* Pause state, both directions: IEEE 802.3x PAUSE or 802.1Qbb PFC. */
struct vtsn_pause {
	bool obey;		/* ethtool -A rx */
	bool send;		/* ethtool -A tx */
	u8 pfc_enabled;		/* classes under PFC, by dcbnl */
	s64 until_raw[VTSN_CLASSES];
	u8 xoff;		/* mask of classes in XOFF at the peer */
	bool xoff_all;		/* the same for PAUSE */
	s64 request_raw;	/* when to send the next control frame, or VTSN_NEVER */
	struct sk_buff_head spare;	/* buffers of control frames; NAPI refills them */
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
	u32 sending;		/* mask of queues that hold a frame to be freed */
	bool strict;		/* queue 0 first, then 1, ...; else round robin */
	u8 last_queue;
	u8 queues_counted;	/* most queues that the port has ever had */
	s64 next_raw;		/* next departure, as of the last event */
	s64 free_raw;		/* earliest start of the next frame, gap included */
	u8 free_tenths;		/* plus these tenths of a ns */
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

	/* Interrupt, under wire->lock except irq. */
	struct hrtimer timer;
	call_single_data_t kick;	/* sets the timer, on the port's CPU */
	bool kicked;
	s64 timer_raw;		/* what the timer is set to */
	int irq;
	int cpu;		/* CPU of the interrupt */
	bool up;
	bool masked;		/* NAPI is running */
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
	u32 byte_tenths;	/* byte time in 0.1 ns: whole for every rate */
	u32 delay_ns;		/* propagation */
	s64 next_raw;		/* no event before */
	s64 settled_raw;	/* events up to here are final */
	s64 resume_raw;		/* no timer before: other work of the CPU is due */
	u32 work;		/* events and gate list entries since the lock was taken */
	u32 longest_run;	/* most work ever */
	struct vtsn_port *port[2];
	struct kref ref;
};

/* In skb->cb of a frame on the wire. */
struct vtsn_image {
	s64 arrival_raw;	/* last bit received; first, for `teiji why` */
	s64 sfd_raw;		/* start of frame at the receiver */
	s64 stamp_phc;		/* the same by the receiver's clock */
	u32 delay_ns;		/* additional delay, by fault injection */
	u8 class;
	bool checksummed;	/* by the sending MAC */
	bool corrupted;
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

/* wire.c: under wire->lock, except ... */
bool vtsn_irq_cause(struct vtsn_port *port, s64 now_raw);
void vtsn_wire_set_rate(struct vtsn_wire *wire, u32 mbps);
/* ... these, which take and release it */
bool vtsn_wire_begin(struct vtsn_wire *wire, s64 *now_raw, unsigned long *flags)
	__acquires(&wire->lock);
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

/* phc.c: under wire->lock, except create, destroy, shift and tai_now */
int vtsn_phc_create(struct vtsn_port *port);
void vtsn_phc_destroy(struct vtsn_port *port);
s64 vtsn_phc_at(const struct vtsn_phc *phc, s64 raw);
s64 vtsn_phc_to_raw(const struct vtsn_phc *phc, s64 when_phc);
s64 vtsn_phc_length(const struct vtsn_phc *phc, s64 length_raw);
void vtsn_phc_retune(struct vtsn_phc *phc, s64 raw);
int vtsn_phc_step(struct vtsn_port *port, s64 raw, s64 now_phc);
int vtsn_phc_shift(struct vtsn_port *port, s64 delta);
s64 vtsn_tai_now(s64 *raw);

/* gate.c: under wire->lock, except vtsn_schedule_new */
struct vtsn_schedule *vtsn_schedule_new(const struct tc_taprio_qopt_offload *offload,
					struct netlink_ext_ack *extack);
struct vtsn_schedule *vtsn_schedule_install(struct vtsn_port *port,
					    struct vtsn_schedule *schedule, s64 now_raw);
void vtsn_gates_forget(struct vtsn_port *port);
s64 vtsn_gate_start(struct vtsn_port *port, u32 queue, s64 from_raw, s64 need_raw);

/* cbs.c: under wire->lock */
void vtsn_cbs_sent(struct vtsn_cbs *cbs, s64 start_raw, s64 end_raw, bool more);
void vtsn_cbs_queued(struct vtsn_cbs *cbs, s64 now_raw);

/* pause.c: under wire->lock, except vtsn_pause_refill and the dcbnl operations */
extern const struct dcbnl_rtnl_ops vtsn_dcbnl_ops;
bool vtsn_pause_receive(struct vtsn_port *port, struct sk_buff *image);
void vtsn_pause_update(struct vtsn_port *port, s64 now_raw);
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
