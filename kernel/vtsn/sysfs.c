// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: settings without another interface, in /sys/class/net/NAME/vtsn/.
 */
#include <linux/capability.h>
#include <linux/kstrtox.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>

#include "vtsn.h"

#define VTSN_MAX_DRIFT_PPB	1000000
#define VTSN_MAX_DELAY_NS	NSEC_PER_SEC
#define VTSN_MAX_HORIZON_NS	(100LL * NSEC_PER_SEC)

static struct vtsn_port *vtsn_sysfs_port(struct device *device)
{
	return vtsn_port(to_net_dev(device));
}

/*
 * Parses a number within limits. The files of a namespace's devices belong to its root, but
 * the settings are the machine's: those of a clock, and of a wire that may leave the namespace.
 */
static int vtsn_parse(const char *text, s64 low, s64 high, s64 *value)
{
	int err;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	err = kstrtos64(text, 0, value);
	if (err)
		return err;
	return *value < low || *value > high ? -ERANGE : 0;
}

#define VTSN_ATTRIBUTE(name, low, high, field, change)				\
static ssize_t name##_show(struct device *device, struct device_attribute *attr,	\
			   char *buffer)					\
{										\
	struct vtsn_port *port = vtsn_sysfs_port(device);			\
										\
	return sysfs_emit(buffer, "%lld\n", (s64)READ_ONCE(field));		\
}										\
										\
static ssize_t name##_store(struct device *device, struct device_attribute *attr,	\
			    const char *text, size_t length)			\
{										\
	struct vtsn_port *port = vtsn_sysfs_port(device);			\
	unsigned long flags;							\
	s64 now_raw, value;							\
	int err;								\
										\
	err = vtsn_parse(text, low, high, &value);				\
	if (err)								\
		return err;							\
	now_raw = vtsn_wire_enter(port->wire, &flags);				\
	WRITE_ONCE(field, value);						\
	change;									\
	vtsn_wire_leave(port->wire, now_raw, flags);				\
	return length;								\
}										\
static DEVICE_ATTR_RW(name)

/* A wander begins when it is set; the worker continues it. */
static void vtsn_begin_wander(struct vtsn_port *port, s64 now_raw)
{
	port->phc.wander_start_raw = now_raw;
	vtsn_phc_retune(&port->phc, now_raw);
}

VTSN_ATTRIBUTE(delay_ns, 0, VTSN_MAX_DELAY_NS, port->wire->delay_ns, (void)0);
VTSN_ATTRIBUTE(phc_drift_ppb, -VTSN_MAX_DRIFT_PPB, VTSN_MAX_DRIFT_PPB, port->phc.drift_ppb,
	       vtsn_phc_retune(&port->phc, now_raw));
VTSN_ATTRIBUTE(launch_resolution_ns, 1, NSEC_PER_MSEC, port->launch_resolution_ns, (void)0);
VTSN_ATTRIBUTE(launch_horizon_ns, 1, VTSN_MAX_HORIZON_NS, port->launch_horizon_ns, (void)0);
VTSN_ATTRIBUTE(tx_stamp_slots, 0, VTSN_MAX_RING, port->stamp_slots, (void)0);

/* Schedules the clock's worker, which exists while the port is registered. */
#define VTSN_WANDER(name, high)							\
static ssize_t name##_show(struct device *device, struct device_attribute *attr,	\
			   char *buffer)					\
{										\
	return sysfs_emit(buffer, "%u\n",					\
			  READ_ONCE(vtsn_sysfs_port(device)->phc.name##_value));	\
}										\
										\
static ssize_t name##_store(struct device *device, struct device_attribute *attr,	\
			    const char *text, size_t length)			\
{										\
	struct vtsn_port *port = vtsn_sysfs_port(device);			\
	unsigned long flags;							\
	s64 now_raw, value;							\
	int err;								\
										\
	err = vtsn_parse(text, 0, high, &value);				\
	if (err)								\
		return err;							\
	if (!rtnl_trylock())							\
		return restart_syscall();					\
	if (port->dev->reg_state != NETREG_REGISTERED) {			\
		rtnl_unlock();							\
		return -ENODEV;							\
	}									\
	now_raw = vtsn_wire_enter(port->wire, &flags);				\
	WRITE_ONCE(port->phc.name##_value, value);				\
	vtsn_begin_wander(port, now_raw);					\
	vtsn_wire_leave(port->wire, now_raw, flags);				\
	ptp_schedule_worker(port->phc.clock, 0);				\
	rtnl_unlock();								\
	return length;								\
}										\
static DEVICE_ATTR_RW(name)

#define phc_wander_ppb_value		wander_ppb
#define phc_wander_period_ms_value	wander_period_ms
VTSN_WANDER(phc_wander_ppb, VTSN_MAX_DRIFT_PPB);
VTSN_WANDER(phc_wander_period_ms, 24 * 3600 * MSEC_PER_SEC);

/* Offset of the clock from CLOCK_TAI; a write steps the clock. */
static ssize_t phc_offset_ns_show(struct device *device, struct device_attribute *attr,
				  char *buffer)
{
	struct vtsn_port *port = vtsn_sysfs_port(device);
	s64 now_raw, offset, tai;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	tai = vtsn_tai_now(&now_raw);
	offset = vtsn_phc_at(&port->phc, now_raw) - tai;
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	return sysfs_emit(buffer, "%lld\n", offset);
}

static ssize_t phc_offset_ns_store(struct device *device, struct device_attribute *attr,
				   const char *text, size_t length)
{
	struct vtsn_port *port = vtsn_sysfs_port(device);
	s64 now_raw, value, tai, tai_raw;
	unsigned long flags;
	int err;

	err = vtsn_parse(text, -S64_MAX / 4, S64_MAX / 4, &value);
	if (err)
		return err;
	now_raw = vtsn_wire_enter(port->wire, &flags);
	tai = vtsn_tai_now(&tai_raw);
	err = vtsn_phc_step(port, tai_raw, tai + value);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return err ?: length;
}
static DEVICE_ATTR_RW(phc_offset_ns);

/* One instant in wire time and PHC time: ground truth for tests. */
static ssize_t phc_show(struct device *device, struct device_attribute *attr, char *buffer)
{
	struct vtsn_port *port = vtsn_sysfs_port(device);
	unsigned long flags;
	s64 now_raw, now;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	now_raw = ktime_get_raw_ns();
	now = vtsn_phc_at(&port->phc, now_raw);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	return sysfs_emit(buffer, "%lld %lld\n", now_raw, now);
}
static DEVICE_ATTR_RO(phc);

static ssize_t irq_show(struct device *device, struct device_attribute *attr, char *buffer)
{
	return sysfs_emit(buffer, "%d\n", vtsn_sysfs_port(device)->irq);
}
static DEVICE_ATTR_RO(irq);

static struct attribute *vtsn_attributes[] = {
	&dev_attr_delay_ns.attr,
	&dev_attr_phc_offset_ns.attr,
	&dev_attr_phc_drift_ppb.attr,
	&dev_attr_phc_wander_ppb.attr,
	&dev_attr_phc_wander_period_ms.attr,
	&dev_attr_launch_resolution_ns.attr,
	&dev_attr_launch_horizon_ns.attr,
	&dev_attr_tx_stamp_slots.attr,
	&dev_attr_phc.attr,
	&dev_attr_irq.attr,
	NULL
};

const struct attribute_group vtsn_attribute_group = {
	.name	= VTSN_NAME,
	.attrs	= vtsn_attributes,
};
