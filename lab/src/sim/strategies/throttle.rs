//! Adaptive throttling as in Google's SRE book: a client rejects by itself
//! what a server that accepts one in K would refuse anyway.

use std::collections::VecDeque;

use super::retries::{Calls, backoff, is_refused};
use crate::dialects::Head;
use crate::servers::{Nanos, SECOND};
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

const K: f64 = 2.0;
const MEMORY: Nanos = 120 * SECOND;

/// What is rejected, by itself or by the server, comes back after a backoff.
pub(super) struct Throttle {
    calls: Calls,
    keys: Vec<History>,
    rng: fastrand::Rng,
}

#[derive(Clone, Default)]
struct History {
    requests: VecDeque<Nanos>,
    accepts: VecDeque<Nanos>,
}

impl History {
    fn rejection(&mut self, now: Nanos) -> f64 {
        for times in [&mut self.requests, &mut self.accepts] {
            while times.front().is_some_and(|at| at + MEMORY <= now) {
                times.pop_front();
            }
        }
        let (requests, accepts) = (self.requests.len() as f64, self.accepts.len() as f64);
        ((requests - K * accepts) / (requests + 1.0)).max(0.0)
    }
}

impl Throttle {
    pub(super) fn new(keys: usize, rng: fastrand::Rng) -> Self {
        Self { calls: Calls::default(), keys: vec![History::default(); keys], rng }
    }

    fn come_back(&mut self, now: Nanos, call: usize) -> Step {
        let state = self.calls.get(call);
        state.refusals += 1;
        let wait = backoff(&mut self.rng, state.refusals);
        state.not_before = now + wait;
        Step::Sleep(wait)
    }
}

impl Strategy for Throttle {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.begin(ask);
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let state = self.calls.get(call);
        let (key, not_before) = (state.key, state.not_before);
        if clock.now < not_before {
            return Step::Sleep(not_before - clock.now);
        }
        let history = &mut self.keys[key];
        let rejection = history.rejection(clock.now);
        history.requests.push_back(clock.now);
        if self.rng.f64() < rejection { self.come_back(clock.now, call) } else { Step::Send { probe: false } }
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        if is_refused(head) {
            return self.come_back(clock.now, call);
        }
        let key = self.calls.get(call).key;
        self.keys[key].accepts.push_back(clock.now);
        self.calls.remove(call);
        Step::Done
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        self.calls.remove(call);
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        Vec::new()
    }
}
