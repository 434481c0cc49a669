//! Durations as values of keys.

use serde_json::{Value as Json, json};
use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::{Kind, Value};
use crate::fields::{Fields, Found};

/// The message about a duration that is not possible: cause, and what to write.
pub(crate) type Refusal = fn(&Time, &str, Span) -> [String; 2];

/// What a duration may be.
pub(crate) struct Time {
    pub example: &'static str,
    pub least: Span,
    pub most: Span,
    /// It is a whole number of these, which have a name.
    unit: Option<(Span, &'static str)>,
    refusal: Refusal,
    /// `check/` refuses what is outside, after it has looked at what hangs on the value.
    later: bool,
}

const LONGEST: Span = Span::from_ns(i64::MAX);
/// The shortest duration that is none.
const SHORTEST: Span = Span::from_ns(1);

/// A duration, even a negative one.
pub(crate) const fn time(example: &'static str) -> Time {
    let least = Span::from_ns(i64::MIN);
    Time { example, least, most: LONGEST, unit: None, refusal: out_of_range, later: false }
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

    pub const fn whole_millis(self) -> Self {
        Self { unit: Some((Span::from_millis(1), "milliseconds")), ..self }
    }

    /// The words for what is not possible.
    pub const fn refused(self, refusal: Refusal) -> Self {
        Self { refusal, ..self }
    }

    /// `check/` refuses what is outside, not the reader.
    pub const fn later(self) -> Self {
        Self { later: true, ..self }
    }

    /// The greatest duration of which it is a multiple.
    pub fn unit(&self) -> Span {
        self.unit.map_or(SHORTEST, |(unit, _)| unit)
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
        return [message, "The driver counts in these.".to_owned()];
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
    const SECOND: i64 = 1_000_000_000;
    const UNITS: [(i64, &str); 5] = [
        (3_600 * SECOND, "h"),
        (SECOND, "s"),
        (SECOND / 1_000, "ms"),
        (SECOND / 1_000_000, "us"),
        (1, "ns"),
    ];
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

    fn schema(limits: &Time) -> Json {
        let sign = if limits.least.is_negative() { "[-+]?" } else { "\\+?" };
        let pattern = format!("^ *{sign}[0-9._ ]*[0-9][0-9._ ]*(ns|us|µs|μs|ms|s|min|h) *$");
        let text = json!({ "type": "string", "pattern": pattern });
        if limits.least > Span::ZERO {
            return text;
        }
        // Nothing needs no unit.
        json!({ "anyOf": [text, { "enum": [0, "0"] }] })
    }

    fn toml(&self, _: &Time) -> String {
        if *self == Self::ZERO { short(*self) } else { format!("\"{}\"", short(*self)) }
    }
}

impl Value for Span {
    fn read(limits: &Time, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.span(key, limits.example).and_then(|span| {
            let whole = span.as_ns() % limits.unit().as_ns() == 0;
            let good = limits.later || (limits.has(span) && whole);
            if !good {
                let [message, help] = (limits.refusal)(limits, key, span);
                fields.refuse(key, message, help);
            }
            good.then_some(span)
        })
    }
}
