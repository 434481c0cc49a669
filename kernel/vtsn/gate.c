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

/* The gate mask of a running schedule at @now, and until when it applies. */
static u32 vtsn_schedule_gates(const struct vtsn_schedule *schedule, s64 now, s64 *until)
{
	s64 since_base = now - schedule->base_phc;
	u32 low = 0, high = schedule->count;
	s64 into, cycle_start;

	into = since_base - div64_s64(since_base, schedule->cycle_ns) * schedule->cycle_ns;
	cycle_start = now - into;

	/* Find the last entry that has begun. */
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (schedule->entry[middle].start_ns <= into)
			low = middle;
		else
			high = middle;
	}
	*until = cycle_start + (low + 1 < schedule->count ? schedule->entry[low + 1].start_ns :
				schedule->cycle_ns);
	return schedule->entry[low].gates;
}

/* The same for the port, with a new schedule pending. */
static u32 vtsn_port_gates(const struct vtsn_port *port, s64 now, s64 *until)
{
	const struct vtsn_schedule *old = port->schedule, *new = port->next_schedule;
	s64 take_over = new ? new->base_phc : VTSN_NEVER;
	u32 gates;

	if (new && now >= take_over)
		return vtsn_schedule_gates(new, now, until);
	if (!old || now < old->base_phc) {
		*until = old ? min(old->base_phc, take_over) : take_over;
		return ~0U;
	}
	if (new && take_over > old->base_phc) {
		s64 cycles = div64_s64(take_over - old->base_phc, old->cycle_ns);
		s64 last = old->base_phc + cycles * old->cycle_ns;

		/* The rest after the last whole cycle extends that cycle. */
		if (now >= last && last > old->base_phc && take_over - last <= old->extension_ns) {
			*until = take_over;
			return old->entry[old->count - 1].gates;
		}
	}
	gates = vtsn_schedule_gates(old, now, until);
	*until = min(*until, take_over);
	return gates;
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
	port->next_schedule = schedule;
	return unused;
}

/*
 * Earliest start at or after @from_raw from which the queue's gate stays open for @need_raw;
 * VTSN_NEVER if no window of the schedule is that long.
 */
s64 vtsn_gate_start(struct vtsn_port *port, u32 queue, s64 from_raw, s64 need_raw)
{
	const struct vtsn_schedule *old = port->schedule, *new = port->next_schedule;
	s64 need = vtsn_phc_length(&port->phc, need_raw);
	s64 from = vtsn_phc_at(&port->phc, from_raw);
	s64 now = from, since = VTSN_NEVER;
	u32 left;

	lockdep_assert_held(&port->wire->lock);
	if ((!old || old->always_open & BIT(queue)) && (!new || new->always_open & BIT(queue)))
		return from_raw;

	/* Two cycles contain every window, also one across a cycle's end. */
	left = 2 * (old ? old->count : 1) + 4;
	for (;;) {
		s64 until;
		u32 gates;

		gates = vtsn_port_gates(port, now, &until);
		if (!(gates & BIT(queue)))
			since = VTSN_NEVER;
		else if (since == VTSN_NEVER)
			since = now;
		if (since != VTSN_NEVER && until - since >= need)
			return since == from ? from_raw :
			       max(from_raw, vtsn_phc_to_raw(&port->phc, since));
		if (left--) {
			now = until;
		} else if (new && now < new->base_phc) {
			/* No window of the old schedule: search the new one. */
			now = new->base_phc;
			since = VTSN_NEVER;
			left = 2 * new->count + 4;
		} else {
			return VTSN_NEVER;
		}
	}
}
