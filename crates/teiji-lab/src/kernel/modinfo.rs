//! Reads what a kernel module says of itself: the `.modinfo` section of its ELF file.

use object::{Architecture, Object as _, ObjectSection as _};

use crate::arch::Arch;

/// What a module's file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModInfo {
    /// The processors it is for; `None` if they are others than guests can have.
    pub arch: Option<Arch>,
    /// Its `key=value` texts, in the order of the file.
    texts: Vec<(String, String)>,
}

impl ModInfo {
    /// Parses the bytes of an uncompressed module; `None` when they are none.
    pub(crate) fn parse(elf: &[u8]) -> Option<Self> {
        let file = object::File::parse(elf).ok()?;
        let section = file.section_by_name(".modinfo")?;
        let texts = section
            .data()
            .ok()?
            .split(|&byte| byte == 0)
            .filter_map(|text| {
                let (key, value) = std::str::from_utf8(text).ok()?.split_once('=')?;
                Some((key.to_owned(), value.to_owned()))
            })
            .collect();
        let arch = match file.architecture() {
            Architecture::X86_64 => Some(Arch::X86_64),
            Architecture::Aarch64 => Some(Arch::Arm64),
            Architecture::Arm => Some(Arch::Armhf),
            _ => None,
        };
        Some(Self { arch, texts })
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Names of the modules that must be loaded before this one.
    pub(crate) fn depends(&self) -> impl Iterator<Item = &str> {
        self.get("depends").unwrap_or_default().split(',').filter(|name| !name.is_empty())
    }

    /// Other names by which the kernel may request it.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().filter(|(key, _)| key == "alias").map(|(_, alias)| alias.as_str())
    }

    /// Release of the kernel it was built for, as `uname -r` says it.
    pub(crate) fn release(&self) -> Option<&str> {
        self.get("vermagic")?.split(' ').next()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `e_ident` of 64-bit little-endian ELF of version 1.
    const ELF64_LITTLE_ENDIAN: &[u8] = b"\x7fELF\x02\x01\x01";
    /// Offsets in the ELF header (gABI, figure 4-3).
    const E_MACHINE: usize = 0x12;
    const E_SHOFF: usize = 0x28;
    const E_SHENTSIZE: usize = 0x3a;
    const E_SHNUM: usize = 0x3c;
    const E_SHSTRNDX: usize = 0x3e;
    /// Offsets in a section header (gABI, figure 4-8), and types of sections (figure 4-9).
    const SH_TYPE: usize = 0x04;
    const SH_OFFSET: usize = 0x18;
    const SH_SIZE: usize = 0x20;
    const SHT_PROGBITS: u32 = 1;
    const SHT_STRTAB: u32 = 3;
    const EM_X86_64: u16 = 62;

    /// The smallest ELF file that carries these modinfo texts.
    pub(crate) fn module(texts: &[&str]) -> Vec<u8> {
        let info: Vec<u8> = texts.iter().flat_map(|t| t.bytes().chain([0])).collect();
        let names = b"\0.modinfo\0.shstrtab\0";
        let mut elf = vec![0; 64];
        elf[..7].copy_from_slice(ELF64_LITTLE_ENDIAN);
        elf[E_MACHINE..E_MACHINE + 2].copy_from_slice(&EM_X86_64.to_le_bytes());
        let info_at = elf.len() as u64;
        elf.extend(&info);
        let names_at = elf.len() as u64;
        elf.extend(names);
        let headers_at = elf.len() as u64;
        for (name, kind, offset, size) in [
            (0_u32, 0_u32, 0, 0),
            (1, SHT_PROGBITS, info_at, info.len() as u64),
            (10, SHT_STRTAB, names_at, names.len() as u64),
        ] {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[SH_TYPE..SH_TYPE + 4].copy_from_slice(&kind.to_le_bytes());
            header[SH_OFFSET..SH_OFFSET + 8].copy_from_slice(&offset.to_le_bytes());
            header[SH_SIZE..SH_SIZE + 8].copy_from_slice(&size.to_le_bytes());
            elf.extend(header);
        }
        elf[E_SHOFF..E_SHOFF + 8].copy_from_slice(&headers_at.to_le_bytes());
        elf[E_SHENTSIZE..E_SHENTSIZE + 2].copy_from_slice(&64_u16.to_le_bytes());
        elf[E_SHNUM..E_SHNUM + 2].copy_from_slice(&3_u16.to_le_bytes());
        elf[E_SHSTRNDX..E_SHSTRNDX + 2].copy_from_slice(&2_u16.to_le_bytes());
        elf
    }

    #[test]
    fn dependencies_and_release_are_read_from_the_section() {
        let info = ModInfo::parse(&module(&[
            "license=GPL",
            "alias=rtnl-link-igb",
            "alias=net-igb",
            "depends=i2c-algo-bit,dca",
            "vermagic=6.12.1+deb12-rt-amd64 SMP preempt_rt mod_unload modversions",
        ]))
        .unwrap();
        assert_eq!(info.depends().collect::<Vec<_>>(), ["i2c-algo-bit", "dca"]);
        assert_eq!(info.release(), Some("6.12.1+deb12-rt-amd64"));
        assert_eq!(info.arch, Some(Arch::X86_64));
        assert_eq!(info.aliases().collect::<Vec<_>>(), ["rtnl-link-igb", "net-igb"]);
        let alone = ModInfo::parse(&module(&["depends="])).unwrap();
        assert_eq!(alone.depends().count(), 0);
    }

    #[test]
    fn bytes_cut_anywhere_or_changed_anywhere_never_panic() {
        let whole = module(&["depends=a,b", "vermagic=1 SMP"]);
        for end in 0..whole.len() {
            let _ = ModInfo::parse(&whole[..end]);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] = 0xff;
            let _ = ModInfo::parse(&changed);
        }
        assert_eq!(ModInfo::parse(b"not ELF"), None);
    }
}
