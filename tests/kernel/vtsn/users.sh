#!/bin/sh
# What the root of a container may not do: make ports, and write settings that are the
# machine's.
#
#     v0 ────── v0p, which moves to a user namespace's network namespace
#
# module: vtsn
# package: iproute2
# package: util-linux
. /suite/lib

said=$(unshare -Urn ip link add v1 type vtsn 2>&1)
contains "a user namespace's root makes no port" "initial user namespace" "$said"
must ip link add v0 type vtsn
must sh -c 'echo 7 >/sys/class/net/v0/vtsn/delay_ns'

# The namespace's own sysfs. Its files belong to the namespace's root.
rm -f inside
unshare -Urnm sh -c 'mount -t sysfs none /sys && echo $$ >inside
    until cd /sys/class/net/v0p/vtsn 2>/dev/null; do sleep 0.1; done
    for file in delay_ns phc_offset_ns phc_wander_ppb; do
        [ ! -w $file ] || echo "$file is writable"
        echo 1000 >$file || echo "$file is refused"
    done
    cat delay_ns' >log 2>&1 &
must wait_for 10 test -s inside
must ip link set v0p netns "$(cat inside)"
wait
for file in delay_ns phc_offset_ns phc_wander_ppb; do
    contains "$file belongs to the root of the namespace" "$file is writable" "$(cat log)"
    contains "but it does not set it" "$file is refused" "$(cat log)"
done
equal "the delay is unchanged" 7 "$(tail -n 1 log)"
gone() { ! ip link show dev v0; }
check "with the namespace both ports are deleted" wait_for 10 gone
end
