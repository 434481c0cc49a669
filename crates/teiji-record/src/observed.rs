//! What the kernel answered about the machine while a case ran there: part of the manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use teiji::load::LoadReport;
use teiji::turns::Turns;
use teiji_core::activity::Activity;
use teiji_core::cpu_time::CpuTime;
use teiji_net::{Machine, Observed};

use crate::summary::ClockSummary;

/// A machine and its network during one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedCase {
    /// The machine.
    pub machine: Machine,
    /// All machines by name, where its hosts are on several; the first is [`Self::machine`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, Machine>,
    /// Its ports, and what of the kernel the case changes.
    pub network: Observed,
    /// Round trips between the first host's CPU and each other's, where the hosts
    /// of the laboratory have CPUs of their own.
    #[serde(default)]
    pub turns: Vec<Turns>,
    /// What the loads did.
    #[serde(default)]
    pub loads: Vec<LoadReport>,
    /// How each clock followed, where clocks were synchronised.
    #[serde(default)]
    pub sync: Vec<ClockSummary>,
    /// What the kernel's packet processing did meanwhile.
    #[serde(default)]
    pub activity: Activity,
    /// Each CPU's time while frames were sent.
    #[serde(default)]
    pub cpu_time: BTreeMap<u16, CpuTime>,
    /// What a reader must know of how it was measured: sentences without the case's name.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What was observed during each member, by case and seed.
///
/// In JSON the keys are `CASE-sSEED`. Reading leaves out what an older version wrote in a form
/// that this one does not understand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedCases(BTreeMap<(String, u64), ObservedCase>);

impl ObservedCases {
    /// Adds what was observed during the member of `case` with `seed`.
    pub fn insert(&mut self, case: &str, seed: u64, observed: ObservedCase) {
        self.0.insert((case.to_owned(), seed), observed);
    }

    /// What was observed during the member of `case` with `seed`; `None` if that is not known.
    pub fn get(&self, case: &str, seed: u64) -> Option<&ObservedCase> {
        self.0.get(&(case.to_owned(), seed))
    }

    /// All of them with their cases and seeds, in the order of both.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64, &ObservedCase)> {
        self.0.iter().map(|((case, seed), observed)| (case.as_str(), *seed, observed))
    }
}

impl Serialize for ObservedCases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.iter().map(|(case, seed, seen)| (format!("{case}-s{seed}"), seen)))
    }
}

impl<'de> Deserialize<'de> for ObservedCases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let known = |(key, value): (String, serde_json::Value)| {
            let (case, seed) = key.rsplit_once("-s")?;
            let observed = serde_json::from_value(value).ok()?;
            Some(((case.to_owned(), seed.parse().ok()?), observed))
        };
        Ok(Self(all.into_iter().filter_map(known).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_and_read_and_unknown_ones_are_skipped() {
        let seen = ObservedCase {
            machine: teiji_net::machine::observe(),
            machines: BTreeMap::new(),
            network: Observed::default(),
            turns: Vec::new(),
            loads: Vec::new(),
            sync: Vec::new(),
            activity: Activity::default(),
            cpu_time: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let mut all = ObservedCases::default();
        // A case's name may look like a key.
        all.insert("a-s1", 12, seen);
        let mut json = serde_json::to_value(&all).unwrap();
        assert!(json.get("a-s1-s12").is_some(), "{json}");
        json["b-s1"] = serde_json::json!({ "machine": "of another version" });
        let read: ObservedCases = serde_json::from_value(json).unwrap();
        assert_eq!(read, all);
    }
}
