//! How the kernel's error of a frame is written in the records.

use teiji::TxError;
use teiji_core::errno;

/// `missed`, `invalid`, or `send-failed:` with the name (or number) of errno.
pub(crate) fn emit(tx_error: TxError) -> String {
    match tx_error {
        TxError::Missed => "missed".to_owned(),
        TxError::Invalid => "invalid".to_owned(),
        TxError::SendFailed(errno) => format!("send-failed:{}", errno::name(errno)),
    }
}

/// The error written as `text`; `None` if it is none.
pub(crate) fn parse(text: &str) -> Option<TxError> {
    match text {
        "missed" => Some(TxError::Missed),
        "invalid" => Some(TxError::Invalid),
        _ => errno::parse(text.strip_prefix("send-failed:")?).map(TxError::SendFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_are_written_for_people_and_read_back() {
        assert_eq!(emit(TxError::SendFailed(105)), "send-failed:ENOBUFS");
        assert_eq!(emit(TxError::SendFailed(9999)), "send-failed:9999");
        for tx_error in (0..200).map(TxError::SendFailed).chain([TxError::Missed, TxError::Invalid])
        {
            assert_eq!(parse(&emit(tx_error)), Some(tx_error));
        }
        assert_eq!(parse("lost"), None);
    }
}
