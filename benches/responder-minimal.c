// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * responder-minimal - the least that answering round trips can be
 *
 * The yardstick for Teiji's responder (`teiji reflect`): the same system calls, with the
 * same flags, in the same order, and the same reply, and nothing else.
 *
 * Per request:
 *
 *	clock_gettime(CLOCK_TAI)		is it time to end
 *	recvmmsg(MSG_WAITFORONE)		with the kernel's receive stamp
 *	clock_gettime(CLOCK_TAI)		when does the reply leave
 *	sendmsg(MSG_DONTWAIT)			to where the request came from
 *
 * Build:	cc -O2 -static -o responder-minimal responder-minimal.c
 * Usage:	responder-minimal ADDRESS PORT		answers until it is killed
 */
#define _GNU_SOURCE
#include <sys/time.h>
#include "minimal.h"

#define LONGEST		9500
#define HEADERS		48

static int64_t stamp(struct msghdr *msg)
{
	struct cmsghdr *c;
	int64_t ts[6];

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPING_NEW)
			continue;
		memcpy(ts, CMSG_DATA(c), sizeof(ts));
		return ts[0] * NS_PER_S + ts[1];
	}
	return INT64_MIN;
}

static void put(uint8_t *at, int64_t value)
{
	uint64_t bytes = htobe64(value);

	memcpy(at, &bytes, sizeof(bytes));
}

static uint8_t requests[BATCH][LONGEST], controls[BATCH][CONTROL], reply[LONGEST];
static struct sockaddr_storage sources[BATCH];

int main(int argc, char **argv)
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	struct timeval wait = { .tv_usec = 50000 };
	uint32_t flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct timespec tai, utc;
	int64_t offset;
	int fd, i, n = BATCH;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &here.sin_addr) != 1) {
		fprintf(stderr, "usage: responder-minimal ADDRESS PORT\n");
		return 2;
	}
	here.sin_port = htons(atoi(argv[2]));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket");
	option(fd, SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags, sizeof(flags), "SO_TIMESTAMPING");
	option(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait), "SO_RCVTIMEO");
	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0)
		fail("bind");
	/* Stamps are of CLOCK_REALTIME. */
	clock_gettime(CLOCK_TAI, &tai);
	clock_gettime(CLOCK_REALTIME, &utc);
	offset = (tai.tv_sec - utc.tv_sec) * NS_PER_S;

	for (i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ requests[i], LONGEST };
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &sources[i], .msg_iov = &parts[i], .msg_iovlen = 1,
			.msg_control = controls[i],
		};
	}
	while (now() < INT64_MAX) {
		/* Those that were used. */
		for (i = 0; i < n; i++) {
			messages[i].msg_hdr.msg_namelen = sizeof(sources[i]);
			messages[i].msg_hdr.msg_controllen = CONTROL;
			messages[i].msg_hdr.msg_flags = 0;
		}
		n = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
		for (i = 0; i < n; i++) {
			size_t len = messages[i].msg_len;
			struct iovec part = { reply, len };
			struct msghdr out = {
				.msg_name = &sources[i],
				.msg_namelen = messages[i].msg_hdr.msg_namelen,
				.msg_iov = &part, .msg_iovlen = 1,
			};
			int64_t arrived;

			if (len < HEADERS || memcmp(requests[i], "TEIJ", 4) || requests[i][24] != 1)
				continue;
			arrived = stamp(&messages[i].msg_hdr);
			memcpy(reply, requests[i], len);
			reply[24] = 2;
			put(reply + 32, arrived == INT64_MIN ? arrived : arrived + offset);
			put(reply + 40, now());
			if (sendmsg(fd, &out, MSG_DONTWAIT) < 0)
				perror("sendmsg");
		}
	}
	return 0;
}
