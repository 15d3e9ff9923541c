//! What users see of a meter.

use core::time::Duration;

use crate::time::Instant;

/// What the server last said about one quota. Each field may be absent: then
/// the server did not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    /// The quota's name; `None` for an unnamed one.
    pub name: Option<String>,
    /// The route that it was learned for, where several unnamed ones differ.
    pub route: Option<String>,
    /// How much the quota allows in one window.
    pub limit: Option<f64>,
    /// How much is left, by the server's own word.
    pub remaining: Option<f64>,
    /// When more is available, on the monotonic clock.
    pub reset: Option<Instant>,
    /// The window's length.
    pub window: Option<Duration>,
    /// What is counted.
    pub unit: Option<String>,
    /// The policy's name, where it is another than the quota's.
    pub policy: Option<String>,
}

impl Meter {
    /// True only if the server said that nothing is left.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.remaining.is_some_and(|left| left <= 0.0)
    }

    /// How long until more is available, asked at `now`; zero once it has
    /// passed, `None` if the server did not say.
    #[must_use]
    pub fn until_reset(&self, now: Instant) -> Option<Duration> {
        self.reset.map(|reset| Duration::from_nanos(reset.since(now)))
    }
}
