// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the queueing discipline's options, from netlink and to it.
 */
#include <linux/if_ether.h>
#include <linux/slab.h>
#include <net/netlink.h>

#include "prioflow.h"

static const struct nla_policy prioflow_policy[TCA_PRIOFLOW_MAX + 1] = {
	[TCA_PRIOFLOW_LIMIT]		= NLA_POLICY_MIN(NLA_U32, 1),
	[TCA_PRIOFLOW_BYTES]		= NLA_POLICY_MIN(NLA_U32, ETH_FRAME_LEN),
	[TCA_PRIOFLOW_SOURCE]		= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_SOURCE_MAX),
	[TCA_PRIOFLOW_TABLE]		= { .type = NLA_BINARY, .len = PRIOFLOW_TABLE_SIZE },
	[TCA_PRIOFLOW_SEND_LEVEL]	= NLA_POLICY_MAX(NLA_U8, PRIOFLOW_TOP_LEVEL),
	[TCA_PRIOFLOW_LIFETIME]		= { .type = NLA_U64 },
};

/* A map as the options describe it; NULL if they say nothing about it. */
static struct prioflow_map *prioflow_parse_map(const struct prioflow_map *old,
					       struct nlattr *tb[],
					       struct netlink_ext_ack *extack)
{
	struct nlattr *table = tb[TCA_PRIOFLOW_TABLE];
	u8 source = old ? old->source : PRIOFLOW_SOURCE_DSCP;
	struct prioflow_map *map;
	u32 i;

	if (old && !tb[TCA_PRIOFLOW_SOURCE] && !table)
		return NULL;
	if (tb[TCA_PRIOFLOW_SOURCE])
		source = nla_get_u8(tb[TCA_PRIOFLOW_SOURCE]);
	if (table && nla_len(table) != prioflow_map_entries(source)) {
		NL_SET_ERR_MSG(extack, "prioflow: the table has not as many entries as its source has values");
		return ERR_PTR(-EINVAL);
	}
	for (i = 0; table && i < nla_len(table); i++) {
		if (((u8 *)nla_data(table))[i] > PRIOFLOW_TOP_LEVEL) {
			NL_SET_ERR_MSG(extack, "prioflow: levels are 0 to 15");
			return ERR_PTR(-ERANGE);
		}
	}
	map = prioflow_map_new(source);
	if (!map)
		return ERR_PTR(-ENOMEM);
	if (table)
		memcpy(map->level, nla_data(table), nla_len(table));
	return map;
}

/* Validates all options, then stores all. */
int prioflow_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_PRIOFLOW_MAX + 1] = {};
	struct prioflow_map *old = rtnl_dereference(q->map), *map;
	u64 lifetime_ns = 0;
	int err;

	if (opt) {
		err = nla_parse_nested(tb, TCA_PRIOFLOW_MAX, opt, prioflow_policy, extack);
		if (err < 0)
			return err;
	}
	if (tb[TCA_PRIOFLOW_LIFETIME]) {
		if (!tb[TCA_PRIOFLOW_SEND_LEVEL]) {
			NL_SET_ERR_MSG(extack, "prioflow: a lifetime needs a send level to end");
			return -EINVAL;
		}
		lifetime_ns = nla_get_u64(tb[TCA_PRIOFLOW_LIFETIME]);
		if (lifetime_ns > S64_MAX / 2) {
			NL_SET_ERR_MSG(extack, "prioflow: the lifetime is beyond 146 years");
			return -ERANGE;
		}
	}
	map = prioflow_parse_map(old, tb, extack);
	if (IS_ERR(map))
		return PTR_ERR(map);

	sch_tree_lock(sch);
	if (tb[TCA_PRIOFLOW_LIMIT])
		WRITE_ONCE(q->limit, nla_get_u32(tb[TCA_PRIOFLOW_LIMIT]));
	if (tb[TCA_PRIOFLOW_BYTES])
		WRITE_ONCE(q->limit_bytes, nla_get_u32(tb[TCA_PRIOFLOW_BYTES]));
	if (map)
		rcu_assign_pointer(q->map, map);
	sch_tree_unlock(sch);
	if (map && old)
		kfree_rcu(old, rcu);
	if (tb[TCA_PRIOFLOW_SEND_LEVEL])
		prioflow_port_set_level(q->port, nla_get_u8(tb[TCA_PRIOFLOW_SEND_LEVEL]),
					lifetime_ns);
	return 0;
}

int prioflow_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct prioflow_sched *q = qdisc_priv(sch);
	struct prioflow_map *map = rtnl_dereference(q->map);
	u64 until_ns = 0, now_ns;
	struct nlattr *nest;
	u8 level;

	nest = nla_nest_start(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	level = prioflow_port_gate(q->port, &until_ns);
	now_ns = ktime_get_ns();
	if (nla_put_u32(skb, TCA_PRIOFLOW_LIMIT, READ_ONCE(q->limit)) ||
	    nla_put_u32(skb, TCA_PRIOFLOW_BYTES, READ_ONCE(q->limit_bytes)) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_SOURCE, map->source) ||
	    nla_put(skb, TCA_PRIOFLOW_TABLE, prioflow_map_entries(map->source), map->level) ||
	    nla_put_u8(skb, TCA_PRIOFLOW_SEND_LEVEL, level) ||
	    nla_put_u64_64bit(skb, TCA_PRIOFLOW_LIFETIME, until_ns > now_ns ? until_ns - now_ns : 0,
			      TCA_PRIOFLOW_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}
