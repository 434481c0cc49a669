/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Delays QEMU's guest thread at the worst moment, for the determinism test.
 *
 * A virtual CPU that halts leaves its loop by siglongjmp() (cpu_loop_exit in
 * accel/tcg/cpu-exec-common.c): it says "halted" before, and counts its last
 * instructions after. Preloaded, this makes every 32nd such jump 100 us late,
 * as a busy host would. It leaves the file $LATE_COUNTING behind, so that the
 * test knows that it was there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef void jump(sigjmp_buf, int);

static void be_late(void)
{
	static atomic_uint jumps;
	unsigned int jump_number = atomic_fetch_add(&jumps, 1);

	if (jump_number == 0) {
		const char *path = getenv("LATE_COUNTING");

		if (path)
			close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	if (jump_number % 32 == 0)
		usleep(100);
}

void siglongjmp(sigjmp_buf env, int value)
{
	jump *original = (jump *)dlsym(RTLD_NEXT, "siglongjmp");

	be_late();
	original(env, value);
	abort();
}

/* What siglongjmp() becomes with _FORTIFY_SOURCE. */
void __longjmp_chk(sigjmp_buf env, int value)
{
	jump *original = (jump *)dlsym(RTLD_NEXT, "__longjmp_chk");

	be_late();
	original(env, value);
	abort();
}
