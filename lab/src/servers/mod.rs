//! Rate-limiting servers without I/O: a request's arrival goes in, a verdict
//! comes out.
//!
//! All of them count in whole nanoseconds from a start of their own, so that
//! the virtual-time lab and the real stub run the very same code and a run can
//! be repeated to the nanosecond.

mod anchored;
mod concurrency;
mod fixed;
mod leaky_queue;
mod optimum;
mod policies;
mod rate;
mod shared;
mod sliding_counter;
mod sliding_log;
mod spec;
mod token_bucket;

pub use anchored::Anchored;
pub use concurrency::Concurrency;
pub use fixed::Fixed;
pub use leaky_queue::LeakyQueue;
pub use optimum::{Best, optimum, schedule};
pub use policies::{Policies, Policy};
pub use rate::Rate;
pub use shared::Shared;
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use spec::{Spec, SpecError};
pub use token_bucket::TokenBucket;

/// Nanoseconds from the server's start.
pub type Nanos = u64;

/// One second.
pub const SECOND: Nanos = 1_000_000_000;

/// A server that admits or refuses.
///
/// Readings of the clock never go backwards from one method call to the next.
pub trait Server: Send {
    /// Judges a request that arrives at `now`.
    fn admit(&mut self, now: Nanos) -> Verdict;

    /// The answer to an admitted request has been given. Only servers that
    /// count requests in progress care.
    fn release(&mut self, now: Nanos) {
        let _ = now;
    }

    /// The earliest instant, not before `now`, at which a request is admitted
    /// if none arrives until then. `None` if that depends on a
    /// [`release`](Self::release).
    fn next_admission(&self, now: Nanos) -> Option<Nanos>;
}

/// What a server makes of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is admitted.
    pub accepted: bool,
    /// The quotas that count it, after it was counted; the one nearest to
    /// exhaustion first.
    pub quotas: Vec<Quota>,
    /// How long until a request would be admitted. `None` on an admitted
    /// request, and where the server cannot know.
    pub retry_after: Option<Nanos>,
    /// How long the server keeps the request before it answers.
    pub delay: Nanos,
}

impl Verdict {
    /// An admitted request that is answered at once.
    #[must_use]
    pub fn accepted(quota: Quota) -> Self {
        Self { accepted: true, quotas: vec![quota], retry_after: None, delay: 0 }
    }

    /// A refused request.
    #[must_use]
    pub fn refused(quota: Quota, retry_after: Option<Nanos>) -> Self {
        Self { accepted: false, quotas: vec![quota], retry_after, delay: 0 }
    }
}

/// What a server knows of one of its quotas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its name, as structured headers show it.
    pub name: String,
    /// How much it allows in one window, or at once.
    pub limit: u64,
    /// How much is left.
    pub remaining: u64,
    /// How long until more is available. `None` if nobody knows.
    pub reset: Option<Nanos>,
    /// The window's length. `None` if there is none.
    pub window: Option<Nanos>,
    /// What it counts.
    pub unit: CountedUnit,
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedUnit {
    /// Requests within a time.
    Requests,
    /// Requests in progress at once.
    ConcurrentRequests,
}

/// The name of a server's only quota.
const DEFAULT_QUOTA: &str = "default";
