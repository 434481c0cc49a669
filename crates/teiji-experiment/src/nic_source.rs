//! Whose NICs an experiment runs on.

/// Whose NICs the experiment will run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NicSource {
    /// Those a wire names: what they cannot do is a mistake.
    #[default]
    Emulated,
    /// One's own (`--on local`, `--on ssh`): what they can do is seen when the
    /// experiment is applied.
    Own,
}
