//! Before a wait begins: does it fit into the call's budgets, and who is told?

use core::time::Duration;

use super::call::{CallState, Phase};
use super::scope::{Block, Kind, Scope, event};
use super::{CallId, Engine, GONE, raise};
use crate::config::{BeyondMax, OnExhausted};
use crate::decision::{Decision, Reason};
use crate::error::{Details, Error, RateLimitExceeded};
use crate::event::{Event, EventKind};
use crate::time::{Instant, SECOND, nanos};

/// Holds of this length are logged as a warning.
const LONG_HOLD: u64 = 5 * SECOND;

/// A budget that a wait does not fit into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overrun {
    pub(super) limit_name: &'static str,
    pub(super) limit_value: Option<u64>,
    /// What the server asked, if it asked.
    pub(super) asked: Option<u64>,
    /// When a call could be sent.
    pub(super) available_in: Option<u64>,
    pub(super) meter: Option<u16>,
}

impl Overrun {
    pub(super) fn of(limit_name: &'static str) -> Self {
        Self { limit_name, limit_value: None, asked: None, available_in: None, meter: None }
    }
}

impl Engine {
    /// The call waits for what blocks it, if that fits.
    pub(super) fn wait(&mut self, now: Instant, id: CallId, block: Block) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let scope = call.scope;
        match self.check(now, call, &block) {
            Err(overrun) => self.overrun(now, id, overrun),
            Ok(until) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.sleeps_until = until;
                }
                let wait = until.since(now).max(1);
                self.tell_wait(now, id, scope, wait, block.reason, block.meter);
                Decision::Sleep { wait: Duration::from_nanos(wait), reason: block.reason }
            }
        }
    }

    /// The end of the wait, if it fits into every budget that counts for it.
    fn check(&self, now: Instant, call: &CallState, block: &Block) -> Result<Instant, Overrun> {
        let config = &self.config;
        let home = &self.scopes[call.scope];
        let expected = home.expected(call, block).max(now);
        let wait = expected.since(now);
        let overrun = |limit_name, limit_value| Overrun {
            limit_name,
            limit_value,
            asked: block.asked,
            available_in: (block.kind >= Kind::Pace).then_some(wait),
            meter: block.meter,
        };
        if block.kind == Kind::Never {
            return Err(Overrun { asked: None, available_in: None, ..overrun("cost", None) });
        }
        // A meter with too little left keeps a call waiting as an empty one
        // does: until the reset that the server stated.
        if block.kind == Kind::Spent
            && config.beyond_max == BeyondMax::Raise
            && let Some(cap) = config.max_retry_after.map(nanos)
            && block.asked.unwrap_or(block.asked_until.since(now)) > cap
        {
            return Err(overrun("max_retry_after", Some(cap)));
        }
        // At a given pace those behind need not ask before their own turn: with
        // many of them it would be a poll of each for each that goes.
        let mut until = if block.kind == Kind::Pace { block.until.max(expected) } else { block.until };
        if let Some(deadline) = call.deadline {
            if now >= deadline || expected > deadline {
                return Err(overrun("deadline", None));
            }
            until = until.min(deadline);
        }
        if let (Some(cap), true) = (config.total_sleep().map(nanos), call.refused_at.is_some()) {
            let slept = call.slept_until(now);
            if slept.saturating_add(wait) > cap || slept >= cap && wait == 0 {
                return Err(overrun("max_total_sleep", Some(cap)));
            }
            until = until.min(now.after(cap - slept));
        }
        if let (Some(cap), true) = (config.max_queue_wait.map(nanos), call.queued_since.is_some()) {
            let queued = call.queued_until(now);
            if queued.saturating_add(wait) > cap || queued >= cap && wait == 0 {
                return Err(overrun("max_queue_wait", Some(cap)));
            }
            until = until.min(now.after(cap - queued));
        }
        if let (Some(cap), Some(since), Kind::Hold) =
            (config.rate_limit_duration().map(nanos), block.episode, block.kind)
            && block.asked_until.since(since) > cap
        {
            return Err(overrun("max_rate_limit_duration", Some(cap)));
        }
        Ok(until)
    }

    /// The call waits for itself alone.
    pub(super) fn pause(&mut self, now: Instant, id: CallId) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let Phase::Pausing { until, asked, reason } = call.phase else { return raise(GONE) };
        if let Some(deadline) = call.deadline
            && until > deadline
        {
            let overrun = Overrun {
                limit_name: "deadline",
                limit_value: None,
                asked,
                available_in: Some(until.since(now)),
                meter: None,
            };
            return self.overrun(now, id, overrun);
        }
        let wait = until.since(now).max(1);
        let scope = call.scope;
        self.tell_wait(now, id, scope, wait, reason, None);
        Decision::Sleep { wait: Duration::from_nanos(wait), reason }
    }

    /// What does not fit is not begun: the refusal that the call holds is
    /// handed over, or an error is raised.
    pub(super) fn overrun(&mut self, now: Instant, id: CallId, overrun: Overrun) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        if self.config.on_exhausted == OnExhausted::Return && call.last.is_some() {
            return self.hand_over(now, id);
        }
        let error = self.exceeded(call, &overrun);
        self.fail(now, id, error)
    }

    /// The call's last refusal goes to the caller as an ordinary response.
    pub(super) fn hand_over(&mut self, now: Instant, id: CallId) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let (scope, waits) = (call.scope, call.is_waiting());
        let (home, mut desk) = self.at(scope);
        home.leave(&mut desk, now, id);
        if let Some(call) = desk.calls.get_mut(id) {
            // It was buffered before the wait: no slot is taken.
            call.phase = Phase::Delivered { reason: Reason::Exceeded, slot: false };
            let waker = call.waker.take();
            if waits {
                desk.journal.wake(id, waker);
            }
        }
        self.settle_down(now, scope);
        Decision::Deliver { reason: Reason::Exceeded }
    }

    pub(super) fn exceeded(&self, call: &CallState, overrun: &Overrun) -> Error {
        let home = &self.scopes[call.scope];
        let mut details = details(home, call);
        if let Some(name) = overrun.meter.and_then(|meter| home.meters[meter as usize].name.as_deref()) {
            details.meter = Some(name.to_owned());
        }
        Error::Exceeded(RateLimitExceeded {
            retry_after: overrun.asked.map(Duration::from_nanos),
            limit_name: overrun.limit_name,
            limit_value: overrun.limit_value.map(Duration::from_nanos),
            available_in: overrun.available_in.map(Duration::from_nanos),
            details,
        })
    }

    /// No silent wait: said once for each wait, before it begins.
    fn tell_wait(&mut self, now: Instant, id: CallId, scope: u32, wait: u64, reason: Reason, meter: Option<u16>) {
        let (home, desk) = self.at(scope);
        let Some(call) = desk.calls.get_mut(id) else { return };
        if call.waiting_for == Some(reason) {
            return;
        }
        if call.waiting_for.replace(reason).is_none() {
            home.stats.waits += 1;
        }
        let (home, call) = (&*home, &*call);
        let seconds = wait as f64 / SECOND as f64;
        let name = meter.and_then(|meter| home.meters[meter as usize].name.as_deref());
        desk.journal.event(|| Event {
            seconds: Some(seconds),
            reason: Some(reason),
            meter: name.map(str::to_owned),
            ..home.call_event(EventKind::Waiting, now, call)
        });
        desk.journal.notice(false, || {
            format!(
                "{} {} of {} waits {seconds:.3} s: {}",
                call.method.name(),
                home.route_name(call),
                home.shown,
                reason.name()
            )
        });
        self.announce_spent(scope, wait, reason, meter);
    }

    /// A spent meter holds like a gate: a long wait for it is logged once.
    fn announce_spent(&mut self, scope: u32, wait: u64, reason: Reason, meter: Option<u16>) {
        let (home, desk) = self.at(scope);
        let (Some(meter), Reason::Spent) = (meter, reason) else { return };
        let waiting = home.queue.len();
        let ledger = &mut home.meters[meter as usize];
        let reset = ledger.reset();
        if wait < LONG_HOLD || core::mem::replace(&mut ledger.announced, reset) == reset {
            return;
        }
        let name = ledger.name.as_deref().unwrap_or("default");
        let shown = &home.shown;
        desk.journal.notice(true, || {
            format!(
                "{shown}: meter {name} is spent, holding {} for {:.1} s",
                calls(waiting),
                wait as f64 / SECOND as f64
            )
        });
    }

    /// A hold began or was extended.
    pub(super) fn announce_hold(&mut self, now: Instant, scope: u32, meter: Option<u16>, status: u16) {
        let (home, desk) = self.at(scope);
        let waiting = home.queue.len();
        let gate = match meter {
            Some(meter) => &mut home.meters[meter as usize].gate,
            None => &mut home.gate,
        };
        let (wait, reason) = (gate.until().since(now), gate.reason());
        let seconds = wait as f64 / SECOND as f64;
        let announce = wait >= LONG_HOLD && !gate.announced;
        gate.announced |= announce;
        let name = meter.map(|meter| home.meters[meter as usize].name.as_deref().unwrap_or("default"));
        let shown = &home.shown;
        desk.journal.event(|| Event {
            seconds: Some(seconds),
            reason: Some(reason),
            meter: name.map(str::to_owned),
            waiting,
            ..event(EventKind::Held, now, shown)
        });
        if announce {
            desk.journal.notice(true, || {
                let what = name.map_or_else(String::new, |name| format!(" (meter {name})"));
                let why =
                    if reason == Reason::Held { "the server asked for it" } else { "backoff, the server gave no time" };
                format!(
                    "{shown}{what} refused with status {status}: holding {} for {seconds:.1} s, {why}",
                    calls(waiting)
                )
            });
        }
    }
}

fn calls(waiting: usize) -> String {
    match waiting {
        0 => "further calls".to_owned(),
        1 => "1 waiting call".to_owned(),
        many => format!("{many} waiting calls"),
    }
}

/// What is known of a call's refusal.
pub(super) fn details(home: &Scope, call: &CallState) -> Box<Details> {
    let last = call.last.as_deref();
    Box::new(Details {
        scope: home.shown.clone(),
        meter: last.and_then(|last| last.meter.as_deref()).map(str::to_owned),
        status: last.map(|last| last.status),
        limit: last.and_then(|last| last.limit),
        hint: last.and_then(|last| last.hint.as_deref()).map(str::to_owned),
        attempts: call.sends,
    })
}
