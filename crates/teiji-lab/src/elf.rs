//! Which libraries a program needs, as the dynamic loader reads it: `DT_NEEDED` and `PT_INTERP`.

use object::elf::{DT_NEEDED, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};
use object::{FileKind, LittleEndian, ReadRef as _};

/// What a program or library asks the system for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// Names of libraries, such as `libc.so.6`.
    pub libraries: Vec<String>,
    /// Path of the dynamic loader; libraries have none.
    pub loader: Option<String>,
}

impl Needs {
    /// Reads a file; one that is no little-endian ELF file, or statically
    /// linked, or damaged, needs nothing that could be found.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let needs = match FileKind::parse(bytes) {
            Ok(FileKind::Elf64) => Self::read::<FileHeader64<LittleEndian>>(bytes),
            Ok(FileKind::Elf32) => Self::read::<FileHeader32<LittleEndian>>(bytes),
            _ => return Self::default(),
        };
        needs.unwrap_or_default()
    }

    fn read<Elf: FileHeader<Endian = LittleEndian>>(bytes: &[u8]) -> object::Result<Self> {
        let header = Elf::parse(bytes)?;
        let endian = header.endian()?;
        let mut needs = Self::default();
        for segment in header.program_headers(endian, bytes)? {
            if segment.p_type(endian) == PT_INTERP {
                if let Ok(path) = segment.data(endian, bytes) {
                    needs.loader = path.read_bytes_at_until(0..path.len() as u64, 0).ok().map(text);
                }
            }
        }
        let sections = header.sections(endian, bytes)?;
        if let Some((entries, strings)) = sections.dynamic(endian, bytes)? {
            let strings = sections.strings(endian, bytes, strings)?;
            for entry in entries.iter().filter(|e| e.tag32(endian) == Some(DT_NEEDED)) {
                needs.libraries.push(text(entry.string(endian, strings)?));
            }
        }
        Ok(needs)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_system_names_its_libraries_and_loader() {
        let Ok(shell) = std::fs::read("/bin/sh") else {
            println!("SKIP: no /bin/sh here");
            return;
        };
        let needs = Needs::of(&shell);
        assert!(needs.libraries.iter().any(|name| name.starts_with("libc.")), "{needs:?}");
        assert!(needs.loader.as_ref().is_some_and(|path| path.contains("ld-")), "{needs:?}");
    }

    #[test]
    fn what_is_no_program_needs_nothing_and_what_is_cut_never_panics() {
        assert_eq!(Needs::of(b"#!/bin/sh\n"), Needs::default());
        let Ok(shell) = std::fs::read("/bin/sh") else { return };
        for end in (0..shell.len()).step_by(97) {
            let _ = Needs::of(&shell[..end]);
        }
    }
}
