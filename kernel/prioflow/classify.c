// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the level of a frame.
 *
 * Network control of this host is at the top level, which is never paused: frames to
 * link-local group addresses (PTP, spanning tree, LLDP), ARP, IPv6 neighbour discovery,
 * multicast group membership, PTP over UDP. No unprivileged program can send these: they
 * are made by the kernel, by packet or raw sockets, or from a privileged port. What a bridge
 * forwards, or comes from another namespace, is at most one level lower, where it can be
 * paused. A table of the administrator's gives the level of all other frames.
 */
#include <linux/etherdevice.h>
#include <linux/icmpv6.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/bonding.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/ndisc.h>
#include <net/rtnetlink.h>

#include "classify.h"
#include "prioflow.h"

/* Highest level of a table, and of network control that comes from elsewhere. */
#define PRIOFLOW_TABLE_TOP	(PRIOFLOW_TOP_LEVEL - 1)

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

/* Updates the lookup by traffic class after a change of the table. */
void prioflow_map_update(struct prioflow_map *map)
{
	u32 class;

	map->reads_class = map->source == PRIOFLOW_SOURCE_DSCP ||
			   map->source == PRIOFLOW_SOURCE_TOS;
	for (class = 0; map->reads_class && class < ARRAY_SIZE(map->by_class); class++)
		map->by_class[class] = map->source == PRIOFLOW_SOURCE_DSCP ?
				       map->level[class >> 2] : map->level[(class >> 1) & 15];
}

/* Sets the source and its default table. */
void prioflow_map_init(struct prioflow_map *map, u8 source)
{
	u32 i;

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
		map->level[i] = min(map->level[i], PRIOFLOW_TABLE_TOP);
	}
	prioflow_map_update(map);
}

/* From a privileged port: anybody can send to one. */
static bool prioflow_is_ptp(struct sk_buff *skb, int offset)
{
	struct udphdr *udp, buffer;

	udp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	return udp && prioflow_is_ptp_port(udp->dest) && prioflow_is_ptp_port(udp->source);
}

/* IEEE 1588 Annex C: 224.0.1.129 to 132, and 224.0.0.107 for peer delay. */
static bool prioflow_is_ptp_group_ipv4(__be32 group)
{
	u32 address = ntohl(group);

	return (address >= 0xe0000181 && address <= 0xe0000184) || address == 0xe000006b;
}

/* Annex D: ff0X::181 to 184, and ff02::6b for peer delay. */
static bool prioflow_is_ptp_group_ipv6(const struct in6_addr *group)
{
	u32 last = ntohl(group->s6_addr32[3]);

	return group->s6_addr[0] == 0xff && !(group->s6_addr[1] & 0xf0) &&
	       !group->s6_addr16[1] && !group->s6_addr32[1] && !group->s6_addr32[2] &&
	       ((last >= 0x181 && last <= 0x184) || last == 0x6b);
}

/* Neighbour discovery and multicast listener reports. */
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

/* The protocol behind all VLAN tags, and the offset of its header. */
static noinline __be16 prioflow_protocol_within(struct sk_buff *skb, int *offset)
{
	__be16 protocol = skb->protocol;
	struct vlan_hdr *tag, buffer;
	u32 depth;

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

/* Whether an IP packet is network control; also its traffic class. */
static bool prioflow_is_control_ipv4(struct sk_buff *skb, int offset, u8 *class)
{
	struct iphdr *ip, buffer;

	ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (unlikely(!ip || ip->ihl < 5))
		return false;
	*class = ip->tos;
	if (ip->frag_off & htons(IP_OFFSET))
		return false;
	return ip->protocol == IPPROTO_IGMP ||
	       (ip->protocol == IPPROTO_UDP && prioflow_is_ptp_group_ipv4(ip->daddr) &&
		prioflow_is_ptp(skb, offset + ip->ihl * 4));
}

static noinline bool prioflow_is_control_ipv6(struct sk_buff *skb, int offset, u8 *class)
{
	struct ipv6hdr *ip, buffer;
	__be16 fragment;
	u8 inner;
	int next;

	ip = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (!ip)
		return false;
	*class = ipv6_get_dsfield(ip);
	inner = ip->nexthdr;
	next = ipv6_skip_exthdr(skb, offset + sizeof(*ip), &inner, &fragment);
	if (next <= 0)
		return false;
	return (inner == IPPROTO_ICMPV6 && prioflow_is_discovery(skb, next)) ||
	       (inner == IPPROTO_UDP && prioflow_is_ptp_group_ipv6(&ip->daddr) &&
		prioflow_is_ptp(skb, next));
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

/* The level of a frame by the table; @class: its IP traffic class, or 0. */
static u8 prioflow_table_level(const struct prioflow_map *map, const struct sk_buff *skb, u8 class)
{
	switch (map->source) {
	case PRIOFLOW_SOURCE_PCP:
		return prioflow_tag_level(map, skb);
	case PRIOFLOW_SOURCE_PRIORITY:
		return map->level[min_t(u32, skb->priority, PRIOFLOW_TOP_LEVEL)];
	default:
		return map->by_class[class];
	}
}

/* Whether a frame is network control; also its IP traffic class, or 0. */
static bool prioflow_is_control(struct sk_buff *skb, u8 *class)
{
	int offset = skb_network_offset(skb);
	__be16 protocol = skb->protocol;

	if (eth_type_vlan(protocol))
		protocol = prioflow_protocol_within(skb, &offset);
	/* Class 0 stays if it is not IP, or the header is broken. */
	switch (protocol) {
	case htons(ETH_P_IP):
		if (prioflow_is_control_ipv4(skb, offset, class))
			return true;
		break;
	case htons(ETH_P_IPV6):
		if (prioflow_is_control_ipv6(skb, offset, class))
			return true;
		break;
	case htons(ETH_P_ARP):
	case htons(ETH_P_1588):
		return true;
	}
	return skb_mac_header_was_set(skb) && is_link_local_ether_addr(eth_hdr(skb)->h_dest);
}

/* Whether the frame has this Ethernet type, untagged. */
static bool prioflow_has_type(const struct sk_buff *skb, u16 type)
{
	return skb_mac_header_was_set(skb) && eth_hdr(skb)->h_proto == htons(type);
}

/*
 * Whether it is a frame of flow control: links obey those to its address, and MACs (802.3,
 * annex 31B) also those to their own.
 */
static bool prioflow_is_flow_control(const struct sk_buff *skb)
{
	/* A packet socket's protocol need not be that of its frame. */
	return skb->protocol == htons(ETH_P_PAUSE) || prioflow_has_type(skb, ETH_P_PAUSE) ||
	       (prioflow_has_type(skb, PRIOFLOW_ETHERTYPE) &&
		ether_addr_equal(eth_hdr(skb)->h_dest, prioflow_address));
}

/* Whether a device above, of this namespace, has the source address; a guest's does not count. */
static int prioflow_is_of_upper(struct net_device *upper, struct netdev_nested_priv *priv)
{
	const struct sk_buff *skb = priv->data;

	return net_eq(dev_net(upper), dev_net(skb->dev)) &&
	       !(upper->rtnl_link_ops && !strcmp(upper->rtnl_link_ops->kind, "macvtap")) &&
	       ether_addr_equal(eth_hdr(skb)->h_source, upper->dev_addr);
}

/* A bond's slaves send LACP from the address that they had before. RCU. */
static bool prioflow_is_of_slave(const struct net_device *dev, const struct sk_buff *skb)
{
	const struct slave *slave;

	if (!netif_is_bond_slave(dev))
		return false;
	slave = bond_slave_get_rcu(dev);
	return slave && ether_addr_equal(eth_hdr(skb)->h_source, slave->perm_hwaddr);
}

/* Whether it has the address of the device, or of one above. */
static bool prioflow_has_own_address(struct net_device *dev, struct sk_buff *skb)
{
	struct netdev_nested_priv priv = { .data = skb };
	bool own;

	if (dev->type != ARPHRD_ETHER || !skb_mac_header_was_set(skb) ||
	    ether_addr_equal(eth_hdr(skb)->h_source, dev->dev_addr))
		return true;
	rcu_read_lock();
	own = prioflow_is_of_slave(dev, skb) ||
	      netdev_walk_all_upper_dev_rcu(dev, prioflow_is_of_upper, &priv);
	rcu_read_unlock();
	return own;
}

/*
 * Whether this host has made it: no bridge forwards it, nor is it of another namespace, or of a
 * guest behind a macvtap device. Of what has no socket only the address tells.
 */
static bool prioflow_is_local(const struct prioflow_sched *q, struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;

	if (skb->skb_iif)
		return false;
	if (sk)
		return sk->sk_family != AF_UNSPEC && net_eq(sock_net(sk), q->port->net->net);
	return prioflow_has_own_address(q->port->dev, skb);
}

/* The level of any frame, or PRIOFLOW_FOREIGN. */
u8 prioflow_classify(const struct prioflow_sched *q, struct sk_buff *skb)
{
	struct prioflow_link *link = &q->port->link;
	u8 class = 0;

	if (unlikely(prioflow_is_flow_control(skb))) {
		if (skb == READ_ONCE(link->own)) {
			WRITE_ONCE(link->own, NULL);
			return PRIOFLOW_TOP_LEVEL;
		}
		/* Without a link only this host's programs may have a reason. */
		if (READ_ONCE(link->mode) || !prioflow_is_local(q, skb))
			return PRIOFLOW_FOREIGN;
	}
	if (prioflow_is_control(skb, &class))
		return prioflow_is_local(q, skb) ? PRIOFLOW_TOP_LEVEL : PRIOFLOW_TABLE_TOP;
	return prioflow_table_level(&q->map, skb, class);
}

/*
 * The level that the peer has sent a frame at, if its table is the same; PRIOFLOW_NO_LEVEL for
 * network control, and if the table goes by what is not in the frame.
 */
int prioflow_classify_received(const struct prioflow_map *map, struct sk_buff *skb)
{
	u8 class = 0;

	if (map->source == PRIOFLOW_SOURCE_PRIORITY || prioflow_is_control(skb, &class))
		return PRIOFLOW_NO_LEVEL;
	return prioflow_table_level(map, skb, class);
}
