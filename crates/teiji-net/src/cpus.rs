//! Sets of CPUs in the two forms the kernel's files have: lists (`0-2,5`) and masks
//! (`00000001,0000002f`).

use std::fs;
use std::path::Path;

pub(crate) use teiji_sys::sched::cpu_list as list;

/// Those that are online; empty if the kernel does not say.
pub(crate) fn online() -> Vec<u16> {
    online_below(Path::new("/"))
}

/// The same of the machine whose files are below `root`.
pub(crate) fn online_below(root: &Path) -> Vec<u16> {
    let text = fs::read_to_string(root.join("sys/devices/system/cpu/online")).unwrap_or_default();
    parse_list(&text).unwrap_or_default()
}

/// The CPUs of a list; `None` if it is none.
pub fn parse_list(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u16>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// Words of 32 bits in hexadecimal, the highest first.
pub(crate) fn mask(cpus: &[u16]) -> String {
    let last = cpus.iter().max().map_or(0, |cpu| cpu / 32);
    let word = |index: u16| {
        let in_it = cpus.iter().filter(|cpu| **cpu / 32 == index);
        in_it.fold(0_u32, |word, cpu| word | (1 << (cpu % 32)))
    };
    let words: Vec<String> = (0..=last).rev().map(|index| format!("{:08x}", word(index))).collect();
    words.join(",")
}

/// The CPUs of a mask; `None` if it is none.
pub(crate) fn parse_mask(text: &str) -> Option<Vec<u16>> {
    let mut cpus = Vec::new();
    for (index, word) in (0_u16..).zip(text.trim().rsplit(',')) {
        let word = u32::from_str_radix(word, 16).ok()?;
        let bits = (0_u16..32).filter(|bit| (word >> bit) & 1 == 1);
        cpus.extend(bits.map(|bit| index * 32 + bit));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_are_written_and_read_as_the_kernel_does() {
        for (cpus, as_list, as_mask) in [
            (vec![], "", "00000000"),
            (vec![0], "0", "00000001"),
            (vec![0, 1, 2, 5], "0-2,5", "00000027"),
            (vec![3, 31, 32, 33, 70], "3,31-33,70", "00000040,00000003,80000008"),
        ] {
            assert_eq!((list(&cpus).as_str(), mask(&cpus).as_str()), (as_list, as_mask));
            assert_eq!(
                (parse_list(as_list), parse_mask(as_mask)),
                (Some(cpus.clone()), Some(cpus))
            );
        }
        // As a kernel for few CPUs writes it.
        assert_eq!(parse_mask("3\n"), Some(vec![0, 1]));
        assert_eq!((parse_list("1-x"), parse_mask("0x3")), (None, None));
    }
}
