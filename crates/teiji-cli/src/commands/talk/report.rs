//! What `teiji talk` says at its end: one report, as text and as JSON (docs/talk-listen.md).

use std::fmt::Write;

use serde::Serialize;
use teiji::TalkerLog;
use teiji::margin::Reading;
use teiji_core::time::Span;
use teiji_run::punctuality::Counts;
use teiji_stats::{Deviation, Series};

use super::advice;
use super::context::{Context, Counted, JudgedBy, uncounted};
use crate::commands::quantity::figures;
use crate::exit::Exit;

/// The report. Times in ns.
#[derive(Serialize)]
pub(super) struct Report {
    format: &'static str,
    version: u32,
    interface: String,
    destination: String,
    flow: u16,
    period_ns: i64,
    margin_ns: Option<i64>,
    tolerance_ns: i64,
    judged_by: JudgedBy,
    interrupted: bool,
    exit: u8,
    frames: Counts,
    wake_up_latency: Option<Deviation>,
    send_call: Option<Deviation>,
    /// Transmit timestamp − schedule, by the clock of `judged_by`.
    transmitted: Option<Deviation>,
    phc_minus_tai_ns: Option<[i64; 2]>,
    interface_counted: Option<Counted>,
    /// Of each cause: what it is and what to do.
    advice: Vec<String>,
    #[serde(skip)]
    headroom: Option<Reading>,
}

impl Report {
    pub(super) fn of(log: &TalkerLog, context: &Context) -> Self {
        let Context { criteria, counted, .. } = context;
        let counts = Counts::of(log, criteria);
        let margin = context.margin.unwrap_or(Span::ZERO);
        let series = |of: &dyn Fn(&teiji::TxRecord) -> Option<Span>| {
            let mut spans = log.frames.iter().filter_map(of).peekable();
            let mut series = Series::new();
            series.reserve(spans.peek().map_or(0, |_| log.frames.len()));
            spans.for_each(|span| series.push(span.as_ns()));
            series.finish()
        };
        let judged_by = JudgedBy::from(criteria.stamps);
        let exit = exit(log.interrupted, &counts, judged_by, counted.as_ref());
        Self {
            format: "teiji-talk",
            version: 1,
            interface: context.interface.clone(),
            destination: context.destination.clone(),
            flow: log.flow,
            period_ns: context.period.as_ns(),
            margin_ns: context.margin.map(Span::as_ns),
            tolerance_ns: criteria.tolerance.as_ns(),
            judged_by,
            interrupted: log.interrupted,
            exit: exit as u8,
            wake_up_latency: series(&|f| Some(f.woke - (f.scheduled - margin))),
            send_call: series(&|f| Some(f.handed_over - f.woke)),
            transmitted: series(&|f| criteria.transmitted(f)),
            phc_minus_tai_ns: criteria.phc.map(|both| both.map(|offset| offset.ahead.as_ns())),
            interface_counted: counted.clone(),
            advice: advice::of(&counts, context),
            headroom: context.headroom,
            frames: counts,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        match self.exit {
            0 => Exit::Success,
            1 => Exit::Failure,
            3 => Exit::Incomplete,
            _ => Exit::Interrupted,
        }
    }

    /// One line: how many frames were transmitted on time.
    pub(super) fn headline(&self) -> String {
        let Counts { attempted, on_time, .. } = self.frames;
        let within = Span::from_ns(self.tolerance_ns);
        if attempted == 0 {
            return "no frame was sent".to_owned();
        }
        let transmitted =
            |by| format!("transmitted on time (within {within}, by the {by} timestamps)");
        let what = match self.judged_by {
            JudgedBy::HandOver => "handed over on time; whether they were transmitted is unknown \
                                   without timestamps"
                .to_owned(),
            JudgedBy::DriverTimestamp => transmitted("driver's"),
            JudgedBy::NicTimestamp => transmitted("NIC's"),
        };
        if on_time == attempted {
            return format!("{attempted} frames {what}");
        }
        format!("{on_time} of {attempted} frames {what}")
    }

    /// The lines below the headline that say what became of the other frames.
    fn others(&self) -> String {
        let frames = &self.frames;
        let tolerance = Span::from_ns(self.tolerance_ns);
        let due = if self.margin_ns.is_some() { "launch time" } else { "schedule" };
        let mut text = String::new();
        let mut line = |number: u64, what: &str| {
            if number > 0 {
                let _ = writeln!(text, "{number:>9} {what}");
            }
        };
        let woke = match frames.woke_late {
            0 => String::new(),
            number => format!("; for {number} the talker woke too late"),
        };
        let worst = Span::from_ns(frames.worst_late_ns);
        if self.judged_by == JudgedBy::HandOver {
            line(
                frames.late,
                &format!("late: the worst handed over {worst} after its {due}{woke}"),
            );
        } else {
            line(
                frames.late,
                &format!(
                    "late: transmitted more than {tolerance} after their {due}, the worst {worst}{woke}"
                ),
            );
        }
        line(frames.early, &format!("early: transmitted long before their {due}"));
        line(frames.dropped_missed, "dropped by ETF (missed): their launch time had passed");
        line(frames.dropped_invalid, "dropped by ETF (invalid): unusable launch time");
        let none = "without transmit timestamp";
        line(frames.no_timestamp_before_qdisc, &format!("{none}: they did not enter the qdisc"));
        line(
            frames.no_timestamp_after_qdisc,
            &format!("{none}: they entered the qdisc and did not reach the driver"),
        );
        line(
            frames.no_timestamp_after_driver,
            &format!("{none}: the driver had them, the NIC gave none"),
        );
        for (errno, number) in &frames.refused {
            line(*number, &format!("refused by the send call: {}", advice::errno(*errno)));
        }
        text
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.headline() + "\n" + &self.others();
        let mut line = |what: &str, series: &Option<Deviation>| {
            if let Some(series) = series {
                let _ = writeln!(text, "{what:21} {}", figures(series));
            }
        };
        line("wake-up latency", &self.wake_up_latency);
        line("send call", &self.send_call);
        line("transmitted − schedule", &self.transmitted);
        if let Some([before, after]) = self.phc_minus_tai_ns.map(|both| both.map(Span::from_ns)) {
            let _ = writeln!(text, "PHC − CLOCK_TAI       {before} before, {after} after");
        }
        if let Some(Reading { least: Some(least), low, used_up, frames }) = self.headroom {
            let _ = writeln!(
                text,
                "margin left           at least {least}; {low} of {frames} frames left less than a \
                 fifth, {used_up} nothing"
            );
        }
        text + &self.said_beside()
    }

    /// What standard error gets where standard output has rows or JSON: nothing if all is well.
    pub(super) fn said_beside(&self) -> String {
        self.advice.iter().fold(String::new(), |text, sentence| text + "! " + sentence + "\n")
    }

    pub(super) fn aside(&self) -> Option<String> {
        (self.exit() != Exit::Success)
            .then(|| self.headline() + "\n" + &self.others() + &self.said_beside())
    }
}

/// 130 if interrupted, 1 if no frame was transmitted, 3 if not all were on time, else 0.
fn exit(
    interrupted: bool,
    counts: &Counts,
    judged_by: JudgedBy,
    counted: Option<&Counted>,
) -> Exit {
    // Without timestamp of its transmission a frame may have been sent after all, unless the
    // interface counted none.
    let certain = if judged_by == JudgedBy::HandOver { 0 } else { counts.transmitted() };
    let possible = counts.transmitted() + counts.no_timestamp_after_driver;
    let none_seen = counted.is_some_and(|counted| counted.sent == 0);
    if interrupted {
        Exit::Interrupted
    } else if certain == 0 && (possible == 0 || none_seen) {
        Exit::Failure
    } else if counts.not_on_time() > 0 || uncounted(counts, judged_by, counted) > 0 {
        Exit::Incomplete
    } else {
        Exit::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_takes_every_frame_and_failure_none() {
        let counts = |on_time, late, driver| Counts {
            attempted: 10,
            on_time,
            late,
            no_timestamp_after_driver: driver,
            ..Counts::default()
        };
        let sent = |sent| Counted { carrier: true, sent, dropped: 0, qdisc: None };
        let of = |counts: Counts, by, number| exit(false, &counts, by, Some(&sent(number)));
        let nic = JudgedBy::NicTimestamp;
        assert_eq!(of(counts(10, 0, 0), nic, 10), Exit::Success);
        assert_eq!(of(counts(9, 1, 0), nic, 10), Exit::Incomplete);
        assert_eq!(of(counts(0, 0, 10), nic, 10), Exit::Incomplete, "the timestamps were lost");
        assert_eq!(of(counts(0, 0, 10), nic, 0), Exit::Failure, "the frames were");
        assert_eq!(of(counts(0, 0, 0), nic, 10), Exit::Failure);
        assert_eq!(of(counts(10, 0, 0), JudgedBy::HandOver, 10), Exit::Success);
        assert_eq!(of(counts(10, 0, 0), JudgedBy::HandOver, 0), Exit::Failure);
        assert_eq!(of(counts(10, 0, 0), JudgedBy::HandOver, 3), Exit::Incomplete);
        assert_eq!(exit(true, &counts(0, 0, 0), nic, None), Exit::Interrupted);
    }
}
