//! How well clocks followed each other in a run: one row for each case and clock.

use teiji_record::Summary;

/// One clock in one case; over several seeds, the worst of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedClock<'a> {
    /// The case.
    pub case: &'a str,
    /// `HOST.WIRE` of the clock, or `the system`.
    pub clock: &'a str,
    /// `HOST.WIRE` of the clock it follows.
    pub reference: &'a str,
    /// Root of the mean square of its offset, in ns.
    pub rms_ns: f64,
    /// How far it was off at most, either way, in ns.
    pub worst_ns: f64,
    /// From the start of the programs until it followed, in ns.
    pub settled_ns: f64,
}

/// All clocks that were kept during a run, in the order of the cases.
pub fn followed(summary: &Summary) -> Vec<FollowedClock<'_>> {
    let mut rows: Vec<FollowedClock<'_>> = Vec::new();
    for case in &summary.cases {
        for found in case.members.iter().flat_map(|member| &member.clocks) {
            let row = FollowedClock {
                case: &case.name,
                clock: &found.clock,
                reference: &found.reference,
                rms_ns: found.rms_ns,
                worst_ns: found.worst_ns.unsigned_abs() as f64,
                settled_ns: found.settled_ns as f64,
            };
            match rows.iter_mut().find(|r| r.case == row.case && r.clock == row.clock) {
                Some(other) => {
                    other.rms_ns = other.rms_ns.max(row.rms_ns);
                    other.worst_ns = other.worst_ns.max(row.worst_ns);
                    other.settled_ns = other.settled_ns.max(row.settled_ns);
                }
                None => rows.push(row),
            }
        }
    }
    rows
}
