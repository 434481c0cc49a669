//! What a reader of a capture's analysis must know, in full sentences.

use teiji_core::quantity::grouped;
use teiji_core::time::Span;
use teiji_core::wire::{Probe, ethernet, ip};

use teiji_stats::median;

use super::analysis::{FLOWS, PeriodSource};
use super::format::Notes;
use super::matching::Matches;
use super::track::Track;

/// Bytes that hold every test header: Ethernet with a VLAN tag, IPv6, UDP.
const SNAP_LENGTH: usize =
    (ethernet::HEADER + ethernet::TAG) as usize + ip::IPV6_HEADER + ip::UDP_HEADER_LEN + Probe::LEN;

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

/// About the delay between two captures; `main` are the stamps and delays of the
/// flow with the most matched frames, `limit` the bytes of content compared.
pub(super) fn delay_warnings(
    [first, second]: &[String; 2],
    found: &Matches,
    main: &[(i64, i64)],
    resolution: Span,
    limit: Option<usize>,
) -> Vec<String> {
    let mut warnings = vec![
        "Each delay is the difference of two captures' stamps: a difference between their clocks is \
         in every one. Only stamps of one clock, as of one analyser with two ports, give the delay \
         itself."
            .to_owned(),
    ];
    let delays = || found.matched.iter().map(|matched| matched.delay_ns);
    if let Some(lowest) = delays().min().filter(|lowest| *lowest < 0) {
        warnings.push(format!(
            "{} negative, down to {}: these frames went from the second point to the first, or the \
             clock of {second} is behind that of {first} by more than they took.",
            were(delays().filter(|delay| *delay < 0).count() as u64, "delay", ""),
            Span::from_ns(lowest)
        ));
    }
    warnings.extend(drift(main, resolution));
    if resolution.as_ns() > 1 {
        warnings.push(format!(
            "The stamps resolve {resolution}: a delay is known to that, and a smaller difference \
             between two delays is none."
        ));
    }
    if let Some(limit) = limit {
        warnings.push(format!(
            "Some frames were cut short: {} after the Ethernet header were compared.",
            counted(limit as u64, "byte")
        ));
    }
    if found.equal > 0 {
        let how = if found.any_unique {
            "by the delay of the nearest frame that is unique".to_owned()
        } else {
            let half = Span::from_ns(found.nearest_equal_ns.unwrap_or(0) / 2);
            format!(
                "by time, as no frame is unique: right only if the delay and the difference \
                 between the two clocks are together below {half}"
            )
        };
        warnings.push(format!(
            "{} in content and {} told apart {how}.",
            match found.equal {
                1 => "1 frame of the first capture equals another".to_owned(),
                n => format!("{} frames of the first capture equal others", grouped(n)),
            },
            if found.equal == 1 { "was" } else { "were" },
        ));
    }
    warnings
}

/// Whether the delay rises or falls all the time, as between clocks of
/// different rates.
fn drift(delays: &[(i64, i64)], resolution: Span) -> Option<String> {
    let quarter = delays.len() / 4;
    let middle = |part: &[(i64, i64)]| {
        let at = median(&mut part.iter().map(|(at, _)| *at).collect::<Vec<_>>())?;
        Some((at, median(&mut part.iter().map(|(_, delay)| *delay).collect::<Vec<_>>())?))
    };
    let (from, before) = middle(&delays[..quarter])?;
    let (to, after) = middle(&delays[delays.len() - quarter..])?;
    let values = || delays.iter().map(|(_, delay)| *delay);
    let range = values().max()?.saturating_sub(values().min()?);
    let change = after.saturating_sub(before);
    let elapsed = to.saturating_sub(from);
    // Of a steady change the middles of first and last quarter see three quarters.
    if elapsed <= 0 || change.abs() <= range / 2 || change.abs() <= 2 * resolution.as_ns() {
        return None;
    }
    Some(format!(
        "The delay {} steadily: by {} from the first quarter of the frames to the last, {:.3} µs \
         per second. Either the two clocks run at different rates, or the way itself changed.",
        if change > 0 { "rises" } else { "falls" },
        Span::from_ns(change.saturating_abs()),
        change.saturating_abs() as f64 * 1e6 / elapsed as f64
    ))
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
