//! Exit codes of the command, part of its interface (`teiji help`, README).

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use teiji_lab::kernel::KernelError;
use teiji_net::BindingError;
use teiji_net::real_nic::Refusal;
use teiji_record::RunFolderError;
use teiji_run::{Ended, Interrupted, Mistake};
use teiji_sys::interface::NoInterface;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// No failure.
    Success = 0,
    /// Something failed; the last line gives the cause and the next step.
    Failure = 1,
    /// The command line or a file it names has mistakes (clap uses 2 as well).
    Usage = 2,
    /// A run ended, but part of it is missing, or frames were not on time; the results are kept.
    Incomplete = 3,
    /// A run ended, and a case does not fulfil what is required of it, or is worse than another
    /// run by more than is allowed; an interface is not ready; or the machine differs from a profile.
    Unfulfilled = 4,
    /// `flow run` could not start the program.
    NotStarted = 126,
    /// `flow run` did not find the program.
    NotFound = 127,
    /// Stopped by Ctrl-C; what was measured is kept.
    Interrupted = 130,
}

/// The table for `--help`.
pub const HELP: &str = "Exit codes:
  0    success
  1    something failed; the last line gives the cause and the next step
  2    a mistake in the command line or in a file it names
  3    a run ended, but part of it is missing (what was measured is kept);
       not all frames of `talk` were on time
  4    a run ended, and a case does not fulfil what the experiment requires of it,
       or is worse than another run by more than `compare --fail-if` allows;
       an interface is not ready for what `doctor --require` names;
       the machine differs from a profile (`diff`, `status`)
  126  `flow run` cannot start the program; 127: it does not find the program
  130  interrupted (what was measured is kept)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Ended> for Exit {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Complete => Self::Success,
            Ended::Unfulfilled => Self::Unfulfilled,
            Ended::Incomplete => Self::Incomplete,
            Ended::Interrupted => Self::Interrupted,
        }
    }
}

/// An error that should end the command with a particular code.
#[derive(Debug)]
pub struct WithExit(pub Exit, pub String);

impl fmt::Display for WithExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for WithExit {}

/// The exit code of an error: a mistake where the command line names what cannot be used.
pub fn of(error: &anyhow::Error) -> Exit {
    if let Some(with) = error.downcast_ref::<WithExit>() {
        return with.0;
    }
    if error.is::<Interrupted>() {
        return Exit::Interrupted;
    }
    if error.chain().any(is_mistake) { Exit::Usage } else { Exit::Failure }
}

fn is_mistake(cause: &(dyn Error + 'static)) -> bool {
    let run = cause.downcast_ref::<RunFolderError>().is_some_and(|error| {
        use RunFolderError::{Missing, NoLatest, NotARun};
        matches!(error, Missing { .. } | NoLatest { .. } | NotARun { .. })
    });
    let taken = cause
        .downcast_ref::<Refusal>()
        .is_some_and(|refusal| !matches!(refusal, Refusal::Look { .. }));
    let kernel = cause.downcast_ref::<KernelError>().is_some_and(|error| {
        use KernelError::{ModulesAlone, ModulesOfPackage, Name};
        matches!(error, Name { .. } | ModulesAlone { .. } | ModulesOfPackage { .. })
    });
    run || taken
        || kernel
        || cause.is::<NoInterface>()
        || cause.is::<BindingError>()
        || cause.is::<Mistake>()
}

/// A file that the command line names and that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> WithExit {
    WithExit(Exit::Usage, format!("cannot read {}: {error}", path.display()))
}

/// Returns with a mistake in the command line, as `anyhow::bail` does with a failure.
macro_rules! mistake {
    ($($sentence:tt)*) => {
        return Err($crate::exit::WithExit($crate::exit::Exit::Usage, format!($($sentence)*)).into())
    };
}
pub(crate) use mistake;
