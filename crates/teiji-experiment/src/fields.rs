//! Typed access to one table: unknown keys, missing keys and wrong types are
//! reported here, once for all sections.

use std::fmt::Display;
use std::str::FromStr;

use teiji_core::quantity::{Rate, parse_ppb, parse_span};
use teiji_core::time::Span;

use crate::keys::{Section, Table};
use crate::log::Log;
use crate::suggest::{did_you_mean, list};
use crate::tree::{self, Entry, Node, Origin, Value};

/// A table being read. A getter returns [`Found`], which tells a key that is absent from one
/// that was reported as wrong.
pub(crate) struct Fields<'a> {
    table: &'a tree::Table,
    at: Origin,
    section: &'static Section,
    /// As the table is called in messages, `[flows.cycle]`.
    label: String,
    log: &'a Log,
}

/// A table with a name, `[wires.line]`.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub name: &'a str,
    pub at: Origin,
    pub table: &'a tree::Table,
}

/// It was wrong, and the log knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// What was found for an optional key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<T> {
    /// Not in the file.
    Absent,
    /// In the file, but reported as wrong.
    Wrong,
    /// Read.
    Value(T),
}

impl<T> Found<T> {
    /// The value, the default when absent, `None` when wrong.
    pub fn or_default(self, default: T) -> Option<T> {
        match self {
            Self::Absent => Some(default),
            Self::Wrong => None,
            Self::Value(value) => Some(value),
        }
    }

    /// As it is, with `value` where there is none.
    pub fn or(self, value: T) -> Self {
        if let Self::Absent = self { Self::Value(value) } else { self }
    }

    /// The value or nothing; an error when wrong.
    pub fn settle(self) -> Result<Option<T>, Reported> {
        match self {
            Self::Absent => Ok(None),
            Self::Wrong => Err(Reported),
            Self::Value(value) => Ok(Some(value)),
        }
    }

    /// The value if there is one, for whatever reason.
    pub fn value(self) -> Option<T> {
        self.settle().ok().flatten()
    }

    /// The value if there is one, for whatever reason.
    pub const fn as_value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Wrong => None,
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Found<U> {
        self.and_then(|value| Some(f(value)))
    }

    /// Reads on; `f` reports when it returns `None`.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Option<U>) -> Found<U> {
        match self {
            Self::Absent => Found::Absent,
            Self::Wrong => Found::Wrong,
            Self::Value(value) => Found::from_reported(f(value)),
        }
    }

    fn from_reported(value: Option<T>) -> Self {
        value.map_or(Self::Wrong, Self::Value)
    }
}

/// What a reading gives once it is over.
pub(crate) trait Settle {
    type Settled;

    /// `None` if something was wrong.
    fn finish(self) -> Option<Self::Settled>;
}

impl<T> Settle for Option<T> {
    type Settled = T;

    fn finish(self) -> Self {
        self
    }
}

impl<T> Settle for Found<T> {
    type Settled = Option<T>;

    fn finish(self) -> Option<Option<T>> {
        self.settle().ok()
    }
}

impl<'a> Fields<'a> {
    /// As [`Fields::new`] for a table whose keys were looked at before.
    pub fn again(
        table: &'a tree::Table,
        at: Origin,
        section: &'static Section,
        label: impl Into<String>,
        log: &'a Log,
    ) -> Self {
        Self { table, at, section, label: label.into(), log }
    }

    /// Begins reading `table` and reports the keys that `section` lacks.
    pub fn new(
        table: &'a tree::Table,
        at: Origin,
        section: &'static Section,
        label: impl Into<String>,
        log: &'a Log,
    ) -> Self {
        let label = label.into();
        for entry in &table.entries {
            if section.key(&entry.key).is_none() {
                let known = section.names();
                let guess = did_you_mean(&entry.key, known.iter().copied());
                let help = if guess.is_empty() {
                    format!("Known here: {}.", list(&known))
                } else {
                    String::new()
                };
                let key = &entry.key;
                log.mistake(entry.key_at, format!("unknown key `{key}` in {label}{guess}"), help);
            }
        }
        Self { table, at, section, label, log }
    }

    /// Where the table itself is.
    pub const fn at(&self) -> Origin {
        self.at
    }

    /// The value of `key`, whatever it is.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.section.key(key).is_some(), "`{key}` is not declared");
        self.table.get(key)
    }

    /// True if the key is in the file.
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// Where the value of `key` is, or else the table.
    pub fn place(&self, key: &str) -> Origin {
        self.node(key).map_or(self.at, |node| node.at)
    }

    /// Reports that `key` is missing; `example` is what one would write.
    pub fn missing(&self, key: &str, example: &str) {
        let label = &self.label;
        self.log.mistake(
            self.at,
            format!("{label} has no `{key}`"),
            format!("Write for example {key} = {example}"),
        );
    }

    /// Makes an optional reading a required one.
    pub fn required<T>(&self, key: &str, example: &str, found: Found<T>) -> Option<T> {
        match found {
            Found::Value(value) => Some(value),
            Found::Wrong => None,
            Found::Absent => {
                self.missing(key, example);
                None
            }
        }
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        example: &str,
        take: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Found<T> {
        let Some(node) = self.node(key) else { return Found::Absent };
        if matches!(node.value, Value::Broken) {
            return Found::Wrong;
        }
        Found::from_reported(take(&node.value).or_else(|| {
            let message =
                format!("{} must be {wanted}, not {}", show(key, node), node.value.kind());
            self.log.mistake(node.at, message, format!("Write for example {key} = {example}"));
            None
        }))
    }

    pub fn text(&self, key: &str, example: &str) -> Found<&'a str> {
        self.read(key, "text", example, |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn flag(&self, key: &str) -> Found<bool> {
        self.read(key, "true or false", "false", |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })
    }

    pub fn table(&self, key: &str, example: &str) -> Found<&'a tree::Table> {
        self.read(key, "a table", example, |value| match value {
            Value::Table(table) => Some(table),
            _ => None,
        })
    }

    /// The keys of the table called `key`, which messages call `label`.
    pub fn below_named(
        &self,
        key: &str,
        limits: &Table,
        label: impl Into<String>,
    ) -> Found<Fields<'a>> {
        let found = self.table(key, limits.example);
        found.map(|table| Self::new(table, self.place(key), limits.section, label, self.log))
    }

    /// What messages call a table of this one.
    pub fn label_of(&self, key: &str) -> String {
        format!("`{key}` of {}", self.label)
    }

    /// Where findings go.
    pub const fn log(&self) -> &'a Log {
        self.log
    }

    /// The named tables below `key`, `[key.NAME]`; what is no table is reported
    /// and left out. `what` is what each one is.
    pub fn tables(&self, key: &str, what: &str) -> Vec<Named<'a>> {
        let Found::Value(table) = self.table(key, "{}") else { return Vec::new() };
        table.entries.iter().filter_map(|entry| self.named(key, what, entry)).collect()
    }

    fn named(&self, key: &str, what: &str, entry: &'a Entry) -> Option<Named<'a>> {
        let Entry { key: name, key_at, node } = entry;
        match &node.value {
            Value::Table(table) => {
                valid_name(name, *key_at, what, self.log);
                Some(Named { name, at: node.at, table })
            }
            Value::Broken => None,
            other => {
                let kind = other.kind();
                let message = format!("`{name}` in [{key}] must be a table, not {kind}");
                self.log.mistake(node.at, message, format!("Write [{key}.{name}] as a header."));
                None
            }
        }
    }

    pub fn array(&self, key: &str, example: &str) -> Found<&'a [Node]> {
        self.read(key, "a list", example, |value| match value {
            Value::Array(items) => Some(items.as_slice()),
            _ => None,
        })
    }

    /// A whole number within `min ..= max`. `why` ends the sentence when it is
    /// outside.
    pub fn number(&self, key: &str, min: i64, max: i64, why: &str) -> Found<i64> {
        let found = self.read(key, "a whole number", &min.to_string(), |value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        });
        found.and_then(|number| {
            let inside = (min..=max).contains(&number);
            if !inside {
                let range = if max == i64::MAX {
                    format!("{min} or more")
                } else {
                    format!("{min} to {max}")
                };
                let message = format!("{key} = {number} is out of range: it must be {range}");
                self.log.mistake(self.place(key), message, why);
            }
            inside.then_some(number)
        })
    }

    /// A duration; the sign is the caller's matter.
    pub fn span(&self, key: &str, example: &str) -> Found<Span> {
        let Some(node) = self.node(key) else { return Found::Absent };
        if let Value::Integer(0) = node.value {
            return Found::Value(Span::ZERO);
        }
        self.duration(key, example)
            .and_then(|text| parse_span(text).map_err(|e| self.unreadable(key, &e)).ok())
    }

    /// A duration as it is written, with its unit.
    pub fn duration(&self, key: &str, example: &str) -> Found<&'a str> {
        let Some(node) = self.node(key) else { return Found::Absent };
        if let Value::Integer(_) | Value::Float(_) = node.value {
            self.log.mistake(
                node.at,
                format!("{} has no unit", show(key, node)),
                format!("Write a duration with ns, us, ms, s, min or h: {key} = {example}"),
            );
            return Found::Wrong;
        }
        self.text(key, example)
    }

    /// A rate in bits per second.
    pub fn rate(&self, key: &str, example: &str) -> Found<Rate> {
        self.text(key, example)
            .and_then(|text| Rate::parse(text).map_err(|e| self.unreadable(key, &e)).ok())
    }

    /// A clock's drift in 10⁻⁹.
    pub fn ppb(&self, key: &str, example: &str) -> Found<i64> {
        if let Some(Value::Integer(0)) = self.node(key).map(|node| &node.value) {
            return Found::Value(0);
        }
        self.text(key, example)
            .and_then(|text| parse_ppb(text).map_err(|e| self.unreadable(key, &e)).ok())
    }

    /// A value with a textual form of its own, such as an address. `what` and
    /// `example` tell what was expected.
    pub fn parsed<T: FromStr>(&self, key: &str, what: &str, example: &str) -> Found<T> {
        self.text(key, example).and_then(|text| {
            text.parse()
                .map_err(|_| {
                    let why = format!("`{text}` is not {what}; write for example {example}");
                    self.unreadable(key, &why);
                })
                .ok()
        })
    }

    /// One of the names in `known`.
    pub fn choice<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Found<T> {
        let example = known.first().map_or(String::new(), |(name, _)| format!("\"{name}\""));
        self.text(key, &example).and_then(|text| {
            let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
            if found.is_none() {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let guess = did_you_mean(text, names.iter().copied());
                self.log.mistake(
                    self.place(key),
                    format!("{key} = \"{text}\" does not exist{guess}"),
                    format!("There is {}.", list(&names)),
                );
            }
            found
        })
    }

    /// Reports what is wrong with the value of `key`.
    pub fn refuse(&self, key: &str, message: String, help: String) {
        self.log.mistake(self.place(key), message, help);
    }

    fn unreadable(&self, key: &str, why: &dyn Display) {
        self.log.mistake(self.place(key), format!("{key}: {why}"), "");
    }
}

/// `key = value` as it stands in the file, shortened to the type for lists and
/// tables.
pub(crate) fn show(key: &str, node: &Node) -> String {
    match &node.value {
        Value::Text(text) => format!("{key} = \"{text}\""),
        Value::Integer(number) => format!("{key} = {number}"),
        Value::Float(number) => format!("{key} = {number}"),
        Value::Bool(flag) => format!("{key} = {flag}"),
        _ => format!("`{key}`"),
    }
}

/// Checks a name of the file's own making; reports and returns false if it is
/// none.
pub(crate) fn valid_name(name: &str, at: Origin, what: &str, log: &Log) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = (1..=32).contains(&name.chars().count())
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !good {
        log.mistake(
            at,
            format!("`{name}` cannot be the name of {what}"),
            "Names have 1 to 32 lower-case letters, digits and `-`, and begin with a letter or digit.",
        );
    }
    good
}
