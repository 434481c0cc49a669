//! Boards: laboratory guests that people reach by SSH. Which there are on this machine, and who has which
//! end of a wire.
//!
//! ```text
//! boards/                        below $XDG_RUNTIME_DIR/teiji, else in the cache folder
//!   config                       for `ssh -F`: reaches every board by its name
//!   NAME/                        one board: keys, configuration, console.log, qemu.log
//!   NAME.board                   locked while the board runs
//!   WIRE.end0 WIRE.end1          locked while a board has this end of the wire
//!   WIRE.socket                  the wire
//! ```
//!
//! A killed process holds no lock, so what it left behind is known as such and replaced.

mod access;
mod claim;
mod error;
mod name;
mod userland;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use teiji_core::wire::MacAddr;

use crate::machine::{Wire, WireEnd};

pub use access::{Access, HostKey, free_port};
pub use error::BoardError;
pub use name::Name;
pub use userland::{GUEST_PACKAGES, MANAGEMENT_NIC, Userland, WIRE_NIC};
pub(crate) use userland::{POWER_FIFO, START_PATH};

use claim::{Claim, Taken};

/// The longest path of a Unix socket, in bytes (`sun_path` without its zero).
const LONGEST_SOCKET_PATH: usize = 107;

/// The boards of this user on this machine.
#[derive(Debug)]
pub struct Boards {
    dir: PathBuf,
}

/// A board that this process runs. Dropping it removes what it has on the host.
#[derive(Debug)]
pub struct Board {
    /// Its name.
    pub name: Name,
    /// Its folder.
    pub dir: PathBuf,
    /// Its end of the wire.
    pub wire: Wire,
    _claims: [Claim; 2],
}

impl Boards {
    /// The folder of boards, which is created if needed.
    ///
    /// # Errors
    /// [`BoardError::Io`] if it cannot be created.
    pub fn open(cache: &Path) -> Result<Self, BoardError> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|dir| dir.is_absolute() && dir.is_dir());
        let base = runtime.map_or_else(|| cache.to_owned(), |dir| dir.join("teiji"));
        Self::open_at(&base.join("boards"))
    }

    fn open_at(dir: &Path) -> Result<Self, BoardError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|e| BoardError::io("create", dir, e))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// The configuration for `ssh -F` that reaches all boards.
    pub fn ssh_config(&self) -> PathBuf {
        self.dir.join("config")
    }

    /// Takes a name and an end of a wire, with an empty folder.
    ///
    /// # Errors
    /// [`BoardError::NameInUse`] or [`BoardError::WireInUse`] if others have them;
    /// [`BoardError::LongPath`] or [`BoardError::Io`] if the folder does not do.
    pub fn take(&self, name: &Name, wire: &Name) -> Result<Board, BoardError> {
        let held = |by| BoardError::NameInUse { name: name.clone(), by, config: self.ssh_config() };
        let process = format!("process {}", std::process::id());
        let of_name = match Claim::take(&self.dir.join(format!("{name}.board")), &process)? {
            Taken::Mine(claim) => claim,
            Taken::Held { by } => return Err(held(by)),
        };
        let (of_end, wire) = self.take_end(wire, &format!("{name} ({process})"))?;
        let dir = self.dir.join(name.as_str());
        match fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(BoardError::io("remove", &dir, e));
            }
            _ => {}
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .map_err(|e| BoardError::io("create", &dir, e))?;
        Ok(Board { name: name.clone(), dir, wire, _claims: [of_name, of_end] })
    }

    fn take_end(&self, wire: &Name, holder: &str) -> Result<(Claim, Wire), BoardError> {
        let path = self.dir.join(format!("{wire}.socket"));
        if path.as_os_str().len() > LONGEST_SOCKET_PATH {
            return Err(BoardError::LongPath { path });
        }
        let mut holders = Vec::new();
        for (index, end) in [WireEnd::Listening, WireEnd::Connecting].into_iter().enumerate() {
            match Claim::take(&self.dir.join(format!("{wire}.end{index}")), holder)? {
                Taken::Mine(claim) => return Ok((claim, Wire::Socket { path, end })),
                Taken::Held { by } => holders.push(by),
            }
        }
        Err(BoardError::WireInUse { wire: wire.clone(), by: holders.join(" and ") })
    }
}

impl Board {
    /// A file of its folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // What stays is replaced by the next board of this name.
        let _ = fs::remove_dir_all(&self.dir);
        if let Wire::Socket { path, end: WireEnd::Listening } = &self.wire {
            let _ = fs::remove_file(path);
        }
    }
}

/// The address of a board's NIC: the same each time, and another for each board. `what` is the NIC's name.
pub fn mac(board: &Name, what: &str) -> MacAddr {
    let digest = Sha256::digest(format!("{board} {what}"));
    let mut bytes: [u8; 6] = std::array::from_fn(|index| digest[index]);
    // Locally administered, of one station.
    bytes[0] = 0x02;
    MacAddr(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    #[test]
    fn a_wire_has_two_ends_and_a_name_one_board() {
        let dir = tempfile::tempdir().unwrap();
        let boards = Boards::open_at(dir.path()).unwrap();
        let end = |board: &Board| match &board.wire {
            Wire::Socket { end, .. } => *end,
            Wire::Hub(_) => panic!("no socket"),
        };
        let line = name("line");
        let a = boards.take(&name("a"), &line).unwrap();
        let b = boards.take(&name("b"), &line).unwrap();
        assert_eq!([end(&a), end(&b)], [WireEnd::Listening, WireEnd::Connecting]);
        let why = boards.take(&name("a"), &name("other")).unwrap_err().to_string();
        assert!(why.contains("`a`") && why.contains(&std::process::id().to_string()), "{why}");
        let why = boards.take(&name("c"), &line).unwrap_err().to_string();
        assert!(why.contains("`line`") && why.contains("a (process"), "{why}");
        assert!(why.contains("b (process") && why.contains("--wire"), "{why}");
        // The free end is the one that the next board gets.
        drop(a);
        assert!(!dir.path().join("a").exists());
        assert_eq!(end(&boards.take(&name("c"), &line).unwrap()), WireEnd::Listening);
        drop(b);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_of_a_killed_board_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let boards = Boards::open_at(dir.path()).unwrap();
        for file in ["a.board", "line.end0", "line.socket"] {
            fs::write(dir.path().join(file), "a (process 1)").unwrap();
        }
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/config"), "old").unwrap();
        let board = boards.take(&name("a"), &name("line")).unwrap();
        assert_eq!(fs::read_dir(&board.dir).unwrap().count(), 0);
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let boards = Boards::open_at(&dir.path().join("long".repeat(25))).unwrap();
        let why = boards.take(&name("a"), &name("line")).unwrap_err().to_string();
        assert!(why.contains("107 bytes") && why.contains("XDG_RUNTIME_DIR"), "{why}");
    }

    #[test]
    fn every_nic_of_every_board_has_an_address_of_its_own() {
        let all = [("a", "wire0"), ("a", "mgmt0"), ("b", "wire0"), ("b", "mgmt0")];
        let mut macs: Vec<String> =
            all.iter().map(|(board, nic)| mac(&name(board), nic).to_string()).collect();
        assert!(macs.iter().all(|mac| mac.starts_with("02:")));
        macs.sort();
        macs.dedup();
        assert_eq!(macs.len(), all.len());
    }
}
