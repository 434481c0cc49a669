//! What bridges make of wires: networks, and the ways through them.

use crate::draft::{HostDraft, WireDraft};

/// The wires of a case with what is known of the bridges between them.
pub(crate) struct Networks<'a> {
    wires: &'a [WireDraft],
    hosts: &'a [HostDraft],
}

impl<'a> Networks<'a> {
    pub const fn new(wires: &'a [WireDraft], hosts: &'a [HostDraft]) -> Self {
        Self { wires, hosts }
    }

    pub const fn wires(&self) -> &'a [WireDraft] {
        self.wires
    }

    /// All wires and bridges could be read: what is not there now is missing.
    pub fn is_complete(&self) -> bool {
        !self.wires.is_empty()
            && self.wires.iter().all(|wire| wire.between.is_some())
            && self.hosts.iter().all(|host| host.bridge.is_some())
    }

    pub fn is_bridge(&self, host: &str) -> bool {
        self.hosts.iter().any(|draft| draft.name == host && draft.is_bridge())
    }

    /// The hosts that are no bridges.
    pub fn ends(&self) -> Vec<&'a str> {
        let ends = self.hosts.iter().filter(|host| !host.is_bridge());
        ends.map(|host| host.name.as_str()).collect()
    }

    /// For each wire the number of its network, which is that of its first wire, from 1.
    pub fn numbers(&self) -> Vec<u8> {
        let mut numbers: Vec<u8> = (1..=u8::MAX).take(self.wires.len()).collect();
        for bridge in self.hosts.iter().filter(|host| host.is_bridge()) {
            let joins = |wire: &WireDraft| {
                wire.between.as_ref().is_some_and(|ends| ends.contains(&bridge.name))
            };
            let joined: Vec<u8> = numbers
                .iter()
                .zip(self.wires)
                .filter(|(_, wire)| joins(wire))
                .map(|(number, _)| *number)
                .collect();
            if let Some(&first) = joined.iter().min() {
                for number in numbers.iter_mut().filter(|number| joined.contains(number)) {
                    *number = first;
                }
            }
        }
        numbers
    }

    /// The ways between two hosts, each by the names of its wires: one at most for each
    /// wire of the first host.
    pub fn ways(&self, from: &str, to: &str) -> Vec<Vec<String>> {
        self.wires_of(from).filter_map(|(wire, end)| self.way(wire, end, to, &mut vec![])).collect()
    }

    /// The way that begins with `wire`, whose far end is `end`.
    fn way(
        &self,
        wire: &'a str,
        end: &'a str,
        to: &str,
        passed: &mut Vec<&'a str>,
    ) -> Option<Vec<String>> {
        if end == to {
            return Some(vec![wire.to_owned()]);
        }
        if !self.is_bridge(end) || passed.contains(&end) {
            return None;
        }
        passed.push(end);
        let onward = self.wires_of(end).filter(|(next, _)| *next != wire);
        let rest = { onward }.find_map(|(next, far)| self.way(next, far, to, passed))?;
        Some([vec![wire.to_owned()], rest].concat())
    }

    /// The wires that a host is on, and who is at their other ends.
    pub fn wires_of(&self, host: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.wires.iter().filter_map(move |wire| {
            let [a, b] = wire.between.as_ref()?;
            let far = if a == host {
                b
            } else if b == host {
                a
            } else {
                return None;
            };
            Some((wire.name.as_str(), far.as_str()))
        })
    }
}
