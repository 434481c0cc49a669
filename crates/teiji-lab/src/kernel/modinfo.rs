//! Reads what a kernel module says of itself: the `.modinfo` section of its ELF file.

/// The `key=value` texts of a module, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModInfo(Vec<(String, String)>);

/// 64-bit little-endian ELF: `e_ident` of every module of the kernels we boot.
const ELF64_LITTLE_ENDIAN: &[u8] = b"\x7fELF\x02\x01";
/// Offsets in the ELF header (gABI, figure 4-3).
const E_SHOFF: usize = 0x28;
const E_SHENTSIZE: usize = 0x3a;
const E_SHNUM: usize = 0x3c;
const E_SHSTRNDX: usize = 0x3e;
/// Offsets in a section header (gABI, figure 4-8).
const SH_OFFSET: usize = 0x18;
const SH_SIZE: usize = 0x20;

impl ModInfo {
    /// Parses the bytes of an uncompressed module; `None` when they are none.
    pub(crate) fn parse(elf: &[u8]) -> Option<Self> {
        if !elf.starts_with(ELF64_LITTLE_ENDIAN) {
            return None;
        }
        let headers = usize::try_from(u64_at(elf, E_SHOFF)?).ok()?;
        let header_size = usize::from(u16_at(elf, E_SHENTSIZE)?);
        let count = usize::from(u16_at(elf, E_SHNUM)?);
        let header = |index: usize| {
            let start = headers.checked_add(index.checked_mul(header_size)?)?;
            elf.get(start..)?.get(..header_size)
        };
        let body = |header: &[u8]| {
            let start = usize::try_from(u64_at(header, SH_OFFSET)?).ok()?;
            let size = usize::try_from(u64_at(header, SH_SIZE)?).ok()?;
            elf.get(start..)?.get(..size)
        };
        let names = body(header(usize::from(u16_at(elf, E_SHSTRNDX)?))?)?;
        let section = (0..count).filter_map(header).find(|header| {
            let name = u32_at(header, 0).and_then(|at| names.get(usize::try_from(at).ok()?..));
            name.is_some_and(|name| name.starts_with(b".modinfo\0"))
        })?;
        let pairs = body(section)?
            .split(|&byte| byte == 0)
            .filter_map(|text| {
                let (key, value) = std::str::from_utf8(text).ok()?.split_once('=')?;
                Some((key.to_owned(), value.to_owned()))
            })
            .collect();
        Some(Self(pairs))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// Names of the modules that must be loaded before this one.
    pub(crate) fn depends(&self) -> impl Iterator<Item = &str> {
        self.get("depends").unwrap_or_default().split(',').filter(|name| !name.is_empty())
    }

    /// Other names by which the kernel may ask for it.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(key, _)| key == "alias").map(|(_, alias)| alias.as_str())
    }

    /// Release of the kernel it was built for, as `uname -r` says it.
    pub(crate) fn release(&self) -> Option<&str> {
        self.get("vermagic")?.split(' ').next()
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The smallest ELF file that carries these modinfo texts.
    pub(crate) fn module(texts: &[&str]) -> Vec<u8> {
        let info: Vec<u8> = texts.iter().flat_map(|t| t.bytes().chain([0])).collect();
        let names = b"\0.modinfo\0.shstrtab\0";
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(ELF64_LITTLE_ENDIAN);
        let info_at = elf.len() as u64;
        elf.extend(&info);
        let names_at = elf.len() as u64;
        elf.extend(names);
        let headers_at = elf.len() as u64;
        for (name, offset, size) in
            [(0_u32, 0, 0), (1, info_at, info.len() as u64), (10, names_at, names.len() as u64)]
        {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
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
