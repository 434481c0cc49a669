//! The command with the laboratory: real guests, few boots. The first run on a machine fetches kernels
//! and QEMU. One program, whose tests keep all processors busy until the last of them ends.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/run.rs"]
mod run;

mod machines;
mod replays;
mod tutorial;

mod arm;
mod board;
mod flow_control;
mod kernel_modules;
mod margin;
mod runs;
mod vtsn_alone;
mod why;
