//! The release of a kernel, `uname -r`, as a version that can be compared.

/// Major and minor version of a release, `6.12.117+deb12-rt-amd64`.
pub(crate) fn version_number(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
