//! An exact log of the last window.

use std::collections::VecDeque;

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Server, Verdict};

/// At most `limit` requests within any span as long as the window.
///
/// With `counts_refused` a refused request is logged as well: whoever keeps
/// knocking is never let in again.
#[derive(Clone, Debug)]
pub struct SlidingLog {
    limit: u64,
    window: Nanos,
    counts_refused: bool,
    /// Oldest first. Only the last `limit` entries can matter.
    log: VecDeque<Nanos>,
}

impl SlidingLog {
    /// A server with an empty log.
    #[must_use]
    pub fn new(limit: u64, window: Nanos, counts_refused: bool) -> Self {
        Self { limit, window, counts_refused, log: VecDeque::new() }
    }

    fn forget(&mut self, now: Nanos) {
        while self.log.front().is_some_and(|at| at + self.window <= now) {
            self.log.pop_front();
        }
    }

    fn record(&mut self, now: Nanos) {
        if self.log.len() as u64 == self.limit {
            self.log.pop_front();
        }
        self.log.push_back(now);
    }

    fn quota(&self, now: Nanos) -> Quota {
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.limit,
            remaining: self.limit - self.log.len() as u64,
            reset: self.log.front().map(|oldest| oldest + self.window - now),
            window: Some(self.window),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for SlidingLog {
    fn admit(&mut self, now: Nanos) -> Verdict {
        self.forget(now);
        if (self.log.len() as u64) < self.limit {
            self.record(now);
            return Verdict::accepted(self.quota(now));
        }
        if self.counts_refused {
            self.record(now);
        }
        let quota = self.quota(now);
        let wait = quota.reset;
        Verdict::refused(quota, wait)
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        let full = self.log.len() as u64 == self.limit;
        Some(match self.log.front() {
            Some(oldest) if full => now.max(oldest + self.window),
            _ => now,
        })
    }
}
