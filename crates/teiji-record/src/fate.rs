//! How a frame's fate is written in the records.

use teiji::Fate;
use teiji_core::errno;

/// `missed`, `invalid`, or `send-failed:` with the name (or number) of errno.
pub(crate) fn emit(fate: Fate) -> String {
    match fate {
        Fate::Missed => "missed".to_owned(),
        Fate::Invalid => "invalid".to_owned(),
        Fate::SendFailed(errno) => format!("send-failed:{}", errno::name(errno)),
    }
}

/// The fate written as `text`; `None` if it is none.
pub(crate) fn parse(text: &str) -> Option<Fate> {
    match text {
        "missed" => Some(Fate::Missed),
        "invalid" => Some(Fate::Invalid),
        _ => errno::parse(text.strip_prefix("send-failed:")?).map(Fate::SendFailed),
    }
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
