//! The topics of a run that are a table or a list, each built once for terminal and page.

pub mod activity;
pub mod causes;
mod clocks;
mod cpu_time;
pub mod gates;
mod headroom;
mod load;
mod nics;
mod pauses;
pub mod periodic;
pub mod shaping;
pub mod stretches;
mod waits;

use teiji_record::Summary;

use crate::block::Block;
use crate::units::Glyphs;

/// What stands above the figures of the flows: what frames did on the wire.
pub fn above(summary: &Summary, glyphs: &Glyphs) -> Vec<Block> {
    let on_wire = [gates::block(summary, glyphs), shaping::block(summary, glyphs)];
    let paused = [pauses::block(summary, glyphs), waits::block(summary, glyphs)];
    let on_wire = on_wire.into_iter().flatten();
    on_wire.chain(headroom::blocks(summary, glyphs)).chain(paused.into_iter().flatten()).collect()
}

/// What stands below them: what else was counted. Of CPUs the busiest, at most `cpus`.
pub fn below(summary: &Summary, glyphs: &Glyphs, cpus: usize) -> Vec<Block> {
    let blocks = [
        nics::block(summary, glyphs),
        load::block(summary, glyphs),
        cpu_time::block(summary, glyphs, cpus),
        clocks::block(summary, glyphs),
    ];
    blocks.into_iter().flatten().collect()
}
