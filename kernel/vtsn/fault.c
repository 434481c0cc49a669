// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: fault injection, in debugfs: vtsn/ptpN/ for the port whose clock is ptpN
 * (`ethtool -T` shows it). The clock's number is unique, unlike the port's name: two
 * namespaces may have a port of the same name.
 *
 * The random numbers are seeded, so that a sequence of faults can be repeated.
 */
#include <linux/debugfs.h>

#include "vtsn.h"

#define VTSN_MILLION	1000000

static struct dentry *vtsn_debugfs;

void vtsn_fault_init(void)
{
	vtsn_debugfs = debugfs_create_dir(VTSN_NAME, NULL);
}

void vtsn_fault_exit(void)
{
	debugfs_remove(vtsn_debugfs);
}

static bool vtsn_fault_hits(struct vtsn_faults *faults, u32 ppm)
{
	return ppm && prandom_u32_state(&faults->random) % VTSN_MILLION < ppm;
}

/* Selects a frame's faults before it is queued. From xmit, serialised by its queue. */
void vtsn_fault_roll(struct vtsn_port *port, struct vtsn_desc *desc)
{
	struct vtsn_image *cb = vtsn_image(desc->image);
	struct vtsn_faults *faults = &port->faults;
	unsigned long flags;
	u32 at;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	if (vtsn_fault_hits(faults, faults->loss_ppm))
		cb->lost = true;
	if (vtsn_fault_hits(faults, faults->corrupt_ppm)) {
		at = prandom_u32_state(&faults->random) % desc->image->len;
		desc->image->data[at] ^= BIT(prandom_u32_state(&faults->random) % 8);
		cb->corrupted = true;
	}
	if (faults->jitter_ns)
		cb->delay_ns = prandom_u32_state(&faults->random) % faults->jitter_ns;
	if (vtsn_fault_hits(faults, faults->reorder_ppm)) {
		cb->delay_ns += faults->reorder_ns;
		cb->reordered = true;
	}
	if (vtsn_fault_hits(faults, faults->stamp_loss_ppm))
		desc->stamp_lost = true;
	at = vtsn_fault_hits(faults, faults->duplicate_ppm);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);

	if (!at)
		return;
	/* NULL without memory: then none is sent or counted. */
	desc->duplicate = skb_copy(desc->image, GFP_ATOMIC);
}

static int vtsn_fault_set(struct vtsn_port *port, u32 *field, u64 value, u64 limit)
{
	struct vtsn_faults *faults = &port->faults;
	unsigned long flags;
	s64 now_raw;

	if (value > limit)
		return -ERANGE;
	now_raw = vtsn_wire_enter(port->wire, &flags);
	*field = value;
	WRITE_ONCE(faults->any, faults->loss_ppm || faults->duplicate_ppm ||
		   faults->corrupt_ppm || faults->reorder_ppm || faults->jitter_ns ||
		   faults->stamp_loss_ppm);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

#define VTSN_FAULT(name, limit)							\
static int vtsn_##name##_get(void *data, u64 *value)				\
{										\
	*value = READ_ONCE(((struct vtsn_port *)data)->faults.name);		\
	return 0;								\
}										\
										\
static int vtsn_##name##_set(void *data, u64 value)				\
{										\
	struct vtsn_port *port = data;						\
										\
	return vtsn_fault_set(port, &port->faults.name, value, limit);		\
}										\
DEFINE_DEBUGFS_ATTRIBUTE(vtsn_##name##_fops, vtsn_##name##_get, vtsn_##name##_set, "%llu\n")

VTSN_FAULT(loss_ppm, VTSN_MILLION);
VTSN_FAULT(duplicate_ppm, VTSN_MILLION);
VTSN_FAULT(corrupt_ppm, VTSN_MILLION);
VTSN_FAULT(reorder_ppm, VTSN_MILLION);
VTSN_FAULT(reorder_ns, NSEC_PER_SEC);
VTSN_FAULT(jitter_ns, NSEC_PER_SEC);
VTSN_FAULT(stamp_loss_ppm, VTSN_MILLION);
VTSN_FAULT(stuck_queues, BIT(VTSN_MAX_QUEUES) - 1);

static int vtsn_seed_set(void *data, u64 value)
{
	struct vtsn_port *port = data;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	prandom_seed_state(&port->faults.random, value);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(vtsn_seed_fops, NULL, vtsn_seed_set, "%llu\n");

static int vtsn_phc_step_set(void *data, u64 value)
{
	return vtsn_phc_shift(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE_SIGNED(vtsn_phc_step_fops, NULL, vtsn_phc_step_set, "%lld\n");

void vtsn_fault_create(struct vtsn_port *port)
{
	struct dentry *dir;
	char name[16];

	prandom_seed_state(&port->faults.random, 1);
	port->faults.reorder_ns = 100 * NSEC_PER_USEC;
	snprintf(name, sizeof(name), "ptp%d", ptp_clock_index(port->phc.clock));
	dir = debugfs_create_dir(name, vtsn_debugfs);
	port->debugfs = dir;
	debugfs_create_file("loss_ppm", 0600, dir, port, &vtsn_loss_ppm_fops);
	debugfs_create_file("duplicate_ppm", 0600, dir, port, &vtsn_duplicate_ppm_fops);
	debugfs_create_file("corrupt_ppm", 0600, dir, port, &vtsn_corrupt_ppm_fops);
	debugfs_create_file("reorder_ppm", 0600, dir, port, &vtsn_reorder_ppm_fops);
	debugfs_create_file("reorder_ns", 0600, dir, port, &vtsn_reorder_ns_fops);
	debugfs_create_file("jitter_ns", 0600, dir, port, &vtsn_jitter_ns_fops);
	debugfs_create_file("stamp_loss_ppm", 0600, dir, port, &vtsn_stamp_loss_ppm_fops);
	debugfs_create_file("stuck_queues", 0600, dir, port, &vtsn_stuck_queues_fops);
	debugfs_create_file("seed", 0200, dir, port, &vtsn_seed_fops);
	debugfs_create_file("phc_step_ns", 0200, dir, port, &vtsn_phc_step_fops);
}

void vtsn_fault_destroy(struct vtsn_port *port)
{
	debugfs_remove(port->debugfs);
}
