//! A cap on requests in progress.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Server, Verdict};

/// Admits a request while fewer than `cap` are in progress, and works on each
/// for `service`. It cannot know when a slot will be free, so it announces no
/// time.
#[derive(Clone, Debug)]
pub struct Concurrency {
    cap: u64,
    service: Nanos,
    in_progress: u64,
}

impl Concurrency {
    /// An idle server.
    #[must_use]
    pub fn new(cap: u64, service: Nanos) -> Self {
        Self { cap, service, in_progress: 0 }
    }

    fn quota(&self) -> Quota {
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.cap,
            remaining: self.cap - self.in_progress,
            reset: None,
            window: None,
            unit: CountedUnit::ConcurrentRequests,
        }
    }
}

impl Server for Concurrency {
    fn admit(&mut self, _: Nanos) -> Verdict {
        if self.in_progress < self.cap {
            self.in_progress += 1;
            Verdict { delay: self.service, ..Verdict::accepted(self.quota()) }
        } else {
            Verdict::refused(self.quota(), None)
        }
    }

    fn release(&mut self, _: Nanos) {
        self.in_progress = self.in_progress.saturating_sub(1);
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        (self.in_progress < self.cap).then_some(now)
    }
}
