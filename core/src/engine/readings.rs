//! From readings to meters: which meter a reading belongs to, and which
//! routes it binds.

use super::call::CallState;
use super::ledger::{Agreement, Ledger};
use super::scope::{Desk, Scope, bits, event};
use crate::bucket::TokenBucket;
use crate::config::Pace;
use crate::event::{Event, EventKind};
use crate::signals::{Reading, Signals};
use crate::time::{Instant, SECOND};

/// Which request was answered, and when.
#[derive(Clone, Copy, Debug)]
struct Answer {
    now: Instant,
    seq: u64,
    route: u16,
}

impl Scope {
    /// Takes in what the answer to the request `seq` of `route` says of
    /// meters. `usable` is false for readings that hold nobody beforehand.
    /// Answers the meters that it carried.
    pub(super) fn take_readings(
        &mut self,
        desk: &mut Desk<'_>,
        now: Instant,
        seq: u64,
        route: u16,
        signals: &Signals,
        usable: bool,
    ) -> Vec<u16> {
        let mut carried = Vec::new();
        for reading in &signals.meters {
            let meter = match &reading.name {
                Some(name) => self.named_meter(desk, route, name, reading.unit.as_deref()),
                None if signals.meters.iter().filter(|other| other.name.is_none()).count() > 1 => {
                    // A list of policies beside one live counter: only the
                    // counter is a meter.
                    if reading.remaining.is_none() && reading.reset.is_none() {
                        continue;
                    }
                    self.unnamed_meter(desk, now, seq, route, reading)
                }
                None => self.unnamed_meter(desk, now, seq, route, reading),
            };
            let Some(meter) = meter else { continue };
            carried.push(meter);
            self.read(desk, Answer { now, seq, route }, meter, reading, usable || reading.name.is_some());
        }
        carried
    }

    fn read(&mut self, desk: &mut Desk<'_>, answer: Answer, meter: u16, reading: &Reading, usable: bool) {
        let Answer { now, seq, route } = answer;
        let policy = desk.policy();
        let ledger = &mut self.meters[meter as usize];
        if !ledger.read(now, seq, route, reading, usable, &policy) {
            return;
        }
        if let Some(Pace::Auto { share }) = desk.config.pace {
            pace(ledger, now, share);
        }
        let (shown, name) = (&self.shown, ledger.name.as_deref());
        let seconds = ledger.reset().map(|reset| reset.since(now) as f64 / SECOND as f64);
        desk.journal.event(|| Event {
            meter: Some(name.unwrap_or("default").to_owned()),
            seconds,
            detail: Some(describe(reading)),
            ..event(EventKind::Meter, now, shown)
        });
    }

    /// The meter of that name, bound to the route.
    pub(super) fn named_meter(
        &mut self,
        desk: &mut Desk<'_>,
        route: u16,
        name: &str,
        unit: Option<&str>,
    ) -> Option<u16> {
        let known = self.meters.iter().position(|ledger| ledger.name.as_deref() == Some(name));
        let meter = match known {
            Some(meter) => meter as u16,
            None => self.add_meter(Some(name.into()), unit)?,
        };
        self.bind(desk, route, meter);
        Some(meter)
    }

    /// The unnamed meter that this reading belongs to: the scope's, until two
    /// routes show counters that cannot be one; then the route's.
    fn unnamed_meter(
        &mut self,
        desk: &mut Desk<'_>,
        now: Instant,
        seq: u64,
        route: u16,
        reading: &Reading,
    ) -> Option<u16> {
        if self.split {
            return self.route_meter(desk, now, seq, route, reading);
        }
        let Some(meter) = self.unnamed else {
            let meter = self.add_meter(None, reading.unit.as_deref())?;
            self.unnamed = Some(meter);
            self.charge_flying(desk, meter, |_| true);
            return Some(meter);
        };
        let ledger = &mut self.meters[meter as usize];
        if ledger.compare(now, seq, reading) == Agreement::Same {
            return Some(meter);
        }
        if ledger.last_route == route {
            ledger.distrust();
            return Some(meter);
        }
        // Two routes, two counters.
        let owner = ledger.last_route;
        ledger.route = Some(owner);
        self.split = true;
        self.unnamed = None;
        self.bind(desk, owner, meter);
        self.route_meter(desk, now, seq, route, reading)
    }

    fn route_meter(
        &mut self,
        desk: &mut Desk<'_>,
        now: Instant,
        seq: u64,
        route: u16,
        reading: &Reading,
    ) -> Option<u16> {
        let own = bits(self.routes[route as usize].mask).find(|meter| self.meters[*meter].route == Some(route));
        let Some(meter) = own else {
            let meter = self.add_meter(None, reading.unit.as_deref())?;
            self.meters[meter as usize].route = Some(route);
            self.bind(desk, route, meter);
            return Some(meter);
        };
        if self.meters[meter].compare(now, seq, reading) == Agreement::Contradiction {
            self.meters[meter].distrust();
        }
        Some(meter as u16)
    }

    pub(super) fn route_name(&self, call: &CallState) -> &str {
        &self.routes[call.route as usize].name
    }
}

/// A bucket that stays inside the policy: what it lets through at once and
/// what it refills within one window are together the stated limit.
fn pace(ledger: &mut Ledger, now: Instant, share: f64) {
    let (Some(limit), Some(window)) = (ledger.limit(), ledger.window()) else { return };
    if !ledger.counts_requests() || limit < 1.0 || window == 0 {
        return;
    }
    let burst = ((1.0 - share) * limit).max(1.0);
    let rate = ((limit - burst) / (window as f64 / SECOND as f64)).max(share / (window as f64 / SECOND as f64));
    let same = ledger.pacer.as_ref().is_some_and(|pacer| pacer.rate() == rate && pacer.burst() == burst);
    if !same && let Ok(mut bucket) = TokenBucket::new(rate, burst) {
        // The request that told has spent one.
        bucket.charge(now, 1.0);
        ledger.pacer = Some(bucket);
    }
}

fn describe(reading: &Reading) -> String {
    let number = |value: Option<f64>| value.map_or("?".to_owned(), |value| value.to_string());
    format!("{} of {} left", number(reading.remaining), number(reading.limit))
}
