//! TOML values that remember where they were written, and how one overrides
//! another.

use std::collections::BTreeSet;

/// Where a value or key was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// By the override with this index on the command line.
    Set(usize),
    /// In the file, as a range of bytes.
    File { start: usize, end: usize },
}

impl Origin {
    /// Of a table that nobody wrote; it has no keys, so nothing is ever said
    /// about it.
    pub const NOWHERE: Self = Self::Set(usize::MAX);
}

/// A value and its origin. Of a table that begins with a header, the origin is
/// the header.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub at: Origin,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Table(Table),
    Array(Vec<Node>),
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Date,
    /// Could not be read; the mistake is already in the log.
    Broken,
}

impl Value {
    /// What it is, with article, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "a table",
            Self::Array(_) => "a list",
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a fraction",
            Self::Bool(_) => "true or false",
            Self::Date => "a date",
            Self::Broken => "unreadable",
        }
    }
}

/// A table; entries keep the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_at: Origin,
    pub node: Node,
}

impl Table {
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }

    /// The table called `key`, if it is one.
    pub fn table(&self, key: &str) -> Option<&Self> {
        match &self.get(key)?.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.key.as_str())
    }

    /// Lays `over` on top: tables merge key by key, everything else replaces.
    /// A table that changes its `kind` or `policy` replaces the old one as a
    /// whole, since the other keys belonged to the other kind.
    pub fn merge(&mut self, over: &Self) {
        for entry in &over.entries {
            let Some(mine) = self.entries.iter_mut().find(|e| e.key == entry.key) else {
                self.entries.push(entry.clone());
                continue;
            };
            match (&mut mine.node.value, &entry.node.value) {
                (Value::Table(below), Value::Table(above)) if !changes_kind(below, above) => {
                    below.merge(above);
                }
                _ => *mine = entry.clone(),
            }
        }
    }

    /// Where the thing at `path` was written; if it is not there, where the
    /// nearest table around it was. List elements are named by their index.
    pub fn origin(&self, path: &[&str]) -> Option<Origin> {
        let (first, rest) = path.split_first()?;
        let node = self.get(first)?;
        Some(node.origin(rest))
    }
}

impl Node {
    fn origin(&self, path: &[&str]) -> Origin {
        let Some((first, rest)) = path.split_first() else { return self.at };
        let below = match &self.value {
            Value::Table(table) => table.get(first),
            Value::Array(items) => first.parse().ok().and_then(|i: usize| items.get(i)),
            _ => None,
        };
        below.map_or(self.at, |node| node.origin(rest))
    }

    /// Adds the origins of this value and everything in it to `set`.
    pub fn collect_origins(&self, set: &mut BTreeSet<Origin>) {
        set.insert(self.at);
        match &self.value {
            Value::Table(table) => {
                for entry in &table.entries {
                    set.insert(entry.key_at);
                    entry.node.collect_origins(set);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| item.collect_origins(set)),
            _ => {}
        }
    }
}

fn changes_kind(below: &Table, above: &Table) -> bool {
    let text = |table: &Table, key: &str| match table.get(key).map(|n| &n.value) {
        Some(Value::Text(kind)) => Some(kind.clone()),
        _ => None,
    };
    ["kind", "policy"].into_iter().any(
        |key| matches!((text(below, key), text(above, key)), (Some(old), Some(new)) if old != new),
    )
}
