//! Instructions shorter than the resolution of QEMU's clock: which NICs keep up.

use super::Places;
use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::nic_source::NicSource;
use crate::scenario::{InstructionTime, Nic};
use crate::tree::Table;

/// The NICs that QEMU emulates run by its clock, and so does its capture of what they send;
/// the guest's is slower where an instruction takes less than 1 ns.
pub(crate) fn check(
    instruction: Option<InstructionTime>,
    draft: &ScenarioDraft,
    tree: &Table,
    nics: NicSource,
    log: &Log,
) {
    let Some(time) = instruction.filter(|time| time.slowdown() > 1) else { return };
    let emulated = |nic: &Nic| *nic != Nic::Vtsn;
    let wire = draft.wires.iter().find(|wire| wire.nic.as_ref().is_some_and(emulated));
    let (Some(wire), NicSource::Emulated) = (wire, nics) else { return };
    log.mistake(
        Places { tree }.at(&["instruction"]),
        format!(
            "instruction = {time}, but the NICs of wire `{}` are emulated by QEMU, whose clock \
             resolution is 1 ns",
            wire.name
        ),
        format!("Write wires.{}.nic = \"vtsn\", or an instruction of 1 ns or more.", wire.name),
    );
}
