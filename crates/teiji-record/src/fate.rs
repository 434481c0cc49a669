//! How a frame's fate is written in the records.

use teiji::Fate;

/// Linux's names of the errors a send call plausibly fails with
/// (`include/uapi/asm-generic/errno*.h`; the same on x86, Arm and RISC-V).
/// Others are written as their number.
const ERRNO_NAMES: [(i32, &str); 20] = [
    (1, "EPERM"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (32, "EPIPE"),
    (90, "EMSGSIZE"),
    (95, "EOPNOTSUPP"),
    (99, "EADDRNOTAVAIL"),
    (100, "ENETDOWN"),
    (101, "ENETUNREACH"),
    (105, "ENOBUFS"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (113, "EHOSTUNREACH"),
];

/// `missed`, `invalid`, or `send-failed:` with the name (or number) of errno.
pub(crate) fn emit(fate: Fate) -> String {
    match fate {
        Fate::Missed => "missed".to_owned(),
        Fate::Invalid => "invalid".to_owned(),
        Fate::SendFailed(errno) => format!("send-failed:{}", errno_name(errno)),
    }
}

/// Linux's name of an error, or its number.
pub(crate) fn errno_name(errno: i32) -> String {
    let known = ERRNO_NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| errno.to_string(), |(_, name)| (*name).to_owned())
}

/// The fate written as `text`; `None` if it is none.
pub(crate) fn parse(text: &str) -> Option<Fate> {
    match text {
        "missed" => Some(Fate::Missed),
        "invalid" => Some(Fate::Invalid),
        _ => errno(text.strip_prefix("send-failed:")?).map(Fate::SendFailed),
    }
}

/// The error that [`errno_name`] wrote.
pub(crate) fn errno(name: &str) -> Option<i32> {
    let named = ERRNO_NAMES.iter().find(|(_, known)| *known == name).map(|(n, _)| *n);
    named.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_are_written_for_people_and_read_back() {
        assert_eq!(emit(Fate::SendFailed(105)), "send-failed:ENOBUFS");
        assert_eq!(emit(Fate::SendFailed(9999)), "send-failed:9999");
        for fate in (0..200).map(Fate::SendFailed).chain([Fate::Missed, Fate::Invalid]) {
            assert_eq!(parse(&emit(fate)), Some(fate));
        }
        assert_eq!(parse("lost"), None);
    }
}
