//! Quotas that come back little by little, though their headers name an
//! instant.
//!
//! A counter that approximates a sliding window states the end of its window
//! as the reset. When that comes, the full window before still counts: nothing
//! is left, and a refusal names a wait far below the next reset. To wait for
//! the resets of such a meter is to use half of the quota. What comes back
//! evenly is taken evenly: one request for each share of the window.

use crate::time::Instant;

/// A wait is short that many of which fit into the time until the reset.
const SHORT: u64 = 4;
/// Refusals in a row that make the headers believed again.
const STRIKES: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gradual {
    /// The last request sent when the meter's reset came, until a later one
    /// is answered.
    came: Option<u64>,
    /// Whether that answer said that nothing is left.
    stalled: bool,
    /// The longest time that was stated until a reset.
    longest: u64,
    on: bool,
    strikes: u32,
}

impl Gradual {
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// The reset came; `last` is the last request sent.
    pub(super) fn reset_came(&mut self, last: u64) {
        self.came = Some(last);
    }

    /// The answer to the request `seq` says whether nothing is left, and how
    /// long until the reset.
    pub(super) fn read(&mut self, seq: u64, empty: bool, until_reset: u64) {
        self.longest = self.longest.max(until_reset);
        if self.came.is_some_and(|last| seq > last) {
            self.came = None;
            self.stalled = empty;
        }
    }

    /// A request was refused; `asked` is the wait that the server stated
    /// apart from the reset.
    pub(super) fn refused(&mut self, now: Instant, asked: Option<u64>, reset: Option<Instant>) {
        if self.on {
            self.strikes += 1;
            self.on = self.strikes < STRIKES;
            self.stalled = false;
            return;
        }
        let (Some(asked), Some(reset)) = (asked, reset) else { return };
        if self.stalled && asked.saturating_mul(SHORT) <= reset.since(now) {
            self.on = true;
            self.strikes = 0;
        }
    }

    pub(super) fn accepted(&mut self) {
        self.strikes = 0;
    }

    /// From one request to the next.
    pub(super) fn distance(&self, limit: Option<f64>, window: Option<u64>) -> u64 {
        let even = window.unwrap_or(self.longest) as f64 / limit.unwrap_or(1.0).max(1.0);
        // Not sooner than it comes back.
        (even * 17.0 / 16.0) as u64
    }
}
