//! Messages between the machines of a measurement, over the standard streams of a program: each is
//! a length in four octets, little-endian, and postcard. Both ends are of the same sources.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teiji_core::time::{Instant, Span, Tai};
use teiji_net::PortAddress;

use crate::guest::Job;
use crate::measure::kernel_trace::Why;

/// No message is longer; a larger length is no message of this protocol.
const LONGEST: u32 = 1 << 30;
/// The longest time without an order while the connection lasts: [`Order::Alive`] fills it.
pub const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// After so long without an order a machine takes the connection for lost. A cable that is pulled ends no
/// stream: the machine would wait for hours.
pub const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// What is measured, of which each machine has a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Whole {
    /// The experiment.
    pub job: Job,
    /// The case.
    pub case: String,
    /// Its seed.
    pub seed: u64,
    /// Take interfaces that are in use.
    pub take: bool,
    /// Each machine traces its kernel meanwhile.
    pub why: Option<Why>,
}

/// A machine's part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartJob {
    /// What is measured.
    pub whole: Whole,
    /// The interfaces of this machine, `HOST.WIRE=INTERFACE,…`; all other hosts are elsewhere.
    pub bind: String,
}

/// To a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Measure this part.
    Measure(Box<PartJob>),
    /// These are the ports of all machines, and all are up.
    Ports(Vec<PortAddress>),
    /// What does your clock show?
    Clock,
    /// The case begins then, by your clock.
    Start(Instant<Tai>),
    /// The senders of all machines have ended.
    SendersEnded,
    /// A person wants to stop: end early.
    Stop,
    /// Another machine has failed: end without a result.
    Abandon,
    /// The connection lasts.
    Alive,
}

/// From a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Report {
    /// Its ports, which are up, and how far its `CLOCK_TAI` is ahead of its wall clock.
    Ports(Vec<PortAddress>, Span),
    /// All roles are open: the case could begin then, by its clock.
    Ready(Instant<Tai>),
    /// What its clock shows.
    Clock(Instant<Tai>),
    /// Its talkers and requesters have ended.
    SendersEnded,
    /// Its [`Outcome`](crate::measure::Outcome), as bytes. All settings are restored.
    Outcome(Vec<u8>),
    /// Why there is none. All settings are restored.
    Failed(String),
    /// The connection has ended: nothing more comes.
    Gone(String),
}

impl Report {
    /// The ports, and the lead of `CLOCK_TAI`, if it is those.
    pub fn ports(self) -> Option<(Vec<PortAddress>, Span)> {
        if let Self::Ports(ports, tai) = self { Some((ports, tai)) } else { None }
    }

    /// When it could begin, if it is that.
    pub fn ready(self) -> Option<Instant<Tai>> {
        if let Self::Ready(at) = self { Some(at) } else { None }
    }

    /// That its senders have ended, if it is that.
    pub fn senders_ended(self) -> Option<()> {
        matches!(self, Self::SendersEnded).then_some(())
    }

    /// The outcome, if it is that.
    pub fn outcome(self) -> Option<Vec<u8>> {
        if let Self::Outcome(bytes) = self { Some(bytes) } else { None }
    }
}

/// Writes one message.
///
/// # Errors
/// If it cannot be written.
pub fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// If it cannot be read, or is no message.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is no message of teiji"));
    }
    // As it comes: a length alone reserves nothing.
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_received_as_sent_until_the_stream_ends() {
        let mut stream = Vec::new();
        write(&mut stream, &Report::Failed("no NIC".to_owned())).unwrap();
        write(&mut stream, &Report::SendersEnded).unwrap();
        let mut from = stream.as_slice();
        let first: Report = read(&mut from).unwrap().unwrap();
        assert!(matches!(first, Report::Failed(message) if message == "no NIC"));
        assert!(read::<Report>(&mut from).unwrap().unwrap().senders_ended().is_some());
        assert!(read::<Report>(&mut from).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_or_cut_off_is_an_error() {
        let text = b"bash: teiji: command not found";
        assert!(read::<Report>(&mut text.as_slice()).is_err());
        let mut stream = Vec::new();
        write(&mut stream, &Report::Failed("no NIC".to_owned())).unwrap();
        stream.pop();
        assert!(read::<Report>(&mut stream.as_slice()).is_err());
    }
}
