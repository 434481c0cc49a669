//! Judges what a guest's kernel printed during a suite.
//!
//! `panic_on_warn` catches WARN, KASAN and UBSAN; lockdep, RCU and sleeping in atomic
//! context only print, kmemleak only counts. So the log is searched, lockdep must
//! still watch at the end (it stops at its first report), and nothing may have leaked.

use super::Report;

/// Begins a line of the log by which scripts are distinguished.
pub const MARK: &str = "teiji: suite: ";

/// What the kernel says when something is wrong.
const BAD: [&str; 19] = [
    "WARNING:",
    "BUG:",
    "INFO: possible",
    "INFO: task",
    "INFO: rcu",
    "INFO: trying to register non-static key",
    "suspicious",
    "UBSAN",
    "ODEBUG",
    "KASAN:",
    "Oops",
    "Kernel panic",
    "general protection fault",
    "refcount_t:",
    "DEBUG_LOCKS",
    "BUG ",
    "unregister_netdevice: waiting",
    "Unknown symbol",
    "scheduling while atomic",
];
/// Lines that look alike and are none: what debug kernels say of themselves at boot.
const HARMLESS: [&str; 3] = ["RCU lockdep checking", "MAX_LOCKDEP", "suspicious dereference"];

/// Bits of `/proc/sys/kernel/tainted` that loading our modules sets: out of tree (12)
/// and unsigned (13).
const EXPECTED_TAINT: u64 = (1 << 12) | (1 << 13);

/// Everything that is wrong with the kernel, one sentence each; empty if nothing is.
pub fn findings(report: &Report) -> Vec<String> {
    let mut findings = from_log(&report.kernel_log);
    if report.lockdep_watched == Some(false) {
        findings.push("lockdep has switched itself off, as it does after a report".into());
    }
    if let Some(leaks) = report.leaks.as_deref().filter(|leaks| !leaks.trim().is_empty()) {
        let count = leaks.matches("unreferenced object").count();
        findings.push(format!("kmemleak reports {count} objects:\n{}", leaks.trim_end()));
    }
    for stuck in &report.stuck_modules {
        findings.push(format!("module cannot be unloaded at the end: {stuck}"));
    }
    let taint = report.tainted & !EXPECTED_TAINT;
    if taint != 0 {
        findings.push(format!(
            "the kernel has the taint flags {taint:#x}, besides those of out-of-tree modules \
             (Documentation/admin-guide/tainted-kernels.rst)"
        ));
    }
    findings
}

/// How many marks a kernel log or console bears: one for each script that was begun, and one
/// after the last.
pub fn marks(log: &str) -> usize {
    log.lines().filter(|line| line.contains(MARK)).count()
}

/// Bad lines of a kernel log or console, each with the script it fell into.
pub fn from_log(log: &str) -> Vec<String> {
    let mut script = "before the first script";
    let mut findings = Vec::new();
    for line in log.lines() {
        if let Some((_, name)) = line.split_once(MARK) {
            script = name.trim();
        } else if is_bad(line) {
            findings.push(format!("{script}: {}", line.trim()));
        }
    }
    findings
}

/// What the log says after its first bad line, as call traces: at most `most` lines of its script.
pub fn after_first(log: &str, most: usize) -> impl Iterator<Item = &str> {
    let bad = log.lines().skip_while(|line| line.contains(MARK) || !is_bad(line));
    bad.skip(1).take_while(|line| !line.contains(MARK)).take(most)
}

fn is_bad(line: &str) -> bool {
    BAD.iter().any(|bad| line.contains(bad)) && !HARMLESS.iter().any(|fine| line.contains(fine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_kernel_passes_and_each_complaint_is_found_with_its_script() {
        let quiet = Report {
            kernel_log: "[ 0.1] rcu: \tRCU lockdep checking is enabled.\n\
                         [ 0.1] ... MAX_LOCKDEP_SUBCLASSES: 8\n\
                         [ 3.0] teiji: suite: gates.sh\n[ 4.0] vtsn: loaded\n"
                .into(),
            tainted: 4096,
            lockdep_watched: Some(true),
            leaks: Some(String::new()),
            ..Report::default()
        };
        assert_eq!(findings(&quiet), [""; 0]);
        assert_eq!(marks(&quiet.kernel_log), 1);
        for complaint in [
            "[ 5.0] BUG: KASAN: slab-use-after-free in vtsn_x",
            "[ 5.0] WARNING: possible circular locking dependency detected",
            "[ 5.0] WARNING: suspicious RCU usage",
            "[ 5.0] BUG: sleeping function called from invalid context",
            "[ 5.0] unregister_netdevice: waiting for va to become free",
        ] {
            let loud = Report {
                kernel_log: format!("{}{complaint}\n", quiet.kernel_log),
                ..quiet.clone()
            };
            assert_eq!(findings(&loud), [format!("gates.sh: {complaint}")]);
        }
    }

    #[test]
    fn the_trace_of_the_first_complaint_is_what_follows_it() {
        let log = "[ 1.0] fine\n[ 3.0] teiji: suite: a.sh\n[ 4.0] BUG: x\n[ 4.1] Call Trace:\n[ 4.1]  f+0x1\n\
                   [ 4.1]  g+0x2\n[ 5.0] teiji: suite: b.sh\n[ 6.0] BUG: y\n";
        let trace: Vec<&str> = after_first(log, 2).collect();
        assert_eq!(trace, ["[ 4.1] Call Trace:", "[ 4.1]  f+0x1"]);
        assert_eq!(after_first(log, 9).count(), 3, "as far as the next script");
        assert_eq!(after_first("[ 1.0] fine\n", 9).count(), 0);
    }

    #[test]
    fn leaks_a_silent_lockdep_taint_and_stuck_modules_are_each_a_finding() {
        let leak = "unreferenced object 0xff (size 8):\n  comm \"sh\"\n".to_owned();
        let report = Report {
            leaks: Some(leak),
            lockdep_watched: Some(false),
            tainted: 4096 | 512,
            stuck_modules: vec!["vtsn: in use".into()],
            ..Report::default()
        };
        assert_eq!(findings(&report).len(), 4, "{:?}", findings(&report));
    }
}
