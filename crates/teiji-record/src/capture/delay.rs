//! The delay of the same frames between two captures.
//!
//! Unlike the analysis of one capture this keeps something of each frame, which
//! may be anywhere in the other file: about 50 bytes at most.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use thiserror::Error;

use teiji_core::quantity::grouped;
use teiji_core::time::Span;
use teiji_core::wire::{self, EthernetHeader, MacAddr};
use teiji_stats::{DelayStatistics, delay};

use super::CaptureError;
use super::flow_key::{Filter, FlowKey};
use super::format::Notes;
use super::identity::Identity;
use super::matching::{Matched, Matches, Sighted, matches};
use super::reader::CaptureReader;
use super::warnings::{delay_warnings, notes_warnings, sentence};
use crate::summary::{CaseSummary, MemberSummary, Summary, Testbed};

/// A capture: what it is called, and how to begin reading it.
pub struct Source<'a> {
    /// For people.
    pub name: &'a str,
    /// Opens it. It may be read twice.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn Read>>,
}

/// What two captures show together.
#[derive(Clone, Debug)]
pub struct DelayAnalysis {
    /// What they are called.
    pub names: [String; 2],
    /// Frames in each, of any flow.
    pub frames: [u64; 2],
    /// The coarser resolution of their stamps.
    pub resolution: Span,
    /// The flows, the one with the most matched frames first.
    pub flows: Vec<FlowDelay>,
    /// What a reader must know, in full sentences.
    pub warnings: Vec<String>,
}

/// The frames of one flow at two points.
#[derive(Clone, Debug)]
pub struct FlowDelay {
    /// What they have in common; at the first point, if they were seen there.
    pub flow: FlowKey,
    /// Their figures.
    pub statistics: DelayStatistics,
    /// Of each matched frame, in order, the stamp at the first point and the
    /// delay, in ns.
    pub delays: Vec<(i64, i64)>,
}

/// Why two captures were not compared.
#[derive(Debug, Error)]
pub enum DelayError {
    /// One could not be read.
    #[error("{name}: {error}")]
    Capture {
        /// Which.
        name: String,
        /// Why.
        error: CaptureError,
    },
    /// No frame is in both.
    #[error("{}", no_match(names, frames, *considered, *filtered))]
    NoMatch {
        /// What they are called.
        names: [String; 2],
        /// Ethernet frames in each.
        frames: [u64; 2],
        /// Of these, those that match the filter.
        considered: [u64; 2],
        /// The caller requested certain flows.
        filtered: bool,
    },
}

fn no_match(
    names: &[String; 2],
    frames: &[u64; 2],
    considered: [u64; 2],
    filtered: bool,
) -> String {
    let [first, second] = names;
    let several =
        format!("{first} has {} frames, {second} has {}", grouped(frames[0]), grouped(frames[1]));
    if filtered && considered.contains(&0) {
        let none = if considered[0] == 0 { first } else { second };
        return format!(
            "no frame of {none} matches the options ({several}); change or leave out --flow, \
             --src, \
             --dst, --vlan, --ethertype or --interface"
        );
    }
    format!(
        "no frame is in both captures ({several}); record the same frames at two points at the \
         same time, and with nothing between them that rewrites addresses or payload"
    )
}

/// The frames at one point.
#[derive(Default)]
struct Point {
    /// Ethernet frames of any flow.
    frames: u64,
    sighted: Vec<Sighted>,
    /// The shortest content (what follows the Ethernet header) that was cut.
    cut_to: Option<usize>,
    resolution_ns: i64,
    notes: Notes,
    damage: Option<CaptureError>,
}

/// Flows by the order in which they appear.
#[derive(Default)]
struct Flows {
    index: HashMap<FlowKey, u32>,
    keys: Vec<FlowKey>,
}

impl Flows {
    fn of(&mut self, key: FlowKey) -> u32 {
        *self.index.entry(key).or_insert_with(|| {
            self.keys.push(key);
            // Fewer flows than frames, and those are counted in memory.
            u32::try_from(self.keys.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// Reads a capture to its end. Of each frame's content `limit` bytes count.
fn read(
    source: &Source<'_>,
    filter: &Filter,
    limit: usize,
    flows: &mut Flows,
) -> Result<Point, CaptureError> {
    let mut reader = CaptureReader::new((source.open)()?)?;
    let mut point = Point::default();
    point.damage = loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        let Some((_, content)) = EthernetHeader::parse(packet.frame) else { continue };
        let excess = content.len().saturating_sub(limit);
        let shortened = &packet.frame[..packet.frame.len() - excess];
        let Some(frame) = wire::parse(shortened) else { continue };
        point.frames += 1;
        let probe = frame.probe();
        let key = FlowKey::new(packet.interface, &frame, probe.as_ref());
        if !filter.matches(&key) {
            continue;
        }
        if packet.cut {
            point.cut_to = Some(point.cut_to.map_or(content.len(), |cut| cut.min(content.len())));
        }
        let content = &content[..content.len() - excess];
        point.sighted.push(Sighted {
            identity: Identity::new(&frame, probe.as_ref(), content),
            at_ns: packet.at.as_ns(),
            flow: flows.of(anywhere(key)),
        });
    };
    if let (0, Some(link_type)) = (point.frames, reader.notes().other_links.keys().next()) {
        return Err(CaptureError::LinkType(*link_type));
    }
    point.resolution_ns = reader.resolution().as_ns();
    point.notes = reader.notes().clone();
    Ok(point)
}

/// The flow without what may differ from point to point: the interface, and the
/// MAC addresses of UDP datagrams, which do not stand in its description.
fn anywhere(key: FlowKey) -> FlowKey {
    let none = MacAddr([0; 6]);
    let (source, destination) =
        if key.udp.is_some() { (none, none) } else { (key.source, key.destination) };
    FlowKey { interface: 0, source, destination, ..key }
}

/// The delay of the frames that are in both captures and match `filter`.
///
/// # Errors
/// If a capture cannot be read, or no frame is in both.
pub fn between(sources: [Source<'_>; 2], filter: &Filter) -> Result<DelayAnalysis, DelayError> {
    let read_both = |limit: usize| -> Result<(Flows, [Point; 2]), DelayError> {
        let mut flows = Flows::default();
        let mut one = |source: &Source<'_>| {
            read(source, filter, limit, &mut flows)
                .map_err(|error| DelayError::Capture { name: source.name.to_owned(), error })
        };
        let points = [one(&sources[0])?, one(&sources[1])?];
        Ok((flows, points))
    };
    let (mut flows, mut points) = read_both(usize::MAX)?;
    // Cut frames are compared as far as the shortest reaches, all others too.
    let limit = points.iter().filter_map(|point| point.cut_to).min();
    if let Some(limit) = limit {
        (flows, points) = read_both(limit)?;
    }
    let names = sources.map(|source| source.name.to_owned());
    let [first, second] = &mut points;
    let considered = [first.sighted.len() as u64, second.sighted.len() as u64];
    let found = matches(&mut first.sighted, &mut second.sighted, flows.keys.len());
    let frames = [first.frames, second.frames];
    if found.matched.is_empty() {
        let filtered = !filter.is_empty();
        return Err(DelayError::NoMatch { names, frames, considered, filtered });
    }
    let resolution = Span::from_ns(first.resolution_ns.max(second.resolution_ns));
    let mut warnings = Vec::new();
    for (name, point) in names.iter().zip(&points) {
        let damage = point.damage.iter().map(|damage| sentence(&damage.to_string()));
        let of_point = damage.chain(notes_warnings(&point.notes, 0));
        warnings.extend(of_point.map(|warning| format!("{name}: {warning}")));
    }
    let flows = by_flow(&flows.keys, &found);
    let main = flows.first().map_or(&[][..], |flow| &flow.delays);
    warnings.extend(delay_warnings(&names, &found, main, resolution, limit));
    Ok(DelayAnalysis { names, frames, resolution, flows, warnings })
}

fn by_flow(keys: &[FlowKey], found: &Matches) -> Vec<FlowDelay> {
    let mut delays: Vec<Vec<(i64, i64)>> = vec![Vec::new(); keys.len()];
    for Matched { at_ns, delay_ns, flow } in &found.matched {
        delays[*flow as usize].push((*at_ns, *delay_ns));
    }
    let mut flows: Vec<FlowDelay> = keys
        .iter()
        .zip(&found.counts)
        .zip(delays)
        .map(|((key, counts), delays)| FlowDelay {
            flow: *key,
            statistics: DelayStatistics {
                counts: *counts,
                delay: delay::delays(delays.iter().map(|(_, delay)| *delay)),
            },
            delays,
        })
        .collect();
    let all = |flow: &FlowDelay| {
        let counts = flow.statistics.counts;
        (counts.matched, counts.first.frames + counts.second.frames)
    };
    flows.sort_by_key(|flow| (std::cmp::Reverse(all(flow)), flow.flow));
    flows
}

impl DelayAnalysis {
    /// The result in the form of a run's summary.
    pub fn summary(&self) -> Summary {
        let name = self.names.join(" → ");
        let delays = self.flows.iter().map(|f| (f.flow.to_string(), f.statistics.clone()));
        let member = MemberSummary {
            delays: delays.collect::<BTreeMap<_, _>>(),
            ..MemberSummary::default()
        };
        let case = CaseSummary::new(name.clone(), vec![member]);
        Summary {
            question: "How long do frames take from the first point to the second?".to_owned(),
            warnings: self.warnings.clone(),
            ..Summary::new(name, Testbed::Capture, vec![case])
        }
    }
}

#[cfg(test)]
#[path = "delay_tests.rs"]
mod tests;
