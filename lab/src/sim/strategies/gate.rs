//! A bare gate: everybody waits for the end of a hold, and everybody goes.

use std::collections::BTreeSet;

use super::retries::{Calls, backoff, is_refused, retry_after};
use crate::dialects::Head;
use crate::servers::Nanos;
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

/// Holds all calls of a key after a refusal. With `most`, no more than that
/// many are in flight.
pub(super) struct Gate {
    calls: Calls,
    keys: Vec<Key>,
    most: Option<usize>,
    rng: fastrand::Rng,
    wakes: Vec<usize>,
}

#[derive(Clone, Default)]
struct Key {
    held_until: Nanos,
    refusals: u32,
    in_flight: usize,
    parked: BTreeSet<usize>,
}

impl Gate {
    pub(super) fn new(keys: usize, most: Option<usize>, rng: fastrand::Rng) -> Self {
        Self { calls: Calls::default(), keys: vec![Key::default(); keys], most, rng, wakes: Vec::new() }
    }

    /// A request is no longer out: the first who waits for that goes.
    fn land(&mut self, key: usize) {
        let key = &mut self.keys[key];
        key.in_flight -= 1;
        self.wakes.extend(key.parked.first());
    }
}

impl Strategy for Gate {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.begin(ask);
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let state = self.calls.get(call);
        let key = &mut self.keys[state.key];
        let others = key.parked.first().is_some_and(|first| *first < call);
        if self.most.is_some_and(|most| key.in_flight >= most || others) {
            key.parked.insert(call);
            return Step::Park;
        }
        if clock.now < key.held_until {
            if self.most.is_some() {
                key.parked.insert(call);
            }
            return Step::Sleep(key.held_until - clock.now);
        }
        key.parked.remove(&call);
        key.in_flight += 1;
        state.flies = true;
        Step::Send { probe: false }
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        let state = self.calls.get(call);
        state.flies = false;
        let key = state.key;
        if is_refused(head) {
            let hold = &mut self.keys[key];
            let wait = match retry_after(clock, head).filter(|wait| *wait > 0) {
                Some(wait) => wait,
                // One event for all who were out together.
                None if clock.now < hold.held_until => hold.held_until - clock.now,
                None => {
                    hold.refusals += 1;
                    backoff(&mut self.rng, hold.refusals)
                }
            };
            hold.held_until = hold.held_until.max(clock.now.saturating_add(wait));
            self.land(key);
            return self.poll(clock, call);
        }
        self.keys[key].refusals = 0;
        self.land(key);
        self.calls.remove(call);
        Step::Done
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        let Some(state) = self.calls.remove(call) else { return };
        if state.flies {
            self.land(state.key);
        } else if self.keys[state.key].parked.remove(&call) {
            self.wakes.extend(self.keys[state.key].parked.first());
        }
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.wakes)
    }
}
