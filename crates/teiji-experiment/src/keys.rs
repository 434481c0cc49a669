//! Every key of an experiment file, declared once: its name, type, range, default and meaning.
//!
//! The reader checks what is declared here ([`crate::fields::Fields::take`]), the tables of
//! docs/experiments.md and the JSON Schema print it, and where one key is one value of a
//! scenario, [`section`] makes the field of the scenario as well. What two keys say to each
//! other is code (`read/`, `check/`).

mod declare;
pub(crate) mod flow;
pub(crate) mod round_trips;
mod value;

use crate::fields::{Fields, Found};
pub(crate) use declare::section;
pub(crate) use value::{Keys, Kind, Value};

/// A table of the file.
pub struct Section {
    /// Its header, with placeholders in capitals.
    pub header: &'static str,
    /// Its keys.
    pub keys: &'static [&'static dyn Declared],
}

impl Section {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static dyn Declared> {
        self.keys.iter().find(|key| key.name() == name).copied()
    }
}

/// A key of a table whose value is a `T`.
pub(crate) struct Key<T: Kind> {
    /// As written in the file.
    pub name: &'static str,
    /// What the value may be.
    pub limits: T::Limits,
    /// What holds without it.
    pub absent: Absent<T>,
    /// What it means, for the documentation.
    meaning: &'static str,
}

/// What holds where a key is left out.
pub(crate) enum Absent<T> {
    /// It must not be; this is what one would write.
    Required(&'static str),
    /// This value.
    Default(T),
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
}

impl Fields<'_> {
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
            Absent::Default(value) => found.or_default(value.clone()),
            // A reader that wants a value there has a default of its own.
            Absent::Means(_) => found.value(),
        }
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
    fn meaning(&self) -> &'static str;
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
            Absent::Means(words) => (*words).to_owned(),
        }
    }

    fn meaning(&self) -> &'static str {
        self.meaning.trim_start()
    }
}
