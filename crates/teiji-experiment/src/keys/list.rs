//! Lists and tables of tables as values of keys.

use serde_json::{Value as Json, json};

use super::value::{Table, and, quoted};
use super::{Kind, Section, Value, schema};
use crate::fields::{Fields, Found};
use crate::read::policy;

/// What an element of a list is.
pub(crate) enum Item {
    /// A name of the file's own making.
    Name,
    /// A text that its reader knows.
    Text,
    /// A text of a form, for people, and as a regular expression.
    Form(&'static str, &'static str),
    /// A whole number from 0 to this.
    Number(u8),
    /// One of some names.
    OneOf(fn() -> Vec<&'static str>),
    /// A table.
    Table(&'static Section),
}

/// What a list may hold.
pub(crate) struct List {
    item: Item,
    pub least: usize,
    pub most: usize,
    pub example: &'static str,
}

/// A list of any length.
pub(crate) const fn list(item: Item, example: &'static str) -> List {
    List { item, least: 0, most: usize::MAX, example }
}

impl List {
    /// With at least and at most so many elements.
    pub const fn length(self, least: usize, most: usize) -> Self {
        Self { least, most, ..self }
    }

    pub fn has(&self, length: usize) -> bool {
        (self.least..=self.most).contains(&length)
    }
}

/// Marks a key whose value is a list; reading the elements is code's matter.
pub(crate) struct Items;

impl Kind for Items {
    type Limits = List;

    fn words(limits: &List) -> String {
        let items = match &limits.item {
            Item::Name => "names".to_owned(),
            Item::Text => "texts".to_owned(),
            Item::Form(words, _) => (*words).to_owned(),
            Item::Number(most) => format!("whole numbers 0 … {most}"),
            Item::OneOf(names) => and(&quoted(&names()), "or"),
            Item::Table(section) => {
                format!("tables `{{ {} }}`", section.names().join(", "))
            }
        };
        match limits.most {
            2 => format!("list of two {items}"),
            most if most == limits.least => format!("list of {most} {items}"),
            _ => format!("list of {items}"),
        }
    }

    fn schema(limits: &List) -> Json {
        let item = match &limits.item {
            Item::Name => json!({ "type": "string", "pattern": schema::NAME }),
            Item::Text => json!({ "type": "string" }),
            Item::Form(_, pattern) => json!({ "type": "string", "pattern": pattern }),
            Item::Number(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
            Item::OneOf(names) => json!({ "enum": names() }),
            Item::Table(section) => schema::complete(section),
        };
        let mut schema = json!({ "type": "array", "items": item });
        if limits.least > 0 {
            schema["minItems"] = json!(limits.least);
        }
        if limits.most < usize::MAX {
            schema["maxItems"] = json!(limits.most);
        }
        schema
    }
}

/// A list of CPUs, `least` at least.
fn cpus(least: usize) -> Json {
    let cpu = json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX });
    json!({ "type": "array", "items": cpu, "minItems": least })
}

impl Kind for Vec<u16> {
    type Limits = ();

    fn words((): &()) -> String {
        "list of CPUs".to_owned()
    }

    fn schema((): &()) -> Json {
        cpus(1)
    }
}

impl Value for Vec<u16> {
    fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        policy::cpus(fields, key, fields.log())
    }
}

impl Kind for Vec<Vec<u16>> {
    type Limits = ();

    fn words((): &()) -> String {
        "list of lists of CPUs".to_owned()
    }

    fn schema((): &()) -> Json {
        json!({ "type": "array", "items": cpus(0) })
    }
}

impl Value for Vec<Vec<u16>> {
    fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        policy::cpus_of_queues(fields, key, fields.log())
    }
}

/// Marks a key below which stand tables with names.
pub(crate) struct Tables;

impl Kind for Tables {
    type Limits = &'static Section;

    fn words(_: &&'static Section) -> String {
        "tables".to_owned()
    }

    fn schema(section: &&'static Section) -> Json {
        json!({
            "type": "object",
            "propertyNames": { "pattern": schema::NAME },
            "additionalProperties": schema::reference(section),
        })
    }
}

/// Marks a table of which the documentation has no list of keys in the row.
pub(crate) struct LongTable;

impl Kind for LongTable {
    type Limits = Table;

    fn words(_: &Table) -> String {
        "table".to_owned()
    }

    fn schema(limits: &Table) -> Json {
        limits.schema()
    }
}
