//! Why a frame was late: from what the kernel did while it was sent.
//!
//! * [`symbols`] and [`btf`] – the functions and structures of a kernel,
//! * [`hooks`] – the places that are watched, [`stream`] – what happened there,
//! * [`timeline`] – what each processor did, [`path`] – where a frame's time went,
//! * [`summary`] – of all frames of a flow, [`document`] – as a file of the run folder,
//! * [`perfetto`] – all of it, as a trace for ui.perfetto.dev.
#![forbid(unsafe_code)]

pub mod btf;
pub mod document;
pub mod hooks;
pub mod path;
pub mod perfetto;
pub mod stream;
pub mod summary;
pub mod symbols;
pub mod timeline;

pub use btf::Btf;
pub use symbols::Symbols;
