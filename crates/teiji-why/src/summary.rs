//! The causes of all frames of a flow together, and of its slowest ones.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::path::{Activity, Path};
use crate::stream::Ps;

/// What a distribution is shown by, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of the frames have at most this.
    pub median_ps: Ps,
    /// 99 of 100 have at most this; `None` of fewer than 100.
    pub p99_ps: Option<Ps>,
    /// 999 of 1000 have at most this; `None` of fewer than 1000.
    pub p999_ps: Option<Ps>,
    /// The most.
    pub max_ps: Ps,
}

impl Spread {
    /// Of these values, by the nearest rank.
    pub fn of(values: &mut [Ps]) -> Self {
        values.sort_unstable();
        let rank = |part: usize, of: usize| {
            let rank = (values.len() * part).div_ceil(of).max(1);
            values.get(rank - 1).copied().filter(|_| values.len() >= of)
        };
        Self {
            median_ps: rank(1, 2).or(rank(1, 1)).unwrap_or_default(),
            p99_ps: rank(99, 100),
            p999_ps: rank(999, 1000),
            max_ps: rank(1, 1).unwrap_or_default(),
        }
    }
}

/// A cause, over all frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseRow {
    /// In words.
    pub cause: String,
    /// Frames that it took time of.
    pub frames: usize,
    /// How much, over all frames: 0 for those that it took none of.
    pub spread: Spread,
}

/// A part of a frame's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// In words.
    pub cause: String,
    /// How long.
    pub time_ps: Ps,
    /// How much more than the median of this cause.
    pub above_median_ps: Ps,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramePath {
    /// Its number in the flow.
    pub seq: u64,
    /// As [`Path::whole`].
    pub whole_ps: Ps,
    /// In order; they sum up to the whole.
    pub parts: Vec<Part>,
    /// What the processors did meanwhile, and shortly before and after.
    pub activity: Vec<Activity>,
}

/// Frames that are about equally slow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// How many.
    pub frames: usize,
    /// How many of the flow are slower.
    pub slower: usize,
    /// The mean time of each cause, in the order of [`FlowCauses::causes`].
    pub mean_ps: Vec<Ps>,
}

/// What delayed the frames of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCauses {
    /// Frames whose time is known.
    pub frames: usize,
    /// Frames that no timer woke the sender for, or that did not reach the wire while it was recorded.
    pub unknown: usize,
    /// As [`Timeline::unseen`](crate::timeline::Timeline::unseen).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// From the expiry of the sender's timer to the wire.
    pub whole: Spread,
    /// By the largest maximum.
    pub causes: Vec<CauseRow>,
    /// From the fastest frames to the slowest one.
    pub ranks: Vec<Rank>,
    /// The frames that were requested.
    pub shown: Vec<FramePath>,
}

/// Which frames to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// So many of the slowest.
    Slowest(usize),
    /// Those above the median of all by more than this.
    Over(Ps),
    /// The one with this number.
    Number(u64),
}

/// Sums up the frames of a flow: number and path of each, `None` if it is not known.
pub fn summarise(frames: &[(u64, Option<Path>)], shown: Shown) -> FlowCauses {
    let known: Vec<(u64, &Path)> =
        frames.iter().filter_map(|(seq, path)| Some((*seq, path.as_ref()?))).collect();
    let mut times: HashMap<Cause, Vec<Ps>> = HashMap::new();
    for (_, path) in &known {
        for (cause, time) in path.by_cause() {
            times.entry(cause).or_default().push(time);
        }
    }
    let mut causes: Vec<(Cause, CauseRow)> = times
        .into_iter()
        .map(|(cause, mut values)| {
            let frames = values.len();
            values.resize(known.len(), 0);
            let row =
                CauseRow { cause: cause.to_string(), frames, spread: Spread::of(&mut values) };
            (cause, row)
        })
        .collect();
    causes.sort_by(|(_, one), (_, other)| {
        (other.spread.max_ps, &one.cause).cmp(&(one.spread.max_ps, &other.cause))
    });
    let mut wholes: Vec<Ps> = known.iter().map(|(_, path)| path.whole()).collect();
    let whole = Spread::of(&mut wholes);
    let median = |cause: &Cause| {
        let found = causes.iter().find(|(known, _)| known == cause);
        found.map_or(0, |(_, row)| row.spread.median_ps)
    };
    let shown = chosen(&known, whole, shown)
        .into_iter()
        .map(|(seq, path)| FramePath {
            seq,
            whole_ps: path.whole(),
            parts: parts(path, &median),
            activity: Vec::new(),
        })
        .collect();
    let order: Vec<&Cause> = causes.iter().map(|(cause, _)| cause).collect();
    FlowCauses {
        frames: known.len(),
        unknown: frames.len() - known.len(),
        unseen: Vec::new(),
        whole,
        ranks: ranks(&known, &order),
        causes: causes.into_iter().map(|(_, row)| row).collect(),
        shown,
    }
}

/// Steps from all frames to the slowest one.
const RANKS: i32 = 60;

/// The frames by how slow they are, in groups that become smaller towards the slowest.
fn ranks(known: &[(u64, &Path)], causes: &[&Cause]) -> Vec<Rank> {
    let index: HashMap<&Cause, usize> = causes.iter().copied().zip(0..).collect();
    let mut sorted: Vec<&Path> = known.iter().map(|(_, path)| *path).collect();
    sorted.sort_by_key(|path| path.whole());
    let all = sorted.len();
    let mut ranks = Vec::new();
    let mut from = 0;
    for step in 1..=RANKS {
        let share = 1.0 - f64::from(step) / f64::from(RANKS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most all")]
        let slower = if step == RANKS { 0 } else { (all as f64).powf(share).round() as usize };
        let group = &sorted[from..(all - slower).max(from)];
        if group.is_empty() {
            continue;
        }
        from += group.len();
        let mut sums = vec![0; causes.len()];
        for (cause, time) in group.iter().flat_map(|path| &path.parts) {
            sums[index[cause]] += time;
        }
        let frames = group.len();
        let mean_ps = sums.iter().map(|sum| sum / i64::try_from(frames).unwrap_or(1)).collect();
        ranks.push(Rank { frames, slower: all - from, mean_ps });
    }
    ranks
}

/// Parts of a path. A cause that comes several times is above its median where it comes first.
fn parts(path: &Path, median: &impl Fn(&Cause) -> Ps) -> Vec<Part> {
    let sums = path.by_cause();
    let mut named: Vec<&Cause> = Vec::new();
    path.parts
        .iter()
        .map(|(cause, time)| {
            let first = !named.contains(&cause);
            named.push(cause);
            let sum = sums.iter().find(|(known, _)| known == cause).map_or(0, |(_, sum)| *sum);
            let above_median_ps = if first { sum - median(cause) } else { 0 };
            Part { cause: cause.to_string(), time_ps: *time, above_median_ps }
        })
        .collect()
}

fn chosen<'a>(known: &[(u64, &'a Path)], whole: Spread, shown: Shown) -> Vec<(u64, &'a Path)> {
    let mut sorted = known.to_vec();
    sorted.sort_by_key(|(seq, path)| (-path.whole(), *seq));
    match shown {
        Shown::Slowest(count) => sorted.truncate(count),
        Shown::Over(limit) => sorted.retain(|(_, path)| path.whole() - whole.median_ps > limit),
        Shown::Number(seq) => sorted.retain(|(known, _)| *known == seq),
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(parts: &[(Cause, Ps)]) -> Path {
        let whole = parts.iter().map(|(_, time)| time).sum();
        Path { from: 0, to: whole, parts: parts.to_vec() }
    }

    #[test]
    fn a_rare_cause_is_zero_in_the_median_and_first_by_its_maximum() {
        let usual = path(&[(Cause::Sender, 12_000), (Cause::Driver, 3_000)]);
        let late = path(&[
            (Cause::Sender, 5_000),
            (Cause::Lock("a lock".to_owned()), 30_000),
            (Cause::Sender, 8_000),
            (Cause::Driver, 3_000),
        ]);
        let mut frames: Vec<(u64, Option<Path>)> =
            (0..99).map(|seq| (seq, Some(usual.clone()))).collect();
        frames.push((99, Some(late)));
        frames.push((100, None));
        let found = summarise(&frames, Shown::Slowest(1));
        assert_eq!((found.frames, found.unknown), (100, 1));
        assert_eq!((found.whole.median_ps, found.whole.max_ps), (15_000, 46_000));
        assert_eq!((found.whole.p99_ps, found.whole.p999_ps), (Some(15_000), None));
        assert_eq!(found.causes[0].cause, "waited for a lock");
        assert_eq!((found.causes[0].frames, found.causes[0].spread.median_ps), (1, 0));
        let [slowest] = &found.shown[..] else { panic!("{:?}", found.shown) };
        assert_eq!(slowest.parts.iter().map(|part| part.time_ps).sum::<Ps>(), slowest.whole_ps);
        let above: Vec<Ps> = slowest.parts.iter().map(|part| part.above_median_ps).collect();
        assert_eq!(above, [1_000, 30_000, 0, 0]);
        let counted: usize = found.ranks.iter().map(|rank| rank.frames).sum();
        assert_eq!((counted, found.ranks.last().unwrap().slower), (100, 0));
        let last: Ps = found.ranks.last().unwrap().mean_ps.iter().sum();
        assert_eq!((found.ranks.last().unwrap().frames, last), (1, 46_000));
        assert_eq!(summarise(&frames, Shown::Over(20_000)).shown.len(), 1);
        assert_eq!(summarise(&frames, Shown::Over(40_000)).shown.len(), 0);
        assert_eq!(summarise(&frames, Shown::Number(7)).shown[0].seq, 7);
    }
}
