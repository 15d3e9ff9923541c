//! A concurrency limit that grows by one in each round trip and shrinks by a
//! tenth with each refusal, as in Netflix's concurrency-limits.

use std::collections::BTreeSet;

use super::retries::{Calls, is_refused};
use crate::dialects::Head;
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

const INITIAL: f64 = 10.0;
const DECREASE: f64 = 0.9;

pub(super) struct Aimd {
    calls: Calls,
    keys: Vec<Key>,
    wakes: Vec<usize>,
}

#[derive(Clone)]
struct Key {
    limit: f64,
    in_flight: u32,
    parked: BTreeSet<usize>,
}

impl Aimd {
    pub(super) fn new(keys: usize) -> Self {
        let key = Key { limit: INITIAL, in_flight: 0, parked: BTreeSet::new() };
        Self { calls: Calls::default(), keys: vec![key; keys], wakes: Vec::new() }
    }

    /// As many of those that wait are woken as fit.
    fn land(&mut self, key: usize) {
        let key = &mut self.keys[key];
        key.in_flight -= 1;
        let room = (key.limit - f64::from(key.in_flight)).max(0.0) as usize;
        self.wakes.extend(key.parked.iter().take(room));
    }
}

impl Strategy for Aimd {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.begin(ask);
    }

    fn poll(&mut self, _: Clock, call: usize) -> Step {
        let state = self.calls.get(call);
        let key = &mut self.keys[state.key];
        let others = key.parked.first().is_some_and(|first| *first < call);
        if others || f64::from(key.in_flight) + 1.0 > key.limit.max(1.0) {
            key.parked.insert(call);
            return Step::Park;
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
        let limit = &mut self.keys[key].limit;
        if is_refused(head) {
            *limit = (*limit * DECREASE).max(1.0);
            self.land(key);
            return self.poll(clock, call);
        }
        *limit += 1.0 / *limit;
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
