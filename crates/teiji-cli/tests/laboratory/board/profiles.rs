//! Profiles of boards, applied there and from here.

use std::fs;
use std::time::{Duration, Instant};

use super::desk::Desk;
use crate::common::{self, output_of};

/// A profile that is applied over SSH, also one that cuts the connection. It is applied at the end.
pub fn profiles_over_ssh(desk: &Desk) {
    // etf drops what has no launch time.
    desk.on(
        "left",
        "printf '[ports.mgmt0.qdisc]\nkind = \"etf\"\ndelta = \"1ms\"\n' >cut.toml; \
         printf '[ports.wire0]\nmoderation = { rx = \"20us\" }\nirq = { priority = 61 }\n' >drive.toml",
    );
    let refused = desk.ssh(&[], "left", "teiji apply cut.toml");
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("mgmt0 carries this SSH connection (from "), "{}", refused.err);
    assert!(refused.err.contains("--confirm 60s"), "{}", refused.err);
    let cut = Instant::now();
    // What it prints arrives only once the connection is back.
    assert!(desk.on("left", "teiji apply cut.toml --confirm 3s").contains("cut.toml is applied"));
    assert!(cut.elapsed() >= Duration::from_secs(3), "the connection was never cut");
    let status = desk.on("left", "teiji status");
    assert!(status.contains("cut.toml was not confirmed in time"), "{status}");

    // What the driver (igb) refuses, with a next step.
    desk.on("left", "sed 's/20us/5us/' drive.toml >odd.toml");
    let odd = desk.ssh(&[], "left", "teiji apply odd.toml");
    assert!(
        odd.err.contains("does not take these times") && odd.err.contains("as it was before"),
        "{}",
        odd.err
    );
    let threads = "for t in $(pgrep 'irq/.*wire0'); do chrt -p $t; done; ethtool -c wire0";
    let before = desk.on("left", threads);
    desk.on("left", "teiji apply drive.toml");
    let after = desk.on("left", threads);
    assert!(after.contains("priority: 61") && after.contains("rx-usecs: 20"), "{after}");
    desk.on("left", "teiji revert");
    assert_eq!(desk.on("left", threads), before);
    profiles_from_here(desk, "left", threads, &before);
    let of_right = desk.on("right", threads);
    profiles_from_here(desk, "right", threads, &of_right);
    desk.on("left", "teiji apply drive.toml --confirm 60s && teiji apply --confirmed");
    assert!(desk.on("left", "teiji status").starts_with("drive.toml, applied at "));
}

/// The same by `--on`, which brings its program. `show` prints what the profile changes.
fn profiles_from_here(desk: &Desk, board: &str, show: &str, before: &str) {
    let config = desk.folder().join("config");
    let profile = desk.runtime.path().join("here.toml");
    fs::write(&profile, "[ports.wire0]\nirq = { priority = 62 }\n").unwrap();
    let [config, profile] = [&config, &profile].map(|path| path.to_str().unwrap());
    let on = |words: &[&str]| {
        let board = format!("ssh:{board}");
        let words = [words, &["--on", &board, "--ssh-config", config]].concat();
        output_of(&common::command(&words).output().unwrap())
    };
    let differs = on(&["diff", profile]);
    assert_eq!(differs.code, 4, "{}", differs.err);
    assert!(
        differs.out.contains("interrupt threads: fifo 50, configured: fifo 62"),
        "{}",
        differs.out
    );
    let applied = on(&["apply", profile, "--confirm", "60s"]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    assert!(
        applied.out.contains("here.toml is applied; everything is put back"),
        "{}",
        applied.out
    );
    assert!(desk.on(board, show).contains("priority: 62"));
    assert_eq!(on(&["apply", "--confirmed"]).code, 0);
    let status = on(&["status"]);
    assert!(status.out.contains("here.toml, applied at "), "{}", status.out);
    assert_eq!(on(&["revert"]).code, 0);
    assert_eq!(desk.on(board, show), before);
    // A profile that cuts this connection.
    fs::write(profile, "[ports.mgmt0.qdisc]\nkind = \"etf\"\ndelta = \"1ms\"\n").unwrap();
    let refused = on(&["apply", profile]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("mgmt0 carries this SSH connection (from "), "{}", refused.err);
    let cut = on(&["apply", profile, "--confirm", "3s"]);
    assert_eq!(cut.code, 0, "{}{}", cut.out, cut.err);
    assert!(cut.out.contains("here.toml is applied; everything is put back"), "{}", cut.out);
    let status = on(&["status"]);
    assert!(status.out.contains("here.toml was not confirmed in time"), "{}", status.out);
    fs::write(profile, "[ports.eth9]\nirq = { priority = 62 }\n").unwrap();
    let absent = on(&["apply", profile]);
    assert_eq!(absent.code, 1, "{}", absent.out);
    assert!(
        absent.err.contains(&format!("{board}: teiji: there is no interface `eth9` here")),
        "{}",
        absent.err
    );
    assert_eq!(desk.on(board, "ls -d /tmp/teiji.* 2>/dev/null | wc -l").trim(), "0");
}
