/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: level frames, byte by byte (docs/protocol.md). For the kernel and for
 * programs that test it.
 */
#ifndef PRIOFLOW_FRAME_H
#define PRIOFLOW_FRAME_H

#include <linux/types.h>

#define PRIOFLOW_ETHERTYPE	0x88b5	/* IEEE 802 local experimental ethertype 1 */
#define PRIOFLOW_FRAME_SIZE	46	/* octets after the ethertype, without FCS */

/* Longest lifetime of a request, and the one that this side sends. */
#define PRIOFLOW_LIFETIME_MAX_MS	1000
#define PRIOFLOW_LIFETIME_MS		100

/* Version 2 sends a frame at least so often, also without a request. */
#define PRIOFLOW_HELLO_MS		1000

struct prioflow_frame {
	__u8 version;		/* of the protocol */
	__u16 mask;		/* of levels to pause; 0: send all */
	__u16 lifetime_ms;	/* 0 with an empty mask */
	__u32 instance;		/* of the sender: another number after each start */
	__u32 sequence;		/* of the frame, modulo 2^32 */
	/* version 2 */
	__u8 obeys;		/* the sender obeys requests to pause the levels below */
	__u8 ignores;		/* its pause-storm watchdog ignores some level */
	__u16 ring;		/* what its headroom covers: frames in the rings of both ends, */
	__u32 reaction_us;	/* and this time from XOFF on; 0: it does not say */
	__u32 acked_instance;	/* of the last frame that it has received */
	__u32 acked_sequence;
};

enum prioflow_verdict {
	PRIOFLOW_FRAME_GOOD,
	PRIOFLOW_FRAME_FOREIGN,		/* another protocol: pass it on */
	PRIOFLOW_FRAME_MALFORMED,
};

enum prioflow_verdict prioflow_frame_parse(const __u8 *octets, __u32 length,
					   struct prioflow_frame *frame);
void prioflow_frame_build(const struct prioflow_frame *frame, __u8 *octets);

#endif /* PRIOFLOW_FRAME_H */
