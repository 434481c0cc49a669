/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iproute2's interface for plug-ins of tc (tc/tc_util.h, include/libnetlink.h), for
 * which there is no header to install; tc itself provides the functions.
 */
#ifndef PRIOFLOW_IPROUTE2_H
#define PRIOFLOW_IPROUTE2_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(struct qdisc_util *util, int argc, char **argv,
			  struct nlmsghdr *message, const char *dev);
	int (*print_qopt)(struct qdisc_util *util, FILE *file, struct rtattr *options);
	int (*print_xstats)(struct qdisc_util *util, FILE *file, struct rtattr *stats);
	int (*parse_copt)(struct qdisc_util *util, int argc, char **argv,
			  struct nlmsghdr *message, const char *dev);
	int (*print_copt)(struct qdisc_util *util, FILE *file, struct rtattr *options);
	int (*has_block)(struct qdisc_util *util, struct rtattr *options, bool *has_block);
};

int addattr_l(struct nlmsghdr *message, int room, int type, const void *data, int length);
struct rtattr *addattr_nest(struct nlmsghdr *message, int room, int type);
int addattr_nest_end(struct nlmsghdr *message, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta, int length,
		       unsigned short flags);

#endif /* PRIOFLOW_IPROUTE2_H */
