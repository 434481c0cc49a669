//! Opting in the UDP sockets of a program when it opens them, and again when it changes their
//! buffers.
//!
//! The calling process becomes the program: it keeps its number, its parent and its signals. Before,
//! it starts a supervisor, which is nobody's child, and gives itself a seccomp filter: the kernel
//! hands `socket()` for UDP and `setsockopt()` for buffer sizes to the supervisor, which performs
//! them in the program's place. The filter holds for all programs that the program starts, whatever
//! language and library they use. The supervisor ends with the last of them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use teiji_core::errno::{EACCES, EBUSY, EINVAL, ENOENT, ENOSYS};
use teiji_sys::error::SysError;
use teiji_sys::netns;
use teiji_sys::pidfd::PidFd;
use teiji_sys::seccomp::{self, Call, Condition, Listener, Notification, Rule};
use teiji_sys::socket::{BufferOption, Kind, Socket};
use teiji_sys::{pass, process, wait};
use thiserror::Error;

use super::opt_in::OptIn;
use super::{EPERM, FlowError};
use caller::{Caller, Own};

mod caller;

/// The calls that the supervisor performs.
const RULES: [Rule<'static>; 2] = [
    Rule {
        call: Call::Socket,
        conditions: &[
            Condition { argument: 0, mask: u32::MAX, any_of: &Kind::UDP_DOMAINS },
            Condition { argument: 1, mask: Kind::TYPE_MASK, any_of: &[Kind::UDP_TYPE] },
            Condition { argument: 2, mask: u32::MAX, any_of: &Kind::UDP_PROTOCOLS },
        ],
    },
    Rule {
        call: Call::SetSocketOption,
        conditions: &[
            Condition { argument: 1, mask: u32::MAX, any_of: &[BufferOption::LEVEL] },
            Condition {
                argument: 2,
                mask: u32::MAX,
                any_of: &[
                    BufferOption::Send.number(),
                    BufferOption::Receive.number(),
                    BufferOption::SendForce.number(),
                    BufferOption::ReceiveForce.number(),
                ],
            },
        ],
    },
];

/// Why no supervisor could be started. Each text says what to do about it.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// The kernel hands no system calls over.
    #[error(
        "this kernel hands no system calls to a supervisor (seccomp user notification): it needs \
         Linux 5.14 and CONFIG_SECCOMP_FILTER; `teiji flow adopt` needs neither"
    )]
    NotInKernel,
    /// There is a supervisor already.
    #[error(
        "another supervisor handles system calls of this process, a container's or another \
         `teiji flow run`: start the program without it, or opt in its sockets with \
         `teiji flow adopt`"
    )]
    Supervised,
    /// The supervisor has ended at once.
    #[error("the supervisor of the program has ended at once: see the message before")]
    Ended,
    /// Something else.
    #[error("cannot start the supervisor of the program: {0}")]
    Sys(#[from] SysError),
}

/// Starts the supervisor of the calling process, which is to start a program next. `tell` is for
/// sentences about sockets that could not opt in: each is reported once.
///
/// Call it from a process with one thread. Programs of other users (set-user-ID) keep their
/// privileges only if this process has `CAP_SYS_ADMIN`.
///
/// # Errors
/// If the kernel cannot hand system calls to a supervisor, another one does, or it ends at once.
pub fn start(opt_in: &OptIn, report: impl Fn(&str)) -> Result<(), SuperviseError> {
    let (mut here, there) = UnixStream::pair().map_err(failed("socketpair"))?;
    let program = std::process::id();
    process::detach(OwnedFd::from(there), |there| {
        if let Err(error) = supervise(UnixStream::from(there), program, opt_in, &report) {
            report(&format!("the supervisor of process {program} fails: {error}"));
        }
    })?;
    let mut supervisor = [0; 4];
    here.read_exact(&mut supervisor).map_err(|_| SuperviseError::Ended)?;
    process::permit_tracing_by(u32::from_ne_bytes(supervisor));
    let listener = install()?;
    pass::send(&here, listener.as_fd())?;
    here.read_exact(&mut [0]).map_err(|_| SuperviseError::Ended)
}

fn failed(call: &'static str) -> impl Fn(std::io::Error) -> SysError {
    move |error| SysError::new(call, error)
}

fn install() -> Result<Listener, SuperviseError> {
    let install = || {
        // Linux before 5.19 does not know the flag.
        seccomp::install(&RULES, true).or_else(|error| match error.errno() {
            EINVAL => seccomp::install(&RULES, false),
            _ => Err(error),
        })
    };
    let listener = install().or_else(|error| match error.errno() {
        EACCES => seccomp::no_new_privileges().and_then(|()| install()),
        _ => Err(error),
    });
    listener.map_err(|error| match error.errno() {
        EINVAL | ENOSYS => SuperviseError::NotInKernel,
        EBUSY => SuperviseError::Supervised,
        _ => SuperviseError::Sys(error),
    })
}

/// The supervisor's process: until the last process with the filter has ended.
fn supervise(
    mut channel: UnixStream,
    program: u32,
    opt_in: &OptIn,
    report: &dyn Fn(&str),
) -> Result<(), SysError> {
    process::set_name(c"teiji-flow");
    channel.write_all(&std::process::id().to_ne_bytes()).map_err(failed("write"))?;
    let Some(listener) = pass::receive(&channel)? else { return Ok(()) };
    let mut supervisor = Supervisor {
        listener: Listener::from(listener),
        opt_in: *opt_in,
        own: Own::find()?,
        reported: BTreeSet::new(),
        report,
    };
    let mut program = PidFd::open(program).ok();
    channel.write_all(&[0]).map_err(failed("write"))?;
    drop(channel);
    loop {
        let [calls, ended] = if let Some(program) = &program {
            wait::for_any([supervisor.listener.as_fd(), program.as_fd()])?
        } else {
            let [calls] = wait::for_any([supervisor.listener.as_fd()])?;
            [calls, wait::Ready::default()]
        };
        if ended.readable {
            // Its children go on. Whoever reads standard error does not wait for them.
            process::silence_standard_error();
            program = None;
        }
        if calls.readable {
            supervisor.handle_next()?;
        } else if calls.hung_up {
            return Ok(());
        }
    }
}

struct Supervisor<'a> {
    listener: Listener,
    opt_in: OptIn,
    own: Own,
    reported: BTreeSet<String>,
    report: &'a dyn Fn(&str),
}

/// How a call ends.
enum Outcome {
    /// The kernel executes it.
    Proceed,
    /// It has this socket.
    Socket(Socket, Kind),
    /// It has succeeded.
    Done,
    /// It has failed with this error number.
    Failed(i32),
}

impl Supervisor<'_> {
    fn handle_next(&mut self) -> Result<(), SysError> {
        let Some(call) = self.listener.receive()? else { return Ok(()) };
        let outcome = self.perform(&call);
        let id = call.id;
        let ended = match outcome {
            Outcome::Proceed => self.listener.proceed(id),
            Outcome::Done => self.listener.complete(id, 0),
            Outcome::Failed(errno) => self.listener.fail(id, errno),
            Outcome::Socket(socket, kind) => {
                let closed = kind.close_on_exec();
                match self.listener.complete_with_copy(id, socket.as_fd(), closed) {
                    // Before Linux 5.14.
                    Err(error) if error.errno() == EINVAL => {
                        self.say("opening sockets for a program needs Linux 5.14".to_owned());
                        self.listener.proceed(id)
                    }
                    Err(error) if error.errno() != ENOENT => self.listener.fail(id, error.errno()),
                    other => other,
                }
            }
        };
        // The caller was interrupted, or has died.
        ended.or_else(|error| if error.errno() == ENOENT { Ok(()) } else { Err(error) })
    }

    /// Performs the call in the caller's place, if that is possible.
    fn perform(&mut self, call: &Notification) -> Outcome {
        let caller = match Caller::find(call.thread) {
            Ok(caller) => caller,
            Err(error) => {
                self.refuse("a program", &format!("its /proc/{}: {error}", call.thread));
                return Outcome::Proceed;
            }
        };
        match call.call {
            Some(Call::Socket) => self.open(call, &caller),
            Some(Call::SetSocketOption) => self.resize(call, &caller),
            None => Outcome::Proceed,
        }
    }

    fn open(&mut self, call: &Notification, caller: &Caller) -> Outcome {
        let kind = Kind {
            domain: int(call.arguments[0]),
            kind: int(call.arguments[1]),
            protocol: int(call.arguments[2]),
        };
        let opt_in = self.opt_in;
        let open = move || {
            let socket = Socket::of_kind(kind)?;
            let result = opt_in.apply_to(&socket, false);
            Ok::<_, SysError>((socket, result))
        };
        let opened = if caller.is_in_namespace_of(&self.own) {
            open()
        } else {
            let namespace = caller.network_namespace();
            if !self.listener.is_waiting(call.id) {
                return Outcome::Proceed;
            }
            match namespace.and_then(|namespace| netns::in_namespace(namespace.as_fd(), open)) {
                Ok(opened) => opened,
                Err(error) => {
                    self.refuse(&caller.name(), &error.to_string());
                    return Outcome::Proceed;
                }
            }
        };
        match opened {
            Ok((socket, result)) => {
                if let Err(error) = result {
                    self.refuse_for(caller, &error);
                }
                // The kernel takes a socket's owner for firewalls and SO_REUSEPORT.
                if let Err(error) = caller.own(&socket, &self.own) {
                    self.refuse(&caller.name(), &format!("it cannot own the socket: {error}"));
                    return Outcome::Proceed;
                }
                Outcome::Socket(socket, kind)
            }
            Err(error) => Outcome::Failed(error.errno()),
        }
    }

    fn resize(&mut self, call: &Notification, caller: &Caller) -> Outcome {
        let [descriptor, _, option, pointer, length, _] = call.arguments;
        let options = BufferOption::ALL.into_iter();
        let option = options.into_iter().find(|o| u64::from(o.number()) == option & 0xFFFF_FFFF);
        let Some(option) = option.filter(|_| int(length) >= 4) else { return Outcome::Proceed };
        let socket = match caller.descriptor(int(descriptor)) {
            Ok(socket) => Socket::from_udp(socket),
            Err(error) if error.errno() == EPERM => {
                let hint = "a buffer that it changes is not seen: run teiji as root, or set the \
                            sysctl kernel.yama.ptrace_scope to 0";
                self.refuse(&caller.name(), hint);
                None
            }
            Err(_) => None,
        };
        let Some(socket) = socket else { return Outcome::Proceed };
        let Ok(value) = caller.read_int(pointer) else { return Outcome::Proceed };
        if !self.listener.is_waiting(call.id)
            || (option.is_forced() && !caller.may_force(&self.own))
        {
            return Outcome::Proceed;
        }
        if let Err(error) = socket.set_buffer(option, value) {
            return Outcome::Failed(error.errno());
        }
        let receive = matches!(option, BufferOption::Receive | BufferOption::ReceiveForce);
        if let Err(error) = self.opt_in.apply_to(&socket, receive) {
            self.refuse_for(caller, &error);
        }
        Outcome::Done
    }

    fn refuse_for(&mut self, caller: &Caller, error: &FlowError) {
        self.refuse(&caller.name(), &error.to_string());
    }

    fn refuse(&mut self, who: &str, cause: &str) {
        self.say(format!("a UDP socket of {who} has no flow control: {cause}"));
    }

    fn say(&mut self, sentence: String) {
        if !self.reported.contains(&sentence) {
            (self.report)(&sentence);
            self.reported.insert(sentence);
        }
    }
}

/// An argument of type `int`: the lower half.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "as the kernel")]
fn int(argument: u64) -> i32 {
    argument as u32 as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_ints_as_the_kernel_reads_them() {
        assert_eq!(int((7 << 32) | 2), 2);
        assert_eq!(int(u64::from(u32::MAX)), -1);
    }
}
