//! The layout of a kernel's structures, by its BTF (Documentation/bpf/btf.rst). The parser that
//! crates.io has (`btf-rs`) is under the LGPL, which a statically linked program cannot well use.

use thiserror::Error;

/// Why the BTF is of no use.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BtfError {
    /// It is damaged, or of another version.
    #[error("the kernel's BTF cannot be read: {0}")]
    Damaged(&'static str),
    /// A member is not there.
    #[error("this kernel's `struct {0}` has no member `{1}`")]
    NoMember(String, String),
}

const MAGIC: u16 = 0xeb9f;
const HEADER_LEN: usize = 24;

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A structure's member.
struct Member {
    name: u32,
    kind: u32,
    bits: u32,
}

/// A type: what is needed to find members.
struct Type {
    name: u32,
    kind: u32,
    /// The type that it points to or is another name of.
    refers: u32,
    members: Vec<Member>,
}

/// The types of a kernel.
pub struct Btf {
    types: Vec<Type>,
    strings: Vec<u8>,
}

impl Btf {
    /// Of the bytes of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If they are not BTF, or end early.
    pub fn parse(bytes: &[u8]) -> Result<Self, BtfError> {
        let word = |at: usize| u32_at(bytes, at).ok_or(BtfError::Damaged("it ends early"));
        if bytes.get(..2) != Some(&MAGIC.to_le_bytes()) {
            return Err(BtfError::Damaged("it does not begin as BTF"));
        }
        let header = word(4)? as usize;
        if header < HEADER_LEN {
            return Err(BtfError::Damaged("its header is too short"));
        }
        let part = |offset: u32, length: u32| {
            let start = header.checked_add(offset as usize)?;
            bytes.get(start..start.checked_add(length as usize)?)
        };
        let types = part(word(8)?, word(12)?).ok_or(BtfError::Damaged("it ends early"))?;
        let strings = part(word(16)?, word(20)?).ok_or(BtfError::Damaged("it ends early"))?;
        Ok(Self { types: parse_types(types)?, strings: strings.to_vec() })
    }

    /// Where a member is in a structure, in octets: `offset("sk_buff", "data")`. A path leads through
    /// structures within: `"node.expires"`; those without name need none.
    ///
    /// # Errors
    /// [`BtfError::NoMember`].
    pub fn offset(&self, structure: &str, path: &str) -> Result<u64, BtfError> {
        let missing = || BtfError::NoMember(structure.to_owned(), path.to_owned());
        let is_it = |one: &Type| one.kind == STRUCT && self.name(one.name) == structure.as_bytes();
        let mut found = self.types.iter().find(|one| is_it(one)).ok_or_else(missing)?;
        let mut bits = 0;
        for name in path.split('.') {
            let (at, kind) = self.member(found, name.as_bytes()).ok_or_else(missing)?;
            bits += at;
            found = self.resolved(kind).ok_or_else(missing)?;
        }
        Ok(u64::from(bits / 8))
    }

    /// Offset in bits and type of a member, also of structures without name within.
    fn member(&self, of: &Type, name: &[u8]) -> Option<(u32, u32)> {
        of.members.iter().find_map(|member| {
            if self.name(member.name) == name {
                return Some((member.bits, member.kind));
            }
            if member.name != 0 && !self.name(member.name).is_empty() {
                return None;
            }
            let (bits, kind) = self.member(self.resolved(member.kind)?, name)?;
            Some((member.bits + bits, kind))
        })
    }

    /// The type behind other names and qualifiers.
    fn resolved(&self, mut id: u32) -> Option<&Type> {
        loop {
            let found = self.types.get((id as usize).checked_sub(1)?)?;
            match found.kind {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => id = found.refers,
                _ => return Some(found),
            }
        }
    }

    fn name(&self, at: u32) -> &[u8] {
        let rest = self.strings.get(at as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn parse_types(bytes: &[u8]) -> Result<Vec<Type>, BtfError> {
    let word = |at: usize| u32_at(bytes, at).ok_or(BtfError::Damaged("its types end early"));
    let mut types = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (name, info, refers) = (word(at)?, word(at + 4)?, word(at + 8)?);
        let (count, kind) = ((info & 0xffff) as usize, (info >> 24) & 0x1f);
        // Of a structure with bit fields, their size is in the upper octet of an offset.
        let mask = if info >> 31 == 1 { 0x00ff_ffff } else { u32::MAX };
        at += 12;
        let mut members = Vec::new();
        match kind {
            STRUCT | UNION => {
                for _ in 0..count {
                    let (name, kind, bits) = (word(at)?, word(at + 4)?, word(at + 8)? & mask);
                    members.push(Member { name, kind, bits });
                    at += 12;
                }
            }
            INT | VAR | DECL_TAG => at += 4,
            ARRAY => at += 12,
            ENUM | FUNC_PROTO => at += 8 * count,
            DATASEC | ENUM64 => at += 12 * count,
            PTR..=18 => {}
            _ => return Err(BtfError::Damaged("it has types of an unknown kind")),
        }
        types.push(Type { name, kind, refers, members });
    }
    Ok(types)
}
