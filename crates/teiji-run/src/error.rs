//! Errors that a caller has to tell from failures.

/// A request that cannot be fulfilled: an unknown case, a file that is no experiment.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);

/// Stopped before anything was measured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Interrupted(pub String);

/// Returns with a [`Mistake`], as `anyhow::bail` does with a failure.
macro_rules! mistake {
    ($($sentence:tt)*) => {
        return Err($crate::Mistake(format!($($sentence)*)).into())
    };
}
pub(crate) use mistake;
