//! Filters match the calls that they must, and a listener completes or refuses calls.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;

use super::*;

const RULES: [Rule<'static>; 2] = [
    Rule {
        call: Call::Socket,
        conditions: &[
            Condition { argument: 0, mask: u32::MAX, any_of: &[2, 10] },
            Condition { argument: 1, mask: 0xF, any_of: &[2] },
        ],
    },
    Rule {
        call: Call::SetSocketOption,
        conditions: &[Condition { argument: 2, mask: u32::MAX, any_of: &[7, 8, 32] }],
    },
];

/// What a program of the instructions above says of a call.
fn run_filter(
    program: &[libc::sock_filter],
    architecture: u32,
    number: u32,
    args: [u64; 6],
) -> u32 {
    let mut data = Vec::new();
    data.extend(number.to_ne_bytes());
    data.extend(architecture.to_ne_bytes());
    data.extend(0_u64.to_ne_bytes());
    for arg in args {
        data.extend(arg.to_ne_bytes());
    }
    let (mut at, mut value) = (0, 0);
    loop {
        let libc::sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        match u32::from(code) {
            0x20 => {
                let from = k as usize;
                value = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x54 => value &= k,
            0x15 => at += usize::from(if value == k { jt } else { jf }),
            0x05 => at += k as usize,
            0x06 => return k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

#[test]
fn a_rule_matches_if_all_of_its_conditions_are_true() {
    let program = program(&RULES);
    let matches = |call: Call, args| match run_filter(&program, ARCHITECTURE, call.number(), args) {
        libc::SECCOMP_RET_USER_NOTIF => true,
        libc::SECCOMP_RET_ALLOW => false,
        other => panic!("{other:#x}"),
    };
    let dgram_cloexec_nonblock = 2 | 0o2_004_000;
    assert!(matches(Call::Socket, [2, 2, 0, 0, 0, 0]));
    assert!(matches(Call::Socket, [10, dgram_cloexec_nonblock, 17, 0, 0, 0]));
    // An int: the kernel ignores the upper half.
    assert!(matches(Call::Socket, [2 | (7 << 32), 2, 0, 0, 0, 0]));
    assert!(!matches(Call::Socket, [1, 2, 0, 0, 0, 0]), "AF_UNIX");
    assert!(!matches(Call::Socket, [2, 1, 0, 0, 0, 0]), "SOCK_STREAM");
    assert!(!matches(Call::Socket, [2, 3, 0, 0, 0, 0]), "SOCK_RAW");
    for option in [7, 8, 32] {
        assert!(matches(Call::SetSocketOption, [3, 1, option, 0, 4, 0]));
    }
    assert!(!matches(Call::SetSocketOption, [3, 1, 9, 0, 4, 0]));
    // Another call with the same arguments, and another architecture.
    let allow = libc::SECCOMP_RET_ALLOW;
    assert_eq!(run_filter(&program, ARCHITECTURE, 1, [2, 2, 0, 0, 0, 0]), allow);
    let socket = Call::Socket.number();
    assert_eq!(run_filter(&program, 0x4000_0003, socket, [2, 2, 0, 0, 0, 0]), allow);
}

/// Runs `work` in a thread with the filter, whose listener it gives; `None` if the machine does
/// not permit it.
fn filtered<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<(Listener, thread::JoinHandle<T>)> {
    let (give, take) = mpsc::channel();
    let worker = thread::spawn(move || {
        let listener = no_new_privileges().and_then(|()| install(&RULES, false));
        let installed = listener.is_ok();
        give.send(listener).unwrap();
        installed.then(work)
    });
    match take.recv().unwrap() {
        Ok(listener) => Some((listener, thread::spawn(|| worker.join().unwrap().unwrap()))),
        Err(error) => {
            println!("SKIP: no listener for system calls: {error}");
            None
        }
    }
}

#[test]
fn a_call_is_completed_with_a_copy_of_a_descriptor() {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let Some((listener, caller)) = filtered(bind) else { return };
    let own = UdpSocket::bind("127.0.0.2:0").unwrap();
    let call = listener.receive().unwrap().unwrap();
    assert_eq!((call.call, call.arguments[0]), (Some(Call::Socket), 2));
    assert!(listener.is_waiting(call.id));
    // Bound already: `bind` of the caller fails, which shows whose socket it is.
    listener.complete_with_copy(call.id, own.as_fd(), true).unwrap();
    assert!(!listener.is_waiting(call.id));
    assert!(caller.join().is_err());
}

#[test]
fn a_call_proceeds_or_fails_as_the_listener_decides() {
    let bind = || {
        let first = UdpSocket::bind("127.0.0.1:0").map(drop);
        let second = UdpSocket::bind("127.0.0.1:0").map(drop);
        (first.is_ok(), second.unwrap_err().raw_os_error())
    };
    let Some((listener, caller)) = filtered(bind) else { return };
    let call = listener.receive().unwrap().unwrap();
    listener.proceed(call.id).unwrap();
    let call = listener.receive().unwrap().unwrap();
    listener.fail(call.id, libc::EMFILE).unwrap();
    assert_eq!(caller.join().unwrap(), (true, Some(libc::EMFILE)));
}
