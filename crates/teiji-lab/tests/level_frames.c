/* The kernel module's own level frames for level_frames.rs: each line of standard input is
 * "p HEX" (parse: "VERSION FIELDS", "foreign" or "malformed") or "b FIELDS" (build: HEX), where
 * FIELDS is MASK LIFETIME_MS INSTANCE SEQUENCE OBEYS IGNORES HEARD_INSTANCE HEARD_SEQUENCE RING
 * REACTION_US. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../kernel/prioflow/frame.c"

static void parse(const char *hex)
{
	static const char *const words[] = { "", "foreign", "malformed" };
	size_t length = strlen(hex) / 2, i;
	/* No octet more than there is, so that reading beyond the end is found. */
	__u8 *octets = malloc(length ? length : 1);
	struct prioflow_frame frame;
	enum prioflow_verdict verdict;

	for (i = 0; i < length; i++)
		sscanf(hex + 2 * i, "%2hhx", &octets[i]);
	verdict = prioflow_frame_parse(octets, length, &frame);
	if (verdict == PRIOFLOW_FRAME_GOOD)
		printf("%u %u %u %u %u %u %u %u %u %u %u\n", frame.version, frame.mask,
		       frame.lifetime_ms, frame.instance, frame.sequence, frame.obeys,
		       frame.ignores, frame.acked_instance, frame.acked_sequence,
		       frame.ring, frame.reaction_us);
	else
		puts(words[verdict]);
	free(octets);
}

int main(void)
{
	char line[8192], hex[8192] = "";
	unsigned int f[10], i;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == 'p') {
			parse(line[1] ? line + 2 : line + 1);
		} else if (sscanf(line, "b %u %u %u %u %u %u %u %u %u %u", &f[0], &f[1], &f[2], &f[3],
				  &f[4], &f[5], &f[6], &f[7], &f[8], &f[9]) == 10) {
			struct prioflow_frame frame = {
				.mask = f[0], .lifetime_ms = f[1], .instance = f[2],
				.sequence = f[3], .obeys = f[4], .ignores = f[5],
				.acked_instance = f[6], .acked_sequence = f[7],
				.ring = f[8], .reaction_us = f[9],
			};
			__u8 octets[PRIOFLOW_FRAME_SIZE];

			prioflow_frame_build(&frame, octets);
			for (i = 0; i < sizeof(octets); i++)
				sprintf(hex + 2 * i, "%02x", octets[i]);
			puts(hex);
		} else {
			return 1;
		}
	}
	return 0;
}
