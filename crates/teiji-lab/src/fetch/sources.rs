//! Which package servers to ask: the machine's own Debian mirror first, then Debian's.

use std::fmt::Write as _;

use crate::arch::Arch;

/// A stable release of Debian with the suites that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Release {
    pub codename: &'static str,
    /// `VERSION_ID` in os-release.
    pub number: &'static str,
}

impl Release {
    /// The suite of its security updates.
    pub(crate) fn security(self) -> String {
        format!("{}-security", self.codename)
    }
}

/// Packages of a release for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub release: Release,
    pub arch: Arch,
}

/// Debian 12: kernels 6.1 and (security) 6.12, QEMU 10 in backports.
pub(crate) const BOOKWORM: Release = Release { codename: "bookworm", number: "12" };
/// Debian 13: kernel 6.12, later ones in backports, QEMU 10.
pub(crate) const TRIXIE: Release = Release { codename: "trixie", number: "13" };

/// Where kernels are looked for. The order does not depend on this machine, so
/// that the same name means the same package everywhere on the same day. The
/// older release comes first: what goes with its kernels (headers, `kbuild`)
/// runs on the newer one too, not the other way round.
pub(crate) const KERNEL_RELEASES: [Release; 2] = [BOOKWORM, TRIXIE];

/// The key of Debian's archive, from package debian-archive-keyring.
pub(crate) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Base addresses of the two archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    pub main: String,
    pub security: String,
}

impl Default for Mirror {
    fn default() -> Self {
        Self {
            main: "http://deb.debian.org/debian".into(),
            security: "http://deb.debian.org/debian-security".into(),
        }
    }
}

/// What [`Mirror::configured`] asks `apt-get indextargets` for.
pub(crate) const TARGET_FORMAT: &str = "$(REPO_URI) $(RELEASE)";

impl Mirror {
    /// The mirror that the system's apt uses for `codename`, out of lines of
    /// [`TARGET_FORMAT`]. `None` where the system names none that serves HTTP(S).
    pub(crate) fn configured(targets: &str, codename: &str) -> Option<Self> {
        let of = |release: &str| {
            targets
                .lines()
                .filter_map(|line| line.split_once(' '))
                .find(|(uri, suite)| *suite == release && uri.starts_with("http"))
                .map(|(uri, _)| uri.trim_end_matches('/').to_owned())
        };
        let main = of(codename)?;
        let security =
            of(&format!("{codename}-security")).unwrap_or_else(|| Self::default().security);
        Some(Self { main, security })
    }

    /// apt's source list for a release and its updates, those for security or not.
    pub(crate) fn source_list(&self, release: Release, security: bool, keyring: &str) -> String {
        let mut list = String::new();
        let codename = release.codename;
        let updates = security.then(|| (&self.security, release.security()));
        for (base, suite) in
            [(&self.main, codename.to_owned()), (&self.main, format!("{codename}-backports"))]
                .into_iter()
                .chain(updates)
        {
            // Writing to a String cannot fail.
            let _ = writeln!(list, "deb [signed-by={keyring}] {base} {suite} main");
        }
        list
    }
}

/// The value of `key` in an os-release file.
pub(crate) fn os_release<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once('=')?;
        (found == key).then(|| value.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_own_mirror_is_taken_over_with_its_security_archive() {
        let targets = "http://mirror.example/debian/ bookworm\n\
                       http://mirror.example/debian/ bookworm-updates\n\
                       https://other.example/node/ nodistro\n\
                       http://mirror.example/security/ bookworm-security\n";
        assert_eq!(
            Mirror::configured(targets, "bookworm"),
            Some(Mirror {
                main: "http://mirror.example/debian".into(),
                security: "http://mirror.example/security".into()
            })
        );
        assert_eq!(Mirror::configured(targets, "trixie"), None);
        assert_eq!(Mirror::configured("cdrom:[Debian]/ bookworm", "bookworm"), None);
    }

    #[test]
    fn the_source_list_names_every_suite_and_the_key() {
        assert_eq!(
            Mirror::default().source_list(BOOKWORM, true, "/k.gpg"),
            "deb [signed-by=/k.gpg] http://deb.debian.org/debian bookworm main\n\
             deb [signed-by=/k.gpg] http://deb.debian.org/debian bookworm-backports main\n\
             deb [signed-by=/k.gpg] http://deb.debian.org/debian-security bookworm-security main\n"
        );
        assert!(!Mirror::default().source_list(BOOKWORM, false, "/k.gpg").contains("security"));
    }

    #[test]
    fn os_release_values_lose_their_quotes() {
        let text = "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\n";
        assert_eq!(os_release(text, "ID"), Some("debian"));
        assert_eq!(os_release(text, "VERSION_ID"), Some("12"));
        assert_eq!(os_release(text, "VERSION"), None);
    }
}
