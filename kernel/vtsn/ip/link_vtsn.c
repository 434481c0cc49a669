// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: plug-in for ip: parses `ip link add type vtsn peer name NAME`, and shows a port's
 * wire and clock with `ip -d link`.
 *
 * ip loads link_vtsn.so from /usr/lib/<arch>/ip and looks for vtsn_link_util.
 */
#include <linux/if_link.h>
#include <string.h>

#include "../../uapi/vtsn.h"
#include "iproute2.h"

/* More than the attributes of a link take. */
#define ROOM	1024

static void usage(struct link_util *util, int argc, char **argv, FILE *file)
{
	fprintf(file,
		"Usage: ip link <options> type vtsn [peer <options>]\n"
		"To get <options> type 'ip link add help'\n");
}

/* The peer's options are those of a link, as with veth: ip parses them. */
static int parse(struct link_util *util, int argc, char **argv, struct nlmsghdr *message)
{
	struct ifinfomsg *header = NLMSG_DATA(message);
	struct ifinfomsg mine = *header, *peer;
	struct rtattr *nest;
	char *type = NULL;
	int used;

	if (strcmp(argv[0], "peer")) {
		fprintf(stderr, "vtsn: unknown option \"%s\"\n", argv[0]);
		usage(util, argc, argv, stderr);
		return -1;
	}
	header->ifi_flags = 0;
	header->ifi_change = 0;
	header->ifi_index = 0;
	nest = addattr_nest(message, ROOM, VTSN_INFO_PEER);
	message->nlmsg_len += sizeof(struct ifinfomsg);
	used = iplink_parse(argc - 1, argv + 1, (struct iplink_req *)message, &type);
	if (used < 0)
		return used;
	if (type) {
		fprintf(stderr, "vtsn: the peer's type is always vtsn; omit \"type\"\n");
		return -1;
	}
	peer = RTA_DATA(nest);
	memset(peer, 0, sizeof(*peer));
	peer->ifi_index = header->ifi_index;
	peer->ifi_flags = header->ifi_flags;
	peer->ifi_change = header->ifi_change;
	header->ifi_index = mine.ifi_index;
	header->ifi_flags = mine.ifi_flags;
	header->ifi_change = mine.ifi_change;
	addattr_nest_end(message, nest);
	return argc - 1 - used;
}

static void show(struct rtattr *attribute, const char *key, const char *format)
{
	if (attribute && RTA_PAYLOAD(attribute) >= sizeof(uint32_t))
		print_color_uint(PRINT_ANY, COLOR_NONE, key, format,
				 *(uint32_t *)RTA_DATA(attribute));
}

static void print(struct link_util *util, FILE *file, struct rtattr *tb[])
{
	if (!tb)
		return;
	show(tb[VTSN_INFO_RATE_MBPS], "rate_mbps", "rate %uMbit ");
	show(tb[VTSN_INFO_DELAY_NS], "delay_ns", "delay %uns ");
	show(tb[VTSN_INFO_PHC_INDEX], "phc_index", "phc ptp%u ");
}

struct link_util vtsn_link_util = {
	.id = "vtsn",
	.maxattr = VTSN_INFO_MAX,
	.parse_opt = parse,
	.print_opt = print,
	.print_help = usage,
};
