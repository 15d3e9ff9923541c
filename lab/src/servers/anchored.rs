//! A window that begins with the first request after the last one's end.

use super::{CountedUnit, DEFAULT_QUOTA, Nanos, Quota, Server, Verdict};

/// At most `limit` requests in each window; a window starts when a request
/// finds none open, so a client that comes late pushes all later windows back.
#[derive(Clone, Debug)]
pub struct Anchored {
    limit: u64,
    window: Nanos,
    opened: Option<Nanos>,
    used: u64,
}

impl Anchored {
    /// A server that nobody has asked yet.
    #[must_use]
    pub fn new(limit: u64, window: Nanos) -> Self {
        Self { limit, window, opened: None, used: 0 }
    }

    /// The end of the window that is open at `now`.
    fn end(&self, now: Nanos) -> Option<Nanos> {
        self.opened.map(|opened| opened + self.window).filter(|end| now < *end)
    }

    fn quota(&self, reset: Nanos) -> Quota {
        Quota {
            name: DEFAULT_QUOTA.to_owned(),
            limit: self.limit,
            remaining: self.limit - self.used,
            reset: Some(reset),
            window: Some(self.window),
            unit: CountedUnit::Requests,
        }
    }
}

impl Server for Anchored {
    fn admit(&mut self, now: Nanos) -> Verdict {
        let end = self.end(now).unwrap_or_else(|| {
            self.opened = Some(now);
            self.used = 0;
            now + self.window
        });
        let reset = end - now;
        if self.used < self.limit {
            self.used += 1;
            Verdict::accepted(self.quota(reset))
        } else {
            Verdict::refused(self.quota(reset), Some(reset))
        }
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        Some(match self.end(now) {
            Some(end) if self.used >= self.limit => end,
            _ => now,
        })
    }
}
