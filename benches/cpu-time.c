// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * cpu-time - the processor time of a command, in ns, with all its threads
 *
 * The kernel accounts it to the nanosecond and reports it in microseconds.
 *
 * Build:	cc -O2 -static -o cpu-time cpu-time.c
 * Usage:	cpu-time COMMAND ARGUMENT...	(`cpu_ns N` on standard error)
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long ns(struct timeval time)
{
	return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: %s COMMAND ARGUMENT...\n", argv[0]);
		return 2;
	}
	child = fork();
	if (child == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child) {
		perror("cpu-time");
		return 1;
	}
	fprintf(stderr, "cpu_ns %lld\n", ns(used.ru_utime) + ns(used.ru_stime));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
