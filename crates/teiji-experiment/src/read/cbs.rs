//! `cbs`: by a bandwidth, or by the kernel's four numbers.

use teiji_core::quantity::Rate;

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Cbs, largest_frame_on_the_wire};

pub(super) const KEYS: [&str; 7] =
    ["bandwidth", "max-frame", "idleslope", "sendslope", "hicredit", "locredit", "offload"];
const RAW: [&str; 4] = ["idleslope", "sendslope", "hicredit", "locredit"];
const BANDWIDTH: &str = "\"20Mbit/s\"";
/// The shortest frame, preamble, FCS and gap.
const SHORTEST: i64 = 84;
const MAX_FRAME: i64 = 65_535;

pub(super) fn read(fields: &Fields<'_>, rate: Option<Rate>, log: &Log) -> Option<Cbs> {
    let offload = fields.flag("offload").or_default(false);
    let raw = RAW.map(|key| {
        let (least, most) = match key {
            "sendslope" | "locredit" => (i64::from(i32::MIN), 0),
            _ => (0, i64::from(i32::MAX)),
        };
        fields.number(key, least, most, "").and_then(|n| i32::try_from(n).ok())
    });
    let bandwidth = fields.rate("bandwidth", BANDWIDTH);
    let frame = fields
        .number(
            "max-frame",
            SHORTEST,
            MAX_FRAME,
            "It counts preamble, FCS and gap: 1538 at most without jumbo frames.",
        )
        .and_then(|n| u32::try_from(n).ok());
    let given: Vec<&str> = RAW.into_iter().filter(|key| fields.has(key)).collect();
    match (bandwidth, given.as_slice()) {
        (Found::Wrong, _) => None,
        (Found::Value(bandwidth), []) => {
            let frame = frame.or_default(largest_frame_on_the_wire())?;
            derive(fields, bandwidth, rate?, frame, offload?, log)
        }
        (Found::Value(_), [key, ..]) => {
            log.mistake(
                fields.place(key),
                format!("`bandwidth` and `{key}` say the same thing"),
                "Leave one out: slopes and credits follow from the bandwidth.",
            );
            None
        }
        (Found::Absent, []) => {
            fields.missing("bandwidth", BANDWIDTH);
            None
        }
        (Found::Absent, some) => {
            if some.len() < RAW.len() {
                for key in RAW.into_iter().filter(|key| !fields.has(key)) {
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
