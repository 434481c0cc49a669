// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: frames of PAUSE (IEEE 802.3 Annex 31B) and priority flow control (Annex 31D)
 * from octets and to them. Priority p has the levels 2p and 2p + 1. PFC never pauses the
 * highest priority, because level 15 is never paused. Nothing here needs a kernel.
 */
#include "pause.h"

#define PRIOFLOW_OPCODE_PAUSE	0x0001
#define PRIOFLOW_OPCODE_PFC	0x0101

static __u16 prioflow_get_be16(const __u8 *octets)
{
	return octets[0] << 8 | octets[1];
}

static void prioflow_put_be16(__u8 *octets, __u16 value)
{
	octets[0] = value >> 8;
	octets[1] = value & 0xff;
}

/*
 * Parses the payload after the ethertype: PFC, or else PAUSE, which is for all priorities.
 * Writes @pause only if the frame is good.
 */
enum prioflow_verdict prioflow_pause_parse(const __u8 *octets, __u32 length, int by_priority,
					   struct prioflow_pause *pause)
{
	__u16 opcode = by_priority ? PRIOFLOW_OPCODE_PFC : PRIOFLOW_OPCODE_PAUSE;
	__u32 i;

	if (length < 2 || prioflow_get_be16(octets) != opcode)
		return PRIOFLOW_FRAME_FOREIGN;
	if (length < PRIOFLOW_FRAME_SIZE)
		return PRIOFLOW_FRAME_MALFORMED;
	pause->priorities = by_priority ? octets[3] : 0xff;
	for (i = 0; i < PRIOFLOW_PRIORITIES; i++)
		pause->quanta[i] = prioflow_get_be16(octets + (by_priority ? 4 + 2 * i : 2));
	return PRIOFLOW_FRAME_GOOD;
}

/* Writes the PRIOFLOW_FRAME_SIZE octets that pause the levels of @mask; 0: none. */
void prioflow_pause_build(int by_priority, __u16 mask, __u16 quanta, __u8 *octets)
{
	__u32 i;

	for (i = 0; i < PRIOFLOW_FRAME_SIZE; i++)
		octets[i] = 0;
	if (!by_priority) {
		prioflow_put_be16(octets, PRIOFLOW_OPCODE_PAUSE);
		prioflow_put_be16(octets + 2, mask ? quanta : 0);
		return;
	}
	prioflow_put_be16(octets, PRIOFLOW_OPCODE_PFC);
	/* The same frame resumes the other priorities. */
	for (i = 0; i < PRIOFLOW_PRIORITIES - 1; i++) {
		octets[3] |= 1 << i;
		if (mask & 3 << 2 * i)
			prioflow_put_be16(octets + 4 + 2 * i, quanta);
	}
}
