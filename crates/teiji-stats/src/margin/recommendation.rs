//! A margin and a delta for a miss probability.

use serde::{Deserialize, Serialize};

use super::Stations;
use crate::tail::{CONFIDENCE, Evidence, NoFit, TailBound, order, order_bound};

/// A margin and a delta, and what each rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The probability of a miss that it is for.
    pub probability: f64,
    /// True if the samples, by themselves or with a fit, reach that probability;
    /// otherwise [`Recommendation::probability`] is the least they do reach.
    pub reached: bool,
    /// Why no tail could be fitted where one was needed for the wanted probability.
    pub refused: Option<NoFit>,
    /// The bounds of each member by itself: how far they lie apart.
    pub members: Vec<MemberBounds>,
    /// The transmission margin, in nanoseconds: whole microseconds.
    pub margin_ns: i64,
    /// ETF's `delta`, in nanoseconds: whole microseconds.
    pub delta_ns: i64,
    /// Planned wake-up → qdisc, at half the probability, of all members together.
    pub to_qdisc: TailBound,
    /// Due → NIC, at half the probability, of all members together.
    pub release: TailBound,
}

/// What one member by itself requests, in nanoseconds: by order statistics, or its
/// worst frame if it has too few of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberBounds {
    /// Planned wake-up → qdisc.
    pub to_qdisc_ns: i64,
    /// Due → NIC.
    pub release_ns: i64,
}

/// The least miss probability, a power of ten, that so many frames support by order
/// statistics, even if they come in pairs; 0.1 of the fewest.
pub fn supported_by(frames: u64) -> f64 {
    /// The extremal index that is reckoned with.
    const INDEX: f64 = 0.5;
    let supported = |probability: &f64| {
        order::samples_above(frames as f64 * INDEX, probability / 2.0, CONFIDENCE).is_some()
    };
    let powers = (2..=9).map(|power| 10_f64.powi(-power));
    powers.take_while(supported).last().unwrap_or(0.1)
}

impl Recommendation {
    /// The shortest margin and delta for a miss probability in every member: the
    /// bound of all samples together, or that of the worst member if it is longer.
    /// Members start differently and may settle into different rhythms, so that
    /// one of them says nothing of the others.
    ///
    /// Where the samples do not reach the probability, those for the probability
    /// that order statistics do reach are given and said to be so. `None` without
    /// samples of both stretches.
    pub fn of(members: &[Stations], probability: f64) -> Option<Self> {
        let mut all = Stations::default();
        for member in members {
            all.extend(member);
        }
        let (to_qdisc, release) = (all.to_qdisc(), all.release());
        let bounds = |probability: f64| {
            let half = probability / 2.0;
            Some((TailBound::of(&to_qdisc, half)?, TailBound::of(&release, half)?))
        };
        let (mut qdisc, mut nic) = bounds(probability)?;
        let reached = qdisc.upper_ns().is_some() && nic.upper_ns().is_some();
        let refused = [&qdisc, &nic]
            .into_iter()
            .filter_map(|bound| bound.fit.as_ref().err().copied())
            .find(|reason| *reason != NoFit::NotNeeded);
        let mut reachable = probability;
        if !reached {
            // A little more than the least, against rounding.
            reachable = (2.02 * qdisc.supported.max(nic.supported)).min(0.99);
            (qdisc, nic) = bounds(reachable)?;
        }
        let own = |samples: Vec<i64>| {
            order_bound(&samples, reachable / 2.0).or_else(|| samples.into_iter().max())
        };
        let members: Vec<MemberBounds> = members
            .iter()
            .filter_map(|member| {
                let (to_qdisc_ns, release_ns) = (own(member.to_qdisc())?, own(member.release())?);
                Some(MemberBounds { to_qdisc_ns, release_ns })
            })
            .collect();
        let longest = |bound: &TailBound, own: fn(&MemberBounds) -> i64| {
            let all = bound.upper_ns().map_or(bound.worst_ns, |(ns, _)| ns);
            members.iter().map(own).fold(all, i64::max).max(1)
        };
        let delta = whole_micros(longest(&nic, |own| own.release_ns));
        let before = whole_micros(longest(&qdisc, |own| own.to_qdisc_ns));
        Some(Self {
            probability: reachable,
            reached,
            refused,
            margin_ns: before.saturating_add(delta),
            delta_ns: delta,
            to_qdisc: qdisc,
            release: nic,
            members,
        })
    }

    /// What the weaker of the two bounds rests on.
    pub fn evidence(&self) -> Option<Evidence> {
        let of = |bound: &TailBound| bound.upper_ns().map(|(_, evidence)| evidence);
        match (of(&self.to_qdisc)?, of(&self.release)?) {
            (Evidence::OrderStatistics, Evidence::OrderStatistics) => {
                Some(Evidence::OrderStatistics)
            }
            _ => Some(Evidence::TailFit),
        }
    }
}

/// Rounded up to whole microseconds, in nanoseconds.
fn whole_micros(ns: i64) -> i64 {
    ns.saturating_add(999) / 1_000 * 1_000
}
