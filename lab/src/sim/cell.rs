//! One experiment.

use core::fmt;

use serde_json::Value;

use super::link::{Rtt, Timers};
use super::workload::Workload;
use crate::dialects::Dialect;
use crate::random::stream;
use crate::servers::{Nanos, SECOND, Spec};

/// What a fleet is run against, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The server.
    pub server: Spec,
    /// A second one; every other call goes to it, with another key.
    pub second: Option<Spec>,
    /// How both speak.
    pub dialect: Dialect,
    /// When calls begin.
    pub workload: Workload,
    /// The most calls that one process makes at a time; `None` for no limit.
    pub workers: Option<u64>,
    /// Processes that share the quota and know nothing of each other.
    pub processes: u64,
    /// The way there and back.
    pub rtt: Rtt,
    /// The share of calls that are given up while they wait.
    pub cancel: f64,
    /// Seconds that the server's clock is ahead of the clients'.
    pub skew: f64,
    /// The clients' timers.
    pub timers: Timers,
    /// How long after its begin an answer is of no use to a call.
    pub deadline: Option<Nanos>,
    /// Rampmeter's options, by name; all others have their defaults.
    pub options: Value,
    /// Whatever is random is drawn from it.
    pub seed: u64,
}

impl Cell {
    /// A batch of calls against that server, and nothing special about it.
    #[must_use]
    pub fn new(server: Spec, dialect: Dialect, workload: Workload) -> Self {
        Self {
            server,
            second: None,
            dialect,
            workload,
            workers: None,
            processes: 1,
            rtt: Rtt::Constant(SECOND / 10),
            cancel: 0.0,
            skew: 0.0,
            timers: Timers::Exact,
            deadline: None,
            options: Value::Object(serde_json::Map::new()),
            seed: 1,
        }
    }

    /// The servers, by key.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Spec> {
        core::iter::once(&self.server).chain(&self.second)
    }

    /// When each call begins, in order.
    pub(super) fn arrivals(&self) -> Vec<Nanos> {
        let rate = self.servers().map(|spec| spec.left().rate()).sum();
        self.workload.arrivals(rate, self.seed)
    }

    /// Whether nothing disturbs the best possible client: then what it does
    /// cannot be beaten.
    pub(super) fn is_plain(&self) -> bool {
        let shared = self.servers().any(|spec| matches!(spec, Spec::Shared { .. }));
        !shared && self.cancel == 0.0 && self.deadline.is_none() && matches!(self.rtt, Rtt::Constant(_))
    }

    /// A generator for one purpose.
    pub(super) fn stream(&self, purpose: &str, index: u64) -> fastrand::Rng {
        stream(self.seed, purpose, index)
    }

    /// The command that runs it.
    pub(super) fn command(&self) -> String {
        let mut command = format!(
            "rampmeter simulate --server {} --dialect {} --workload {}",
            self.server, self.dialect, self.workload
        );
        for (name, value) in self.special() {
            let quote = if value.contains('"') { "'" } else { "" };
            command.push_str(&format!(" --{name} {quote}{value}{quote}"));
        }
        command.push_str(&format!(" --seed {}", self.seed));
        command
    }

    /// All that is special about it, in the words of the command line.
    #[must_use]
    pub fn conditions(&self) -> String {
        self.special().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    fn special(&self) -> Vec<(&'static str, String)> {
        let mut words = Vec::new();
        if let Some(workers) = self.workers {
            words.push(("workers", workers.to_string()));
        }
        if self.processes != 1 {
            words.push(("processes", self.processes.to_string()));
        }
        if self.rtt != Rtt::Constant(SECOND / 10) {
            words.push(("rtt", self.rtt.to_string()));
        }
        if self.cancel > 0.0 {
            words.push(("cancel", self.cancel.to_string()));
        }
        if self.skew != 0.0 {
            words.push(("skew", self.skew.to_string()));
        }
        if self.timers == Timers::Coarse {
            words.push(("timers", "coarse".to_owned()));
        }
        if let Some(deadline) = self.deadline {
            words.push(("deadline", (deadline as f64 / SECOND as f64).to_string()));
        }
        if let Some(second) = &self.second {
            words.push(("second", second.to_string()));
        }
        if self.options.as_object().is_some_and(|options| !options.is_empty()) {
            words.push(("options", self.options.to_string()));
        }
        words
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.server, self.dialect, self.workload)?;
        let conditions = self.conditions();
        if conditions.is_empty() { Ok(()) } else { write!(f, " {conditions}") }
    }
}
