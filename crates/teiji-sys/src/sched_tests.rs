//! Tests of scheduling, as root and as somebody without rights.

use super::*;
use std::thread;

/// Runs `test` on a thread without any capability. Linux keeps credentials per
/// thread, so the rest of the test program is not affected.
fn without_rights<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                // SAFETY: the raw system calls change this thread only (the libc
                // wrappers would change all); they take integers and a pointer to
                // a local rlimit.
                unsafe {
                    if libc::geteuid() == 0 {
                        assert_eq!(libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534), 0);
                        assert_eq!(libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534), 0);
                    }
                }
                assert!(!has(Capability::SysNice));
                test()
            })
            .join()
            .unwrap()
    })
}

fn policy() -> (libc::c_int, libc::c_int) {
    let mut param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` is valid and writable; pid 0 is this thread.
    unsafe {
        libc::sched_getparam(0, &raw mut param);
        (libc::sched_getscheduler(0), param.sched_priority)
    }
}

#[test]
fn a_realtime_thread_is_an_ordinary_one_again_after_the_guard() {
    thread::spawn(|| match Realtime::enter(RtPriority::new(7).unwrap()) {
        Ok(guard) => {
            assert_eq!(policy(), (libc::SCHED_FIFO, 7));
            drop(guard);
            assert_eq!(policy(), (libc::SCHED_OTHER, 0));
        }
        Err(error @ (SchedError::NoRealtimeRight { .. } | SchedError::NoRealtimeBudget { .. })) => {
            println!("SKIP: real-time priorities are not available here: {error}");
        }
        Err(other) => panic!("{other}"),
    })
    .join()
    .unwrap();
}

#[test]
fn a_missing_realtime_right_is_named() {
    if limit(libc::RLIMIT_RTPRIO) != 0 {
        println!("SKIP: RLIMIT_RTPRIO allows real-time priorities to everybody here");
        return;
    }
    let error = without_rights(|| Realtime::enter(RtPriority::new(50).unwrap()).unwrap_err());
    let SchedError::NoRealtimeRight { priority, limit: 0 } = error else { panic!("{error}") };
    assert_eq!(priority.get(), 50);
    let text = error.to_string();
    assert!(text.contains("CAP_SYS_NICE") && text.contains("RLIMIT_RTPRIO is 0"), "{text}");
}

#[test]
fn a_missing_right_to_lock_memory_is_named() {
    let error = SchedError::NoLockRight { limit: 65_536 }.to_string();
    assert!(error.contains("CAP_IPC_LOCK") && error.contains("65536 bytes"), "{error}");
}

#[test]
fn a_pinned_thread_runs_on_its_cpu_and_is_free_afterwards() {
    thread::spawn(|| {
        let before = CpuSet::current().unwrap().0;
        let cpu = u16::try_from(before[0].trailing_zeros()).unwrap();
        let pinned = Pinned::to(cpu).unwrap();
        assert_eq!(CpuSet::current().unwrap().0, CpuSet::single(cpu).unwrap().0);
        drop(pinned);
        assert_eq!(CpuSet::current().unwrap().0, before);
    })
    .join()
    .unwrap();
}

#[test]
fn a_cpu_that_does_not_exist_is_refused_with_those_that_do() {
    for cpu in [8191, 65535] {
        let error = Pinned::to(cpu).unwrap_err();
        assert!(matches!(error, SchedError::Cpu { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("allowed here: 0") || text.contains("allowed here: 1"), "{text}");
    }
}

#[test]
fn cpu_lists_are_written_as_ranges() {
    let mut set = CpuSet([0; 128]);
    set.0[0] = 0b1_0111;
    set.0[1] = 1;
    assert_eq!(set.to_string(), "0-2,4,64");
}

#[test]
fn a_nice_value_is_the_threads_own() {
    // SAFETY: integers; 0 is the calling thread.
    let own = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let before = own();
    let inside = std::thread::spawn(move || {
        let _nice = Nice::enter(19).unwrap();
        own()
    });
    assert_eq!((inside.join().unwrap(), own()), (19, before));
}
