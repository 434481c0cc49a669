//! Which processes have a socket.

use std::fs;
use std::path::Path;

use teiji_net::flow_events::Receiver;

/// Names and process IDs of those that have the receiver's socket open, as far as this user may
/// see them; else of the process that opted it in.
pub fn of_socket(receiver: &Receiver) -> String {
    let wanted = format!("socket:[{}]", receiver.inode);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.bytes().all(|byte| byte.is_ascii_digit()) && has(&entry.path(), &wanted) {
            found.push(named(&name));
        }
    }
    match &found[..] {
        [] => format!("{} (by its opt-in)", named(&receiver.pid.to_string())),
        some => some.join(", "),
    }
}

fn has(process: &Path, wanted: &str) -> bool {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|to| to.as_os_str() == wanted)
}

fn named(pid: &str) -> String {
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match command.trim_end() {
        "" => format!("process {pid}"),
        name => format!("{name} ({pid})"),
    }
}
