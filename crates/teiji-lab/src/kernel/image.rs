//! Looks at a kernel image: is it a bzImage, and of which release?
//!
//! Layout: Documentation/arch/x86/boot.rst of the kernel's source.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::KernelError;

/// `HdrS` at this offset marks the boot protocol's header.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
/// `kernel_version`: offset of the release text, counted from 0x200.
const VERSION_AT: usize = 0x20e;
const VERSION_BASE: usize = 0x200;
/// The release text lies in the set-up part, at most 64 sectors of 512 bytes.
const SETUP_BYTES: u64 = 64 * 512;

/// Release (as `uname -r` says it) of the bzImage at `path`.
pub(crate) fn release(path: &Path) -> Result<String, KernelError> {
    let mut setup = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SETUP_BYTES).read_to_end(&mut setup))
        .map_err(|source| KernelError::Unreadable { path: path.to_owned(), source })?;
    parse(&setup).ok_or_else(|| KernelError::NotAnImage { path: path.to_owned() })
}

fn parse(setup: &[u8]) -> Option<String> {
    if setup.get(MAGIC_AT..MAGIC_AT + MAGIC.len())? != MAGIC {
        return None;
    }
    let offset = setup.get(VERSION_AT..VERSION_AT + 2)?;
    let start = VERSION_BASE + usize::from(u16::from_le_bytes(offset.try_into().ok()?));
    let text = setup.get(start..)?.split(|&b| b == 0 || b == b' ').next()?;
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The set-up part of a kernel of this release.
    pub(crate) fn image(release: &str) -> Vec<u8> {
        let mut setup = vec![0; 4096];
        setup[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        setup[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x400_u16.to_le_bytes());
        let text = format!("{release} (debian-kernel@lists.debian.org) #1 SMP PREEMPT_RT\0");
        setup[0x600..0x600 + text.len()].copy_from_slice(text.as_bytes());
        setup
    }

    #[test]
    fn the_release_is_read_from_the_header() {
        assert_eq!(parse(&image("6.12.1-rt-amd64")).as_deref(), Some("6.12.1-rt-amd64"));
    }

    #[test]
    fn a_file_that_is_no_kernel_and_one_cut_short_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmlinuz");
        let whole = image("6.12.1");
        for bytes in [&b""[..], b"#!/bin/sh\n", &[0; 5000], &whole[..0x203], &whole[..0x500]] {
            std::fs::write(&path, bytes).unwrap();
            let why = release(&path).unwrap_err();
            assert!(matches!(why, KernelError::NotAnImage { .. }), "{why}");
        }
    }

    #[test]
    fn a_missing_image_and_a_folder_say_what_the_system_said() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("none"), dir.path().to_owned()] {
            assert!(matches!(release(&path), Err(KernelError::Unreadable { .. })));
        }
    }
}
