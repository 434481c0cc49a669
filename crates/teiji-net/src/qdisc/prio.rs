//! `prio`: strict bands in software.

use teiji_experiment::scenario::Prio;

use super::{Kind, MAX_CLASSES, OPTIONS, QdiscError, joined};
use crate::message::{Request, u32_at};

impl Kind for Prio {
    fn words(&self) -> String {
        format!(" bands {} priomap {}", self.bands, joined(&self.map))
    }

    /// `struct tc_prio_qopt { int bands; u8 priomap[16]; }`
    fn encode(&self, request: Request) -> Request {
        let mut options = u32::from(self.bands).to_ne_bytes().to_vec();
        options.extend_from_slice(&self.map);
        request.attribute(OPTIONS, &options)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let known = (2..=MAX_CLASSES).contains(&self.bands.into());
        if known { Ok(()) } else { Err(QdiscError::Bands(self.bands)) }
    }

    fn module(&self) -> Option<&'static str> {
        Some("sch_prio")
    }
}

pub(super) fn decode(options: &[u8]) -> Option<Prio> {
    Some(Prio {
        bands: u8::try_from(u32_at(options, 0)?).ok()?,
        map: *options.get(4..20)?.first_chunk()?,
    })
}
