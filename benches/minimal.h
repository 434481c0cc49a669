/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* minimal - what the yardstick programs share: sockets, their stamps, and the clock */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/net_tstamp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#define BATCH		16
#define CONTROL		256
#define NS_PER_S	1000000000LL

#ifndef SO_TIMESTAMPING_NEW
#define SO_TIMESTAMPING_NEW	65
#endif

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void option(int fd, int level, int name, const void *value, socklen_t len,
		   const char *what)
{
	if (setsockopt(fd, level, name, value, len) < 0)
		fail(what);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_TAI, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}
