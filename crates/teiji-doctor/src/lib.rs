//! What keeps a machine from sending on time and without loss: [`facts`] are read from it,
//! [`diagnosis`] judges them by rules that read nothing, and [`probe`] measures what some of them
//! cost. Nothing here changes the machine.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use teiji_doctor::{Diagnosis, Facts};
//! let facts = Facts::read(&["eth0".to_owned()])?;
//! for finding in Diagnosis::of(&facts).findings {
//!     println!("{}", finding.seen);
//! }
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

pub mod diagnosis;
pub mod facts;
pub mod finding;
pub mod probe;
mod rules;

pub use diagnosis::{Diagnosis, Readiness, Verdict};
pub use facts::{Examination, Facts};
pub use finding::{Feature, Finding, Fix, Weight};
pub use teiji_net::nic::{Nic, NicError};
