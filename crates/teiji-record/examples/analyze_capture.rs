//! Analyses a capture and prints the table and what it cost: the measurement
//! behind docs/performance.md.
//!
//!     cargo run --release -p teiji-record --example analyze_capture -- FILE

use std::fs::File;
use std::time::Instant;

use teiji_record::capture::{Options, analyze};
use teiji_stats::Vantage;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: analyze_capture FILE")?;
    let start = Instant::now();
    let analysis = analyze(File::open(path)?, &Options::default())?;
    let elapsed = start.elapsed();
    println!("{} ({:?})", analysis.flow, analysis.period_source);
    println!("{:?}", analysis.statistics.counts);
    let wire = analysis.statistics.vantages.get(&Vantage::Wire);
    if let Some(interval) = wire.and_then(|w| w.interval.as_ref()) {
        println!(
            "interval: n {}, mean {:.1}, min {}, max {}, range {}, σ {:.1} ns, exact {}",
            interval.count,
            interval.mean_ns,
            interval.min_ns,
            interval.max_ns,
            interval.range_ns,
            interval.stddev_ns,
            interval.exact
        );
        for p in &interval.percentiles {
            println!("  p{} {} ns", p.p, p.ns);
        }
    }
    for warning in &analysis.warnings {
        println!("{warning}");
    }
    println!("{} frames in {:.3} s", analysis.frames, elapsed.as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status.lines().filter(|l| l.starts_with("VmHWM")) {
        println!("{line}");
    }
    Ok(())
}
