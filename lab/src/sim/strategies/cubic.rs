//! The adaptive retry mode of the AWS SDKs: a token bucket on sends whose rate
//! follows CUBIC, once a first refusal was met.

use super::retries::{Calls, backoff, is_refused};
use crate::dialects::Head;
use crate::servers::{Nanos, SECOND};
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

const MIN_FILL_RATE: f64 = 0.5;
const MIN_CAPACITY: f64 = 1.0;
const SMOOTH: f64 = 0.8;
const BETA: f64 = 0.7;
const SCALE: f64 = 0.4;

pub(super) struct Cubic {
    calls: Calls,
    keys: Vec<Bucket>,
    rng: fastrand::Rng,
}

/// All times in seconds.
#[derive(Clone, Default)]
struct Bucket {
    enabled: bool,
    fill_rate: f64,
    max_capacity: f64,
    capacity: f64,
    filled_at: f64,
    measured_rate: f64,
    /// The half second that is being counted, and what it holds.
    half_second: f64,
    requests: f64,
    last_max_rate: f64,
    time_window: f64,
    throttled_at: f64,
}

impl Bucket {
    /// `None` if a request may go; else the time to the next token.
    fn take(&mut self, now: f64) -> Option<f64> {
        if !self.enabled {
            return None;
        }
        self.refill(now);
        if self.capacity < 1.0 {
            return Some((1.0 - self.capacity) / self.fill_rate);
        }
        self.capacity -= 1.0;
        None
    }

    fn refill(&mut self, now: f64) {
        self.capacity = self.max_capacity.min(self.capacity + (now - self.filled_at) * self.fill_rate);
        self.filled_at = now;
    }

    fn answered(&mut self, now: f64, throttled: bool) {
        self.measure(now);
        let rate = if throttled {
            let rate = if self.enabled { self.measured_rate.min(self.fill_rate) } else { self.measured_rate };
            self.last_max_rate = rate;
            self.throttled_at = now;
            self.enabled = true;
            rate * BETA
        } else {
            let since = now - self.throttled_at - self.time_window;
            SCALE * since * since * since + self.last_max_rate
        };
        self.time_window = libm::cbrt(self.last_max_rate * (1.0 - BETA) / SCALE);
        if self.enabled {
            self.set_rate(now, rate.min(2.0 * self.measured_rate));
        }
    }

    fn set_rate(&mut self, now: f64, rate: f64) {
        self.refill(now);
        self.fill_rate = rate.max(MIN_FILL_RATE);
        self.max_capacity = rate.max(MIN_CAPACITY);
        self.capacity = self.capacity.min(self.max_capacity);
    }

    fn measure(&mut self, now: f64) {
        let half_second = (now * 2.0).floor() / 2.0;
        self.requests += 1.0;
        if half_second > self.half_second {
            let rate = self.requests / (half_second - self.half_second);
            self.measured_rate = rate * SMOOTH + self.measured_rate * (1.0 - SMOOTH);
            self.requests = 0.0;
            self.half_second = half_second;
        }
    }
}

impl Cubic {
    pub(super) fn new(keys: usize, rng: fastrand::Rng) -> Self {
        Self { calls: Calls::default(), keys: vec![Bucket::default(); keys], rng }
    }
}

fn seconds(now: Nanos) -> f64 {
    now as f64 / SECOND as f64
}

impl Strategy for Cubic {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.begin(ask);
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let state = self.calls.get(call);
        if clock.now < state.not_before {
            return Step::Sleep(state.not_before - clock.now);
        }
        match self.keys[state.key].take(seconds(clock.now)) {
            Some(wait) => Step::Sleep(((wait * SECOND as f64).ceil() as Nanos).max(1)),
            None => Step::Send { probe: false },
        }
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        let state = self.calls.get(call);
        let refused = is_refused(head);
        self.keys[state.key].answered(seconds(clock.now), refused);
        if !refused {
            self.calls.remove(call);
            return Step::Done;
        }
        state.refusals += 1;
        let wait = backoff(&mut self.rng, state.refusals);
        state.not_before = clock.now + wait;
        Step::Sleep(wait)
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        self.calls.remove(call);
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        Vec::new()
    }
}
