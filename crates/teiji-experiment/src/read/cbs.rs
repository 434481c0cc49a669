//! `cbs`: by a bandwidth, or by the kernel's four numbers.

use teiji_core::quantity::Rate;

use crate::fields::{Fields, Found};
use crate::keys::Key;
use crate::keys::qdisc as cbs;
use crate::log::Log;
use crate::scenario::Cbs;

const RAW: [&Key<i32>; 4] = [&cbs::IDLESLOPE, &cbs::SENDSLOPE, &cbs::HICREDIT, &cbs::LOCREDIT];

pub(super) fn read(fields: &Fields<'_>, rate: Option<Rate>, log: &Log) -> Option<Cbs> {
    let offload = fields.settled(&cbs::CBS_OFFLOAD);
    let raw = RAW.map(|key| fields.take(key));
    let bandwidth = fields.take(&cbs::BANDWIDTH);
    let frame = fields.settled(&cbs::MAX_FRAME);
    let given: Vec<&str> =
        RAW.map(|key| key.name).into_iter().filter(|key| fields.has(key)).collect();
    match (bandwidth, given.as_slice()) {
        (Found::Wrong, _) => None,
        (Found::Value(bandwidth), []) => derive(fields, bandwidth, rate?, frame?, offload?, log),
        (Found::Value(_), [key, ..]) => {
            log.mistake(
                fields.place(key),
                format!("`bandwidth` and `{key}` say the same thing"),
                "Leave one out: slopes and credits follow from the bandwidth.",
            );
            None
        }
        (Found::Absent, []) => {
            fields.missing("bandwidth", "\"20Mbit/s\"");
            None
        }
        (Found::Absent, some) => {
            if some.len() < RAW.len() {
                for key in RAW.map(|key| key.name).into_iter().filter(|key| !fields.has(key)) {
                    fields.missing(
                        key,
                        if key.starts_with("send") || key.starts_with("lo") {
                            "-980000"
                        } else {
                            "20000"
                        },
                    );
                }
                return None;
            }
            let [idle, send, hi, lo] = raw.map(Found::value);
            Some(Cbs {
                idleslope_kbps: idle?,
                sendslope_kbps: send?,
                hicredit_bytes: hi?,
                locredit_bytes: lo?,
                offload: offload?,
            })
        }
    }
}

fn derive(
    fields: &Fields<'_>,
    bandwidth: Rate,
    rate: Rate,
    frame: u32,
    offload: bool,
    log: &Log,
) -> Option<Cbs> {
    let cbs = Cbs::for_bandwidth(bandwidth, rate, frame, offload);
    if cbs.is_none() {
        log.mistake(
            fields.place("bandwidth"),
            format!("the bandwidth of {bandwidth} is no share of the wire's {rate}"),
            "Write at least 1kbit/s and less than the wire has.",
        );
    }
    cbs
}
