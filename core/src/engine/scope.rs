//! One scope: its gate, its meters, its queue, and the order of checks that
//! decides whether a call may go.

use std::collections::BTreeMap;

use super::CallId;
use super::budget::Budget;
use super::call::{CallState, Calls, Phase};
use super::gate::{Gate, Shut};
use super::journal::Journal;
use super::ledger::{Fit, Ledger, Policy};
use super::queue::{CLAIM_LEASE, Pass, Queue};
use super::window::Window;
use crate::bucket::TokenBucket;
use crate::config::{Config, Pace};
use crate::decision::Reason;
use crate::event::{Event, EventKind};
use crate::meter::Meter;
use crate::stats::ScopeStats;
use crate::time::{Instant, MILLISECOND, SECOND, nanos};

/// Meters of one scope: one bit each in a mask.
pub(super) const METERS_MAX: usize = 64;
/// Routes of one scope; later ones share one entry.
const ROUTES_MAX: usize = 512;
/// A wait for something that is no instant is asked about again this often by
/// drivers that are not woken.
const SLOT_POLL: u64 = SECOND;
/// … and while a probe is out, no more often than this.
const PROBE_POLL: u64 = 50 * MILLISECOND;

#[derive(Debug)]
pub(super) struct Scope {
    /// As it may be shown.
    pub(super) shown: String,
    pub(super) origin: String,
    pub(super) gate: Gate,
    pub(super) window: Window,
    pub(super) meters: Vec<Ledger>,
    /// The unnamed meter that binds every route, until routes contradict.
    pub(super) unnamed: Option<u16>,
    pub(super) split: bool,
    pub(super) routes: Vec<Route>,
    route_index: BTreeMap<Box<str>, u16>,
    pub(super) queue: Queue,
    /// Requests sent that have no outcome yet, by number.
    pub(super) flying: BTreeMap<u64, CallId>,
    /// Slots taken: requests without outcome, and responses not yet read.
    pub(super) in_flight: u32,
    /// The last number sent.
    pub(super) seq: u64,
    pacer: Option<TokenBucket>,
    /// The round trip, smoothed and at its best.
    pub(super) rtt: u64,
    best_rtt: u64,
    rng: fastrand::Rng,
    pub(super) stats: ScopeStats,
    /// Calls that are alive.
    pub(super) calls: u32,
    pub(super) used_at: Instant,
}

#[derive(Debug)]
pub(super) struct Route {
    pub(super) name: Box<str>,
    /// The meters that its responses carried.
    pub(super) mask: u64,
    /// A bucket of its own, if the caller named the route.
    pacer: Option<TokenBucket>,
}

/// What the engine lends to a scope.
pub(super) struct Desk<'a> {
    pub(super) config: &'a Config,
    pub(super) calls: &'a mut Calls,
    pub(super) journal: &'a mut Journal,
}

impl Desk<'_> {
    /// Whether refusals and spent meters hold anybody.
    pub(super) fn holds(&self) -> bool {
        self.config.enabled && self.config.max_attempts != Some(1)
    }

    pub(super) fn policy(&self) -> Policy {
        Policy {
            backoff: self.config.backoff,
            cap: self.config.max_retry_after.map(nanos),
            clamp: self.config.beyond_max == crate::BeyondMax::Clamp,
            respect: self.config.respect_remaining && self.holds(),
            processes: self.config.processes,
        }
    }
}

/// What stands in a call's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) reason: Reason,
    /// When to ask again; exact for holds, spent meters and pacing.
    pub(super) until: Instant,
    /// When it ends by the server's word, without jitter.
    pub(super) asked_until: Instant,
    /// What the server asked, from now.
    pub(super) asked: Option<u64>,
    /// Since when the gate's episode lasts.
    pub(super) episode: Option<Instant>,
    pub(super) meter: Option<u16>,
    /// Whether it stops every route.
    scope_wide: bool,
    /// The meters that it shares with other routes.
    meters: u64,
}

impl Block {
    /// Until then, by nobody's order and for this call alone.
    fn new(kind: Kind, reason: Reason, until: Instant, asked_until: Instant) -> Self {
        Self { kind, reason, until, asked_until, asked: None, episode: None, meter: None, scope_wide: false, meters: 0 }
    }

    /// The same for every route.
    fn everywhere(self) -> Self {
        Self { scope_wide: true, ..self }
    }
}

/// What kind of thing is waited for, the most lasting last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Others ahead whose turn has come.
    Turn,
    /// An answer: a slot, or a meter's word.
    Slot,
    /// The verdict of a probe.
    Probe,
    /// An instant: the pacer's.
    Pace,
    /// An instant: a spent meter's.
    Spent,
    /// An instant: a hold's end.
    Hold,
    /// Nothing: it can never fit.
    Never,
}

impl Scope {
    pub(super) fn new(shown: String, origin: String, config: &Config, mut rng: fastrand::Rng) -> Self {
        let gate = Gate::new(rng.fork());
        let pacer = match config.pace {
            Some(Pace::Bucket { rate, burst }) => TokenBucket::new(rate, burst).ok(),
            _ => None,
        };
        let mut scope = Self {
            stats: ScopeStats { scope: shown.clone(), ..ScopeStats::default() },
            shown,
            origin,
            gate,
            window: Window::new(config.first_flight),
            meters: Vec::new(),
            unnamed: None,
            split: false,
            routes: Vec::new(),
            route_index: BTreeMap::new(),
            queue: Queue::default(),
            flying: BTreeMap::new(),
            in_flight: 0,
            seq: 0,
            pacer,
            rtt: 0,
            best_rtt: u64::MAX,
            rng,
            calls: 0,
            used_at: Instant::default(),
        };
        // The entry that routes beyond the bound share.
        scope.add_route("*");
        scope
    }

    /// The route of that name, learned on first use.
    pub(super) fn route(&mut self, name: &str) -> u16 {
        match self.route_index.get(name) {
            Some(route) => *route,
            None if self.routes.len() < ROUTES_MAX => self.add_route(name),
            None => 0,
        }
    }

    fn add_route(&mut self, name: &str) -> u16 {
        let route = self.routes.len() as u16;
        self.routes.push(Route { name: name.into(), mask: 0, pacer: None });
        self.route_index.insert(name.into(), route);
        route
    }

    /// Gives the route a bucket of its own: the caller named it.
    pub(super) fn pace_route(&mut self, route: u16, config: &Config) {
        if let (Some(Pace::Bucket { rate, burst }), None) = (config.pace, &self.routes[route as usize].pacer) {
            self.routes[route as usize].pacer = TokenBucket::new(rate, burst).ok();
        }
    }

    /// All meters that bind the route.
    pub(super) fn mask(&self, route: u16) -> u64 {
        self.routes[route as usize].mask | self.shared()
    }

    /// The meters that bind every route.
    pub(super) fn shared(&self) -> u64 {
        self.unnamed.map_or(0, |meter| 1 << meter)
    }

    /// The place for a new meter, if there is one. Its unit counts from the
    /// first: by it the requests that are out are charged.
    pub(super) fn add_meter(&mut self, name: Option<Box<str>>, unit: Option<&str>) -> Option<u16> {
        if self.meters.len() >= METERS_MAX {
            return None;
        }
        let gate = Gate::new(self.rng.fork());
        self.meters.push(Ledger::new(name, unit, gate));
        Some((self.meters.len() - 1) as u16)
    }

    /// Binds a meter to a route, requests in flight and calls in the queue
    /// included.
    pub(super) fn bind(&mut self, desk: &mut Desk<'_>, route: u16, meter: u16) {
        let bit = 1 << meter;
        if self.routes[route as usize].mask & bit != 0 {
            return;
        }
        self.routes[route as usize].mask |= bit;
        self.charge_flying(desk, meter, |call| call.route == route);
        if self.queue.is_waiting() {
            let mask = self.routes[route as usize].mask;
            let calls = &*desk.calls;
            self.queue.rebind(mask, |id| calls.get(id).is_some_and(|call| call.route == route));
        }
    }

    /// Requests that are out already spend of a meter that only now became
    /// known.
    pub(super) fn charge_flying(&mut self, desk: &mut Desk<'_>, meter: u16, bound: impl Fn(&CallState) -> bool) {
        let bit = 1u64 << meter;
        for (seq, id) in &self.flying {
            if let Some(call) = desk.calls.get_mut(*id)
                && call.mask & bit == 0
                && bound(call)
            {
                call.mask |= bit;
                let ledger = &mut self.meters[meter as usize];
                let cost = call.cost(ledger.unit()).unwrap_or(0.0);
                ledger.sent(*seq, cost);
            }
        }
    }

    /// Lets what is known of the meters run out, and finds those that give
    /// `call` no way on by themselves.
    fn refresh(&mut self, desk: &Desk<'_>, now: Instant, mask: u64, call: &CallState) {
        let policy = desk.policy();
        for meter in bits(mask) {
            let ledger = &mut self.meters[meter];
            ledger.refresh(now, self.seq, &policy);
            ledger.starve(now, call.cost(ledger.unit()), &policy);
        }
    }

    /// Whether `id` may go at `now`; what stands in its way if not.
    pub(super) fn admit(&mut self, desk: &Desk<'_>, now: Instant, id: CallId) -> Result<Reason, Block> {
        let Some(call) = desk.calls.get(id) else { return Ok(Reason::Ready) };
        let mask = self.mask(call.route);
        self.refresh(desk, now, mask, call);
        let limit = call_limit(desk.config, call);
        let mut obstacle = Obstacle::default();
        let mut known = false;
        let mut early = false;
        let mut probing = false;
        let waiting = self.queue.len();
        let offered = self.queue.offered() - u32::from(matches!(call.phase, Phase::Offered { .. }));
        let out = self.in_flight + offered;
        if desk.holds() {
            probing |= self.gate.is_single();
            if let Err(shut) = self.gate.check(now, id, limit, self.rtt) {
                obstacle.gate(now, &self.gate, shut, limit, self.rtt, None);
            }
        }
        for meter in bits(mask) {
            let ledger = &self.meters[meter];
            if desk.holds() {
                probing |= ledger.gate.is_single();
                if let Err(shut) = ledger.gate.check(now, id, limit, self.rtt) {
                    obstacle.gate(now, &ledger.gate, shut, limit, self.rtt, Some(meter as u16));
                }
                if desk.config.respect_remaining {
                    let fit = ledger.fit(call.cost(ledger.unit()));
                    known |= fit != Fit::Unknown && ledger.counts_requests();
                    early |= ledger.is_early(out);
                    obstacle.meter(now, ledger, fit, limit, meter as u16);
                    if let Some(due) = ledger.due(now, waiting) {
                        obstacle.due(due, meter as u16);
                    }
                }
            }
            if let Some(pacer) = &ledger.pacer {
                obstacle.pace(now, pacer, call.requests, 1 << meter);
            }
        }
        match (&self.routes[call.route as usize].pacer, &self.pacer) {
            (Some(pacer), _) => obstacle.pace(now, pacer, call.requests, 0),
            (None, Some(pacer)) => obstacle.pace(now, pacer, call.requests, u64::MAX),
            (None, None) => {}
        }
        if call.nested {
            // It waits for no slot and no verdict: its outer call may be the
            // one that holds them.
            return obstacle.0.filter(|block| block.kind >= Kind::Pace).map_or(Ok(Reason::Ready), Err);
        }
        if !self.window.capacity_allows(now, out) {
            obstacle.slot(now, now.after(SLOT_POLL));
        } else if early && !probing && !self.window.first_flight_allows(now, out) {
            obstacle.slot(now, self.flight_grows(now));
        } else if !known && !probing {
            let mut allowed = self.gate.budget.allows(now, out, offered);
            let mut patient = self.gate.budget.has_time(&self.window, self.rtt);
            for meter in bits(mask) {
                let budget = &mut self.meters[meter].gate.budget;
                patient &= budget.has_time(&self.window, self.rtt);
                match budget.allows(now, out, offered) {
                    Some(false) => allowed = Some(false),
                    Some(true) => allowed = allowed.or(Some(true)),
                    None => {}
                }
            }
            // Whether it slides is not known. If it does, it comes back as it
            // was taken: in growing flights.
            if allowed == Some(true) && patient {
                allowed = Some(self.window.first_flight_allows(now, out));
            }
            if !allowed.unwrap_or_else(|| self.window.first_flight_allows(now, out)) {
                let until = if allowed.is_none() { self.flight_grows(now) } else { now.after(SLOT_POLL) };
                obstacle.slot(now, until);
            }
        }
        match obstacle.0 {
            Some(block) => Err(block),
            None if probing => Ok(Reason::Probing),
            None => Ok(Reason::Ready),
        }
    }

    /// When to ask again whether the first flight has grown.
    fn flight_grows(&self, now: Instant) -> Instant {
        let poll = now.after(SLOT_POLL);
        self.window.next_doubling().map_or(poll, |next| next.min(poll))
    }

    /// Gives their turn to as many as may go, in order of rank.
    pub(super) fn dispatch(&mut self, desk: &mut Desk<'_>, now: Instant) {
        self.lapse(desk, now);
        if !self.queue.is_waiting() {
            return;
        }
        let mut pass = Pass::default();
        while let Some((lane, rank, id)) = self.queue.best(&pass, self.shared()) {
            match self.admit(desk, now, id) {
                Ok(reason) => {
                    self.queue.remove(lane, rank);
                    self.offer(desk, now, id, reason);
                }
                Err(block) => {
                    self.hasten(desk, id, &block);
                    if block.scope_wide {
                        break;
                    }
                    pass.fail(lane, block.meters);
                }
            }
        }
    }

    /// The next in line, if it was told to sleep for longer than it has to by
    /// what is known now, asks again: nobody else would notice its instant.
    fn hasten(&self, desk: &mut Desk<'_>, id: CallId, block: &Block) {
        if let Some(call) = desk.calls.get_mut(id)
            && block.kind >= Kind::Pace
            && block.until < call.sleeps_until
        {
            call.sleeps_until = block.until;
            let waker = call.waker.take();
            desk.journal.wake(id, waker);
        }
    }

    /// Turns that were not claimed in time go to the next.
    pub(super) fn lapse(&mut self, desk: &mut Desk<'_>, now: Instant) {
        while let Some((since, id)) = self.queue.first_offer() {
            let current = desk
                .calls
                .get(id)
                .is_some_and(|call| matches!(call.phase, Phase::Offered { since: at, .. } if at == since));
            if current && now < since.after(CLAIM_LEASE) {
                break;
            }
            self.queue.drop_first_offer();
            if current {
                self.withdraw(desk, now, id);
                if let Some(call) = desk.calls.get_mut(id) {
                    call.phase = Phase::Lapsed;
                }
            }
        }
    }

    fn offer(&mut self, desk: &mut Desk<'_>, now: Instant, id: CallId, reason: Reason) {
        self.queue.offer(now, id);
        self.reserve(desk, now, id);
        if let Some(call) = desk.calls.get_mut(id) {
            call.phase = Phase::Offered { since: now, reason };
            let waker = call.waker.take();
            desk.journal.wake(id, waker);
        }
    }

    /// Takes the call's share, before it is sent.
    fn reserve(&mut self, desk: &mut Desk<'_>, now: Instant, id: CallId) {
        let Some(call) = desk.calls.get_mut(id) else { return };
        call.mask = self.routes[call.route as usize].mask | self.unnamed.map_or(0, |meter| 1 << meter);
        for meter in bits(call.mask) {
            let ledger = &mut self.meters[meter];
            let cost = call.cost(ledger.unit()).unwrap_or(0.0);
            ledger.offer(now, cost);
            if let Some(pacer) = &mut ledger.pacer {
                pacer.charge(now, call.requests);
            }
            if !call.nested {
                ledger.gate.take_probe(now, id);
            }
        }
        if !call.nested {
            self.gate.take_probe(now, id);
        }
        if let Some(pacer) = self.pacer_of(call.route) {
            pacer.charge(now, call.requests);
        }
    }

    fn pacer_of(&mut self, route: u16) -> Option<&mut TokenBucket> {
        let own = &mut self.routes[route as usize].pacer;
        if own.is_some() { own.as_mut() } else { self.pacer.as_mut() }
    }

    /// Gives a share back that was not sent.
    pub(super) fn withdraw(&mut self, desk: &mut Desk<'_>, now: Instant, id: CallId) {
        let Some(call) = desk.calls.get(id) else { return };
        let (mask, requests, route) = (call.mask, call.requests, call.route);
        for meter in bits(mask) {
            let ledger = &mut self.meters[meter];
            let cost = call.cost(ledger.unit()).unwrap_or(0.0);
            ledger.withdraw(cost);
            if let Some(pacer) = &mut ledger.pacer {
                pacer.charge(now, -requests);
            }
            ledger.gate.free_probe(id);
        }
        self.gate.free_probe(id);
        if let Some(pacer) = self.pacer_of(route) {
            pacer.charge(now, -requests);
        }
        self.queue.unoffer();
    }

    /// Takes back turns that a new hold, or a call that ranks before them,
    /// overtakes.
    pub(super) fn revoke(&mut self, desk: &mut Desk<'_>, now: Instant, overtaken: impl Fn(&CallState) -> bool) {
        for id in self.queue.offers() {
            let Some(call) = desk.calls.get(id) else { continue };
            if !matches!(call.phase, Phase::Offered { .. }) || !overtaken(call) {
                continue;
            }
            let (rank, mask) = (call.rank, self.routes[call.route as usize].mask);
            self.withdraw(desk, now, id);
            if let Some(call) = desk.calls.get_mut(id) {
                call.phase = Phase::Waiting;
            }
            self.queue.insert(mask, rank, id);
        }
    }

    /// The call goes out. `offered` if its share is reserved already.
    pub(super) fn send(&mut self, desk: &mut Desk<'_>, now: Instant, id: CallId, offered: bool, reason: Reason) {
        if !offered {
            self.reserve(desk, now, id);
            self.queue.offer(now, id);
        }
        self.queue.unoffer();
        self.seq += 1;
        let seq = self.seq;
        let Some(call) = desk.calls.get_mut(id) else { return };
        call.seq = seq;
        call.sent_at = now;
        call.sends += 1;
        call.waiting_for = None;
        call.waker = None;
        if let Some(since) = call.queued_since.take() {
            call.queued = call.queued.saturating_add(now.since(since));
            self.stats.slept += core::time::Duration::from_nanos(now.since(since));
        }
        if let Some(since) = call.refused_at.take() {
            call.slept = call.slept.saturating_add(now.since(since));
            self.stats.slept += core::time::Duration::from_nanos(now.since(since));
        }
        call.phase = Phase::Sent { reason };
        for meter in bits(call.mask) {
            let ledger = &mut self.meters[meter];
            let cost = call.cost(ledger.unit()).unwrap_or(0.0);
            ledger.withdraw(cost);
            ledger.sent(seq, cost);
            ledger.gate.budget.sent(now);
            if !call.nested {
                ledger.gate.take_probe(now, id);
            }
        }
        // Meters that became known since the share was reserved.
        let late = (self.routes[call.route as usize].mask | self.unnamed.map_or(0, |meter| 1 << meter)) & !call.mask;
        call.mask |= late;
        for meter in bits(late) {
            let ledger = &mut self.meters[meter];
            let cost = call.cost(ledger.unit()).unwrap_or(0.0);
            ledger.sent(seq, cost);
        }
        self.gate.budget.sent(now);
        if !call.nested {
            self.gate.take_probe(now, id);
        }
        self.window.sent(now);
        self.flying.insert(seq, id);
        self.in_flight += 1;
        self.stats.sent += 1;
        self.used_at = now;
    }

    /// The request has an outcome, or will have none. `spent` is false if the
    /// server's counters did not see it.
    pub(super) fn land(&mut self, id: CallId, call: &CallState, spent: bool) {
        self.flying.remove(&call.seq);
        for meter in bits(call.mask) {
            self.meters[meter].answered(call.seq, spent);
            self.meters[meter].gate.free_probe(id);
        }
        self.gate.free_probe(id);
    }

    /// A slot is free.
    pub(super) fn free_slot(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight == 0 {
            self.window.idle();
        }
    }

    pub(super) fn note_rtt(&mut self, sample: u64) {
        self.rtt = if self.rtt == 0 { sample } else { self.rtt - self.rtt / 8 + sample / 8 };
        self.best_rtt = self.best_rtt.min(sample.max(1));
    }

    /// The request `seq`, governed by `mask`, came back without a refusal.
    pub(super) fn accepted(&mut self, desk: &mut Desk<'_>, now: Instant, seq: u64, mask: u64) {
        self.window.accepted(seq, self.in_flight);
        if open(&mut self.gate, now, seq, self.best_rtt) {
            if self.window.judge(now) {
                // It was no quota that ran out: nothing was learned of one.
                self.gate.budget = Budget::default();
            }
            let (shown, waiting) = (&self.shown, self.queue.len());
            desk.journal.event(|| Event { waiting, ..event(EventKind::Released, now, shown) });
        }
        for meter in bits(mask) {
            let ledger = &mut self.meters[meter];
            ledger.accepted();
            if open(&mut ledger.gate, now, seq, self.best_rtt) {
                let (shown, waiting, name) = (&self.shown, self.queue.len(), ledger.name.as_deref());
                desk.journal.event(|| Event {
                    meter: name.map(str::to_owned),
                    waiting,
                    ..event(EventKind::Released, now, shown)
                });
            }
        }
    }

    /// A lower bound of how many go before `call`.
    fn ahead(&self, call: &CallState) -> u64 {
        call.ahead.saturating_sub(self.queue.departed() - call.departed)
    }

    /// A lower bound of when `call` can go, given what blocks it, from its
    /// place in the queue.
    pub(super) fn expected(&self, call: &CallState, block: &Block) -> Instant {
        let ahead = self.ahead(call) as f64;
        match (block.kind, block.meter) {
            (Kind::Pace, _) => {
                let rate = [&self.routes[call.route as usize].pacer, &self.pacer]
                    .into_iter()
                    .flatten()
                    .next()
                    .map(TokenBucket::rate)
                    .or_else(|| {
                        block.meter.and_then(|meter| self.meters[meter as usize].pacer.as_ref().map(TokenBucket::rate))
                    });
                match (rate, block.meter) {
                    (Some(rate), _) => block.asked_until.after((ahead * SECOND as f64 / rate) as u64),
                    (None, Some(meter)) => {
                        block.asked_until.after((ahead * self.meters[meter as usize].least_distance()) as u64)
                    }
                    (None, None) => block.asked_until,
                }
            }
            (Kind::Spent, Some(meter)) => {
                let ledger = &self.meters[meter as usize];
                match (ledger.limit(), ledger.window()) {
                    (Some(limit), Some(window)) if limit >= 1.0 && ledger.counts_requests() => {
                        block.asked_until.after(((ahead / limit).floor() as u64).saturating_mul(window))
                    }
                    _ => block.asked_until,
                }
            }
            _ => block.asked_until,
        }
    }

    /// The block of a call that could go but for others whose turn it is.
    pub(super) fn turn(&self, now: Instant) -> Block {
        let until = self.queue.first_offer().map_or(now.after(CLAIM_LEASE), |(since, _)| since.after(CLAIM_LEASE));
        let until = until.max(now.after(MILLISECOND));
        Block::new(Kind::Turn, Reason::Queued, until, now).everywhere()
    }

    /// The call leaves the scope, wherever it stands.
    pub(super) fn leave(&mut self, desk: &mut Desk<'_>, now: Instant, id: CallId) {
        let Some(call) = desk.calls.get(id) else { return };
        match call.phase {
            Phase::Waiting => {
                let (mask, rank) = (self.routes[call.route as usize].mask, call.rank);
                if self.queue.remove(mask, rank) {
                    self.queue.depart();
                }
            }
            Phase::Offered { .. } => {
                self.withdraw(desk, now, id);
                self.queue.depart();
            }
            Phase::Sent { .. } => {
                self.land(id, call, true);
                self.free_slot();
            }
            Phase::Delivered { slot: true, .. } => self.free_slot(),
            Phase::Delivered { .. } | Phase::Idle | Phase::Lapsed | Phase::Pausing { .. } | Phase::Raised(_) => {}
        }
        if let Some(call) = desk.calls.get_mut(id) {
            let since = [call.queued_since.take(), call.refused_at.take()].into_iter().flatten().min();
            self.stats.slept += core::time::Duration::from_nanos(since.map_or(0, |since| now.since(since)));
            call.phase = Phase::Idle;
        }
    }

    /// The real cost of a request differed from what its bucket was charged.
    pub(super) fn repay(&mut self, now: Instant, route: u16, delta: f64) {
        if let Some(pacer) = self.pacer_of(route) {
            pacer.charge(now, delta);
        }
    }

    pub(super) fn is_holding(&self, now: Instant) -> bool {
        let routes = self.routes.iter().filter_map(|route| route.pacer.as_ref());
        self.gate.is_held(now)
            || self.meters.iter().any(|ledger| ledger.is_holding(now))
            || self.pacer.iter().chain(routes).any(|pacer| pacer.available(now) < pacer.burst())
    }

    /// The counters at `now`.
    pub(super) fn counters(&self, now: Instant) -> ScopeStats {
        ScopeStats {
            waiting: self.queue.len(),
            in_flight: self.in_flight as usize,
            held_for: self.gate.is_held(now).then(|| core::time::Duration::from_nanos(self.gate.until().since(now))),
            ..self.stats.clone()
        }
    }

    /// What users see of the meters at `now`.
    pub(super) fn views(&self, now: Instant) -> Vec<Meter> {
        self.meters
            .iter()
            .filter(|ledger| ledger.was_read())
            .map(|ledger| {
                let route = ledger.route.map(|route| &*self.routes[route as usize].name);
                ledger.view(now, route)
            })
            .collect()
    }

    /// An event about a call.
    pub(super) fn call_event(&self, kind: EventKind, now: Instant, call: &CallState) -> Event {
        Event {
            method: Some(call.method.name().to_owned()),
            route: Some(self.routes[call.route as usize].name.to_string()),
            attempt: Some(call.sends),
            waiting: self.queue.len(),
            ..event(kind, now, &self.shown)
        }
    }

    pub(super) fn after_fork(&mut self, rng: &mut fastrand::Rng) {
        self.rng = rng.fork();
        self.queue.clear();
        self.flying.clear();
        self.in_flight = 0;
        self.calls = 0;
        self.window.after_fork();
        self.gate.after_fork(self.rng.fork());
        for ledger in &mut self.meters {
            ledger.after_fork(self.rng.fork());
        }
    }
}

/// Tells a gate of an accepted request; answers whether it opened.
fn open(gate: &mut Gate, now: Instant, seq: u64, rtt: u64) -> bool {
    if gate.accepted(now, seq) {
        gate.budget.set_beyond(if rtt == u64::MAX { 0 } else { rtt });
        return true;
    }
    gate.budget.accepted();
    false
}

/// An event with nothing but its kind, time and scope.
pub(super) fn event(kind: EventKind, at: Instant, scope: &str) -> Event {
    Event {
        kind,
        at,
        scope: scope.to_owned(),
        method: None,
        route: None,
        meter: None,
        seconds: None,
        reason: None,
        attempt: None,
        status: None,
        waiting: 0,
        headers: Vec::new(),
        detail: None,
    }
}

/// The set bits of a mask, as indices.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

/// The instant at which the first of the call's own budgets ends.
fn call_limit(config: &Config, call: &CallState) -> Option<Instant> {
    let sleep = match (call.refused_at, config.total_sleep()) {
        (Some(since), Some(total)) => Some(since.after(nanos(total).saturating_sub(call.slept))),
        _ => None,
    };
    let queue = match (call.queued_since, config.max_queue_wait) {
        (Some(since), Some(wait)) => Some(since.after(nanos(wait).saturating_sub(call.queued))),
        _ => None,
    };
    [call.deadline, sleep, queue].into_iter().flatten().min()
}

/// The worst of several obstacles, and all that they concern.
#[derive(Debug, Default)]
struct Obstacle(Option<Block>);

/// Whether `new` keeps a call longer than `old`: an instant outlasts what is
/// no instant, and a later one an earlier.
fn is_worse(new: &Block, old: &Block) -> bool {
    let timed = |block: &Block| (Kind::Pace..=Kind::Hold).contains(&block.kind);
    if timed(new) && timed(old) { new.until > old.until } else { new.kind > old.kind }
}

impl Obstacle {
    fn add(&mut self, block: Block) {
        self.0 = Some(match self.0.take() {
            None => block,
            Some(old) => {
                let (mut worse, other) = if is_worse(&block, &old) { (block, old) } else { (old, block) };
                worse.scope_wide |= other.scope_wide;
                worse.meters |= other.meters;
                worse
            }
        });
    }

    fn gate(&mut self, now: Instant, gate: &Gate, shut: Shut, limit: Option<Instant>, rtt: u64, meter: Option<u16>) {
        let (kind, reason, until, asked_until) = match shut {
            Shut::Held => (Kind::Hold, gate.reason(), gate.until_for(limit), gate.asked_until()),
            Shut::Probing { expires } => {
                let poll = now.after(PROBE_POLL.max(rtt.saturating_mul(2)));
                (Kind::Probe, Reason::Probing, expires.min(poll), now)
            }
        };
        self.add(Block {
            kind,
            reason,
            until,
            asked_until,
            asked: gate.asked(now),
            episode: gate.episode(),
            meter,
            scope_wide: meter.is_none(),
            meters: meter.map_or(0, |meter| 1 << meter),
        });
    }

    fn meter(&mut self, now: Instant, ledger: &Ledger, fit: Fit, limit: Option<Instant>, meter: u16) {
        let (kind, reason, until, asked_until, asked) = match fit {
            Fit::Unknown | Fit::Fits => return,
            Fit::Never => (Kind::Never, Reason::Exceeded, now, now, None),
            Fit::Spent { awaiting: true, .. } if !ledger.is_empty() => {
                (Kind::Slot, Reason::InFlightFull, now.after(SLOT_POLL), now, None)
            }
            Fit::Spent { opens_at, asked_until, .. } => {
                let until = opens_at.unwrap_or(now.after(SLOT_POLL));
                let asked_until = asked_until.unwrap_or(until);
                let trimmed = match limit {
                    Some(limit) if limit < until => asked_until.max(limit),
                    _ => until,
                };
                if trimmed <= now {
                    return;
                }
                // Only a server that said zero asks for the wait.
                let asked = ledger.reset().filter(|_| ledger.is_empty()).map(|reset| reset.since(now));
                (Kind::Spent, Reason::Spent, trimmed, asked_until, asked)
            }
        };
        self.add(Block {
            kind,
            reason,
            until,
            asked_until,
            asked,
            episode: None,
            meter: Some(meter),
            scope_wide: false,
            meters: 1 << meter,
        });
    }

    fn pace(&mut self, now: Instant, pacer: &TokenBucket, cost: f64, meters: u64) {
        let (kind, reason, until) = match pacer.wait(now, cost) {
            Some(wait) if wait.is_zero() => return,
            Some(wait) => (Kind::Pace, Reason::Pacing, now.after(nanos(wait))),
            None => (Kind::Never, Reason::Exceeded, now),
        };
        let block = Block::new(kind, reason, until, until);
        self.add(if meters == u64::MAX { block.everywhere() } else { Block { meters, ..block } });
    }

    fn due(&mut self, until: Instant, meter: u16) {
        let block = Block::new(Kind::Pace, Reason::Pacing, until, until);
        self.add(Block { meter: Some(meter), meters: 1 << meter, ..block });
    }

    fn slot(&mut self, now: Instant, until: Instant) {
        let until = until.max(now.after(MILLISECOND));
        self.add(Block::new(Kind::Slot, Reason::InFlightFull, until, now).everywhere());
    }
}
