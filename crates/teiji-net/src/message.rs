//! Netlink messages as bytes: building requests, walking answers.
//!
//! Layout: `struct nlmsghdr` (16 bytes), the family's fixed header, then
//! attributes `struct nlattr { u16 len; u16 type; }` padded to 4 bytes
//! (`include/uapi/linux/netlink.h`). Integers are in the machine's byte order.
//! Readers take what they know and skip the rest, so that a newer kernel with
//! longer answers is never an error.

/// Bytes of `struct nlmsghdr`.
pub(crate) const HEADER_LEN: usize = 16;

pub(crate) const NLM_F_REQUEST: u16 = 0x001;
pub(crate) const NLM_F_ACK: u16 = 0x004;
pub(crate) const NLM_F_DUMP: u16 = 0x300;
pub(crate) const NLM_F_DUMP_INTR: u16 = 0x010;
pub(crate) const NLM_F_CAPPED: u16 = 0x100;
pub(crate) const NLM_F_ACK_TLVS: u16 = 0x200;
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_CREATE: u16 = 0x400;

pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;

/// `NLA_F_NESTED`, set on nests because strict kernels request it.
const NESTED: u16 = 0x8000;
/// `NLA_TYPE_MASK`: the type without the nested and byte-order flags.
const TYPE_MASK: u16 = 0x3fff;

fn align4(n: usize) -> usize {
    n.next_multiple_of(4)
}

/// A request under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of message type `kind` whose fixed header is `family`.
    pub(crate) fn new(kind: u16, flags: u16, family: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        bytes.extend_from_slice(family);
        bytes.resize(align4(bytes.len()), 0);
        Self { bytes }
    }

    /// Appends an attribute.
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.push(kind, value);
        self
    }

    /// Appends a `u32` attribute.
    pub(crate) fn u32(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends a NUL-terminated string.
    pub(crate) fn string(self, kind: u16, text: &str) -> Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.attribute(kind, &value)
    }

    /// Appends an attribute that holds what `fill` appends.
    pub(crate) fn nested(self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        self.nest(kind | NESTED, &[], fill)
    }

    /// As [`Self::nested`], with a fixed `head` in front of the attributes and
    /// the type exactly as given (`VETH_INFO_PEER` is such a mixture).
    pub(crate) fn nest(mut self, kind: u16, head: &[u8], fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.push(kind, head);
        self = fill(self);
        let len = length16(self.bytes.len() - start);
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self
    }

    fn push(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend_from_slice(&length16(value.len() + 4).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(align4(self.bytes.len()), 0);
    }

    /// The finished message with its sequence number and extra `flags`.
    pub(crate) fn finish(mut self, sequence: u32, flags: u16) -> Vec<u8> {
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[0..4].copy_from_slice(&len.to_ne_bytes());
        let flags = flags | u16::from_ne_bytes([self.bytes[6], self.bytes[7]]);
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// Attribute lengths are 16 bits wide; nothing this crate sends comes near.
fn length16(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

/// One message of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    /// What follows `struct nlmsghdr`.
    pub(crate) payload: &'a [u8],
}

/// The messages in what one `recv` returned. A damaged tail ends the walk.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let len = usize::try_from(u32_at(bytes, 0)?).ok()?;
        let message = Message {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            payload: bytes.get(HEADER_LEN..len)?,
        };
        bytes = bytes.get(align4(len)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes in `bytes`: type without flags, value. A damaged tail ends
/// the walk.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..len)?;
        bytes = bytes.get(align4(len)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of type `kind`.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(k, _)| *k == kind).map(|(_, value)| value)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// A number of netlink's type `uint`: four or eight bytes.
pub(crate) fn uint(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => u32_at(bytes, 0).map(u64::from),
        _ => u64_at(bytes, 0),
    }
}

/// A string attribute without its NUL.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_carries_length_type_flags_sequence_and_padded_attributes() {
        let bytes = Request::new(36, 0x500, &[1, 2, 3, 4])
            .string(1, "etf")
            .nested(2, |r| r.attribute(1, &[9, 9, 9]))
            .finish(7, NLM_F_ACK);
        #[cfg(target_endian = "little")]
        assert_eq!(
            bytes,
            [
                40, 0, 0, 0, 36, 0, 0x05, 0x05, 7, 0, 0, 0, 0, 0, 0, 0, // nlmsghdr
                1, 2, 3, 4, // family header
                8, 0, 1, 0, b'e', b't', b'f', 0, // attribute 1
                12, 0, 2, 0x80, 7, 0, 1, 0, 9, 9, 9, 0, // nested attribute 2
            ]
        );
        let message = messages(&bytes).next().unwrap();
        assert_eq!((message.kind, message.sequence), (36, 7));
        let found: Vec<_> = attributes(&message.payload[4..]).collect();
        assert_eq!(found[0], (1, &b"etf\0"[..]));
        assert_eq!(attribute(found[1].1, 1), Some(&[9, 9, 9][..]));
    }

    #[test]
    fn damaged_answers_end_the_walk_and_never_panic() {
        let good = Request::new(16, 0, &[0; 16]).u32(4, 1500).string(3, "eth0").finish(1, 0);
        for cut in 0..good.len() {
            assert_eq!(messages(&good[..cut]).count(), 0, "cut at {cut}");
            let _ = attributes(&good[cut..]).count();
        }
        for byte in 0..good.len() {
            let mut bad = good.clone();
            bad[byte] = 0xff;
            for message in messages(&bad) {
                let _ = attributes(message.payload).count();
            }
            bad[byte] = 0;
            for message in messages(&bad) {
                let _ = attributes(message.payload).count();
            }
        }
    }
}
