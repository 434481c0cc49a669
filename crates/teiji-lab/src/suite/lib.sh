# What test scripts in the guest are written with: each sentence about the module
# under test is written down as it is found true or not, and the last line is `end`.
# (dash; sourced by `. /suite/lib`)

set -u

# How many times as long as any other kernel a debug kernel takes, at most: for periods,
# margins and lifetimes that a command or a frame must be quicker than.
# shellcheck disable=SC2034 # for the scripts
slow=1
[ ! -e /sys/kernel/debug/kmemleak ] || slow=20

# ok SENTENCE: it is true.
ok() { printf 'ok %s\n' "$*" >>"$RESULTS"; }

# fail SENTENCE: it is not.
fail() {
    printf 'fail %s\n' "$(printf '%s' "$*" | tr '\n' ' ')" >>"$RESULTS"
    printf 'FAIL %s\n' "$*"
}

# skip SENTENCE: it cannot be tried here, with the reason.
skip() { printf 'skip %s\n' "$*" >>"$RESULTS"; }

# timely CHECK SENTENCE …: as CHECK, for what is over before a debug kernel has looked.
timely() {
    if [ $slow -gt 1 ]; then skip "$2: a debug kernel takes longer than that"; else "$@"; fi
}

# end: the script has come to its end. Anything that leaves earlier has failed.
end() { printf 'end\n' >>"$RESULTS"; exit 0; }

# check SENTENCE COMMAND…: true if the command succeeds.
check() {
    sentence=$1
    shift
    if said=$("$@" 2>&1); then ok "$sentence"; else fail "$sentence: \`$*\` ended with $?: $said"; fi
}

# refused SENTENCE COMMAND…: true if the command fails by itself, not by a signal.
refused() {
    sentence=$1
    shift
    said=$("$@" 2>&1)
    status=$?
    if [ "$status" -gt 0 ] && [ "$status" -lt 126 ]; then
        ok "$sentence"
    else
        fail "$sentence: \`$*\` ended with $status: $said"
    fi
}

# equal SENTENCE WANTED FOUND
equal() {
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: $3 instead of $2"; fi
}

# within SENTENCE LOW HIGH FOUND: integers, the bounds included.
within() {
    if [ "$4" -ge "$2" ] 2>/dev/null && [ "$4" -le "$3" ]; then
        ok "$1"
    else
        fail "$1: $4 is not from $2 to $3"
    fi
}

# contains SENTENCE PART TEXT
contains() {
    case "$3" in
        *"$2"*) ok "$1" ;;
        *) fail "$1: no \`$2\` in: $3" ;;
    esac
}

# wait_for SECONDS COMMAND…: until the command succeeds; fails when the time is over.
wait_for() {
    tenths=$(($1 * 10))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$tenths" -gt 0 ] || return 1
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

# has_ended PID: the process runs no more. A zombie is one that nobody has waited for.
has_ended() { ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null; }

# must COMMAND…: needed to go on; if it fails, so does the script.
must() {
    said=$("$@" 2>&1) && return
    fail "set-up: \`$*\` ended with $?: $said"
    end
}
