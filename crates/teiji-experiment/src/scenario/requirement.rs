//! What a case must fulfil: `range of cycle <= 20us with lost <= 0.1%`.

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::figure::Figure;
use teiji_core::load::LoadKind;

/// One requirement of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// As it was written.
    pub text: String,
    /// What is measured.
    pub figure: RequiredFigure,
    /// Of what; empty where the load is part of the figure. Never empty otherwise.
    pub of: Vec<String>,
    /// How it is compared.
    pub relation: Relation,
    /// With what: ns, a count, or bits per second, as the figure says.
    pub bound: i64,
    /// Of a time, how much may be lost: what is lost has no time. Without it nothing.
    pub allowed_loss: AllowedLoss,
}

/// How many frames or requests may be lost, in each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllowedLoss {
    /// So many.
    Count(u64),
    /// This share of the planned ones, in billionths.
    PerBillion(u64),
}

impl AllowedLoss {
    /// None.
    pub const NONE: Self = Self::Count(0);

    /// Whether `lost` of `planned` are allowed.
    pub fn allows(self, lost: u64, planned: u64) -> bool {
        match self {
            Self::Count(most) => lost <= most,
            Self::PerBillion(most) => {
                u128::from(lost) * 1_000_000_000 <= u128::from(most) * u128::from(planned)
            }
        }
    }
}

impl fmt::Display for AllowedLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(most) => write!(f, "{most}"),
            Self::PerBillion(most) => write!(f, "{}%", *most as f64 / 1e7),
        }
    }
}

/// What a requirement looks at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredFigure {
    /// Of the deviations of a flow's intervals, in ns.
    Interval(Figure),
    /// Of how long round trips take, in ns.
    RoundTrip(Figure),
    /// A count of frames or requests.
    Count(RequiredCount),
    /// What a flow took of its wire, in bits per second.
    FlowRate,
    /// What a load carried, in bits per second.
    LoadRate(LoadKind),
}

impl RequiredFigure {
    /// It is of times, which only what arrived has.
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Interval(_) | Self::RoundTrip(_))
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredCount {
    /// Frames that did not arrive, or requests without reply, whatever became of them.
    Lost,
    /// The longest run of these.
    LostInARow,
    /// Frames handed over, or replies that came, too late.
    Late,
    /// Frames that the queueing discipline dropped.
    Dropped,
}

/// How a figure and its bound are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// At most.
    AtMost,
    /// Less.
    Below,
    /// At least.
    AtLeast,
    /// More.
    Above,
    /// Exactly.
    Equal,
}

impl Relation {
    /// The relations by their signs; of two that begin alike the longer first.
    pub const SIGNS: [(&'static str, Self); 5] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Below),
        (">", Self::Above),
        ("=", Self::Equal),
    ];

    /// Whether `measured` keeps it.
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Self::AtMost => measured <= bound,
            Self::Below => measured < bound,
            Self::AtLeast => measured >= bound,
            Self::Above => measured > bound,
            // Only counts are required to be equal, and they are whole numbers.
            Self::Equal => (measured - bound).abs() < 0.5,
        }
    }

    /// How far `measured` is on the wrong side of `bound`; below zero on the right one.
    pub fn excess(self, measured: f64, bound: f64) -> f64 {
        match self {
            Self::AtMost | Self::Below => measured - bound,
            Self::AtLeast | Self::Above => bound - measured,
            Self::Equal => (measured - bound).abs(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
