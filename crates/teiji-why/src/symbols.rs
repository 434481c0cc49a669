//! The functions of a kernel and its modules, by `/proc/kallsyms`.

use std::collections::HashMap;

/// Behind the kernel's code.
const END_OF_TEXT: &str = "_etext";

/// Where the kernel's code begins.
const TEXT: &str = "_stext";
/// On 64 bits the kernel has the upper half of the addresses.
const UPPER_HALF: u64 = 1 << 63;
/// On 32 bits modules are below the kernel, within the reach of a branch (`arch/arm/include/asm/memory.h`).
const MODULES_BELOW: u64 = 32 << 20;

/// Data whose address is of use.
const DATA: &[&str] = &["__per_cpu_offset"];

/// Functions by name and by address.
#[derive(Debug)]
pub struct Symbols {
    by_name: HashMap<String, u64>,
    /// Sorted by address; aliases of one address stay. A module's data, which lies between the code of
    /// modules, is there without a name.
    by_address: Vec<(u64, String)>,
    /// From the end of the kernel's code to the first module: data, and code that is gone after boot.
    no_code: std::ops::Range<u64>,
    /// What is below is no code of the kernel.
    code_from: u64,
}

impl Default for Symbols {
    /// None.
    fn default() -> Self {
        Self::parse("")
    }
}

impl Symbols {
    /// Of the lines of `/proc/kallsyms`: `ADDRESS TYPE NAME [MODULE]`. Other data is left out.
    ///
    /// ```
    /// use teiji_why::Symbols;
    /// let symbols = Symbols::parse(
    ///     "ffff10 T first\nffff12 T _etext\nffff14 t init\nffff20 t second\t[vtsn]\nffff28 D data\n",
    /// );
    /// assert_eq!(symbols.range("first"), Some((0xffff10, 0xffff12)));
    /// assert_eq!(symbols.name_of(0xffff24), Some("second"));
    /// assert_eq!(symbols.name_of(0xffff15), None);
    /// assert_eq!(symbols.address("data"), None);
    /// ```
    pub fn parse(kallsyms: &str) -> Self {
        let functions = kallsyms.lines().filter_map(function);
        let data = kallsyms.lines().filter_map(data_of_module).map(|at| (at, String::new()));
        let mut by_address: Vec<(u64, String)> = functions.chain(data).collect();
        by_address.sort();
        let mut by_name = HashMap::new();
        for (address, name) in by_address.iter().filter(|(_, name)| !name.is_empty()) {
            by_name.entry(name.clone()).or_insert(*address);
        }
        let modules = kallsyms.lines().filter(|line| line.ends_with(']')).filter_map(function);
        let first_module = modules.map(|(address, _)| address).min().unwrap_or(u64::MAX);
        let end = by_name.get(END_OF_TEXT).copied().unwrap_or(first_module);
        let text = by_name.get(TEXT).copied().filter(|text| u32::try_from(*text).is_ok());
        let code_from = text.map_or(UPPER_HALF, |text| text.saturating_sub(MODULES_BELOW));
        Self { by_name, by_address, no_code: end..first_module, code_from }
    }

    /// Where a function begins.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// Where a function begins, and where the next one does; or a compiler's variant of it
    /// (`NAME.isra.0`).
    pub fn range(&self, name: &str) -> Option<(u64, u64)> {
        let variant = || self.beginning(name).find(|found| found[name.len()..].starts_with('.'));
        let start = self.address(name).or_else(|| self.address(variant()?))?;
        let next = self.by_address.partition_point(|(address, _)| *address <= start);
        Some((start, self.by_address.get(next).map_or(start + 1, |(address, _)| *address)))
    }

    /// The function that contains an address.
    pub fn name_of(&self, address: u64) -> Option<&str> {
        if self.no_code.contains(&address) {
            return None;
        }
        let next = self.by_address.partition_point(|(start, _)| *start <= address);
        let (_, name) = self.by_address.get(next.checked_sub(1)?)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether an address may be one of the kernel's code.
    pub fn is_code(&self, address: u64) -> bool {
        address >= self.code_from
    }

    /// Names of functions that begin so.
    pub fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.by_address.iter().map(|(_, name)| name.as_str());
        names.filter(move |name| name.starts_with(prefix))
    }
}

fn function(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    (matches!(kind, "t" | "T" | "w" | "W") || DATA.contains(&name))
        .then(|| (address, name.to_owned()))
}

/// Where something begins in a module that is no function.
fn data_of_module(line: &str) -> Option<u64> {
    let (address, _) = line.split_once(' ').filter(|_| line.ends_with(']'))?;
    function(line).is_none().then(|| u64::from_str_radix(address, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_a_module_is_no_code_of_the_function_before() {
        let symbols = Symbols::parse(
            "ffffffffc0000000 t thread\t[planted]\nffffffffc0000100 t planted_exit\t[planted]\n\
             ffffffffc0002000 d planted_all\t[planted]\nffffffffc0005000 t xmit\t[vtsn]\n",
        );
        assert_eq!(symbols.name_of(0xffff_ffff_c000_0110), Some("planted_exit"));
        assert_eq!(symbols.name_of(0xffff_ffff_c000_2010), None);
        assert_eq!(symbols.name_of(0xffff_ffff_c000_5010), Some("xmit"));
        let exit = (0xffff_ffff_c000_0100, 0xffff_ffff_c000_2000);
        assert_eq!(symbols.range("planted_exit"), Some(exit));
    }

    #[test]
    fn code_of_kernel_and_program_is_distinguished_on_64_and_on_32_bits() {
        let wide = Symbols::parse("ffffffff81000000 T _stext\n");
        assert!(wide.is_code(0xffff_ffff_c000_0000) && !wide.is_code(0x7fff_0000_0000));
        // Of Debian's 6.12 for armhf.
        let narrow = Symbols::parse("c0300000 T _stext\nbf000010 t xmit [vtsn]\n");
        assert!(narrow.is_code(0xbf00_0012) && !narrow.is_code(0xb6f0_0000));
        assert_eq!(narrow.name_of(0xbf00_0012), Some("xmit"));
    }
}
