//! A rate that needs no floating point.

use super::{Nanos, SECOND};

/// Requests per second, in thousandths.
///
/// Work is measured in units of which one request takes
/// [`UNITS`](Self::UNITS) and one nanosecond yields as many as the rate has
/// thousandths, so that every rate of three decimals is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    thousandths: u64,
}

impl Rate {
    /// Units of work in one request.
    pub const UNITS: u128 = SECOND as u128 * 1000;

    /// The rate of `thousandths` requests per 1000 seconds. `None` if zero.
    #[must_use]
    pub fn from_thousandths(thousandths: u64) -> Option<Self> {
        (thousandths > 0).then_some(Self { thousandths })
    }

    /// Requests per 1000 seconds.
    #[must_use]
    pub fn thousandths(self) -> u64 {
        self.thousandths
    }

    /// The units of work done in `span`.
    #[must_use]
    pub fn units(self, span: Nanos) -> u128 {
        u128::from(span) * u128::from(self.thousandths)
    }

    /// The time that `units` of work take, rounded up.
    #[must_use]
    pub fn time(self, units: u128) -> Nanos {
        u64::try_from(units.div_ceil(u128::from(self.thousandths))).unwrap_or(u64::MAX)
    }
}
