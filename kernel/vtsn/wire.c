// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: the two MACs and the wire between them, in wire time.
 *
 * A discrete-event simulation with two kinds of events: a frame departs (the MAC
 * begins to send it), and a frame has arrived (its last bit). Each change from
 * outside (a frame handed over, a clock set, a gate list, a setting) first runs the
 * wire up to the present with the old state (vtsn_wire_enter). So past events are
 * computed with the state of their time, however late they are computed.
 */
#include "vtsn.h"

/* Reasons of a wait, besides the queue's order and the launch time. */
#define VTSN_WAIT_BUSY		BIT(0)
#define VTSN_WAIT_PAUSE		BIT(1)
#define VTSN_WAIT_CREDIT	BIT(2)
#define VTSN_WAIT_GATE		BIT(3)

/*
 * Most events, and entries of gate lists looked at, with interrupts disabled; the last event
 * may look at whole lists. The rest is for the next timer, or for the next turn of
 * vtsn_wire_enter().
 */
#define VTSN_RUN_WORK		64

/* Earliest start of a frame: handed over, and its launch time reached. */
static s64 vtsn_earliest_start(struct vtsn_port *port, const struct vtsn_desc *desc)
{
	if (!desc->launch_phc)
		return desc->queued_raw;
	return max(vtsn_phc_to_raw(&port->phc, desc->launch_phc), desc->queued_raw);
}

static bool vtsn_beyond_horizon(const struct vtsn_port *port, const struct vtsn_desc *desc)
{
	return desc->launch_phc > vtsn_phc_at(&port->phc, port->wire->settled_raw) +
				  (s64)port->launch_horizon_ns;
}

/*
 * Start of the head of a queue if no other queue is served before. @why gets the reasons
 * of a start later than the frame's earliest.
 */
static s64 vtsn_head_ready(struct vtsn_port *port, u32 queue, u32 *why)
{
	struct vtsn_txq *txq = &port->txq[queue];
	struct vtsn_desc *desc;
	s64 start, other;

	desc = vtsn_slot(port, txq, txq->mac);
	*why = 0;
	/* If the clock was set back, it would block the queue. */
	if (desc->launch_phc && vtsn_beyond_horizon(port, desc))
		desc->drop = VTSN_DROP_HORIZON;
	if (desc->drop)
		return desc->queued_raw;
	if (unlikely(port->faults.stuck_queues & BIT(queue)))
		return VTSN_NEVER;

	/* Not in the final past: a gate, a pause or a fault has delayed it. */
	start = max(vtsn_earliest_start(port, desc), port->wire->settled_raw);
	if (port->free_raw > start) {
		start = port->free_raw;
		*why |= VTSN_WAIT_BUSY;
	}
	other = port->pause.until_raw[desc->class];
	if (other > start) {
		start = other;
		*why |= VTSN_WAIT_PAUSE;
	}
	if (txq->cbs.enabled) {
		other = txq->cbs.ready_raw;
		if (other > start) {
			start = other;
			*why |= VTSN_WAIT_CREDIT;
		}
	}
	if (port->schedule || port->next_schedule) {
		other = vtsn_gate_start(port, queue, start,
					vtsn_bytes_ns(port->wire, VTSN_PREAMBLE + desc->octets));
		if (other == VTSN_NEVER) {
			txq->stats.gate_never += !desc->gate_never;
			desc->gate_never = true;
			return VTSN_NEVER;
		}
		if (other > start) {
			start = other;
			*why |= VTSN_WAIT_GATE;
		}
	}
	return start;
}

/*
 * The port's next departure. At one instant the MAC's own frames come first, then queue 0,
 * as in the i210 and i225; without traffic classes round robin.
 */
static s64 vtsn_next_departure(struct vtsn_port *port, u32 *queue)
{
	u32 first = port->strict ? 0 : port->last_queue + 1;
	unsigned long backlog;
	s64 best, start;
	u32 i, q, why;

	lockdep_assert_held(&port->wire->lock);
	backlog = ror16(port->backlog, first % VTSN_MAX_QUEUES);
	best = vtsn_pause_due(port);
	*queue = VTSN_CONTROL;
	for_each_set_bit(i, &backlog, VTSN_MAX_QUEUES) {
		q = (first + i) % VTSN_MAX_QUEUES;
		start = vtsn_head_ready(port, q, &why);
		if (start < best) {
			best = start;
			*queue = q;
		}
	}
	return best;
}

/* Occupies the MAC from @start on; returns the end of the last bit. */
static s64 vtsn_occupy(struct vtsn_port *port, s64 start, u32 octets)
{
	u32 bytes = VTSN_PREAMBLE + octets;
	u32 tenths;

	tenths = (bytes + VTSN_GAP) * port->wire->byte_tenths;
	/* Back to back, the fractions add up: 10 Gbit/s is 0.8 ns a byte. */
	if (start == port->free_raw)
		tenths += port->free_tenths;
	port->free_raw = start + tenths / 10;
	port->free_tenths = tenths % 10;
	return start + vtsn_bytes_ns(port->wire, bytes);
}

/* Puts a frame on the wire; fault injection may reorder it behind younger ones. */
static void vtsn_launch(struct vtsn_port *port, struct sk_buff *image, s64 start, s64 end)
{
	struct vtsn_fault_stats *faults = &port->faults.stats;
	struct sk_buff_head *inbound = &port->peer->inbound;
	struct vtsn_image *cb = vtsn_image(image);
	struct vtsn_wire *wire = port->wire;
	struct sk_buff *before;
	s64 late;

	lockdep_assert_held(&wire->lock);
	late = (s64)wire->delay_ns + cb->delay_ns;
	cb->sfd_raw = start + vtsn_bytes_ns(wire, VTSN_PREAMBLE) + late;
	cb->arrival_raw = end + late;
	faults->lost += cb->lost;
	faults->corrupted += cb->corrupted && !cb->lost;
	faults->reordered += cb->reordered;
	faults->delayed += cb->delay_ns && !cb->reordered;
	skb_queue_reverse_walk(inbound, before) {
		if (vtsn_image(before)->arrival_raw <= cb->arrival_raw)
			break;
	}
	/* At the end of the walk @before is the list's head. */
	__skb_queue_after(inbound, before, image);
}

static void vtsn_count_drop(struct vtsn_txq *txq, const struct vtsn_desc *desc)
{
	switch (desc->drop) {
	case VTSN_DROP_HORIZON:
		txq->stats.launch_horizon++;
		break;
	case VTSN_DROP_TIMEOUT:
		txq->stats.timeouts++;
		break;
	}
}

/*
 * The head of a queue leaves it. Not inlined: `teiji why` watches it, and takes its arguments for
 * the times and reasons of the frame's wait.
 */
static noinline __noclone void
vtsn_count_departure(struct vtsn_port *port, u32 queue, s64 queued, s64 earliest, s64 start,
		     u32 why)
{
	struct vtsn_txq *txq = &port->txq[queue];
	struct vtsn_desc *desc = vtsn_slot(port, txq, txq->mac);
	struct vtsn_txq_stats *stats = &txq->stats;

	if (desc->drop) {
		vtsn_count_drop(txq, desc);
		return;
	}
	stats->packets++;
	stats->bytes += desc->octets - ETH_FCS_LEN;
	if (why & VTSN_WAIT_BUSY)
		stats->busy_waits++;
	if (why & VTSN_WAIT_PAUSE)
		stats->pause_waits++;
	if (why & VTSN_WAIT_CREDIT)
		stats->credit_waits++;
	if (why & VTSN_WAIT_GATE)
		stats->gate_waits++;
	if (desc->launch_phc && desc->launch_phc < vtsn_phc_at(&port->phc, queued))
		stats->launch_late++;
	else if (desc->launch_phc && start > earliest)
		stats->launch_delayed++;
}

static void vtsn_depart(struct vtsn_port *port, u32 queue, s64 start)
{
	struct vtsn_txq *txq = &port->txq[queue];
	struct vtsn_wire *wire = port->wire;
	struct vtsn_desc *desc;
	u32 why;

	lockdep_assert_held(&wire->lock);
	desc = vtsn_slot(port, txq, txq->mac);
	vtsn_head_ready(port, queue, &why);
	vtsn_count_departure(port, queue, desc->queued_raw, vtsn_earliest_start(port, desc), start,
			     why);
	if (desc->drop) {
		desc->done_raw = start;
		if (desc->image)
			dev_kfree_skb_irq(desc->image);
		if (desc->duplicate)
			dev_kfree_skb_irq(desc->duplicate);
	} else {
		desc->done_raw = vtsn_occupy(port, start, desc->octets);
		desc->stamp_phc = vtsn_phc_at(&port->phc,
					      start + vtsn_bytes_ns(wire, VTSN_PREAMBLE));
		if (txq->cbs.enabled)
			vtsn_cbs_sent(&txq->cbs, start, port->free_raw,
				      txq->mac + 1 != txq->tail);
		vtsn_launch(port, desc->image, start, desc->done_raw);
		if (desc->duplicate) {
			port->faults.stats.duplicated++;
			vtsn_launch(port, desc->duplicate, start, desc->done_raw);
		}
		port->last_queue = queue;
	}
	desc->image = NULL;
	desc->duplicate = NULL;
	port->sending |= BIT(queue);
	if (++txq->mac == txq->tail)
		port->backlog &= ~BIT(queue);
}

static void vtsn_depart_control(struct vtsn_port *port, s64 start)
{
	struct sk_buff *image = vtsn_pause_frame(port, start);
	s64 end;

	end = vtsn_occupy(port, start, image->len + ETH_FCS_LEN);
	vtsn_launch(port, image, start, end);
}

static void vtsn_arrive(struct vtsn_port *port)
{
	struct sk_buff *image = __skb_dequeue(&port->inbound);
	struct vtsn_image *cb = vtsn_image(image);

	lockdep_assert_held(&port->wire->lock);
	if (cb->lost)
		goto drop;
	if (!port->up) {
		port->rx.down++;
		goto drop;
	}
	if (cb->corrupted && !(port->dev->features & NETIF_F_RXALL)) {
		port->rx.crc_errors++;
		goto drop;
	}
	if (!cb->corrupted && vtsn_pause_receive(port, image))
		goto drop;
	if (port->ring.qlen >= port->rx_ring) {
		port->rx.overrun++;
		goto drop;
	}
	cb->stamp_phc = vtsn_phc_at(&port->phc, cb->sfd_raw);
	port->class_count[cb->class]++;
	__skb_queue_tail(&port->ring, image);
	vtsn_pause_update(port, cb->arrival_raw);
	return;
drop:
	dev_kfree_skb_irq(image);
}

static s64 vtsn_next_arrival(const struct vtsn_port *port)
{
	const struct sk_buff *image = skb_peek(&port->inbound);

	return image ? vtsn_image((struct sk_buff *)image)->arrival_raw : VTSN_NEVER;
}

/*
 * Processes the events up to @now_raw, in order, and at least one; false if that would be too
 * many with interrupts disabled.
 */
static bool vtsn_wire_run(struct vtsn_wire *wire, s64 now_raw)
{
	u32 events = 0;
	s64 best;

	lockdep_assert_held(&wire->lock);
	for (;; events++) {
		struct vtsn_port *sender = NULL, *receiver = NULL;
		u32 i, queue = 0;

		best = VTSN_NEVER;
		/* At one instant arrivals come first: an arrived PAUSE is obeyed. */
		for (i = 0; i < 2; i++) {
			s64 when = vtsn_next_arrival(wire->port[i]);

			if (when < best) {
				best = when;
				receiver = wire->port[i];
			}
		}
		for (i = 0; i < 2; i++) {
			struct vtsn_port *port = wire->port[i];
			u32 q;

			port->next_raw = vtsn_next_departure(port, &q);
			if (port->next_raw < best) {
				best = port->next_raw;
				sender = port;
				queue = q;
			}
		}
		if (best > now_raw || (events && wire->work >= VTSN_RUN_WORK))
			break;
		wire->work++;
		if (!sender)
			vtsn_arrive(receiver);
		else if (queue == VTSN_CONTROL)
			vtsn_depart_control(sender, best);
		else
			vtsn_depart(sender, queue, best);
	}
	wire->next_raw = best;
	wire->longest_run = max(wire->longest_run, wire->work);
	if (best <= now_raw) {
		/* As much time for others as this took. */
		wire->resume_raw = 2 * (s64)ktime_get_raw_ns() - now_raw;
		return false;
	}
	wire->settled_raw = now_raw;
	return true;
}

/* When the interrupt for received frames is due. */
static s64 vtsn_rx_cause(const struct vtsn_port *port, s64 now_raw)
{
	const struct sk_buff *first = skb_peek(&port->ring);
	s64 next = vtsn_next_arrival(port);
	s64 due;

	if (!first)
		return next == VTSN_NEVER || port->rx_frames ? next :
		       next + port->rx_usecs * NSEC_PER_USEC;
	if (port->rx_frames && port->ring.qlen >= port->rx_frames)
		return now_raw;
	due = vtsn_image((struct sk_buff *)first)->arrival_raw + port->rx_usecs * NSEC_PER_USEC;
	return port->rx_frames ? min(due, next) : due;
}

/*
 * When the interrupt for a queue's sent frames is due. Moderation delays it, unless a
 * time stamp is pending or the queue is stopped.
 */
static s64 vtsn_queue_cause(struct vtsn_port *port, u32 queue)
{
	struct vtsn_txq *txq = &port->txq[queue];
	s64 due;

	due = vtsn_slot(port, txq, txq->clean)->done_raw;
	if (netif_xmit_stopped(netdev_get_tx_queue(port->dev, queue)))
		return due;
	due += port->tx_usecs * NSEC_PER_USEC;
	if (port->tx_frames && txq->mac - txq->clean >= port->tx_frames) {
		u32 last = txq->clean + port->tx_frames - 1;

		due = min(due, vtsn_slot(port, txq, last)->done_raw);
	}
	if ((s32)(txq->urgent - txq->clean) < 0)
		txq->urgent = txq->clean;
	while (txq->urgent != txq->mac && !vtsn_slot(port, txq, txq->urgent)->stamp)
		txq->urgent++;
	if (txq->urgent != txq->mac)
		due = min(due, vtsn_slot(port, txq, txq->urgent)->done_raw);
	return due;
}

static s64 vtsn_tx_cause(struct vtsn_port *port)
{
	unsigned long sending = port->sending;
	s64 best = VTSN_NEVER;
	u32 q;

	for_each_set_bit(q, &sending, VTSN_MAX_QUEUES)
		best = min(best, vtsn_queue_cause(port, q));
	return best;
}

static s64 vtsn_next_cause(struct vtsn_port *port, s64 now_raw)
{
	if (port->masked)
		return VTSN_NEVER;
	return min(vtsn_rx_cause(port, now_raw), vtsn_tx_cause(port));
}

/* Whether the port's interrupt is due; if so it counts as raised. */
bool vtsn_irq_cause(struct vtsn_port *port, s64 now_raw)
{
	lockdep_assert_held(&port->wire->lock);
	if (!port->up || vtsn_next_cause(port, now_raw) > now_raw)
		return false;
	port->masked = true;
	port->interrupts++;
	return true;
}

/*
 * Takes the lock and runs the wire; false if it has not come to the present, @now_raw, so that
 * nothing may be changed.
 */
bool vtsn_wire_begin(struct vtsn_wire *wire, s64 *now_raw, unsigned long *flags)
	__acquires(&wire->lock)
{
	raw_spin_lock_irqsave(&wire->lock, *flags);
	*now_raw = ktime_get_raw_ns();
	wire->work = 0;
	if (*now_raw >= wire->next_raw)
		return vtsn_wire_run(wire, *now_raw);
	wire->settled_raw = *now_raw;
	return true;
}

/* Takes the lock and brings the wire up to the present, which it returns. */
s64 vtsn_wire_enter(struct vtsn_wire *wire, unsigned long *flags)
	__acquires(&wire->lock)
{
	s64 now_raw;

	while (!vtsn_wire_begin(wire, &now_raw, flags))
		raw_spin_unlock_irqrestore(&wire->lock, *flags);
	return now_raw;
}

/* Releases the lock; the state was not changed since vtsn_wire_enter(). */
void vtsn_wire_watch(struct vtsn_wire *wire, s64 now_raw, unsigned long flags)
	__releases(&wire->lock)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct vtsn_port *port = wire->port[i];
		s64 event = min(port->next_raw, vtsn_next_cause(port, now_raw));

		if (port->up)
			vtsn_irq_arm(port, max(event, wire->resume_raw));
	}
	raw_spin_unlock_irqrestore(&wire->lock, flags);
}

/* Runs the wire with the state changed at @now_raw, and releases the lock. */
void vtsn_wire_leave(struct vtsn_wire *wire, s64 now_raw, unsigned long flags)
	__releases(&wire->lock)
{
	vtsn_wire_run(wire, now_raw);
	vtsn_wire_watch(wire, now_raw, flags);
}

void vtsn_wire_set_rate(struct vtsn_wire *wire, u32 mbps)
{
	wire->mbps = mbps;
	/* 8 bit / (mbps * 10^6 bit/s), in 10^-10 s: whole for 10 ... 10000 */
	wire->byte_tenths = 80000 / mbps;
}
