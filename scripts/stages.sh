# shellcheck shell=bash
# The stages of ./test: runs them, counts, and sums up. Needs scripts/setup.sh and scripts/processors.sh.

# Longest time of one stage, so that a hanging test ends in a verdict (seconds).
stage_limit_s=7200
readonly TEST_TOOLS="${CARGO_TARGET_DIR:-$PWD/target}/test-tools"

passed=0
failed=0
skipped=0
skips=()
failures=()
left_out=()

# check_test_tools: notes what only the tests need.
check_test_tools() {
    local web=''
    # Debian 12 packages these under another name for its recent cargo.
    [ "$(os_release VERSION_ID)" != 12 ] || web=-web
    if ! cargo fmt --version >/dev/null 2>&1; then
        want "rustfmt$web" "checks the formatting"
    fi
    if ! cargo clippy --version >/dev/null 2>&1; then
        want "rust$web-clippy" "checks the code"
    fi
    need_command shellcheck shellcheck "checks the scripts"
    need_command chromium chromium "opens the report"
    need_command tshark tshark "reads captures independently"
    need_command sockperf sockperf "measures round trips independently"
    need_command ssh openssh-client "reaches boards of the laboratory"
    need_command ip iproute2 "makes test networks"
    need_command ethtool ethtool "looks at NICs independently"
    need_command xz xz-utils "makes a compressed kernel module"
    need_command cpio cpio "reads the guest's file system independently"
    need_command sparse sparse "checks the kernel modules"
    need_command dkms dkms "builds modules as their users do"
    need_command perl perl "runs the kernel's checkpatch"
    need_command mmdebstrap mmdebstrap "makes minimal Debians to try the set-up in"
    need_command python3 python3 "reads records independently"
    python3 -c 'import ensurepip, venv' 2>/dev/null || want python3-venv "holds the Parquet reader"
    local name
    for name in "${PROCESSOR_NAMES[@]}"; do
        check_processor_tools "$name"
    done
    need_command qemu-arm qemu-user "runs programs for ARM"
}

# other_processors: the static program for each of them, which the laboratory's guests run, too; and for
# 32 bits, where numbers may differ, the tests of libraries that have nothing to do with the kernel,
# whose interfaces the emulator of programs does not all know. Those of statistics take minutes there.
other_processors() {
    # shellcheck disable=SC2034  # processor sets all of them
    local name target linker gcc libc library
    # Half of the time that the build would take; how fast it is on ARM, no test says.
    local -x CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
    local -x CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0
    for name in "${PROCESSOR_NAMES[@]}"; do
        processor "$name"
        if ! standard_library "$name"; then
            skipped=$((skipped + 1))
            skips+=("$name: no standard library of Rust for it (see above)")
            continue
        fi
        check "program for $name" scripts/program-for "$name"
        check "it runs on $name" cargo run --quiet --release --locked --package teiji-cli --target "$target" -- \
            check experiments/etf.toml
        # On 64 bits libraries differ in nothing that they do; by hand: scripts/libraries-in-guest arm64.
        [ "$name" != armhf ] || beside_each_other libraries_of_32_bits
    done
}

# libraries_of_32_bits: their tests in a guest, which keeps one processor busy, and meanwhile in the emulator of
# programs. For other_processors.
libraries_of_32_bits() {
    local stage=("libraries on a kernel of $name" scripts/libraries-in-guest "$name") guest
    try "${stage[@]}" &
    guest=$!
    cargo_tests "libraries on $name" --target "$target" --lib \
        --package teiji-core --package teiji-experiment --package teiji-record --package teiji-why
    wait "$guest"
    count "${stage[@]}"
}

# check_kernel_tools: notes what building a kernel needs.
check_kernel_tools() {
    local tool
    for tool in flex bison bc cpio rsync; do
        need_command "$tool" "$tool" "builds the debug kernels"
    done
    need_command xz xz-utils "unpacks their source"
    [ -e /usr/include/libelf.h ] || want libelf-dev "builds the debug kernels"
    [ -e /usr/include/openssl/opensslv.h ] || want libssl-dev "builds the debug kernels"
}

# prepare_checkpatch: the kernel's script of that name, in CHECKPATCH; a debug kernel's
# if there is one, else out of Debian's package of the source. Empty if there is no way.
prepare_checkpatch() {
    local dir="$TEST_TOOLS/checkpatch" started=$SECONDS cached
    CHECKPATCH="$dir/checkpatch.pl"
    [ ! -e "$CHECKPATCH" ] || return 0
    mkdir -p "$dir"
    for cached in "${XDG_CACHE_HOME:-$HOME/.cache}"/teiji/debug-kernels/*/root/build/scripts; do
        [ -e "$cached/checkpatch.pl" ] || continue
        cp "$cached/checkpatch.pl" "$dir/"
        cp "$cached"/spelling.txt "$cached"/const_structs.checkpatch "$dir/" 2>/dev/null || true
        return 0
    done
    say "Fetching linux-source-6.12 for its checkpatch (150 MB) …"
    local package=linux-source-6.12
    # shellcheck disable=SC2016  # the shell below expands it
    if (cd "$dir" && apt-get -qq download "$package") &&
        (cd "$dir" && dpkg-deb --fsys-tarfile "$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" |
            tar -xJ --strip-components=2 "$package/scripts/checkpatch.pl" \
                "$package/scripts/spelling.txt" "$package/scripts/const_structs.checkpatch"); then
        done_line checkpatch "in $dir" "$(seconds_since "$started")"
    else
        say "checkpatch could not be fetched: no way to the package server, or no $package there."
        CHECKPATCH=''
    fi
    rm -f "$dir/$package"_*.deb
}

# kernel_style: checkpatch over all modules. What it is not asked: kernel/compat is there
# to look at versions, and its macros are there to leave arguments out.
kernel_style() {
    if [ -z "$CHECKPATCH" ]; then
        skipped=$((skipped + 1))
        skips+=("kernel style: no checkpatch (see above)")
        return
    fi
    local files
    mapfile -t files < <(find kernel tests/{faults,misbehaving,planted} -name '*.[ch]' | sort)
    check "kernel style" perl "$CHECKPATCH" --no-tree --no-summary --terse --ignore \
        LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED,SINGLE_STATEMENT_DO_WHILE_MACRO \
        --file "${files[@]}"
}

# Kernels that every module is built for.
readonly MODULE_KERNELS="debian:6.1 debian:6.1-rt debian:6.12 debian:6.12-rt debian:newest debian:newest-rt \
debian:6.12-rt/arm64 debian:6.12-rt/armhf"

# kernel_builds: every module for every kernel, any warning being an error. One kernel is fetched while
# modules are built for another.
kernel_builds() {
    beside_each_other for_each_build start_build
    for_each_build count
    # Planted delays and NICs that misbehave are tried on these.
    local kernel
    for kernel in debian:6.1 debian:6.1-rt debian:6.12-rt debian:newest-rt; do
        check "tests' modules for $kernel" "$RELEASE_DIR/teiji" lab build --check --kernel "$kernel" \
            --source tests/planted --source tests/misbehaving
    done
}

# for_each_build FUNCTION: calls it with a name and a command, for each kernel.
for_each_build() {
    local kernel
    for kernel in $MODULE_KERNELS; do
        "$1" "modules for $kernel" "$RELEASE_DIR/teiji" lab build --check --kernel "$kernel"
    done
}

# start_build NAME COMMAND…: tries it beside others.
start_build() {
    wait_for_a_processor
    try "$@" &
}

# fresh_machines: from nothing to a report in a minimal installation of each Debian that README
# promises. The compiler of Debian 13 is the oldest that builds Teiji: there, all of the
# workspace is compiled. And profiles on one that systemd has started.
fresh_machines() {
    check "fresh Debian 12 and 13, oldest Rust" scripts/fresh-trials
    check "profiles under systemd" tests/systemd.sh "$RELEASE_DIR/teiji"
}

# command_tests: what the command does, here and in the laboratory.
command_tests() {
    local file here=()
    for file in crates/teiji-cli/tests/*.rs; do here+=(--test "$(basename "$file" .rs)"); done
    cargo_tests command --release --package teiji-cli --bins "${here[@]}"
    # As many guests as processors: with three on two of them, prioflow's scripts took 1 470 s instead of 680 s.
    cargo_tests laboratory --release --package teiji-cli --test laboratory
}

# Readers of records, experiment files, traces and metrics, which others have written.
readonly PYTHON_PACKAGES=(pyarrow jsonschema perfetto prometheus_client)

# prepare_prometheus: Debian's Prometheus, unpacked and added to PATH; installed, it would start a service. Without
# it its test leaves itself out and says so.
prepare_prometheus() {
    local dir="$TEST_TOOLS/prometheus" started=$SECONDS
    ! have prometheus || return 0
    if [ ! -x "$dir/usr/bin/prometheus" ]; then
        say "Fetching prometheus (20 MB), which scrapes Teiji's metrics …"
        rm -rf "$dir"
        mkdir -p "$dir"
        if (cd "$dir" && apt-get -o APT::Sandbox::User=root --quiet=2 download prometheus &&
            dpkg-deb --extract prometheus_*.deb . && rm prometheus_*.deb); then
            done_line prometheus "in $dir" "$(seconds_since "$started")"
        else
            rm -rf "$dir"
            say "prometheus could not be fetched: no way to a package server? Its test is skipped."
            return 0
        fi
    fi
    PATH=$PATH:$dir/usr/bin
}

# prepare_python: a Python that has what PYTHON_PACKAGES names, in TEIJI_PYTHON. Without one the
# tests that need it skip themselves and say so.
prepare_python() {
    local venv="$TEST_TOOLS/venv" started=$SECONDS modules
    modules=$(printf ', %s' "${PYTHON_PACKAGES[@]}")
    modules=${modules#, }
    if [ -z "${TEIJI_PYTHON:-}" ]; then
        if python3 -c "import $modules" 2>/dev/null; then
            TEIJI_PYTHON=$(command -v python3)
        elif "$venv/bin/python" -c "import $modules" 2>/dev/null; then
            TEIJI_PYTHON=$venv/bin/python
        else
            say "Fetching $modules: independent readers of what Teiji writes …"
            mkdir -p "$TEST_TOOLS"
            if python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "${PYTHON_PACKAGES[@]}"; then
                TEIJI_PYTHON=$venv/bin/python
                done_line python "$modules in $venv" "$(seconds_since "$started")"
            else
                say "$modules could not be fetched: no way to PyPI? Their tests are skipped."
                return 0
            fi
        fi
    fi
    export TEIJI_PYTHON
}

# limited COMMAND…: the command, ended with its children when the stage's time is over or
# ./test is interrupted: `timeout` gives it a process group that the terminal does not reach.
limited() {
    local status=0
    timeout --kill-after=30 "$stage_limit_s" "$@" </dev/null &
    end_jobs_if_interrupted
    wait $! || status=$?
    trap - INT TERM
    return "$status"
}

# Exit code of a command that cannot run on this machine; its last line says why.
readonly CANNOT_RUN=77

# check NAME COMMAND…: a stage that passes or fails as a whole.
check() {
    try "$@"
    count "$@"
}

# log_of NAME: where the output of a stage is; beside it, how it ended.
log_of() { echo "$TEST_TOOLS/${1//[ :,\/]/-}.log"; }

# try NAME COMMAND…: runs a stage, and shows how it ends.
try() {
    local name=$1 log started=$SECONDS status=0
    log=$(log_of "$name")
    shift
    mkdir -p "$TEST_TOOLS"
    if have "$1"; then
        say "… $name"
        limited "$@" >"$log" 2>&1 || status=$?
    else
        echo "no $1 on this machine" >"$log"
        status=$CANNOT_RUN
    fi
    echo "$status" >"$log.status"
    case "$status" in
        0) done_line "$name" "" "$(seconds_since "$started")" ;;
        "$CANNOT_RUN") ;;
        *)
            cat "$log" || true
            printf '✗ %s\n' "$name"
            ;;
    esac
}

# count NAME COMMAND…: counts a stage that was tried.
count() {
    local name=$1 log
    log=$(log_of "$name")
    shift
    case "$(cat "$log.status" || true)" in
        0) passed=$((passed + 1)) ;;
        "$CANNOT_RUN")
            skipped=$((skipped + 1))
            skips+=("$name: $(tail -n 1 "$log")")
            ;;
        *)
            failed=$((failed + 1))
            failures+=("$name: $*")
            ;;
    esac
    rm -f "$log.status"
}

# end_jobs_if_interrupted: what runs in the background hears nothing of an interrupt.
end_jobs_if_interrupted() {
    # shellcheck disable=SC2046  # several
    trap 'kill $(jobs -rp) 2>/dev/null; wait; exit 130' INT TERM
}

# beside_each_other COMMAND…: a function that starts jobs; waits for them.
beside_each_other() {
    end_jobs_if_interrupted
    "$@"
    # `limited` takes it back.
    end_jobs_if_interrupted
    wait
    trap - INT TERM
}

# wait_for_a_processor: until fewer jobs run than there are processors.
wait_for_a_processor() {
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
}

# How many scripts share a debug kernel: its boot and the look at its memory at the end take
# longer than most scripts. Not all of them do: lockdep reports but once a boot, and what
# passed is not run again after an interruption.
readonly SCRIPTS_A_GUEST=3

# tested_by SCRIPT…: the text of all that these scripts test and are made of: themselves, what
# they include, the modules they name.
tested_by() {
    local module
    cat "$@"
    find "$(dirname "$1")" -name '*.inc' | sort | xargs -r cat
    cat crates/teiji-lab/src/suite/*.sh
    for module in compat uapi $(sed -n 's/^# module: //p' "$@" | sort -u); do
        [ ! -d "kernel/$module" ] || find "kernel/$module" -type f ! -name '*.md' | sort | xargs cat
    done
}

# kernel_scripts KERNEL…: every script of every module on each of these kernels, as many
# guests at a time as there are processors. What passed is not run again before one of the
# scripts or modules changes.
kernel_scripts() {
    mkdir -p "$TEST_TOOLS/scripts-passed"
    local -A stamps=() groups=()
    beside_each_other start_kernel_scripts "$@"
    local name
    for name in "${!groups[@]}"; do
        if [ -e "${stamps["$name"]}" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            failures+=("$name: ${groups["$name"]}")
        fi
    done
}

# start_kernel_scripts KERNEL…: starts the groups of scripts that have not passed. Of each group, stamps has the
# file that it leaves if it passes, and groups its command. For kernel_scripts.
start_kernel_scripts() {
    local kernel module stamp index name
    for kernel in "$@"; do
        for module in tests/kernel/*; do
            local scripts=("$module"/*.sh)
            for ((index = 0; index < ${#scripts[@]}; index += SCRIPTS_A_GUEST)); do
                local group=("${scripts[@]:index:SCRIPTS_A_GUEST}")
                name="$kernel-$(basename "$module")-$((index / SCRIPTS_A_GUEST + 1))"
                stamp=$(tested_by "${group[@]}" | sha256sum)
                stamps["$name"]=$TEST_TOOLS/scripts-passed/$name-${stamp:0:16}
                groups["$name"]="teiji lab suite --kernel $kernel ${group[*]}"
                [ ! -e "${stamps["$name"]}" ] || continue
                wait_for_a_processor
                kernel_group "$name" "${stamps["$name"]}" --kernel "$kernel" "${group[@]}" &
            done
        done
    done
}

# kernel_group NAME STAMP ARGUMENTS…: some scripts in one guest, which leave the file STAMP if
# they pass.
kernel_group() {
    local name=$1 stamp=$2 log="$TEST_TOOLS/$1.log" started=$SECONDS
    shift 2
    # Several guests run at once: each line of how far they are says whose it is.
    if limited "$RELEASE_DIR/teiji" lab suite --wall-limit "$stage_limit_s" "$@" \
        >"$log" 2> >(sed -u "s/^ */  $name: /" >&2); then
        cat "$log"
        mv "$log" "$stamp"
        done_line "$name" "" "$(seconds_since "$started")"
    else
        cat "$log"
        printf '✗ %s\n' "$name"
    fi
}

# Lines of cargo's output that show how far it is.
readonly PROGRESS='^(test .* \.\.\. |test result: |     Running |   Doc-tests |test .* has been running for)'

# What the test programs are told; more than this for some stages.
harness_args=(--show-output)

# cargo_tests NAME ARGS…: runs `cargo test ARGS` and adds up its counts. A test that
# prints a line "SKIP: reason" counts as skipped, not as passed; "left out: what and
# why" is said at the end.
cargo_tests() {
    local name=$1 log="$TEST_TOOLS/$1.log" started=$SECONDS status=0 output="$TEST_TOOLS/output" reader
    shift
    mkdir -p "$TEST_TOOLS"
    say "… tests: $name"
    # Not a pipeline: this shell itself has to end the command when it is interrupted.
    rm -f "$output"
    mkfifo "$output"
    tee "$log" <"$output" | { grep --line-buffered -E "$PROGRESS" || true; } &
    reader=$!
    limited cargo test --locked --no-fail-fast "$@" -- "${harness_args[@]}" >"$output" 2>&1 || status=$?
    wait "$reader"
    local ok bad
    ok=$(sum_of passed "$log")
    bad=$(sum_of failed "$log")
    local skip_lines=()
    mapfile -t skip_lines < <(skipped_tests "$log")
    passed=$((passed + ok - ${#skip_lines[@]}))
    failed=$((failed + bad))
    skipped=$((skipped + ${#skip_lines[@]}))
    [ ${#skip_lines[@]} = 0 ] || skips+=("${skip_lines[@]/#/$name: }")
    mapfile -t -O ${#left_out[@]} left_out < <(sed -n 's/^left out: //p' "$log")
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        # It did not compile, a test crashed, or its time was over.
        failed=$((failed + 1))
        failures+=("$name: cargo test $* ended with status $status")
    fi
    if [ "$status" = 0 ] && [ "$ok" = 0 ]; then
        failed=$((failed + 1))
        failures+=("$name: cargo test $* ran no test")
    fi
    mapfile -t -O ${#failures[@]} failures < <(sed -n "s/^test \(.*\) \.\.\. FAILED\$/$name: \1/p" "$log")
    if [ "$status" != 0 ]; then
        # The captured output of failed tests, and the compiler's errors.
        sed -n -e '/^error/,/^$/p' -e '/^failures:$/,/^test result:/p' "$log"
        printf '✗ %s\n' "$name"
    else
        done_line "$name" "$ok tests" "$(seconds_since "$started")"
    fi
}

# sum_of WORD LOG: "… 12 passed; 3 failed; …" added up over all test programs.
sum_of() {
    sed -n "s/^test result: .*[ .]\([0-9][0-9]*\) $1\b.*/\1/p" "$2" |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# skipped_tests LOG: a line "test: reason" for every test that printed SKIP.
# (cargo test --show-output prints the output of each test under its name, after all have run.)
skipped_tests() {
    awk '
        /^---- .* stdout ----$/ { test = $2; next }
        /^SKIP[: ]/ && test != "" && !(test in seen) {
            seen[test] = 1
            sub(/^SKIP:? */, "")
            print test ": " $0
        }
    ' "$1"
}

# summary: what was skipped and what failed, then the closing line.
summary() {
    say ""
    local line
    if [ ${#skips[@]} -gt 0 ]; then
        say "Skipped:"
        for line in "${skips[@]}"; do say "  $line"; done
    fi
    if [ ${#left_out[@]} -gt 0 ]; then
        say "Left out of tests that passed:"
        for line in "${left_out[@]}"; do say "  $line"; done
    fi
    if [ ${#failures[@]} -gt 0 ]; then
        say "Failed:"
        for line in "${failures[@]}"; do say "  $line"; done
    fi
    local closing="$passed passed, $failed failed"
    [ "$skipped" = 0 ] || closing="$closing, $skipped skipped"
    say "$closing"
    [ "$failed" = 0 ]
}
