// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: level frames from octets and to them. Nothing here needs a kernel.
 */
#include "frame.h"

/* IEEE 802.3 Annex 31C: EXTENSION; the next three octets are the OUI of the extension. */
#define PRIOFLOW_OPCODE		0xfffe
/* No vendor's OUI: from the space of locally administered addresses. */
#define PRIOFLOW_OUI		0x02544a
/* Of the format. Version 2 of the protocol uses octets that version 1 ignores. */
#define PRIOFLOW_FORMAT		1
#define PRIOFLOW_VERSION	2
#define PRIOFLOW_LEVEL_MAX	15
#define PRIOFLOW_IGNORES	0x01

static __u32 prioflow_get(const __u8 *octets, __u32 count)
{
	__u32 value = 0;

	while (count--)
		value = value << 8 | *octets++;
	return value;
}

static void prioflow_put(__u8 *octets, __u32 count, __u32 value)
{
	while (count--) {
		octets[count] = value;
		value >>= 8;
	}
}

/* The highest level of a mask, plus one; 0 if it is empty. */
static __u8 prioflow_level(__u16 mask)
{
	__u8 level = 0;

	for (; mask; mask >>= 1)
		level++;
	return level;
}

/* Parses the payload after the ethertype. Writes @frame only if the frame is good. */
enum prioflow_verdict prioflow_frame_parse(const __u8 *octets, __u32 length,
					   struct prioflow_frame *frame)
{
	__u32 lifetime_ms;
	__u8 level;
	__u16 mask;

	if (length < 5 || prioflow_get(octets, 2) != PRIOFLOW_OPCODE ||
	    prioflow_get(octets + 2, 3) != PRIOFLOW_OUI)
		return PRIOFLOW_FRAME_FOREIGN;
	if (length < PRIOFLOW_FRAME_SIZE || octets[5] != PRIOFLOW_FORMAT)
		return PRIOFLOW_FRAME_MALFORMED;
	level = octets[6];
	lifetime_ms = prioflow_get(octets + 8, 2);
	if (level > PRIOFLOW_LEVEL_MAX || lifetime_ms > PRIOFLOW_LIFETIME_MAX_MS ||
	    !level != !lifetime_ms)
		return PRIOFLOW_FRAME_MALFORMED;
	/* Version 1 pauses all levels below, and has 0 in the octets of version 2. */
	mask = (1 << level) - 1;
	if (octets[7] >= 2) {
		mask = prioflow_get(octets + 10, 2);
		if (prioflow_level(mask) != level)
			return PRIOFLOW_FRAME_MALFORMED;
	}

	*frame = (struct prioflow_frame) {
		.version = octets[7] >= 2 ? octets[7] : 1,
		.mask = mask,
		.lifetime_ms = lifetime_ms,
		.instance = prioflow_get(octets + 12, 4),
		.sequence = prioflow_get(octets + 16, 4),
		.obeys = octets[7] >= 2 ? octets[20] : PRIOFLOW_LEVEL_MAX,
		.ignores = octets[7] >= 2 && octets[21] & PRIOFLOW_IGNORES,
		.ring = octets[7] >= 2 ? prioflow_get(octets + 22, 2) : 0,
		.reaction_us = octets[7] >= 2 ? prioflow_get(octets + 32, 4) : 0,
		.acked_instance = prioflow_get(octets + 24, 4),
		.acked_sequence = prioflow_get(octets + 28, 4),
	};
	return PRIOFLOW_FRAME_GOOD;
}

/* Writes the PRIOFLOW_FRAME_SIZE octets after the ethertype, of this version. */
void prioflow_frame_build(const struct prioflow_frame *frame, __u8 *octets)
{
	__u32 i;

	for (i = 0; i < PRIOFLOW_FRAME_SIZE; i++)
		octets[i] = 0;
	prioflow_put(octets, 2, PRIOFLOW_OPCODE);
	prioflow_put(octets + 2, 3, PRIOFLOW_OUI);
	octets[5] = PRIOFLOW_FORMAT;
	octets[6] = prioflow_level(frame->mask);
	octets[7] = PRIOFLOW_VERSION;
	prioflow_put(octets + 8, 2, frame->lifetime_ms);
	prioflow_put(octets + 10, 2, frame->mask);
	prioflow_put(octets + 12, 4, frame->instance);
	prioflow_put(octets + 16, 4, frame->sequence);
	octets[20] = frame->obeys;
	octets[21] = frame->ignores ? PRIOFLOW_IGNORES : 0;
	prioflow_put(octets + 22, 2, frame->ring);
	prioflow_put(octets + 24, 4, frame->acked_instance);
	prioflow_put(octets + 28, 4, frame->acked_sequence);
	prioflow_put(octets + 32, 4, frame->reaction_us);
}
