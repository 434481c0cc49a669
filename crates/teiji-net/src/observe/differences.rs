//! Where the kernel has another setting than the plan.

use std::collections::BTreeMap;
use std::fmt;

use super::{Observed, ObservedPort};
use teiji_experiment::scenario::Qdisc;

use crate::plan::{Action, Attachment, Plan, PlannedPort};
use crate::processing::ProcessingSetting;
use crate::qdisc::{ObservedQdisc, PlannedQdisc, words};
use crate::real_nic::Channels;
use crate::vtsn::Setting;

impl Observed {
    /// Where the kernel has something else than `plan` has, one sentence
    /// each. Empty if all is as planned.
    pub fn differences(&self, plan: &Plan) -> Vec<String> {
        let mut all = Differences::default();
        let here = |port: &&PlannedPort| port.attachment != Attachment::Elsewhere;
        for planned in plan.ports().iter().filter(here) {
            all.at = format!("{}.{}", planned.host, planned.wire);
            match self.port(&planned.host, &planned.wire) {
                None => all.found.push(format!("{}: the port is not there", all.at)),
                Some(is) => {
                    all.compare_wire(planned, is);
                    all.compare_settings_of(planned, is);
                }
            }
        }
        all.compare_system(plan.steps.iter().map(|step| &step.action), &self.system);
        all.found
    }
}

/// Where an interface that stays where it is, and the machine's own settings, are other than a profile's
/// plan requests, one sentence each.
pub(crate) fn in_place<'a>(
    ports: impl Iterator<Item = (&'a PlannedPort, &'a ObservedPort)>,
    actions: &[Action],
    system: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut all = Differences::default();
    for (planned, is) in ports {
        all.at.clone_from(&planned.ifname);
        all.compare_settings_of(planned, is);
    }
    all.compare_system(actions.iter(), system);
    all.found
}

#[derive(Default)]
struct Differences {
    at: String,
    found: Vec<String>,
}

impl Differences {
    fn compare<T: PartialEq + fmt::Display + ?Sized>(&mut self, what: &str, planned: &T, is: &T) {
        if planned != is {
            self.found.push(format!("{}: {what}: {is}, configured: {planned}", self.at));
        }
    }

    fn compare_observed(&mut self, what: &str, planned: &String, observed: Option<&String>) {
        match observed {
            Some(is) => self.compare(what, planned, is),
            None => self
                .found
                .push(format!("{}: {what}: unknown to the driver, configured: {planned}", self.at)),
        }
    }

    fn compare_system<'a>(
        &mut self,
        actions: impl Iterator<Item = &'a Action>,
        is: &BTreeMap<String, String>,
    ) {
        "the kernel".clone_into(&mut self.at);
        for action in actions {
            if let Action::System { setting } = action {
                let (what, planned) = setting.expected();
                self.compare_observed(&what, &planned, is.get(&what));
            }
        }
    }

    /// Address, bridge and carrier, which are the experiment's.
    fn compare_wire(&mut self, planned: &PlannedPort, is: &ObservedPort) {
        if let (Some(planned), Some(is)) = (planned.mac, is.mac) {
            self.compare("MAC address", &planned, &is);
        }
        for (ip, prefix) in planned.addresses() {
            let address = format!("{ip}/{prefix}");
            if !is.addresses.contains(&address) {
                self.found.push(format!(
                    "{}: addresses: {}, configured: {address}",
                    self.at,
                    if is.addresses.is_empty() { "none".into() } else { is.addresses.join(", ") }
                ));
            }
        }
        if planned.bridged {
            let state = is.bridge.as_deref().unwrap_or("of no bridge");
            self.compare("a bridge's port that is", "forwarding", state);
        }
        if !is.carrier {
            self.found.push(format!("{}: {} has no carrier ({})", self.at, is.ifname, is.state));
        }
    }

    fn compare_settings_of(&mut self, planned: &PlannedPort, is: &ObservedPort) {
        if let Some(queues) = planned.queues {
            let in_use = is.channels.map_or(is.tx_queues, Channels::tx_queues);
            self.compare("transmit queues", &u32::from(queues), &in_use);
        }
        let settings = planned.settings.iter().flat_map(Setting::expected);
        let processing = planned.processing.iter().flat_map(ProcessingSetting::expected);
        for (what, planned) in settings.chain(processing) {
            self.compare_observed(&what, &planned, is.settings.get(&what));
        }
        for qdisc in &planned.qdiscs {
            self.compare_qdisc(qdisc, &is.qdiscs);
        }
    }

    fn compare_qdisc(&mut self, planned: &PlannedQdisc, there: &[ObservedQdisc]) {
        let Some(is) = there.iter().find(|q| q.parent == planned.parent) else {
            let kind = planned.settings.kind();
            self.found
                .push(format!("{}: no qdisc at {}, configured: {kind}", self.at, planned.parent));
            return;
        };
        let port = std::mem::take(&mut self.at);
        self.at = format!("{port} at {}", planned.parent);
        self.compare_settings(&planned.settings, &is.settings);
        self.at = port;
    }

    fn compare_settings(&mut self, planned: &Qdisc, is: &Qdisc) {
        match (planned, is) {
            (Qdisc::Etf(planned), Qdisc::Etf(is)) => {
                self.compare("etf delta", &planned.delta, &is.delta);
                self.compare("etf clockid", planned.clock.name(), is.clock.name());
                for (what, planned, is) in [
                    ("etf offload", planned.offload, is.offload),
                    ("etf deadline_mode", planned.deadline_mode, is.deadline_mode),
                    ("etf skip_sock_check", planned.skip_sock_check, is.skip_sock_check),
                ] {
                    self.compare(what, on_off(planned), on_off(is));
                }
            }
            (planned, is) => {
                let (planned, is) = (format!("`{}`", words(planned)), format!("`{}`", words(is)));
                self.compare("qdisc", &planned, &is);
            }
        }
    }
}

fn on_off(set: bool) -> &'static str {
    if set { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Counters;
    use crate::qdisc::{Handle, ROOT_HANDLE};
    use teiji_core::time::{ClockId, Span};
    use teiji_experiment::scenario::Etf;

    fn etf(delta_us: i64, offload: bool) -> Qdisc {
        Qdisc::Etf(Etf {
            delta: Span::from_micros(delta_us),
            clock: ClockId::Tai,
            offload,
            deadline_mode: false,
            skip_sock_check: false,
        })
    }

    /// A plan with one NIC that requests `etf` as in the ETF study.
    fn plan() -> Plan {
        let etf =
            PlannedQdisc { parent: ROOT_HANDLE.class(1), handle: None, settings: etf(150, true) };
        Plan {
            hosts: vec!["talker".into()],
            ports: vec![PlannedPort {
                host: "talker".into(),
                wire: "line".into(),
                ifname: "enp3s0".into(),
                attachment: Attachment::Interface,
                mac: None,
                bridged: false,
                ipv4: Some([10, 1, 0, 1].into()),
                ipv6: None,
                queues: Some(4),
                qdiscs: vec![etf],
                settings: vec![Setting::Speed { mbps: 1_000 }],
                processing: Vec::new(),
            }],
            steps: Vec::new(),
            traced: false,
            traces: Vec::new(),
        }
    }

    fn observed(settings: Qdisc, parent: Handle, combined: u32) -> Observed {
        Observed {
            system: BTreeMap::new(),
            ports: vec![ObservedPort {
                host: "talker".into(),
                wire: "line".into(),
                ifname: "enp3s0".into(),
                driver: None,
                mac: None,
                mtu: 1_500,
                state: "UP".into(),
                carrier: true,
                bridge: None,
                forward: None,
                speed_mbps: Some(1_000),
                channels: Some(Channels { rx: 0, tx: 0, combined }),
                tx_queues: 8,
                addresses: vec!["10.1.0.1/24".into()],
                qdiscs: vec![ObservedQdisc {
                    handle: Handle(0x8001_0000),
                    parent,
                    settings,
                    counters: Counters::default(),
                }],
                stamps: None,
                settings: [("speed (Mbit/s)".to_owned(), "1000".to_owned())].into(),
                counters: BTreeMap::new(),
                tx_packets: 0,
                rx_packets: 0,
                rx_missed: 0,
                rx_crc_errors: 0,
            }],
        }
    }

    #[test]
    fn what_is_as_planned_is_no_difference() {
        let same = observed(etf(150, true), ROOT_HANDLE.class(1), 4);
        assert_eq!(same.differences(&plan()), Vec::<String>::new());
    }

    #[test]
    fn other_settings_of_the_same_qdisc_are_named_one_by_one() {
        let other = observed(etf(200, false), ROOT_HANDLE.class(1), 2);
        assert_eq!(
            other.differences(&plan()),
            [
                "talker.line: transmit queues: 2, configured: 4",
                "talker.line at 100:1: etf delta: 200 µs, configured: 150 µs",
                "talker.line at 100:1: etf offload: off, configured: on",
            ]
        );
    }

    #[test]
    fn a_missing_qdisc_and_a_missing_port_are_differences() {
        let elsewhere = observed(Qdisc::Mq, Handle::ROOT, 4);
        assert_eq!(
            elsewhere.differences(&plan()),
            ["talker.line: no qdisc at 100:1, configured: etf"]
        );
        assert_eq!(
            Observed::default().differences(&plan()),
            ["talker.line: the port is not there"]
        );
    }

    #[test]
    fn a_driver_with_another_setting_is_a_difference() {
        let mut slow = observed(etf(150, true), ROOT_HANDLE.class(1), 4);
        slow.ports[0].settings.insert("speed (Mbit/s)".to_owned(), "100".to_owned());
        assert_eq!(
            slow.differences(&plan()),
            ["talker.line: speed (Mbit/s): 100, configured: 1000"]
        );
    }

    #[test]
    fn counters_from_before_are_taken_off() {
        let count = |n| {
            let mut seen = observed(Qdisc::Mq, Handle::ROOT, 4);
            seen.ports[0].counters.insert("tx_late".to_owned(), n);
            seen.ports[0].rx_missed = 2 * n;
            seen
        };
        let mut after = count(7);
        after.count_since(&count(4));
        assert_eq!(after.ports[0].counters["tx_late"], 3);
        assert_eq!(after.ports[0].rx_missed, 6);
    }

    #[test]
    fn an_observation_is_read_back_from_json_as_it_was() {
        let before = observed(etf(150, true), ROOT_HANDLE.class(1), 4);
        let json = serde_json::to_string(&before).unwrap();
        assert!(json.contains(r#""parent":"100:1","settings":{"kind":"etf""#), "{json}");
        assert_eq!(serde_json::from_str::<Observed>(&json).unwrap(), before);
    }
}
