/* SPDX-License-Identifier: GPL-2.0 */
/*
 * prioflow: PAUSE and PFC frames, byte by byte, and how 16 levels become 8 priorities
 * (docs/protocol.md). For the kernel and for programs that test it.
 */
#ifndef PRIOFLOW_PAUSE_H
#define PRIOFLOW_PAUSE_H

#include <linux/types.h>

#include "frame.h"

#define PRIOFLOW_PRIORITIES	8
#define PRIOFLOW_QUANTUM_BITS	512
#define PRIOFLOW_QUANTA_MAX	0xffff

/* A frame: pause time in quanta of each priority in the mask. */
struct prioflow_pause {
	__u8 priorities;	/* mask */
	__u16 quanta[PRIOFLOW_PRIORITIES];
};

enum prioflow_verdict prioflow_pause_parse(const __u8 *octets, __u32 length, int by_priority,
					   struct prioflow_pause *pause);
void prioflow_pause_build(int by_priority, __u16 mask, __u16 quanta, __u8 *octets);

#endif /* PRIOFLOW_PAUSE_H */
