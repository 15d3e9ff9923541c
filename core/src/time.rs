//! The two clocks, as plain numbers that the caller reads.
//!
//! Every wait is measured on the monotonic clock. The wall clock serves one
//! purpose: to read a date or an epoch that a server sent, when the response
//! carries no `Date` of its own to read it against.

use core::time::Duration;

/// Nanoseconds in one second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in one millisecond.
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// A reading of a monotonic clock: nanoseconds from an arbitrary start.
///
/// Zero has no meaning of its own. Arithmetic saturates, so that no input can
/// make it wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The reading that is `nanos` nanoseconds after the clock's start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds from the clock's start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`; 0 if `earlier` is later.
    #[must_use]
    pub(crate) const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// `nanos` nanoseconds later.
    #[must_use]
    pub(crate) const fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

/// A reading of the wall clock: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(i64);

impl Wall {
    /// The wall time that is `nanos` nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The wall time that is `seconds` after the Unix epoch. `None` if the
    /// number is not finite or lies outside the years 1678 to 2262.
    #[must_use]
    pub fn from_unix_seconds(seconds: f64) -> Option<Self> {
        let nanos = seconds * 1e9;
        (nanos.is_finite() && nanos.abs() < i64::MAX as f64).then_some(Self(nanos as i64))
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_unix_nanos(self) -> i64 {
        self.0
    }

    /// Seconds since the Unix epoch.
    #[must_use]
    pub fn as_unix_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock.
    pub mono: Instant,
    /// The wall clock, if the driver has one.
    pub wall: Option<Wall>,
}

impl Now {
    /// A moment known by the monotonic clock alone.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { mono: Instant::from_nanos(nanos), wall: None }
    }

    /// The same moment with a reading of the wall clock.
    #[must_use]
    pub const fn with_wall(self, wall: Wall) -> Self {
        Self { mono: self.mono, wall: Some(wall) }
    }
}

/// A duration in whole nanoseconds, saturating.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
