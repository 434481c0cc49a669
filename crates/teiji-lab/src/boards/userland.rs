//! The files of a board's own: who it is, its users, sshd's configuration, and what starts and ends it.

use super::{Access, Name, mac};
use crate::machine::MANAGEMENT_ADDRESS;

/// Debian's packages on every board.
pub const GUEST_PACKAGES: [&str; 11] = [
    "bash",
    "coreutils",
    "ethtool",
    "iproute2",
    "iputils-ping",
    "linuxptp",
    "ncurses-base",
    "openssh-server",
    "procps",
    "tcpdump",
    "util-linux",
];

/// The board's name of the NIC through which the host reaches it.
pub const MANAGEMENT_NIC: &str = "mgmt0";
/// The board's name of the NIC on the wire.
pub const WIRE_NIC: &str = "wire0";

/// The script that starts a board.
pub(crate) const START_PATH: &str = "etc/teiji/start";
/// What the script knows of the board: variables of the shell.
const FACTS_PATH: &str = "etc/teiji/board";
/// What is written here switches the board off.
pub(crate) const POWER_FIFO: &str = "/run/power";

const START: &str = include_str!("start.sh");

const SSHD_CONFIG: &str = "\
# Keys alone: the host has made them.
HostKey /etc/ssh/ssh_host_ed25519_key
PidFile /run/sshd.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
Subsystem sftp internal-sftp
";

/// Busybox is behind Debian's programs.
const PROFILE: &str = "\
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
PS1='\\u@\\h:\\w\\$ '
";

const POWEROFF: &str = "\
#!/bin/sh
# Switches the board off.
echo off >/run/power
";

const REBOOT: &str = "\
#!/bin/sh
echo \"a laboratory board does not restart: end it with poweroff, and start it again on the host with\" \\
    \"teiji lab board $(hostname)\" >&2
exit 1
";

/// What makes a guest this board.
pub struct Userland<'a> {
    /// Its name.
    pub name: &'a Name,
    /// Its keys.
    pub access: &'a Access,
    /// The kernel's release, for people who log in.
    pub kernel: &'a str,
}

impl Userland<'_> {
    /// Its files: path, mode, contents.
    pub fn files(&self) -> Vec<(String, u32, Vec<u8>)> {
        let Self { name, access, kernel } = self;
        let text = |path: &str, text: String| (path.to_owned(), 0o644, text.into_bytes());
        let script = |path: &str, text: &str| (path.to_owned(), 0o755, text.into());
        vec![
            text("etc/passwd", passwd()),
            text("etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n".to_owned()),
            text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
            text("etc/hostname", format!("{name}\n")),
            text("etc/hosts", format!("127.0.0.1 localhost {name}\n")),
            text("etc/profile", PROFILE.to_owned()),
            text("etc/motd", self.motd()),
            text("etc/ssh/sshd_config", SSHD_CONFIG.to_owned()),
            ("etc/ssh/ssh_host_ed25519_key".to_owned(), 0o600, access.host_key.private.clone()),
            ("root/.ssh/authorized_keys".to_owned(), 0o600, line(&access.authorized_key)),
            text("etc/issue", format!("Teiji's laboratory board {name}, {kernel}\n")),
            script(START_PATH, START),
            text(FACTS_PATH, self.facts()),
            script("sbin/poweroff", POWEROFF),
            script("sbin/halt", POWEROFF),
            script("sbin/reboot", REBOOT),
        ]
    }

    fn facts(&self) -> String {
        let name = self.name;
        format!(
            "NAME={name}\n\
             MANAGEMENT_NIC={MANAGEMENT_NIC}\n\
             MANAGEMENT_MAC={}\n\
             MANAGEMENT_ADDRESS={MANAGEMENT_ADDRESS}\n\
             WIRE_NIC={WIRE_NIC}\n\
             WIRE_MAC={}\n\
             POWER_FIFO={POWER_FIFO}\n",
            mac(name, MANAGEMENT_NIC),
            mac(name, WIRE_NIC),
        )
    }

    fn motd(&self) -> String {
        format!(
            "Laboratory board {}: kernel {}, emulated by QEMU; its figures are not representative of real NICs.\n\
             {WIRE_NIC} is on the wire, {MANAGEMENT_NIC} is this SSH connection. Files are lost at power-off.\n",
            self.name, self.kernel
        )
    }
}

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

/// No password fits `*`. sshd has a user for its unprivileged part, tcpdump and others for theirs.
fn passwd() -> String {
    "root:*:0:0:root:/root:/bin/bash\n\
     sshd:*:100:65534::/run/sshd:/usr/sbin/nologin\n\
     tcpdump:*:101:65534::/nonexistent:/usr/sbin/nologin\n\
     nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::HostKey;

    #[test]
    fn a_boards_files_carry_its_name_its_addresses_and_its_keys() {
        let access = Access {
            host_key: HostKey { private: b"private".to_vec(), public: "ssh-ed25519 H".into() },
            authorized_key: "ssh-ed25519 C".into(),
        };
        let name: Name = "left".parse().unwrap();
        let files = Userland { name: &name, access: &access, kernel: "6.12" }.files();
        let file = |path: &str| {
            let (_, mode, bytes) = files.iter().find(|(there, ..)| there == path).unwrap();
            (*mode, String::from_utf8(bytes.clone()).unwrap())
        };
        assert_eq!(file("etc/ssh/ssh_host_ed25519_key"), (0o600, "private".into()));
        assert_eq!(file("root/.ssh/authorized_keys"), (0o600, "ssh-ed25519 C\n".into()));
        let facts = file("etc/teiji/board").1;
        assert!(
            facts.contains("NAME=left\n") && facts.contains("MANAGEMENT_ADDRESS=100.64.0.15/24")
        );
        // Every variable that the script uses is a fact.
        for line in START.lines().filter(|line| !line.trim_start().starts_with('#')) {
            for word in line.split('$').skip(1) {
                let name: String =
                    word.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
                assert!(name.is_empty() || facts.contains(&format!("{name}=")), "{line}");
            }
        }
    }
}
