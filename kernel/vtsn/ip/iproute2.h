/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iproute2's interface for plug-ins of ip (ip/ip_common.h, include/json_print.h), for
 * which there is no header to install; ip itself provides the functions.
 */
#ifndef VTSN_IPROUTE2_H
#define VTSN_IPROUTE2_H

#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>

struct iplink_req;

struct link_util {
	struct link_util *next;
	const char *id;
	int maxattr;
	int (*parse_opt)(struct link_util *util, int argc, char **argv, struct nlmsghdr *message);
	void (*print_opt)(struct link_util *util, FILE *file, struct rtattr *tb[]);
	void (*print_xstats)(struct link_util *util, FILE *file, struct rtattr *stats);
	void (*print_help)(struct link_util *util, int argc, char **argv, FILE *file);
	int (*parse_ifla_xstats)(struct link_util *util, int argc, char **argv);
	int (*print_ifla_xstats)(struct nlmsghdr *message, void *arg);
};

enum { PRINT_ANY = 4 };
enum { COLOR_NONE = 6 };

int iplink_parse(int argc, char **argv, struct iplink_req *request, char **type);
struct rtattr *addattr_nest(struct nlmsghdr *message, int room, int type);
int addattr_nest_end(struct nlmsghdr *message, struct rtattr *nest);
int print_color_uint(int type, int color, const char *key, const char *format,
		     unsigned int value);

#endif /* VTSN_IPROUTE2_H */
