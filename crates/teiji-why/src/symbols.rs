//! The functions of a kernel and its modules, by `/proc/kallsyms`.

use std::collections::HashMap;

/// Behind the kernel's code.
const END_OF_TEXT: &str = "_etext";

/// Data whose address is of use.
const DATA: &[&str] = &["__per_cpu_offset"];

/// Functions by name and by address.
#[derive(Debug, Default)]
pub struct Symbols {
    by_name: HashMap<String, u64>,
    /// Sorted by address; aliases of one address stay.
    by_address: Vec<(u64, String)>,
    /// From the end of the kernel's code to the first module: data, and code that is gone after boot.
    no_code: std::ops::Range<u64>,
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
        let mut by_address: Vec<(u64, String)> = kallsyms.lines().filter_map(function).collect();
        by_address.sort();
        let mut by_name = HashMap::new();
        for (address, name) in &by_address {
            by_name.entry(name.clone()).or_insert(*address);
        }
        let modules = kallsyms.lines().filter(|line| line.ends_with(']')).filter_map(function);
        let first_module = modules.map(|(address, _)| address).min().unwrap_or(u64::MAX);
        let end = by_name.get(END_OF_TEXT).copied().unwrap_or(first_module);
        Self { by_name, by_address, no_code: end..first_module }
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
        self.by_address.get(next.checked_sub(1)?).map(|(_, name)| name.as_str())
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
