//! What a response does: accepted, refused, or failed on the way.

use core::time::Duration;

use super::call::{CallState, LastRefusal, Phase};
use super::gate::{FLOOR, Pause};
use super::scope::{Desk, Scope, bits, event};
use super::waits::{Overrun, details};
use super::{CallId, Engine, GONE, raise};
use crate::config::{BeyondMax, Config, OnExhausted};
use crate::decision::{Decision, Reason};
use crate::error::{Error, PermanentlyRefused};
use crate::event::{Event, EventKind};
use crate::head::Response;
use crate::refusal::{Class, Refusal};
use crate::signals::{Signals, Wait, WaitSource, header_may_matter};
use crate::time::{Instant, nanos};

/// A server that is full and has none of our requests is tried again after
/// a backoff.
const FULL: Reason = Reason::InFlightFull;

/// A refusal, as the gates see it.
#[derive(Clone, Copy, Debug)]
struct Refused {
    target: u32,
    seq: u64,
    /// The meters that it holds; 0 for the whole scope.
    held: u64,
    /// What the server asked, and the first wait that its documentation asks.
    asked: Option<u64>,
    first: Option<u64>,
    status: u16,
    /// How often the call may be sent again.
    chances: Option<u32>,
}

impl Engine {
    /// The response to the request that the call has out.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        id: CallId,
        response: &Response<'_>,
        mut signals: Signals,
    ) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let (scope, route, seq, sent_at) = (call.scope, call.route, call.seq, call.sent_at);
        apply_verdict(response, &mut signals);
        let cached = response.cached || signals.age.is_some_and(|age| !age.is_zero());
        let elsewhere = self.elsewhere(now, scope, response);
        let (home, mut desk) = self.at(scope);
        home.note_rtt(now.since(sent_at));
        home.tell_ignored(&mut desk, now, &signals);
        // Where a redirect ended elsewhere, the signals speak of that origin.
        let target = elsewhere.unwrap_or(scope);
        let refused = signals.refusal.take();
        let mut carried = Vec::new();
        if !cached && !signals.meters.is_empty() {
            let explicit = refused.as_ref().and_then(|refusal| wait_of(desk.config, &signals, refusal));
            let (seq, route) = if elsewhere.is_some() { (0, 0) } else { (seq, route) };
            let (target, mut desk) = self.at(target);
            // An explicit wait decides in place of the unnamed meter's reset.
            carried = target.take_readings(&mut desk, now, seq, route, &signals, explicit.is_none());
        }
        // Its own reading first: that tells whether the reading covers it.
        let (home, desk) = self.at(scope);
        if let Some(call) = desk.calls.get(id) {
            home.land(id, call, !cached && elsewhere.is_none());
        }
        let decision = match refused {
            Some(refusal) if cached => self.refuse_cached(now, id, response.status, &refusal, &signals),
            Some(refusal) => self.refuse(now, id, target, response, &refusal, &signals, &carried),
            None => self.accept(now, id, response.status, &signals, cached),
        };
        self.settle_down(now, scope);
        if target != scope {
            self.settle_down(now, target);
        }
        decision
    }

    /// The scope of the origin that answered, if a redirect led there.
    fn elsewhere(&mut self, now: Instant, scope: u32, response: &Response<'_>) -> Option<u32> {
        let url = response.url?;
        let origin = crate::keys::origin(url)?;
        if self.scopes[scope].origin == origin {
            return None;
        }
        self.scopes.of_url(&self.config, &mut self.journal, now, url).filter(|target| *target != scope)
    }

    /// No refusal: a success, another error, or a transient failure.
    fn accept(&mut self, now: Instant, id: CallId, status: u16, signals: &Signals, cached: bool) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let (scope, seq, mask) = (call.scope, call.seq, call.mask);
        let repeatable = call.may_repeat(&self.config);
        let (home, mut desk) = self.at(scope);
        home.stats.accepted += 1;
        if !cached {
            let mask = mask | home.mask(desk.calls.get(id).map_or(0, |call| call.route));
            home.accepted(&mut desk, now, seq, mask);
        }
        self.obey_pause(now, scope, status, signals, cached);
        let transient = status != 429 && self.config.retry_statuses.contains(&status);
        if !transient {
            return self.deliver(id, Reason::Answered);
        }
        self.scopes[scope].free_slot();
        let wait = signals.wait.filter(|_| self.config.respect_retry_after).map(|wait| nanos(wait.span));
        match self.retry_transient(now, id, repeatable, wait, Reason::Answered) {
            Decision::Deliver { reason } => {
                // The caller reads it: until then the slot is taken.
                self.scopes[scope].in_flight += 1;
                if let Some(call) = self.calls.get_mut(id) {
                    call.phase = Phase::Delivered { reason, slot: true };
                }
                Decision::Deliver { reason }
            }
            decision => decision,
        }
    }

    /// A served response whose body orders a pause (Stack Exchange's
    /// `backoff`) holds the gate like a refusal does, and refuses nobody.
    fn obey_pause(&mut self, now: Instant, scope: u32, status: u16, signals: &Signals, cached: bool) {
        let pause = signals.wait.filter(|wait| status < 400 && !cached && wait.source == WaitSource::Body);
        let Some(pause) = pause.filter(|_| self.config.respect_retry_after && self.desk_holds()) else { return };
        let asked = nanos(pause.span);
        if asked > 0 && !is_past_cap(&self.config, asked) {
            let seq = self.scopes[scope].seq.max(1);
            let refused =
                Refused { target: scope, seq, held: 0, asked: Some(asked), first: None, status, chances: None };
            self.hold(now, &refused);
        }
    }

    /// Sends again after a failure that was not the limiter's business, if
    /// that is allowed and fits; delivers what came if not.
    pub(super) fn retry_transient(
        &mut self,
        now: Instant,
        id: CallId,
        repeatable: bool,
        asked: Option<u64>,
        reason: Reason,
    ) -> Decision {
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        let config = &self.config;
        let left = config.max_transient_retries.is_none_or(|max| call.transient < max);
        if !repeatable || call.nested || !left || !config.enabled {
            call.phase = Phase::Delivered { reason, slot: false };
            return Decision::Deliver { reason };
        }
        let unit = self.rng.f64();
        let draw = config.backoff.delay(call.transient, Duration::from_nanos(call.previous_delay), unit);
        let wait = nanos(draw).max(FLOOR).max(asked.unwrap_or(0));
        let until = now.after(wait);
        let slept = call.slept_until(now);
        let fits = call.deadline.is_none_or(|deadline| until <= deadline)
            && config.total_sleep().is_none_or(|total| slept.saturating_add(wait) <= nanos(total))
            && !(asked.is_some_and(|asked| is_past_cap(config, asked)));
        if !fits {
            call.phase = Phase::Delivered { reason, slot: false };
            return Decision::Deliver { reason };
        }
        call.transient += 1;
        call.previous_delay = wait;
        call.refused_at.get_or_insert(now);
        call.phase = Phase::Pausing { until, asked, reason: Reason::Transient };
        self.pause(now, id)
    }

    /// A refusal out of a cache holds nobody; only its own call waits.
    fn refuse_cached(
        &mut self,
        now: Instant,
        id: CallId,
        status: u16,
        refusal: &Refusal,
        signals: &Signals,
    ) -> Decision {
        let age = signals.age.map_or(0, nanos);
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        let scope = call.scope;
        let asked = wait_of(&self.config, signals, refusal);
        note(call, status, refusal, None);
        if let Some(decision) = self.end_of_retries(now, id, refusal, asked) {
            return decision;
        }
        let wait = asked.unwrap_or(0).saturating_sub(age).max(FLOOR);
        if let Some(overrun) = self.does_not_fit(now, id, Some(wait), Some(wait), None) {
            return self.refuse_overrun(now, id, overrun);
        }
        let home = &mut self.scopes[scope];
        home.free_slot();
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        call.refused_at.get_or_insert(now);
        call.phase = Phase::Pausing { until: now.after(wait), asked, reason: Reason::Held };
        self.pause(now, id)
    }

    /// A refusal: holds what it names, and tells the call whether to come
    /// back.
    #[allow(clippy::too_many_arguments)]
    fn refuse(
        &mut self,
        now: Instant,
        id: CallId,
        target: u32,
        response: &Response<'_>,
        refusal: &Refusal,
        signals: &Signals,
        carried: &[u16],
    ) -> Decision {
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let (scope, route, seq) = (call.scope, call.route, call.seq);
        let elsewhere = target != scope;
        let status = response.status;
        let explicit = wait_of(&self.config, signals, refusal);
        let (home, mut desk) = self.at(target);
        home.stats.refused += 1;
        let held = home.held_meters(&mut desk, if elsewhere { 0 } else { route }, refusal, carried);
        let by_reset = home
            .reset_wait(&desk, now, carried, signals)
            .filter(|_| explicit.is_none() || reset_first(desk.config, signals));
        let explicit = explicit.filter(|_| by_reset.is_none());
        let asked = explicit.or(by_reset.map(|(wait, _)| wait));
        let held = match by_reset {
            Some((_, meters)) if meters != 0 => meters,
            _ => held,
        };
        let name =
            bits(held).next().and_then(|meter| home.meters[meter].name.clone()).or_else(|| refusal.meter.clone());
        if let Some(call) = desk.calls.get_mut(id) {
            note(call, status, refusal, name);
        }
        self.tell_refused(now, id, response, asked, held, target);
        if refusal.class == Class::Permanent {
            return self.refuse_for_good(now, id);
        }
        let first = refusal.first_wait.map(nanos);
        let past = asked.or(first).is_some_and(|wait| is_past_cap(&self.config, wait));
        let full = !past && self.lower(now, scope, seq, refusal, asked);
        if full {
            // What has been offered was counted against a wider window, and
            // the refused call ranks before it.
            let (home, mut desk) = self.at(scope);
            home.revoke(&mut desk, now, |_| true);
        }
        self.unspend(scope, id);
        for meter in carried {
            self.scopes[target].meters[*meter as usize].refused_with(now, explicit);
        }
        let sent = self.calls.get(id).map_or(0, |call| call.refused);
        let chances = self.config.max_attempts.map(|max| max.saturating_sub(sent));
        // To another scope's gate it is as if sent last.
        let seq = if elsewhere { self.scopes[target].seq.max(1) } else { seq };
        let refused = Refused { target, seq, held, asked, first, status, chances };
        if self.desk_holds() && !full {
            if past {
                self.leave_open(now, id, &refused);
            } else {
                self.hold(now, &refused);
            }
        }
        if let Some(decision) = self.end_of_retries(now, id, refusal, asked) {
            return decision;
        }
        if past && self.config.beyond_max == BeyondMax::Raise {
            let cap = self.config.max_retry_after.map(nanos);
            let overrun =
                Overrun { limit_value: cap, asked, available_in: asked.or(first), ..Overrun::of("max_retry_after") };
            return self.refuse_overrun(now, id, overrun);
        }
        let gate = (!full).then_some((target, held));
        let nominal = if full { None } else { Some(self.hold_left(now, target, held, asked)) };
        if let Some(overrun) = self.does_not_fit(now, id, nominal, asked, gate) {
            return self.refuse_overrun(now, id, overrun);
        }
        self.come_back(now, id, target, held, full, asked)
    }

    fn desk_holds(&mut self) -> bool {
        Desk { config: &self.config, calls: &mut self.calls, journal: &mut self.journal }.holds()
    }

    /// The refused call takes its place in the queue again.
    fn come_back(
        &mut self,
        now: Instant,
        id: CallId,
        target: u32,
        held: u64,
        full: bool,
        asked: Option<u64>,
    ) -> Decision {
        if self.closed {
            return self.fail(now, id, Error::Closed);
        }
        let Some(call) = self.calls.get_mut(id) else { return raise(GONE) };
        let scope = call.scope;
        if target != scope {
            // It waits for another scope's gate, and for itself alone.
            let until = self.scopes[target].held_until(now, held);
            call.refused_at.get_or_insert(now);
            call.phase = Phase::Pausing { until: until.max(now.after(FLOOR)), asked, reason: Reason::Held };
            self.scopes[scope].free_slot();
            return self.pause(now, id);
        }
        let home = &mut self.scopes[scope];
        home.free_slot();
        if full && home.in_flight == 0 {
            // No slot of ours will free: one try after a backoff.
            let draw = self.config.backoff.delay(
                call.refused.saturating_sub(1),
                Duration::from_nanos(call.previous_delay),
                self.rng.f64(),
            );
            let wait = nanos(draw).max(FLOOR);
            call.previous_delay = wait;
            call.refused_at.get_or_insert(now);
            call.phase = Phase::Pausing { until: now.after(wait), asked: None, reason: FULL };
            return self.pause(now, id);
        }
        call.refused_at.get_or_insert(now);
        call.phase = Phase::Waiting;
        call.ahead = 0;
        call.departed = home.queue.departed();
        let mask = home.routes[call.route as usize].mask;
        home.queue.insert(mask, call.rank, id);
        let (home, mut desk) = self.at(scope);
        home.dispatch(&mut desk, now);
        self.place(now, id)
    }

    /// Lowers what is in flight, where the refusal says that the server is
    /// full; answers whether that is all there is to do.
    fn lower(&mut self, now: Instant, scope: u32, seq: u64, refusal: &Refusal, asked: Option<u64>) -> bool {
        let home = &mut self.scopes[scope];
        // The refused request itself still has its slot.
        let others = home.in_flight.saturating_sub(1);
        let last = home.seq;
        match refusal.class {
            Class::Capacity => {
                home.window.full(now, seq, last, others);
                asked.is_none() && refusal.first_wait.is_none()
            }
            Class::Unknown if asked.is_none() && refusal.first_wait.is_none() => {
                let earlier = home.flying.range(..seq).count() as u32;
                let full = home.window.is_full(seq, last, earlier, others);
                if full {
                    home.window.full(now, seq, last, others);
                } else {
                    home.window.refused(now);
                }
                full
            }
            _ => {
                home.window.refused(now);
                false
            }
        }
    }

    /// A refused request spent nothing of what was learned.
    fn unspend(&mut self, scope: u32, id: CallId) {
        let Some(call) = self.calls.get(id) else { return };
        let home = &mut self.scopes[scope];
        home.gate.budget.unsent();
        for meter in bits(call.mask) {
            home.meters[meter].gate.budget.unsent();
            home.meters[meter].refused();
        }
    }

    /// Holds the gates that the refusal concerns.
    fn hold(&mut self, now: Instant, refused: &Refused) {
        let Refused { target, seq, held, asked, first, status, chances } = *refused;
        let backoff = self.config.backoff;
        let cap = self.config.max_retry_after.map(nanos);
        let (home, mut desk) = self.at(target);
        let last = home.seq;
        let soon = home.window.suspects(seq).then(|| home.rtt.saturating_mul(2));
        let pause = match asked {
            Some(0) => Pause::Zero,
            Some(wait) => Pause::Asked(wait),
            None => Pause::Unknown { first, chances, soon },
        };
        let meters: Vec<Option<u16>> =
            if held == 0 { vec![None] } else { bits(held).map(|meter| Some(meter as u16)).collect() };
        let mut changed_gates = Vec::new();
        for meter in meters {
            let gate = match meter {
                Some(meter) => &mut home.meters[meter as usize].gate,
                None => &mut home.gate,
            };
            let changed = gate.hold(now, seq.max(1), last, pause, &backoff);
            // A server's wait past the cap is here only to be clamped: what is
            // cut off any other is what was added to it, or a wait of ours.
            if let Some(cap) = cap {
                gate.clamp(now.after(cap.max(FLOOR)));
            }
            if changed {
                changed_gates.push(meter);
                home.revoke(&mut desk, now, |call| held == 0 || call.mask & held != 0);
            }
        }
        for meter in changed_gates {
            self.announce_hold(now, target, meter, status);
        }
    }

    /// The server asked for more than the cap: the calls that wait raise with
    /// the same wait, and the next one may try.
    fn leave_open(&mut self, now: Instant, id: CallId, refused: &Refused) {
        let Refused { target, seq, held, asked, first, .. } = *refused;
        let (home, mut desk) = self.at(target);
        let last = home.seq;
        if held == 0 {
            home.gate.trickle(now, seq, last);
        }
        for meter in bits(held) {
            home.meters[meter].gate.trickle(now, seq, last);
        }
        home.revoke(&mut desk, now, |call| held == 0 || call.mask & held != 0);
        let overrun = Overrun {
            limit_name: "max_retry_after",
            limit_value: self.config.max_retry_after.map(nanos),
            asked,
            available_in: asked.or(first),
            meter: bits(held).next().map(|meter| meter as u16),
        };
        let waiting: Vec<CallId> = self
            .calls
            .ids()
            .filter(|other| *other != id)
            .filter(|other| {
                self.calls.get(*other).is_some_and(|call| {
                    call.scope == target
                        && matches!(call.phase, Phase::Waiting | Phase::Lapsed)
                        && (held == 0 || self.scopes[target].mask(call.route) & held != 0)
                })
            })
            .collect();
        for other in waiting {
            let _ = self.overrun(now, other, overrun);
        }
    }

    fn refuse_for_good(&mut self, now: Instant, id: CallId) -> Decision {
        if self.config.on_exhausted == OnExhausted::Return {
            return self.deliver(id, Reason::Permanent);
        }
        let Some(call) = self.calls.get(id) else { return raise(GONE) };
        let error = PermanentlyRefused { details: details(&self.scopes[call.scope], call) };
        self.fail(now, id, Error::Permanent(error))
    }

    /// The last of a call's sends was refused.
    fn end_of_retries(&mut self, now: Instant, id: CallId, refusal: &Refusal, asked: Option<u64>) -> Option<Decision> {
        let call = self.calls.get(id)?;
        if refusal.class == Class::Permanent {
            return Some(self.refuse_for_good(now, id));
        }
        // What is sent inside another call is that call's to repeat.
        if call.nested {
            return Some(self.deliver(id, Reason::Answered));
        }
        let overrun = |limit_name| Overrun { limit_name, limit_value: None, asked, available_in: asked, meter: None };
        if self.config.max_attempts.is_some_and(|max| call.refused >= max) {
            return Some(self.refuse_overrun(now, id, overrun("max_attempts")));
        }
        if !call.replayable {
            if self.config.on_exhausted == OnExhausted::Return {
                return Some(self.deliver(id, Reason::NotReplayable));
            }
            return Some(self.refuse_overrun(now, id, overrun("replayable")));
        }
        None
    }

    fn refuse_overrun(&mut self, now: Instant, id: CallId, overrun: Overrun) -> Decision {
        if self.config.on_exhausted == OnExhausted::Return {
            return self.deliver(id, Reason::Exceeded);
        }
        self.overrun(now, id, overrun)
    }

    /// The budget that the wait after a refusal does not fit into. `asked` is
    /// the server's word, `wait` what the gate makes of it.
    fn does_not_fit(
        &self,
        now: Instant,
        id: CallId,
        wait: Option<u64>,
        asked: Option<u64>,
        gate: Option<(u32, u64)>,
    ) -> Option<Overrun> {
        let call = self.calls.get(id)?;
        let config = &self.config;
        let wait = wait.unwrap_or(0);
        let overrun = |limit_name, limit_value| {
            Some(Overrun { limit_name, limit_value, asked, available_in: Some(wait), meter: None })
        };
        if let (Some(cap), Some(asked)) = (config.max_retry_after.map(nanos), asked)
            && asked > cap
            && config.beyond_max == BeyondMax::Raise
        {
            return overrun("max_retry_after", Some(cap));
        }
        if call.deadline.is_some_and(|deadline| now.after(wait) > deadline) {
            return overrun("deadline", None);
        }
        if let Some(cap) = config.total_sleep().map(nanos)
            && call.slept_until(now).saturating_add(wait) > cap
        {
            return overrun("max_total_sleep", Some(cap));
        }
        let (target, held) = gate?;
        let cap = config.rate_limit_duration().map(nanos)?;
        let since = self.scopes[target].episode(held)?;
        (now.after(wait).since(since) > cap).then_some(Overrun {
            limit_name: "max_rate_limit_duration",
            limit_value: Some(cap),
            asked,
            available_in: Some(wait),
            meter: None,
        })
    }

    /// The wait that stands at the gates, by the server's word.
    fn hold_left(&self, now: Instant, target: u32, held: u64, asked: Option<u64>) -> u64 {
        if self.config.max_attempts == Some(1) || !self.config.enabled {
            return asked.unwrap_or(0);
        }
        self.scopes[target].asked_until(held).since(now)
    }

    fn tell_refused(
        &mut self,
        now: Instant,
        id: CallId,
        response: &Response<'_>,
        asked: Option<u64>,
        held: u64,
        target: u32,
    ) {
        let meter = bits(held)
            .next()
            .map(|meter| self.scopes[target].meters[meter].name.as_deref().unwrap_or("default").to_owned());
        let Some(call) = self.calls.get(id) else { return };
        let home = &self.scopes[call.scope];
        self.journal.event(|| Event {
            status: Some(response.status),
            seconds: asked.map(|wait| Duration::from_nanos(wait).as_secs_f64()),
            meter,
            headers: rate_limit_headers(response),
            ..home.call_event(EventKind::Refused, now, call)
        });
    }
}

impl Scope {
    /// The meters that a refusal holds; 0 for the whole scope.
    fn held_meters(&mut self, desk: &mut Desk<'_>, route: u16, refusal: &Refusal, carried: &[u16]) -> u64 {
        if let Some(name) = &refusal.meter {
            let known = self
                .meters
                .iter()
                .position(|ledger| ledger.name.as_deref().is_some_and(|known| same_name(known, name)));
            let meter = match known {
                Some(meter) => {
                    self.bind(desk, route, meter as u16);
                    Some(meter as u16)
                }
                None => self.named_meter(desk, route, name, None),
            };
            return meter.map_or(0, |meter| 1 << meter);
        }
        let empty = carried.iter().filter(|meter| self.meters[**meter as usize].is_empty());
        let (mut named, mut unnamed) = (0, 0);
        for meter in empty {
            let ledger = &self.meters[*meter as usize];
            match (&ledger.name, ledger.route) {
                (Some(_), _) => named |= 1u64 << meter,
                (None, Some(_)) => unnamed |= 1u64 << meter,
                (None, None) => return 0,
            }
        }
        if unnamed != 0 { unnamed } else { named }
    }

    /// The wait that the reset of an empty meter orders, or a lone reset; and
    /// the named meters that it is about.
    fn reset_wait(&self, desk: &Desk<'_>, now: Instant, carried: &[u16], signals: &Signals) -> Option<(u64, u64)> {
        let config = desk.config;
        if !config.respect_remaining
            || !config.respect_retry_after
            || !config.header_priority.contains(&WaitSource::Reset)
        {
            return None;
        }
        let ahead = |meter: &u16| {
            self.meters[*meter as usize].reset().filter(|reset| *reset > now).map(|reset| (reset.since(now), *meter))
        };
        let empty = carried.iter().filter(|meter| self.meters[**meter as usize].is_empty()).filter_map(ahead);
        if let Some((wait, _)) = empty.clone().max() {
            let named = empty.filter(|(_, meter)| {
                let ledger = &self.meters[*meter as usize];
                ledger.name.is_some() || ledger.route.is_some()
            });
            let mask = named.fold(0u64, |mask, (_, meter)| mask | 1 << meter);
            let whole =
                carried.iter().any(|meter| Some(*meter) == self.unnamed && self.meters[*meter as usize].is_empty());
            return Some((wait, if whole { 0 } else { mask }));
        }
        let mut lone =
            signals.meters.iter().filter(|reading| reading.remaining.is_none()).filter_map(|reading| reading.reset);
        let first = lone.next()?;
        let others = signals.meters.iter().any(|reading| reading.remaining.is_some());
        (!others && lone.all(|reset| reset == first) && !first.is_zero()).then(|| (nanos(first), 0))
    }

    pub(super) fn held_until(&self, now: Instant, held: u64) -> Instant {
        let own = if held == 0 { self.gate.until() } else { now };
        bits(held).map(|meter| self.meters[meter].gate.until()).fold(own, Instant::max)
    }

    /// The end of the holds by the server's word.
    fn asked_until(&self, held: u64) -> Instant {
        let own = if held == 0 { self.gate.asked_until() } else { Instant::default() };
        bits(held).map(|meter| self.meters[meter].gate.asked_until()).fold(own, Instant::max)
    }

    fn episode(&self, held: u64) -> Option<Instant> {
        let own = if held == 0 { self.gate.episode() } else { None };
        bits(held).filter_map(|meter| self.meters[meter].gate.episode()).chain(own).min()
    }

    /// What was set aside is counted and told.
    fn tell_ignored(&mut self, desk: &mut Desk<'_>, now: Instant, signals: &Signals) {
        self.stats.ignored += signals.ignored.len() as u64;
        for ignored in &signals.ignored {
            let shown = &self.shown;
            desk.journal.event(|| Event {
                detail: Some(format!("{}: {}", ignored.field, ignored.why)),
                ..event(EventKind::Ignored, now, shown)
            });
        }
    }
}

/// Names are compared without regard to case, `-` and `_`.
fn same_name(a: &str, b: &str) -> bool {
    let plain = |name: &str| {
        name.bytes()
            .filter(|byte| !matches!(byte, b'-' | b'_' | b' '))
            .map(|byte| byte.to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    plain(a) == plain(b)
}

/// What the caller's own rule says goes before what was read.
fn apply_verdict(response: &Response<'_>, signals: &mut Signals) {
    let Some(verdict) = response.verdict else { return };
    match verdict.class {
        None => signals.refusal = None,
        Some(class) => {
            let mut refusal = signals.refusal.take().unwrap_or_else(|| Refusal::new(class));
            refusal.class = class;
            signals.refusal = Some(refusal);
            if let Some(span) = verdict.wait {
                signals.wait = Some(Wait { span, source: WaitSource::RetryAfter });
            }
        }
    }
}

/// The explicit wait that a refusal orders, as far as the config obeys it.
fn wait_of(config: &Config, signals: &Signals, refusal: &Refusal) -> Option<u64> {
    if !config.respect_retry_after || refusal.class == Class::Permanent {
        return None;
    }
    signals.wait.map(|wait| nanos(wait.span))
}

/// Whether the user wants a reset obeyed before the wait that was found.
fn reset_first(config: &Config, signals: &Signals) -> bool {
    let rank = |source| config.header_priority.iter().position(|known| *known == source);
    let Some(wait) = signals.wait else { return true };
    matches!((rank(WaitSource::Reset), rank(wait.source)), (Some(reset), Some(explicit)) if reset < explicit)
}

fn is_past_cap(config: &Config, asked: u64) -> bool {
    config.beyond_max == BeyondMax::Raise && config.max_retry_after.is_some_and(|cap| asked > nanos(cap))
}

/// Remembers the refusal for errors about it.
fn note(call: &mut CallState, status: u16, refusal: &Refusal, meter: Option<Box<str>>) {
    call.refused += 1;
    call.last = Some(Box::new(LastRefusal {
        status,
        meter: meter.or_else(|| refusal.meter.clone()),
        limit: refusal.limit,
        hint: refusal.hint.clone(),
    }));
}

/// The header fields that a refusal was read from.
fn rate_limit_headers(response: &Response<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    response.headers.visit(&mut |name, value| {
        if found.len() < 32 && header_may_matter(name) {
            let value = &value[..value.len().min(256)];
            found.push((
                String::from_utf8_lossy(name).to_ascii_lowercase(),
                String::from_utf8_lossy(value).into_owned(),
            ));
        }
    });
    found
}
