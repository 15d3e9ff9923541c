//! Counters, so that silence is visible.

use core::time::Duration;

/// What one scope did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopeStats {
    /// The scope, as it may be shown.
    pub scope: String,
    /// Requests sent.
    pub sent: u64,
    /// Responses that were refusals.
    pub refused: u64,
    /// Responses that were no refusals.
    pub accepted: u64,
    /// Requests that failed without a response.
    pub failed: u64,
    /// Waits begun.
    pub waits: u64,
    /// The sum of all waits, as elapsed time.
    pub slept: Duration,
    /// Calls that ended with an error of ours.
    pub raised: u64,
    /// Signals set aside as unusable.
    pub ignored: u64,
    /// Calls that wait now.
    pub waiting: usize,
    /// Requests in flight now.
    pub in_flight: usize,
    /// How long the scope's gate is still held.
    pub held_for: Option<Duration>,
}

/// What a limiter did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// The sum over all scopes, forgotten ones included; its `scope` is empty.
    pub total: ScopeStats,
    /// Each scope that is still known.
    pub scopes: Vec<ScopeStats>,
    /// Events that were dropped because the queue was full.
    pub dropped_events: u64,
}
