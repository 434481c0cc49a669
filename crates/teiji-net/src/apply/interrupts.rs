//! The interrupts of a plan's ports.

use teiji_sys::netns;

use super::Applied;
use crate::error::NetError;
use crate::interrupts;

impl Applied {
    /// The interrupts of the port of `host` on `wire`; none if it has none, or is not there.
    ///
    /// # Errors
    /// [`NetError::Namespace`] if the host's namespace cannot be entered.
    pub fn interrupts(&self, host: &str, wire: &str) -> Result<Vec<u32>, NetError> {
        let (Some(port), Some(namespace)) = (self.port(host, wire), self.namespace(host)) else {
            return Ok(Vec::new());
        };
        let found = netns::in_namespace(namespace, || interrupts::of(&port.ifname))?;
        Ok(found.unwrap_or_default())
    }
}
