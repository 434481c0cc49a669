//! Help of options whose range is that of their type.

use teiji_core::domain::{Dscp, RtPriority, SocketPriority};

/// A code point; `of` is whose, and what else is to know.
pub fn dscp(of: &str) -> String {
    format!("Differentiated services code point, {} to {}, {of}", Dscp::LEAST, Dscp::MOST)
}

/// What selects a queue; ` of` what is sent.
pub fn socket_priority(of: &str) -> String {
    let (least, most) = (SocketPriority::LEAST, SocketPriority::MOST);
    format!("SO_PRIORITY{of}, {least} to {most}, which qdiscs map to queues")
}

/// A thread's priority, and memory that is locked because of it.
pub fn realtime() -> String {
    format!("{}, with locked memory. Default: ordinary scheduling", priority(""))
}

/// The priority of a thread whose memory is not locked.
pub fn realtime_only() -> String {
    format!("{}. Default: ordinary scheduling", priority(""))
}

/// A thread's priority; ` of` which thread.
pub fn priority(of: &str) -> String {
    format!("SCHED_FIFO priority{of}, {} to {}", RtPriority::LEAST, RtPriority::MOST)
}
