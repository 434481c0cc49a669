// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: the port as a network device: frames in and out, up and down.
 *
 * A frame is copied when it is handed over, as a NIC fetches it by DMA: the copy on
 * the wire is linear and shares nothing with its sender. The sender's skb stays
 * charged to its socket until the transmission has ended.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ptp_classify.h>
#include <linux/vmalloc.h>

#include "vtsn.h"

#define VTSN_CLEAN_BATCH	64

static u32 vtsn_queued(const struct vtsn_txq *txq)
{
	return txq->tail - txq->clean;
}

/* The frame's IEEE 802.1Q priority: from its tag, else from skb->priority. */
static u8 vtsn_tx_class(const struct sk_buff *skb, const struct sk_buff *image)
{
	const struct vlan_ethhdr *tagged = (const struct vlan_ethhdr *)image->data;

	if (image->len >= VLAN_ETH_HLEN && eth_type_vlan(tagged->h_vlan_proto))
		return ntohs(tagged->h_vlan_TCI) >> VLAN_PRIO_SHIFT;
	return skb->priority & (VTSN_CLASSES - 1);
}

/* Copies a frame, with the checksum that the stack leaves to the MAC. */
static void vtsn_copy_and_sum(const struct sk_buff *skb, u8 *octets)
{
	__sum16 *sum;

	skb_copy_and_csum_dev(skb, octets);
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	sum = (__sum16 *)(octets + skb_checksum_start_offset(skb) + skb->csum_offset);
	/* UDP's 0 stands for no checksum, without which IPv6 drops a datagram. */
	if (!*sum)
		*sum = CSUM_MANGLED_0;
}

/* Makes the frame on the wire: a linear copy with checksum and padding; NULL without memory. */
static struct sk_buff *vtsn_make_image(struct vtsn_port *port, struct sk_buff *skb)
{
	u32 length = max_t(u32, skb->len, ETH_ZLEN);
	const struct vlan_ethhdr *tagged;
	struct sk_buff *image;
	struct vtsn_image *cb;

	image = netdev_alloc_skb_ip_align(port->peer->dev, length);
	if (!image)
		return NULL;
	vtsn_copy_and_sum(skb, skb_put(image, length));
	if (length > skb->len)
		memset(image->data + skb->len, 0, length - skb->len);
	cb = vtsn_image(image);
	memset(cb, 0, sizeof(*cb));
	cb->checksummed = skb->ip_summed == CHECKSUM_PARTIAL;
	/* The receiver sees the priority only in the tag. */
	tagged = (const struct vlan_ethhdr *)image->data;
	if (eth_type_vlan(tagged->h_vlan_proto))
		cb->class = ntohs(tagged->h_vlan_TCI) >> VLAN_PRIO_SHIFT;
	return image;
}

/* Reserves a slot for the frame's hardware time stamp, if it is to have one. */
static bool vtsn_want_stamp(struct vtsn_port *port, struct vtsn_txq *txq, struct sk_buff *skb)
{
	unsigned long flags;
	bool stamp;

	if (!(skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP) ||
	    READ_ONCE(port->stamping.tx_type) != HWTSTAMP_TX_ON)
		return false;
	raw_spin_lock_irqsave(&port->wire->lock, flags);
	stamp = !port->stamp_slots || port->stamps_in_use < port->stamp_slots;
	if (stamp)
		port->stamps_in_use++;
	else
		txq->stats.stamp_skipped++;
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	if (stamp)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	return stamp;
}

static netdev_tx_t vtsn_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct vtsn_desc desc = { .skb = skb, .bytes = skb->len };
	struct vtsn_port *port = vtsn_port(dev);
	u32 queue = skb_get_queue_mapping(skb);
	struct netdev_queue *stack_queue;
	struct vtsn_txq *txq;
	unsigned long flags;
	s64 now_raw;
	s32 beyond;

	stack_queue = netdev_get_tx_queue(dev, queue);
	txq = &port->txq[queue];
	desc.image = vtsn_make_image(port, skb);
	if (unlikely(!desc.image)) {
		raw_spin_lock_irqsave(&port->wire->lock, flags);
		txq->stats.no_memory++;
		raw_spin_unlock_irqrestore(&port->wire->lock, flags);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	desc.octets = desc.image->len + ETH_FCS_LEN;
	desc.class = vtsn_tx_class(skb, desc.image);
	if (unlikely(READ_ONCE(port->faults.any)))
		vtsn_fault_roll(port, &desc);
	desc.stamp = vtsn_want_stamp(port, txq, skb);
	/* After that, which suppresses a software stamp in addition to the hardware's. */
	skb_tx_timestamp(skb);

	now_raw = vtsn_wire_enter(port->wire, &flags);
	desc.queued_raw = now_raw;
	if (txq->launch_time && skb->tstamp) {
		desc.launch_phc = ktime_to_ns(skb->tstamp);
		div_s64_rem(desc.launch_phc, port->launch_resolution_ns, &beyond);
		desc.launch_phc -= beyond;
		if (desc.launch_phc > vtsn_phc_at(&port->phc, now_raw) +
				      (s64)port->launch_horizon_ns)
			desc.drop = VTSN_DROP_HORIZON;
		/* Else the hardware stamp would be taken for a software stamp. */
		skb_txtime_consumed(skb);
	}
	if (txq->mac == txq->tail && txq->cbs.enabled)
		vtsn_cbs_queued(&txq->cbs, now_raw);
	*vtsn_slot(port, txq, txq->tail++) = desc;
	port->backlog |= BIT(queue);
	netdev_tx_sent_queue(stack_queue, desc.bytes);
	if (vtsn_queued(txq) >= port->tx_ring)
		netif_tx_stop_queue(stack_queue);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return NETDEV_TX_OK;
}

/* Completes a sent frame: reports its time stamp and frees it. */
static void vtsn_release(struct vtsn_port *port, struct vtsn_desc *desc, int budget)
{
	if (desc->stamp && !desc->drop && !desc->stamp_lost) {
		struct skb_shared_hwtstamps stamp = {
			.hwtstamp = ns_to_ktime(desc->stamp_phc),
		};

		skb_tstamp_tx(desc->skb, &stamp);
	}
	if (desc->drop)
		dev_kfree_skb_any(desc->skb);
	else
		napi_consume_skb(desc->skb, budget);
}

/* Completes a queue's sent frames; true if there may be more. */
static bool vtsn_clean_queue(struct vtsn_port *port, u32 queue, int budget)
{
	struct netdev_queue *stack_queue = netdev_get_tx_queue(port->dev, queue);
	struct vtsn_txq *txq = &port->txq[queue];
	u32 packets = 0, bytes = 0;
	struct vtsn_desc desc;
	unsigned long flags;
	s64 now_raw;

	while (packets < VTSN_CLEAN_BATCH) {
		bool have = false;

		raw_spin_lock_irqsave(&port->wire->lock, flags);
		now_raw = ktime_get_raw_ns();
		if (txq->clean != txq->mac) {
			desc = *vtsn_slot(port, txq, txq->clean);
			have = desc.done_raw <= now_raw;
		}
		if (have) {
			txq->clean++;
			if (desc.stamp)
				port->stamps_in_use--;
			if (desc.stamp && desc.stamp_lost)
				txq->stats.stamp_lost++;
			if (txq->clean == txq->mac)
				port->sending &= ~BIT(queue);
		}
		raw_spin_unlock_irqrestore(&port->wire->lock, flags);
		if (!have)
			break;
		packets++;
		bytes += desc.bytes;
		vtsn_release(port, &desc, budget);
	}
	if (packets)
		netdev_tx_completed_queue(stack_queue, packets, bytes);
	if (netif_tx_queue_stopped(stack_queue) && vtsn_queued(txq) < port->tx_ring &&
	    READ_ONCE(port->up))
		netif_tx_wake_queue(stack_queue);
	return packets == VTSN_CLEAN_BATCH;
}

static bool vtsn_wants_rx_stamp(const struct vtsn_port *port, struct sk_buff *image)
{
	struct ptp_header *header;
	unsigned int class;

	switch (port->stamping.rx_filter) {
	case HWTSTAMP_FILTER_NONE:
		return false;
	case HWTSTAMP_FILTER_ALL:
		return true;
	}
	/* Event messages of PTP version 2, on any transport. */
	skb_reset_mac_header(image);
	class = ptp_classify_raw(image);
	if (class == PTP_CLASS_NONE || (class & PTP_CLASS_VMASK) != PTP_CLASS_V2)
		return false;
	header = ptp_parse_header(image, class);
	return header && ptp_get_msgtype(header, class) < 8;
}

/* Not inlined: `teiji why` watches it, and reads the time of arrival from @image. */
static noinline __noclone void vtsn_deliver(struct vtsn_port *port, struct sk_buff *image)
{
	const struct vtsn_image *cb = vtsn_image(image);
	s64 stamp_phc = cb->stamp_phc;
	bool checked;

	/*
	 * A checksum that the sending MAC made is right, and need not be checked. Any other may
	 * be wrong, as when a program or a router made it: the stack checks it.
	 */
	checked = cb->checksummed && !cb->corrupted;
	if (vtsn_wants_rx_stamp(port, image))
		skb_hwtstamps(image)->hwtstamp = ns_to_ktime(stamp_phc);
	image->protocol = eth_type_trans(image, port->dev);
	image->ip_summed = checked ? CHECKSUM_UNNECESSARY : CHECKSUM_NONE;
	skb_record_rx_queue(image, 0);
	napi_gro_receive(&port->napi, image);
}

static struct sk_buff *vtsn_take(struct vtsn_port *port)
{
	struct sk_buff *image;
	unsigned long flags;
	s64 now_raw;

	/* Earlier events are computed with the ring as it was. */
	now_raw = vtsn_wire_enter(port->wire, &flags);
	image = __skb_dequeue(&port->ring);
	if (image) {
		port->class_count[vtsn_image(image)->class]--;
		port->rx.packets++;
		port->rx.bytes += image->len;
		if (is_multicast_ether_addr(image->data))
			port->rx.multicast++;
		vtsn_pause_update(port, now_raw);
	}
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	return image;
}

int vtsn_poll(struct napi_struct *napi, int budget)
{
	struct vtsn_port *port = container_of(napi, struct vtsn_port, napi);
	unsigned long sending, flags;
	struct sk_buff *image;
	bool more = false;
	int work = 0;
	s64 now_raw;
	u32 q;

	sending = READ_ONCE(port->sending);
	for_each_set_bit(q, &sending, VTSN_MAX_QUEUES)
		more |= vtsn_clean_queue(port, q, budget);

	while (work < budget) {
		image = vtsn_take(port);
		if (!image)
			break;
		vtsn_deliver(port, image);
		vtsn_pause_refill(port);
		work++;
	}

	if (more || (budget && work == budget))
		return budget;
	if (napi_complete_done(napi, work)) {
		now_raw = vtsn_wire_enter(port->wire, &flags);
		port->masked = false;
		vtsn_wire_watch(port->wire, now_raw, flags);
	}
	return work;
}

/* Frees all frames in the rings of a port that is down. */
static void vtsn_purge(struct vtsn_port *port)
{
	struct sk_buff_head images;
	unsigned long flags;
	u32 q;

	__skb_queue_head_init(&images);
	for (q = 0; q < VTSN_MAX_QUEUES; q++) {
		struct vtsn_txq *txq = &port->txq[q];

		for (; txq->clean != txq->tail; txq->clean++) {
			struct vtsn_desc *desc = vtsn_slot(port, txq, txq->clean);

			kfree_skb(desc->image);
			kfree_skb(desc->duplicate);
			dev_kfree_skb_any(desc->skb);
		}
	}
	raw_spin_lock_irqsave(&port->wire->lock, flags);
	port->stamps_in_use = 0;
	port->sending = 0;
	memset(port->class_count, 0, sizeof(port->class_count));
	port->rx.down += port->ring.qlen;
	skb_queue_splice_init(&port->ring, &images);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	__skb_queue_purge(&images);
}

static void vtsn_free_rings(struct vtsn_desc **rings)
{
	u32 q;

	for (q = 0; q < VTSN_MAX_QUEUES; q++)
		kvfree(rings[q]);
}

static int vtsn_alloc_rings(struct vtsn_desc **rings, u32 queues, u32 size)
{
	u32 q;

	memset(rings, 0, VTSN_MAX_QUEUES * sizeof(*rings));
	for (q = 0; q < queues; q++) {
		rings[q] = kvcalloc(size, sizeof(**rings), GFP_KERNEL);
		if (!rings[q]) {
			vtsn_free_rings(rings);
			return -ENOMEM;
		}
	}
	return 0;
}

static void vtsn_set_carrier(struct vtsn_port *port)
{
	struct vtsn_port *ends[] = { port, port->peer };
	bool linked = port->up && port->peer->up;
	u32 i;

	ASSERT_RTNL();
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		if (linked)
			netif_carrier_on(ends[i]->dev);
		else
			netif_carrier_off(ends[i]->dev);
	}
}

/* Brings the port up; cannot fail. */
static void vtsn_start(struct vtsn_port *port)
{
	unsigned long flags;
	s64 now_raw;
	u32 q;

	for (q = 0; q < port->dev->num_tx_queues; q++)
		netdev_tx_reset_queue(netdev_get_tx_queue(port->dev, q));
	napi_enable(&port->napi);
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->masked = false;
	vtsn_pause_reset(port);
	port->up = true;
	vtsn_wire_leave(port->wire, now_raw, flags);
	vtsn_pause_refill(port);
	netif_tx_wake_all_queues(port->dev);
}

static void vtsn_halt(struct vtsn_port *port)
{
	unsigned long flags;
	s64 now_raw;
	u32 q;

	/* First, so that no poll takes dropped frames as sent, or wakes a queue. */
	napi_disable(&port->napi);
	netif_tx_disable(port->dev);
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->up = false;
	port->backlog = 0;
	for (q = 0; q < VTSN_MAX_QUEUES; q++) {
		struct vtsn_txq *txq = &port->txq[q];

		/* Drop the frames that the MAC has not begun. */
		txq->stats.flushed += txq->tail - txq->mac;
		txq->mac = txq->tail;
	}
	vtsn_wire_leave(port->wire, now_raw, flags);
	vtsn_irq_quiesce(port);
	vtsn_purge(port);
}

static int vtsn_open(struct net_device *dev)
{
	struct vtsn_desc *rings[VTSN_MAX_QUEUES];
	struct vtsn_port *port = vtsn_port(dev);
	int err;
	u32 q;

	err = vtsn_alloc_rings(rings, dev->real_num_tx_queues, port->tx_ring);
	if (err)
		return err;
	err = vtsn_irq_request(port);
	if (err) {
		vtsn_free_rings(rings);
		return err;
	}
	for (q = 0; q < VTSN_MAX_QUEUES; q++)
		port->txq[q].desc = rings[q];
	vtsn_start(port);
	vtsn_set_carrier(port);
	return 0;
}

static int vtsn_stop(struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);
	u32 q;

	vtsn_halt(port);
	vtsn_set_carrier(port);
	vtsn_irq_free(port);
	for (q = 0; q < VTSN_MAX_QUEUES; q++) {
		kvfree(port->txq[q].desc);
		port->txq[q].desc = NULL;
	}
	return 0;
}

/*
 * Changes rings and number of transmit queues; unchanged on failure. A port that is up loses
 * its queued frames, as on any NIC.
 */
int vtsn_set_rings(struct vtsn_port *port, u32 tx_ring, u32 rx_ring, u32 queues)
{
	struct vtsn_desc *rings[VTSN_MAX_QUEUES];
	bool running = netif_running(port->dev);
	int err;
	u32 q;

	ASSERT_RTNL();
	if (running) {
		err = vtsn_alloc_rings(rings, queues, tx_ring);
		if (err)
			return err;
		vtsn_halt(port);
	}
	err = netif_set_real_num_tx_queues(port->dev, queues);
	if (!err) {
		port->tx_ring = tx_ring;
		port->rx_ring = rx_ring;
		port->queues_counted = max_t(u32, port->queues_counted, queues);
	}
	if (running) {
		for (q = 0; q < VTSN_MAX_QUEUES && !err; q++)
			swap(port->txq[q].desc, rings[q]);
		vtsn_start(port);
		vtsn_free_rings(rings);
	}
	return err;
}

static void vtsn_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;
	u32 q;

	now_raw = vtsn_wire_enter(port->wire, &flags);
	for (q = 0; q < VTSN_MAX_QUEUES; q++) {
		const struct vtsn_txq_stats *tx = &port->txq[q].stats;

		stats->tx_packets += tx->packets;
		stats->tx_bytes += tx->bytes;
		stats->tx_dropped += tx->no_memory + tx->launch_horizon + tx->flushed;
		stats->tx_errors += tx->timeouts;
	}
	stats->rx_packets = port->rx.packets;
	stats->rx_bytes = port->rx.bytes;
	stats->multicast = port->rx.multicast;
	stats->rx_crc_errors = port->rx.crc_errors;
	stats->rx_fifo_errors = port->rx.overrun;
	stats->rx_missed_errors = port->rx.overrun;
	stats->rx_errors = port->rx.crc_errors + port->rx.overrun;
	stats->rx_dropped = port->rx.down;
	vtsn_wire_leave(port->wire, now_raw, flags);
}

/*
 * Watchdog of the stack: no progress on a queue. Frames that wait for a launch time, a
 * gate or the end of a pause stay; a queue stuck by fault injection is emptied.
 */
static void vtsn_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct vtsn_port *port = vtsn_port(dev);
	struct vtsn_txq *txq;
	unsigned long flags;
	s64 now_raw;
	u32 i;

	txq = &port->txq[queue];
	now_raw = vtsn_wire_enter(port->wire, &flags);
	if (port->faults.stuck_queues & BIT(queue))
		for (i = txq->mac; i != txq->tail; i++)
			vtsn_slot(port, txq, i)->drop = VTSN_DROP_TIMEOUT;
	vtsn_wire_leave(port->wire, now_raw, flags);
	netif_trans_update(dev);
}

/* The filters between NONE and ALL become PTP version 2 events. */
static int vtsn_set_stamping(struct vtsn_port *port, int *tx_type, int *rx_filter)
{
	unsigned long flags;
	s64 now_raw;

	ASSERT_RTNL();
	if (*tx_type != HWTSTAMP_TX_OFF && *tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	switch (*rx_filter) {
	case HWTSTAMP_FILTER_NONE:
	case HWTSTAMP_FILTER_ALL:
		break;
	case HWTSTAMP_FILTER_PTP_V2_EVENT:
	case HWTSTAMP_FILTER_PTP_V2_SYNC:
	case HWTSTAMP_FILTER_PTP_V2_DELAY_REQ:
	case HWTSTAMP_FILTER_PTP_V2_L2_EVENT:
	case HWTSTAMP_FILTER_PTP_V2_L2_SYNC:
	case HWTSTAMP_FILTER_PTP_V2_L2_DELAY_REQ:
	case HWTSTAMP_FILTER_PTP_V2_L4_EVENT:
	case HWTSTAMP_FILTER_PTP_V2_L4_SYNC:
	case HWTSTAMP_FILTER_PTP_V2_L4_DELAY_REQ:
		*rx_filter = HWTSTAMP_FILTER_PTP_V2_EVENT;
		break;
	default:
		*rx_filter = HWTSTAMP_FILTER_ALL;
	}
	now_raw = vtsn_wire_enter(port->wire, &flags);
	WRITE_ONCE(port->stamping.tx_type, *tx_type);
	port->stamping.rx_filter = *rx_filter;
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

#ifdef COMPAT_HAVE_NDO_HWTSTAMP
static int vtsn_hwtstamp_get(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	struct vtsn_port *port = vtsn_port(dev);

	config->flags = 0;
	config->tx_type = port->stamping.tx_type;
	config->rx_filter = port->stamping.rx_filter;
	return 0;
}

static int vtsn_hwtstamp_set(struct net_device *dev, struct kernel_hwtstamp_config *config,
			     struct netlink_ext_ack *extack)
{
	int tx_type = config->tx_type, rx_filter = config->rx_filter;
	int err;

	err = vtsn_set_stamping(vtsn_port(dev), &tx_type, &rx_filter);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "one-step time stamping is not supported");
	config->rx_filter = rx_filter;
	return err;
}
#else
static int vtsn_ioctl(struct net_device *dev, struct ifreq *request, int command)
{
	struct vtsn_port *port = vtsn_port(dev);
	struct hwtstamp_config config;
	int err;

	switch (command) {
	case SIOCGHWTSTAMP:
		config = port->stamping;
		break;
	case SIOCSHWTSTAMP:
		if (copy_from_user(&config, request->ifr_data, sizeof(config)))
			return -EFAULT;
		if (config.flags)
			return -EINVAL;
		err = vtsn_set_stamping(port, &config.tx_type, &config.rx_filter);
		if (err)
			return err;
		break;
	default:
		return -EOPNOTSUPP;
	}
	return copy_to_user(request->ifr_data, &config, sizeof(config)) ? -EFAULT : 0;
}
#endif

static int vtsn_get_iflink(const struct net_device *dev)
{
	return ((struct vtsn_port *)netdev_priv(dev))->peer->dev->ifindex;
}

static int vtsn_init(struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);
	int err;

	err = vtsn_irq_create(port);
	if (err)
		return err;
	err = vtsn_phc_create(port);
	if (err)
		goto err_irq;
	vtsn_fault_create(port);
	return 0;

err_irq:
	vtsn_irq_destroy(port);
	return err;
}

static void vtsn_uninit(struct net_device *dev)
{
	struct vtsn_port *port = vtsn_port(dev);

	vtsn_fault_destroy(port);
	vtsn_phc_destroy(port);
	vtsn_irq_destroy(port);
}

const struct net_device_ops vtsn_netdev_ops = {
	.ndo_init		= vtsn_init,
	.ndo_uninit		= vtsn_uninit,
	.ndo_open		= vtsn_open,
	.ndo_stop		= vtsn_stop,
	.ndo_start_xmit		= vtsn_xmit,
	.ndo_tx_timeout		= vtsn_tx_timeout,
	.ndo_get_stats64	= vtsn_get_stats64,
	.ndo_setup_tc		= vtsn_setup_tc,
	.ndo_get_iflink		= vtsn_get_iflink,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
#ifdef COMPAT_HAVE_NDO_HWTSTAMP
	.ndo_hwtstamp_get	= vtsn_hwtstamp_get,
	.ndo_hwtstamp_set	= vtsn_hwtstamp_set,
#else
	.ndo_eth_ioctl		= vtsn_ioctl,
#endif
};
