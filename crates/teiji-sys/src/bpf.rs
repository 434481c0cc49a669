//! Instructions of classic BPF, which filters of packets and of system calls are made of
//! (`Documentation/networking/filter.rst`).

/// Jumps go over `jt` instructions if the condition is true, else over `jf`.
#[expect(clippy::cast_possible_truncation, reason = "codes of instructions have 16 bits")]
pub(crate) fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Ends the program with this result.
pub(crate) fn give(result: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, result)
}
