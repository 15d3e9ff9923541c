//! What is known of one meter, and what was spent since.
//!
//! `available = remaining − sends after the request whose answer said so −
//! earlier sends still unanswered`. Believing the answer of the request sent
//! *last*, not of the one that arrived last, makes answers out of order
//! harmless.
//!
//! Requests that are out together may also be *counted* in another order than
//! they were sent. An earlier one whose own answer shows less than what is
//! believed was counted later, so its share stays spent; a later one whose
//! answer shows no less was counted before, so it is not believed.

use core::time::Duration;
use std::collections::VecDeque;

use super::gate::{FLOOR, Gate, jitter};
use super::gradual::Gradual;
use super::sharing::Sharing;
use crate::backoff::Backoff;
use crate::bucket::TokenBucket;
use crate::meter::Meter;
use crate::signals::Reading;
use crate::time::{Instant, MILLISECOND, SECOND, nanos};

/// Two resets closer than this are one instant.
const SAME_INSTANT: u64 = 50 * MILLISECOND;
/// Readings in agreement that make a contradicted meter trusted again.
const TRUSTED_AFTER: u32 = 20;
/// Answers that state one and the same span in whole seconds, before it is
/// taken to be rounded up anew at each of them.
const ROUNDED_AFTER: u32 = 8;
/// Turns come at this share of their average distance at least, and at one more
/// at most: clients that pace by the same numbers do not go in step.
const STAGGER_MIN: f64 = 0.5;
/// The share of what is left that may be in flight beyond the first flight, as
/// long as others may be about to send as much.
const EARLY_SHARE: f64 = 1.0 / 8.0;
/// Sends remembered for one meter: beyond it the oldest count as unanswered
/// for good, which only makes the meter more careful.
const LOG_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) name: Option<Box<str>>,
    /// The route that an unnamed meter is kept for, once it is kept apart.
    pub(super) route: Option<u16>,
    limit: Option<f64>,
    remaining: Option<f64>,
    reset: Option<Instant>,
    run: Option<Run>,
    window: Option<u64>,
    unit: Option<Box<str>>,
    policy: Option<Box<str>>,
    /// Whether `remaining` may be relied upon.
    trusted: bool,
    informative: bool,
    /// The request whose answer said so, when it was read, and for which
    /// route.
    seq: u64,
    read_at: Instant,
    /// The last request that was out when it was read.
    sent_when_read: u64,
    /// What users see of what is left: the word of the request sent last.
    shown: Option<f64>,
    shown_seq: u64,
    pub(super) last_route: u16,
    /// When a spent meter may be asked again: its reset and the jitter.
    opens_at: Option<Instant>,
    /// Answers in agreement to wait for, after a contradiction.
    distrust: u32,
    /// Sends from the oldest unanswered on, in order; those that the reading
    /// covers cost nothing.
    log: VecDeque<Entry>,
    /// What was spent, and by how many, after the reading and before that:
    /// any further reading covers it.
    passed: f64,
    /// Earlier sends that were counted after the reading.
    late: Vec<Late>,
    /// The last request sent.
    last_sent: u64,
    /// All requests sent, but for those refused.
    sends: u64,
    unanswered: usize,
    spent: f64,
    offered: f64,
    offers: u32,
    /// The last request sent when the meter was first read.
    met: u64,
    /// The last turn, and the draw that sets the next one's distance.
    paced_at: Instant,
    stagger: f64,
    /// Readings of zero without a usable reset, in a row.
    blind: u32,
    sharing: Sharing,
    gradual: Gradual,
    /// The reset of the wait that was logged.
    pub(super) announced: Option<Instant>,
    read_once: bool,
    pub(super) gate: Gate,
    pub(super) pacer: Option<TokenBucket>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    seq: u64,
    cost: f64,
    answered: bool,
    /// What its own answer said was left.
    left: Option<f64>,
}

/// Answers in a row that state the same span until the reset, in whole seconds,
/// while what is left falls: one instant, rounded up at each of them. The first
/// comes closest to it, and all lie within a second.
#[derive(Clone, Copy, Debug)]
struct Run {
    span: u64,
    since: Instant,
    answers: u32,
}

/// A send that was counted after the reading, though sent before.
#[derive(Clone, Copy, Debug)]
struct Late {
    cost: f64,
    left: f64,
    /// The last request sent when it was answered: what was sent later saw it
    /// counted.
    until: u64,
}

/// How a reading relates to what the meter knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// It may be the same counter.
    Same,
    /// It cannot be the same counter.
    Contradiction,
}

/// Whether a call's cost fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fit {
    /// Nothing is known of what is left.
    Unknown,
    /// It fits.
    Fits,
    /// Not until the reset, or until answers come back.
    Spent { opens_at: Option<Instant>, asked_until: Option<Instant>, awaiting: bool },
    /// It can never fit.
    Never,
}

/// How readings are turned into holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub(super) backoff: Backoff,
    /// The cap on a wait, and whether waits beyond it are clamped.
    pub(super) cap: Option<u64>,
    pub(super) clamp: bool,
    /// Whether a spent meter holds anybody.
    pub(super) respect: bool,
    /// How many clients share what is left.
    pub(super) processes: Option<u32>,
}

impl Ledger {
    pub(super) fn new(name: Option<Box<str>>, unit: Option<&str>, gate: Gate) -> Self {
        Self {
            name,
            route: None,
            limit: None,
            remaining: None,
            reset: None,
            run: None,
            window: None,
            unit: unit.map(Into::into),
            policy: None,
            trusted: false,
            informative: false,
            seq: 0,
            read_at: Instant::default(),
            sent_when_read: 0,
            shown: None,
            shown_seq: 0,
            last_route: 0,
            opens_at: None,
            distrust: 0,
            log: VecDeque::new(),
            passed: 0.0,
            late: Vec::new(),
            last_sent: 0,
            sends: 0,
            unanswered: 0,
            spent: 0.0,
            offered: 0.0,
            offers: 0,
            met: 0,
            paced_at: Instant::default(),
            stagger: 1.0,
            blind: 0,
            sharing: Sharing::default(),
            gradual: Gradual::default(),
            announced: None,
            read_once: false,
            gate,
            pacer: None,
        }
    }

    /// Whether the meter counts requests. A meter that does not say counts
    /// requests.
    pub(super) fn counts_requests(&self) -> bool {
        self.unit.as_deref().is_none_or(|unit| unit == "requests")
    }

    pub(super) fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    pub(super) fn limit(&self) -> Option<f64> {
        self.limit
    }

    pub(super) fn window(&self) -> Option<u64> {
        self.window
    }

    pub(super) fn reset(&self) -> Option<Instant> {
        self.reset
    }

    /// Whether what is left is known at `now`.
    pub(super) fn is_known(&self) -> bool {
        // How many are at work at once is no budget that time brings back.
        let concurrency = self.unit.as_deref() == Some("concurrent-requests");
        self.trusted && self.remaining.is_some() && self.distrust == 0 && !self.informative && !concurrency
    }

    /// Whether the server ever described it; a refusal may only have named it.
    pub(super) fn was_read(&self) -> bool {
        self.read_once
    }

    /// A refusal carried it; `asked` is the wait that was stated apart from the
    /// reset.
    pub(super) fn refused_with(&mut self, now: Instant, asked: Option<u64>) {
        self.gradual.refused(now, asked, self.reset);
    }

    /// Whether it said that nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.remaining.is_some_and(|left| left <= 0.0)
    }

    /// What is left for us of what this unit's calls spend.
    fn available(&self) -> Option<f64> {
        let left = self.remaining.filter(|_| self.is_known())?;
        Some(self.share().unwrap_or(left) - self.taken())
    }

    /// What was spent since the reading, and what is about to be.
    fn taken(&self) -> f64 {
        self.spent + self.offered
    }

    /// Our share of the requests that are left, if that is known.
    fn share(&self) -> Option<f64> {
        let left = self.remaining.filter(|_| self.is_known() && self.counts_requests())?;
        Some(self.sharing.of(left, self.counted()))
    }

    /// Requests of ours that were counted for sure.
    fn counted(&self) -> u64 {
        self.sends.saturating_sub(self.unanswered as u64)
    }

    /// Whether others are known to draw on the same quota, without having been
    /// stated.
    fn is_shared(&self) -> bool {
        self.sharing.is_learned(self.counted())
    }

    /// Whether `waiting` calls want more than our `share` of a quota that
    /// others use too.
    fn is_paced(&self, share: f64, waiting: usize) -> bool {
        self.reset.is_some() && self.is_shared() && waiting as f64 > share - self.taken()
    }

    /// Whether `out` requests in flight are enough for now: the answers to the
    /// rest of the first flight are about to tell whether others draw on the
    /// same quota.
    pub(super) fn is_early(&self, out: u32) -> bool {
        !self.sharing.is_stated()
            && self.log.front().is_some_and(|oldest| oldest.seq <= self.met)
            && f64::from(out) >= self.remaining.unwrap_or(0.0) * EARLY_SHARE
    }

    /// When the next of `waiting` calls may go, where what is left comes back
    /// little by little, or where others draw on it too. Of those each takes
    /// what is left evenly over the time that is left: whatever their number,
    /// they use it up together and nearly without a refusal, and all get the
    /// same.
    pub(super) fn due(&self, now: Instant, waiting: usize) -> Option<Instant> {
        let due = if self.gradual.is_on() {
            self.available().filter(|available| *available < 1.0)?;
            self.paced_at.after(self.gradual.distance(self.limit, self.window))
        } else {
            self.share().filter(|share| self.is_paced(*share, waiting))?;
            let reset = self.reset?;
            let due = self.paced_at.after((self.distance(reset) * self.stagger) as u64);
            // Behind the reset all is new.
            due.min(self.opens_at.unwrap_or(reset))
        };
        (due > now).then_some(due)
    }

    /// From one turn to the next, on average.
    fn distance(&self, reset: Instant) -> f64 {
        let left = (self.remaining.unwrap_or(0.0) - self.taken()).max(1.0);
        // Whole seconds and the way to the server: what would go at the last
        // moment comes too late.
        let time = reset.since(self.paced_at);
        time.saturating_sub(SECOND).max(time / 4) as f64 / left
    }

    /// From one turn to the next, at least.
    pub(super) fn least_distance(&self) -> f64 {
        match self.reset {
            _ if self.gradual.is_on() => self.gradual.distance(self.limit, self.window) as f64,
            Some(reset) => self.distance(reset) * STAGGER_MIN,
            None => 0.0,
        }
    }

    /// Whether a call that spends `cost` of this meter's unit fits at `now`.
    /// `cost` is `None` if the call does not say.
    pub(super) fn fit(&self, cost: Option<f64>) -> Fit {
        if let (Some(cost), Some(limit)) = (cost, self.limit)
            && cost > limit
            && limit >= 1.0
            && self.distrust == 0
            && !self.informative
        {
            return Fit::Never;
        }
        let Some(available) = self.available() else { return Fit::Unknown };
        if self.gradual.is_on() {
            return Fit::Fits;
        }
        let fits = match cost {
            Some(cost) => available >= cost,
            None => available > 0.0,
        };
        if fits {
            return Fit::Fits;
        }
        Fit::Spent { opens_at: self.opens_at, asked_until: self.reset.or(self.opens_at), awaiting: self.is_awaiting() }
    }

    fn is_awaiting(&self) -> bool {
        self.offers > 0 || self.unanswered > 0
    }

    /// Lets what is known run out: after its reset a meter keeps limit and
    /// window, and what is left is unknown again. If calls were held back by
    /// it, the next answer is asked for by one request alone.
    pub(super) fn refresh(&mut self, now: Instant, last: u64, policy: &Policy) {
        let came = |at: Option<Instant>| at.is_some_and(|at| now >= at);
        if came(self.reset) && !self.is_blocking() || came(self.opens_at) {
            let exhausted = (self.is_blocking() || self.is_shared()) && policy.respect;
            self.expire(exhausted, last);
        }
    }

    /// Whether it keeps somebody waiting at `now`: it must not be forgotten.
    pub(super) fn is_holding(&self, now: Instant) -> bool {
        let indebted = |pacer: &TokenBucket| pacer.available(now) < pacer.burst();
        self.gate.is_held(now)
            || self.pacer.as_ref().is_some_and(indebted)
            || self.opens_at.is_some_and(|opens_at| now < opens_at) && self.is_blocking()
    }

    /// Whether it holds calls back.
    fn is_blocking(&self) -> bool {
        self.available().is_some_and(|available| available < 1.0)
    }

    fn expire(&mut self, exhausted: bool, last: u64) {
        if exhausted {
            self.gate.require_probe(last);
        }
        self.trusted = false;
        if self.reset.is_some() {
            self.gradual.reset_came(self.last_sent);
            self.remaining = None;
        }
        self.reset = None;
        self.opens_at = None;
        self.log.retain(|entry| !entry.answered);
        self.passed = 0.0;
        self.late.clear();
        self.spent = self.log.iter().map(|entry| entry.cost).sum();
    }

    /// Answers without a reading for some time: too little left for that cost,
    /// no reset, and no answer on its way. Only a request can tell.
    pub(super) fn starve(&mut self, now: Instant, cost: Option<f64>, policy: &Policy) {
        let short = self.is_blocking() || matches!(self.fit(cost), Fit::Spent { .. });
        if short && self.opens_at.is_none() && !self.is_awaiting() {
            self.opens_at = Some(self.blind_until(now, policy));
        }
    }

    fn blind_until(&mut self, now: Instant, policy: &Policy) -> Instant {
        let unit = self.gate.draw();
        let draw = nanos(policy.backoff.delay(self.blind, Duration::ZERO, unit)).max(FLOOR);
        self.blind = self.blind.saturating_add(1);
        now.after(self.window.map_or(draw, |window| draw.min(window.max(FLOOR))))
    }

    /// Would this reading contradict what the meter knows?
    pub(super) fn compare(&self, now: Instant, seq: u64, reading: &Reading) -> Agreement {
        if let (Some(old), Some(new)) = (self.limit, reading.limit)
            && (old - new).abs() > f64::EPSILON * old.abs().max(1.0)
        {
            return Agreement::Contradiction;
        }
        let (Some(old), Some(new)) = (self.remaining, reading.remaining) else { return Agreement::Same };
        let (Some(reset), Some(new_reset)) = (self.reset, reading.reset.map(|reset| now.after(nanos(reset)))) else {
            return Agreement::Same;
        };
        // Of requests that were out together the order of counting is not
        // known.
        if now >= reset || seq <= self.sent_when_read.max(self.seq) || new <= old {
            return Agreement::Same;
        }
        let overlapping = self.log.len().saturating_sub(1);
        let apart = reset.since(new_reset).max(new_reset.since(reset));
        let tolerance = if apart <= SAME_INSTANT {
            overlapping as f64
        } else if apart <= SECOND {
            // A bucket that refills shows rising numbers and a reset that
            // moves; whole seconds hide the move.
            let rate = self.limit.unwrap_or(new) / (reset.since(self.read_at).max(SECOND) as f64);
            overlapping as f64 + 1.0 + 2.0 * rate * now.since(self.read_at) as f64
        } else {
            return Agreement::Same;
        };
        if new > old + tolerance { Agreement::Contradiction } else { Agreement::Same }
    }

    /// The same counter cannot have shown both: until it agrees with itself
    /// for a while, it holds nobody beforehand.
    pub(super) fn distrust(&mut self) {
        self.distrust = TRUSTED_AFTER;
    }

    /// Takes in a reading from the answer to the request `seq`. Answers
    /// whether anything that users see has changed.
    pub(super) fn read(
        &mut self,
        now: Instant,
        seq: u64,
        route: u16,
        reading: &Reading,
        usable: bool,
        policy: &Policy,
    ) -> bool {
        self.read_once = true;
        if let Ok(at) = self.log.binary_search_by_key(&seq, |entry| entry.seq) {
            self.log[at].left = reading.remaining;
        }
        let same_window = self.is_same_window(now, reading);
        let overtaken = seq <= self.sent_when_read
            && same_window
            && matches!((self.remaining, reading.remaining), (Some(old), Some(new)) if self.trusted && new >= old);
        if seq < self.seq || overtaken {
            return self.show(seq, reading);
        }
        let agrees = self.compare(now, seq, reading) == Agreement::Same;
        if agrees {
            self.distrust = self.distrust.saturating_sub(1);
        }
        let before = (self.limit, self.remaining, self.reset, self.window);
        self.last_route = route;
        self.limit = reading.limit.or(self.limit);
        self.window = reading.window.map(nanos).or(self.window);
        if reading.unit.is_some() {
            self.unit.clone_from(&reading.unit);
        }
        if reading.policy.is_some() {
            self.policy.clone_from(&reading.policy);
        }
        self.informative = reading.informative;
        self.sharing.state(policy.processes);
        self.show(seq, reading);
        if let Some(reset) = reading.reset.map(|reset| now.after(nanos(reset))) {
            let moved = self.reset.is_none_or(|old| old.since(reset).max(reset.since(old)) > SECOND);
            self.reset = Some(reset);
            // A reset that comes alone moves the wait that was built on another.
            if reading.remaining.is_none()
                && moved
                && self.opens_at.is_some()
                && let Some(left) = self.remaining
            {
                self.opens_at = self.opening(now, left, policy);
            }
        }
        if let Some(remaining) = reading.remaining {
            self.run = self.run_on(now, reading, remaining);
            self.compare_notes(seq, remaining, same_window);
            if reading.reset.is_none() {
                self.reset = None;
            }
            self.gradual.read(seq, remaining <= 0.0, self.reset.map_or(0, |reset| reset.since(now)));
            let old = core::mem::replace(&mut self.seq, seq);
            self.read_at = now;
            self.sent_when_read = self.last_sent;
            if old == 0 {
                self.met = self.last_sent;
            }
            self.remaining = Some(remaining);
            self.trusted = usable;
            self.cover(old, seq);
            self.opens_at = self.opening(now, remaining, policy);
        }
        before != (self.limit, self.remaining, self.reset, self.window)
    }

    fn run_on(&self, now: Instant, reading: &Reading, remaining: f64) -> Option<Run> {
        let span = reading.reset.filter(|span| !reading.dated && span.subsec_nanos() == 0).map(nanos)?;
        let goes_on = |run: &Run| {
            run.span == span && now.since(run.since) < SECOND && self.remaining.is_some_and(|before| remaining < before)
        };
        Some(match self.run.filter(goes_on) {
            Some(run) => Run { answers: run.answers + 1, ..run },
            None => Run { span, since: now, answers: 1 },
        })
    }

    /// The word of the request sent last is what users see.
    fn show(&mut self, seq: u64, reading: &Reading) -> bool {
        let changes = seq >= self.shown_seq && reading.remaining.is_some() && self.shown != reading.remaining;
        if seq >= self.shown_seq && reading.remaining.is_some() {
            self.shown = reading.remaining;
            self.shown_seq = seq;
        }
        changes
    }

    /// Whether the reading can be of the window that is known. Whole seconds
    /// blur a reset.
    fn is_same_window(&self, now: Instant, reading: &Reading) -> bool {
        match (self.reset, reading.reset) {
            (Some(reset), Some(new)) => {
                let new = now.after(nanos(new));
                now < reset && reset.since(new).max(new.since(reset)) <= SECOND
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// What others spent, seen between this reading and the one before.
    fn compare_notes(&mut self, seq: u64, remaining: f64, same_window: bool) {
        if !same_window {
            // All that were surely counted by then are behind the anchor.
            let own = self.log.back().is_some_and(|entry| entry.seq >= seq && !entry.answered);
            let unsure = self.unanswered as u64 - u64::from(own && self.unanswered > 0);
            self.sharing.anchor(remaining, self.sends.saturating_sub(unsure));
        } else {
            self.sharing.observe(remaining);
        }
    }

    /// When a spent meter may be asked again.
    fn opening(&mut self, now: Instant, remaining: f64, policy: &Policy) -> Option<Instant> {
        let rounded = self.run.filter(|run| run.answers >= ROUNDED_AFTER).map(|run| run.since.after(run.span));
        let opens_at = match rounded.or(self.reset).filter(|reset| *reset > now) {
            Some(reset) => {
                let unit = self.gate.draw();
                self.blind = 0;
                reset.after(jitter(reset.since(now), unit))
            }
            None if remaining > 0.0 => {
                self.blind = 0;
                return None;
            }
            None => self.blind_until(now, policy),
        };
        let Some(cap) = policy.cap else { return Some(opens_at) };
        // A reset past the cap that is not clamped makes each caller raise.
        let asked = self.reset.filter(|_| !policy.clamp).unwrap_or_default();
        Some(opens_at.min(asked.max(now.after(cap.max(FLOOR)))))
    }

    /// The reading moved from the request `old` to `new`: what lies between
    /// and is answered is covered by it. Each entry is passed once.
    fn cover(&mut self, old: u64, new: u64) {
        let from = self.log.partition_point(|entry| entry.seq <= old);
        let to = self.log.partition_point(|entry| entry.seq <= new);
        for at in from..to {
            if self.log[at].answered {
                self.retire(at);
            }
        }
        self.spent = (self.spent - self.passed).max(0.0);
        self.passed = 0.0;
        let left = self.remaining.unwrap_or(0.0);
        let (mut freed, late) = (0.0, &mut self.late);
        late.retain(|late| {
            let stays = late.left < left && late.until >= new;
            freed += if stays { 0.0 } else { late.cost };
            stays
        });
        self.spent = (self.spent - freed).max(0.0);
        self.trim();
    }

    /// An answered request before the reading: covered by it, unless its own
    /// answer shows that it was counted later.
    fn retire(&mut self, at: usize) {
        let entry = self.log[at];
        match (entry.left, self.remaining) {
            (Some(left), Some(believed)) if self.trusted && left < believed && entry.cost > 0.0 => {
                self.late.push(Late { cost: entry.cost, left, until: self.last_sent });
                self.log[at].cost = 0.0;
            }
            _ => self.strike(at),
        }
    }

    fn strike(&mut self, at: usize) {
        self.spent = (self.spent - self.log[at].cost).max(0.0);
        self.log[at].cost = 0.0;
    }

    /// What lies before the oldest unanswered request is kept as a sum. Not
    /// before its own reading was taken in: an answer may cover less than the
    /// answers that overtook it.
    fn trim(&mut self) {
        while let Some(entry) = self.log.front().copied().filter(|entry| entry.answered) {
            self.log.pop_front();
            if entry.seq > self.seq {
                self.passed += entry.cost;
            }
        }
        if self.log.is_empty() {
            // Sums of many amounts drift.
            self.spent = self.passed + self.late.iter().map(|late| late.cost).sum::<f64>();
        }
    }

    pub(super) fn offer(&mut self, now: Instant, cost: f64) {
        self.offers += 1;
        self.offered += cost;
        self.paced_at = now;
        self.stagger = STAGGER_MIN + self.gate.draw();
    }

    pub(super) fn withdraw(&mut self, cost: f64) {
        self.offers = self.offers.saturating_sub(1);
        // What was offered before the unit was known came at another cost.
        self.offered = if self.offers == 0 { 0.0 } else { (self.offered - cost).max(0.0) };
    }

    pub(super) fn sent(&mut self, seq: u64, cost: f64) {
        self.trim();
        if self.log.len() >= LOG_MAX
            && let Some(entry) = self.log.pop_front()
        {
            self.spent = (self.spent - entry.cost).max(0.0);
        }
        self.unanswered += 1;
        self.last_sent = self.last_sent.max(seq);
        self.sends += 1;
        // A route whose responses carry the meter only now may have sent
        // before others did.
        let at = self.log.partition_point(|entry| entry.seq < seq);
        self.log.insert(at, Entry { seq, cost, answered: false, left: None });
        self.spent += cost;
    }

    /// The request `seq` will bring no further news. `spent` is false if it
    /// never reached the server's counters.
    pub(super) fn answered(&mut self, seq: u64, spent: bool) {
        self.trim();
        let Ok(at) = self.log.binary_search_by_key(&seq, |entry| entry.seq) else { return };
        if self.log[at].answered {
            return;
        }
        self.log[at].answered = true;
        self.unanswered = self.unanswered.saturating_sub(1);
        if !spent || seq == self.seq {
            self.strike(at);
        } else if seq < self.seq {
            self.retire(at);
        } else if self.is_overtaken(at) {
            // Counted before the request that is believed.
            self.strike(at);
        }
    }

    /// A request was accepted: the next wait without a reset is a short one
    /// again.
    pub(super) fn accepted(&mut self) {
        self.blind = 0;
        self.gradual.accepted();
    }

    /// A request was refused: the server did not count it.
    pub(super) fn refused(&mut self) {
        self.sends = self.sends.saturating_sub(1);
    }

    /// A request sent after the believed one that was counted before it.
    fn is_overtaken(&self, at: usize) -> bool {
        let entry = self.log[at];
        entry.seq <= self.sent_when_read && entry.left.is_some_and(|left| Some(left) >= self.remaining)
    }

    /// Replaces the cost of the request `seq`, unless the server has counted
    /// it already.
    pub(super) fn settle(&mut self, seq: u64, old: f64, new: f64) {
        match self.log.binary_search_by_key(&seq, |entry| entry.seq) {
            Ok(at) if self.log[at].seq > self.seq || !self.log[at].answered => self.log[at].cost = new,
            Err(_) if seq > self.seq => self.passed = (self.passed + new - old).max(0.0),
            _ => return,
        }
        self.spent = (self.spent + new - old).max(0.0);
    }

    /// What users see, at `now`.
    pub(super) fn view(&self, now: Instant, route: Option<&str>) -> Meter {
        let over = self.reset.is_some_and(|reset| now >= reset);
        Meter {
            name: self.name.as_deref().map(str::to_owned),
            route: route.map(str::to_owned),
            limit: self.limit,
            remaining: if over || self.remaining.is_none() { None } else { self.shown },
            reset: if over { None } else { self.reset },
            window: self.window.map(Duration::from_nanos),
            unit: self.unit.as_deref().map(str::to_owned),
            policy: self.policy.as_deref().map(str::to_owned),
        }
    }

    /// In the child of a fork: requests in flight are the parent's, and what
    /// they spend is spent.
    pub(super) fn after_fork(&mut self, rng: fastrand::Rng) {
        for entry in &mut self.log {
            entry.answered = true;
        }
        self.unanswered = 0;
        self.offered = 0.0;
        self.offers = 0;
        self.gate.after_fork(rng);
    }
}
