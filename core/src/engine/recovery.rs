//! When to ask again where the server refuses and gives no time.
//!
//! One request at a time asks. Pauses in proportion to the time that has
//! passed find the end of any hold in logarithmically many requests, and late
//! by a fixed share of it at most. They grow faster where the call has few
//! attempts left: the last one is made a whole cap after the hold began.
//!
//! A limit that refuses again and again does so for about as long each time: a
//! window less what it takes to spend its quota. How long the last hold was is
//! known between its last request in vain and the one that was served; the
//! next search begins there, and narrows it.

use crate::backoff::Backoff;
use crate::time::nanos;

/// An expected end is searched for in so many steps, fewer where the call has
/// few attempts left …
const STEPS: u64 = 4;
/// … which are no smaller than this share of the hold.
const FINEST: u64 = 32;
/// A search that ends at its first request shows no lower end. From the second
/// in a row on the next begins this share of the hold earlier, and twice as
/// much each time: a limit may have become shorter.
const EARLIER: u64 = 16;
/// How much holds of the same limit may differ.
const SLACK: f64 = 0.1;

/// What is known of the holds at one gate.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// How long the last one was.
    last: Option<Span>,
    /// How it compares to the one before.
    agreement: Agreement,
    /// So many in a row ended at the first request.
    prompt: u32,
    /// When the latest request of this one was in vain, from its beginning.
    vain: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Agreement {
    /// There was none before.
    #[default]
    Open,
    /// Both may have been equally long.
    Agree,
    Differ,
}

/// Longer than `after`, not longer than `by`.
#[derive(Clone, Copy, Debug)]
struct Span {
    after: u64,
    by: u64,
}

/// Where a search stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// How long the hold has lasted.
    pub(super) elapsed: u64,
    /// How often the call that was refused may be sent again.
    pub(super) chances: Option<u32>,
    /// The longest pause of full jitter at this step.
    pub(super) ceiling: u64,
}

impl Recovery {
    /// A hold begins.
    pub(super) fn begin(&mut self) {
        self.vain = 0;
    }

    /// A request that asked was refused, `elapsed` after the hold began.
    pub(super) fn refused(&mut self, elapsed: u64) {
        self.vain = elapsed;
    }

    /// A request that asked was served, `elapsed` after the hold began.
    pub(super) fn ended(&mut self, elapsed: u64) {
        let after = match (self.vain, self.expected()) {
            (0, Some(span)) => {
                let doublings = (1 << self.prompt.min(EARLIER.ilog2())) - 1;
                span.after.min(elapsed).saturating_sub(elapsed / EARLIER * doublings)
            }
            (0, None) => elapsed / 2,
            (vain, _) => vain,
        };
        let span = Span { after, by: elapsed };
        self.prompt = if self.vain == 0 { self.prompt + 1 } else { 0 };
        self.agreement = match self.last {
            None => Agreement::Open,
            Some(last) if last.may_equal(span) => Agreement::Agree,
            Some(_) => Agreement::Differ,
        };
        self.last = Some(span);
    }

    /// How long the hold will be, unless the last two differed.
    fn expected(&self) -> Option<Span> {
        self.last.filter(|_| self.agreement != Agreement::Differ)
    }

    /// The pause before the next request; `unit` is a uniform number in
    /// [0, 1).
    pub(super) fn pause(&self, search: Search, backoff: &Backoff, unit: f64) -> u64 {
        let expected = self.expected();
        let pause = match expected.filter(|span| search.elapsed < span.by) {
            Some(span) if self.agreement == Agreement::Agree => span.narrow(search, STEPS, unit),
            // One hold is a hint, and no reason to leave full jitter's range.
            Some(span) => span.narrow(search, STEPS / 2, unit).min(search.ceiling),
            None => self.widen(search, expected, backoff, unit),
        };
        pause.min(nanos(backoff.cap()))
    }

    /// The pause where nothing is expected, or later than was.
    fn widen(&self, search: Search, expected: Option<Span>, backoff: &Backoff, unit: f64) -> u64 {
        let Search { elapsed, chances, ceiling } = search;
        let (base, cap) = (nanos(backoff.base()), nanos(backoff.cap()));
        let chances = chances.filter(|chances| *chances > 0);
        if elapsed == 0 {
            return if chances == Some(1) { base } else { share(base, unit) };
        }
        let since = elapsed.saturating_sub(expected.map_or(0, |span| span.after)).max(base / 2);
        // A little more than the cap: windows that are as long end before.
        let left = (cap / 16 * 17).saturating_sub(elapsed);
        match chances {
            Some(1) => since.max(left).min(ceiling),
            _ => {
                let growth = |chances| (1.0 + left as f64 / since as f64).powf(1.0 / f64::from(chances)) - 1.0;
                let factor = chances.map_or(1.0, growth).max(1.0);
                let longest = ((since as f64 * factor) as u64).min(ceiling);
                longest - share(longest / 4, unit)
            }
        }
    }
}

impl Span {
    fn may_equal(self, other: Self) -> bool {
        let reaches = |a: Self, b: Self| a.after as f64 * (1.0 - SLACK) < b.by as f64 * (1.0 + SLACK);
        reaches(self, other) && reaches(other, self)
    }

    /// The pause before the next request in it, one of `steps` at most.
    fn narrow(self, search: Search, steps: u64, unit: f64) -> u64 {
        let Search { elapsed, chances, .. } = search;
        let from = elapsed.max(self.after);
        let steps = chances.map_or(steps, |chances| u64::from(chances.saturating_sub(1) / 2).clamp(1, steps));
        let step = ((self.by - from) / steps).max(self.by / FINEST);
        let at = from + step / 2 + share(step, unit);
        if at + step / 2 < self.by { at - elapsed } else { self.by - elapsed }
    }
}

fn share(of: u64, unit: f64) -> u64 {
    (of as f64 * unit) as u64
}
