//! `teiji compare`: two runs side by side, and whether the second is worse than allowed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use teiji_experiment::Threshold;
use teiji_record::{RunFolder, Summary};
use teiji_report::compare::{document, limits};
use teiji_report::html;
use teiji_run::{report, summarise};

use crate::exit::{Exit, mistake};
use crate::output;
use crate::terminal;

/// Compare two runs case by case.
#[derive(clap::Args)]
pub struct Args {
    /// The run folder of the baseline.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The run folder to compare with it.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Exit with 4 if this is true of a case that both runs have, or if that case was not
    /// measured; may be given several times.
    ///
    /// `FIGURE [of NAME] RELATION FACTORx`, for example "range > 1.2x": AFTER's range is more than
    /// 1.2 times BEFORE's. Figures and relations (except =) are those of `require` in experiment
    /// files. A figure fails if one run does not have it, or if the runs have it at different
    /// timestamp points. A time also fails in a case that lost more frames than before, unless a
    /// limit on `lost` allows that. With several seeds the median counts.
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Threshold>,
    /// Write the comparison with plots to this file.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print the comparison as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let read = |path: &Path| -> anyhow::Result<Summary> {
        let (folder, manifest) = RunFolder::open(path)?;
        Ok(summarise::read(&folder, &manifest)?.summary)
    };
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let limits = match limits(&before, &after, &args.fail_if, &terminal::glyphs()) {
        Ok(limits) => limits,
        Err(error) => mistake!("{error}"),
    };
    if let Some(path) = &args.html {
        let generator = format!("teiji {}", env!("CARGO_PKG_VERSION"));
        std::fs::write(path, html::compare(&before, &after, &limits, &generator))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let exceeded = limits.iter().any(|limit| !limit.holds);
    if args.json {
        output::json(&document(&before, &after, limits))?;
    } else {
        output::text(terminal::compare(&before, &after, &limits))?;
        if let Some(path) = &args.html {
            output::line(format_args!("\nReport   {}", report::shown(path)))?;
        }
    }
    Ok(if exceeded { Exit::Unfulfilled } else { Exit::Success })
}
