#!/bin/sh
# The tests of the libraries that call the kernel, on a kernel of their processor;
# scripts/libraries-in-guest brings their programs.
# package: iproute2
# package: ethtool
# module: veth
. /suite/lib
must ip link set lo up
for program in /root/tests-of-*; do
    # Beside others, some measure times.
    check "${program#/root/}" "$program" --test-threads 1
done
end
