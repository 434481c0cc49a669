// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the qdisc's netlink options.
 */
#include <linux/if_ether.h>
#include <net/netlink.h>

#include "prioflow.h"

static const struct nla_policy prioflow_policy[TCA_PRIOFLOW_MAX + 1] = {
	[TCA_PRIOFLOW_LIMIT]		= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_PRIOFLOW_BYTES]		= NLA_POLICY_MIN(NLA_U32, ETH_FRAME_LEN),
	[TCA_PRIOFLOW_SOURCE]		= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_SOURCE_MAX),
	[TCA_PRIOFLOW_TABLE]		= { .type = NLA_BINARY, .len = PRIOFLOW_TABLE_SIZE },
	[TCA_PRIOFLOW_SEND_LEVEL]	= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_TOP_LEVEL),
	[TCA_PRIOFLOW_LIFETIME]		= { .type = NLA_U64 },
	[TCA_PRIOFLOW_LINK]		= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_LINK_MAX),
	[TCA_PRIOFLOW_RECEIVE_LEVEL]	= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_TOP_LEVEL),
	[TCA_PRIOFLOW_STORM]		= { .type = NLA_U32 },
	[TCA_PRIOFLOW_REACTION]		= NLA_POLICY_RANGE(NLA_U32, 1, PRIOFLOW_REACTION_MAX_US),
	[TCA_PRIOFLOW_RING]		= NLA_POLICY_MAX(NLA_U32, PRIOFLOW_RING_MAX),
	[TCA_PRIOFLOW_ROOM]		= NLA_POLICY_MAX(NLA_U32, PRIOFLOW_ROOM_MAX),
	[TCA_PRIOFLOW_SCOPE]		= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_SCOPE_MAX),
	[TCA_PRIOFLOW_OBEY]		= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_TOP_LEVEL),
	[TCA_PRIOFLOW_PROPAGATE]	= NLA_POLICY_MAX(NLA_U8, 1),
};

/* Parses the map; absent options leave it as it is. */
static int prioflow_parse_map(struct prioflow_map *map, struct nlattr *tb[],
			      struct netlink_ext_ack *extack)
{
	struct nlattr *table = tb[TCA_PRIOFLOW_TABLE];
	u32 i;

	if (tb[TCA_PRIOFLOW_SOURCE])
		prioflow_map_init(map, nla_get_u8(tb[TCA_PRIOFLOW_SOURCE]));
	if (!table)
		return 0;
	if (nla_len(table) != prioflow_map_entries(map->source)) {
		NL_SET_ERR_MSG_MOD(extack, "the table has not as many entries as its source has values");
		return -EINVAL;
	}
	for (i = 0; i < nla_len(table); i++) {
		if (((u8 *)nla_data(table))[i] >= PRIOFLOW_TOP_LEVEL) {
			NL_SET_ERR_MSG_MOD(extack, "levels of a table are 0 to 14");
			return -ERANGE;
		}
	}
	memcpy(map->level, nla_data(table), nla_len(table));
	prioflow_map_update(map);
	return 0;
}

static u32 prioflow_u32_or(const struct nlattr *attribute, u32 fallback)
{
	return attribute ? nla_get_u32(attribute) : fallback;
}

/* Validates the options of the device. */
static int prioflow_check_port(const struct prioflow_port *port, struct nlattr *tb[],
			       struct netlink_ext_ack *extack)
{
	u8 mode = tb[TCA_PRIOFLOW_LINK] ? nla_get_u8(tb[TCA_PRIOFLOW_LINK]) : port->link.mode;

	if (tb[TCA_PRIOFLOW_LIFETIME]) {
		if (!tb[TCA_PRIOFLOW_SEND_LEVEL]) {
			NL_SET_ERR_MSG_MOD(extack, "a lifetime needs a send level");
			return -EINVAL;
		}
		if (nla_get_u64(tb[TCA_PRIOFLOW_LIFETIME]) > S64_MAX / 2) {
			NL_SET_ERR_MSG_MOD(extack, "the lifetime exceeds 146 years");
			return -ERANGE;
		}
	}
	if (tb[TCA_PRIOFLOW_RECEIVE_LEVEL] && nla_get_u8(tb[TCA_PRIOFLOW_RECEIVE_LEVEL]) &&
	    mode == PRIOFLOW_LINK_OFF) {
		NL_SET_ERR_MSG_MOD(extack, "a receive level needs a link, to send it to the peer");
		return -EINVAL;
	}
	/* An absent option keeps its value, which may no longer fit the others. */
	return prioflow_forward_check(port,
		prioflow_u32_or(tb[TCA_PRIOFLOW_ROOM], port->forward.room_config),
		prioflow_u32_or(tb[TCA_PRIOFLOW_REACTION], port->link.reaction_us),
		prioflow_u32_or(tb[TCA_PRIOFLOW_RING], port->link.ring), extack);
}

/* Sets what the peer may pause; ends pauses that it may no longer request. */
static void prioflow_store_obeyed(struct prioflow_port *port, u8 obeys)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_bh(&port->lock);
	if (port->link.obeys != obeys)
		prioflow_link_request(port);	/* the peer learns it at once */
	port->link.obeys = obeys;
	prioflow_port_expire(port, now_ns);
	prioflow_port_hold(port, PRIOFLOW_BY_PEER, ~prioflow_below(obeys), 0);
	prioflow_port_apply(port, now_ns);
	spin_unlock_bh(&port->lock);
}

/* Sets what the headroom covers. */
static void prioflow_store_covered(struct prioflow_port *port, u32 reaction_us, u32 ring)
{
	struct prioflow_link *link = &port->link;

	spin_lock_bh(&port->lock);
	if (link->reaction_us != reaction_us || link->ring != ring)
		prioflow_link_request(port);	/* the peer learns it at once */
	link->reaction_us = reaction_us;
	link->ring = ring;
	spin_unlock_bh(&port->lock);
}

static void prioflow_store_port(struct prioflow_port *port, struct nlattr *tb[])
{
	if (tb[TCA_PRIOFLOW_STORM]) {
		spin_lock_bh(&port->lock);
		prioflow_storm_set_limit(port, nla_get_u32(tb[TCA_PRIOFLOW_STORM]) *
					       (u64)NSEC_PER_MSEC);
		spin_unlock_bh(&port->lock);
	}
	if (tb[TCA_PRIOFLOW_OBEY])
		prioflow_store_obeyed(port, nla_get_u8(tb[TCA_PRIOFLOW_OBEY]));
	if (tb[TCA_PRIOFLOW_SCOPE])
		prioflow_port_set_scope(port, nla_get_u8(tb[TCA_PRIOFLOW_SCOPE]));
	if (tb[TCA_PRIOFLOW_PROPAGATE])
		prioflow_forward_set_propagates(port, nla_get_u8(tb[TCA_PRIOFLOW_PROPAGATE]));
	if (tb[TCA_PRIOFLOW_SEND_LEVEL])
		prioflow_port_set_send_level(port, nla_get_u8(tb[TCA_PRIOFLOW_SEND_LEVEL]),
					tb[TCA_PRIOFLOW_LIFETIME] ?
					nla_get_u64(tb[TCA_PRIOFLOW_LIFETIME]) : 0);
	if (tb[TCA_PRIOFLOW_RECEIVE_LEVEL])
		prioflow_port_set_receive_level(port, nla_get_u8(tb[TCA_PRIOFLOW_RECEIVE_LEVEL]));
	prioflow_store_covered(port, prioflow_u32_or(tb[TCA_PRIOFLOW_REACTION],
						     port->link.reaction_us),
			       prioflow_u32_or(tb[TCA_PRIOFLOW_RING], port->link.ring));
	port->forward.room_config = prioflow_u32_or(tb[TCA_PRIOFLOW_ROOM],
						    port->forward.room_config);
	prioflow_forward_measure(port);
	if (tb[TCA_PRIOFLOW_REACTION] || tb[TCA_PRIOFLOW_RING])
		prioflow_receive_measure(port->net);
}

/* Validates all options, then stores all. */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PRIOFLOW_MAX + 1] = {};
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_map map = q->map;
	int err;

	if (opt) {
		err = nla_parse_nested(tb, TCA_PRIOFLOW_MAX, opt, prioflow_policy, extack);
		if (err < 0)
			return err;
	}
	/* Not all drivers tell of a new link rate. */
	prioflow_link_measure(q->port);
	err = prioflow_check_port(q->port, tb, extack);
	if (err)
		return err;
	err = prioflow_parse_map(&map, tb, extack);
	if (err)
		return err;
	if (tb[TCA_PRIOFLOW_LINK]) {
		err = prioflow_link_set_mode(q->port, nla_get_u8(tb[TCA_PRIOFLOW_LINK]), extack);
		if (err)
			return err;
	}

	sch_tree_lock(sch);
	if (tb[TCA_PRIOFLOW_LIMIT])
		WRITE_ONCE(q->limit, nla_get_u32(tb[TCA_PRIOFLOW_LIMIT]));
	if (tb[TCA_PRIOFLOW_BYTES])
		WRITE_ONCE(q->limit_bytes, nla_get_u32(tb[TCA_PRIOFLOW_BYTES]));
	q->map = map;
	sch_tree_unlock(sch);
	prioflow_store_port(q->port, tb);
	return 0;
}

int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	const struct prioflow_map *map = &q->map;
	struct prioflow_port *port = q->port;
	u64 now_ns, until_ns = 0;
	struct nlattr *nest;
	u16 hand;

	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	spin_lock_bh(&port->lock);
	now_ns = ktime_get_ns();
	prioflow_port_expire(port, now_ns);
	hand = port->hold[PRIOFLOW_BY_HAND].mask;
	if (hand)	/* all have one lifetime */
		until_ns = port->hold[PRIOFLOW_BY_HAND].until_ns[0];
	spin_unlock_bh(&port->lock);
	if (nla_put_u32(skb, TCA_PRIOFLOW_LIMIT, READ_ONCE(q->limit)) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_BYTES, READ_ONCE(q->limit_bytes)) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_SOURCE, map->source) ||
	    nla_put(skb, TCA_PRIOFLOW_TABLE, prioflow_map_entries(map->source), map->level) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_SEND_LEVEL, fls(hand)) ||
	    nla_put_u64_64bit(skb, TCA_PRIOFLOW_LIFETIME,
			      hand && until_ns != PRIOFLOW_FOREVER ? until_ns - now_ns : 0,
			      TCA_PRIOFLOW_PAD) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_LINK, port->link.mode) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_RECEIVE_LEVEL,
		       fls(port->requested[PRIOFLOW_FOR_HAND])) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_STORM,
			div_u64(port->link.storm.limit_ns, NSEC_PER_MSEC)) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_REACTION, port->link.reaction_us) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_RING, port->link.ring) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_ROOM, port->forward.room_config) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_SCOPE, port->scope) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_OBEY, port->link.obeys) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_PROPAGATE, port->propagates)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}
