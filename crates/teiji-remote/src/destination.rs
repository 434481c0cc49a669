//! How a host is named: `ssh:root@board`, `ssh://root@board:2222`, or a name from ssh's configuration.

use std::fmt;
use std::str::FromStr;

/// A host, in the words of `ssh`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination(String);

impl Destination {
    /// What one begins with in options of this program.
    pub const PREFIX: &str = "ssh:";

    /// What `ssh` takes.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// As it is parsed from.
    pub fn as_option(&self) -> String {
        if self.0.starts_with("ssh://") {
            self.0.clone()
        } else {
            format!("{}{}", Self::PREFIX, self.0)
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.strip_prefix("ssh://").unwrap_or(&self.0))
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!(
                "`{text}` is no host: {why}; write ssh:root@board, or ssh://root@board:2222"
            ))
        };
        let Some(rest) = text.strip_prefix(Self::PREFIX) else {
            return wrong("it does not begin with ssh:");
        };
        let name = rest.strip_prefix("//").unwrap_or(rest);
        if name.is_empty() {
            return wrong("it has no name");
        }
        // ssh would take it for an option.
        if name.starts_with('-') {
            return wrong("a name does not begin with -");
        }
        if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return wrong("it has a blank");
        }
        if name.contains('/') {
            return wrong("it has a path");
        }
        // A URI goes to ssh as it is, which reads its port.
        let uri = rest.starts_with("//");
        Ok(Self(if uri { text.to_owned() } else { name.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_as_ssh_names_them() {
        let name = |text: &str| text.parse::<Destination>().map(|host| host.as_str().to_owned());
        assert_eq!(name("ssh:left").unwrap(), "left");
        assert_eq!(name("ssh:root@fe80::1%eth0").unwrap(), "root@fe80::1%eth0");
        assert_eq!(name("ssh://root@a:2222").unwrap(), "ssh://root@a:2222");
        assert_eq!("ssh://root@a:2222".parse::<Destination>().unwrap().to_string(), "root@a:2222");
        for text in ["ssh:left", "ssh://root@a:2222"] {
            assert_eq!(text.parse::<Destination>().unwrap().as_option(), text);
        }
    }

    #[test]
    fn what_ssh_would_misunderstand_is_refused() {
        for (text, why) in [
            ("left", "does not begin with ssh:"),
            ("ssh:", "no name"),
            ("ssh://", "no name"),
            ("ssh:-oProxyCommand=x", "does not begin with -"),
            ("ssh://-oProxyCommand=x", "does not begin with -"),
            ("ssh:a b", "blank"),
            ("ssh://a/eth0", "path"),
        ] {
            let error = text.parse::<Destination>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
