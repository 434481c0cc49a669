// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the administrator's rules, which protect packets of sockets that have not opted in:
 * those of a local port range, or of the programs of a cgroup (version 2).
 *
 *     net.prioflow.protected_ports	"FIRST-LAST:LEVEL ...", the local port, or the remote one
 *					of a connected socket
 *     net.prioflow.protected_cgroups	"PATH:LEVEL ...", seen from the writer's cgroup namespace
 *
 * LEVEL is the highest protected level. Such packets reserve nothing: what they may occupy in a
 * queue is bounded by net.prioflow.send_room.
 */
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "level.h"
#include "prioflow.h"

#define PRIOFLOW_RULES		16
#define PRIOFLOW_RULES_TEXT	2048

struct prioflow_rule {
	struct cgroup *cgroup;		/* or NULL, and: */
	u16 first;
	u16 last;			/* ports */
	u8 level;
};

struct prioflow_rules {
	u32 count;
	struct prioflow_rule rule[PRIOFLOW_RULES];
	char text[];			/* as written */
};

/* Serialises writers. */
static DEFINE_MUTEX(prioflow_rules_mutex);

#ifdef CONFIG_SOCK_CGROUP_DATA
static bool prioflow_rules_find_cgroup(struct prioflow_rule *rule, const char *path)
{
	rule->cgroup = cgroup_get_from_path(path);
	if (!IS_ERR(rule->cgroup))
		return true;
	rule->cgroup = NULL;
	return false;
}

static void prioflow_rules_put_cgroup(struct prioflow_rule *rule)
{
	if (rule->cgroup)
		cgroup_put(rule->cgroup);
}

static bool prioflow_rules_in_cgroup(const struct prioflow_rule *rule, struct sock *sk)
{
	return cgroup_is_descendant(sock_cgroup_ptr(&sk->sk_cgrp_data), rule->cgroup);
}
#else
static bool prioflow_rules_find_cgroup(struct prioflow_rule *rule, const char *path)
{
	return false;
}

static void prioflow_rules_put_cgroup(struct prioflow_rule *rule)
{
}

static bool prioflow_rules_in_cgroup(const struct prioflow_rule *rule, struct sock *sk)
{
	return false;
}
#endif

static void prioflow_rules_free(struct prioflow_rules *rules)
{
	u32 i;

	for (i = 0; rules && i < rules->count; i++)
		prioflow_rules_put_cgroup(&rules->rule[i]);
	kfree(rules);
}

static bool prioflow_rules_parse_ports(struct prioflow_rule *rule, char *text)
{
	char *first = strsep(&text, "-");

	if (kstrtou16(first, 10, &rule->first))
		return false;
	rule->last = rule->first;
	return (!text || !kstrtou16(text, 10, &rule->last)) && rule->first <= rule->last &&
	       rule->first;
}

static bool prioflow_rules_parse_rule(struct prioflow_rule *rule, u32 kind, char *text)
{
	char *level = strrchr(text, ':');

	if (!level)
		return false;
	*level++ = 0;
	if (kstrtou8(level, 10, &rule->level) || rule->level > PRIOFLOW_TOP_LEVEL)
		return false;
	return kind == PRIOFLOW_RULES_PORTS ? prioflow_rules_parse_ports(rule, text) :
					      prioflow_rules_find_cgroup(rule, text);
}

static struct prioflow_rules *prioflow_rules_parse(u32 kind, char *text)
{
	size_t size = strlen(text) + 1;
	struct prioflow_rules *rules;
	char *word;

	rules = kzalloc(struct_size(rules, text, size), GFP_KERNEL);
	if (!rules)
		return ERR_PTR(-ENOMEM);
	memcpy(rules->text, text, size);
	while ((word = strsep(&text, " \t\n,"))) {
		if (!*word)
			continue;
		if (rules->count == PRIOFLOW_RULES ||
		    !prioflow_rules_parse_rule(&rules->rule[rules->count], kind, word)) {
			prioflow_rules_free(rules);
			return ERR_PTR(-EINVAL);
		}
		rules->count++;
	}
	return rules;
}

/* Tells the ports whether there are rules. */
static void prioflow_rules_apply(struct prioflow_net *net)
{
	struct prioflow_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &net->ports, list)
		prioflow_port_set_protects(port, PRIOFLOW_PROTECTS_BY_RULES,
					   prioflow_rules_exist(net));
}

/* Whether there are rules. RTNL: their number changes under it. */
bool prioflow_rules_exist(const struct prioflow_net *net)
{
	u32 kind;

	ASSERT_RTNL();
	for (kind = 0; kind < PRIOFLOW_RULES_KINDS; kind++)
		if (rcu_access_pointer(net->rules[kind]))
			return true;
	return false;
}

static int prioflow_rules_set(struct prioflow_net *net, u32 kind, char *text)
{
	struct prioflow_rules *rules = prioflow_rules_parse(kind, text), *before;

	if (IS_ERR(rules))
		return PTR_ERR(rules);
	if (!rules->count) {
		prioflow_rules_free(rules);
		rules = NULL;
	} else {
		prioflow_net_expect_senders(net);
	}
	rtnl_lock();
	before = rcu_replace_pointer(net->rules[kind], rules, lockdep_rtnl_is_held());
	prioflow_rules_apply(net);
	rtnl_unlock();
	synchronize_rcu();
	prioflow_rules_free(before);
	return 0;
}

int prioflow_rules_sysctl(COMPAT_CTL_TABLE *table, int write, void *buffer, size_t *length,
			  loff_t *offset)
{
	struct ctl_table string = { .maxlen = PRIOFLOW_RULES_TEXT };
	struct prioflow_net *net = table->extra1;
	u32 kind = (unsigned long)table->extra2;
	const struct prioflow_rules *rules;
	int err;

	string.data = kzalloc(PRIOFLOW_RULES_TEXT, GFP_KERNEL);
	if (!string.data)
		return -ENOMEM;
	mutex_lock(&prioflow_rules_mutex);
	rules = rcu_dereference_protected(net->rules[kind],
					  lockdep_is_held(&prioflow_rules_mutex));
	if (rules && !write)
		strscpy(string.data, rules->text, PRIOFLOW_RULES_TEXT);
	err = proc_dostring(&string, write, buffer, length, offset);
	if (!err && write)
		err = prioflow_rules_set(net, kind, string.data);
	mutex_unlock(&prioflow_rules_mutex);
	kfree(string.data);
	return err;
}

void prioflow_rules_end(struct prioflow_net *net)
{
	u32 kind;

	for (kind = 0; kind < PRIOFLOW_RULES_KINDS; kind++)
		prioflow_rules_free(rcu_dereference_protected(net->rules[kind], true));
}

static bool prioflow_rules_fit(const struct prioflow_rule *rule, struct sock *sk, u8 level)
{
	u16 remote;

	if (level > rule->level)
		return false;
	if (rule->cgroup)
		return prioflow_rules_in_cgroup(rule, sk);
	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return false;
	/* A raw socket has its protocol in place of a port. */
	if (sk->sk_protocol != IPPROTO_UDP && sk->sk_protocol != IPPROTO_TCP)
		return false;
	remote = ntohs(inet_sk(sk)->inet_dport);
	return (inet_sk(sk)->inet_num >= rule->first && inet_sk(sk)->inet_num <= rule->last) ||
	       (remote >= rule->first && remote <= rule->last);
}

/* Whether a rule protects a packet that is charged to a socket of this namespace. */
bool prioflow_rules_match(struct prioflow_net *net, const struct sk_buff *skb, u8 level)
{
	const struct prioflow_rules *rules;
	struct sock *sk = skb->sk;
	bool found = false;
	u32 kind, i;

	if (!sk || !sk_fullsock(sk) || skb->skb_iif || !net_eq(sock_net(sk), net->net))
		return false;
	rcu_read_lock();
	for (kind = 0; kind < PRIOFLOW_RULES_KINDS; kind++) {
		rules = rcu_dereference(net->rules[kind]);
		for (i = 0; rules && !found && i < rules->count; i++)
			found = prioflow_rules_fit(&rules->rule[i], sk, level);
	}
	rcu_read_unlock();
	return found;
}

/* The same, if there is room for the packet in this queue. Counts both. */
bool prioflow_rules_protect(struct prioflow_sched *q, const struct sk_buff *skb, u8 level)
{
	struct prioflow_net *net = q->port->net;

	if (!prioflow_rules_match(net, skb, level))
		return false;
	if (q->ruled_bytes + skb->truesize > READ_ONCE(net->send_room)) {
		q->ruled_over_room++;
		return false;
	}
	q->ruled++;
	return true;
}
