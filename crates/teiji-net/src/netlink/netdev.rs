//! NAPI instances by generic netlink, family `netdev` (kernel 6.8 and later). Numbers from
//! `include/uapi/linux/netdev.h`.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

use super::generic::{Family, field};
use super::{KernelError, Netlink};
use crate::message::{u32_at, uint};

const FAMILY: &str = "netdev";
const NAPI_GET: u8 = 11;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_IRQ: u16 = 3;
const NAPI_PID: u16 = 4;
const NAPI_DEFER_HARD_IRQS: u16 = 5;
const NAPI_GRO_FLUSH_TIMEOUT: u16 = 6;
const NAPI_IRQ_SUSPEND_TIMEOUT: u16 = 7;

/// One NAPI instance: what polls a queue or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Napi {
    /// Its number.
    pub id: u32,
    /// Its interrupt, if the driver says.
    pub irq: Option<u32>,
    /// The thread that polls, if one does.
    pub thread: Option<u32>,
    /// How many empty polls the interrupt is deferred by; `None` before 6.13.
    pub defer_hard_irqs: Option<u32>,
    /// How long each of them waits.
    pub gro_flush_timeout: Option<Span>,
    /// How long the interrupt stays off while a program polls; `None` before 6.13.
    pub irq_suspend_timeout: Option<Span>,
}

/// Those of the link with this index; empty if the driver names none.
pub(crate) fn napis(index: u32) -> Result<Vec<Napi>, KernelError> {
    let mut netlink = Netlink::open_generic()?;
    let family = Family::find(&mut netlink, FAMILY)?;
    let request = family.request(NAPI_GET).u32(NAPI_IFINDEX, index);
    netlink.dump(&request, parse)
}

fn parse(payload: &[u8]) -> Option<Napi> {
    let number = |kind| u32_at(field(payload, kind)?, 0);
    let span = |kind| Some(Span::from_ns(i64::try_from(uint(field(payload, kind)?)?).ok()?));
    Some(Napi {
        id: number(NAPI_ID)?,
        irq: number(NAPI_IRQ),
        thread: number(NAPI_PID),
        defer_hard_irqs: number(NAPI_DEFER_HARD_IRQS),
        gro_flush_timeout: span(NAPI_GRO_FLUSH_TIMEOUT),
        irq_suspend_timeout: span(NAPI_IRQ_SUSPEND_TIMEOUT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Request, messages};

    #[test]
    fn an_instance_is_read_with_numbers_of_either_size() {
        let request = Request::new(30, 0, &[NAPI_GET, 1, 0, 0])
            .u32(NAPI_IFINDEX, 2)
            .u32(NAPI_ID, 513)
            .u32(NAPI_PID, 77)
            .u32(NAPI_DEFER_HARD_IRQS, 10)
            .u32(NAPI_GRO_FLUSH_TIMEOUT, 20_000)
            .attribute(NAPI_IRQ_SUSPEND_TIMEOUT, &5_000_000_000_u64.to_ne_bytes());
        let bytes = request.finish(1, 0);
        let napi = parse(messages(&bytes).next().unwrap().payload).unwrap();
        assert_eq!((napi.id, napi.irq, napi.thread), (513, None, Some(77)));
        assert_eq!(napi.defer_hard_irqs, Some(10));
        assert_eq!(napi.gro_flush_timeout, Some(Span::from_micros(20)));
        assert_eq!(napi.irq_suspend_timeout, Some(Span::from_secs(5)));
    }

    #[test]
    fn loopback_is_polled_by_no_instance() {
        match napis(1) {
            Ok(napis) => assert_eq!(napis, []),
            // Kernels before 6.8.
            Err(error) => assert_eq!(error.errno, 2, "{error}"),
        }
    }
}
