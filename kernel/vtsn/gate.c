// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: gates that open and close by a schedule, IEEE 802.1Q-2022 8.6.8.4
 * (formerly 802.1Qbv), in the time of the port's PHC.
 *
 * A frame begins only if it ends, FCS included, before its gate closes. A new schedule
 * takes over at its base time. If the old schedule's last cycle is cut short, and is no
 * longer than its cycle time extension, the cycle before is extended over it (8.6.9.1).
 */
#include <linux/slab.h>

#include "vtsn.h"

#define VTSN_MAX_GATE_ENTRIES	1024

/*
 * Makes a schedule from taprio's parameters; an ERR_PTR and an extack message if they are
 * invalid. A list shorter than the cycle keeps its last state to the cycle's end.
 */
struct vtsn_schedule *vtsn_schedule_new(const struct tc_taprio_qopt_offload *offload,
					struct netlink_ext_ack *extack)
{
	struct vtsn_schedule *schedule;
	u64 start = 0;
	size_t i;

	if (!offload->num_entries || offload->num_entries > VTSN_MAX_GATE_ENTRIES) {
		NL_SET_ERR_MSG_MOD(extack, "the gate list must have 1 to 1024 entries");
		return ERR_PTR(-EINVAL);
	}
	if (!offload->cycle_time || offload->cycle_time > S64_MAX / 4) {
		NL_SET_ERR_MSG_MOD(extack, "the cycle time is zero or beyond 73 years");
		return ERR_PTR(-ERANGE);
	}
	if (offload->cycle_time_extension > S64_MAX / 4) {
		NL_SET_ERR_MSG_MOD(extack, "the cycle time extension is beyond 73 years");
		return ERR_PTR(-ERANGE);
	}
	if (offload->base_time < 0 || offload->base_time > S64_MAX / 2) {
		NL_SET_ERR_MSG_MOD(extack, "the base time is negative or beyond the year 2116");
		return ERR_PTR(-ERANGE);
	}

	schedule = kzalloc(struct_size(schedule, entry, offload->num_entries), GFP_KERNEL);
	if (!schedule)
		return ERR_PTR(-ENOMEM);
	schedule->base_phc = offload->base_time;
	schedule->cycle_ns = offload->cycle_time;
	schedule->extension_ns = offload->cycle_time_extension;
	schedule->always_open = ~0U;
	for (i = 0; i < offload->num_entries && start < offload->cycle_time; i++) {
		if (offload->entries[i].command != TC_TAPRIO_CMD_SET_GATES) {
			NL_SET_ERR_MSG_MOD(extack, "only the command S (set gates) is supported");
			kfree(schedule);
			return ERR_PTR(-EOPNOTSUPP);
		}
		if (!offload->entries[i].interval) {
			NL_SET_ERR_MSG_MOD(extack, "an entry of the gate list lasts 0 ns");
			kfree(schedule);
			return ERR_PTR(-EINVAL);
		}
		schedule->entry[i].start_ns = start;
		schedule->entry[i].gates = offload->entries[i].gate_mask;
		schedule->always_open &= offload->entries[i].gate_mask;
		start += offload->entries[i].interval;
		schedule->count++;
	}
	return schedule;
}

/* A position in a schedule: this entry, of the cycle that began at @cycle_phc. */
struct vtsn_cursor {
	const struct vtsn_schedule *schedule;
	s64 cycle_phc;
	s64 end_phc;		/* of the entry */
	u32 entry;
};

static void vtsn_cursor_find(struct vtsn_cursor *at, const struct vtsn_schedule *schedule, s64 now)
{
	s64 since_base = now - schedule->base_phc;
	u32 low = 0, high = schedule->count;
	s64 into;

	into = since_base - div64_s64(since_base, schedule->cycle_ns) * schedule->cycle_ns;

	/* Find the last entry that has begun. */
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (schedule->entry[middle].start_ns <= into)
			low = middle;
		else
			high = middle;
	}
	at->schedule = schedule;
	at->cycle_phc = now - into;
	at->entry = low;
}

/* The gate mask of a running schedule at @now; at->end_phc is until when it applies. */
static u32 vtsn_schedule_gates(struct vtsn_cursor *at, const struct vtsn_schedule *schedule,
			       s64 now)
{
	if (at->schedule != schedule || at->end_phc != now) {
		vtsn_cursor_find(at, schedule, now);
	} else if (++at->entry == schedule->count) {
		/* A search goes from entry to entry, without a division for each. */
		at->entry = 0;
		at->cycle_phc += schedule->cycle_ns;
	}
	at->end_phc = at->cycle_phc + (at->entry + 1 < schedule->count ?
				       schedule->entry[at->entry + 1].start_ns :
				       schedule->cycle_ns);
	return schedule->entry[at->entry].gates;
}

/* The same for the port, with a new schedule pending; it applies until @until. */
static u32 vtsn_port_gates(const struct vtsn_port *port, struct vtsn_cursor *at, s64 now,
			   s64 *until)
{
	const struct vtsn_schedule *old = port->schedule, *new = port->next_schedule;
	s64 take_over = new ? new->base_phc : VTSN_NEVER;
	u32 gates;

	if (new && now >= take_over) {
		gates = vtsn_schedule_gates(at, new, now);
		*until = at->end_phc;
		return gates;
	}
	if (!old || now < old->base_phc) {
		*until = old ? min(old->base_phc, take_over) : take_over;
		return ~0U;
	}
	if (new && now >= new->extend_phc) {
		*until = take_over;
		return old->entry[old->count - 1].gates;
	}
	gates = vtsn_schedule_gates(at, old, now);
	*until = min(at->end_phc, take_over);
	return gates;
}

/* The schedule or the clock has changed. */
void vtsn_gates_forget(struct vtsn_port *port)
{
	u32 q;

	lockdep_assert_held(&port->wire->lock);
	for (q = 0; q < VTSN_MAX_QUEUES; q++)
		memset(&port->txq[q].gate, 0, sizeof(port->txq[q].gate));
}

/* Where the rest after the old schedule's last whole cycle begins, if it extends that cycle. */
static s64 vtsn_schedule_extend(const struct vtsn_schedule *old, const struct vtsn_schedule *new)
{
	s64 cycles, last;

	if (!old || new->base_phc <= old->base_phc)
		return new->base_phc;
	cycles = div64_s64(new->base_phc - old->base_phc, old->cycle_ns);
	last = old->base_phc + cycles * old->cycle_ns;
	return cycles && new->base_phc - last <= old->extension_ns ? last : new->base_phc;
}

/*
 * Makes @schedule pending from its base time or, if that has passed, from the start of its
 * next cycle. Returns the schedule to be freed.
 */
struct vtsn_schedule *vtsn_schedule_install(struct vtsn_port *port,
					    struct vtsn_schedule *schedule, s64 now_raw)
{
	struct vtsn_schedule *unused = port->next_schedule;
	s64 now = vtsn_phc_at(&port->phc, now_raw);

	lockdep_assert_held(&port->wire->lock);
	if (schedule->base_phc < now) {
		s64 cycles = div64_s64(now - schedule->base_phc + schedule->cycle_ns - 1,
				       schedule->cycle_ns);

		schedule->base_phc += cycles * schedule->cycle_ns;
	}
	if (unused && unused->base_phc <= now) {
		/* The pending one has taken over meanwhile. */
		swap(port->schedule, unused);
	}
	schedule->extend_phc = vtsn_schedule_extend(port->schedule, schedule);
	port->next_schedule = schedule;
	vtsn_gates_forget(port);
	return unused;
}

/* Finds the first start at or after @from after which the gate stays open for @need. */
static void vtsn_gate_search(struct vtsn_port *port, u32 queue, s64 from, s64 need)
{
	const struct vtsn_schedule *old = port->schedule, *new = port->next_schedule;
	struct vtsn_gate *gate = &port->txq[queue].gate;
	s64 now = from, since = VTSN_NEVER;
	struct vtsn_cursor at = {};
	u32 most, left;

	gate->need = need;
	gate->from = from;
	gate->open = VTSN_NEVER;
	/* Two cycles contain every window, also one across a cycle's end. */
	most = 2 * max(old ? old->count : 1, new ? new->count : 1) + 4;
	left = most;
	for (;;) {
		s64 until;
		u32 gates;

		port->wire->work++;
		gates = vtsn_port_gates(port, &at, now, &until);
		if (!(gates & BIT(queue)))
			since = VTSN_NEVER;
		else if (since == VTSN_NEVER)
			since = now;
		if (since != VTSN_NEVER && until - since >= need) {
			gate->open = since;
			gate->close = until;
			gate->open_raw = vtsn_phc_to_raw(&port->phc, since);
			return;
		}
		now = until;
		if (!left--) {
			/* No window of the old schedule: search the new one. */
			if (!new || now >= new->base_phc)
				return;
			now = new->base_phc;
			since = VTSN_NEVER;
		}
		if (new && now == new->base_phc)
			left = most;
	}
}

/* Whether what is known of the gate answers for a frame of @need from @from on. */
static bool vtsn_gate_known(const struct vtsn_gate *gate, s64 from, s64 need)
{
	return need >= gate->need && from >= gate->from &&
	       (gate->open == VTSN_NEVER || max(from, gate->open) + need <= gate->close);
}

/*
 * Earliest start at or after @from_raw from which the queue's gate stays open for @need_raw;
 * VTSN_NEVER if no window of the schedule is that long.
 */
s64 vtsn_gate_start(struct vtsn_port *port, u32 queue, s64 from_raw, s64 need_raw)
{
	const struct vtsn_schedule *old = port->schedule, *new = port->next_schedule;
	struct vtsn_gate *gate = &port->txq[queue].gate;
	s64 from, need;

	lockdep_assert_held(&port->wire->lock);
	if ((!old || old->always_open & BIT(queue)) && (!new || new->always_open & BIT(queue)))
		return from_raw;

	need = vtsn_phc_length(&port->phc, need_raw);
	from = vtsn_phc_at(&port->phc, from_raw);
	if (!vtsn_gate_known(gate, from, need))
		vtsn_gate_search(port, queue, from, need);
	if (gate->open == VTSN_NEVER)
		return VTSN_NEVER;
	return from >= gate->open ? from_raw : max(from_raw, gate->open_raw);
}
