//! The engine: calls in, decisions out.
//!
//! A response head becomes signals (`crate::signals`), signals become meters
//! ([`ledger`]) and holds ([`gate`]), and these decide who may go ([`scope`]),
//! in which order ([`queue`]). What is decided is told ([`journal`]).
//!
//! The driver's contract:
//!
//! 1. [`begin`](Engine::begin) a call, then [`poll`](Engine::poll) it.
//! 2. *Sleep* is advice: after it, or when woken, or at any other time, poll
//!    again with the real clock. Early polls are answered with the remainder.
//! 3. *Send* is permission for one request; report its outcome.
//! 4. A turn that is not claimed within 100 ms blocks nobody.
//! 5. [`finish`](Engine::finish) when the response is read, or at once.

use core::task::Waker;
use std::hash::{BuildHasher, Hasher};

use crate::config::{Config, ConfigError};
use crate::decision::{Decision, Reason};
use crate::error::Error;
use crate::event::{Event, EventKind, Notice};
use crate::head::{FailureKind, Response};
use crate::meter::Meter;
use crate::request::Request;
use crate::signals::Signals;
use crate::stats::{ScopeStats, Stats};
use crate::time::{Instant, Now};

mod budget;
mod call;
mod gate;
mod gradual;
mod journal;
mod ledger;
mod queue;
mod readings;
mod recovery;
mod refusals;
mod scope;
mod scopes;
mod sharing;
mod waits;
mod window;

use call::{CallState, Calls, Method, Phase};
use journal::Journal;
use scope::{Desk, Kind, Scope};
use scopes::Scopes;

/// A call's id: a slot and the generation that lives in it, so that an id
/// kept too long means nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    slot: u32,
    generation: u32,
}

impl CallId {
    /// As one number, for hosts.
    #[must_use]
    pub fn as_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }
}

/// The state behind a [`Limiter`](crate::Limiter).
#[derive(Debug)]
pub struct Engine {
    config: Config,
    calls: Calls,
    scopes: Scopes,
    journal: Journal,
    rng: fastrand::Rng,
    /// The latest reading of the clock: one that goes back changes nothing.
    now: Instant,
    next_rank: u64,
    closed: bool,
}

const GONE: Error = Error::Misuse("this call is over: begin a new one");
const OUT_OF_TURN: Error = Error::Misuse("the request is out: report its outcome with on_response or on_failure first");
const NOT_SENT: Error = Error::Misuse("no request of this call is out: poll it until it says send");

impl Engine {
    /// An engine that knows nothing of any server yet. The config is taken as
    /// checked.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let seed = config.seed.unwrap_or_else(|| std::hash::RandomState::new().build_hasher().finish());
        let mut rng = fastrand::Rng::with_seed(seed);
        let scopes = Scopes::new(&config, rng.fork());
        Self {
            calls: Calls::default(),
            scopes,
            journal: Journal::default(),
            rng,
            now: Instant::default(),
            next_rank: 0,
            closed: false,
            config,
        }
    }

    /// Begins a call.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] for an argument that cannot be.
    pub fn begin(&mut self, now: Now, request: &Request<'_>) -> Result<CallId, Error> {
        let now = self.advance(now);
        let (requests, other_costs) = costs(request.cost)?;
        let scope = self.scopes.find(&self.config, &mut self.journal, now, request)?;
        let home = &mut self.scopes[scope];
        let method = Method::new(request.method);
        let route = match request.route {
            Some(name) => {
                let route = home.route(name);
                home.pace_route(route, &self.config);
                route
            }
            None => home.route(&crate::keys::route(method.name(), request.url)),
        };
        home.calls += 1;
        home.used_at = now;
        let idempotent = method.is_idempotent() || request.headers.is_some_and(crate::keys::idempotency_key);
        self.next_rank += 1;
        Ok(self.calls.insert(CallState {
            scope,
            route,
            idempotent,
            method,
            rank: (core::cmp::Reverse(request.priority), self.next_rank),
            requests,
            other_costs,
            deadline: request.deadline,
            retry: request.retry,
            replayable: request.replayable,
            nested: request.nested,
            phase: Phase::Idle,
            mask: 0,
            seq: 0,
            sent_at: now,
            sends: 0,
            refused: 0,
            transient: 0,
            previous_delay: 0,
            queued_since: None,
            queued: 0,
            refused_at: None,
            slept: 0,
            ahead: 0,
            departed: 0,
            sleeps_until: Instant::default(),
            waiting_for: None,
            last: None,
            waker: None,
        }))
    }

    /// What now? Asking twice at one instant gives the same answer.
    pub fn poll(&mut self, now: Now, id: CallId, waker: Option<&Waker>) -> Decision {
        let now = self.advance(now);
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        match &call.phase {
            Phase::Sent { reason } if call.sent_at == now => return Decision::Send { reason: *reason },
            Phase::Sent { .. } => return raise(OUT_OF_TURN),
            Phase::Delivered { reason, .. } => return Decision::Deliver { reason: *reason },
            Phase::Raised(error) => return Decision::Raise { error: error.clone() },
            Phase::Idle | Phase::Waiting | Phase::Offered { .. } | Phase::Lapsed | Phase::Pausing { .. } => {}
        }
        if self.closed {
            return self.fail(now, id, Error::Closed);
        }
        self.journal.polling = Some(id);
        let decision = self.place(now, id);
        self.journal.polling = None;
        if let (Decision::Sleep { .. }, Some(call)) = (&decision, self.calls.get_mut(id)) {
            match (waker, &call.waker) {
                (Some(new), Some(old)) if old.will_wake(new) => {}
                _ => call.waker = waker.cloned(),
            }
        }
        decision
    }

    /// Finds the call's place: out, or in the queue.
    fn place(&mut self, now: Instant, id: CallId) -> Decision {
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        if !self.config.enabled {
            return self.send(now, id, false, Reason::Disabled);
        }
        if let Phase::Pausing { until, .. } = call.phase {
            if now < until {
                return self.pause(now, id);
            }
            call.phase = Phase::Idle;
        }
        if call.deadline.is_some_and(|deadline| now > deadline) {
            return self.overrun(now, id, waits::Overrun::of("deadline"));
        }
        let scope = call.scope;
        if let Phase::Offered { since, reason } = call.phase
            && (now < since.after(queue::CLAIM_LEASE) || !self.scopes[scope].queue.is_waiting())
        {
            return self.send(now, id, true, reason);
        }
        self.queue_up(now, id, scope)
    }

    /// Sends the call if it is its turn; else it waits in the queue.
    fn queue_up(&mut self, now: Instant, id: CallId, scope: u32) -> Decision {
        let (home, mut desk) = self.at(scope);
        home.lapse(&mut desk, now);
        if matches!(desk.calls.get(id).map(|call| &call.phase), Some(Phase::Idle | Phase::Lapsed)) {
            let nested = desk.calls.get(id).is_some_and(|call| call.nested);
            // Nobody to be overtaken: the usual way, without a queue.
            if nested || !home.queue.is_waiting() {
                match home.admit(&desk, now, id) {
                    Ok(reason) => return self.send(now, id, false, reason),
                    Err(block) if nested || block.kind == Kind::Never => return self.wait(now, id, block),
                    Err(_) => {}
                }
            }
            let (home, desk) = self.at(scope);
            let Some(call) = desk.calls.get_mut(id) else { return raise(GONE) };
            let (lapsed, rank) = (matches!(call.phase, Phase::Lapsed), call.rank);
            call.phase = Phase::Waiting;
            call.ahead = home.queue.len() as u64;
            call.departed = home.queue.departed();
            if call.refused_at.is_none() {
                call.queued_since.get_or_insert(now);
            }
            let mask = home.routes[call.route as usize].mask;
            home.queue.insert(mask, rank, id);
            if lapsed {
                // It kept its rank. Else calls that poll on time alone, and
                // are never woken, could miss their turns for ever.
                let (home, mut desk) = self.at(scope);
                home.revoke(&mut desk, now, |call| call.rank > rank);
            }
        }
        let (home, mut desk) = self.at(scope);
        home.dispatch(&mut desk, now);
        if let Some(Phase::Offered { reason, .. }) = self.calls.get(id).map(|call| &call.phase) {
            let reason = *reason;
            return self.send(now, id, true, reason);
        }
        let (home, desk) = self.at(scope);
        let block = match home.admit(&desk, now, id) {
            Ok(_) => home.turn(now),
            Err(block) => block,
        };
        self.wait(now, id, block)
    }

    fn send(&mut self, now: Instant, id: CallId, offered: bool, reason: Reason) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let replay = call.sends > 0 && !call.idempotent;
        let scope = call.scope;
        let (home, mut desk) = self.at(scope);
        home.send(&mut desk, now, id, offered, reason);
        home.queue.depart();
        if replay && let Some(call) = desk.calls.get(id) {
            let home = &*home;
            desk.journal.event(|| Event { reason: Some(reason), ..home.call_event(EventKind::Replayed, now, call) });
        }
        Decision::Send { reason }
    }

    /// Reports the response to the last send. `signals` are what it says.
    pub fn on_response(&mut self, now: Now, id: CallId, response: &Response<'_>, signals: Signals) -> Decision {
        let now = self.advance(now);
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        match &call.phase {
            Phase::Sent { .. } => {}
            Phase::Delivered { reason, .. } => return Decision::Deliver { reason: *reason },
            Phase::Raised(error) => return Decision::Raise { error: error.clone() },
            // An outcome that is reported twice counts once.
            _ if call.sends > 0 => return self.place(now, id),
            _ => return raise(NOT_SENT),
        }
        if !self.config.enabled {
            return self.deliver(id, Reason::Disabled);
        }
        self.journal.polling = Some(id);
        let decision = self.judge(now, id, response, signals);
        self.journal.polling = None;
        decision
    }

    /// Reports that the last send ended without a response.
    pub fn on_failure(&mut self, now: Now, id: CallId, kind: FailureKind) -> Decision {
        let now = self.advance(now);
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        match &call.phase {
            Phase::Sent { .. } => {}
            Phase::Delivered { reason, .. } => return Decision::Deliver { reason: *reason },
            Phase::Raised(error) => return Decision::Raise { error: error.clone() },
            _ if call.sends > 0 => return self.place(now, id),
            _ => return raise(NOT_SENT),
        }
        let (scope, seq, mask) = (call.scope, call.seq, call.mask);
        let repeatable = if kind == FailureKind::Connect {
            call.replayable && call.retry != Some(false)
        } else {
            call.may_repeat(&self.config)
        };
        let (home, desk) = self.at(scope);
        home.stats.failed += 1;
        if let Some(call) = desk.calls.get(id) {
            // A request that never left spent nothing.
            home.land(id, call, kind != FailureKind::Connect);
        }
        home.free_slot();
        home.gate.end_episode(seq);
        for meter in scope::bits(mask) {
            home.meters[meter].gate.end_episode(seq);
        }
        let decision = self.retry_transient(now, id, repeatable, None, Reason::Failed);
        self.settle_down(now, scope);
        decision
    }

    /// Replaces the cost by the real amounts.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if an amount is negative or no number.
    pub fn settle(&mut self, now: Now, id: CallId, cost: &[(&str, f64)]) -> Result<(), Error> {
        let now = self.advance(now);
        let (requests, other_costs) = costs(cost)?;
        let Some(call) = self.calls.get(id) else { return Ok(()) };
        let (scope, route, seq, mask) = (call.scope, call.route, call.seq, call.mask);
        let (home, desk) = self.at(scope);
        let Some(call) = desk.calls.get_mut(id) else { return Ok(()) };
        let spent = |call: &CallState, home: &Scope, meter: usize| call.cost(home.meters[meter].unit()).unwrap_or(0.0);
        let before: Vec<(usize, f64)> = scope::bits(mask).map(|meter| (meter, spent(call, home, meter))).collect();
        let charged = call.requests;
        if cost.iter().any(|(unit, _)| *unit == "requests") {
            call.requests = requests;
        }
        call.other_costs = other_costs;
        if seq > 0 {
            for (meter, old) in before {
                let new = spent(call, home, meter);
                home.meters[meter].settle(seq, old, new);
            }
            let delta = call.requests - charged;
            home.repay(now, route, delta);
        }
        self.settle_down(now, scope);
        Ok(())
    }

    /// The body is read or closed: the slot in flight is free. The call may
    /// still be settled; [`cancel`](Self::cancel) or
    /// [`abandon`](Self::abandon) forgets it.
    pub fn finish(&mut self, now: Now, id: CallId) {
        let now = self.advance(now);
        let Some(call) = self.calls.get_mut(id) else { return };
        if let Phase::Delivered { slot, .. } = &mut call.phase
            && core::mem::replace(slot, false)
        {
            let scope = call.scope;
            self.scopes[scope].free_slot();
            self.settle_down(now, scope);
        }
    }

    /// Gives the call up, at any point.
    pub fn cancel(&mut self, now: Now, id: CallId) {
        let now = self.advance(now);
        self.remove(now, id);
    }

    /// The same at the latest reading, for a handle that is dropped.
    pub fn abandon(&mut self, id: CallId) {
        self.remove(self.now, id);
    }

    fn remove(&mut self, now: Instant, id: CallId) {
        let Some(call) = self.calls.get(id) else { return };
        let scope = call.scope;
        let (home, mut desk) = self.at(scope);
        home.leave(&mut desk, now, id);
        home.calls = home.calls.saturating_sub(1);
        self.calls.remove(id);
        self.settle_down(now, scope);
    }

    /// How often the call was sent.
    #[must_use]
    pub fn attempts(&self, id: CallId) -> u32 {
        self.calls.get(id).map_or(0, |call| call.sends)
    }

    /// Ends the engine: waiting calls raise at once, later ones at their
    /// first poll.
    pub fn close(&mut self, now: Now) {
        let now = self.advance(now);
        if core::mem::replace(&mut self.closed, true) {
            return;
        }
        for id in self.calls.ids().collect::<Vec<_>>() {
            if self.calls.get(id).is_some_and(CallState::is_waiting) {
                let _ = self.fail(now, id, Error::Closed);
            }
        }
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The calls without a waker that should poll again, in order.
    pub fn take_wakes(&mut self) -> Vec<CallId> {
        self.journal.take_wakes()
    }

    /// The wakers to invoke, once no lock is held.
    pub fn take_wakers(&mut self) -> Vec<Waker> {
        self.journal.take_wakers()
    }

    /// Starts or stops the collection of events.
    pub fn listen(&mut self, listening: bool) {
        self.journal.listening = listening;
    }

    /// The events since the last time.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.journal.take_events()
    }

    /// Lines for the log since the last time.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.journal.take_notices()
    }

    /// Lines for the log that the handles are to write themselves.
    pub fn take_own_notices(&mut self) -> Vec<Notice> {
        if self.journal.collecting || !self.journal.has_notices() { Vec::new() } else { self.journal.take_notices() }
    }

    /// Leaves lines for the log to [`take_notices`](Self::take_notices).
    pub fn collect_notices(&mut self) {
        self.journal.collecting = true;
    }

    /// Counters at `now`.
    #[must_use]
    pub fn stats(&self, now: Now) -> Stats {
        let now = self.now.max(now.mono);
        let scopes: Vec<ScopeStats> = self.scopes.iter().map(|scope| scope.counters(now)).collect();
        let mut total = self.scopes.forgotten.clone();
        for scope in &scopes {
            scopes::add(&mut total, scope);
        }
        Stats { total, scopes, dropped_events: self.journal.dropped() }
    }

    /// The scopes that are known, as they may be shown.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.scopes.iter().map(|scope| scope.shown.clone()).collect()
    }

    /// The meters of the scope of that URL or label.
    #[must_use]
    pub fn meters(&self, now: Now, scope: &str) -> Vec<Meter> {
        let now = self.now.max(now.mono);
        self.scopes.named(scope).map_or_else(Vec::new, |scope| scope.views(now))
    }

    /// To be called in the child after a fork.
    pub fn after_fork(&mut self, seed: u64) {
        self.rng = fastrand::Rng::with_seed(seed);
        for id in self.calls.ids().collect::<Vec<_>>() {
            self.calls.remove(id);
        }
        for scope in self.scopes.iter_mut() {
            scope.after_fork(&mut self.rng);
        }
        let _ = (self.journal.take_wakers(), self.journal.take_wakes());
    }

    fn advance(&mut self, now: Now) -> Instant {
        self.now = self.now.max(now.mono);
        self.now
    }

    /// A scope, and what it needs of the rest.
    fn at(&mut self, scope: u32) -> (&mut Scope, Desk<'_>) {
        let desk = Desk { config: &self.config, calls: &mut self.calls, journal: &mut self.journal };
        (&mut self.scopes[scope], desk)
    }

    /// After anything that may have made room.
    fn settle_down(&mut self, now: Instant, scope: u32) {
        let (home, mut desk) = self.at(scope);
        if home.queue.len() > 0 {
            home.dispatch(&mut desk, now);
        }
    }

    fn deliver(&mut self, id: CallId, reason: Reason) -> Decision {
        if let Some(call) = self.calls.get_mut(id) {
            let out = matches!(call.phase, Phase::Sent { .. });
            call.phase = Phase::Delivered { reason, slot: true };
            call.waker = None;
            if out {
                let scope = call.scope;
                let (home, desk) = self.at(scope);
                if let Some(call) = desk.calls.get(id) {
                    home.land(id, call, true);
                }
            }
        }
        Decision::Deliver { reason }
    }

    /// The call ends with an error of ours.
    fn fail(&mut self, now: Instant, id: CallId, error: Error) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let scope = call.scope;
        let waits = call.is_waiting();
        let (home, mut desk) = self.at(scope);
        home.leave(&mut desk, now, id);
        home.stats.raised += 1;
        let error = Box::new(error);
        if let Some(call) = desk.calls.get_mut(id) {
            call.phase = Phase::Raised(error.clone());
            let waker = call.waker.take();
            if waits {
                desk.journal.wake(id, waker);
            }
            let call = &*call;
            let home = &*home;
            desk.journal.event(|| Event {
                reason: Some(error.reason()),
                seconds: error.retry_after().map(|wait| wait.as_secs_f64()),
                detail: Some(error.to_string()),
                ..home.call_event(EventKind::Raised, now, call)
            });
        }
        self.settle_down(now, scope);
        Decision::Raise { error }
    }
}

fn raise(error: Error) -> Decision {
    Decision::Raise { error: Box::new(error) }
}

/// Amounts of units other than requests.
type OtherCosts = Vec<(Box<str>, f64)>;

/// What a call spends: requests, and all else.
fn costs(cost: &[(&str, f64)]) -> Result<(f64, OtherCosts), Error> {
    let mut requests = 1.0;
    let mut others = Vec::new();
    for (unit, amount) in cost {
        if !(amount.is_finite() && *amount >= 0.0) {
            return Err(Error::Config(ConfigError::new(
                "cost",
                format!("of {unit:?} must be a number from 0, not {amount}"),
            )));
        }
        if *unit == "requests" {
            requests = *amount;
        } else {
            others.push((Box::from(*unit), *amount));
        }
    }
    Ok((requests, others))
}
