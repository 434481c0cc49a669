//! How long frames take between two captures.

use teiji_record::Summary;

use super::{Answer, plain};
use crate::delay;
use crate::units::{Glyphs, Scale, count, duration};

/// The answer of the flow with the most matched frames.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let flows = delay::flows(summary);
    let Some((flow, (counts, delay))) = flows
        .into_iter()
        .find_map(|(flow, told)| Some((flow, (told.counts, told.delay.as_ref()?))))
    else {
        return plain("No answer: no frame is in both captures.".to_owned());
    };
    let ends = [delay.min_ns as f64, delay.max_ns as f64];
    let lost = match counts.first.alone {
        0 => String::new(),
        n => format!(
            "; {} of {} frames of the first capture are not in the second",
            count(n, glyphs),
            count(counts.first.frames, glyphs)
        ),
    };
    plain(format!(
        "The frames of {flow} take {} from the first point to the second, {} on average, over {} \
         matched frames{lost}.",
        Scale::fitting(ends).interval(ends[0], ends[1], glyphs),
        duration(delay.mean_ns, glyphs),
        count(counts.matched, glyphs)
    ))
}
