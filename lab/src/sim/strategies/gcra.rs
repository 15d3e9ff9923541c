//! A client-side rate limiter that reads nothing: everybody's `Quota`.

use super::retries::{Calls, backoff, is_refused, retry_after};
use crate::dialects::Head;
use crate::servers::{Nanos, SECOND};
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

/// Sends one request in each interval, of each key; retries each call by
/// itself.
pub(super) struct Gcra {
    calls: Calls,
    keys: Vec<Key>,
    rng: fastrand::Rng,
}

#[derive(Clone, Copy)]
struct Key {
    interval: Nanos,
    /// When the next request conforms.
    next: Nanos,
}

impl Gcra {
    /// `rates` are the servers' rates per second, `factor` is what the client
    /// makes of them.
    pub(super) fn new(rates: &[f64], factor: f64, rng: fastrand::Rng) -> Self {
        let key = |rate: &f64| Key { interval: (SECOND as f64 / (rate * factor)).ceil() as Nanos, next: 0 };
        Self { calls: Calls::default(), keys: rates.iter().map(key).collect(), rng }
    }
}

impl Strategy for Gcra {
    fn begin(&mut self, clock: Clock, ask: Ask) {
        self.calls.begin(ask);
        self.reserve(clock.now, ask.call);
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
        let wait = retry_after(clock, head).filter(|wait| *wait > 0);
        let wait = wait.unwrap_or_else(|| backoff(&mut self.rng, state.refusals));
        self.reserve(clock.now.saturating_add(wait), call);
        self.poll(clock, call)
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        self.calls.remove(call);
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        Vec::new()
    }
}

impl Gcra {
    fn reserve(&mut self, earliest: Nanos, call: usize) {
        let state = self.calls.get(call);
        let key = &mut self.keys[state.key];
        state.not_before = key.next.max(earliest);
        key.next = state.not_before + key.interval;
    }
}
