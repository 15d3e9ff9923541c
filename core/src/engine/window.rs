//! How many requests may be in flight to a scope.
//!
//! Two limits, for two kinds of ignorance: the *first flight*, while nothing
//! is known of the server's quota; and the *capacity*, once the server
//! refused for being full. Capacity refusals lower the second to what the
//! server did accept, and it climbs back slowly.

use crate::time::{Instant, SECOND};

/// Successes per unit of capacity before one more is tried.
const CLIMB: f64 = 10.0;
/// What one answer adds to the first flight. By the time that the first
/// refusal is read, all that was accepted has been answered: the flight that
/// overshoots is the first one plus this share of what was accepted. A larger
/// share finds the end of a large quota in fewer round trips.
const GROWTH: f64 = 1.0 / 3.0;
/// What is so many times a first flight needs no others before it.
const LITTLE_MORE: f64 = 2.0;
/// The first few answers add one each.
const FIRST_STEPS: u32 = 4;
/// A capacity that kept nobody back for so long is forgotten.
const FORGET: u64 = 60 * SECOND;
/// A window that has grown this far is no limit any more.
const WIDE: u32 = 1 << 20;

#[derive(Debug)]
pub(super) struct Window {
    first_flight: u32,
    /// In flight while nothing is known.
    open: u32,
    /// Growth too small to count yet.
    growth: f64,
    /// Since when `open` doubles with each second; only while something is in
    /// flight.
    doubling: Option<Instant>,
    capacity: Option<f64>,
    /// Below it the capacity climbs back with each success.
    threshold: f64,
    /// The last number sent when the server was full: its flight counts once.
    full_epoch: u64,
    /// When the capacity last kept a request back.
    pressed_at: Instant,
    suspicion: Option<Suspicion>,
    /// Whether bare refusals above the capacity are known to mean "full".
    convinced: bool,
    /// Whether a bare refusal with others in flight has turned out to be a
    /// quota's.
    ruled_out: bool,
}

/// A refusal that says nothing but its status, while others were in flight:
/// a window's end or a full server? If those others are answered well, the
/// server was full.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    /// The refused request.
    seq: u64,
    /// The last number sent by then.
    last: u64,
    /// Earlier requests in flight at that moment.
    candidates: u32,
    /// Those of them that were accepted since.
    survivors: u32,
    /// All that were sent by then and accepted since: requests reach the server
    /// in another order than they were sent.
    served: u32,
}

impl Window {
    pub(super) fn new(first_flight: u32) -> Self {
        Self {
            first_flight,
            open: first_flight,
            growth: 0.0,
            doubling: None,
            capacity: None,
            threshold: 0.0,
            full_epoch: 0,
            pressed_at: Instant::default(),
            suspicion: None,
            convinced: false,
            ruled_out: false,
        }
    }

    /// Whether one more fits beside `in_flight` others, as far as capacity
    /// goes.
    pub(super) fn capacity_allows(&mut self, now: Instant, in_flight: u32) -> bool {
        let Some(capacity) = self.capacity else { return true };
        if f64::from(in_flight) + 1.0 <= capacity {
            if now.since(self.pressed_at) > FORGET {
                self.capacity = None;
            }
            return true;
        }
        self.pressed_at = now;
        false
    }

    /// Whether one more fits into the first flight.
    pub(super) fn first_flight_allows(&mut self, now: Instant, in_flight: u32) -> bool {
        if let Some(since) = self.doubling {
            let seconds = now.since(since) / SECOND;
            if seconds > 0 {
                let shift = u32::try_from(seconds).unwrap_or(u32::MAX).min(20);
                self.open = self.open.saturating_mul(1 << shift).min(WIDE);
                self.doubling = Some(since.after(seconds * SECOND));
            }
        }
        in_flight < self.open
    }

    /// In how many round trips the first flight grows to `count`; `None` if
    /// that is little more than the first flight.
    pub(super) fn flights_to(&self, count: u32) -> Option<f64> {
        let ratio = f64::from(count) / f64::from(self.first_flight.max(1));
        (ratio > LITTLE_MORE).then(|| ratio.ln() / GROWTH.ln_1p())
    }

    /// When the first flight doubles next.
    pub(super) fn next_doubling(&self) -> Option<Instant> {
        self.doubling.map(|since| since.after(SECOND))
    }

    pub(super) fn sent(&mut self, now: Instant) {
        self.doubling.get_or_insert(now);
    }

    /// Nothing is in flight any more.
    pub(super) fn idle(&mut self) {
        self.doubling = None;
    }

    pub(super) fn accepted(&mut self, seq: u64, in_flight: u32) {
        // An answer to a client that did not use its window says nothing
        // about a wider one.
        if in_flight + 1 >= self.open / 2 {
            let small = self.open < self.first_flight.saturating_add(FIRST_STEPS);
            self.growth += if small { 1.0 } else { GROWTH };
            self.open = self.open.saturating_add(self.growth as u32).min(WIDE);
            self.growth = self.growth.fract();
        }
        if let Some(suspicion) = &mut self.suspicion
            && seq <= suspicion.last
        {
            suspicion.served += 1;
            suspicion.survivors += u32::from(seq < suspicion.seq);
        }
        if let Some(capacity) = &mut self.capacity
            && f64::from(in_flight) + 2.0 > *capacity
        {
            *capacity += if *capacity < self.threshold { 1.0 } else { 1.0 / (CLIMB * capacity.max(1.0)) };
        }
    }

    /// A refusal for a quota: what was accepted so far is no licence.
    pub(super) fn refused(&mut self, now: Instant) {
        self.open = self.open.min(self.first_flight.max(1));
        self.doubling = Some(now);
    }

    /// The server refused `seq` for being full with `in_flight` others; `last`
    /// is the last number sent. Each refusal of a flight takes one off, so
    /// that what remains is what the server took in.
    pub(super) fn full(&mut self, now: Instant, seq: u64, last: u64, in_flight: u32) {
        let fits = f64::from(in_flight.max(1));
        if seq > self.full_epoch {
            self.full_epoch = last;
            self.threshold = (fits / 2.0).floor();
        }
        self.pressed_at = now;
        self.capacity = Some(self.capacity.map_or(fits, |capacity| capacity.min(fits)));
    }

    /// A bare refusal of `seq` while `earlier` requests sent before it and
    /// `in_flight` in all were out. Answers whether the server is known to be
    /// full, rather than a window used up.
    pub(super) fn is_full(&mut self, seq: u64, last: u64, earlier: u32, in_flight: u32) -> bool {
        self.rule_out(seq);
        let well_below = |capacity: f64| in_flight == 0 || f64::from(in_flight) + 1.0 < capacity * 0.75;
        if self.convinced && !self.capacity.is_some_and(well_below) {
            return true;
        }
        if self.convinced {
            // Refused well below what fitted: it was no capacity after all.
            self.convinced = false;
            self.capacity = None;
        }
        if self.suspicion.is_none_or(|suspicion| seq > suspicion.last) && earlier >= 2 {
            self.suspicion = Some(Suspicion { seq, last, candidates: earlier, survivors: 0, served: 0 });
        }
        false
    }

    /// Whether the refusal of `seq` may have meant that the server is full.
    pub(super) fn suspects(&self, seq: u64) -> bool {
        !self.ruled_out && self.suspicion.is_some_and(|suspicion| suspicion.seq == seq)
    }

    /// The request that tested a suspicion was refused as well.
    pub(super) fn rule_out(&mut self, seq: u64) {
        self.ruled_out |= self.suspicion.is_some_and(|suspicion| seq > suspicion.last);
    }

    /// The hold after a bare refusal is over and a probe was accepted: what
    /// became of those in flight at the refusal? Answers whether the server
    /// was full.
    pub(super) fn judge(&mut self, now: Instant) -> bool {
        if let Some(suspicion) = self.suspicion.take()
            && suspicion.survivors >= 2
            && suspicion.survivors * 4 >= suspicion.candidates * 3
        {
            self.convinced = true;
            self.pressed_at = now;
            self.capacity = Some(f64::from(suspicion.served));
            return true;
        }
        false
    }

    /// In the child of a fork nothing is in flight.
    pub(super) fn after_fork(&mut self) {
        self.doubling = None;
        self.suspicion = None;
    }
}
