//! The engine: calls in, decisions out.

use core::task::Waker;

use crate::config::Config;
use crate::decision::{Decision, Reason};
use crate::error::Error;
use crate::event::{Event, Notice};
use crate::head::{FailureKind, Response};
use crate::meter::Meter;
use crate::request::Request;
use crate::signals::Signals;
use crate::stats::Stats;
use crate::time::Now;

/// A call's id: a slot and the generation that lives in it, so that an id
/// kept too long means nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    slot: u32,
    generation: u32,
}

impl CallId {
    /// As one number, for hosts.
    #[must_use]
    pub fn as_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }
}

/// The state behind a [`Limiter`](crate::Limiter).
#[derive(Debug)]
pub struct Engine {
    next: u32,
}

#[allow(missing_docs, unused_variables)]
impl Engine {
    pub fn new(config: Config) -> Self {
        Self { next: 0 }
    }
    pub fn begin(&mut self, now: Now, request: &Request<'_>) -> Result<CallId, Error> {
        self.next += 1;
        Ok(CallId { slot: self.next, generation: 0 })
    }
    pub fn poll(&mut self, now: Now, id: CallId, waker: Option<&Waker>) -> Decision {
        Decision::Send { reason: Reason::Ready }
    }
    pub fn on_response(&mut self, now: Now, id: CallId, response: &Response<'_>, signals: Signals) -> Decision {
        Decision::Deliver { reason: Reason::Answered }
    }
    pub fn on_failure(&mut self, now: Now, id: CallId, kind: FailureKind) -> Decision {
        Decision::Deliver { reason: Reason::Failed }
    }
    pub fn settle(&mut self, now: Now, id: CallId, cost: &[(&str, f64)]) -> Result<(), Error> {
        Ok(())
    }
    pub fn finish(&mut self, now: Now, id: CallId) {}
    pub fn cancel(&mut self, now: Now, id: CallId) {}
    pub fn abandon(&mut self, id: CallId) {}
    pub fn attempts(&self, id: CallId) -> u32 {
        0
    }
    pub fn close(&mut self, now: Now) {}
    pub fn is_closed(&self) -> bool {
        false
    }
    pub fn take_wakes(&mut self) -> Vec<CallId> {
        Vec::new()
    }
    pub fn take_wakers(&mut self) -> Vec<Waker> {
        Vec::new()
    }
    pub fn listen(&mut self, listening: bool) {}
    pub fn take_events(&mut self) -> Vec<Event> {
        Vec::new()
    }
    pub fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
    pub fn take_own_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
    pub fn collect_notices(&mut self) {}
    pub fn stats(&self, now: Now) -> Stats {
        Stats::default()
    }
    pub fn scopes(&self) -> Vec<String> {
        Vec::new()
    }
    pub fn meters(&self, now: Now, scope: &str) -> Vec<Meter> {
        Vec::new()
    }
    pub fn after_fork(&mut self, seed: u64) {}
}
