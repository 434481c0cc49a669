//! `[ports.INTERFACE]` of profiles: tables that are called as interfaces are.

use crate::log::Log;
use crate::tree::{Entry, Table, Value};

/// Longest name of an interface (`IFNAMSIZ` less its end).
const LONGEST_NAME: usize = 15;

/// The table of an interface; reports what is none, and names that no interface can have.
pub(crate) fn table<'a>(entry: &'a Entry, log: &Log) -> Option<&'a Table> {
    let Entry { key: name, key_at, node } = entry;
    let table = match &node.value {
        Value::Table(table) => table,
        // Told already.
        Value::Broken => return None,
        other => {
            let message = format!("`{name}` in [ports] must be a table, not {}", other.kind());
            log.mistake(node.at, message, format!("Write {} as a header.", label(name)));
            return None;
        }
    };
    let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name == "."
        || name == ".."
        || name.contains(odd)
    {
        log.mistake(
            *key_at,
            format!("`{name}` cannot be the name of an interface"),
            "They have 1 to 15 characters, and neither spaces nor `/` nor `:`; `ip link` lists them.",
        );
        return None;
    }
    Some(table)
}

/// Its header.
pub(crate) fn label(name: &str) -> String {
    format!("[ports.{}]", key(name))
}

/// A key as TOML has it.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.chars().all(bare) { name.to_owned() } else { format!("{name:?}") }
}
