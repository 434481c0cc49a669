//! Finds the periodic flows of a capture and computes the statistics of one, in
//! one pass and constant memory.
//!
//! Frames are grouped by [`FlowKey`]. Of each flow the first [`FIRST_FRAMES`]
//! stamps are kept; if they are periodic (half of the intervals within a
//! quarter of the median; for Teiji's own frames the test header says it), the
//! flow is followed from them on, otherwise they are given up and the next
//! ones looked at. Of each flow that is followed frames, period and range are
//! known; at most [`TRACKS`] are followed in detail: a more promising one
//! takes the place of the least. At most [`FLOWS`] are known: when there are
//! more, the half with the fewest frames is forgotten. What was left out is
//! said in [`CaptureAnalysis::warnings`].

use std::collections::HashMap;
use std::io::Read;

use teiji_core::time::Span;
use teiji_core::wire;

use super::CaptureError;
use super::analysis::{AnalyzeError, CaptureAnalysis, FLOWS, Options, SeenFlow};
use super::flow_key::FlowKey;
use super::reader::{CaptureReader, Packet};
use super::track::{FirstFrames, Seen, Track};
use super::warnings::{notes_warnings, sentence, track_warnings};
use crate::summary::PeriodicFlow;

/// Frames from which a flow's period is found.
pub const FIRST_FRAMES: usize = 256;
/// Flows followed in detail at once.
pub const TRACKS: usize = 4;

/// Flows listed in messages.
const LISTED: usize = 10;

/// Reads a capture to its end and analyses its periodic flow: of those that
/// match the filter the one of test frames, else with a round period, else
/// with the most frames.
///
/// # Errors
/// If the period is not positive, the capture's header cannot be read, or it has no flow that
/// matches.
pub fn analyze(source: impl Read, options: &Options) -> Result<CaptureAnalysis, AnalyzeError> {
    if let Some(period) = options.period.filter(|p| p.as_ns() <= 0) {
        return Err(AnalyzeError::Period(period));
    }
    let mut reader = CaptureReader::new(source)?;
    let mut flows = Flows::new(options);
    let damage = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => flows.push(&packet),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if let (0, Some(link_type)) = (flows.frames, reader.notes().other_links.keys().next()) {
        return Err(CaptureError::LinkType(*link_type).into());
    }
    flows.finish(&reader, damage)
}

/// All flows of a capture.
struct Flows<'a> {
    options: &'a Options,
    /// Frames of any flow.
    frames: u64,
    table: Vec<(FlowKey, Candidate)>,
    index: HashMap<FlowKey, usize>,
    /// The flow of the frame before: often that of the next.
    last: usize,
    forgotten: u64,
}

struct Candidate {
    frames: u64,
    first_ns: i64,
    last_ns: i64,
    /// Frames given up because they were not periodic.
    given_up: u64,
    /// Frames cut so short that they may have lost a test header.
    cut: u64,
    /// The period of the frames given up, if only another was requested.
    seems: Option<Span>,
    state: State,
}

enum State {
    /// The period is not known yet.
    New(FirstFrames),
    Followed(Box<Track>),
    /// The filter leaves it out.
    Counted,
}

impl<'a> Flows<'a> {
    fn new(options: &'a Options) -> Self {
        Self { options, frames: 0, table: Vec::new(), index: HashMap::new(), last: 0, forgotten: 0 }
    }

    fn push(&mut self, packet: &Packet<'_>) {
        let Some(frame) = wire::parse(packet.frame) else { return };
        self.frames += 1;
        let probe = frame.probe();
        let key = FlowKey::new(packet.interface, &frame, probe.as_ref());
        let at_ns = packet.at.as_ns();
        let seen = Seen { at_ns, probe: probe.map(|p| (p.seq, p.scheduled.as_ns())) };
        let position = self.position(key, at_ns);
        let candidate = &mut self.table[position].1;
        candidate.frames += 1;
        candidate.last_ns = at_ns;
        candidate.cut += u64::from(packet.cut && probe.is_none() && frame.may_lack_probe());
        match &mut candidate.state {
            State::Followed(track) => track.push(seen),
            State::Counted => {}
            State::New(first) => {
                first.push(seen);
                if first.len() == FIRST_FRAMES {
                    self.try_to_follow(position);
                }
            }
        }
    }

    /// Where the flow is in the table, new or known.
    fn position(&mut self, key: FlowKey, at_ns: i64) -> usize {
        if self.table.get(self.last).is_some_and(|(last, _)| *last == key) {
            return self.last;
        }
        if let Some(known) = self.index.get(&key) {
            self.last = *known;
            return self.last;
        }
        if self.table.len() == FLOWS {
            self.forget_small_flows();
        }
        let state = if self.options.filter.matches(&key) {
            State::New(FirstFrames::default())
        } else {
            State::Counted
        };
        let candidate = Candidate {
            frames: 0,
            first_ns: at_ns,
            last_ns: at_ns,
            given_up: 0,
            cut: 0,
            seems: None,
            state,
        };
        self.last = self.table.len();
        self.index.insert(key, self.last);
        self.table.push((key, candidate));
        self.last
    }

    fn forget_small_flows(&mut self) {
        let followed = |c: &Candidate| matches!(c.state, State::Followed(_));
        self.table.sort_by_key(|(_, c)| std::cmp::Reverse((followed(c), c.frames)));
        self.forgotten += (FLOWS - FLOWS / 2) as u64;
        self.table.truncate(FLOWS / 2);
        self.index = self.table.iter().enumerate().map(|(i, (key, _))| (*key, i)).collect();
    }

    /// Looks at a flow's first frames and follows it if they are periodic.
    fn try_to_follow(&mut self, position: usize) {
        let candidate = &mut self.table[position].1;
        let State::New(first) = &mut candidate.state else { return };
        let Some(track) = Track::new(first, self.options) else {
            candidate.seems = first.period().or(candidate.seems);
            candidate.given_up += first.len() as u64;
            *first = FirstFrames::default();
            return;
        };
        let rank = track.rank;
        candidate.state = State::Followed(Box::new(track));
        let detailed = self.table.iter().enumerate().filter_map(|(i, (_, c))| match &c.state {
            State::Followed(track) if track.is_detailed() => Some((i, track.rank)),
            _ => None,
        });
        if detailed.clone().count() <= TRACKS {
            return;
        }
        // On a tie the newcomer goes.
        let worst = detailed
            .filter(|(i, _)| *i != position)
            .min_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))
            .filter(|(_, worst)| *worst < rank)
            .map_or(position, |(i, _)| i);
        if let State::Followed(track) = &mut self.table[worst].1.state {
            track.drop_details();
        }
    }

    fn finish<R: Read>(
        mut self,
        reader: &CaptureReader<R>,
        damage: Option<CaptureError>,
    ) -> Result<CaptureAnalysis, AnalyzeError> {
        // The short flows, whose first frames are all there are.
        for position in 0..self.table.len() {
            if matches!(&self.table[position].1.state, State::New(first) if first.len() > 1) {
                self.try_to_follow(position);
            }
        }
        self.table.sort_by_key(|(key, c)| (std::cmp::Reverse(c.frames), *key));
        let best = self.best();
        let periodic = self.periodic(best);
        let chosen = best.map(|best| self.table.swap_remove(best));
        let Some((flow, Candidate { first_ns, last_ns, given_up, cut, state, .. })) = chosen else {
            return Err(self.no_flow(damage));
        };
        let State::Followed(track) = state else { return Err(self.no_flow(damage)) };
        let mut warnings: Vec<String> = damage.iter().map(|d| sentence(&d.to_string())).collect();
        warnings.extend(track_warnings(&track, given_up, cut));
        warnings.extend(notes_warnings(reader.notes(), self.forgotten));
        let period_source = track.period_source;
        let resolution = reader.resolution();
        let (statistics, envelope) = track.finish(resolution);
        Ok(CaptureAnalysis {
            format: reader.format(),
            resolution,
            frames: self.frames,
            duration: Span::from_ns(last_ns.saturating_sub(first_ns)),
            flow,
            period_source,
            statistics,
            envelope,
            periodic,
            warnings,
        })
    }

    fn no_flow(&self, damage: Option<CaptureError>) -> AnalyzeError {
        AnalyzeError::NoFlow {
            frames: self.frames,
            filtered: !self.options.filter.is_empty(),
            period: self.options.period,
            seen: self.seen(),
            damage,
        }
    }

    /// Where the most promising flow is in the table, which is sorted.
    fn best(&self) -> Option<usize> {
        let rank = |c: &Candidate| match &c.state {
            State::Followed(t) if t.is_detailed() => {
                Some((t.rank.probe, t.rank.chosen_period, t.frames()))
            }
            _ => None,
        };
        let ranked = self.table.iter().enumerate().filter_map(|(i, (_, c))| Some((rank(c)?, i)));
        // Of equals the first.
        ranked.rev().max_by_key(|(rank, _)| *rank).map(|(_, best)| best)
    }

    /// All flows that are followed: the analysed one, then those with the most
    /// frames.
    fn periodic(&self, analysed: Option<usize>) -> Vec<PeriodicFlow> {
        let followed = self.table.iter().enumerate().filter_map(|(i, (key, c))| match &c.state {
            State::Followed(track) => Some((i, key, track)),
            _ => None,
        });
        let keys: Vec<FlowKey> = followed.clone().map(|(_, key, _)| *key).collect();
        let mut all: Vec<PeriodicFlow> = followed
            .map(|(i, key, track)| PeriodicFlow {
                flow: key.to_string(),
                options: key.options_among(&keys),
                frames: track.frames(),
                period_ns: track.period_ns,
                range_ns: track.range().map(Span::as_ns),
                analysed: analysed == Some(i),
            })
            .collect();
        all.sort_by_key(|flow| !flow.analysed);
        all
    }

    fn seen(&self) -> Vec<SeenFlow> {
        let seen = |(key, c): &(FlowKey, Candidate)| SeenFlow {
            key: *key,
            frames: c.frames,
            mean_interval: mean_interval(c),
            period: match &c.state {
                State::Followed(track) => Some(Span::from_ns(track.period_ns)),
                State::New(_) | State::Counted => c.seems,
            },
        };
        self.table.iter().take(LISTED).map(seen).collect()
    }
}

fn mean_interval(candidate: &Candidate) -> Option<Span> {
    let between = i64::try_from(candidate.frames.checked_sub(1)?).ok()?;
    let duration = candidate.last_ns.saturating_sub(candidate.first_ns);
    duration.checked_div(between).map(Span::from_ns)
}

#[cfg(test)]
#[path = "periodic_tests.rs"]
mod tests;
