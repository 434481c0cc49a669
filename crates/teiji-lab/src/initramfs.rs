//! Writes the guest's initial file system: a cpio archive in the `newc` format
//! that the kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

/// A `newc` archive under construction. Entries carry no time, owner or inode
/// of the build machine, so equal contents give equal bytes.
#[derive(Debug)]
pub struct Initramfs<W: Write> {
    out: W,
    written: usize,
    inode: u32,
    directories: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl<W: Write> Initramfs<W> {
    /// An empty archive.
    pub fn new(out: W) -> Self {
        Self { out, written: 0, inode: 1, directories: BTreeSet::new(), others: BTreeSet::new() }
    }

    /// Adds a regular file with `mode` bits such as `0o755`. Missing parent
    /// directories are added. `path` is relative to `/`, without leading slash.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn file(&mut self, path: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, REGULAR | mode, (0, 0), contents)
    }

    /// Adds a directory.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.parents(path)?;
        if self.directories.insert(path.to_owned()) {
            self.entry(path, DIRECTORY | 0o755, (0, 0), &[])?;
        }
        Ok(())
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn symlink(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, SYMLINK | 0o777, (0, 0), target.as_bytes())
    }

    /// Adds a character device node.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn character_device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, CHARACTER | 0o600, (major, minor), &[])
    }

    /// Adds the files and symbolic links below a folder, in the order of their names;
    /// what is in the archive already stays as it is.
    ///
    /// # Errors
    /// If a file of the folder cannot be read, or the output cannot be written.
    pub fn tree(&mut self, root: &Path) -> io::Result<()> {
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let mut entries = fs::read_dir(root.join(&folder))?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let path = format!("{folder}{}", entry.file_name().to_string_lossy());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path + "/");
                } else if self.others.contains(&path) {
                    // An earlier one of this name has precedence.
                } else if kind.is_symlink() {
                    let target = fs::read_link(entry.path())?;
                    self.symlink(&path, &target.to_string_lossy())?;
                } else {
                    let mode = entry.metadata()?.permissions().mode() & 0o777;
                    self.file(&path, mode, &fs::read(entry.path())?)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the trailer and gives the output back.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        for (at, _) in path.match_indices('/') {
            let parent = &path[..at];
            if self.directories.insert(parent.to_owned()) {
                self.entry(parent, DIRECTORY | 0o755, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        device: (u32, u32),
        contents: &[u8],
    ) -> io::Result<()> {
        if mode & DIRECTORY != DIRECTORY {
            self.others.insert(path.to_owned());
        }
        let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "file over 4 GiB");
        let size = u32::try_from(contents.len()).map_err(too_large)?;
        let name_size = u32::try_from(path.len() + 1).map_err(too_large)?;
        let (rdev_major, rdev_minor) = device;
        // Fields in the order of the format: ino, mode, uid, gid, nlink, mtime,
        // filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check.
        let fields =
            [self.inode, mode, 0, 0, 1, 0, size, 0, 0, rdev_major, rdev_minor, name_size, 0];
        self.inode += 1;
        let mut header = String::from("070701");
        for field in fields {
            use std::fmt::Write as _;
            let _ = write!(header, "{field:08X}");
        }
        self.put(header.as_bytes())?;
        self.put(path.as_bytes())?;
        self.put(&[0])?;
        self.pad()?;
        self.put(contents)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len();
        self.out.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = self.written.next_multiple_of(4) - self.written;
        self.put(&[0; 3][..missing])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut archive = Initramfs::new(Vec::new());
        archive.file("init", 0o755, b"#!/bin/true\n").unwrap();
        archive.file("lib/modules/a.ko", 0o644, b"abc").unwrap();
        archive.directory("proc").unwrap();
        archive.symlink("bin/sh", "busybox").unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn a_tree_is_added_in_order_and_gives_way_to_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("usr/bin")).unwrap();
        fs::write(dir.path().join("usr/bin/tc"), "theirs").unwrap();
        fs::write(dir.path().join("b"), "b").unwrap();
        std::os::unix::fs::symlink("b", dir.path().join("a")).unwrap();
        let mut archive = Initramfs::new(Vec::new());
        archive.file("usr/bin/tc", 0o755, b"ours").unwrap();
        archive.tree(dir.path()).unwrap();
        let mut expected = Initramfs::new(Vec::new());
        expected.file("usr/bin/tc", 0o755, b"ours").unwrap();
        expected.symlink("a", "b").unwrap();
        let mode = fs::metadata(dir.path().join("b")).unwrap().permissions().mode() & 0o777;
        expected.file("b", mode, b"b").unwrap();
        assert_eq!(archive.finish().unwrap(), expected.finish().unwrap());
    }

    #[test]
    fn equal_contents_give_equal_bytes() {
        assert_eq!(sample(), sample());
    }

    #[test]
    fn the_cpio_program_lists_what_was_written() {
        let child = Command::new("cpio")
            .args(["-it", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            println!("SKIP the_cpio_program_lists_what_was_written: cpio is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&sample()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        let expected = ["init", "lib", "lib/modules", "lib/modules/a.ko", "proc", "bin", "bin/sh"];
        assert_eq!(listing.lines().collect::<Vec<_>>(), expected);
    }
}
