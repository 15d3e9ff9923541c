//! The best possible client: it knows the server.

use std::collections::{BTreeMap, VecDeque};

use crate::dialects::Head;
use crate::servers::{Nanos, Server};
use crate::sim::cell::Cell;
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

/// Acts for all processes at once, and sends each call so that it arrives at
/// the first instant at which it is admitted, in order. Of a concurrency cap
/// it uses the slots that it has seen freed; of round trips it knows the
/// median; of other users, what they leave.
pub(super) struct Oracle {
    mirrors: Vec<Mirror>,
    calls: BTreeMap<usize, Plan>,
    there: Nanos,
    back: Nanos,
    wakes: Vec<usize>,
}

struct Mirror {
    server: Box<dyn Server>,
    /// The last arrival that was planned.
    last: Nanos,
    /// Calls that wait for a slot.
    parked: VecDeque<usize>,
}

#[derive(Clone, Copy)]
struct Plan {
    key: usize,
    deadline: Option<Nanos>,
    send_at: Option<Nanos>,
}

impl Oracle {
    pub(super) fn new(cell: &Cell) -> Self {
        let mirror = |server| Mirror { server, last: 0, parked: VecDeque::new() };
        let rtt = cell.rtt.median();
        Self {
            mirrors: cell.servers().map(|spec| mirror(spec.left().build())).collect(),
            calls: BTreeMap::new(),
            there: rtt / 2,
            back: rtt - rtt / 2,
            wakes: Vec::new(),
        }
    }

    fn release(&mut self, key: usize) {
        let mirror = &mut self.mirrors[key];
        mirror.server.release(mirror.last);
        self.wakes.extend(mirror.parked.pop_front());
    }
}

impl Strategy for Oracle {
    fn begin(&mut self, _: Clock, ask: Ask) {
        self.calls.insert(ask.call, Plan { key: ask.key, deadline: ask.deadline, send_at: None });
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let Some(plan) = self.calls.get_mut(&call) else { return Step::Fail("unknown") };
        let send_at = match plan.send_at {
            Some(send_at) => send_at,
            None => {
                let mirror = &mut self.mirrors[plan.key];
                let earliest = mirror.last.max(clock.now + self.there);
                let Some(arrival) = mirror.server.next_admission(earliest) else {
                    mirror.parked.push_back(call);
                    return Step::Park;
                };
                if plan.deadline.is_some_and(|deadline| arrival + self.back > deadline) {
                    self.calls.remove(&call);
                    return Step::Fail("deadline");
                }
                mirror.server.admit(arrival);
                mirror.last = arrival;
                plan.send_at = Some(arrival - self.there);
                arrival - self.there
            }
        };
        if clock.now < send_at { Step::Sleep(send_at - clock.now) } else { Step::Send { probe: false } }
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        let Some(plan) = self.calls.get_mut(&call) else { return Step::Fail("unknown") };
        let key = plan.key;
        if head.status == 429 {
            plan.send_at = None;
            return self.poll(clock, call);
        }
        self.calls.remove(&call);
        self.release(key);
        Step::Done
    }

    fn cancel(&mut self, _: Clock, call: usize) {
        let Some(plan) = self.calls.remove(&call) else { return };
        match plan.send_at {
            Some(_) => self.release(plan.key),
            None => self.mirrors[plan.key].parked.retain(|parked| *parked != call),
        }
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.wakes)
    }
}
