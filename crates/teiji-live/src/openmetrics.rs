//! A sample in the text format of `OpenMetrics`, for Prometheus: some series for each interface, qdisc,
//! used level and flow, and one for each reason of drops. docs/top.md lists them.

use std::collections::BTreeSet;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use teiji_doctor::facts::Ptp4l;
use teiji_net::ObservedQdisc;
use teiji_net::traffic::{Packets, Traffic};

use crate::sample::{Flow, Interface, Level, Sample};

/// What the text is, as HTTP names it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The sample as text, to its `# EOF`.
pub fn encode(sample: &Sample) -> String {
    let mut registry = Registry::with_prefix("teiji");
    registry.register_collector(Box::new(Collected(metrics(sample))));
    let mut encoded = String::new();
    // Writing to a string fails only if a metric's name is wrong, which the tests would show.
    let _ = text::encode(&mut encoded, &registry);
    encoded
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

/// Values of a metric.
type Series = Vec<(Labels, f64)>;

/// A metric with its series.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    kind: Kind,
    series: Series,
}

impl Metric {
    /// Labels that are there already are left out: a series has one value. (Flows of one name may
    /// come from several stations.)
    fn counter(name: &'static str, help: &'static str, mut series: Series) -> Self {
        let mut there = BTreeSet::new();
        series.retain(|(labels, _)| there.insert(labels.clone()));
        Self { name, help, unit: None, kind: Kind::Counter, series }
    }

    fn gauge(name: &'static str, help: &'static str, series: Series) -> Self {
        Self { kind: Kind::Gauge, ..Self::counter(name, help, series) }
    }

    /// Its unit becomes part of its name.
    fn unit(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
}

#[derive(Debug)]
struct Collected(Vec<Metric>);

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for Metric { name, help, unit, kind, series } in &self.0 {
            if series.is_empty() {
                continue;
            }
            let of = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), of)?;
            for (labels, value) in series {
                let one = family.encode_family(labels)?;
                match kind {
                    Kind::Counter => ConstCounter::new(*value).encode(one)?,
                    Kind::Gauge => ConstGauge::new(*value).encode(one)?,
                }
            }
        }
        Ok(())
    }
}

fn metrics(sample: &Sample) -> Vec<Metric> {
    let each = Each(sample);
    [of_interfaces(&each), of_qdiscs(&each), of_levels(&each), of_flows(&each), of_machine(sample)]
        .into_iter()
        .flatten()
        .collect()
}

fn of_interfaces(each: &Each<'_>) -> Vec<Metric> {
    vec![
        Metric::gauge(
            "interface_carrier",
            "1 if the other end of the wire answers, 0 if not or if the interface is missing",
            each.interface(|i| Some(flag(i.traffic.as_ref().is_some_and(|t| t.carrier)))),
        ),
        Metric::counter(
            "interface_packets",
            "Packets of an interface",
            each.direction(|p| p.packets),
        ),
        Metric::counter("interface", "Bytes of these packets", each.direction(|p| p.bytes))
            .unit(Unit::Bytes),
        Metric::counter(
            "interface_dropped",
            "Packets that the device or its driver dropped",
            each.direction(|p| p.dropped),
        ),
        Metric::counter(
            "interface_missed",
            "Frames that found no room in the receive ring, or in the NIC before it",
            each.interface(|i| Some(count(i.traffic.as_ref()?.rx_missed))),
        ),
        Metric::gauge(
            "phc_offset",
            "PHC of an interface - CLOCK_TAI",
            each.interface(|i| Some(i.phc?.ahead.as_secs_f64())),
        )
        .unit(Unit::Seconds),
    ]
}

fn of_qdiscs(each: &Each<'_>) -> Vec<Metric> {
    vec![
        Metric::counter(
            "qdisc_packets",
            "Packets that a qdisc handed on",
            each.qdisc(|q| count(q.counters.packets)),
        ),
        Metric::counter(
            "qdisc_dropped",
            "Packets that a qdisc dropped; a root with classes counts theirs, too",
            each.qdisc(|q| q.counters.drops.into()),
        ),
        Metric::counter(
            "qdisc_overlimits",
            "How often a packet had to wait or, in etf, was late",
            each.qdisc(|q| q.counters.overlimits.into()),
        ),
        Metric::gauge(
            "qdisc_waiting",
            "Packets that wait in a qdisc now",
            each.qdisc(|q| q.counters.waiting.into()),
        ),
    ]
}

fn of_levels(each: &Each<'_>) -> Vec<Metric> {
    vec![
        Metric::counter(
            "level_packets",
            "Packets of a level of flow control",
            each.level(|l| count(l.sent)),
        ),
        Metric::counter(
            "level_dropped",
            "Packets of a level that were dropped",
            each.level(|l| count(l.dropped)),
        ),
        Metric::gauge(
            "level_waiting",
            "Packets of a level that wait now",
            each.level(|l| l.waiting.into()),
        ),
        Metric::counter(
            "level_paused",
            "How long a level was paused",
            each.level(|l| count(l.paused_ns) / 1e9),
        )
        .unit(Unit::Seconds),
        Metric::gauge(
            "peer_alarm",
            "1 if the peer does not obey pause requests",
            each.interface(|i| Some(flag(i.flow_control.as_ref()?.peer.is_alarm()))),
        ),
    ]
}

fn of_flows(each: &Each<'_>) -> Vec<Metric> {
    vec![
        Metric::counter("flow_frames", "Frames of a flow", each.flow(|f| Some(count(f.frames_total)))),
        Metric::counter(
            "flow_lost",
            "Frames of a flow that were passed over",
            each.flow(|f| Some(count(f.lost_total))),
        ),
        Metric::gauge(
            "flow_interval_range",
            "By how much the distance of successive frames varied in the last interval",
            each.flow(|f| f.now.range_ns.map(in_seconds)),
        )
        .unit(Unit::Seconds),
        Metric::gauge(
            "flow_latency_max",
            "Longest time from schedule to arrival in the last interval; contains the offset of the \
             two clocks",
            each.flow(|f| f.now.latency_ns.map(|[_, most]| in_seconds(most))),
        )
        .unit(Unit::Seconds),
        Metric::gauge(
            "flow_margin_left_min",
            "Shortest time from the driver's call to the schedule in the last interval; below 0 a \
             frame was late",
            each.flow(|f| f.now.left_ns.map(|[least, _]| in_seconds(least))),
        )
        .unit(Unit::Seconds),
        Metric::counter(
            "flow_unseen",
            "Frames that should have been looked at, and were not",
            each.interface(|i| Some(count(i.unseen))),
        ),
    ]
}

fn of_machine(sample: &Sample) -> Vec<Metric> {
    let ptp = |value: fn(&Ptp4l) -> f64| {
        sample.ptp4l.iter().map(|ptp| (Labels::new(), value(ptp))).collect()
    };
    let drops = sample.drops.iter().flatten();
    vec![
        Metric::gauge(
            "ptp_has_time",
            "1 if ptp4l follows a master or is the grandmaster",
            ptp(|ptp| flag(ptp.has_time)),
        ),
        Metric::gauge(
            "ptp_offset",
            "Offset of ptp4l from its master",
            ptp(|ptp| ptp.offset.as_secs_f64()),
        )
        .unit(Unit::Seconds),
        Metric::counter(
            "dropped_packets",
            "Packets that the kernel dropped on the whole machine, by its reason",
            drops.map(|(why, packets)| (vec![("reason", why.clone())], count(*packets))).collect(),
        ),
    ]
}

/// The things of a sample that have series.
struct Each<'a>(&'a Sample);

impl Each<'_> {
    fn interface(&self, value: impl Fn(&Interface) -> Option<f64>) -> Series {
        self.0.interfaces.iter().filter_map(|i| Some((interface(i), value(i)?))).collect()
    }

    fn of_traffic(&self, each: impl Fn(&Interface, &Traffic) -> Series) -> Series {
        let all = self.0.interfaces.iter().filter_map(|i| Some(each(i, i.traffic.as_ref()?)));
        all.flatten().collect()
    }

    fn direction(&self, value: impl Fn(&Packets) -> u64) -> Series {
        self.of_traffic(|i, traffic| {
            let both = [("received", &traffic.received), ("sent", &traffic.sent)];
            both.map(|(name, packets)| {
                let labels = [interface(i), vec![("direction", name.to_owned())]].concat();
                (labels, count(value(packets)))
            })
            .into()
        })
    }

    fn qdisc(&self, value: impl Fn(&ObservedQdisc) -> f64) -> Series {
        self.of_traffic(|i, traffic| {
            let labels = |q: &ObservedQdisc| {
                let kind = q.settings.kind().to_owned();
                [interface(i), vec![("parent", q.parent.to_string()), ("kind", kind)]].concat()
            };
            traffic.qdiscs.iter().map(|q| (labels(q), value(q))).collect()
        })
    }

    fn level(&self, value: impl Fn(&Level) -> f64) -> Series {
        let of = |i: &Interface| -> Series {
            let Some(flow_control) = &i.flow_control else { return Vec::new() };
            let labels = |l: &Level| [interface(i), vec![("level", l.level.to_string())]].concat();
            flow_control.levels.iter().map(|l| (labels(l), value(l))).collect()
        };
        self.0.interfaces.iter().flat_map(of).collect()
    }

    fn flow(&self, value: impl Fn(&Flow) -> Option<f64>) -> Series {
        let of = |i: &Interface| -> Series {
            let labels = |f: &Flow| {
                let direction = if f.outgoing { "sent" } else { "received" };
                let more = vec![("direction", direction.to_owned()), ("flow", f.name.clone())];
                [interface(i), more].concat()
            };
            i.flows.iter().filter_map(|f| Some((labels(f), value(f)?))).collect()
        };
        self.0.interfaces.iter().flat_map(of).collect()
    }
}

fn interface(of: &Interface) -> Labels {
    vec![("interface", of.name.clone())]
}

fn flag(set: bool) -> f64 {
    f64::from(u8::from(set))
}

/// Exact up to 2⁵³.
fn count(number: u64) -> f64 {
    number as f64
}

fn in_seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::examples::sample;

    const DOCUMENTATION: &str = include_str!("../../../docs/top.md");
    const DASHBOARD: &str = include_str!("../../../docs/grafana.json");

    /// The words of a text that begin as metrics do.
    fn names(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("teiji_")).collect()
    }

    #[test]
    fn a_sample_is_encoded_with_units_and_labels() {
        let text = encode(&sample(3, 4));
        for line in [
            "# TYPE teiji_interface_bytes counter",
            "# UNIT teiji_interface_bytes bytes",
            "teiji_interface_bytes_total{interface=\"eth0\",direction=\"sent\"} 300000.0",
            "teiji_interface_carrier{interface=\"eth1\"} 0.0",
            "teiji_qdisc_dropped_total{interface=\"eth0\",parent=\"100:1\",kind=\"etf\"} 4.0",
            "teiji_level_paused_seconds_total{interface=\"eth0\",level=\"3\"} 1.5",
            "teiji_ptp_offset_seconds 4e-8",
            "teiji_dropped_packets_total{reason=\"QDISC_DROP\"} 4.0",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        let least = "teiji_flow_margin_left_min_seconds{interface=\"eth0\",direction=\"sent\",\
                     flow=\"test flow 0\"} 0.000142345";
        assert!(text.contains(least), "{text}");
    }

    #[test]
    fn the_documentation_has_every_metric_and_no_others() {
        let text = encode(&sample(3, 4));
        let series = text.lines().filter(|line| !line.starts_with('#'));
        let served: BTreeSet<&str> =
            series.filter_map(|line| line.split(['{', ' ']).next()).collect();
        assert_eq!(names(DOCUMENTATION), served);
        let unknown: Vec<_> = names(DASHBOARD).difference(&served).copied().collect();
        assert!(unknown.is_empty(), "the dashboard asks for {unknown:?}");
        assert!(names(DASHBOARD).len() >= 10);
    }

    #[test]
    fn a_series_is_there_once() {
        let mut twice = sample(1, 0);
        twice.interfaces.push(twice.interfaces[0].clone());
        let text = encode(&twice);
        let series: Vec<&str> =
            text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(s, _)| s).collect();
        assert_eq!(series.iter().collect::<BTreeSet<_>>().len(), series.len(), "{text}");
    }

    #[test]
    fn nothing_known_is_still_a_whole_text() {
        let mut nothing = sample(1, 0);
        nothing.interfaces.clear();
        (nothing.ptp4l, nothing.drops) = (None, None);
        assert_eq!(encode(&nothing), "# EOF\n");
    }
}
