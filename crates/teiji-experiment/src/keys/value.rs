//! The types of keys: how a value is read and checked, and how its type and range are described.
//! One place for both, so that the description is what is enforced.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value as Json, json};
use teiji_core::domain::{Dscp, Level, Pcp, RtPriority, SocketPriority, VlanId};
use teiji_core::quantity::Rate;
use teiji_core::wire::MacAddr;

use super::{Section, schema};
use crate::fields::{Fields, Found};

/// What can stand behind a key.
pub(crate) trait Kind: Sized + 'static {
    /// What a key says about its values, such as a range.
    type Limits: Sync + 'static;

    /// Type and range, for the documentation.
    fn words(limits: &Self::Limits) -> String;

    /// The same as JSON Schema.
    fn schema(limits: &Self::Limits) -> Json;

    /// The value as the file would have it.
    fn toml(&self, _limits: &Self::Limits) -> String {
        String::new()
    }
}

/// What can be read without knowing other keys.
pub(crate) trait Value: Kind + Clone {
    /// Absent, reported as wrong, or the value.
    fn read(limits: &Self::Limits, key: &'static str, fields: &Fields<'_>) -> Found<Self>;
}

/// A range, both ends included.
pub(crate) struct Int<T> {
    pub least: T,
    pub most: T,
    /// Ends the message about a value outside.
    why: &'static str,
}

/// A whole number from `least` to `most`.
pub(crate) const fn int<T: Copy>(least: T, most: T) -> Int<T> {
    Int { least, most, why: "" }
}

impl<T: Copy> Int<T> {
    pub const fn why(self, why: &'static str) -> Self {
        Self { least: self.least, most: self.most, why }
    }
}

macro_rules! integers {
    ($($Int:ty),*) => { $(
        impl Kind for $Int {
            type Limits = Int<Self>;

            fn words(limits: &Int<Self>) -> String {
                range(in_a_file(limits.least), in_a_file(limits.most))
            }

            fn schema(limits: &Int<Self>) -> Json {
                json!({ "type": "integer", "minimum": limits.least, "maximum": limits.most })
            }

            fn toml(&self, _: &Int<Self>) -> String {
                self.to_string()
            }
        }

        impl Value for $Int {
            fn read(limits: &Int<Self>, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
                let (least, most) = (in_a_file(limits.least), in_a_file(limits.most));
                let found = fields.number(key, least, most, limits.why);
                found.and_then(|n| Self::try_from(n).ok())
            }
        }
    )* };
}

integers!(u8, u16, u32, u64, i32, Dscp, Level, Pcp, RtPriority, SocketPriority, VlanId);

/// What a file holds has 64 bits with a sign.
fn in_a_file(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// `whole number, 1 … 9`; an end that only the type sets is left out.
fn range(least: i64, most: i64) -> String {
    let least = if least == i64::from(i32::MIN) { String::new() } else { format!("{least} ") };
    let most = if most == i64::MAX { String::new() } else { format!(" {most}") };
    format!("whole number, {least}…{most}")
}

impl Kind for bool {
    type Limits = ();

    fn words((): &()) -> String {
        "true or false".to_owned()
    }

    fn schema((): &()) -> Json {
        json!({ "type": "boolean" })
    }

    fn toml(&self, (): &()) -> String {
        self.to_string()
    }
}

impl Value for bool {
    fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.flag(key)
    }
}

/// What a text may be.
pub(crate) struct Text {
    words: &'static str,
    example: &'static str,
    /// A regular expression.
    pattern: &'static str,
}

/// Any text.
pub(crate) const fn text(example: &'static str) -> Text {
    Text { words: "text", example, pattern: "" }
}

/// A name of the file's own making. That it names something is checked where that is known.
pub(crate) const fn name(example: &'static str) -> Text {
    Text { words: "name", example, pattern: schema::NAME }
}

/// A text of a form that code knows, `words` for people and `pattern` for machines.
pub(crate) const fn form(
    words: &'static str,
    pattern: &'static str,
    example: &'static str,
) -> Text {
    Text { words, example, pattern }
}

impl Kind for String {
    type Limits = Text;

    fn words(limits: &Text) -> String {
        limits.words.to_owned()
    }

    fn schema(limits: &Text) -> Json {
        match limits.pattern {
            "" => json!({ "type": "string" }),
            pattern => json!({ "type": "string", "pattern": pattern }),
        }
    }

    fn toml(&self, _: &Text) -> String {
        format!("{self:?}")
    }
}

impl Value for String {
    fn read(limits: &Text, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.text(key, limits.example).map(str::to_owned)
    }
}

/// An address: what it is, with article and without, an example, and its JSON Schema.
macro_rules! addresses {
    ($($Address:ty: $article:literal $words:literal, $example:literal, $schema:expr;)*) => { $(
        impl Kind for $Address {
            type Limits = ();

            fn words((): &()) -> String {
                $words.to_owned()
            }

            fn schema((): &()) -> Json {
                $schema
            }
        }

        impl Value for $Address {
            fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
                fields.parsed(key, concat!($article, " ", $words), concat!("\"", $example, "\""))
            }
        }
    )* };
}

addresses! {
    MacAddr: "a" "MAC address", "02:00:00:00:00:01",
        json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$" });
    Ipv4Addr: "an" "IPv4 address", "10.1.0.1", json!({ "type": "string", "format": "ipv4" });
    Ipv6Addr: "an" "IPv6 address", "fd74:656a:1::1", json!({ "type": "string", "format": "ipv6" });
}

/// What a rate may be.
pub(crate) struct Rates {
    example: &'static str,
    /// The possible ones; none for all.
    known: &'static [&'static str],
}

/// Any rate.
pub(crate) const fn rate(example: &'static str) -> Rates {
    Rates { example, known: &[] }
}

/// One of these rates.
pub(crate) const fn rates(example: &'static str, known: &'static [&'static str]) -> Rates {
    Rates { example, known }
}

impl Rates {
    /// Whether it is a possible one.
    pub fn has(&self, rate: Rate) -> bool {
        self.known.is_empty() || self.known.iter().any(|text| Rate::parse(text) == Ok(rate))
    }

    /// The possible ones, `a, b and c`.
    pub fn list(&self) -> String {
        and(self.known, "and")
    }
}

impl Kind for Rate {
    type Limits = Rates;

    fn words(limits: &Rates) -> String {
        match limits.known {
            [] => format!("rate such as `{}`", limits.example),
            known => and(&quoted(known), "or"),
        }
    }

    fn schema(limits: &Rates) -> Json {
        let any = json!({ "type": "string", "pattern": "^[0-9._ ]*[0-9][0-9._ ]*[kMG]?bit/s *$" });
        // One may be written in several ways.
        if limits.known.is_empty() {
            any
        } else {
            json!({ "anyOf": [{ "enum": limits.known }, any] })
        }
    }
}

impl Value for Rate {
    fn read(limits: &Rates, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.rate(key, limits.example)
    }
}

/// A value that is chosen by name.
pub(crate) trait Choice: Copy + PartialEq + Sync + 'static {}

/// The names to choose from.
pub(crate) struct Names<T: 'static> {
    known: &'static [(&'static str, T)],
    /// How many of them are possible: the others have a message of their own elsewhere.
    possible: usize,
}

/// One of these.
pub(crate) const fn one_of<T>(known: &'static [(&'static str, T)]) -> Names<T> {
    Names { known, possible: known.len() }
}

/// All values of a type that lists them (`ALL`) and names each (`name()`), for [`one_of`].
macro_rules! all_of {
    ($T:ty) => {
        const {
            &{
                let mut all = [("", <$T>::ALL[0]); <$T>::ALL.len()];
                let mut index = 0;
                while index < all.len() {
                    all[index] = (<$T>::ALL[index].name(), <$T>::ALL[index]);
                    index += 1;
                }
                all
            }
        }
    };
}

pub(crate) use all_of;

impl<T> Names<T> {
    /// The others are known, and refused with a reason.
    pub const fn possible(self, possible: usize) -> Self {
        Self { possible, ..self }
    }

    fn names(&self) -> Vec<&'static str> {
        self.known.iter().take(self.possible).map(|(name, _)| *name).collect()
    }
}

impl<T: Choice> Kind for T {
    type Limits = Names<T>;

    fn words(limits: &Names<T>) -> String {
        and(&quoted(&limits.names()), "or")
    }

    fn schema(limits: &Names<T>) -> Json {
        json!({ "enum": limits.names() })
    }

    fn toml(&self, limits: &Names<T>) -> String {
        let name =
            limits.known.iter().find(|(_, value)| value == self).map_or("", |(name, _)| name);
        format!("\"{name}\"")
    }
}

impl<T: Choice> Value for T {
    fn read(limits: &Names<T>, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.choice(key, limits.known)
    }
}

/// A table with keys of its own.
pub(crate) struct Table {
    pub section: &'static Section,
    pub example: &'static str,
}

/// The keys of `section` in a table; `example` is what one would write.
pub(crate) const fn table(section: &'static Section, example: &'static str) -> Table {
    Table { section, example }
}

impl Table {
    /// `table { tx, rx }`; of many keys the first ones.
    pub fn words(&self) -> String {
        match self.section.names().as_slice() {
            [first, second, _, _, _, ..] => format!("table `{{ {first}, {second}, … }}`"),
            names => format!("table `{{ {} }}`", names.join(", ")),
        }
    }

    pub fn schema(&self) -> Json {
        json!({ "allOf": [schema::reference(self.section)] })
    }
}

/// Marks a key whose value is a table; what is in it is code's matter.
pub(crate) struct Keys;

impl Kind for Keys {
    type Limits = Table;

    fn words(limits: &Table) -> String {
        limits.words()
    }

    fn schema(limits: &Table) -> Json {
        limits.schema()
    }
}

/// Makes a settled section the value of a key that is a table: `$Draft` reads it.
macro_rules! from_table {
    ($Settled:ty, $Draft:ty) => {
        impl $crate::keys::Kind for $Settled {
            type Limits = $crate::keys::value::Table;

            fn words(limits: &Self::Limits) -> String {
                limits.words()
            }

            fn schema(limits: &Self::Limits) -> serde_json::Value {
                limits.schema()
            }
        }

        impl $crate::keys::Value for $Settled {
            fn read(
                limits: &Self::Limits,
                key: &'static str,
                fields: &$crate::fields::Fields<'_>,
            ) -> $crate::fields::Found<Self> {
                let label = fields.label_of(key);
                fields
                    .below_named(key, limits, label)
                    .and_then(|fields| <$Draft>::read(&fields).finish())
            }
        }
    };
}

pub(crate) use from_table;

/// The names as TOML in the documentation.
pub(super) fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`\"{name}\"`")).collect()
}

/// `a, b or c`.
pub(super) fn and<T: AsRef<str>>(names: &[T], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} {word} {last}", all.join(", ")),
    }
}
