//! The keys as a JSON Schema, for editors and other validators.
//!
//! It is draft 7, which the language servers for TOML know. It knows types, ranges and names of
//! keys; what several keys mean together only `teiji check` knows. A table of an experiment may be
//! incomplete, because a case completes it: so no key of one is required here, but those at the
//! top of the file and in tables that stand in lists.

use serde_json::{Map, Value as Json, json};

use super::{SECTIONS, Section, file};
use crate::cases::PER_CASE;

/// A name of the file's own making.
pub(super) const NAME: &str = "^[a-z0-9][a-z0-9-]{0,31}$";

/// The JSON Schema of experiment files.
pub fn json_schema() -> Json {
    let mut schema = object(&file::FILE);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("Teiji experiment");
    let required = file::FILE.keys().filter(|key| key.is_required());
    let required = required.map(super::Declared::name).filter(|name| !PER_CASE.contains(name));
    schema["required"] = required.collect();
    let below = SECTIONS.iter().filter(|section| section.header != file::FILE.header);
    let definitions: Map<String, Json> =
        below.map(|section| (definition(section), object(section))).collect();
    schema["definitions"] = Json::Object(definitions);
    schema
}

/// The table of `section`, wherever it stands.
pub(super) fn reference(section: &Section) -> Json {
    json!({ "$ref": format!("#/definitions/{}", definition(section)) })
}

/// A table that stands in a list: nothing completes it.
pub(super) fn complete(section: &Section) -> Json {
    let required: Vec<&str> =
        section.keys().filter(|key| key.is_required()).map(super::Declared::name).collect();
    json!({ "allOf": [reference(section)], "required": required })
}

fn object(section: &Section) -> Json {
    let properties: Map<String, Json> = section
        .rows()
        .into_iter()
        .map(|row| {
            let mut schema = row.key.schema();
            schema["description"] = json!(row.meaning());
            (row.key.name().to_owned(), schema)
        })
        .collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// The header as a word.
fn definition(section: &Section) -> String {
    let words = section.header.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
