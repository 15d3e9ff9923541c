//! Two counters that approximate a sliding window.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Server, Verdict};

/// Counts this window's requests, plus the last window's by the share of it
/// that still lies within reach. After a full window capacity returns as a
/// trickle, yet `reset` names the window's end, as such servers do.
#[derive(Clone, Debug)]
pub struct SlidingCounter {
    limit: u64,
    window: Nanos,
    current: u64,
    used: u64,
    previous: u64,
}

impl SlidingCounter {
    /// A server that nobody has asked yet; its first window begins at 0.
    #[must_use]
    pub fn new(limit: u64, window: Nanos) -> Self {
        Self { limit, window, current: 0, used: 0, previous: 0 }
    }

    /// Both counters as they stand in window `index`.
    fn counters(&self, index: u64) -> (u64, u64) {
        match index - self.current {
            0 => (self.previous, self.used),
            1 => (self.used, 0),
            _ => (0, 0),
        }
    }

    /// The free places at `now`, in requests times window length: whole
    /// numbers, so that no rounding decides.
    fn room(&self, now: Nanos) -> u128 {
        let (previous, used) = self.counters(now / self.window);
        let within_reach = u128::from(self.window - now % self.window);
        let counted = u128::from(previous) * within_reach + u128::from(used) * u128::from(self.window);
        (u128::from(self.limit) * u128::from(self.window)).saturating_sub(counted)
    }

    fn quota(&self, now: Nanos) -> Quota {
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.limit,
            remaining: (self.room(now) / u128::from(self.window)) as u64,
            reset: Some(self.window - now % self.window),
            window: Some(self.window),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for SlidingCounter {
    fn admit(&mut self, now: Nanos) -> Verdict {
        let index = now / self.window;
        (self.previous, self.used) = self.counters(index);
        self.current = index;
        if self.room(now) >= u128::from(self.window) {
            self.used += 1;
            return Verdict::accepted(self.quota(now));
        }
        let wait = self.next_admission(now).map(|at| at - now);
        Verdict::refused(self.quota(now), wait)
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        let window = u128::from(self.window);
        if self.room(now) >= window {
            return Some(now);
        }
        let index = now / self.window;
        // In this window, and if it is used up in the next: the first instant
        // at which the previous counter's share leaves room for one more.
        let slot = |start: Nanos, previous: u64, used: u64| {
            let free = u128::from(self.limit.checked_sub(used + 1)?) * window;
            let elapsed = match u128::from(previous) {
                0 => 0,
                previous => window.saturating_sub(free / previous) as u64,
            };
            (elapsed < self.window).then_some(start + elapsed)
        };
        let start = index * self.window;
        let (previous, used) = self.counters(index);
        let at = slot(start, previous, used)
            .or_else(|| slot(start + self.window, used, 0))
            .unwrap_or(start + 2 * self.window);
        Some(at.max(now))
    }
}
