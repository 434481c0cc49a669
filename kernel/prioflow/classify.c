// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: which level a frame has.
 *
 * What the network itself needs is always at the top: frames for link-local group
 * addresses (flow control, PTP, spanning tree, LLDP), flow control of our own, ARP,
 * IPv6 neighbour discovery and multicast listener reports, PTP over UDP. All other
 * frames are looked up in a table that the administrator chooses.
 */
#include <linux/etherdevice.h>
#include <linux/icmpv6.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/ndisc.h>

#include "frame.h"
#include "prioflow.h"

#define PRIOFLOW_PTP_EVENT	319
#define PRIOFLOW_PTP_GENERAL	320

u32 prioflow_map_entries(u8 source)
{
	switch (source) {
	case PRIOFLOW_SOURCE_DSCP:
		return 64;
	case PRIOFLOW_SOURCE_PCP:
		return 8;
	default:
		return 16;
	}
}

/* A map with the source's default table, or NULL without memory. */
struct prioflow_map *prioflow_map_new(u8 source)
{
	struct prioflow_map *map = kzalloc(sizeof(*map), GFP_KERNEL);
	u32 i;

	if (!map)
		return NULL;
	map->source = source;
	for (i = 0; i < prioflow_map_entries(source); i++) {
		switch (source) {
		case PRIOFLOW_SOURCE_DSCP:
			map->level[i] = i >> 2;
			break;
		case PRIOFLOW_SOURCE_PCP:
			map->level[i] = 2 * i + 1;
			break;
		default:
			map->level[i] = i;
		}
	}
	return map;
}

static bool prioflow_is_ptp(struct sk_buff *skb, int offset, u8 protocol)
{
	struct udphdr *udp, buffer;

	if (protocol != IPPROTO_UDP)
		return false;
	udp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	return udp && (udp->dest == htons(PRIOFLOW_PTP_EVENT) ||
		       udp->dest == htons(PRIOFLOW_PTP_GENERAL));
}

/* Neighbour discovery and multicast listener reports, without which nothing arrives. */
static bool prioflow_is_discovery(struct sk_buff *skb, int offset)
{
	u8 *type, buffer;

	type = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (!type)
		return false;
	return (*type >= NDISC_ROUTER_SOLICITATION && *type <= NDISC_REDIRECT) ||
	       (*type >= ICMPV6_MGM_QUERY && *type <= ICMPV6_MGM_REDUCTION) ||
	       *type == ICMPV6_MLD2_REPORT;
}

/* The protocol within all VLAN tags, and where its header is. */
static __be16 prioflow_protocol(struct sk_buff *skb, int *offset)
{
	__be16 protocol = skb->protocol;
	struct vlan_hdr *tag, buffer;
	u32 depth;

	*offset = skb_network_offset(skb);
	if (!eth_type_vlan(protocol))
		return protocol;
	*offset = skb_mac_offset(skb) + ETH_HLEN;
	for (depth = 0; depth < VLAN_MAX_DEPTH && eth_type_vlan(protocol); depth++) {
		tag = skb_header_pointer(skb, *offset, sizeof(buffer), &buffer);
		if (!tag)
			return 0;
		protocol = tag->h_vlan_encapsulated_proto;
		*offset += VLAN_HLEN;
	}
	return protocol;
}

/* The level of an IP packet by its traffic class; top for what the network needs. */
static u8 prioflow_ip_level(const struct prioflow_map *map, struct sk_buff *skb, __be16 protocol,
			    int offset)
{
	int next;
	bool by_tos = map->source == PRIOFLOW_SOURCE_TOS;
	u8 tos, inner;

	if (protocol == htons(ETH_P_IP)) {
		struct iphdr *ip, buffer;

		ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
		if (!ip || ip->ihl < 5)
			return 0;
		tos = ip->tos;
		inner = ip->protocol;
		next = offset + ip->ihl * 4;
		if (ip->frag_off & htons(IP_OFFSET))
			inner = IPPROTO_RAW;
	} else {
		struct ipv6hdr *ip, buffer;
		__be16 fragment;

		ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
		if (!ip)
			return 0;
		tos = ipv6_get_dsfield(ip);
		inner = ip->nexthdr;
		next = ipv6_skip_exthdr(skb, offset + sizeof(*ip), &inner, &fragment);
		if (next > 0 && inner == IPPROTO_ICMPV6 && prioflow_is_discovery(skb, next))
			return PRIOFLOW_TOP_LEVEL;
	}
	if (next > 0 && prioflow_is_ptp(skb, next, inner))
		return PRIOFLOW_TOP_LEVEL;
	return map->level[by_tos ? (tos >> 1) & 15 : tos >> 2];
}

static u8 prioflow_tag_level(const struct prioflow_map *map, const struct sk_buff *skb)
{
	struct vlan_hdr *tag, buffer;

	if (skb_vlan_tag_present(skb))
		return map->level[skb_vlan_tag_get_prio(skb)];
	if (!eth_type_vlan(skb->protocol))
		return map->level[0];
	tag = skb_header_pointer(skb, skb_mac_offset(skb) + ETH_HLEN, sizeof(buffer), &buffer);
	return map->level[tag ? ntohs(tag->h_vlan_TCI) >> VLAN_PRIO_SHIFT : 0];
}

u8 prioflow_classify(const struct prioflow_map *map, struct sk_buff *skb)
{
	int offset;
	__be16 protocol = prioflow_protocol(skb, &offset);

	switch (protocol) {
	case htons(ETH_P_PAUSE):
	case htons(ETH_P_ARP):
	case htons(ETH_P_1588):
	case htons(PRIOFLOW_ETHERTYPE):
		return PRIOFLOW_TOP_LEVEL;
	}
	if (skb_mac_header_was_set(skb) && is_link_local_ether_addr(eth_hdr(skb)->h_dest))
		return PRIOFLOW_TOP_LEVEL;

	if (protocol == htons(ETH_P_IP) || protocol == htons(ETH_P_IPV6)) {
		u8 level = prioflow_ip_level(map, skb, protocol, offset);

		if (level == PRIOFLOW_TOP_LEVEL || map->source <= PRIOFLOW_SOURCE_TOS)
			return level;
	}
	switch (map->source) {
	case PRIOFLOW_SOURCE_PCP:
		return prioflow_tag_level(map, skb);
	case PRIOFLOW_SOURCE_PRIORITY:
		return map->level[min_t(u32, skb->priority, PRIOFLOW_TOP_LEVEL)];
	default:
		return map->level[0];	/* no IP, so no DSCP */
	}
}
