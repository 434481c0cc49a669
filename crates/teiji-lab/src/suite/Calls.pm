# System calls that perl lacks, for test scripts: their numbers differ by processor
# (`asm/unistd.h`). `use lib "/suite"; use Calls;`
#
# Hundreds of processes load this: POSIX and warnings alone are 80 million instructions each time.
package Calls;
use strict;
use Config;
use Exporter "import";
our @EXPORT = qw(bpf get_option monotonic nonblocking unshare epoll epoll_add epoll_wait poll_one);

# As in `aarch64-linux-gnu-thread-multi`.
my ($machine) = split /-/, $Config{archname};
my %numbers = (
    x86_64 => { getsockopt => 55, clock_gettime => 228, unshare => 272, epoll_create1 => 291,
        epoll_ctl => 233, epoll_pwait => 281, ppoll => 271, bpf => 321 },
    aarch64 => { getsockopt => 209, clock_gettime => 113, unshare => 97, epoll_create1 => 20,
        epoll_ctl => 21, epoll_pwait => 22, ppoll => 73, bpf => 280 },
    arm => { getsockopt => 295, clock_gettime => 263, unshare => 337, epoll_create1 => 357,
        epoll_ctl => 251, epoll_pwait => 346, ppoll => 336, bpf => 386 },
);
my $number = $numbers{$machine} or die "Calls.pm: no system calls of $machine";
# `struct epoll_event` is packed on x86 only.
my $event = $machine eq "x86_64" ? "L Q" : "L x4 Q";

# bpf COMMAND, ATTRIBUTES
sub bpf { return syscall($number->{bpf}, $_[0], $_[1], length $_[1]); }

# get_option SOCKET, LEVEL, OPTION, VALUE [, SIZE]: the kernel reads the value and writes it; true if it
# does. Perl's own getsockopt reads none.
sub get_option {
    my $size = pack("i", $_[4] // length $_[3]);
    return syscall($number->{getsockopt}, fileno($_[0]), $_[1], $_[2], $_[3], $size) == 0;
}

# Seconds of CLOCK_MONOTONIC.
sub monotonic {
    my $time = pack("l!2", 0, 0);
    syscall($number->{clock_gettime}, 1, $time);
    my ($s, $ns) = unpack("l!2", $time);
    return $s + $ns / 1e9;
}

# nonblocking SOCKET: IO::Handle's method loads that and much else.
sub nonblocking { return fcntl($_[0], 4, fcntl($_[0], 3, 0) | 04000); }

sub unshare { return syscall($number->{unshare}, $_[0]) == 0; }

sub epoll { return syscall($number->{epoll_create1}, 0); }

# epoll_add EPOLL, SOCKET, EVENTS
sub epoll_add {
    my $what = pack($event, $_[2], 1);
    return syscall($number->{epoll_ctl}, $_[0], 1, fileno($_[1]), $what) == 0;
}

# epoll_wait EPOLL, MILLISECONDS: how many are ready.
sub epoll_wait {
    my $what = pack($event, 0, 0);
    return syscall($number->{epoll_pwait}, $_[0], $what, 1, $_[1], 0, 8);
}

# poll_one SOCKET, EVENTS, SECONDS: 1 if it is ready.
sub poll_one {
    my $what = pack("l s s", fileno($_[0]), $_[1], 0);
    my $limit = pack("l!2", $_[2], 0);
    return syscall($number->{ppoll}, $what, 1, $limit, 0, 8);
}

1;
