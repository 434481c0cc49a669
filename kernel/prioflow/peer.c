// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: what a port knows of the other end of its wire, from the level frames that it
 * sends: its version, what it obeys, and whether it receives this port's frames.
 *
 * Version 2 sends a frame at least each PRIOFLOW_HELLO_MS, also without a request, and
 * confirms in each the last frame that it has received. Version 1 does neither: of such a
 * peer, and of standard equipment, a port knows only what it has been sent.
 *
 * Whether a peer really obeys is seen by the frames that it sends: of levels that it was
 * requested to pause, no more may come than can have been in flight.
 */
#include <linux/netdevice.h>

#include "prioflow.h"

/* Two frames may be lost. */
#define PRIOFLOW_PEER_TIMEOUT_NS	(7ULL * PRIOFLOW_HELLO_MS * NSEC_PER_MSEC / 2)

/* A link, or its carrier, begins: a peer may be another one than before. */
void prioflow_peer_start(struct prioflow_peer *peer, u64 now_ns)
{
	peer->since_ns = now_ns;
	peer->confirmed_ns = now_ns;
	peer->last_rx_ns = 0;
	peer->version = 0;
	peer->ring = 0;
	peer->reaction_us = 0;
	peer->defied = 0;
	peer->defies = false;
}

/* Takes a level frame of the peer; false if it is older than a received one. */
bool prioflow_peer_hear(struct prioflow_link *link, const struct prioflow_frame *frame, u64 now_ns)
{
	struct prioflow_peer *peer = &link->peer;

	if (peer->known && peer->instance == frame->instance &&
	    (s32)(frame->sequence - peer->sequence) <= 0)
		return false;
	peer->known = true;
	peer->instance = frame->instance;
	peer->sequence = frame->sequence;
	peer->last_rx_ns = now_ns;
	peer->version = frame->version;
	/* Frames from before it obeyed are no defiance. */
	if (peer->obeys != frame->obeys || peer->ignores != frame->ignores)
		peer->defied = 0;
	peer->obeys = frame->obeys;
	peer->ignores = frame->ignores;
	peer->ring = frame->ring;
	peer->reaction_us = frame->reaction_us;
	/* Any frame since the last confirmation will do: others may be on their way. */
	if (frame->version > 1 && frame->acked_instance == link->instance &&
	    ((s32)(frame->acked_sequence - peer->confirmed) > 0 ||
	     frame->acked_sequence == link->sequence)) {
		peer->confirmed = frame->acked_sequence;
		peer->confirmed_ns = now_ns;
	}
	return true;
}

/* Takes account of a received frame while the peer is requested to pause. Softirqs off. */
void prioflow_peer_judge(struct prioflow_port *port, struct sk_buff *skb)
{
	struct prioflow_peer *peer = &port->link.peer;
	const struct prioflow_sched *sched;
	int level;

	spin_lock(&port->lock);
	sched = prioflow_port_qdisc(port);
	level = sched ? prioflow_classify_received(&sched->map, skb) : PRIOFLOW_NO_LEVEL;
	if (level < 0 || !(port->request & BIT(level)) || !port->forward.headroom)
		goto unlock;
	/* It says that it does not obey: that is a state of its own. */
	if (peer->version > 1 && (peer->ignores || level >= peer->obeys))
		goto unlock;
	peer->defied += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	/* The first request may have been lost: its repeat is as good after another reaction time. */
	if (peer->defied > 2 * port->forward.headroom)
		peer->defies = true;
unlock:
	spin_unlock(&port->lock);
}

/* PRIOFLOW_PEER_*; @request: what the peer is requested to pause. */
u8 prioflow_peer_state(const struct prioflow_link *link, u16 request, u64 now_ns)
{
	const struct prioflow_peer *peer = &link->peer;

	if (!link->mode)
		return PRIOFLOW_PEER_UNKNOWN;
	if (prioflow_link_is_standard(link->mode))
		return peer->defies ? PRIOFLOW_PEER_DEFIES : PRIOFLOW_PEER_UNKNOWN;
	if (!peer->last_rx_ns)
		return now_ns - peer->since_ns < PRIOFLOW_PEER_TIMEOUT_NS ? PRIOFLOW_PEER_UNKNOWN :
								       PRIOFLOW_PEER_SILENT;
	if (peer->version == 1)
		return peer->defies ? PRIOFLOW_PEER_DEFIES : PRIOFLOW_PEER_UNKNOWN;
	if (now_ns - peer->last_rx_ns > PRIOFLOW_PEER_TIMEOUT_NS)
		return PRIOFLOW_PEER_SILENT;
	if (now_ns - peer->confirmed_ns > PRIOFLOW_PEER_TIMEOUT_NS)
		return PRIOFLOW_PEER_RECEIVES_NOTHING;
	if (peer->ignores)
		return PRIOFLOW_PEER_IGNORES;
	if (fls(request) > peer->obeys)
		return PRIOFLOW_PEER_OBEYS_LESS;
	return peer->defies ? PRIOFLOW_PEER_DEFIES : PRIOFLOW_PEER_OBEYS;
}
