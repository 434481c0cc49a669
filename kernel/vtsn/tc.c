// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: tc offloads: traffic classes (mqprio, taprio), gates
 * (taprio), launch time (etf) and credit-based shapers (cbs).
 */
#include <linux/slab.h>

#include "vtsn.h"

/* A larger credit would overflow: bit * 10^-9 in 64 bits. */
#define VTSN_MAX_CREDIT_BYTES	(1 << 20)
#define VTSN_CREDIT_PER_BYTE	(8LL * NSEC_PER_SEC)

/* With traffic classes the queues have strict priority. */
static void vtsn_set_strict(struct vtsn_port *port, bool strict)
{
	unsigned long flags;
	s64 now_raw;

	ASSERT_RTNL();
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->strict = strict;
	vtsn_wire_leave(port->wire, now_raw, flags);
}

/* Refuses parameters that the hardware could offload and vtsn does not support. */
static int vtsn_check_mqprio(struct net_device *dev, const struct tc_mqprio_qopt_offload *offload)
{
	struct netlink_ext_ack *extack = compat_offload_extack(offload);
	const struct tc_mqprio_qopt *qopt = &offload->qopt;
	u32 i;

	if (offload->mode != TC_MQPRIO_MODE_DCB && offload->mode != TC_MQPRIO_MODE_CHANNEL) {
		NL_SET_ERR_MSG_MOD(extack, "unknown mqprio mode");
		return -EOPNOTSUPP;
	}
	if (offload->shaper != TC_MQPRIO_SHAPER_DCB ||
	    offload->flags & (TC_MQPRIO_F_MIN_RATE | TC_MQPRIO_F_MAX_RATE)) {
		NL_SET_ERR_MSG_MOD(extack, "mqprio's rates are not supported; use cbs on a queue");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < qopt->num_tc; i++) {
		if (!qopt->count[i] ||
		    qopt->offset[i] + qopt->count[i] > dev->real_num_tx_queues) {
			NL_SET_ERR_MSG_MOD(extack, "a traffic class has no queues, or queues that the port does not have");
			return -EINVAL;
		}
	}
	return 0;
}

static int vtsn_setup_mqprio(struct net_device *dev, struct tc_mqprio_qopt_offload *offload)
{
	struct tc_mqprio_qopt *qopt = &offload->qopt;
	struct vtsn_port *port = vtsn_port(dev);
	int err;
	u32 i;

	if (!qopt->num_tc) {
		netdev_reset_tc(dev);
		vtsn_set_strict(port, false);
		return 0;
	}
	err = vtsn_check_mqprio(dev, offload);
	if (err)
		return err;
	err = netdev_set_num_tc(dev, qopt->num_tc);
	if (err)
		return err;
	for (i = 0; i < qopt->num_tc; i++)
		netdev_set_tc_queue(dev, i, qopt->count[i], qopt->offset[i]);
	for (i = 0; i <= TC_BITMASK; i++)
		netdev_set_prio_tc_map(dev, i, qopt->prio_tc_map[i]);
	qopt->hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	vtsn_set_strict(port, true);
	return 0;
}

static bool vtsn_has_shaper(const struct vtsn_port *port)
{
	u32 q;

	for (q = 0; q < VTSN_MAX_QUEUES; q++)
		if (port->txq[q].cbs.enabled)
			return true;
	return false;
}

/* Whether an offload depends on the port's queues. */
bool vtsn_has_offload(const struct vtsn_port *port)
{
	u32 q;

	ASSERT_RTNL();
	for (q = 0; q < VTSN_MAX_QUEUES; q++)
		if (port->txq[q].launch_time)
			return true;
	return netdev_get_num_tc(port->dev) || vtsn_has_shaper(port) ||
	       port->schedule || port->next_schedule;
}

/* taprio has set the device's traffic classes before. */
static int vtsn_setup_taprio(struct net_device *dev, struct tc_taprio_qopt_offload *offload)
{
	struct netlink_ext_ack *extack = compat_offload_extack(offload);
	struct vtsn_schedule *schedule, *unused, *second = NULL;
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;

	if (compat_taprio_is_destroy(offload)) {
		now_raw = vtsn_wire_enter(port->wire, &flags);
		unused = port->schedule;
		second = port->next_schedule;
		port->schedule = NULL;
		port->next_schedule = NULL;
		vtsn_gates_forget(port);
		/* taprio removes its traffic classes next. */
		port->strict = false;
		vtsn_wire_leave(port->wire, now_raw, flags);
		kfree(unused);
		kfree(second);
		return 0;
	}
	if (!compat_taprio_is_replace(offload))
		return -EOPNOTSUPP;
	if (vtsn_has_shaper(port)) {
		NL_SET_ERR_MSG_MOD(extack, "gates and credit-based shapers exclude each other");
		return -EBUSY;
	}
	schedule = vtsn_schedule_new(offload, extack);
	if (IS_ERR(schedule))
		return PTR_ERR(schedule);
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->strict = true;
	unused = vtsn_schedule_install(port, schedule, now_raw);
	vtsn_wire_leave(port->wire, now_raw, flags);
	kfree(unused);
	return 0;
}

static int vtsn_setup_etf(struct net_device *dev, struct tc_etf_qopt_offload *offload)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;

	if (offload->queue < 0 || offload->queue >= dev->real_num_tx_queues)
		return -EINVAL;
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->txq[offload->queue].launch_time = offload->enable;
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

static int vtsn_setup_cbs(struct net_device *dev, struct tc_cbs_qopt_offload *offload)
{
	struct vtsn_port *port = vtsn_port(dev);
	struct vtsn_cbs cbs = {};
	unsigned long flags;
	s64 now_raw;

	if (offload->queue < 0 || offload->queue >= dev->real_num_tx_queues)
		return -EINVAL;
	if (offload->enable) {
		if (port->schedule || port->next_schedule)
			return -EBUSY;
		/* Slopes in kbit/s, credits in bytes. */
		if (offload->idleslope <= 0 || offload->sendslope >= 0 ||
		    offload->hicredit < 0 || offload->hicredit > VTSN_MAX_CREDIT_BYTES ||
		    offload->locredit > 0 || offload->locredit < -VTSN_MAX_CREDIT_BYTES)
			return -EINVAL;
		cbs.enabled = true;
		cbs.idle_bps = offload->idleslope * 1000LL;
		cbs.send_bps = offload->sendslope * 1000LL;
		cbs.high_credit = offload->hicredit * VTSN_CREDIT_PER_BYTE;
		cbs.low_credit = offload->locredit * VTSN_CREDIT_PER_BYTE;
	}
	now_raw = vtsn_wire_enter(port->wire, &flags);
	cbs.updated_raw = now_raw;
	cbs.waiting = port->backlog & BIT(offload->queue);
	port->txq[offload->queue].cbs = cbs;
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

static int vtsn_query_caps(struct tc_query_caps_base *base)
{
	switch (base->type) {
	case TC_SETUP_QDISC_MQPRIO:
		compat_mqprio_validates_queues(base);
		return 0;
	case TC_SETUP_QDISC_TAPRIO:
		compat_taprio_caps((struct tc_taprio_caps *)base->caps);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int vtsn_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data)
{
	switch (type) {
	case TC_QUERY_CAPS:
		return vtsn_query_caps(data);
	case TC_SETUP_QDISC_MQPRIO:
		return vtsn_setup_mqprio(dev, data);
	case TC_SETUP_QDISC_TAPRIO:
		return vtsn_setup_taprio(dev, data);
	case TC_SETUP_QDISC_ETF:
		return vtsn_setup_etf(dev, data);
	case TC_SETUP_QDISC_CBS:
		return vtsn_setup_cbs(dev, data);
	default:
		return -EOPNOTSUPP;
	}
}
