//! The records of one page of a kernel's ring buffer (`include/linux/ring_buffer.h`,
//! `Documentation/trace/ring-buffer-design.rst`).

use super::format::PageLayout;

/// The largest page that a kernel gives; most give 4 KiB.
pub(super) const LARGEST: usize = 64 * 1024;

/// The bits of the header's count that count bytes; the highest say that records were lost.
const COUNT: u32 = (1 << 27) - 1;

// Kinds of records (`enum ring_buffer_type`); the smaller ones are a length in words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a record's first word that are the time since the one before.
const TIME_BITS: u32 = 27;
/// An absolute time has the highest bits of the page's.
const ABSOLUTE_BITS: u32 = 59;

/// Gives the time of each record, in ns of the buffer's clock, and its data.
pub(super) struct Page<'a> {
    records: &'a [u8],
    time_ns: u64,
}

impl<'a> Page<'a> {
    /// `None` if it is none.
    pub(super) fn new(layout: PageLayout, page: &'a [u8]) -> Option<Self> {
        let time_ns = u64::from_ne_bytes(page.get(..8)?.try_into().ok()?);
        // All processors that Teiji runs on are little-endian: of 8 octets these are the lower ones.
        let count = u32::from_ne_bytes(*layout.count.of(page)?.first_chunk()?) & COUNT;
        let records = page.get(layout.records..)?.get(..usize::try_from(count).ok()?)?;
        Some(Self { records, time_ns })
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.records.split_first_chunk()?;
        self.records = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn skip(&mut self, length: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.records.split_at_checked(length)?;
        self.records = rest;
        Some(skipped)
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = (i64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let first = self.word()?;
            let (kind, time) = (first & 0x1f, u64::from(first >> 5));
            match kind {
                // The rest of the page is empty.
                PADDING if time == 0 => return None,
                PADDING => {
                    self.time_ns = self.time_ns.wrapping_add(time);
                    let length = usize::try_from(self.word()?).ok()?;
                    // The word that has the length is part of it.
                    self.skip(length.checked_sub(4)?)?;
                }
                TIME_EXTEND => {
                    let more = u64::from(self.word()?) << TIME_BITS;
                    self.time_ns = self.time_ns.wrapping_add(more | time);
                }
                TIME_STAMP => {
                    let low = (u64::from(self.word()?) << TIME_BITS) | time;
                    self.time_ns = (self.time_ns >> ABSOLUTE_BITS << ABSOLUTE_BITS) | low;
                }
                _ => {
                    self.time_ns = self.time_ns.wrapping_add(time);
                    let length = match kind {
                        // The word that has the length is part of it.
                        0 => usize::try_from(self.word()?).ok()?.checked_sub(4)?,
                        words => 4 * usize::try_from(words).ok()?,
                    };
                    let data = self.skip(length.next_multiple_of(4))?;
                    return Some((i64::try_from(self.time_ns).ok()?, data));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::tests::page_layouts;
    use super::*;

    /// A page that begins at 1000 ns.
    fn page(layout: PageLayout, words: &[u32]) -> Vec<u8> {
        let mut page = 1_000_u64.to_ne_bytes().to_vec();
        // The highest bit: records were lost before.
        page.extend((u32::try_from(words.len() * 4).unwrap() | (1 << 31)).to_ne_bytes());
        page.resize(layout.records, 0);
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page.resize(4_096, 0xee);
        page
    }

    fn head(kind: u32, time: u32) -> u32 {
        kind | (time << 5)
    }

    fn read(words: &[u32]) -> Vec<(i64, Vec<u8>)> {
        let [wide, narrow] = page_layouts().map(|layout| {
            let page = page(layout, words);
            let records = Page::new(layout, &page).unwrap();
            records.map(|(at, data)| (at, data.to_vec())).collect::<Vec<_>>()
        });
        assert_eq!(wide, narrow);
        wide
    }

    #[test]
    fn times_add_up_over_all_kinds_of_records() {
        let records = read(&[
            head(2, 5),
            7,
            8,
            // discarded: 12 bytes with its length
            head(PADDING, 10),
            12,
            0,
            0,
            head(TIME_EXTEND, 1),
            2,
            // long: 8 bytes behind the word that has the length
            head(0, 100),
            12,
            9,
            10,
        ]);
        let words = |a: u32, b: u32| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
        let late = 1_015 + (2 << 27) + 1 + 100;
        assert_eq!(records, [(1_005, words(7, 8)), (late, words(9, 10))]);
    }

    #[test]
    fn an_absolute_time_replaces_the_sum() {
        let records = read(&[head(TIME_STAMP, 3), 1, head(1, 4), 7]);
        assert_eq!(records[0].0, (1 << 27) + 3 + 4);
    }

    #[test]
    fn an_empty_rest_and_a_damaged_page_end_it() {
        assert_eq!(read(&[head(1, 1), 7, head(PADDING, 0), 0, head(1, 1), 7]).len(), 1);
        assert_eq!(read(&[head(5, 1), 7]), [], "longer than the page");
        assert_eq!(read(&[head(0, 1), 3]), [], "shorter than its own length");
        for layout in page_layouts() {
            assert!(Page::new(layout, &[0; 11]).is_none());
            let mut long = page(layout, &[]);
            long.truncate(100);
            long[8..12].copy_from_slice(&1_000_u32.to_ne_bytes());
            assert!(Page::new(layout, &long).is_none());
        }
    }
}
