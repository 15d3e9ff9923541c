//! Who is admitted, and what is remembered of it. No I/O and no clock.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::dialects::Dialect;
use crate::servers::{Nanos, Server, Spec, Verdict};

/// More requests than this are counted but not remembered.
const MAX_ARRIVALS: usize = 1_000_000;

/// What a stub is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server model.
    pub spec: Spec,
    /// How it speaks.
    pub dialect: Dialect,
}

/// One request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// When it came, in nanoseconds from the start or the last reset.
    pub arrival_ns: Nanos,
    /// When it was answered; `None` while it is in progress.
    pub completed_ns: Option<Nanos>,
    /// Whether it was admitted.
    pub admitted: bool,
    /// The client's own label, from `x-fleet` or the query.
    pub client: Option<String>,
    /// The quota that counted it: 0 for the first key seen, 1 for the next. A
    /// key may be a credential and is therefore not shown.
    pub quota: usize,
    /// What it asked for, method and target: 0 for the first seen, 1 for the
    /// next. A target may hold a credential and is therefore not shown.
    pub target: usize,
    /// On a refusal, how long until the server would have had room; absent
    /// where it cannot know.
    pub room_after_ns: Option<Nanos>,
    /// On a refusal that has been answered, how long it asked to stay away.
    pub asked_ns: Option<Nanos>,
}

/// All requests since the start or the last reset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timeline {
    /// The server model.
    pub server: String,
    /// How it speaks.
    pub dialect: String,
    /// The clock at this reading.
    pub elapsed_ns: Nanos,
    /// The requests, in the order of arrival.
    pub requests: Vec<Arrival>,
    /// How many more came than are remembered.
    pub forgotten: u64,
}

/// How many requests came since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that were refused.
    pub refused: u64,
}

/// A request between its admission and its answer.
#[derive(Debug)]
pub struct Ticket {
    reset: u64,
    key: String,
    entry: Option<usize>,
    admitted: bool,
    /// How long the answer asks to stay away.
    pub(super) asked: Option<Nanos>,
}

/// The state of a stub: one server per quota key, and the timeline.
pub struct Admission {
    settings: Settings,
    start: Nanos,
    resets: u64,
    counts: Counts,
    quotas: HashMap<String, (usize, Box<dyn Server>)>,
    targets: HashMap<String, usize>,
    arrivals: Vec<Arrival>,
    forgotten: u64,
}

impl Admission {
    /// A stub whose windows begin at `now`.
    #[must_use]
    pub fn new(settings: Settings, now: Nanos) -> Self {
        Self {
            settings,
            start: now,
            resets: 0,
            counts: Counts::default(),
            quotas: HashMap::new(),
            targets: HashMap::new(),
            arrivals: Vec::new(),
            forgotten: 0,
        }
    }

    /// What it is made of.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Judges a request for `target` that arrives at `now`. Returns its number,
    /// the verdict, and what [`complete`](Self::complete) needs.
    pub fn admit(&mut self, now: Nanos, key: &str, target: String, client: Option<String>) -> (u64, Verdict, Ticket) {
        let at = now - self.start;
        let count = self.quotas.len();
        let (quota, server) = self.quotas.entry(key.to_owned()).or_insert_with(|| (count, self.settings.spec.build()));
        let verdict = server.admit(at);
        let admitted = verdict.accepted;
        let entry = (self.arrivals.len() < MAX_ARRIVALS).then_some(self.arrivals.len());
        if entry.is_some() {
            let seen = self.targets.len();
            self.arrivals.push(Arrival {
                arrival_ns: at,
                completed_ns: None,
                admitted,
                client,
                quota: *quota,
                target: *self.targets.entry(target).or_insert(seen),
                room_after_ns: verdict.retry_after,
                asked_ns: None,
            });
        } else {
            self.forgotten += 1;
        }
        let sequence = self.counts.admitted + self.counts.refused;
        *if admitted { &mut self.counts.admitted } else { &mut self.counts.refused } += 1;
        (sequence, verdict, Ticket { reset: self.resets, key: key.to_owned(), entry, admitted, asked: None })
    }

    /// The request has been answered, or its client has gone.
    pub fn complete(&mut self, now: Nanos, ticket: &Ticket) {
        // A request from before a reset holds no slot of the new servers.
        if ticket.reset != self.resets {
            return;
        }
        let at = now - self.start;
        if ticket.admitted
            && let Some((_, server)) = self.quotas.get_mut(&ticket.key)
        {
            server.release(at);
        }
        if let Some(arrival) = ticket.entry.and_then(|entry| self.arrivals.get_mut(entry)) {
            arrival.completed_ns = Some(at);
            arrival.asked_ns = ticket.asked;
        }
    }

    /// Fresh quotas and an empty timeline; windows begin at `now`.
    pub fn reset(&mut self, now: Nanos) {
        let resets = self.resets + 1;
        *self = Self { resets, ..Self::new(self.settings.clone(), now) };
    }

    /// How many came so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The record so far.
    #[must_use]
    pub fn timeline(&self, now: Nanos) -> Timeline {
        Timeline {
            server: self.settings.spec.to_string(),
            dialect: self.settings.dialect.to_string(),
            elapsed_ns: now - self.start,
            requests: self.arrivals.clone(),
            forgotten: self.forgotten,
        }
    }
}
