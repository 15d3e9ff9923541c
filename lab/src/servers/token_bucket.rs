//! A bucket that refills at a steady rate.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Rate, Server, Verdict};

/// Admits a request for each token; tokens arrive at `rate` and at most
/// `burst` are kept. `reset` is the time to the next token.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    burst: u64,
    /// The content at `at`, in the rate's units of work.
    content: u128,
    at: Nanos,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: Rate, burst: u64) -> Self {
        Self { rate, burst, content: u128::from(burst) * Rate::UNITS, at: 0 }
    }

    fn content(&self, now: Nanos) -> u128 {
        let brim = u128::from(self.burst) * Rate::UNITS;
        brim.min(self.content + self.rate.units(now.saturating_sub(self.at)))
    }

    fn until_next_token(&self, now: Nanos) -> Nanos {
        self.rate.time(Rate::UNITS - self.content(now) % Rate::UNITS)
    }

    fn quota(&self, now: Nanos) -> Quota {
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.burst,
            remaining: (self.content(now) / Rate::UNITS) as u64,
            reset: Some(self.until_next_token(now)),
            window: Some(self.rate.time(u128::from(self.burst) * Rate::UNITS)),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for TokenBucket {
    fn admit(&mut self, now: Nanos) -> Verdict {
        self.content = self.content(now);
        self.at = now;
        match self.content.checked_sub(Rate::UNITS) {
            Some(left) => {
                self.content = left;
                Verdict::accepted(self.quota(now))
            }
            None => Verdict::refused(self.quota(now), Some(self.until_next_token(now))),
        }
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        Some(if self.content(now) >= Rate::UNITS { now } else { now + self.until_next_token(now) })
    }
}
