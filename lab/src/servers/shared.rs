//! A quota that strangers use too.

use super::{Nanos, Server, Verdict};
use crate::random::exponential;

/// A server of which others take a share: they come at random, whether the
/// client is there or not, and spend what is left when they come.
pub struct Shared {
    server: Box<dyn Server>,
    /// The mean time between two requests of the others.
    gap: f64,
    next: Nanos,
    rng: fastrand::Rng,
}

impl Shared {
    /// Others send one request in each `gap` nanoseconds on average, drawn
    /// from `seed`.
    #[must_use]
    pub fn new(server: Box<dyn Server>, gap: f64, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let next = exponential(&mut rng, gap);
        Self { server, gap, next, rng }
    }
}

impl Server for Shared {
    fn admit(&mut self, now: Nanos) -> Verdict {
        while self.next <= now {
            self.server.admit(self.next);
            // Their answers take no time: they are strangers, not a load.
            self.server.release(self.next);
            self.next += exponential(&mut self.rng, self.gap).max(1);
        }
        self.server.admit(now)
    }

    fn release(&mut self, now: Nanos) {
        self.server.release(now);
    }

    /// The others' requests after the last arrival are not foreseen.
    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        self.server.next_admission(now)
    }
}
