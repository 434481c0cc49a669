//! The kernel inside a bzImage, unpacked on the host: a guest takes seconds to do that itself,
//! and its firmware's loader some more.
//!
//! Layout: Documentation/arch/x86/boot.rst of the kernel's source; how QEMU starts what is
//! inside: PVH, by `XEN_ELFNOTE_PHYS32_ENTRY` (include/xen/interface/elfnote.h).

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{FileHeader64, PT_NOTE};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::{Kernel, KernelError};

/// `setup_sects`: how many sectors of 512 bytes are before the kernel, but one.
const SETUP_SECTORS_AT: usize = 0x1f1;
/// `payload_offset`, counted from there, and `payload_length`.
const PAYLOAD_AT: usize = 0x248;
/// A kernel with this note of Xen's can be started by QEMU without a boot loader.
const PHYS32_ENTRY: u32 = 18;

impl Kernel {
    /// The file to boot: the kernel unpacked into `dir`, or its image where that cannot be
    /// (packed some other way, or one that wants a boot loader).
    ///
    /// # Errors
    /// [`KernelError::Unreadable`] of the image, [`KernelError::Unpacked`] if `dir` cannot be
    /// written.
    pub fn unpacked(&self, dir: &Path) -> Result<PathBuf, KernelError> {
        let image = fs::read(&self.image)
            .map_err(|source| KernelError::Unreadable { path: self.image.clone(), source })?;
        let Some(kernel) = payload(&image).and_then(unpack).filter(|k| starts_by_itself(k)) else {
            return Ok(self.image.clone());
        };
        let path = dir.join(format!("vmlinux-{}", self.release));
        match fs::write(&path, kernel) {
            Ok(()) => Ok(path),
            Err(source) => Err(KernelError::Unpacked { path, source }),
        }
    }
}

/// What is packed in an image; its unpacked length follows in the last four bytes.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let start = (usize::from(*image.get(SETUP_SECTORS_AT)?) + 1) * 512;
    let from = start.checked_add(number(PAYLOAD_AT)?)?;
    image.get(from..from.checked_add(number(PAYLOAD_AT + 4)?)?)
}

/// The kernel, if it is packed in one of the ways that Debian and its users have.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (stream, length) = packed.split_at_checked(packed.len().checked_sub(4)?)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let mut kernel = Vec::with_capacity(length.min(1 << 30));
    let read = match stream {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ruzstd::decoding::StreamingDecoder::new(stream).ok()?.read_to_end(&mut kernel)
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            lzma_rust2::XzReader::new(stream, false).read_to_end(&mut kernel)
        }
        // Its last four bytes are the length already.
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(packed).read_to_end(&mut kernel),
        _ => return None,
    };
    (read.ok()? == length).then_some(kernel)
}

/// Whether QEMU can start it as it is.
fn starts_by_itself(kernel: &[u8]) -> bool {
    entry_note(kernel).unwrap_or(false)
}

fn entry_note(kernel: &[u8]) -> object::Result<bool> {
    let header = FileHeader64::<LittleEndian>::parse(kernel)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, kernel)? {
        if segment.p_type(endian) != PT_NOTE {
            continue;
        }
        let Some(mut notes) = segment.notes(endian, kernel)? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == b"Xen" && note.n_type(endian) == PHYS32_ENTRY {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    /// A bzImage of one sector, then 8 bytes, then what is packed.
    fn image(packed: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[SETUP_SECTORS_AT] = 1;
        let length = u32::try_from(packed.len()).unwrap();
        image[PAYLOAD_AT..PAYLOAD_AT + 4].copy_from_slice(&8_u32.to_le_bytes());
        image[PAYLOAD_AT + 4..PAYLOAD_AT + 8].copy_from_slice(&length.to_le_bytes());
        [&image[..], &[0; 8], packed, b"what follows"].concat()
    }

    fn gzip(kernel: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(kernel).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn what_is_packed_is_found_and_unpacked() {
        let packed = gzip(b"a kernel");
        assert_eq!(payload(&image(&packed)), Some(&packed[..]));
        assert_eq!(unpack(&packed).as_deref(), Some(&b"a kernel"[..]));
    }

    #[test]
    fn damage_and_other_packers_leave_the_image_as_it_is() {
        let mut other_length = gzip(b"a kernel");
        *other_length.last_mut().unwrap() = 1;
        let lz4 = b"\x02\x21\x4c\x18 and so on";
        for packed in [&b""[..], b"\x1f\x8b", b"\x28\xb5\x2f\xfd 1234", &other_length, lz4] {
            assert_eq!(unpack(packed), None, "{packed:?}");
        }
        let whole = image(&gzip(b"a kernel"));
        for length in [0, 0x1f1, 0x24a, 1030] {
            assert_eq!(payload(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_program_without_the_note_does_not_start_by_itself() {
        assert!(!starts_by_itself(&std::fs::read(std::env::current_exe().unwrap()).unwrap()));
        assert!(!starts_by_itself(b"a kernel"));
    }
}
