//! A counter that starts again at every tick of a clock.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Server, Verdict};

/// At most `limit` requests in each window; windows follow the clock, not the
/// client.
#[derive(Clone, Debug)]
pub struct Fixed {
    limit: u64,
    window: Nanos,
    phase: Nanos,
    current: u64,
    used: u64,
}

impl Fixed {
    /// `phase` is the time from the start to the first boundary.
    #[must_use]
    pub fn new(limit: u64, window: Nanos, phase: Nanos) -> Self {
        Self { limit, window, phase, current: 0, used: 0 }
    }

    /// The number of the window in which `now` lies.
    fn index(&self, now: Nanos) -> u64 {
        match now.checked_sub(self.phase) {
            Some(since) => 1 + since / self.window,
            None => 0,
        }
    }

    /// The end of the window in which `now` lies.
    fn end(&self, now: Nanos) -> Nanos {
        self.phase.saturating_add(self.index(now).saturating_mul(self.window))
    }

    fn used_at(&self, now: Nanos) -> u64 {
        if self.index(now) == self.current { self.used } else { 0 }
    }

    pub(super) fn has_room(&self, now: Nanos) -> bool {
        self.used_at(now) < self.limit
    }

    pub(super) fn count(&mut self, now: Nanos) {
        self.used = self.used_at(now) + 1;
        self.current = self.index(now);
    }

    pub(super) fn quota(&self, name: &str, now: Nanos) -> Quota {
        Quota {
            name: name.to_owned(),
            limit: self.limit,
            remaining: self.limit - self.used_at(now),
            reset: Some(self.end(now) - now),
            window: Some(self.window),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for Fixed {
    fn admit(&mut self, now: Nanos) -> Verdict {
        if self.has_room(now) {
            self.count(now);
            Verdict::accepted(self.quota(DEFAULT_QUOTA, now))
        } else {
            Verdict::refused(self.quota(DEFAULT_QUOTA, now), Some(self.end(now) - now))
        }
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        Some(if self.has_room(now) { now } else { self.end(now) })
    }
}
