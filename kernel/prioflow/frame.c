// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: level frames from octets and to them. Nothing here needs a kernel.
 */
#include "frame.h"

/* IEEE 802.3 Annex 31C: EXTENSION; the next three octets are the OUI of the extension. */
#define PRIOFLOW_OPCODE		0xfffe
/* No vendor's OUI: from the space of locally administered addresses. */
#define PRIOFLOW_OUI		0x02544a
#define PRIOFLOW_VERSION	1
#define PRIOFLOW_LEVEL_MAX	15

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

/* Parses the payload after the ethertype. Writes @frame only if the frame is good. */
enum prioflow_verdict prioflow_frame_parse(const __u8 *octets, __u32 length,
					   struct prioflow_frame *frame)
{
	__u32 lifetime_ms;
	__u8 level;

	if (length < 5 || prioflow_get(octets, 2) != PRIOFLOW_OPCODE ||
	    prioflow_get(octets + 2, 3) != PRIOFLOW_OUI)
		return PRIOFLOW_FRAME_FOREIGN;
	if (length < PRIOFLOW_FRAME_SIZE || octets[5] != PRIOFLOW_VERSION)
		return PRIOFLOW_FRAME_MALFORMED;
	level = octets[6];
	lifetime_ms = prioflow_get(octets + 8, 2);
	if (level > PRIOFLOW_LEVEL_MAX || lifetime_ms > PRIOFLOW_LIFETIME_MAX_MS ||
	    !level != !lifetime_ms)
		return PRIOFLOW_FRAME_MALFORMED;

	frame->level = level;
	frame->lifetime_ms = lifetime_ms;
	frame->instance = prioflow_get(octets + 12, 4);
	frame->sequence = prioflow_get(octets + 16, 4);
	return PRIOFLOW_FRAME_GOOD;
}

/* Writes the PRIOFLOW_FRAME_SIZE octets after the ethertype. */
void prioflow_frame_build(const struct prioflow_frame *frame, __u8 *octets)
{
	__u32 i;

	for (i = 0; i < PRIOFLOW_FRAME_SIZE; i++)
		octets[i] = 0;
	prioflow_put(octets, 2, PRIOFLOW_OPCODE);
	prioflow_put(octets + 2, 3, PRIOFLOW_OUI);
	octets[5] = PRIOFLOW_VERSION;
	octets[6] = frame->level;
	prioflow_put(octets + 8, 2, frame->lifetime_ms);
	prioflow_put(octets + 12, 4, frame->instance);
	prioflow_put(octets + 16, 4, frame->sequence);
}
