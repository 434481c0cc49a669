//! One machine of a measurement, seen from where the run was started.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use teiji_experiment::Scenario;
use teiji_net::Binding;
use teiji_remote::{Destination, Program, SshOptions, follow, last_words};

use super::places::Place;
use super::protocol::{self, Order, PartJob, Report, Whole};
use crate::guest_program;

/// The hidden subcommand that is the other end.
const SUBCOMMAND: &str = "agent";

/// One machine.
#[derive(Debug)]
pub struct Machine {
    /// Its name, for people.
    pub name: String,
    bind: String,
    orders: Option<Sender<Order>>,
    child: Child,
    state: State,
    /// Removed there when this is dropped.
    _program: Option<Program>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Busy,
    Gone,
}

impl Machine {
    /// Starts this program there. Its reports go to `reports`, with `index`.
    ///
    /// # Errors
    /// If it cannot be reached, or does not run this program.
    pub fn connect(
        place: &Place,
        ssh: &SshOptions,
        index: usize,
        reports: Sender<(usize, Report)>,
    ) -> anyhow::Result<Self> {
        let put = |to: &Destination| guest_program::put_on(to.clone(), ssh.clone());
        let program = place.machine.as_ref().map(put).transpose()?;
        let here = || {
            let mut command = Command::new("/proc/self/exe");
            command.arg(SUBCOMMAND);
            command
        };
        let there = |program: &Program| program.last_command([SUBCOMMAND]);
        let mut command = program.as_ref().map_or_else(here, there);
        // A group of its own: Ctrl-C comes to this program, which has the others end.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = place.name();
        let mut child = command.spawn().with_context(|| format!("cannot start teiji on {name}"))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut to), Some(mut from), errors) = streams else {
            return Err(anyhow!("the program on {name} has no input or output"));
        };
        let (orders, waiting) = mpsc::channel();
        thread::spawn(move || send_orders(&waiting, &mut to, protocol::ALIVE_EVERY));
        let words = follow(errors);
        thread::spawn(move || {
            let why = loop {
                match protocol::read(&mut from) {
                    Ok(Some(report)) => {
                        if reports.send((index, report)).is_err() {
                            return;
                        }
                    }
                    Ok(None) => break String::new(),
                    Err(error) => break format!(" ({error})"),
                }
            };
            let message = words.join().unwrap_or_default();
            let message = match message.trim() {
                "" => why,
                message => format!(": {}{why}", last_words(message)),
            };
            // At the end of the run nobody receives it.
            let _ = reports.send((index, Report::Gone(message)));
        });
        Ok(Self {
            name,
            bind: place.bind.clone(),
            orders: Some(orders),
            child,
            state: State::Idle,
            _program: program,
        })
    }

    /// The hosts that are its.
    ///
    /// # Errors
    /// If its interfaces do not fit the scenario.
    pub fn hosts(&self, scenario: &Scenario) -> anyhow::Result<BTreeSet<String>> {
        let binding = Binding::parse_part(&self.bind, scenario)?;
        Ok(binding.hosts().into_iter().map(str::to_owned).collect())
    }

    /// Has it measure its part.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn measure(&mut self, whole: &Whole) -> anyhow::Result<()> {
        let part = PartJob { whole: whole.clone(), bind: self.bind.clone() };
        self.send(Order::Measure(Box::new(part)))?;
        self.state = State::Busy;
        Ok(())
    }

    /// Sends it an order.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn send(&self, order: Order) -> anyhow::Result<()> {
        let orders = self.orders.as_ref().filter(|_| self.state != State::Gone);
        if orders.is_none_or(|orders| orders.send(order).is_err()) {
            bail!("the connection to {} has ended", self.name);
        }
        Ok(())
    }

    /// Remembers what a report says of its state.
    pub fn note(&mut self, report: &Report) {
        self.state = match report {
            Report::Outcome(_) | Report::Failed(_) => State::Idle,
            Report::Gone(_) => State::Gone,
            _ => self.state,
        };
    }

    /// It is measuring, or taking back what it set.
    pub fn busy(&self) -> bool {
        self.state == State::Busy
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The program there ends with its standard input, after taking everything back.
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

/// Writes orders as they come, and at least one in each interval `every`, until no more can come or the
/// connection has ended. The stream ends with this.
fn send_orders(orders: &Receiver<Order>, to: &mut impl Write, every: Duration) {
    loop {
        let order = match orders.recv_timeout(every) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => Order::Alive,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if protocol::write(to, &order).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_machine_receives_a_message_in_each_interval() {
        let (mut from, mut to) = UnixStream::pair().unwrap();
        let (orders, waiting) = mpsc::channel();
        let every = Duration::from_millis(1);
        let sender = thread::spawn(move || send_orders(&waiting, &mut to, every));
        let mut next = || protocol::read::<Order>(&mut from).unwrap();
        assert!(matches!(next(), Some(Order::Alive)));
        orders.send(Order::Stop).unwrap();
        drop(orders);
        let last = std::iter::from_fn(next).last();
        assert!(matches!(last, Some(Order::Stop)), "{last:?}");
        sender.join().unwrap();
    }
}
