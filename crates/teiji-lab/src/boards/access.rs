//! How this host reaches a board by SSH: keys of both sides, and configuration files for `ssh -F`.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Board, BoardError, Boards};

/// The key pair by which a board is known.
#[derive(Clone, Debug)]
pub struct HostKey {
    /// The file for sshd.
    pub private: Vec<u8>,
    /// The line of its public half.
    pub public: String,
}

/// The keys of a board, whose public halves each side knows of the other.
#[derive(Debug)]
pub struct Access {
    /// What proves that the board is the board; for its file system.
    pub host_key: HostKey,
    /// The line of `authorized_keys` on the board.
    pub authorized_key: String,
}

/// Files of a board's folder.
const IDENTITY: &str = "id_ed25519";
const HOST_KEY: &str = "host_key";
const KNOWN_HOSTS: &str = "known_hosts";
const CONFIG: &str = "config";

impl Access {
    /// Whether the keys can be made here.
    ///
    /// # Errors
    /// [`BoardError::NoKeygen`] if `ssh-keygen` is not in PATH.
    pub fn possible() -> Result<(), BoardError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).any(|dir| dir.join("ssh-keygen").is_file());
        if found { Ok(()) } else { Err(BoardError::NoKeygen) }
    }

    /// Makes the keys of a board. The host's half of them stays in the board's folder.
    ///
    /// # Errors
    /// [`BoardError::NoKeygen`] or [`BoardError::Keygen`] if there are no keys,
    /// [`BoardError::Io`] if the folder cannot be written.
    pub fn make(board: &Board) -> Result<Self, BoardError> {
        let identity = board.file(IDENTITY);
        keygen(&identity, &format!("Teiji's board {}", board.name))?;
        let host_key = board.file(HOST_KEY);
        keygen(&host_key, board.name.as_str())?;
        let read = |path: &Path| fs::read(path).map_err(|e| BoardError::io("read", path, e));
        let public = |path: &Path| {
            let path = path.with_extension("pub");
            Ok::<_, BoardError>(String::from_utf8_lossy(&read(&path)?).trim().to_owned())
        };
        let access = Self {
            host_key: HostKey { private: read(&host_key)?, public: public(&host_key)? },
            authorized_key: public(&identity)?,
        };
        for path in [host_key.with_extension("pub"), host_key] {
            fs::remove_file(&path).map_err(|e| BoardError::io("remove", &path, e))?;
        }
        let known = format!("{} {}\n", board.name, access.host_key.public);
        write(&board.file(KNOWN_HOSTS), &known)?;
        Ok(access)
    }
}

impl Board {
    /// Writes the board's configuration for `ssh -F`: it is at this port of 127.0.0.1.
    ///
    /// # Errors
    /// [`BoardError::Io`] if the file cannot be written.
    pub fn write_ssh_config(&self, port: u16) -> Result<(), BoardError> {
        let (name, file) = (&self.name, |name| quoted(&self.file(name)));
        let text = format!(
            "Host {name}\n    \
             HostName 127.0.0.1\n    \
             Port {port}\n    \
             User root\n    \
             HostKeyAlias {name}\n    \
             IdentityFile {}\n    \
             IdentitiesOnly yes\n    \
             IdentityAgent none\n    \
             PreferredAuthentications publickey\n    \
             StrictHostKeyChecking yes\n    \
             UserKnownHostsFile {}\n    \
             GlobalKnownHostsFile none\n    \
             UpdateHostKeys no\n",
            file(IDENTITY),
            file(KNOWN_HOSTS)
        );
        write(&self.file(CONFIG), &text)
    }
}

impl Boards {
    /// Writes the configuration that has those of all boards, and leaves an equal one alone.
    ///
    /// # Errors
    /// [`BoardError::Io`] if the file cannot be written.
    pub fn write_ssh_config(&self) -> Result<(), BoardError> {
        // ssh would look for a relative path in ~/.ssh. What `%` stands for it replaces in files alone.
        let all = self.dir.join("*").join(CONFIG);
        let text = format!("Include \"{}\"\n", all.display());
        let path = self.ssh_config();
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        write(&path, &text)
    }
}

/// A port of 127.0.0.1 that nobody listens on now.
///
/// # Errors
/// [`BoardError::NoPort`] if there is none.
pub fn free_port() -> Result<u16, BoardError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(BoardError::NoPort)
}

fn write(path: &Path, text: &str) -> Result<(), BoardError> {
    fs::write(path, text).map_err(|e| BoardError::io("write", path, e))
}

/// A path as ssh reads it from its configuration.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

fn keygen(path: &PathBuf, comment: &str) -> Result<(), BoardError> {
    let output = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f"])
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BoardError::NoKeygen,
            _ => BoardError::Keygen { path: path.clone(), message: error.to_string() },
        })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(BoardError::Keygen { path: path.clone(), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::Name;

    /// The configuration that ssh uses, by `ssh -G`.
    fn effective_config(config: &Path, host: &str) -> Option<String> {
        let output = Command::new("ssh").arg("-G").arg("-F").arg(config).arg(host).output();
        let Ok(output) = output else {
            println!("SKIP: no ssh here");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    fn ssh_reads_the_configurations_of_all_boards_also_from_odd_folders() {
        let dir = tempfile::tempdir().unwrap();
        let boards = Boards::open_at(&dir.path().join("my 100% boards")).unwrap();
        let name = |text: &str| text.parse::<Name>().unwrap();
        let line = name("line");
        let all = ["a", "b"].map(|board| boards.take(&name(board), &line).unwrap());
        for (board, port) in all.iter().zip([40_001, 40_002]) {
            board.write_ssh_config(port).unwrap();
        }
        boards.write_ssh_config().unwrap();
        for (board, port) in all.iter().zip([40_001, 40_002]) {
            let Some(config_text) = effective_config(&boards.ssh_config(), board.name.as_str())
            else {
                return;
            };
            let has = |line: &str| config_text.lines().any(|there| there == line);
            assert!(has(&format!("port {port}")) && has("hostname 127.0.0.1"), "{config_text}");
            assert!(has("user root") && has("stricthostkeychecking true"), "{config_text}");
            // The file is the folder's; -G shows it as written.
            let identity =
                format!("{}/my 100%% boards/{}/id_ed25519", dir.path().display(), board.name);
            assert!(has(&format!("identityfile {identity}")), "{config_text}");
        }
    }

    #[test]
    fn keys_are_made_and_the_host_keeps_its_half() {
        let dir = tempfile::tempdir().unwrap();
        let boards = Boards::open_at(dir.path()).unwrap();
        let board = boards.take(&"a".parse().unwrap(), &"line".parse().unwrap()).unwrap();
        let access = match Access::make(&board) {
            Err(why @ BoardError::NoKeygen) => return println!("SKIP: {why}"),
            other => other.unwrap(),
        };
        assert!(access.authorized_key.starts_with("ssh-ed25519 "));
        assert!(access.host_key.private.starts_with(b"-----BEGIN OPENSSH PRIVATE KEY-----"));
        let known = fs::read_to_string(board.file(KNOWN_HOSTS)).unwrap();
        assert_eq!(known.trim(), format!("a {}", access.host_key.public));
        assert!(board.file(IDENTITY).exists() && !board.file(HOST_KEY).exists());
    }
}
