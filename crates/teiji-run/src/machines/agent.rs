//! A machine's part of a measurement: executes orders from standard input, until that ends or stays silent.

use std::io::Stdout;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use teiji::StopFlag;
use teiji_core::time::{Instant, Tai};
use teiji_net::{Binding, KeeperProgram, PortAddress, PortExchange};
use teiji_sys::clock;

use super::protocol::{self, Order, PartJob, Report};
use crate::measure::{self, OtherMachines, Outcome, Setup, kernel_trace};

/// Where the run was started, as a machine sees it that measures.
#[derive(Debug)]
struct Coordinator {
    orders: Mutex<Receiver<Order>>,
    stdout: Arc<Mutex<Stdout>>,
}

/// The flag that ends what is being measured.
type Current = Arc<Mutex<StopFlag>>;

/// Measures parts of experiments as standard input orders, and reports to standard output, until
/// standard input ends or stays silent. All settings are restored by then.
///
/// # Errors
/// If standard output cannot be written.
pub fn serve() -> anyhow::Result<()> {
    let (read, taken) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(Some(order)) = protocol::read(&mut std::io::stdin().lock()) {
            if read.send(order).is_err() {
                break;
            }
        }
    });
    let (sender, orders) = mpsc::channel();
    let stdout = Arc::new(Mutex::new(std::io::stdout()));
    let current = Current::default();
    let reader = (Arc::clone(&stdout), Arc::clone(&current));
    let silence = protocol::LONGEST_SILENCE;
    thread::spawn(move || take_orders(&taken, silence, &sender, &reader.0, &reader.1));
    let coordinator = Coordinator { orders: Mutex::new(orders), stdout };
    while let Ok(order) = coordinator.next() {
        // Other orders belong to a part that has ended.
        let Order::Measure(part) = order else { continue };
        let report = match measure_part(&part, &coordinator, &current) {
            Ok(outcome) => Report::Outcome(outcome.to_bytes()?),
            Err(error) => Report::Failed(format!("{error:#}")),
        };
        coordinator.report(&report)?;
    }
    Ok(())
}

/// Takes orders until there are no more, or none for `silence`; answers at once what needs no measurement.
fn take_orders(
    taken: &Receiver<Order>,
    silence: Duration,
    orders: &mpsc::Sender<Order>,
    stdout: &Mutex<Stdout>,
    current: &Current,
) {
    let stop = || current.lock().unwrap_or_else(PoisonError::into_inner).stop();
    while let Ok(order) = taken.recv_timeout(silence) {
        let sent = match order {
            Order::Clock => write(stdout, &Report::Clock(clock::now())).is_ok(),
            Order::Stop => {
                stop();
                true
            }
            Order::Measure(_) => {
                // A new one: what stopped the last part does not stop this one.
                *current.lock().unwrap_or_else(PoisonError::into_inner) = StopFlag::new();
                orders.send(order).is_ok()
            }
            Order::Abandon => {
                stop();
                orders.send(order).is_ok()
            }
            Order::Alive => true,
            order => orders.send(order).is_ok(),
        };
        if !sent {
            break;
        }
    }
    // The coordinator has ended, or cannot be reached.
    stop();
}

fn measure_part(
    part: &PartJob,
    coordinator: &Coordinator,
    current: &Current,
) -> anyhow::Result<Outcome> {
    let stop = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let PartJob { whole, bind } = part;
    let Some(experiment) = whole.job.on_own_nics() else {
        bail!("cannot understand the experiment")
    };
    let Some(case) = experiment.cases.iter().find(|case| case.name == whole.case) else {
        bail!("the experiment has no case `{}`", whole.case);
    };
    let binding = Binding::parse_part(bind, &case.scenario)?;
    let setup = Setup {
        scenario: &case.scenario,
        binding: &binding,
        seed: whole.seed,
        keeper: KeeperProgram::ThisProgram,
        take: whole.take,
        own_machine: false,
        loads: &whole.job.loads,
        why: whole.why.filter(|_| kernel_trace::has_senders(&case.scenario, &binding)),
        others: Some(coordinator),
        stop: &stop,
    };
    measure::case(&setup, None)
}

fn write(stdout: &Mutex<Stdout>, report: &Report) -> anyhow::Result<()> {
    let mut stdout = stdout.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(protocol::write(&mut *stdout, report)?)
}

impl OtherMachines for Coordinator {
    fn ports(&self) -> &dyn PortExchange {
        self
    }

    fn agree(&self, earliest: Instant<Tai>) -> anyhow::Result<Instant<Tai>> {
        self.report(&Report::Ready(earliest))?;
        match self.next()? {
            Order::Start(base) => Ok(base),
            order => Err(unexpected(&order)),
        }
    }

    fn senders_ended(&self) -> anyhow::Result<()> {
        self.report(&Report::SendersEnded)?;
        match self.next()? {
            Order::SendersEnded => Ok(()),
            order => Err(unexpected(&order)),
        }
    }
}

impl Coordinator {
    fn next(&self) -> anyhow::Result<Order> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.recv().map_err(|_| anyhow!("the connection to where the run was started has ended"))
    }

    fn report(&self, report: &Report) -> anyhow::Result<()> {
        write(&self.stdout, report)
    }
}

impl PortExchange for Coordinator {
    fn exchange(&self, ports: Vec<PortAddress>) -> Result<Vec<PortAddress>, String> {
        let all = || {
            self.report(&Report::Ports(ports, clock::tai_offset()))?;
            match self.next()? {
                Order::Ports(all) => Ok(all),
                order => Err(unexpected(&order)),
            }
        };
        all().map_err(|error: anyhow::Error| error.to_string())
    }
}

fn unexpected(order: &Order) -> anyhow::Error {
    match order {
        Order::Abandon => anyhow!("another machine has failed"),
        order => anyhow!("this is not the time for {order:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_connection_ends_the_measurement_and_orders_keep_it_alive() {
        let (read, taken) = mpsc::channel();
        let (sender, orders) = mpsc::channel();
        let current = Current::default();
        let stop = current.lock().unwrap().clone();
        let silence = Duration::from_secs(2);
        let taking = thread::spawn(move || {
            take_orders(&taken, silence, &sender, &Mutex::new(std::io::stdout()), &current);
        });
        for _ in 0..7 {
            thread::sleep(silence / 5);
            read.send(Order::Alive).unwrap();
        }
        assert!(!stop.is_stopped());
        // `read` is there: the stream has not ended.
        taking.join().unwrap();
        assert!(stop.is_stopped());
        assert!(orders.recv().is_err(), "whoever waits for an order gets an error");
    }
}
