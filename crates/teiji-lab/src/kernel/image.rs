//! Looks at a kernel image: for which processors is it, and of which release?
//!
//! Layouts: `Documentation/arch/x86/boot.rst`, `Documentation/arch/arm64/booting.rst` and, for 32-bit
//! ARM, `arch/arm/boot/compressed/head.S` of the kernel's source.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::arch::Arch;

use super::KernelError;

/// `HdrS` at this offset marks the header of a bzImage.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
/// `kernel_version`: offset of the release text, counted from 0x200.
const VERSION_AT: usize = 0x20e;
const VERSION_BASE: usize = 0x200;
/// The release text lies in the set-up part, at most 64 sectors of 512 bytes.
const SETUP_BYTES: u64 = 64 * 512;

/// Marks an arm64 Image.
const ARM64_MAGIC_AT: usize = 0x38;
const ARM64_MAGIC: &[u8] = b"ARM\x64";
/// Marks the zImage of a little-endian 32-bit ARM.
const ZIMAGE_MAGIC_AT: usize = 0x24;
const ZIMAGE_MAGIC: [u8; 4] = 0x016f_2818_u32.to_le_bytes();

/// What an image tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// The processors it is for.
    pub arch: Arch,
    /// Its release, as `uname -r` says it: that of a bzImage, others do not tell.
    pub release: Option<String>,
}

/// Looks at the image at `path`.
pub(crate) fn look(path: &Path) -> Result<Image, KernelError> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SETUP_BYTES).read_to_end(&mut head))
        .map_err(|source| KernelError::Unreadable { path: path.to_owned(), source })?;
    parse(&head).ok_or_else(|| KernelError::NotAnImage { path: path.to_owned() })
}

fn parse(head: &[u8]) -> Option<Image> {
    let marked = |at: usize, magic: &[u8]| head.get(at..at + magic.len()) == Some(magic);
    if marked(MAGIC_AT, MAGIC) {
        let release = Some(bzimage_release(head)?);
        return Some(Image { arch: Arch::X86_64, release });
    }
    if marked(ARM64_MAGIC_AT, ARM64_MAGIC) {
        return Some(Image { arch: Arch::Arm64, release: None });
    }
    marked(ZIMAGE_MAGIC_AT, &ZIMAGE_MAGIC).then_some(Image { arch: Arch::Armhf, release: None })
}

fn bzimage_release(setup: &[u8]) -> Option<String> {
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
    fn the_release_of_a_bzimage_is_read() {
        let release = Some("6.12.1-rt-amd64".to_owned());
        assert_eq!(parse(&image("6.12.1-rt-amd64")), Some(Image { arch: Arch::X86_64, release }));
    }

    #[test]
    fn images_of_arm_are_known_by_their_marks() {
        for (at, magic, arch) in [
            (ARM64_MAGIC_AT, ARM64_MAGIC, Arch::Arm64),
            (ZIMAGE_MAGIC_AT, &ZIMAGE_MAGIC[..], Arch::Armhf),
        ] {
            let mut head = vec![0; 4096];
            head[at..at + 4].copy_from_slice(magic);
            assert_eq!(parse(&head), Some(Image { arch, release: None }));
        }
    }

    #[test]
    fn a_file_that_is_no_kernel_and_one_cut_short_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmlinuz");
        let whole = image("6.12.1");
        for bytes in [&b""[..], b"#!/bin/sh\n", &[0; 5000], &whole[..0x203], &whole[..0x500]] {
            std::fs::write(&path, bytes).unwrap();
            let why = look(&path).unwrap_err();
            assert!(matches!(why, KernelError::NotAnImage { .. }), "{why}");
        }
    }

    #[test]
    fn a_missing_image_and_a_folder_are_reported_with_the_systems_error() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("none"), dir.path().to_owned()] {
            assert!(matches!(look(&path), Err(KernelError::Unreadable { .. })));
        }
    }
}
