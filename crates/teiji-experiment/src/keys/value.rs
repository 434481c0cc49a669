//! The types of keys: how a value is read and checked, and how its type and range are described.
//! One place for both, so that the description is what is enforced.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::Section;
use crate::fields::{Fields, Found};

/// What can stand behind a key.
pub(crate) trait Kind: Sized + 'static {
    /// What a key says about its values, such as a range.
    type Limits: Sync + 'static;

    /// Type and range, for the documentation.
    fn words(limits: &Self::Limits) -> String;

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
                let (least, most) = (i128::from(limits.least), i128::from(limits.most));
                let most = if most >= i128::from(i64::MAX) { String::new() } else { format!(" {most}") };
                format!("whole number, {least} …{most}")
            }

            fn toml(&self, _: &Int<Self>) -> String {
                self.to_string()
            }
        }

        impl Value for $Int {
            fn read(limits: &Int<Self>, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
                // What a file holds has 64 bits with a sign.
                let end = |n: Self| i64::try_from(n).unwrap_or(i64::MAX);
                let found = fields.number(key, end(limits.least), end(limits.most), limits.why);
                found.and_then(|n| Self::try_from(n).ok())
            }
        }
    )* };
}

integers!(u8, u16, u32, u64, i32);

impl Kind for bool {
    type Limits = ();

    fn words((): &()) -> String {
        "true or false".to_owned()
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
}

/// A name of the file's own making. That it names something is checked where that is known.
pub(crate) const fn name(example: &'static str) -> Text {
    Text { words: "name", example }
}

impl Kind for String {
    type Limits = Text;

    fn words(limits: &Text) -> String {
        limits.words.to_owned()
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

/// The message about a duration that is not possible: cause, and what to write.
pub(crate) type Refusal = fn(&Time, &str, Span) -> [String; 2];

/// What a duration may be.
pub(crate) struct Time {
    example: &'static str,
    pub least: Span,
    pub most: Span,
    /// It is a whole number of these, which have a name.
    unit: Option<(Span, &'static str)>,
    refusal: Refusal,
}

const LONGEST: Span = Span::from_ns(i64::MAX);
/// The shortest duration that is none.
const SHORTEST: Span = Span::from_ns(1);

/// A duration, even a negative one.
pub(crate) const fn time(example: &'static str) -> Time {
    let least = Span::from_ns(i64::MIN);
    Time { example, least, most: LONGEST, unit: None, refusal: out_of_range }
}

impl Time {
    /// From `least` to `most`, both included.
    pub const fn within(self, least: Span, most: Span) -> Self {
        Self { least, most, ..self }
    }

    /// Longer than nothing.
    pub const fn positive(self) -> Self {
        self.within(SHORTEST, LONGEST)
    }

    /// Not negative.
    pub const fn not_negative(self) -> Self {
        self.within(Span::ZERO, LONGEST)
    }

    pub const fn whole_micros(self) -> Self {
        Self { unit: Some((Span::from_micros(1), "microseconds")), ..self }
    }

    /// The words for what is not possible.
    pub const fn refused(self, refusal: Refusal) -> Self {
        Self { refusal, ..self }
    }

    /// Whether `span` is within the bounds, whole or not.
    pub fn has(&self, span: Span) -> bool {
        (self.least..=self.most).contains(&span)
    }

    fn range(&self) -> String {
        if (self.least, self.most) == (SHORTEST, LONGEST) {
            return ", above 0".to_owned();
        }
        let most =
            if self.most == LONGEST { String::new() } else { format!(" {}", short(self.most)) };
        if self.least.as_ns() == i64::MIN {
            most
        } else {
            format!(", {} …{most}", short(self.least))
        }
    }
}

/// The usual words.
pub(crate) fn out_of_range(time: &Time, key: &str, span: Span) -> [String; 2] {
    let shown = format_span(span);
    if time.has(span) {
        let unit = time.unit.map_or("", |(_, name)| name);
        let message = format!("{key} = {shown} is not a whole number of {unit}");
        return [message, "The driver is told in these.".to_owned()];
    }
    let [least, most] = [time.least, time.most].map(format_span);
    [format!("{key} = {shown} is out of range"), format!("It is {least} to {most}.")]
}

/// The words for settings that the kernel keeps in microseconds.
pub(crate) fn not_possible(time: &Time, key: &str, span: Span) -> [String; 2] {
    let help = if time.has(span) {
        "The kernel counts it in whole microseconds.".to_owned()
    } else {
        format!("It is {} to {}.", format_span(time.least), format_span(time.most))
    };
    [format!("{key} = {} is not possible", format_span(span)), help]
}

/// A duration as one writes it in a file: `1ms`.
fn short(span: Span) -> String {
    const UNITS: [(i64, &str); 4] =
        [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let ns = span.as_ns();
    let fits = |(unit, _): &&(i64, &str)| ns % unit == 0;
    match UNITS.iter().find(fits) {
        Some((unit, name)) if ns != 0 => format!("{}{name}", ns / unit),
        _ => "0".to_owned(),
    }
}

impl Kind for Span {
    type Limits = Time;

    fn words(limits: &Time) -> String {
        let whole = limits.unit.map_or(String::new(), |(_, name)| format!(", whole {name}"));
        format!("duration{whole}{}", limits.range())
    }

    fn toml(&self, _: &Time) -> String {
        if *self == Self::ZERO { short(*self) } else { format!("\"{}\"", short(*self)) }
    }
}

impl Value for Span {
    fn read(limits: &Time, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.span(key, limits.example).and_then(|span| {
            let whole = limits.unit.is_none_or(|(unit, _)| span.as_ns() % unit.as_ns() == 0);
            let good = limits.has(span) && whole;
            if !good {
                let [message, help] = (limits.refusal)(limits, key, span);
                fields.refuse(key, message, help);
            }
            good.then_some(span)
        })
    }
}

/// A value that is chosen by name.
pub(crate) trait Choice: Copy + PartialEq + Sync + 'static {}

/// The names to choose from.
pub(crate) struct Names<T: 'static>(pub &'static [(&'static str, T)]);

/// One of these.
pub(crate) const fn one_of<T>(names: &'static [(&'static str, T)]) -> Names<T> {
    Names(names)
}

impl<T: Choice> Kind for T {
    type Limits = Names<T>;

    fn words(Names(names): &Names<T>) -> String {
        let names: Vec<String> = names.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
        or(&names)
    }

    fn toml(&self, Names(names): &Names<T>) -> String {
        let name = names.iter().find(|(_, value)| value == self).map_or("", |(name, _)| name);
        format!("\"{name}\"")
    }
}

impl<T: Choice> Value for T {
    fn read(Names(names): &Names<T>, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.choice(key, names)
    }
}

/// `a, b or c`.
fn or(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// A table with keys of its own.
pub(crate) struct Table {
    pub section: &'static Section,
    pub example: &'static str,
}

/// Marks a key whose value is a table; what is in it is code's matter.
pub(crate) struct Keys;

/// The keys of `section` in a table; `example` is what one would write.
pub(crate) const fn table(section: &'static Section, example: &'static str) -> Table {
    Table { section, example }
}

impl Kind for Keys {
    type Limits = Table;

    fn words(limits: &Table) -> String {
        let names: Vec<&str> = limits.section.keys.iter().map(|key| key.name()).collect();
        format!("table `{{ {} }}`", names.join(", "))
    }
}
