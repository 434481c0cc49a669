//! Why a frame was late: from what the kernel did while it was sent.
//!
//! * [`symbols`] and [`btf`] – the functions and structures of a kernel,
//! * [`hooks`] – the places that are watched, [`stream`] – what happened there,
//! * [`recorded`] – that becomes a [`timeline`]: what each processor did,
//! * [`tracepoints`] – so do the tracepoints of a machine that is no guest of the laboratory,
//! * [`path`] – where a frame's time went, by [`cause`],
//! * [`summary`] – of all frames of a flow, [`document`] – as a file of the run folder,
//! * [`perfetto`] – all of it, as a trace for ui.perfetto.dev.
#![forbid(unsafe_code)]

mod blocks;
pub mod btf;
pub mod cause;
pub mod document;
pub mod hooks;
pub mod path;
pub mod perfetto;
mod processors;
pub mod recorded;
pub mod stream;
pub mod summary;
pub mod symbols;
mod tasks;
pub mod timeline;
pub mod tracepoints;
mod wire_clock;

pub use btf::Btf;
pub use symbols::Symbols;
