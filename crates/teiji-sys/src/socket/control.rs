//! Control messages (`cmsg(3)`) that came with a message, taken apart as
//! bytes: no pointers, no trust in lengths.

/// One control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control<'a> {
    pub(super) level: i32,
    pub(super) kind: i32,
    pub(super) data: &'a [u8],
}

const WORD: usize = size_of::<usize>();
/// `struct cmsghdr`: length (a word), level, type.
const HEADER: usize = WORD + 8;

/// Goes through the control area of a message. Stops at the first control
/// message whose length cannot be true.
pub(super) struct Controls<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Controls<'a> {
    type Item = Control<'a>;

    #[inline]
    fn next(&mut self) -> Option<Control<'a>> {
        let area = self.0;
        let length = usize::from_ne_bytes(*area.first_chunk::<WORD>()?);
        let data = area.get(HEADER..length)?;
        let level = i32::from_ne_bytes(*area.get(WORD..)?.first_chunk()?);
        let kind = i32::from_ne_bytes(*area.get(WORD + 4..)?.first_chunk()?);
        self.0 = area.get(length.next_multiple_of(WORD)..).unwrap_or(&[]);
        Some(Control { level, kind, data })
    }
}

#[cfg(test)]
pub(super) fn emit(level: i32, kind: i32, data: &[u8], area: &mut Vec<u8>) {
    area.extend_from_slice(&(HEADER + data.len()).to_ne_bytes());
    area.extend_from_slice(&level.to_ne_bytes());
    area.extend_from_slice(&kind.to_ne_bytes());
    area.extend_from_slice(data);
    area.resize(area.len().next_multiple_of(WORD), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_found_one_after_the_other_with_padding_between() {
        let mut area = Vec::new();
        emit(1, 2, b"abc", &mut area);
        emit(3, 4, b"", &mut area);
        let found: Vec<_> = Controls(&area).map(|c| (c.level, c.kind, c.data)).collect();
        assert_eq!(found, [(1, 2, &b"abc"[..]), (3, 4, &b""[..])]);
    }

    #[test]
    fn impossible_lengths_end_the_walk() {
        for length in [0_usize, 1, HEADER - 1, HEADER + 1, usize::MAX] {
            let mut area = length.to_ne_bytes().to_vec();
            area.resize(HEADER, 0);
            assert_eq!(Controls(&area).count(), 0, "{length}");
        }
        assert_eq!(Controls(&[1, 2, 3]).count(), 0);
    }
}
