/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Preloaded into QEMU where a machine has several virtual CPUs: its main loop is woken only
 * when they are all idle (docs/determinism.md), and QEMU records them without refusing.
 *
 * The guest's thread wakes the main loop, by an eventfd, at each timer that expires. If the main
 * loop then comes between two CPUs' turns, and the first has just gone idle, it skips idle time
 * before the other's turn instead of after it, and the turns that follow are others. So a wake-up
 * waits here until the thread itself waits, which it does when no CPU has anything to do
 * (rr_wait_io_event() of accel/tcg/tcg-accel-ops-rr.c).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* QEMU opens few. */
#define MOST_FDS 64
/*
 * So many wake-ups may wait, at most 0.6 s of the guest's time, so that a guest that is never
 * idle can be switched off, too.
 */
#define MOST_WAITING 65536

static bool is_eventfd[MOST_FDS];
static bool waits[MOST_FDS];
static unsigned int waiting;
/* The mutex beside which the guest's thread waits: QEMU's big lock. */
static pthread_mutex_t *big_lock;
static _Thread_local bool is_guest_thread;

/* The version of pthread_cond_wait() that programs of today are linked with. */
#if defined(__x86_64__)
#define CONDITION_WAIT_VERSION "GLIBC_2.3.2"
#elif defined(__aarch64__)
#define CONDITION_WAIT_VERSION "GLIBC_2.17"
#else
#define CONDITION_WAIT_VERSION "GLIBC_2.4"
#endif

/*
 * QEMU refuses to record what it was not tried with by the addition of a message that begins so
 * to a list (replay_add_blocker() of replay/replay.c, with GLib's functions). The list
 * stays empty here: several CPUs were tried.
 */
#define REFUSAL "Record/replay is not supported with"

static _Thread_local bool refuses;

typedef char *format_text(const char *, va_list);
typedef void *prepend(void *, void *);

typedef int condition_wait(pthread_cond_t *, pthread_mutex_t *);
typedef int make_eventfd(unsigned int, int);
typedef ssize_t write_bytes(int, const void *, size_t);

static ssize_t really_write(int fd, const void *bytes, size_t length)
{
	static write_bytes *original;

	if (!original)
		original = (write_bytes *)dlsym(RTLD_NEXT, "write");
	return original(fd, bytes, length);
}

static void wake(void)
{
	const uint64_t once = 1;

	for (int fd = 0; fd < MOST_FDS; fd++) {
		if (!waits[fd])
			continue;
		waits[fd] = false;
		/* It fails only where so many were not read yet that one more changes nothing. */
		really_write(fd, &once, sizeof(once));
	}
	waiting = 0;
}

char *g_strdup_vprintf(const char *format, va_list values)
{
	static format_text *original;

	if (!original)
		original = (format_text *)dlsym(RTLD_NEXT, "g_strdup_vprintf");
	if (format && !strncmp(format, REFUSAL, strlen(REFUSAL)))
		refuses = true;
	return original(format, values);
}

void *g_slist_prepend(void *list, void *item)
{
	static prepend *original;

	if (refuses) {
		refuses = false;
		return list;
	}
	if (!original)
		original = (prepend *)dlsym(RTLD_NEXT, "g_slist_prepend");
	return original(list, item);
}

int eventfd(unsigned int value, int flags)
{
	make_eventfd *original = (make_eventfd *)dlsym(RTLD_NEXT, "eventfd");
	int fd = original(value, flags);

	if (fd >= 0 && fd < MOST_FDS)
		is_eventfd[fd] = true;
	return fd;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	/* Of another length it is for a file that has got a closed eventfd's number. */
	if (!is_guest_thread || fd < 0 || fd >= MOST_FDS || !is_eventfd[fd] ||
	    length != sizeof(uint64_t))
		return really_write(fd, bytes, length);
	waits[fd] = true;
	if (++waiting > MOST_WAITING)
		wake();
	return length;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	static condition_wait *original;

	if (!original)
		original = (condition_wait *)dlvsym(RTLD_NEXT, "pthread_cond_wait",
						    CONDITION_WAIT_VERSION);
	/* The guest's thread begins by waiting for the machine to start, before any other waits. */
	if (!big_lock && gettid() != getpid()) {
		big_lock = mutex;
		is_guest_thread = true;
	}
	if (is_guest_thread && mutex == big_lock)
		wake();
	return original(condition, mutex);
}
