// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: the credit-based shaper, IEEE 802.1Q-2022 8.6.8.2 (formerly 802.1Qav).
 *
 * The unit of credit is bit * 10^-9, so that a slope in bit/s times ns is credit
 * without a division. Credit grows by the idle slope while frames are queued,
 * shrinks by the send slope during a transmission, and is at most zero while the
 * queue is empty. A frame counts with preamble and gap: in the long run the class
 * gets idle slope / line rate of the wire, as a bandwidth reservation requires.
 */
#include "vtsn.h"

/* Credit after @ns at @bps, within @limit and without overflow. */
static s64 vtsn_cbs_grow(s64 credit, s64 bps, s64 ns, s64 limit)
{
	if (credit >= limit)
		return limit;
	if (ns > div64_s64(limit - credit, bps))
		return limit;
	return credit + bps * ns;
}

/* The state at @now_raw, when no frame is being sent. */
static void vtsn_cbs_advance(struct vtsn_cbs *cbs, s64 now_raw)
{
	s64 ns = now_raw - cbs->updated_raw;

	if (ns <= 0)
		return;
	if (cbs->waiting)
		cbs->credit = vtsn_cbs_grow(cbs->credit, cbs->idle_bps, ns, cbs->high_credit);
	else
		cbs->credit = vtsn_cbs_grow(cbs->credit, cbs->idle_bps, ns, 0);
	cbs->updated_raw = now_raw;
}

/* When the credit, which has changed, allows the next frame to be sent. */
static s64 vtsn_cbs_ready(const struct vtsn_cbs *cbs)
{
	if (cbs->credit >= 0)
		return 0;
	return cbs->updated_raw + div64_s64(-cbs->credit + cbs->idle_bps - 1, cbs->idle_bps);
}

/* A frame was added to the empty queue. */
void vtsn_cbs_queued(struct vtsn_cbs *cbs, s64 now_raw)
{
	vtsn_cbs_advance(cbs, now_raw);
	cbs->ready_raw = vtsn_cbs_ready(cbs);
	cbs->waiting = true;
}

/* A frame was sent from @start_raw to @end_raw; @more: others are queued. */
void vtsn_cbs_sent(struct vtsn_cbs *cbs, s64 start_raw, s64 end_raw, bool more)
{
	s64 ns = end_raw - start_raw;

	vtsn_cbs_advance(cbs, start_raw);
	if (ns > div64_s64(cbs->credit - cbs->low_credit, -cbs->send_bps))
		cbs->credit = cbs->low_credit;
	else
		cbs->credit += cbs->send_bps * ns;
	cbs->updated_raw = end_raw;
	cbs->ready_raw = vtsn_cbs_ready(cbs);
	cbs->waiting = more;
}
