//! Each declared key is really read. The cases come from the declarations alone.

use std::collections::BTreeSet;

use super::{Declared, SECTIONS, Section, file, schema};
use crate::Reader;

/// A wire for all tables but its own; keys of vtsn ports need the NIC.
const WIRE: &str = "[wires.line]\nbetween = [\"talker\", \"listener\"]\nnic = \"vtsn\"\n";

/// A table of the file.
struct Place {
    section: &'static Section,
    /// `wires.line`; empty for the file itself.
    path: String,
    /// With brackets; empty for the file itself.
    header: String,
    /// What precedes the header: the tables that contain this one, with their required keys.
    before: String,
}

impl Place {
    fn file() -> Self {
        let [path, header, before] = [const { String::new() }; 3];
        Self { section: &file::FILE, path, header, before }
    }

    /// Its keys by the kind of table; those of all kinds have none.
    fn keys(&self) -> Vec<(&'static str, &'static dyn Declared)> {
        let own = self.section.own.iter().map(|&key| ("", key));
        let parts = self.section.parts.iter();
        let parts = parts.flat_map(|part| part.section.keys().map(|key| (part.kind, key)));
        own.chain(parts).collect()
    }

    /// The header and the keys that a table of this kind must have, except `key`.
    fn required(&self, kind: &str, key: &str) -> Vec<String> {
        let keys = self.keys();
        let needed = keys.iter().filter(|(of, other)| {
            let own = of.is_empty() || *of == kind;
            own && other.is_required() && other.name() != key && !is_named(*other)
        });
        let lines = needed.map(|(_, other)| match other.name() {
            "kind" if !kind.is_empty() => format!("kind = \"{kind}\""),
            name => format!("{name} = {}", other.example()),
        });
        lines.collect()
    }

    /// The file, with a date as the value of `key`, and the line where that is.
    fn with_a_date(&self, kind: &str, key: &str) -> (String, usize) {
        let Self { path, header, before, .. } = self;
        let begin = format!("{before}{header}");
        let required = self.required(kind, key).join("\n");
        let wire = if path.starts_with("wires") || key == "wires" { "" } else { WIRE };
        let text = format!("{begin}{key} = 2021-01-01\n{required}\n{wire}");
        (text, begin.lines().count() + 1)
    }

    /// The table that is the value of `key`, or one of the tables.
    fn below(&self, kind: &str, key: &dyn Declared) -> Option<Self> {
        let schema = key.schema();
        let path = format!("{}.{}", self.path, key.name());
        let path = path.trim_start_matches('.');
        SECTIONS.iter().find_map(|section| {
            let wanted = schema::reference(section);
            let (path, [open, close]) = if schema["allOf"][0] == wanted {
                (path.to_owned(), ["[", "]"])
            } else if schema["additionalProperties"] == wanted {
                let name = match key.name() {
                    "hosts" => "talker",
                    "wires" | "ports" => "line",
                    _ => "0",
                };
                (format!("{path}.{name}"), ["[", "]"])
            } else if schema["items"]["allOf"][0] == wanted {
                (path.to_owned(), ["[[", "]]"])
            } else {
                return None;
            };
            let required = self.required(kind, key.name()).join("\n");
            let before = format!("{}{}{required}\n", self.before, self.header);
            let header = format!("{open}{path}{close}\n");
            Some(Self { section, path, header, before })
        })
    }
}

/// The key has tables with names of the file's own making.
fn is_named(key: &dyn Declared) -> bool {
    key.schema()["additionalProperties"].is_object()
}

/// One table of each section.
fn places() -> Vec<Place> {
    let mut seen = BTreeSet::from([file::FILE.header]);
    let mut places = vec![Place::file()];
    let mut next = 0;
    while let Some(place) = places.get(next) {
        let below = place.keys().into_iter().filter_map(|(kind, key)| place.below(kind, key));
        let new: Vec<Place> = below.filter(|below| seen.insert(below.section.header)).collect();
        places.extend(new);
        next += 1;
    }
    places
}

#[test]
fn every_section_has_a_place_in_the_file() {
    let found: BTreeSet<&str> = places().iter().map(|place| place.section.header).collect();
    assert_eq!(found, SECTIONS.iter().map(|section| section.header).collect());
}

/// No key accepts a date: one without a finding about its type is not read at all.
#[test]
fn every_declared_key_of_every_kind_is_read() {
    for place in places() {
        for (kind, key) in place.keys() {
            let (text, line) = place.with_a_date(kind, key.name());
            let findings = Reader::new("f").read(&text).findings.to_string();
            let of_type = |l: &str| {
                l.contains(&format!("f:{line}:"))
                    && l.contains(&format!("`{}` must be ", key.name()))
            };
            assert!(
                findings.lines().any(of_type),
                "{} {kind}: `{}` is not read\n{text}\n{findings}",
                place.section.header,
                key.name()
            );
        }
    }
}
