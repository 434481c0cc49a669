// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: flow control in the MAC, IEEE 802.3x PAUSE (clause 31B) and IEEE 802.1Qbb
 * priority flow control (clause 31D), as a NIC does it without the kernel.
 *
 * A port that may send PAUSE sends XOFF when its receive ring is three quarters
 * full, and XON at one quarter; under PFC each class has marks at 1/16 and 1/32 of
 * the ring. XOFF is refreshed before it expires. A paused port completes the frame
 * that is on the wire.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <net/dcbnl.h>

#include "vtsn.h"

#define VTSN_OPCODE_PAUSE	0x0001
#define VTSN_OPCODE_PFC		0x0101
#define VTSN_QUANTUM_BYTES	64	/* 512 bit times */
#define VTSN_MAX_QUANTA		0xffff
/* Control frames are allocated in advance: the MAC runs in hard interrupts. */
#define VTSN_PAUSE_SPARES	4

static const u8 vtsn_control_address[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

static s64 vtsn_quanta_ns(const struct vtsn_wire *wire, u32 quanta)
{
	return div_s64((s64)quanta * VTSN_QUANTUM_BYTES * wire->byte_tenths, 10);
}

static u16 vtsn_be16(const u8 *at)
{
	return at[0] << 8 | at[1];
}

/* Obeys a control frame; false if it is not for this MAC, so that the stack gets it. */
bool vtsn_pause_receive(struct vtsn_port *port, struct sk_buff *image)
{
	s64 now = vtsn_image(image)->arrival_raw;
	struct vtsn_pause *pause = &port->pause;
	const u8 *data = image->data;
	u32 class, vector;

	lockdep_assert_held(&port->wire->lock);
	if (image->len < ETH_ZLEN || vtsn_be16(data + 12) != ETH_P_PAUSE ||
	    (!ether_addr_equal_unaligned(data, vtsn_control_address) &&
	     !ether_addr_equal_unaligned(data, port->dev->dev_addr)))
		return false;

	switch (vtsn_be16(data + 14)) {
	case VTSN_OPCODE_PAUSE:
		if (!pause->obey)
			return false;
		for (class = 0; class < VTSN_CLASSES; class++)
			pause->until_raw[class] =
				now + vtsn_quanta_ns(port->wire, vtsn_be16(data + 16));
		port->rx.pause++;
		return true;
	case VTSN_OPCODE_PFC:
		if (!pause->pfc_enabled)
			return false;
		vector = vtsn_be16(data + 16) & pause->pfc_enabled;
		for (class = 0; class < VTSN_CLASSES; class++)
			if (vector & BIT(class))
				pause->until_raw[class] =
					now + vtsn_quanta_ns(port->wire,
							     vtsn_be16(data + 18 + 2 * class));
		port->rx.pfc++;
		return true;
	}
	return false;
}

/* Has the MAC send a control frame next. */
static void vtsn_pause_request(struct vtsn_port *port, s64 now_raw)
{
	port->pause.request_raw = now_raw;
	/* It is the wire's next event. */
	port->wire->next_raw = min(port->wire->next_raw, now_raw);
}

/* Sends XOFF or XON if the fill level of the receive ring requires it. */
void vtsn_pause_update(struct vtsn_port *port, s64 now_raw)
{
	struct vtsn_pause *pause = &port->pause;
	u32 class;

	lockdep_assert_held(&port->wire->lock);
	if (pause->send && !pause->pfc_enabled) {
		if (!pause->xoff_all && port->ring.qlen >= port->rx_ring * 3 / 4) {
			pause->xoff_all = true;
			vtsn_pause_request(port, now_raw);
		} else if (pause->xoff_all && port->ring.qlen <= port->rx_ring / 4) {
			pause->xoff_all = false;
			vtsn_pause_request(port, now_raw);
		}
	}
	for (class = 0; class < VTSN_CLASSES; class++) {
		u8 bit = BIT(class);

		if (!(pause->pfc_enabled & bit))
			continue;
		if (!(pause->xoff & bit) && port->class_count[class] * 16 >= port->rx_ring) {
			pause->xoff |= bit;
			vtsn_pause_request(port, now_raw);
		} else if (pause->xoff & bit && port->class_count[class] * 32 <= port->rx_ring) {
			pause->xoff &= ~bit;
			vtsn_pause_request(port, now_raw);
		}
	}
}

/* When the MAC sends its next control frame. */
s64 vtsn_pause_due(const struct vtsn_port *port)
{
	lockdep_assert_held(&port->wire->lock);
	/* Without a buffer the request waits for NAPI's refill. */
	if (port->pause.request_raw == VTSN_NEVER || !port->up ||
	    skb_queue_empty(&port->pause.spare))
		return VTSN_NEVER;
	return max(port->pause.request_raw, port->free_raw);
}

/* The control frame with the current pause request, sent at @start_raw. */
struct sk_buff *vtsn_pause_frame(struct vtsn_port *port, s64 start_raw)
{
	struct vtsn_pause *pause = &port->pause;
	struct sk_buff *image;
	u32 class;
	u8 *data;

	lockdep_assert_held(&port->wire->lock);
	image = __skb_dequeue(&pause->spare);
	data = image->data;
	memset(data, 0, ETH_ZLEN);
	ether_addr_copy(data, vtsn_control_address);
	memcpy(data + ETH_ALEN, port->dev->dev_addr, ETH_ALEN);
	data[12] = ETH_P_PAUSE >> 8;
	data[13] = ETH_P_PAUSE & 0xff;
	if (pause->pfc_enabled) {
		data[14] = VTSN_OPCODE_PFC >> 8;
		data[15] = VTSN_OPCODE_PFC & 0xff;
		data[17] = pause->pfc_enabled;
		for (class = 0; class < VTSN_CLASSES; class++)
			if (pause->xoff & BIT(class))
				memset(data + 18 + 2 * class, 0xff, 2);
		pause->sent_pfc++;
	} else {
		data[15] = VTSN_OPCODE_PAUSE;
		if (pause->xoff_all)
			memset(data + 16, 0xff, 2);
		pause->sent++;
	}
	pause->request_raw = pause->xoff || pause->xoff_all ?
			     start_raw + vtsn_quanta_ns(port->wire, VTSN_MAX_QUANTA / 2) :
			     VTSN_NEVER;
	return image;
}

/* Refills the buffers of control frames. Softirq or process context, without the lock. */
void vtsn_pause_refill(struct vtsn_port *port)
{
	struct vtsn_pause *pause = &port->pause;
	struct sk_buff *image;
	unsigned long flags;
	s64 now_raw;

	while ((pause->send || pause->pfc_enabled) &&
	       skb_queue_len_lockless(&pause->spare) < VTSN_PAUSE_SPARES) {
		image = netdev_alloc_skb_ip_align(port->peer->dev, ETH_ZLEN);
		if (!image)
			return;
		skb_put(image, ETH_ZLEN);
		memset(image->cb, 0, sizeof(image->cb));
		now_raw = vtsn_wire_enter(port->wire, &flags);
		__skb_queue_tail(&pause->spare, image);
		vtsn_wire_leave(port->wire, now_raw, flags);
	}
}

/* Resets the pause state: the port goes down, or its settings change. */
void vtsn_pause_reset(struct vtsn_port *port)
{
	struct vtsn_pause *pause = &port->pause;

	lockdep_assert_held(&port->wire->lock);
	memset(pause->until_raw, 0, sizeof(pause->until_raw));
	/* The peer stays paused until its XOFF expires, as with any NIC. */
	pause->xoff = 0;
	pause->xoff_all = false;
	pause->request_raw = VTSN_NEVER;
}

#if IS_ENABLED(CONFIG_DCB)
static int vtsn_ieee_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vtsn_port *port = vtsn_port(dev);

	pfc->pfc_cap = VTSN_CLASSES;
	pfc->pfc_en = port->pause.pfc_enabled;
	pfc->requests[0] = port->pause.sent_pfc;
	pfc->indications[0] = port->rx.pfc;
	return 0;
}

static int vtsn_ieee_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct vtsn_port *port = vtsn_port(dev);
	unsigned long flags;
	s64 now_raw;

	if (pfc->pfc_en && (port->pause.obey || port->pause.send)) {
		netdev_err(dev, "PFC and PAUSE exclude each other: ethtool -A %s rx off tx off\n",
			   dev->name);
		return -EBUSY;
	}
	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->pause.pfc_enabled = pfc->pfc_en;
	vtsn_pause_reset(port);
	vtsn_wire_leave(port->wire, now_raw, flags);
	vtsn_pause_refill(port);
	return 0;
}

static u8 vtsn_getdcbx(struct net_device *dev)
{
	return DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
}

static u8 vtsn_setdcbx(struct net_device *dev, u8 mode)
{
	return mode != (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
}

const struct dcbnl_rtnl_ops vtsn_dcbnl_ops = {
	.ieee_getpfc	= vtsn_ieee_getpfc,
	.ieee_setpfc	= vtsn_ieee_setpfc,
	.getdcbx	= vtsn_getdcbx,
	.setdcbx	= vtsn_setdcbx,
};
#endif
