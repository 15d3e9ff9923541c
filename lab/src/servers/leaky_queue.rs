//! A queue that lets requests out at a steady rate.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Rate, Server, Verdict};

/// Answers at `rate`: a request that comes too soon waits inside the server,
/// and one that finds `depth` places taken is refused.
#[derive(Clone, Debug)]
pub struct LeakyQueue {
    rate: Rate,
    depth: u64,
    /// The earliest exit of the next request, in the rate's units of work
    /// since the start.
    exit: u128,
}

impl LeakyQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(rate: Rate, depth: u64) -> Self {
        Self { rate, depth, exit: 0 }
    }

    /// How much work lies before the exit of a request that arrives at `now`.
    fn backlog(&self, now: Nanos) -> u128 {
        self.exit.saturating_sub(self.rate.units(now))
    }

    fn room(&self) -> u128 {
        u128::from(self.depth) * Rate::UNITS
    }

    fn quota(&self, now: Nanos) -> Quota {
        let taken = self.backlog(now).div_ceil(Rate::UNITS) as u64;
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.depth + 1,
            remaining: (self.depth + 1).saturating_sub(taken),
            reset: Some(self.rate.time(self.backlog(now).saturating_sub(self.room()))),
            window: Some(self.rate.time(u128::from(self.depth + 1) * Rate::UNITS)),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for LeakyQueue {
    fn admit(&mut self, now: Nanos) -> Verdict {
        let backlog = self.backlog(now);
        if let Some(excess) = backlog.checked_sub(self.room()).filter(|excess| *excess > 0) {
            return Verdict::refused(self.quota(now), Some(self.rate.time(excess)));
        }
        self.exit = self.rate.units(now) + backlog + Rate::UNITS;
        Verdict { delay: self.rate.time(backlog), ..Verdict::accepted(self.quota(now)) }
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        Some(now + self.rate.time(self.backlog(now).saturating_sub(self.room())))
    }
}
