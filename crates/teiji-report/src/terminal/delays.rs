//! The delay between two captures: the flow with the most frames in full, a line
//! for each other.

use teiji_record::Summary;

use super::figures;
use super::screen::{Screen, Style};
use crate::comparison::Comparison;
use crate::delay::{self, LISTED};
use crate::units::Scale;
use crate::wording;

/// Nothing for anything but two captures.
pub fn delays(summary: &Summary, label: usize, screen: &mut Screen) {
    let glyphs = screen.glyphs();
    let flows = delay::flows(summary);
    for (index, (flow, statistics)) in flows.iter().take(LISTED).enumerate() {
        screen.blank();
        let name = screen.foreign(flow);
        screen.wrapped_in(&name, 0, 2, Style::Bold);
        screen.wrapped(&delay::counts(statistics, glyphs), 2, 4);
        if index == 0 {
            let comparison = Comparison::of_delays(summary, flow);
            figures::figures(&comparison, None, label, screen);
        } else if let Some(delay) = &statistics.delay {
            let ends = [delay.min_ns as f64, delay.max_ns as f64];
            let scale = Scale::fitting([ends[0], delay.mean_ns, ends[1]]);
            screen.wrapped(
                &format!(
                    "delay {}, mean {}",
                    scale.interval(ends[0], ends[1], glyphs),
                    scale.text(delay.mean_ns, glyphs)
                ),
                2,
                4,
            );
        }
    }
    if let Some(more) = wording::more_flows(flows.len(), LISTED, glyphs) {
        screen.wrapped(&more, 0, 2);
    }
}
