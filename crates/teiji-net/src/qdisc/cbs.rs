//! `cbs`: the credit-based shaper.

use teiji_experiment::scenario::Cbs;

use super::{Kind, NotOffloaded, OPTIONS};
use crate::message::{Request, attribute, i32_at};

/// `TCA_CBS_PARMS`
const PARMS: u16 = 1;

impl Kind for Cbs {
    fn words(&self) -> String {
        format!(
            " idleslope {} sendslope {} hicredit {} locredit {} offload {}",
            self.idleslope_kbps,
            self.sendslope_kbps,
            self.hicredit_bytes,
            self.locredit_bytes,
            u8::from(self.offload)
        )
    }

    /// `struct tc_cbs_qopt { u8 offload; u8 pad[3]; s32 hicredit, locredit, idleslope,
    /// sendslope; }`, credits in bytes, slopes in kbit/s.
    fn encode(&self, request: Request) -> Request {
        let mut qopt = vec![u8::from(self.offload), 0, 0, 0];
        let numbers =
            [self.hicredit_bytes, self.locredit_bytes, self.idleslope_kbps, self.sendslope_kbps];
        qopt.extend(numbers.into_iter().flat_map(i32::to_ne_bytes));
        request.nested(OPTIONS, |options| options.attribute(PARMS, &qopt))
    }

    fn module(&self) -> Option<&'static str> {
        Some("sch_cbs")
    }

    fn not_offloaded(&self) -> Option<NotOffloaded> {
        Some(NotOffloaded {
            lack: "does not count CBS credit: `cbs offload 1`",
            instead: "`offload = false` (the kernel counts it),\n  or a NIC that does (i210, i225/i226, stmmac, …).",
        })
    }
}

pub(super) fn decode(options: &[u8]) -> Option<Cbs> {
    let qopt = attribute(options, PARMS)?;
    Some(Cbs {
        offload: *qopt.first()? != 0,
        hicredit_bytes: i32_at(qopt, 4)?,
        locredit_bytes: i32_at(qopt, 8)?,
        idleslope_kbps: i32_at(qopt, 12)?,
        sendslope_kbps: i32_at(qopt, 16)?,
    })
}
