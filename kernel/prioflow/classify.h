/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: the level of a plain packet, as nearly all are: IPv4 without options, not to a
 * link-local group address, headers in the linear part. Inline, because it runs for each
 * packet; classify.c handles all others.
 */
#ifndef PRIOFLOW_CLASSIFY_H
#define PRIOFLOW_CLASSIFY_H

#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "prioflow.h"

#define PRIOFLOW_PTP_EVENT	319
#define PRIOFLOW_PTP_GENERAL	320

static __always_inline bool prioflow_is_ptp_port(__be16 port)
{
	return port == htons(PRIOFLOW_PTP_EVENT) || port == htons(PRIOFLOW_PTP_GENERAL);
}

/* In a qdisc skb->data is the Ethernet header. */
static __always_inline bool prioflow_is_plain(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	/* Negative if the header is not in the linear part. */
	int octets = skb_tail_pointer(skb) - (const u8 *)ip;

	return skb->protocol == htons(ETH_P_IP) &&
	       octets >= (int)(sizeof(*ip) + sizeof(struct udphdr)) &&
	       *(const u8 *)ip == 0x45 &&
	       /* Another protocol or a fragment may match by chance: classify.c tells. */
	       !prioflow_is_ptp_port(((const struct udphdr *)(ip + 1))->dest) &&
	       !is_link_local_ether_addr(skb->data);
}

/* The level of any frame, or PRIOFLOW_FOREIGN. The qdisc lock, under which the map changes. */
static __always_inline u32 prioflow_level_of(const struct prioflow_sched *q, struct sk_buff *skb)
{
	prioflow_assert_qdisc_lock(q->qdisc);
	if (likely(q->map.reads_class && prioflow_is_plain(skb)))
		return q->map.by_class[ip_hdr(skb)->tos];
	return prioflow_classify(q, skb);
}

#endif /* PRIOFLOW_CLASSIFY_H */
