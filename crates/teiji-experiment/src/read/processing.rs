//! How a port is polled.

use crate::fields::Fields;
use crate::keys::processing::NapiDraft;
use crate::log::Log;
use crate::scenario::Napi;

/// The keys of `napi`, and what they say together: a priority or CPUs are a thread's.
pub(crate) fn napi(fields: &Fields<'_>, log: &Log) -> Option<Napi> {
    let napi = NapiDraft::read(fields).finish()?;
    let scheduled = napi.policy.is_some() || napi.cpus.is_some();
    if napi.threaded == Some(false) && scheduled {
        log.mistake(
            fields.place("threaded"),
            "threaded = false leaves no thread that could have a priority or CPUs",
            "Write threaded = true, or leave the others out.",
        );
        return None;
    }
    Some(Napi { threaded: napi.threaded.or(scheduled.then_some(true)), ..napi })
}
