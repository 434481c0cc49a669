//! What a reader of a capture's analysis must know, in full sentences.

use teiji_core::quantity::grouped;
use teiji_core::time::Span;
use teiji_core::wire::{Probe, ip};

use super::analysis::PeriodSource;
use super::periodic::FLOWS;
use super::reader::Notes;
use super::track::Track;

/// Bytes that hold every test header: Ethernet with a VLAN tag, IPv6, UDP.
const SNAP_LENGTH: usize = 18 + ip::IPV6_HEADER + ip::UDP_HEADER_LEN + Probe::LEN;

/// About the flow that was followed; `given_up` frames came before, and of `cut`
/// the beginning does not reach the end of a test header.
pub(super) fn track_warnings(track: &Track, given_up: u64, cut: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if track.period_source == PeriodSource::Measured {
        warnings.push(format!(
            "The period was measured ({}) and is no round number; give --period if another was \
             meant.",
            Span::from_ns(track.period_ns)
        ));
    }
    if let Some(seems) = track.seems {
        let given = Span::from_ns(track.period_ns);
        warnings.push(format!(
            "The flow seems to have a period of {seems}, not of {given} as given with --period: the \
             difference is in every deviation."
        ));
    }
    if track.rank.probe {
        if track.other_run > 0 {
            warnings.push(format!(
                "{} left out.",
                were(track.other_run, "test frame", " of another run of this flow")
            ));
        }
    } else if track.gaps > 0 {
        let is = if track.gaps == 1 { "is" } else { "are" };
        warnings.push(format!(
            "{} {is} longer than one and a half periods: about {} lost or never sent. The frames \
             carry no sequence number, so this is part of the deviations.",
            counted(track.gaps, "interval"),
            were(track.missing, "frame", "")
        ));
    }
    if cut > 0 {
        warnings.push(format!(
            "{} cut too short for a sequence number: if these are test frames, losses, copies and \
             reordering go unseen. Record at least {SNAP_LENGTH} bytes of each frame \
             (tcpdump -s {SNAP_LENGTH}).",
            were(cut, "frame", "")
        ));
    }
    if given_up > 0 {
        warnings.push(format!(
            "The flow's first {} frames were not periodic and were left out.",
            grouped(given_up)
        ));
    }
    warnings
}

/// About the rest of the capture.
pub(super) fn notes_warnings(notes: &Notes, forgotten: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if notes.without_stamp > 0 {
        let stampless = were(notes.without_stamp, "frame", " without time stamp");
        warnings.push(format!("{stampless} left out."));
    }
    let elsewhere: u64 = notes.other_links.values().sum();
    if elsewhere > 0 {
        let elsewhere = were(elsewhere, "frame", " of interfaces that are not Ethernet");
        warnings.push(format!("{elsewhere} left out."));
    }
    if forgotten > 0 {
        warnings.push(format!(
            "There are more than {} flows: {} with few frames were forgotten on the \
             way. If the flow is missing, point at it with --src or --dst.",
            grouped(FLOWS as u64),
            grouped(forgotten)
        ));
    }
    warnings
}

/// An error's text as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).chain(['.']).collect()
}

/// "1 frame", "2 frames".
fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// "1 frame of X was", "2 frames of X were".
fn were(count: u64, noun: &str, which: &str) -> String {
    format!("{}{which} {}", counted(count, noun), if count == 1 { "was" } else { "were" })
}
