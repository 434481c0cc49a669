//! Profiles that start services: applied, looked at, put back, and killed at each step. systemd and linuxptp are
//! emulated by shell scripts, because a container has no systemd; all of it happens in namespaces of the test's own.
//!
//! ```text
//!   own /run, processes and network:  c0 (gets the profile) ── veth ── c1
//! ```

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{IN_SHELL, output_of, root};

/// Emulates `ptp4l`: runs until it is killed, or fails at once.
const PTP4L: &str = "#!/bin/sh
[ -e /run/ptp4l-fails ] && exit 255
while :; do sleep 1; done
";

/// Emulates `systemd-run` and `systemctl`: a unit is a file with the number of its process. Call number
/// /run/kill-at of `teiji apply` kills teiji.
const SYSTEMD: &str = r#"#!/bin/sh
if [ -e /run/kill-at ] && tr '\0' ' ' </proc/$PPID/cmdline | grep -q ' apply '; then
    echo >>/run/calls
    [ "$(wc -l </run/calls)" = "$(cat /run/kill-at)" ] && kill -9 $PPID
fi
for unit; do case $unit in --unit=*) unit=${unit#--unit=}; break;; esac; done
file=/run/units/$unit
runs() { grep -qs '^State:.[^Z]' "/proc/$(cat "$file")/status"; }
case $1 in
show)
    [ -e "$file" ] && load=loaded || load=not-found
    active=inactive
    [ -e "$file" ] && if runs; then active=active; else active=failed; fi
    printf 'LoadState=%s\nActiveState=%s\nNRestarts=0\n' $load $active ;;
reset-failed)
    [ -e "$file" ] || exit 1
    runs || rm "$file" ;;
stop)
    kill -9 "-$(cat "$file")" 2>/dev/null
    rm "$file" ;;
*)
    [ -e "$file" ] && { echo "Unit $unit was already loaded" >&2; exit 1; }
    while [ "$1" != -- ]; do shift; done
    shift
    echo "$*" >>/run/started
    setsid "$@" </dev/null >/dev/null 2>&1 &
    echo $! >"$file" ;;
esac
"#;

const SCRIPT: &str = r#"
mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/units
ip link add c0 type veth peer name c1
cd /run
cat >drive.toml <<'EOF'
[ptp]
role = "grandmaster"
timestamps = "software"
[ports.c0]
gso-max-size = 4000
EOF
printf '[ports.c0]\ngso-max-size = 5000\n' >other.toml
gso() { ip -d link show c0 | sed 's/.*gso_max_size \([0-9]*\).*/\1/; t; d'; }
had=$(gso)
# expect CODE PART COMMAND…: it ends so, and prints that.
expect() {
    code=$1 part=$2
    shift 2
    echo "\$ $*"
    got=0
    "$@" >said 2>&1 || got=$?
    cat said
    [ $got = $code ] || { echo "exit code $got, not $code"; exit 1; }
    grep -qF -- "$part" said || { echo "no '$part'"; exit 1; }
}
# as_before: nothing of a profile is left.
as_before() {
    [ "$(ls units)" = '' ] || { echo "units are left: $(ls units)"; exit 1; }
    [ ! -e teiji/ptp4l.conf ] || { echo 'settings are left'; exit 1; }
    ! pgrep -x ptp4l || { echo 'ptp4l is left'; exit 1; }
    [ "$(gso)" = "$had" ] || { echo "gso_max_size is $(gso)"; exit 1; }
}
# idle: waits until nobody is at work.
idle() {
    for n in $(seq 100); do
        pgrep -f 'teiji (guard|apply)' >/dev/null || return 0
        sleep 0.1
    done
    echo 'a guard is left'
    exit 1
}

# Applied, seen, put back.
expect 4 'teiji-ptp4l.service: not there, configured: active' $teiji diff drive.toml
expect 0 'systemd-run --unit=teiji-ptp4l.service' $teiji apply drive.toml
grep -q 'ptp4l -f /run/teiji/ptp4l.conf -m -i c0$' started
grep -q '^time_stamping software$' teiji/ptp4l.conf
expect 0 'drive.toml, applied at ' $teiji status
expect 0 'this machine has the settings of drive.toml' $teiji diff drive.toml
expect 0 'is applied already' $teiji apply drive.toml

# It ends; it is applied again.
kill -9 -$(cat units/teiji-ptp4l.service)
sleep 0.2
expect 4 'teiji-ptp4l.service: failed, configured: active' $teiji status
expect 0 'drive.toml was put back' $teiji apply drive.toml
expect 0 'drive.toml, applied at ' $teiji status

# Settings that somebody changed.
echo '# by hand' >>teiji/ptp4l.conf
expect 4 'with other settings than the profile' $teiji status
# Another profile in its place, and back.
expect 0 'drive.toml was put back' $teiji apply other.toml
[ ! -e units/teiji-ptp4l.service ] && [ ! -e teiji/ptp4l.conf ]
expect 0 'other.toml was put back' $teiji revert
as_before

# Not confirmed.
expect 0 'put back in 1 s unless' $teiji apply drive.toml --confirm 1s
[ -e units/teiji-ptp4l.service ]
idle
expect 0 'was not confirmed in time' $teiji status
as_before
expect 0 'put back in 60 s unless' $teiji apply drive.toml --confirm 60s
expect 0 'is confirmed' $teiji apply --confirmed
expect 0 'drive.toml, applied at ' $teiji status
expect 0 'everything is as it was' $teiji revert
idle
as_before

# Refused, with a reason; nothing stays, and a profile that was there comes back.
expect 0 'is applied' $teiji apply other.toml
touch ptp4l-fails
expect 1 'ptp4l ended as soon as it was started' $teiji apply drive.toml
grep -q 'journalctl -u teiji-ptp4l.service.* other.toml is applied again' said
rm ptp4l-fails
[ "$(gso)" = 5000 ]
expect 0 'put back' $teiji revert
as_before
ptp4l -i c0 -m &
foreign=$!
sleep 0.2
expect 1 "ptp4l (pid $foreign) synchronises c0 already" $teiji apply drive.toml
grep -q "stop it (kill $foreign)" said
kill -9 $foreign
wait $foreign 2>/dev/null || true
as_before
rmdir systemd/system
expect 1 'run: ptp4l -f /run/teiji/ptp4l.conf -m -i c0' $teiji apply drive.toml
grep -q 'not started by it. Leave `ptp` out' said
mkdir systemd/system
sed 's/timestamps.*//' drive.toml >hardware.toml
expect 1 'c0 has no clock of its own' $teiji apply hardware.toml
sed 's/^role.*/&\ncpu = 9999/' drive.toml >cpu.toml
expect 1 'cpu = 9999, which does not exist' $teiji apply cpu.toml
expect 1 'own network namespace, and this is another' unshare --net sh -c \
    "ip link add c0 type veth peer name c1; $teiji apply drive.toml"
as_before

# Killed at each call of systemd's programs.
for at in $(seq 9); do
    echo "killed at $at"
    echo $at >kill-at
    : >calls
    ended=0
    $teiji apply drive.toml >said 2>&1 || ended=$?
    rm kill-at
    [ $ended = 137 ] || break
    idle
    expect 0 'no profile is applied here' $teiji status
    as_before
done
[ $ended = 0 ] && [ $at -gt 3 ] || { cat said; echo "ended with $ended at $at"; exit 1; }

# The interface goes.
ip link del c0
expect 4 'c0: there is no such interface' $teiji status
expect 0 'drive.toml was put back' $teiji revert
[ "$(ls units)" = '' ] && [ ! -e teiji/ptp4l.conf ]
expect 1 'there is no interface `c0` here' $teiji apply drive.toml
"#;

#[test]
fn ptp_services_are_applied_with_the_profile_or_not_at_all() {
    if !root() || Command::new("ip").arg("-V").output().is_err() {
        println!("SKIP: needs root and iproute2, for namespaces of its own");
        return;
    }
    let programs = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &str| {
        let path = programs.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("ptp4l", PTP4L);
    program("systemctl", SYSTEMD);
    program("systemd-run", SYSTEMD);
    // A file: what is searched for among processes does not stand in its own command line.
    program("script", &format!("teiji={IN_SHELL}\n{SCRIPT}"));
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-e"])
        .arg(programs.path().join("script"))
        .env("PATH", path(programs.path()))
        .env_remove("SSH_CONNECTION")
        .output()
        .unwrap();
    let result = output_of(&output);
    assert_eq!(result.code, 0, "{}\n{}", result.out, result.err);
}

fn path(programs: &Path) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}:/usr/sbin:/sbin", programs.display())
}
