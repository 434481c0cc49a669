/* The kernel module's own level frames for level_frames.rs: each line of standard input is
 * "p HEX" (parse: "LEVEL LIFETIME_MS INSTANCE SEQUENCE", "foreign" or "malformed") or
 * "b LEVEL LIFETIME_MS INSTANCE SEQUENCE" (build: HEX). */
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
		printf("%u %u %u %u\n", frame.level, frame.lifetime_ms, frame.instance,
		       frame.sequence);
	else
		puts(words[verdict]);
	free(octets);
}

int main(void)
{
	char line[8192], hex[8192] = "";
	unsigned int level, lifetime_ms, instance, sequence, i;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == 'p') {
			parse(line[1] ? line + 2 : line + 1);
		} else if (sscanf(line, "b %u %u %u %u", &level, &lifetime_ms, &instance,
				  &sequence) == 4) {
			struct prioflow_frame frame = { level, lifetime_ms, instance, sequence };
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
