//! `teiji flow run` and `teiji flow adopt` on a machine whose kernel has no prioflow; with the module
//! they are tested in a guest (tests/kernel/prioflow/with-programs.sh).

mod common;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use common::{command, teiji};

/// Says so, and is true, where the test is about a kernel without the module.
fn has_module() -> bool {
    let loaded = Path::new("/proc/sys/net/prioflow").exists();
    if loaded {
        println!("SKIP: prioflow is loaded");
    }
    loaded
}

#[test]
fn a_program_is_not_started_without_flow_control() {
    if has_module() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("started");
    let result = teiji(&["flow", "run", "--send", "--", "touch", file.to_str().unwrap()]);
    assert_eq!((result.code, &result.out[..]), (1, ""), "{}", result.err);
    assert!(result.err.contains("touch is not started"), "{}", result.err);
    assert!(result.err.contains("teiji flow enable"), "{}", result.err);
    assert!(!file.exists());
    let result = teiji(&["flow", "run", "--receive", "3", "true"]);
    assert_eq!(result.code, 1, "{}", result.err);
    assert!(result.err.contains("load the module prioflow"), "{}", result.err);
}

#[test]
fn if_it_may_be_missing_the_program_is_as_without_teiji() {
    if has_module() {
        return;
    }
    let run = |script: &str| {
        command(&["flow", "run", "--send", "--if-available", "--", "sh", "-c", script])
            .output()
            .unwrap()
    };
    let output = run("echo \"$PPID\"; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, format!("{}\n", std::process::id()).as_bytes(), "its parent");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.starts_with("teiji: sh starts without flow control: "), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert_eq!(run("kill -TERM $$").status.signal(), Some(15));
    let missing = teiji(&["flow", "run", "--send", "--if-available", "/no/such/program"]);
    assert_eq!(missing.code, 127, "{}", missing.err);
    let no_program = teiji(&["flow", "run", "--send", "--if-available", "/"]);
    assert_eq!(no_program.code, 126, "{}", no_program.err);
}

#[test]
fn a_direction_is_required() {
    let result = teiji(&["flow", "run", "true"]);
    assert_eq!(result.code, 2, "{}", result.err);
    assert!(result.err.contains("--send, --receive LEVEL, or both"), "{}", result.err);
    let result = teiji(&["flow", "adopt", "1"]);
    assert_eq!(result.code, 2, "{}", result.err);
}

#[test]
fn what_cannot_be_adopted_is_explained() {
    let result = teiji(&["flow", "adopt", "1073741823", "--send"]);
    assert_eq!(result.code, 1, "{}", result.err);
    assert!(result.err.contains("there is no process 1073741823"), "{}", result.err);
    // A process without UDP socket: a child, which this one may look at.
    let mut idle = Command::new("sleep").arg("60").spawn().unwrap();
    let result = teiji(&["flow", "adopt", &idle.id().to_string(), "--send"]);
    idle.kill().unwrap();
    idle.wait().unwrap();
    if result.err.contains("no permission") {
        return println!("SKIP: {}", result.err);
    }
    assert_eq!(result.code, 1, "{}", result.err);
    assert!(result.err.contains("has no UDP socket now"), "{}", result.err);
    let _tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = udp.local_addr().unwrap().port();
    let own = std::process::id().to_string();
    let result = teiji(&["flow", "adopt", &own, "--send", "--fd", "999999"]);
    assert!(result.err.contains("it has descriptor"), "{}", result.err);
    assert!(result.err.contains(&format!("bound to 127.0.0.1:{port}")), "{}", result.err);
    if !has_module() {
        let result = teiji(&["flow", "adopt", &own, "--receive", "3", "--port", &port.to_string()]);
        assert_eq!(result.code, 1, "{}", result.err);
        assert!(result.err.contains("load the module prioflow"), "{}", result.err);
    }
}

#[test]
fn the_drop_ins_of_the_documentation_are_valid() {
    let text = fs::read_to_string(common::repository().join("docs/flow-programs.md")).unwrap();
    let blocks: Vec<&str> =
        text.split("```ini\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    assert!(blocks[0].contains("\nExecStart=\nExecStart=/usr/local/bin/teiji flow run"));
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return println!("SKIP: no systemd-analyze");
    }
    let dir = tempfile::tempdir().unwrap();
    let drop_ins = dir.path().join("talker.service.d");
    fs::create_dir(&drop_ins).unwrap();
    let unit = dir.path().join("talker.service");
    fs::write(&unit, "[Service]\nExecStart=/bin/true --verbose\n").unwrap();
    for (number, block) in blocks.iter().enumerate() {
        // Programs that exist here.
        let block = block.replace("/usr/local/bin/teiji", env!("CARGO_BIN_EXE_teiji"));
        let block = block.replace("/usr/bin/talker", "/bin/true");
        fs::write(drop_ins.join(format!("{number}.conf")), block).unwrap();
    }
    let verify = || Command::new("systemd-analyze").arg("verify").arg(&unit).output().unwrap();
    let output = verify();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !err.contains("talker.service"), "{err}");
    // What the check would find: two commands.
    fs::write(drop_ins.join("0.conf"), "[Service]\nExecStart=/bin/true\n").unwrap();
    let err = String::from_utf8_lossy(&verify().stderr).into_owned();
    assert!(err.contains("talker.service"), "{err}");
}
