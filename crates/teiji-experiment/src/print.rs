//! Tables → TOML text, for people to read and change.

use std::fmt::Write;

use crate::tree::{Node, Table, Value};

/// The table as a file. What is short stays on one line, all else has a header.
pub(crate) fn file(table: &Table) -> String {
    let mut out = String::new();
    section(table, &mut Vec::new(), &mut out);
    out
}

/// The longest table without a header of its own, in characters.
const SHORT: usize = 80;

/// `path` is where the table stands.
fn section(table: &Table, path: &mut Vec<String>, out: &mut String) {
    let top = path.is_empty();
    let inline = |node: &Node| match &node.value {
        Value::Table(below) => {
            // What others hang below reads better with headers.
            let flat = below.entries.iter().all(|e| !matches!(e.node.value, Value::Table(_)));
            Some(value(node)).filter(|text| flat && !top && text.len() <= SHORT)
        }
        _ => Some(value(node)),
    };
    // The order of tables means something: the first flow is the one that loads go by. What
    // follows a table with a header must have one, too.
    let ahead = table.entries.iter().position(|entry| inline(&entry.node).is_none());
    let inline = |index: usize, node: &Node| {
        let behind = ahead.is_some_and(|ahead| index > ahead);
        inline(node).filter(|_| !behind || !matches!(node.value, Value::Table(_)))
    };
    let own: Vec<(String, String)> = (0..)
        .zip(&table.entries)
        .filter_map(|(index, entry)| Some((key(&entry.key), inline(index, &entry.node)?)))
        .collect();
    if !path.is_empty() && (!own.is_empty() || table.entries.is_empty()) {
        let _ = writeln!(out, "\n[{}]", path.join("."));
    }
    for (name, text) in &own {
        let _ = writeln!(out, "{name} = {text}");
    }
    for (index, entry) in (0..).zip(&table.entries) {
        if let Value::Table(below) = &entry.node.value {
            if inline(index, &entry.node).is_none() {
                path.push(key(&entry.key));
                section(below, path, out);
                path.pop();
            }
        }
    }
}

fn value(node: &Node) -> String {
    match &node.value {
        Value::Table(table) => {
            let entries = table.entries.iter();
            let entries: Vec<String> =
                entries.map(|e| format!("{} = {}", key(&e.key), value(&e.node))).collect();
            if entries.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", entries.join(", "))
            }
        }
        Value::Array(items) => {
            let long = items.iter().any(|item| matches!(item.value, Value::Table(_)));
            let items: Vec<String> = items.iter().map(value).collect();
            if long {
                format!("[\n    {},\n]", items.join(",\n    "))
            } else {
                format!("[{}]", items.join(", "))
            }
        }
        Value::Text(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}").to_lowercase(),
        Value::Bool(flag) => flag.to_string(),
        // No key takes a date, and a broken value was reported: such a file is never printed.
        Value::Date | Value::Broken => "\"\"".to_owned(),
    }
}

/// A key, quoted if TOML needs that.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use crate::log::Log;
    use crate::syntax;

    #[test]
    fn tables_keep_their_order_however_long_they_are() {
        let long = "x".repeat(80);
        let text =
            format!("[f]\na = {{ k = 1 }}\nb = {{ k = \"{long}\" }}\nc = {{ k = 2 }}\nd = 3\n");
        let printed = super::file(&syntax::parse(&text, &Log::default()).unwrap());
        let expected =
            format!("\n[f]\na = {{ k = 1 }}\nd = 3\n\n[f.b]\nk = \"{long}\"\n\n[f.c]\nk = 2\n");
        assert_eq!(printed, expected);
    }

    #[test]
    fn what_is_printed_reads_as_it_was() {
        let text = "a = \"x \\\"y\\\\ \\n é\"\nb = [1, -2.5, true, { c = 1, d = [] }]\n\
                    [e]\n[e.\"f g\".h]\ni = 0x10\nj = { k = {}, l = \"m\" }\n";
        let log = Log::default();
        let once = super::file(&syntax::parse(text, &log).unwrap());
        let twice = super::file(&syntax::parse(&once, &log).unwrap());
        assert_eq!(once, twice);
        assert!(!log.is_fatal());
        assert_eq!(
            once,
            "a = \"x \\\"y\\\\ \\U0000000A é\"\nb = [\n    1,\n    -2.5,\n    true,\n    \
             { c = 1, d = [] },\n]\n\n[e.\"f g\".h]\ni = 16\n\n[e.\"f g\".h.j]\nk = {}\n\
             l = \"m\"\n"
        );
    }
}
