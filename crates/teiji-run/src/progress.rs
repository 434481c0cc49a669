//! How far a run is, for whoever watches it.

use teiji_lab::cache;

/// Somebody who watches.
pub trait Progress: Sync {
    /// Begins a step of `total` units (0: unknown); dropping what this returns ends it.
    fn step(&self, name: &str, total: u64) -> Box<dyn Step + '_>;

    /// Shows a line that stays.
    fn line(&self, text: &str);
}

/// A step on its way.
pub trait Step {
    /// It has come to `position` of its total.
    fn set(&self, position: u64);
}

/// Nobody watches.
pub struct Unwatched;

impl Progress for Unwatched {
    fn step(&self, _: &str, _: u64) -> Box<dyn Step + '_> {
        Box::new(Self)
    }

    fn line(&self, _: &str) {}
}

impl Step for Unwatched {
    fn set(&self, _: u64) {}
}

/// The total of a step whose progress is a share.
pub const PARTS: u64 = 1000;

/// A share from 0 to 1 in [`PARTS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0 ..= PARTS before"
)]
pub fn parts(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * PARTS as f64) as u64
}

/// Shows the steps of the laboratory's cache.
pub struct CacheSteps<'a> {
    progress: &'a dyn Progress,
    current: Option<(String, Box<dyn Step + 'a>)>,
}

impl<'a> CacheSteps<'a> {
    /// Shows them to `progress`.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, current: None }
    }
}

impl cache::Progress for CacheSteps<'_> {
    fn step(&mut self, step: &cache::Step<'_>) {
        if step.fraction >= 1.0 {
            self.current = None;
            return;
        }
        if self.current.as_ref().is_none_or(|(what, _)| what != step.what) {
            let name = match step.total_bytes {
                Some(bytes) => format!("{} ({} MB)", step.what, bytes / 1_000_000),
                None => step.what.to_owned(),
            };
            // The one before ends first.
            self.current = None;
            self.current = Some((step.what.to_owned(), self.progress.step(&name, PARTS)));
        }
        if let Some((_, bar)) = &self.current {
            bar.set(parts(step.fraction));
        }
    }

    fn note(&mut self, text: &str) {
        self.progress.line(&format!("  {text}"));
    }
}
