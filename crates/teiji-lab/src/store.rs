//! The cache's folder: items, each checked at every use, locks between processes, room on the disk.

mod error;
pub(crate) mod item;
pub(crate) mod lock;
mod progress;
pub(crate) mod space;

pub use error::StoreError;
pub use item::Package;
pub use progress::{Progress, Step};
