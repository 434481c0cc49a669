// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: the port as ethtool sees it: rate, rings, queues, interrupt moderation,
 * PAUSE, time stamping, statistics.
 */
#include <linux/ethtool.h>
#include <linux/log2.h>

#include "vtsn.h"

#define VTSN_MAX_COALESCE_US	10000

static const u32 vtsn_rates[] = { SPEED_10, SPEED_100, SPEED_1000, SPEED_2500, SPEED_10000 };

/*
 * Per queue: "txN_...", in the order of struct vtsn_txq_stats. A removed queue keeps its
 * counters.
 */
static const char * const vtsn_queue_stats[] = {
	"packets", "bytes", "launch_late", "launch_delayed", "launch_horizon",
	"gate_waits", "gate_never", "credit_waits", "pause_waits", "busy_waits",
	"no_memory", "timeouts", "flushed", "stamp_skipped", "stamp_lost",
};

static const char vtsn_port_stats[][ETH_GSTRING_LEN] = {
	"rx_packets", "rx_bytes", "rx_overrun", "rx_crc_errors", "rx_down",
	"rx_pause", "rx_pfc", "tx_pause", "tx_pfc", "interrupts", "longest_run",
	"fault_lost", "fault_duplicated", "fault_corrupted", "fault_reordered", "fault_delayed",
};

static int vtsn_get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	ethtool_link_ksettings_zero_link_mode(settings, supported);
	ethtool_link_ksettings_zero_link_mode(settings, advertising);
	settings->base.speed = vtsn_port(dev)->wire->mbps;
	settings->base.duplex = DUPLEX_FULL;
	settings->base.autoneg = AUTONEG_DISABLE;
	settings->base.port = PORT_OTHER;
	return 0;
}

/* Both ends of a wire have the same rate: sets it at both. */
static int vtsn_set_link_ksettings(struct net_device *dev,
				   const struct ethtool_link_ksettings *settings)
{
	struct vtsn_wire *wire = vtsn_port(dev)->wire;
	unsigned long flags;
	s64 now_raw;
	u32 i;

	if (settings->base.duplex != DUPLEX_FULL || settings->base.autoneg != AUTONEG_DISABLE)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(vtsn_rates); i++)
		if (settings->base.speed == vtsn_rates[i])
			break;
	if (i == ARRAY_SIZE(vtsn_rates))
		return -EINVAL;
	now_raw = vtsn_wire_enter(wire, &flags);
	vtsn_wire_set_rate(wire, vtsn_rates[i]);
	vtsn_wire_leave(wire, now_raw, flags);
	/*
	 * cbs, taprio and prioflow compute from the rate, and ask for it when it has changed. The
	 * carrier stays: nothing is negotiated that would take time, and the core empties the
	 * queues of a port without carrier.
	 */
	for (i = 0; i < ARRAY_SIZE(wire->port); i++)
		netdev_state_change(wire->port[i]->dev);
	return 0;
}

static void vtsn_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	ring->tx_max_pending = VTSN_MAX_RING;
	ring->rx_max_pending = VTSN_MAX_RING;
	ring->tx_pending = vtsn_port(dev)->tx_ring;
	ring->rx_pending = vtsn_port(dev)->rx_ring;
}

static int vtsn_set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kernel_ring,
			      struct netlink_ext_ack *extack)
{
	if (ring->tx_pending < VTSN_MIN_RING || ring->rx_pending < VTSN_MIN_RING) {
		NL_SET_ERR_MSG_MOD(extack, "a ring has at least 4 entries");
		return -EINVAL;
	}
	/* A power of two, so that free-running indices wrap correctly. */
	return vtsn_set_rings(vtsn_port(dev), roundup_pow_of_two(ring->tx_pending),
			      ring->rx_pending, dev->real_num_tx_queues);
}

static void vtsn_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	channels->max_tx = VTSN_MAX_QUEUES;
	channels->max_rx = 1;
	channels->tx_count = dev->real_num_tx_queues;
	channels->rx_count = 1;
}

static int vtsn_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct vtsn_port *port = vtsn_port(dev);

	if (channels->rx_count != 1 || !channels->tx_count)
		return -EINVAL;
	/* Classes and offloads refer to queues. */
	if (vtsn_has_offload(port))
		return -EBUSY;
	return vtsn_set_rings(port, port->tx_ring, port->rx_ring, channels->tx_count);
}

static int vtsn_get_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
			     struct kernel_ethtool_coalesce *kernel_coalesce,
			     struct netlink_ext_ack *extack)
{
	struct vtsn_port *port = vtsn_port(dev);

	coalesce->rx_coalesce_usecs = port->rx_usecs;
	coalesce->rx_max_coalesced_frames = port->rx_frames;
	coalesce->tx_coalesce_usecs = port->tx_usecs;
	coalesce->tx_max_coalesced_frames = port->tx_frames;
	return 0;
}

static int vtsn_set_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
			     struct kernel_ethtool_coalesce *kernel_coalesce,
			     struct netlink_ext_ack *extack)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;

	if (coalesce->rx_coalesce_usecs > VTSN_MAX_COALESCE_US ||
	    coalesce->tx_coalesce_usecs > VTSN_MAX_COALESCE_US ||
	    coalesce->rx_max_coalesced_frames > VTSN_MAX_RING ||
	    coalesce->tx_max_coalesced_frames > VTSN_MAX_RING) {
		NL_SET_ERR_MSG_MOD(extack, "interrupt moderation is at most 10000 us or 4096 frames");
		return -ERANGE;
	}
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->rx_usecs = coalesce->rx_coalesce_usecs;
	port->rx_frames = coalesce->rx_max_coalesced_frames;
	port->tx_usecs = coalesce->tx_coalesce_usecs;
	port->tx_frames = coalesce->tx_max_coalesced_frames;
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

static void vtsn_get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	pause->autoneg = AUTONEG_DISABLE;
	pause->rx_pause = vtsn_port(dev)->pause.obey;
	pause->tx_pause = vtsn_port(dev)->pause.send;
}

static int vtsn_set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;

	if (pause->autoneg)
		return -EINVAL;
	if ((pause->rx_pause || pause->tx_pause) && port->pause.pfc_enabled) {
		netdev_err(dev, "PAUSE and PFC exclude each other: dcb pfc set dev %s prio-pfc all:off\n",
			   dev->name);
		return -EBUSY;
	}
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->pause.obey = pause->rx_pause;
	port->pause.send = pause->tx_pause;
	vtsn_pause_reset(port);
	vtsn_wire_leave(port->wire, now_raw, flags);
	vtsn_pause_refill(port);
	return 0;
}

static void vtsn_get_pause_stats(struct net_device *dev, struct ethtool_pause_stats *stats)
{
	stats->tx_pause_frames = vtsn_port(dev)->pause.sent;
	stats->rx_pause_frames = vtsn_port(dev)->rx.pause;
}

static int vtsn_get_ts_info(struct net_device *dev, struct kernel_ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
				SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(vtsn_port(dev)->phc.clock);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL) |
			   BIT(HWTSTAMP_FILTER_PTP_V2_EVENT);
	return 0;
}

static int vtsn_get_sset_count(struct net_device *dev, int set)
{
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return ARRAY_SIZE(vtsn_port_stats) +
	       vtsn_port(dev)->queues_counted * ARRAY_SIZE(vtsn_queue_stats);
}

static void vtsn_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	u32 queues = vtsn_port(dev)->queues_counted, q, i;

	if (set != ETH_SS_STATS)
		return;
	memcpy(data, vtsn_port_stats, sizeof(vtsn_port_stats));
	data += sizeof(vtsn_port_stats);
	for (q = 0; q < queues; q++)
		for (i = 0; i < ARRAY_SIZE(vtsn_queue_stats); i++) {
			snprintf(data, ETH_GSTRING_LEN, "tx%u_%s", q, vtsn_queue_stats[i]);
			data += ETH_GSTRING_LEN;
		}
}

static void vtsn_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;
	u32 q;

	BUILD_BUG_ON(sizeof(struct vtsn_txq_stats) !=
		     ARRAY_SIZE(vtsn_queue_stats) * sizeof(u64));
	now_raw = vtsn_wire_enter(port->wire, &flags);
	*data++ = port->rx.packets;
	*data++ = port->rx.bytes;
	*data++ = port->rx.overrun;
	*data++ = port->rx.crc_errors;
	*data++ = port->rx.down;
	*data++ = port->rx.pause;
	*data++ = port->rx.pfc;
	*data++ = port->pause.sent;
	*data++ = port->pause.sent_pfc;
	*data++ = port->interrupts;
	*data++ = port->wire->longest_run;
	*data++ = port->faults.stats.lost;
	*data++ = port->faults.stats.duplicated;
	*data++ = port->faults.stats.corrupted;
	*data++ = port->faults.stats.reordered;
	*data++ = port->faults.stats.delayed;
	for (q = 0; q < port->queues_counted; q++) {
		memcpy(data, &port->txq[q].stats, sizeof(port->txq[q].stats));
		data += ARRAY_SIZE(vtsn_queue_stats);
	}
	vtsn_wire_leave(port->wire, now_raw, flags);
}

const struct ethtool_ops vtsn_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS | ETHTOOL_COALESCE_MAX_FRAMES,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= vtsn_get_link_ksettings,
	.set_link_ksettings	= vtsn_set_link_ksettings,
	.get_ringparam		= vtsn_get_ringparam,
	.set_ringparam		= vtsn_set_ringparam,
	.get_channels		= vtsn_get_channels,
	.set_channels		= vtsn_set_channels,
	.get_coalesce		= vtsn_get_coalesce,
	.set_coalesce		= vtsn_set_coalesce,
	.get_pauseparam		= vtsn_get_pauseparam,
	.set_pauseparam		= vtsn_set_pauseparam,
	.get_pause_stats	= vtsn_get_pause_stats,
	.get_ts_info		= vtsn_get_ts_info,
	.get_sset_count		= vtsn_get_sset_count,
	.get_strings		= vtsn_get_strings,
	.get_ethtool_stats	= vtsn_get_ethtool_stats,
};
