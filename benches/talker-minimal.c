// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * talker-minimal - the least that a periodic UDP talker can do
 *
 * The yardstick for Teiji's talker: the same system calls, with the same
 * flags, in the same order, and nothing else. No records are kept and no
 * report of the kernel is looked at. Whatever Teiji's talker costs beyond this
 * program, per frame, is the price of its bookkeeping.
 *
 * Per frame:
 *
 *	clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME)  until departure - margin
 *	clock_gettime(CLOCK_TAI)                   when did we wake
 *	sendmsg(MSG_DONTWAIT)                      with SCM_TXTIME if margin > 0
 *	clock_gettime(CLOCK_TAI)                   when did sendmsg return
 *	recvmmsg(MSG_ERRQUEUE | MSG_DONTWAIT)      if stamps; every 64th frame if only margin > 0
 *
 * Build:	cc -O2 -static -o talker-minimal talker-minimal.c
 * Usage:	talker-minimal IFACE DEST PORT PERIOD_NS FRAMES MARGIN_NS|0 STAMPS PAYLOAD
 *
 *	DEST	IPv4 address
 *	STAMPS	1: ask for transmit stamps as Teiji does; 0: none
 *	PAYLOAD	bytes, at least 24
 *
 * `cargo run --release -p teiji --example periodic` takes the same arguments.
 * To compare, take the CPU time of a long and of a short run of each and divide
 * the difference by the difference in frames: start and end cancel out. In the
 * laboratory 2 ns are one instruction; benches/guest-instructions does it all.
 */
#define _GNU_SOURCE
#include "minimal.h"

/* The thread's time on a processor in ns, as Teiji's example prints it. */
static void print_cpu_time(void)
{
	unsigned long long ns = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%llu", &ns) != 1)
		fail("/proc/thread-self/schedstat");
	fclose(file);
	printf("cpu_ns %llu\n", ns);
}

int main(int argc, char **argv)
{
	static char control[BATCH][CONTROL] __attribute__((aligned(8)));
	char launch[CMSG_SPACE(sizeof(uint64_t))] __attribute__((aligned(8))) = { 0 };
	struct mmsghdr reports[BATCH] = { 0 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct msghdr message = { 0 };
	struct cmsghdr *header;
	struct iovec part;
	int64_t base, period, margin, last_woke = 0, last_sent = 0;
	long frames, k, failed = 0;
	unsigned char *payload;
	int fd, i, stamps, size, reported = 0;

	if (argc != 9) {
		fprintf(stderr, "usage: %s IFACE DEST PORT PERIOD_NS FRAMES MARGIN_NS|0 STAMPS PAYLOAD\n",
			argv[0]);
		return 2;
	}
	to.sin_port = htons(atoi(argv[3]));
	period = atoll(argv[4]);
	frames = atol(argv[5]);
	margin = atoll(argv[6]);
	stamps = atoi(argv[7]);
	size = atoi(argv[8]);
	if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1 || period <= 0 || frames <= 0 ||
	    margin < 0 || size < 24) {
		fprintf(stderr, "%s: an argument is out of range\n", argv[0]);
		return 2;
	}
	payload = calloc(1, size);
	if (!payload)
		fail("calloc");
	memcpy(payload, "TEIJ\x01", 5);

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket");
	i = IP_PMTUDISC_DO;
	option(fd, IPPROTO_IP, IP_MTU_DISCOVER, &i, sizeof(i), "IP_MTU_DISCOVER");
	option(fd, SOL_SOCKET, SO_BINDTODEVICE, argv[1], strlen(argv[1]) + 1, "SO_BINDTODEVICE");
	if (margin) {
		struct sock_txtime txtime = {
			.clockid = CLOCK_TAI,
			.flags = SOF_TXTIME_REPORT_ERRORS,
		};

		option(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime), "SO_TXTIME");
	}
	if (stamps) {
		i = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE |
		    SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
		    SOF_TIMESTAMPING_OPT_TSONLY;
		option(fd, SOL_SOCKET, SO_TIMESTAMPING_NEW, &i, sizeof(i), "SO_TIMESTAMPING");
	}

	part.iov_base = payload;
	part.iov_len = size;
	message.msg_name = &to;
	message.msg_namelen = sizeof(to);
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	header = (struct cmsghdr *)launch;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_TXTIME;
	header->cmsg_len = CMSG_LEN(sizeof(uint64_t));
	if (margin) {
		message.msg_control = launch;
		message.msg_controllen = sizeof(launch);
	}
	for (i = 0; i < BATCH; i++)
		reports[i].msg_hdr.msg_control = control[i];
	reported = BATCH;

	base = ((now() + 50000000LL + margin) / period + 1) * period;
	for (k = 0; k < frames; k++) {
		int64_t departure = base + k * period;
		int64_t wake = departure - margin;
		struct timespec at = { wake / NS_PER_S, wake % NS_PER_S };
		uint64_t number = htobe64(k);
		uint64_t scheduled = htobe64(departure);

		clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME, &at, NULL);
		last_woke = now();
		memcpy(payload + 8, &number, 8);
		memcpy(payload + 16, &scheduled, 8);
		memcpy(CMSG_DATA(header), &departure, 8);
		failed += sendmsg(fd, &message, MSG_DONTWAIT) < 0;
		last_sent = now();
		if (stamps || (margin && (k + 1) % 64 == 0)) {
			for (i = 0; i < reported; i++)
				reports[i].msg_hdr.msg_controllen = CONTROL;
			reported = recvmmsg(fd, reports, BATCH, MSG_ERRQUEUE | MSG_DONTWAIT, NULL);
		}
	}
	printf("%ld frames, %ld refused; the last one took %lld ns from wake-up to hand-over\n",
	       frames, failed, (long long)(last_sent - last_woke));
	print_cpu_time();
	return 0;
}
