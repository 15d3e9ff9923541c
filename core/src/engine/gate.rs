//! The gate: the hold on a scope, or on the routes of one meter.
//!
//! Three rules keep it honest:
//!
//! * It is a deadline, not a flag that somebody has to clear: no lost call can
//!   hold it shut.
//! * `until = max(old, new)`. A flight of refusals is one event, and a shorter
//!   wait never brings the gate forward.
//! * Sends are numbered. `epoch` is the last number sent when the hold began:
//!   an outcome with `seq <= epoch` may extend the hold and nothing else.
//!
//! Behind the deadline the gate is in single file: one request at a time,
//! until one that was sent after the hold began comes back without a refusal.

use core::time::Duration;

use super::CallId;
use super::budget::Budget;
use super::recovery::{Recovery, Search};
use crate::backoff::Backoff;
use crate::decision::Reason;
use crate::time::{Instant, MILLISECOND, SECOND, nanos};

/// No wait is shorter: neither a zero from the server nor a small draw.
pub(super) const FLOOR: u64 = 50 * MILLISECOND;
/// A probe without verdict is free again after this, or four round trips.
const PROBE_LEASE: u64 = 5 * SECOND;
/// Jitter on a server's wait: at most this share of it …
const JITTER_SHARE: u64 = 50;
/// … and at most this.
const JITTER_MAX: u64 = 500 * MILLISECOND;

#[derive(Debug)]
pub(super) struct Gate {
    /// When the hold ends, jitter included.
    until: Instant,
    /// When it ends by the server's word, without jitter.
    asked_until: Instant,
    /// Whether the server asked for it; else it is a backoff.
    asked: bool,
    /// Whether the server's waits end early: it rounds seconds down.
    rounds_down: bool,
    single: bool,
    probe: Option<Probe>,
    epoch: u64,
    step: u32,
    previous: u64,
    episode: Option<Instant>,
    recovery: Recovery,
    /// The draw of this hold's jitter, in [0, 1).
    jitter: f64,
    rng: fastrand::Rng,
    pub(super) budget: Budget,
    /// Whether this hold was logged.
    pub(super) announced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    call: CallId,
    /// When it was offered or sent.
    since: Instant,
}

/// What stands in the way at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shut {
    /// Held until then.
    Held,
    /// In single file, and the one is out; it is given up at that instant.
    Probing { expires: Instant },
}

/// A wait to begin at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The server asked for it.
    Asked(u64),
    /// The server said "now", or a time in the past.
    Zero,
    /// The server gave none; its documentation may name a first one.
    Unknown {
        first: Option<u64>,
        /// How often the refused call may be sent again.
        chances: Option<u32>,
        /// Where the server may only have been full: when those in flight have
        /// been answered.
        soon: Option<u64>,
    },
}

impl Gate {
    pub(super) fn new(rng: fastrand::Rng) -> Self {
        Self {
            until: Instant::default(),
            asked_until: Instant::default(),
            asked: false,
            rounds_down: false,
            single: false,
            probe: None,
            epoch: 0,
            step: 0,
            previous: 0,
            episode: None,
            recovery: Recovery::default(),
            jitter: 0.0,
            rng,
            budget: Budget::default(),
            announced: false,
        }
    }

    pub(super) fn is_held(&self, now: Instant) -> bool {
        now < self.until
    }

    pub(super) fn is_single(&self) -> bool {
        self.single
    }

    pub(super) fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn asked_until(&self) -> Instant {
        self.asked_until
    }

    /// What the server asked, as far as it lies ahead.
    pub(super) fn asked(&self, now: Instant) -> Option<u64> {
        (self.asked && now < self.asked_until).then(|| self.asked_until.since(now))
    }

    pub(super) fn reason(&self) -> Reason {
        if self.asked { Reason::Held } else { Reason::Backoff }
    }

    pub(super) fn episode(&self) -> Option<Instant> {
        self.episode
    }

    /// Whether `call` may pass at `now`, as far as this gate goes. `limit` is
    /// the end of the call's own budgets: jitter is trimmed to fit into them,
    /// the server's wait never is.
    pub(super) fn check(&self, now: Instant, call: CallId, limit: Option<Instant>, rtt: u64) -> Result<(), Shut> {
        if now < self.until_for(limit) {
            return Err(Shut::Held);
        }
        if self.single
            && let Some(probe) = self.probe
            && probe.call != call
        {
            let expires = probe.since.after(PROBE_LEASE.max(rtt.saturating_mul(4)));
            if now < expires {
                return Err(Shut::Probing { expires });
            }
        }
        Ok(())
    }

    /// When the hold ends for a call whose budgets end at `limit`.
    pub(super) fn until_for(&self, limit: Option<Instant>) -> Instant {
        match limit {
            Some(limit) if limit < self.until => self.asked_until.max(limit),
            _ => self.until,
        }
    }

    /// Begins or extends a hold for the refusal of the request `seq`; `last`
    /// is the last number sent. Answers whether the hold changed.
    pub(super) fn hold(&mut self, now: Instant, seq: u64, last: u64, pause: Pause, backoff: &Backoff) -> bool {
        let fresh = seq > self.epoch;
        if fresh {
            if self.episode.is_none() {
                self.episode = Some(now);
                self.recovery.begin();
            }
            self.jitter = self.rng.f64();
        }
        // Less than a second is left of a wait that is over.
        if pause == Pause::Zero && self.asked && !self.is_held(now) && now.since(self.asked_until) < SECOND {
            self.rounds_down = true;
        }
        let (asked, jitter) = match pause {
            Pause::Asked(wait) => (wait.max(FLOOR), (wait / JITTER_SHARE).min(JITTER_MAX)),
            Pause::Zero if self.step == 0 || !fresh => (FLOOR, FLOOR / 2),
            // A server that keeps saying "now" and refusing does not mean it.
            Pause::Zero => {
                let half = self.ceiling(backoff, self.step - 1) / 2;
                (FLOOR + half, half)
            }
            // The rest of a flight adds nothing to the draw of its first.
            Pause::Unknown { .. } if !fresh => return false,
            Pause::Unknown { first: Some(first), .. } => {
                let wait = first.saturating_mul(1 << self.step.min(16));
                (wait, (wait / JITTER_SHARE).min(JITTER_MAX))
            }
            Pause::Unknown { first: None, chances, soon } => (self.draw_pause(now, backoff, chances, soon), 0),
        };
        if fresh {
            self.step = self.step.saturating_add(1);
            self.previous = asked;
            self.epoch = last;
            self.single = true;
            self.probe = None;
        }
        let asked_until = now.after(asked);
        let rest =
            if self.rounds_down && matches!(pause, Pause::Asked(wait) if wait % SECOND == 0) { SECOND } else { 0 };
        let until = asked_until.after(rest + (jitter as f64 * self.jitter) as u64);
        let extended = until > self.until;
        if extended {
            if !self.is_held(now) {
                self.announced = false;
            }
            self.until = until;
            self.asked_until = self.asked_until.max(asked_until);
            self.asked = !matches!(pause, Pause::Unknown { .. });
        }
        fresh || extended
    }

    /// A wait that nobody asked for.
    fn draw_pause(&mut self, now: Instant, backoff: &Backoff, chances: Option<u32>, soon: Option<u64>) -> u64 {
        let unit = self.rng.f64();
        let elapsed = self.episode.map_or(0, |since| now.since(since));
        if self.step > 0 {
            self.recovery.refused(elapsed);
        }
        let wait = if let Backoff::Full { .. } = backoff {
            let search = Search { elapsed, chances, ceiling: self.ceiling(backoff, self.step) };
            self.recovery.pause(search, backoff, unit)
        } else {
            nanos(backoff.delay(self.step, Duration::from_nanos(self.previous), unit))
        };
        soon.filter(|_| self.step == 0).map_or(wait, |soon| wait.min(soon)).max(FLOOR)
    }

    /// Cuts the hold at `end`.
    pub(super) fn clamp(&mut self, end: Instant) {
        self.until = self.until.min(end);
        self.asked_until = self.asked_until.min(end);
    }

    /// The server asked for more than the cap: no hold, but single file until
    /// one request is accepted.
    pub(super) fn trickle(&mut self, now: Instant, seq: u64, last: u64) {
        if seq > self.epoch {
            if self.episode.is_none() {
                self.episode = Some(now);
            }
            self.epoch = last;
            self.probe = None;
        }
        self.single = true;
    }

    /// Single file from now on, because what was known has run out: the next
    /// answer tells.
    pub(super) fn require_probe(&mut self, last: u64) {
        if !self.single {
            self.single = true;
            self.epoch = last;
            self.probe = None;
        }
    }

    /// `call` is offered its turn, or sent, as the one in single file.
    pub(super) fn take_probe(&mut self, now: Instant, call: CallId) {
        if self.single {
            self.probe = Some(Probe { call, since: now });
        }
    }

    /// `call` will bring no verdict.
    pub(super) fn free_probe(&mut self, call: CallId) {
        if self.probe.is_some_and(|probe| probe.call == call) {
            self.probe = None;
        }
    }

    /// The request `seq` came back without a refusal. Answers whether the
    /// gate opened.
    pub(super) fn accepted(&mut self, now: Instant, seq: u64) -> bool {
        if seq <= self.epoch {
            return false;
        }
        let opened = self.single;
        if opened
            && !self.asked
            && let Some(since) = self.episode
        {
            self.recovery.ended(now.since(since));
        }
        self.end_episode(seq);
        if opened {
            self.single = false;
            self.probe = None;
            self.budget.release(now);
        }
        opened
    }

    /// A call that the gate governs completed without a rate-limit signal.
    pub(super) fn end_episode(&mut self, seq: u64) {
        if seq > self.epoch {
            self.episode = None;
            self.step = 0;
            self.previous = 0;
        }
    }

    /// In the child of a fork: the probe belongs to the parent.
    pub(super) fn after_fork(&mut self, rng: fastrand::Rng) {
        self.probe = None;
        self.rng = rng;
    }

    /// A uniform number in [0, 1).
    pub(super) fn draw(&mut self) -> f64 {
        self.rng.f64()
    }

    fn ceiling(&self, backoff: &Backoff, step: u32) -> u64 {
        nanos(backoff.base()).saturating_mul(1 << step.min(30)).min(nanos(backoff.cap()))
    }
}

/// The jitter that is added to a server's wait of that length, at a draw of
/// `unit`.
pub(super) fn jitter(wait: u64, unit: f64) -> u64 {
    ((wait / JITTER_SHARE).min(JITTER_MAX) as f64 * unit) as u64
}
