//! The usual retry: each call by itself.

use super::retries::{Calls, backoff, is_refused, retry_after};
use crate::dialects::Head;
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

/// Sends at once; after a refusal sleeps its `Retry-After`, or a backoff with
/// full jitter, and sends again.
pub(super) struct PerRequest {
    calls: Calls,
    attempts: Option<u32>,
    rng: fastrand::Rng,
}

impl PerRequest {
    pub(super) fn new(attempts: Option<u32>, rng: fastrand::Rng) -> Self {
        Self { calls: Calls::default(), attempts, rng }
    }
}

impl Strategy for PerRequest {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.begin(ask);
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let not_before = self.calls.get(call).not_before;
        if clock.now < not_before { Step::Sleep(not_before - clock.now) } else { Step::Send { probe: false } }
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        if !is_refused(head) {
            self.calls.remove(call);
            return Step::Done;
        }
        let state = self.calls.get(call);
        state.refusals += 1;
        if self.attempts.is_some_and(|most| state.refusals >= most) {
            self.calls.remove(call);
            return Step::Fail("attempts");
        }
        let wait = retry_after(clock, head).filter(|wait| *wait > 0);
        let wait = wait.unwrap_or_else(|| backoff(&mut self.rng, state.refusals));
        state.not_before = clock.now.saturating_add(wait);
        Step::Sleep(wait)
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        self.calls.remove(call);
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        Vec::new()
    }
}
