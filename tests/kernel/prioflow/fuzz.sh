#!/bin/sh
# Random input: netlink options of the qdisc and socket options, each of which is answered, the
# refused ones without effect; frames, each of which gets a level. Afterwards everything
# works; kernel errors are checked at the end. Topology in port.inc.
#
# module: vtsn
# module: prioflow
# package: iproute2
# package: ethtool
# package: perl-base
# plugin: prioflow/tc/q_prioflow.c
# limit: 600
# long: thousands of random messages and frames
. /suite/lib
. /suite/port.inc

seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
echo "seed $seed"

cat >netlink.pl <<'END_OF_PERL'
# netlink.pl SEED COUNT INDEX: so many messages that set the root qdisc; prints their results.
my ($seed, $count, $index) = @ARGV;
srand $seed;
socket(my $s, 16, 3, 0) or die "netlink: $!";
sub attribute { my ($type, $value) = @_; pack("S S", 4 + length $value, $type) . $value . "\0" x (-length($value) & 3) }
# Boundary values of several widths, and random ones.
sub number { my @ends = (0, 1, 2, 15, 16, 64, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff); rand() < 0.7 ? $ends[rand @ends] : int rand 2**32 }
sub value {
    my $right = shift;    # the length that the attribute has
    my $length = rand() < 0.7 && defined $right ? $right : int rand 72;
    return pack("C", rand() < 0.8 ? int rand 17 : int rand 256) if $length == 1;
    return pack("L", number()) if $length == 4;
    return join "", map { chr(rand() < 0.8 ? int rand 16 : int rand 256) } 1 .. $length;
}
# Of TCA_PRIOFLOW_*; the table has as many as its source.
my @length = (0, 4, 4, 1, 64, 1, 8, 0, 1, 1, 4, 4, 4, 4, 1, 1, 1);
my %answers;
for my $n (1 .. $count) {
    my $options = "";
    for (1 .. int rand 6) {
        my $type = rand() < 0.9 ? 1 + int rand 16 : int rand 70;
        $options .= attribute($type | (rand() < 0.05 ? 0x8000 : 0), value($length[$type]));
    }
    # A wrong length, now and then.
    substr($options, 0, 2) = pack("S", int rand 100) if length $options && rand() < 0.05;
    my $kind = attribute(1, "prioflow\0");
    $kind .= attribute(2 | 0x8000, $options) if rand() < 0.97;
    # A new qdisc, or the existing one.
    my $flags = rand() < 0.8 ? 0x105 : 0x505;
    my $body = pack("C x3 l L L L", 0, $index, 0x10000, 0xffffffff, 0) . $kind;
    send($s, pack("L S S L L", 16 + length $body, 36, $flags, $n, 0) . $body, 0) or die "send: $!";
    recv($s, my $answer, 8192, 0) // die "recv: $!";
    my ($length, $type, undef, $sequence, undef, $error) = unpack("L S S L L l", $answer);
    die "message $n: answer $type to $sequence" unless $type == 2 && $sequence == $n;
    $answers{-$error}++;
}
print join(" ", map { "$_:$answers{$_}" } sort { $a <=> $b } keys %answers), "\n";
END_OF_PERL

cat >sockets.pl <<'END_OF_PERL'
# sockets.pl SEED COUNT: so many options set on sockets of several kinds.
use lib "/suite"; use Calls;
my ($seed, $count) = @ARGV;
srand $seed;
my %answers;
my @kinds = ([2, 2, 0], [10, 2, 0], [2, 1, 0], [17, 3, 0], [1, 2, 0], [16, 3, 0]);
my @sockets;
for (@kinds) { my $s; push @sockets, $s if socket($s, $$_[0], $$_[1], $$_[2]); }
sub number { my @ends = (0, 1, -1, 14, 15, 16, 0x7fffffff, -0x80000000, 1200, 200000, map { fileno $_ } @sockets); $ends[rand @ends] }
for (1 .. $count) {
    my $s = $sockets[rand() < 0.7 ? rand 2 : rand @sockets];
    my $value = pack("l*", map { number() } 1 .. (rand() < 0.8 ? 8 : int rand 12)) . "x" x (rand() < 0.1 ? rand 4 : 0);
    my $level = rand() < 0.5 ? 0 : 41;
    my $option = rand() < 0.5 ? 0x5470 : 0x5471;
    my $answer = setsockopt($s, $level, $option, $value) ? 0 : $! + 0;
    $answers{$answer}++;
    my $size = rand() < 0.8 ? length $value : int rand 100;
    get_option($s, $level, $option, $value . "\0" x 100, $size);
    setsockopt($s, 1, 8, pack("i", int rand 500000)) if rand() < 0.1;
    setsockopt($s, 1, 7, pack("i", int rand 500000)) if rand() < 0.1;
}
print join(" ", map { "$_:$answers{$_}" } sort { $a <=> $b } keys %answers), "\n";
END_OF_PERL

cat >frames.pl <<'END_OF_PERL'
# frames.pl SEED COUNT INDEX: so many frames, most of them nearly IP; prints how many were sent.
# Some are non-linear, with only the Ethernet header in the linear part.
my ($seed, $count, $index) = @ARGV;
srand $seed;
sub octets { join "", map { chr int rand 256 } 1 .. shift }
sub ports { pack("n n", int rand 65536, (319, 320, 0x013f, 0x3f01, int rand 65536)[rand 5]) }
my @groups = ("\x01\x80\xc2\x00\x00\x0e", "\x01\x80\xc2\x00\x01\x0e", "\x01\x80\xc2\x00\x00\x1e");
my @types = (0x0800, 0x0800, 0x0800, 0x86dd, 0x8100, 0x88a8, 0x88f7, 0x0806, 0x88b5, 0x8808);
my ($whole, $pieces);
socket($_, 17, 3, 0) or die "packet: $!" for $whole, $pieces;
setsockopt($pieces, 263, 15, pack("i", 1)) or die "PACKET_VNET_HDR: $!";
my $taken = 0;
for (1 .. $count) {
    my $type = rand() < 0.9 ? $types[rand @types] : int rand 65536;
    my $inner = $type;
    my $frame = (rand() < 0.2 ? $groups[rand @groups] : "\x02" . octets(5)) . "\x02" . octets(5) . pack("n", $type);
    while (($inner == 0x8100 || $inner == 0x88a8) && rand() < 0.9) {
        $inner = $types[rand @types];
        $frame .= pack("n n", int rand 65536, $inner);
    }
    my $first = rand() < 0.7 ? 0x45 : rand() < 0.5 ? 0x40 + int rand 16 : int rand 256;
    my $proto = (17, 17, 6, 1, 58, 0, 44, 60, int rand 256)[rand 9];
    if ($inner == 0x0800) {
        my $part = rand() < 0.7 ? 0 : int rand 65536;
        $frame .= pack("C C n n n C C n", $first, int rand 256, int rand 2000, 1, $part, 64, $proto, 0) . octets(8);
        $frame .= octets(4 * (($first & 15) - 5)) if ($first & 15) > 5 && rand() < 0.8;
    } elsif ($inner == 0x86dd) {
        $frame .= pack("N n C C", 0x60000000 + int rand 2**28, int rand 2000, $proto, 255) . octets(32);
        $frame .= pack("C C", (58, 17, 0, 60, 43, 44)[rand 6], int rand 5) . octets(6) while rand() < 0.4;
    }
    $frame .= ports() . octets(rand() < 0.5 ? int rand 40 : int rand 1400);
    # Truncated anywhere behind the Ethernet header.
    $frame = substr $frame, 0, 14 + int rand(length($frame) - 14) if rand() < 0.3;
    my $to = pack("S n l S C C a8", 17, $type, $index, 0, 0, 6, substr $frame, 0, 6);
    if (rand() < 0.5) {
        $taken++ if defined send $whole, $frame, 0, $to;
    } else {
        my $header = pack("C C S S S S", 0, 0, rand() < 0.7 ? 14 : int rand length $frame, 0, 0, 0);
        $taken++ if defined send $pieces, $header . $frame, 0, $to;
    }
}
print "$taken\n";
END_OF_PERL

# Results "ERRNO:TIMES …": how many were 0, how many were not.
taken() { echo "$1" | tr ' ' '\n' | awk -F: '$1 == 0 { sum += $2 } END { print sum + 0 }'; }
refused_of() { echo "$1" | tr ' ' '\n' | awk -F: '$1 != 0 { sum += $2 } END { print sum + 0 }'; }

# over_levels FIELD: the sum of a field of `classes`: the second is sent, the fourth queued.
over_levels() { classes | awk -v field="$1" '{ sum += $field } END { print sum + 0 }'; }
nothing_waits() { [ "$(over_levels 4)" = 0 ]; }

count=$((slow > 1 ? 500 : 4000))
wire_up
prioflow
answers=$(a perl netlink.pl "$seed" $count "$(a cat /sys/class/net/v0/ifindex)")
echo "netlink: $answers"
equal "each message is answered" $count $(($(taken "$answers") + $(refused_of "$answers")))
within "some are accepted" $((count / 100)) $count "$(taken "$answers")"
within "and some refused" $((count / 10)) $count "$(refused_of "$answers")"
check "tc shows the options" a tc -s qdisc show dev v0
check "and so does teiji" a teiji flow status v0

answers=$(a perl sockets.pl "$seed" $count)
echo "sockets: $answers"
equal "each option is answered" $count $(($(taken "$answers") + $(refused_of "$answers")))
within "some options are accepted" 1 $count "$(taken "$answers")"

must a tc qdisc del dev v0 root
for by in dscp tos pcp priority; do
    prioflow limit 100000 by $by
    had=$(over_levels 2)
    taken=$(a perl frames.pl "$seed" $((count / 4)) "$(a cat /sys/class/net/v0/ifindex)")
    wait_for 30 nothing_waits
    within "random frames are sent, by $by" $((count / 5)) $((count / 4)) "$taken"
    equal "and each gets a level, by $by" "$taken" "$(($(over_levels 2) - had))"
done

must a tc qdisc del dev v0 root
prioflow by priority
before=$(came)
send 5 20
check "afterwards frames are sent" wait_for 5 has_come $((before + 20))
wire_down
end
