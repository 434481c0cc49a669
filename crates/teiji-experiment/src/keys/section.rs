//! Tables of the file, and the rows of the documentation.

use super::{Declared, file, flow, host, port, processing, qdisc, round_trips, wire};

/// A table of the file.
pub struct Section {
    /// Its header, with placeholders in capitals.
    pub header: &'static str,
    /// Its own keys.
    pub(crate) own: &'static [&'static dyn Declared],
    /// Others whose keys it has as well.
    pub(crate) parts: &'static [PartOf],
}

/// A section that is part of another one.
pub(crate) struct PartOf {
    /// The kinds of the table that have these keys; empty if all have.
    pub kind: &'static str,
    pub section: &'static Section,
    /// The documentation explains the keys in the table of another section.
    pub as_below: bool,
}

/// A key in the table of a section.
pub(crate) struct Row {
    pub key: &'static dyn Declared,
    /// The kinds of the table that have it, each with its own declaration.
    kinds: Vec<(&'static str, &'static dyn Declared)>,
    as_below: bool,
}

impl Section {
    /// Its keys, each once.
    pub fn keys(&self) -> impl Iterator<Item = &'static dyn Declared> {
        self.rows().into_iter().map(|row| row.key)
    }

    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static dyn Declared> {
        let own = self.own.iter().find(|key| key.name() == name).copied();
        own.or_else(|| self.parts.iter().find_map(|part| part.section.key(name)))
    }

    /// The names of its keys.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.keys().map(Declared::name).collect()
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let own = self.own.iter();
        let mut rows: Vec<Row> =
            own.map(|&key| Row { key, kinds: Vec::new(), as_below: false }).collect();
        for &PartOf { kind, section, as_below } in self.parts {
            for key in section.keys() {
                let known = rows.iter_mut().find(|row| row.key.name() == key.name());
                let of_kind = (!kind.is_empty()).then_some((kind, key));
                match known {
                    Some(row) => row.kinds.extend(of_kind),
                    None => rows.push(Row { key, kinds: of_kind.into_iter().collect(), as_below }),
                }
            }
        }
        rows
    }
}

impl Row {
    /// What the key means, to which kind of table.
    pub fn meaning(&self) -> String {
        self.by_kind(
            |key| key.meaning(),
            |kinds, meaning| format!("{}: {meaning}", kinds.join(", ")),
        )
    }

    /// The same for the documentation, which does not repeat it.
    fn meaning_once(&self) -> String {
        let meaning = |key: &dyn Declared| {
            if self.as_below { "as below".to_owned() } else { key.meaning() }
        };
        self.by_kind(meaning, |kinds, meaning| format!("{}: {meaning}", kinds.join(", ")))
    }

    /// What holds without the key.
    fn default(&self) -> String {
        let same = |key: &dyn Declared| key.default() == self.key.default();
        let one = self.kinds.iter().all(|(_, key)| same(*key));
        self.by_kind(
            |key| key.default(),
            |kinds, default| match default {
                "required" => format!("required for {}", kinds.join(" and ")),
                _ if one => default.to_owned(),
                _ => format!("{}: {default}", kinds.join(", ")),
            },
        )
    }

    /// The property `of` the key; where kinds of the table declare the key, of each of them,
    /// those with the same text together in the `words` for them.
    fn by_kind(
        &self,
        of: impl Fn(&dyn Declared) -> String,
        words: impl Fn(&[&str], &str) -> String,
    ) -> String {
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for &(kind, key) in &self.kinds {
            let text = of(key);
            match groups.iter_mut().find(|(_, other)| *other == text) {
                Some((kinds, _)) => kinds.push(kind),
                None => groups.push((vec![kind], text)),
            }
        }
        let groups: Vec<String> = groups.iter().map(|(kinds, text)| words(kinds, text)).collect();
        if groups.is_empty() { of(self.key) } else { groups.join("; ") }
    }
}

/// All sections, in the order of the documentation.
pub static SECTIONS: [&Section; 20] = [
    &file::FILE,
    &file::JUDGE,
    &wire::WIRE,
    &host::HOST,
    &host::PTP,
    &host::SYSTEM,
    &host::THREAD,
    &port::PORT,
    &port::RING,
    &port::MODERATION,
    &port::PHC,
    &processing::IRQ,
    &processing::NAPI,
    &qdisc::QDISC,
    &qdisc::CLASS,
    &qdisc::GATE,
    &flow::FLOW,
    &flow::VLAN,
    &round_trips::ROUND_TRIPS,
    &file::CASE,
];

/// The section as the table of docs/experiments.md.
pub fn markdown(section: &Section) -> String {
    let mut text = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for row in section.rows() {
        let name = format!("`{}`", row.key.name());
        let cells = ["", &name, &row.key.kind(), &row.default(), &row.meaning_once(), ""];
        text.push_str(cells.join(" | ").trim());
        text.push('\n');
    }
    text
}
