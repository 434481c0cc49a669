// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: plug-in for tc: parses the qdisc's options and prints its counters.
 *
 * tc loads q_prioflow.so from $TC_LIB_DIR or /usr/lib/<arch>/tc and looks for
 * prioflow_qdisc_util.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../uapi/prioflow.h"
#include "iproute2.h"

#define ROOM	4096

static const char * const sources[] = { "dscp", "tos", "pcp", "priority" };
static const char * const links[] = { "off", "mac-control", "experimental", "pfc", "pause" };
static const char * const scopes[] = { "level", "below" };
static const char * const switches[] = { "off", "on" };
static const char * const peers[] = {
	"unknown", "obeys", "obeys less", "ignores", "receives nothing", "silent", "defies",
};
static const int entries[] = { 64, 16, 8, 16 };

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... prioflow [ limit PACKETS ] [ bytes BYTES ]\n"
		"                    [ by dscp|tos|pcp|priority ] [ table LEVEL,LEVEL,... ]\n"
		"                    [ send-level LEVEL [ for MILLISECONDS ] ]\n"
		"                    [ link off|mac-control|experimental|pfc|pause ]\n"
		"                    [ receive-level LEVEL ]\n"
		"                    [ storm MILLISECONDS ] [ reaction MICROSECONDS ] [ ring FRAMES ]\n"
		"                    [ room FRAMES ] [ scope level|below ] [ obey LEVEL ]\n"
		"                    [ propagate on|off ]\n");
}

static int parse_number(const char *text, const char *what, unsigned long max, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = text ? strtoul(text, &end, 0) : 0;
	if (text && *text && !*end && !errno && *value <= max)
		return 0;
	fprintf(stderr, "prioflow: %s takes a number up to %lu\n", what, max);
	return -1;
}

static int parse_word(const char *text, const char * const *words, int last, unsigned char *value)
{
	int i;

	for (i = 0; text && i <= last; i++) {
		if (!strcmp(text, words[i])) {
			*value = i;
			return 0;
		}
	}
	explain();
	return -1;
}

static int parse_table(char *text, unsigned char *table, int *count)
{
	char *entry, *rest = text;
	unsigned long level;

	*count = 0;
	while (rest && (entry = strsep(&rest, ","))) {
		if (*count == PRIOFLOW_TABLE_SIZE ||
		    parse_number(entry, "table", PRIOFLOW_TOP_LEVEL - 1, &level))
			return -1;
		table[(*count)++] = level;
	}
	return *count ? 0 : -1;
}

static int prioflow_parse(struct qdisc_util *util, int argc, char **argv,
			  struct nlmsghdr *message, const char *dev)
{
	struct rtattr *options = addattr_nest(message, ROOM,
						TCA_OPTIONS | NLA_F_NESTED);

	for (; argc > 0; argc -= 2, argv += 2) {
		unsigned char table[PRIOFLOW_TABLE_SIZE], byte;
		char *value = argc > 1 ? argv[1] : NULL;
		unsigned int word;
		unsigned long n;
		int count;

		if (!strcmp(argv[0], "limit") || !strcmp(argv[0], "bytes")) {
			if (parse_number(value, argv[0], 0xffffffff, &n))
				return -1;
			word = n;
			addattr_l(message, ROOM, *argv[0] == 'l' ? TCA_PRIOFLOW_LIMIT :
				  TCA_PRIOFLOW_BYTES, &word, sizeof(word));
		} else if (!strcmp(argv[0], "by")) {
			if (parse_word(value, sources, PRIOFLOW_SOURCE_MAX, &byte))
				return -1;
			addattr_l(message, ROOM, TCA_PRIOFLOW_SOURCE, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "link")) {
			if (parse_word(value, links, PRIOFLOW_LINK_MAX, &byte))
				return -1;
			addattr_l(message, ROOM, TCA_PRIOFLOW_LINK, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "scope")) {
			if (parse_word(value, scopes, PRIOFLOW_SCOPE_MAX, &byte))
				return -1;
			addattr_l(message, ROOM, TCA_PRIOFLOW_SCOPE, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "propagate")) {
			if (parse_word(value, switches, 1, &byte))
				return -1;
			addattr_l(message, ROOM, TCA_PRIOFLOW_PROPAGATE, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "obey")) {
			if (parse_number(value, "obey", PRIOFLOW_TOP_LEVEL, &n))
				return -1;
			byte = n;
			addattr_l(message, ROOM, TCA_PRIOFLOW_OBEY, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "table")) {
			if (parse_table(value, table, &count))
				return -1;
			addattr_l(message, ROOM, TCA_PRIOFLOW_TABLE, table, count);
		} else if (!strcmp(argv[0], "send-level") || !strcmp(argv[0], "receive-level")) {
			if (parse_number(value, argv[0], PRIOFLOW_TOP_LEVEL, &n))
				return -1;
			byte = n;
			addattr_l(message, ROOM, *argv[0] == 's' ? TCA_PRIOFLOW_SEND_LEVEL :
				  TCA_PRIOFLOW_RECEIVE_LEVEL, &byte, sizeof(byte));
		} else if (!strcmp(argv[0], "storm") || !strcmp(argv[0], "reaction") ||
			   !strcmp(argv[0], "ring") || !strcmp(argv[0], "room")) {
			if (parse_number(value, argv[0], 0xffffffff, &n))
				return -1;
			word = n;
			addattr_l(message, ROOM, *argv[0] == 's' ? TCA_PRIOFLOW_STORM :
				  argv[0][1] == 'e' ? TCA_PRIOFLOW_REACTION :
				  argv[0][1] == 'i' ? TCA_PRIOFLOW_RING : TCA_PRIOFLOW_ROOM,
				  &word, sizeof(word));
		} else if (!strcmp(argv[0], "for")) {
			unsigned long long ns;

			if (parse_number(value, "for", 0xffffffff, &n))
				return -1;
			ns = n * 1000000ULL;
			addattr_l(message, ROOM, TCA_PRIOFLOW_LIFETIME, &ns, sizeof(ns));
		} else {
			explain();
			return -1;
		}
	}
	addattr_nest_end(message, options);
	return 0;
}

static unsigned char byte_of(const struct rtattr *attribute)
{
	return *(unsigned char *)RTA_DATA(attribute);
}

/* The highest level of a mask, plus one. */
static int level_of(unsigned int mask)
{
	int level = 0;

	for (; mask; mask >>= 1)
		level++;
	return level;
}

/* Prints the levels of a mask, if it has gaps. */
static void print_levels(FILE *file, const char *what, unsigned int mask)
{
	const char *gap = " ";
	int i;

	if (!(mask & (mask + 1)))
		return;
	fprintf(file, " %s levels", what);
	for (i = 0; i < PRIOFLOW_LEVELS; i++) {
		if (mask & 1 << i) {
			fprintf(file, "%s%d", gap, i);
			gap = ",";
		}
	}
	fprintf(file, "\n");
}

static int prioflow_print(struct qdisc_util *util, FILE *file, struct rtattr *options)
{
	struct rtattr *tb[TCA_PRIOFLOW_MAX + 1];
	unsigned char source, *table;
	unsigned long long ns;
	int i;

	if (!options)
		return 0;
	parse_rtattr_flags(tb, TCA_PRIOFLOW_MAX, RTA_DATA(options), RTA_PAYLOAD(options),
			   NLA_F_NESTED);
	if (tb[TCA_PRIOFLOW_LIMIT])
		fprintf(file, "limit %up ", *(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_LIMIT]));
	if (tb[TCA_PRIOFLOW_BYTES] &&
	    *(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_BYTES]) != 0xffffffff)
		fprintf(file, "bytes %u ", *(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_BYTES]));
	if (tb[TCA_PRIOFLOW_SOURCE] && tb[TCA_PRIOFLOW_TABLE]) {
		source = *(unsigned char *)RTA_DATA(tb[TCA_PRIOFLOW_SOURCE]);
		table = RTA_DATA(tb[TCA_PRIOFLOW_TABLE]);
		if (source > PRIOFLOW_SOURCE_MAX ||
		    RTA_PAYLOAD(tb[TCA_PRIOFLOW_TABLE]) < entries[source])
			return -1;
		fprintf(file, "by %s table ", sources[source]);
		for (i = 0; i < entries[source]; i++)
			fprintf(file, "%s%u", i ? "," : "", table[i]);
	}
	if (tb[TCA_PRIOFLOW_SEND_LEVEL])
		fprintf(file, " send-level %u",
			*(unsigned char *)RTA_DATA(tb[TCA_PRIOFLOW_SEND_LEVEL]));
	if (tb[TCA_PRIOFLOW_LIFETIME]) {
		memcpy(&ns, RTA_DATA(tb[TCA_PRIOFLOW_LIFETIME]), sizeof(ns));
		if (ns)
			fprintf(file, " for %llu ms", ns / 1000000);
	}
	if (tb[TCA_PRIOFLOW_LINK] && tb[TCA_PRIOFLOW_RECEIVE_LEVEL] && tb[TCA_PRIOFLOW_STORM]) {
		unsigned char mode = *(unsigned char *)RTA_DATA(tb[TCA_PRIOFLOW_LINK]);

		fprintf(file, " link %s receive-level %u storm %u",
			mode <= PRIOFLOW_LINK_MAX ? links[mode] : "?",
			*(unsigned char *)RTA_DATA(tb[TCA_PRIOFLOW_RECEIVE_LEVEL]),
			*(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_STORM]));
	}
	if (tb[TCA_PRIOFLOW_REACTION] && tb[TCA_PRIOFLOW_RING])
		fprintf(file, " reaction %u ring %u",
			*(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_REACTION]),
			*(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_RING]));
	if (tb[TCA_PRIOFLOW_ROOM] && *(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_ROOM]))
		fprintf(file, " room %u", *(unsigned int *)RTA_DATA(tb[TCA_PRIOFLOW_ROOM]));
	/* What is not the default. */
	if (tb[TCA_PRIOFLOW_SCOPE] && byte_of(tb[TCA_PRIOFLOW_SCOPE]) == PRIOFLOW_SCOPE_BELOW)
		fprintf(file, " scope below");
	if (tb[TCA_PRIOFLOW_OBEY] && byte_of(tb[TCA_PRIOFLOW_OBEY]) != PRIOFLOW_TOP_LEVEL)
		fprintf(file, " obey %u", byte_of(tb[TCA_PRIOFLOW_OBEY]));
	if (tb[TCA_PRIOFLOW_PROPAGATE] && !byte_of(tb[TCA_PRIOFLOW_PROPAGATE]))
		fprintf(file, " propagate off");
	return 0;
}

static int prioflow_print_stats(struct qdisc_util *util, FILE *file, struct rtattr *xstats)
{
	static const unsigned char no_peer[6];
	struct tc_prioflow_xstats stats;
	int i;

	if (!xstats)
		return 0;
	if (RTA_PAYLOAD(xstats) < sizeof(stats))
		return -1;
	memcpy(&stats, RTA_DATA(xstats), sizeof(stats));
	fprintf(file, " transmit level %u, receive level %u\n", level_of(stats.paused),
		level_of(stats.request));
	print_levels(file, "paused", stats.paused);
	print_levels(file, "requested", stats.request);
	if (stats.paused || stats.request)
		fprintf(file, " transmit level by hand %u by peer %u, receive level by hand %u by sockets %u by forwarded %u\n",
			stats.by.send_hand, stats.by.send_peer, stats.by.receive_hand,
			stats.by.receive_sockets, stats.by.receive_forwarded);
	if (memcmp(stats.link.peer, no_peer, sizeof(no_peer)))
		fprintf(file, " peer %02x:%02x:%02x:%02x:%02x:%02x version %u %s\n",
			stats.link.peer[0], stats.link.peer[1], stats.link.peer[2],
			stats.link.peer[3], stats.link.peer[4], stats.link.peer[5],
			stats.link.peer_version, stats.link.peer_state <= PRIOFLOW_PEER_DEFIES ?
			peers[stats.link.peer_state] : "?");
	if (stats.link.peer_reaction_us)
		fprintf(file, " peer covers: ring %u reaction %uus\n", stats.link.peer_ring,
			stats.link.peer_reaction_us);
	fprintf(file, " level frames: sent %llu received %llu malformed %llu stale %llu limited %llu ignored %llu storms %u foreign %llu no-memory %llu\n",
		stats.link.frames_sent, stats.link.frames_received, stats.link.malformed,
		stats.link.stale, stats.link.limited, stats.link.ignored, stats.link.storms,
		stats.link.foreign, stats.link.no_memory);
	if (stats.forward.room)
		fprintf(file, " forwarded: room %u headroom %u pause-requests %llu over-limit %llu most %u\n",
			stats.forward.room, stats.forward.headroom, stats.forward.pause_requests,
			stats.forward.over_limit, stats.forward.most);
	if (stats.ruled || stats.ruled_over_room)
		fprintf(file, " by rule: protected %llu over-room %llu\n", stats.ruled,
			stats.ruled_over_room);
	if (stats.kept || stats.lost)
		fprintf(file, " protected packets: kept %llu lost %llu\n", stats.kept,
			stats.lost);
	fprintf(file, " level     queued       sent    dropped  longest wait      paused\n");
	for (i = PRIOFLOW_TOP_LEVEL; i >= 0; i--) {
		const struct tc_prioflow_level *level = &stats.level[i];

		if (!level->sent && !level->queued && !level->dropped && !level->pauses)
			continue;
		fprintf(file, " %5d %10u %10llu %10llu %10llu us %6ux %llu ms\n", i, level->queued,
			level->sent, level->dropped, level->longest_wait_ns / 1000, level->pauses,
			level->paused_ns / 1000000);
	}
	return 0;
}

struct qdisc_util prioflow_qdisc_util = {
	.id		= "prioflow",
	.parse_qopt	= prioflow_parse,
	.print_qopt	= prioflow_print,
	.print_xstats	= prioflow_print_stats,
};
