//! Every key of an experiment file, declared once: its name, type, range, default and meaning.
//!
//! The reader checks what is declared here (`Fields::take`), the tables of docs/experiments.md and
//! the JSON Schema print it, and where one key is one value of a scenario, `section!` makes the
//! field of the scenario as well. What several keys mean together is code (`read/`, `check/`).

mod declare;
pub(crate) mod file;
pub(crate) mod flow;
pub(crate) mod host;
mod list;
pub(crate) mod port;
pub(crate) mod prioflow;
pub(crate) mod processing;
pub(crate) mod profile;
pub(crate) mod qdisc;
pub(crate) mod round_trips;
mod schema;
mod section;
#[cfg(test)]
mod tests;
mod time;
mod value;
pub(crate) mod wire;

use serde_json::Value as Json;

use crate::fields::{Fields, Found};
pub use file::PAPERS;
pub use profile::{PROFILE, PROFILE_PORT};
pub use qdisc::MAX_CLASSES;
pub use schema::json_schema;
pub use section::{SECTIONS, Section, markdown};

pub(crate) use declare::section;
pub(crate) use list::Items;
pub(crate) use section::PartOf;
pub(crate) use value::{Keys, Kind, Table, Value};

/// A key of a table whose value is a `T`.
pub(crate) struct Key<T: Kind> {
    /// As written in the file.
    pub name: &'static str,
    /// What the value may be.
    pub limits: T::Limits,
    /// What holds without it.
    absent: Absent<T>,
    /// What it means, for the documentation.
    meaning: &'static str,
}

/// What holds where a key is left out.
pub(crate) enum Absent<T> {
    /// It must not be; this is what one would write.
    Required(&'static str),
    /// This value.
    Default(T),
    /// This value, which has words of its own.
    Described(T, &'static str),
    /// This value, or what its reader makes of it, as the words behind it say.
    Computed(T, &'static str),
    /// Nothing that the key alone could tell, in words.
    Means(&'static str),
}

impl<T: Kind> Key<T> {
    pub const fn new(
        name: &'static str,
        limits: T::Limits,
        absent: Absent<T>,
        meaning: &'static str,
    ) -> Self {
        Self { name, limits, absent, meaning }
    }

    /// The key with a value that is no default.
    pub fn unless_default(&self, value: &T) -> Option<(&'static str, String)> {
        let text = value.toml(&self.limits);
        match &self.absent {
            Absent::Default(default) | Absent::Described(default, _)
                if default.toml(&self.limits) == text =>
            {
                None
            }
            _ => Some((self.name, text)),
        }
    }

    /// The key with its value, where it has one.
    #[expect(clippy::ref_option, reason = "as the field has it")]
    pub fn if_there(&self, value: &Option<T>) -> Option<(&'static str, String)> {
        value.as_ref().map(|value| (self.name, value.toml(&self.limits)))
    }

    /// What one would write for a required key.
    pub const fn example(&self) -> &'static str {
        match self.absent {
            Absent::Required(example) => example,
            _ => "",
        }
    }
}

/// A settled section as the file has it.
pub(crate) trait Written {
    /// Each key that is a field, unless it is left to its default, with its value.
    fn written(&self) -> Vec<(&'static str, String)>;
}

impl<'a> Fields<'a> {
    /// The value of `key` as the file has it, checked by itself.
    pub fn take<T: Value>(&self, key: &Key<T>) -> Found<T> {
        T::read(&key.limits, key.name, self)
    }

    /// The same, with the key's default where the file has none; a required one that is
    /// missing is reported.
    pub fn settled<T: Value>(&self, key: &Key<T>) -> Option<T> {
        let found = self.take(key);
        match &key.absent {
            Absent::Required(example) => self.required(key.name, example, found),
            Absent::Default(value) | Absent::Described(value, _) => found.or_default(value.clone()),
            // Its reader has a default of its own.
            Absent::Computed(..) | Absent::Means(_) => found.value(),
        }
    }

    /// The keys of the table `key`, which messages call `label`.
    pub fn below(&self, key: &Key<Keys>, label: impl Into<String>) -> Found<Fields<'a>> {
        self.below_named(key.name, &key.limits, label)
    }

    /// The elements of the list `key`.
    pub fn items(&self, key: &Key<Items>) -> Found<&'a [crate::tree::Node]> {
        self.array(key.name, key.limits.example)
    }
}

/// A key whatever its type, for what prints all of them.
pub trait Declared: Sync {
    /// As written in the file.
    fn name(&self) -> &'static str;
    /// What its value is, in words: the type and the range that the reader enforces.
    fn kind(&self) -> String;
    /// What holds when it is left out; `required` if it must not be.
    fn default(&self) -> String;
    /// What it means.
    fn meaning(&self) -> String;
    /// What one would write for it if it is required; otherwise empty.
    fn example(&self) -> &'static str;
    /// Whether it must not be left out.
    fn is_required(&self) -> bool {
        !self.example().is_empty()
    }
    /// What its value is, as JSON Schema.
    fn schema(&self) -> Json;
}

impl<T: Kind + Sync> Declared for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> String {
        T::words(&self.limits)
    }

    fn default(&self) -> String {
        match &self.absent {
            Absent::Required(_) => "required".to_owned(),
            Absent::Default(value) => format!("`{}`", value.toml(&self.limits)),
            Absent::Computed(value, words) => format!("`{}`{words}", value.toml(&self.limits)),
            Absent::Described(_, words) | Absent::Means(words) => (*words).to_owned(),
        }
    }

    fn meaning(&self) -> String {
        self.meaning.trim_start().to_owned()
    }

    fn example(&self) -> &'static str {
        self.example()
    }

    fn schema(&self) -> Json {
        let mut schema = T::schema(&self.limits);
        if let Absent::Default(value) = &self.absent {
            // What stands for a default is the same in TOML and in JSON.
            schema["default"] = value.toml(&self.limits).parse().unwrap_or(Json::Null);
        }
        schema
    }
}
