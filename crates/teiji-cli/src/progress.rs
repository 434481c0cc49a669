//! Shows how far a step is: bars with the time left on a terminal, plain lines
//! elsewhere, nothing with `--json`.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use teiji_run::CacheSteps;

use crate::output;

/// How often a step speaks when nobody watches a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Where progress goes.
pub struct Progress {
    style: Style,
}

enum Style {
    Bars(MultiProgress),
    Plain,
    Silent,
}

impl Progress {
    /// Bars if standard error is a terminal, lines otherwise; nothing if
    /// `silent`.
    pub fn new(silent: bool) -> Self {
        let style = if silent {
            Style::Silent
        } else if std::io::stderr().is_terminal() {
            Style::Bars(MultiProgress::new())
        } else {
            Style::Plain
        };
        Self { style }
    }

    /// Shows the steps of the laboratory's cache.
    pub fn cache_steps(&self) -> CacheSteps<'_> {
        CacheSteps::new(self)
    }
}

impl teiji_run::Progress for Progress {
    fn step(&self, name: &str, total: u64) -> Box<dyn teiji_run::Step + '_> {
        let kind = match &self.style {
            Style::Silent => Kind::Silent,
            Style::Plain => {
                output::aside(format_args!("  {name} …"));
                Kind::Plain(Mutex::new(Spoken {
                    at: Instant::now(),
                    position: 0,
                    moving_since: None,
                }))
            }
            Style::Bars(bars) => {
                let bar = bars.add(ProgressBar::new(total));
                // Until it moves there is nothing to estimate from.
                bar.set_style(style(if total == 0 { UNKNOWN } else { STARTING }));
                bar.set_message(name.to_owned());
                bar.enable_steady_tick(Duration::from_millis(120));
                Kind::Bar(bar)
            }
        };
        Box::new(Step { name: name.to_owned(), total, kind })
    }

    fn line(&self, text: &str) {
        match &self.style {
            Style::Bars(bars) => {
                if bars.println(text).is_err() {
                    output::aside(text);
                }
            }
            Style::Plain => output::aside(text),
            Style::Silent => {}
        }
    }
}

/// A step whose end is not known.
const UNKNOWN: &str = "  {msg:26} {spinner} {elapsed}";
/// One that has not begun to move.
const STARTING: &str = "  {msg:26} {spinner} starting, {elapsed}";
/// One of which a share is done.
const MOVING: &str = "  {msg:26} {bar:32} {percent:>3} %  about {eta} left";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("█▉▊▋▌▍▎▏ ")
}

/// One step on its way. Dropping it takes its bar away.
struct Step {
    name: String,
    total: u64,
    kind: Kind,
}

enum Kind {
    Bar(ProgressBar),
    Plain(Mutex<Spoken>),
    Silent,
}

struct Spoken {
    at: Instant,
    position: u64,
    /// When the position first moved: a guest boots before it measures.
    moving_since: Option<Instant>,
}

impl teiji_run::Step for Step {
    fn set(&self, position: u64) {
        match &self.kind {
            Kind::Bar(bar) => {
                if bar.position() == 0 && position > 0 {
                    // What came before, such as booting, says nothing of the speed.
                    bar.set_style(style(MOVING));
                    bar.reset_eta();
                }
                bar.set_position(position.min(self.total));
            }
            Kind::Plain(spoken) => self.speak(spoken, position),
            Kind::Silent => {}
        }
    }
}

impl Step {
    fn speak(&self, spoken: &Mutex<Spoken>, position: u64) {
        let Ok(mut spoken) = spoken.lock() else { return };
        if self.total == 0 || position == 0 {
            return;
        }
        let moving_since = *spoken.moving_since.get_or_insert_with(Instant::now);
        let done = position.min(self.total) as f64 / self.total as f64;
        if position == spoken.position || spoken.at.elapsed() < PLAIN_INTERVAL || done < 0.01 {
            return;
        }
        spoken.at = Instant::now();
        spoken.position = position;
        let left = moving_since.elapsed().as_secs_f64() * (1.0 / done - 1.0);
        let percent = done * 100.0;
        output::aside(format_args!("  {} {percent:.0} %, about {left:.0} s left", self.name));
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}
