//! What a gate learned of a quota that the server does not state.
//!
//! After one full cycle (from one release to the next) the number accepted in
//! between is known. The next cycle sends that many and goes on with as few in
//! flight as the long-run rate needs (Little's law), so that the quota's end
//! costs one refusal instead of a whole flight. It sends them in flights that
//! grow as the first ones did, where the cycle leaves time for that: a sliding
//! window gives places back as they were taken.

use super::window::Window;
use crate::time::Instant;

/// A cycle lasts at least so many times as long as the flights that grow at
/// its beginning.
const PATIENCE: f64 = 12.0;

/// Cycles that differ by no more than this share accepted the same quota.
const SAME: u32 = 20;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Requests accepted in the last full cycle.
    learned: Option<u32>,
    /// Sends of this cycle that were not refused.
    sent: u32,
    /// Requests accepted in this cycle.
    accepted: u32,
    /// When this cycle began.
    since: Option<Instant>,
    /// How long the last full cycle took: when a cycle without refusal has
    /// lasted as long, the quota is taken to be back.
    period: u64,
    /// In flight beyond what is learned; grows slowly while nothing is
    /// refused.
    beyond: f64,
    /// Whether the last two cycles accepted as many: then it is a quota, and
    /// no rate that goes on giving.
    settled: bool,
}

impl Budget {
    /// Whether one more may be sent beside `in_flight` others, `offered` of
    /// which are only about to be sent. `None` if
    /// nothing is learned yet.
    pub(super) fn allows(&mut self, now: Instant, in_flight: u32, offered: u32) -> Option<bool> {
        let learned = self.learned?;
        if self.period > 0 && self.since.is_some_and(|since| now.since(since) >= self.period) {
            self.since = Some(now);
            self.sent = in_flight.saturating_sub(offered);
            self.accepted = 0;
        }
        Some(self.sent.saturating_add(offered) < learned || f64::from(in_flight) < self.beyond.max(1.0))
    }

    /// Whether the quota can wait for flights that grow as the first ones did:
    /// they take little of the cycle. True where nothing is learned.
    pub(super) fn has_time(&self, window: &Window, rtt: u64) -> bool {
        let Some(learned) = self.learned else { return true };
        window.flights_to(learned).is_some_and(|flights| flights * rtt as f64 * PATIENCE <= self.period as f64)
    }

    pub(super) fn sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.sent = self.sent.saturating_add(1);
    }

    /// A send that spent nothing: refused, or never sent.
    pub(super) fn unsent(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    pub(super) fn accepted(&mut self) {
        self.accepted = self.accepted.saturating_add(1);
        if self.learned.is_some_and(|learned| self.accepted > learned) {
            self.beyond += 1.0 / self.beyond.max(1.0);
        }
    }

    /// The hold is over and a probe was accepted: a new cycle begins, and the
    /// probe is its first request.
    pub(super) fn release(&mut self, now: Instant) {
        // Without a cycle before, what was accepted is only the rest of a
        // window, yet it is the best guess there is.
        if self.accepted > 0 {
            self.settled = self.learned.is_some_and(|learned| self.accepted.abs_diff(learned) <= learned / SAME);
            self.learned = Some(self.accepted);
            self.period = self.since.map_or(0, |since| now.since(since));
        }
        self.since = Some(now);
        self.accepted = 1;
        self.sent = 1;
    }

    /// As many in flight as the long-run rate needs at that round trip; one,
    /// if it is no rate.
    pub(super) fn set_beyond(&mut self, rtt: u64) {
        let learned = if self.settled { 0.0 } else { f64::from(self.learned.unwrap_or(0)) };
        self.beyond = (learned * rtt as f64 / self.period.max(1) as f64).ceil().clamp(1.0, learned.max(1.0));
    }
}
