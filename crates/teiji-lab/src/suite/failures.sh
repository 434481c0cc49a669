# Allocations that fail, one after the other, for scripts about what is undone then.
# (dash; sourced by `. /suite/failures` after the library; debug kernels alone can do it)
#
# The n-th allocation of a command fails for n = 1, 2, …, until there is no n-th:
# /proc/self/fail-nth (Documentation/fault-injection). A filter for the stack says whose
# allocations count: those beneath a function of the kernel, or beneath a module's.

injectors="/sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc"
# More failures than there can be.
plenty=1000000

if [ ! -e /proc/self/fail-nth ]; then
    skip "allocations fail: this kernel can inject no failures; the kernels debug and debug-rt can"
    end
fi
for injector in $injectors; do
    echo N >$injector/ignore-gfp-wait
    echo 0 >$injector/verbose
    echo $plenty >$injector/times
done
echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
# What a debug kernel allocates for its own records is no failure worth the time.
for cache in /sys/kernel/slab/*; do
    case $cache in
        */kmemleak* | */debug_objects*) ;;
        *) echo 1 2>/dev/null >$cache/failslab ;;
    esac
done
echo Y >/sys/kernel/debug/failslab/cache-filter

# beneath FUNCTION / beneath_module MODULE: whose allocations fail from now on.
beneath() {
    # shellcheck disable=SC2046 # two words: its address, and the next one's
    set -- $(awk -v name="$1" 'found { print $1; exit } $3 == name { print $1; found = 1 }' /proc/kallsyms)
    whose "$1" "$2"
}
beneath_module() {
    # shellcheck disable=SC2046 # two words: address and size
    set -- $(awk -v name="$1" '$1 == name { print $6, $2 }' /proc/modules)
    # 64 bits are too many for the shell, but 32 change.
    whose "${1#0x}" "ffffffff$(printf %x $((0x${1#0xffffffff} + $2)))"
}
whose() {
    for injector in $injectors; do
        echo "0x$1" >$injector/require-start
        echo "0x$2" >$injector/require-end
    done
}
# within_frames N: so far above its function an allocation is looked for, at most 32.
within_frames() {
    for injector in $injectors; do echo "$1" >$injector/stacktrace-depth; done
}

# failures: how many have failed so far, in `failures`.
failures() {
    read -r slabs </sys/kernel/debug/failslab/times
    read -r pages </sys/kernel/debug/fail_page_alloc/times
    failures=$((2 * plenty - slabs - pages))
}

# What loads a module's file, for `perl -e`: once. busybox's modprobe tries a second way when the
# first one failed, and then nothing fails any more.
# shellcheck disable=SC2016,SC2034 # perl's own; scripts use it
insert='open(my $file, "<", shift) or die "$!\n";
    syscall(313, fileno($file), my $none = "", 0) == 0 or die "finit_module: $!\n";'

# each SENTENCE UNDO COMMAND…: COMMAND with each allocation failing in turn. When it says
# that it failed, `state` (the script's function) prints what it did before; when it says
# that it worked, that is so once UNDO has taken it back. UNDO must not fail.
each() {
    sentence=$1 undo=$2
    shift 2
    step() { n=$((n + 1)); }
    in_turn "$@"
}
# some …: the same with more and more allocations left out between them.
some() {
    sentence=$1 undo=$2
    shift 2
    step() { n=$((n + 1 + n / 4)); }
    in_turn "$@"
}
in_turn() {
    before=$(state)
    n=0 refusals=0 made=0
    while step; [ $n -le 5000 ]; do
        failures
        count=$failures
        if (echo $n >/proc/self/fail-nth && exec "$@") >said.log 2>&1; then
            result=worked
            if ! $undo >>said.log 2>&1; then
                fail "$sentence: after failure $n, when it $result, it cannot be undone: $(cat said.log)"
                return
            fi
        else
            result=refused
            refusals=$((refusals + 1))
        fi
        after=$(state)
        if [ "$before" != "$after" ]; then
            fail "$sentence: after failure $n, when it was $result: $after, instead of $before"
            return
        fi
        failures
        [ "$failures" != "$count" ] || break
        made=$((made + 1))
    done
    if [ $result != worked ]; then
        fail "$sentence: at $n without any failure it was refused: $(cat said.log)"
    elif [ $made -eq 0 ]; then
        fail "$sentence: nothing was made to fail"
    else
        ok "$sentence: $made failures, $refusals refusals"
        echo "$sentence: $made failures, the last at most the $n., $refusals refusals"
    fi
}
