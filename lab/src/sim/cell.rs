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

    /// A generator for one purpose.
    pub(super) fn stream(&self, purpose: &str, index: u64) -> fastrand::Rng {
        stream(self.seed, purpose, index)
    }

    /// All that is special about it, in the words of the command line.
    #[must_use]
    pub fn conditions(&self) -> String {
        let mut words = Vec::new();
        if let Some(workers) = self.workers {
            words.push(format!("workers={workers}"));
        }
        if self.processes != 1 {
            words.push(format!("processes={}", self.processes));
        }
        if self.rtt != Rtt::Constant(SECOND / 10) {
            words.push(format!("rtt={}", self.rtt));
        }
        if self.cancel > 0.0 {
            words.push(format!("cancel={}", self.cancel));
        }
        if self.skew != 0.0 {
            words.push(format!("skew={}", self.skew));
        }
        if self.timers == Timers::Coarse {
            words.push("timers=coarse".to_owned());
        }
        if let Some(deadline) = self.deadline {
            words.push(format!("deadline={}", deadline as f64 / SECOND as f64));
        }
        if let Some(second) = &self.second {
            words.push(format!("second={second}"));
        }
        if self.options.as_object().is_some_and(|options| !options.is_empty()) {
            words.push(format!("options={}", self.options));
        }
        words.join(" ")
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.server, self.dialect, self.workload)?;
        let conditions = self.conditions();
        if conditions.is_empty() { Ok(()) } else { write!(f, " {conditions}") }
    }
}
