/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Delays QEMU's guest thread at the worst moment, for the determinism test.
 *
 * A virtual CPU that halts leaves its loop by siglongjmp() (cpu_loop_exit in
 * accel/tcg/cpu-exec-common.c): it says "halted" before, and counts its last
 * instructions after. Preloaded, this makes every 32nd such jump 100 us late,
 * as a busy host would.
 *
 * It counts the jumps in the file $LATE_COUNTING, so that the test knows that it
 * was there; and how often the main loop waited for another thread, which it does
 * where it wants to get in between two virtual CPUs' turns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As the file has it, in the machine's order. */
struct counts {
	_Atomic unsigned long jumps;
	_Atomic unsigned long main_loop_waits;
};

typedef void jump(sigjmp_buf, int);
typedef int condition_wait(pthread_cond_t *, pthread_mutex_t *);

/* QEMU is killed at the end: a mapped file has what was counted until then. */
static struct counts *counts(void)
{
	static struct counts nowhere, *file;
	const char *path = getenv("LATE_COUNTING");
	void *mapped;
	int fd;

	if (file)
		return file;
	file = &nowhere;
	fd = path ? open(path, O_CREAT | O_RDWR, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(nowhere)))
		return file;
	mapped = mmap(NULL, sizeof(nowhere), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		file = mapped;
	return file;
}

static void be_late(void)
{
	if (atomic_fetch_add(&counts()->jumps, 1) % 32 == 0)
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

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	static condition_wait *original;

	if (!original)
		original = (condition_wait *)dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	if (gettid() == getpid())
		counts()->main_loop_waits++;
	return original(condition, mutex);
}
