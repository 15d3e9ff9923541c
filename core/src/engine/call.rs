//! One call, from begin to finish, and the slots that calls live in.

use core::task::Waker;

use super::CallId;
use crate::config::Config;
use crate::decision::Reason;
use crate::error::Error;
use crate::time::Instant;

/// Place in the queue: larger priority first, then the order of beginning. A
/// refused call keeps it.
pub(super) type Rank = (core::cmp::Reverse<i32>, u64);

#[derive(Debug)]
pub(super) enum Phase {
    /// Begun, or refused, and not in the queue.
    Idle,
    /// In the queue.
    Waiting,
    /// Its turn has come and its share is reserved; it has until the lease
    /// ends to poll.
    Offered { since: Instant, reason: Reason },
    /// Its turn went by unclaimed: it keeps its rank and blocks nobody.
    Lapsed,
    /// Waits for itself alone: after a transient failure, or for a cached
    /// refusal.
    Pausing { until: Instant, asked: Option<u64>, reason: Reason },
    /// Sent, no outcome yet.
    Sent { reason: Reason },
    /// The response is with the caller, or the client's own failure. `slot` if
    /// it takes a place in flight until `finish`.
    Delivered { reason: Reason, slot: bool },
    /// Ended with an error of ours.
    Raised(Box<Error>),
}

/// The last refusal of a call, for errors about it.
#[derive(Clone, Debug)]
pub(super) struct LastRefusal {
    pub(super) status: u16,
    pub(super) meter: Option<Box<str>>,
    pub(super) limit: Option<f64>,
    pub(super) hint: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct CallState {
    pub(super) scope: u32,
    pub(super) route: u16,
    pub(super) method: Method,
    pub(super) rank: Rank,
    /// What it spends in requests.
    pub(super) requests: f64,
    /// What it spends in other units.
    pub(super) other_costs: Vec<(Box<str>, f64)>,
    pub(super) deadline: Option<Instant>,
    pub(super) retry: Option<bool>,
    pub(super) idempotent: bool,
    pub(super) replayable: bool,
    pub(super) nested: bool,
    pub(super) phase: Phase,
    /// The meters that its share was taken from.
    pub(super) mask: u64,
    pub(super) seq: u64,
    pub(super) sent_at: Instant,
    pub(super) sends: u32,
    pub(super) refused: u32,
    pub(super) transient: u32,
    pub(super) previous_delay: u64,
    /// Since when it waits for its turn.
    pub(super) queued_since: Option<Instant>,
    /// The sum of earlier waits for its turn.
    pub(super) queued: u64,
    /// Since when it waits for its own refusal or failure.
    pub(super) refused_at: Option<Instant>,
    /// The sum of earlier such waits.
    pub(super) slept: u64,
    /// How many were ahead when it joined the queue, and how many had left
    /// the queue by then.
    pub(super) ahead: u64,
    pub(super) departed: u64,
    /// Until when it was last told to sleep.
    pub(super) sleeps_until: Instant,
    /// What it was last told to wait for, so that a wait is said once.
    pub(super) waiting_for: Option<Reason>,
    pub(super) last: Option<Box<LastRefusal>>,
    pub(super) waker: Option<Waker>,
}

impl CallState {
    /// What it spends of a meter's unit; `None` if it does not say.
    pub(super) fn cost(&self, unit: Option<&str>) -> Option<f64> {
        match unit {
            None | Some("requests") => Some(self.requests),
            Some(unit) => self.other_costs.iter().find(|(name, _)| **name == *unit).map(|(_, cost)| *cost),
        }
    }

    /// Whether it may be sent again when it is unknown whether the server
    /// processed it.
    pub(super) fn may_repeat(&self, config: &Config) -> bool {
        self.replayable && self.retry.unwrap_or(self.idempotent || config.retry_non_idempotent)
    }

    /// Whether its driver sleeps on our word.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Offered { .. } | Phase::Lapsed | Phase::Pausing { .. })
    }

    /// The waits for its own refusals so far.
    pub(super) fn slept_until(&self, now: Instant) -> u64 {
        self.slept.saturating_add(self.refused_at.map_or(0, |since| now.since(since)))
    }

    /// The waits for its turn so far.
    pub(super) fn queued_until(&self, now: Instant) -> u64 {
        self.queued.saturating_add(self.queued_since.map_or(0, |since| now.since(since)))
    }
}

/// A method, without an allocation for the usual ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Known(&'static str),
    Other(Box<str>),
}

/// Methods that may be repeated without harm (RFC 9110 section 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

impl Method {
    pub(super) fn new(name: &str) -> Self {
        match IDEMPOTENT.iter().chain(&["POST", "PATCH"]).find(|known| known.eq_ignore_ascii_case(name)) {
            Some(known) => Self::Known(known),
            None => Self::Other(name.chars().take(32).collect::<String>().into()),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Other(name) => name,
        }
    }

    pub(super) fn is_idempotent(&self) -> bool {
        IDEMPOTENT.contains(&self.name())
    }
}

/// All live calls. A slot is used again under another generation, so that an
/// id kept too long means nobody.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<(u32, Option<CallState>)>,
    free: Vec<u32>,
}

impl Calls {
    pub(super) fn insert(&mut self, call: CallState) -> CallId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (generation, state) = &mut self.slots[slot as usize];
        *state = Some(call);
        CallId { slot, generation: *generation }
    }

    pub(super) fn get(&self, id: CallId) -> Option<&CallState> {
        match self.slots.get(id.slot as usize) {
            Some((generation, state)) if *generation == id.generation => state.as_ref(),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut CallState> {
        match self.slots.get_mut(id.slot as usize) {
            Some((generation, state)) if *generation == id.generation => state.as_mut(),
            _ => None,
        }
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<CallState> {
        let (generation, state) = self.slots.get_mut(id.slot as usize)?;
        if *generation != id.generation {
            return None;
        }
        let call = state.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(call)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = CallId> + '_ {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, (_, state))| state.is_some())
            .map(|(slot, (generation, _))| CallId { slot: slot as u32, generation: *generation })
    }
}
