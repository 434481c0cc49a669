//! Reads the package records that `apt-cache show` prints (deb-control format).

/// What is needed of a package's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stanza {
    pub package: String,
    pub version: String,
    /// Alternatives and version restrictions removed: the first name of each.
    pub depends: Vec<String>,
    /// Size of the `.deb`.
    pub size_bytes: u64,
    /// Size once unpacked.
    pub installed_bytes: u64,
}

/// All records in `text`; those without a name or version are left out.
pub(crate) fn parse(text: &str) -> Vec<Stanza> {
    text.split("\n\n")
        .filter_map(|record| {
            let field = |name: &str| {
                record
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
            };
            let number = |name| field(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            let depends = field("Depends")
                .unwrap_or_default()
                .split(',')
                .filter_map(|one| one.split_whitespace().next())
                .map(str::to_owned)
                .collect();
            Some(Stanza {
                package: field("Package")?.to_owned(),
                version: field("Version")?.to_owned(),
                depends,
                size_bytes: number("Size"),
                // Debian Policy 5.6.20: in KiB.
                installed_bytes: number("Installed-Size") * 1024,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_several_versions_are_distinguished() {
        let text = "Package: linux-image-rt-amd64\nVersion: 6.12.117-1\nInstalled-Size: 13\n\
                    Depends: linux-image-6.12.117+deb13-rt-amd64 (= 6.12.117-1), kmod | other\n\
                    Description: Linux\n for 64-bit PCs\nSize: 1484\n\n\
                    Package: linux-image-rt-amd64\nVersion: 6.1.192-2\n\n";
        let stanzas = parse(text);
        assert_eq!(stanzas.len(), 2);
        assert_eq!(stanzas[0].depends, ["linux-image-6.12.117+deb13-rt-amd64", "kmod"]);
        assert_eq!((stanzas[0].size_bytes, stanzas[0].installed_bytes), (1484, 13 * 1024));
        assert_eq!(stanzas[1].version, "6.1.192-2");
        assert_eq!(parse("N: no packages\n"), []);
    }
}
