//! The clocks that drivers read. Nothing else in the crate reads one.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::{Instant, Now, Wall, nanos};

/// The system's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// Both clocks now.
    #[must_use]
    pub fn now(&self) -> Now {
        reading(std::time::Instant::now())
    }
}

/// A reading of the monotonic clock, with the wall clock beside it.
///
/// All drivers of a process count from one start, so that they may share a
/// limiter.
pub(super) fn reading(at: std::time::Instant) -> Now {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let since_start = at.saturating_duration_since(*START.get_or_init(|| at));
    let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|nanos| -nanos),
    };
    Now { mono: Instant::from_nanos(nanos(since_start)), wall: wall.map(Wall::from_unix_nanos) }
}

/// A clock that stands still until it is moved: whoever sleeps by it is woken
/// when it passes the end of the sleep. For tests that take no time.
///
/// Clones are handles on the same clock.
///
/// ```
/// use core::time::Duration;
/// use rampmeter::driver::ManualClock;
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(30));
/// assert_eq!(clock.now().mono.as_nanos() - before.mono.as_nanos(), 30_000_000_000);
/// ```
#[derive(Clone, Default)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Now,
    /// Whom to wake, by when and by order of arrival.
    alarms: BTreeMap<(Instant, u64), Waker>,
    next: u64,
}

impl ManualClock {
    /// A clock that shows zero and has no wall clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that shows `now`.
    #[must_use]
    pub fn starting_at(now: Now) -> Self {
        Self { state: Arc::new(Mutex::new(State { now, ..State::default() })) }
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Now {
        self.lock().now
    }

    /// Moves both clocks forward and wakes whose sleep has ended.
    pub fn advance(&self, by: Duration) {
        let due = {
            let mut state = self.lock();
            let by = nanos(by);
            state.now.mono = state.now.mono.after(by);
            let forward = i64::try_from(by).unwrap_or(i64::MAX);
            state.now.wall =
                state.now.wall.map(|wall| Wall::from_unix_nanos(wall.as_unix_nanos().saturating_add(forward)));
            let now = state.now.mono;
            let later = state.alarms.split_off(&(now.after(1), 0));
            std::mem::replace(&mut state.alarms, later)
        };
        for waker in due.into_values() {
            waker.wake();
        }
    }

    /// Moves forward to the end of the sleep that ends first. False, and
    /// nothing happens, if nobody sleeps.
    pub fn advance_to_next(&self) -> bool {
        let Some(wait) = self.next_end() else { return false };
        self.advance(wait);
        true
    }

    /// Sets the wall clock, as a time server or a user would: a step that no
    /// wait may notice.
    pub fn set_wall(&self, wall: Option<Wall>) {
        self.lock().now.wall = wall;
    }

    /// How many sleep by it now.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.lock().alarms.len()
    }

    /// How long until the first of them wakes; `None` if nobody sleeps.
    #[must_use]
    pub fn next_end(&self) -> Option<Duration> {
        let state = self.lock();
        let ((first, _), _) = state.alarms.first_key_value()?;
        Some(Duration::from_nanos(first.since(state.now.mono)))
    }

    /// A sleep of that length, by this clock.
    pub(super) fn nap(&self, wait: Duration) -> Nap {
        Nap { until: self.now().mono.after(nanos(wait)), id: None, clock: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ManualClock").field("now", &state.now).field("sleepers", &state.alarms.len()).finish()
    }
}

/// A sleep by a manual clock. Dropping it ends it.
pub(super) struct Nap {
    clock: ManualClock,
    until: Instant,
    id: Option<u64>,
}

impl Nap {
    /// Has `waker` woken at the end. False if the end has come.
    pub(super) fn register(&mut self, waker: &Waker) -> bool {
        let mut state = self.clock.lock();
        if state.now.mono >= self.until {
            return false;
        }
        let id = *self.id.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        state.alarms.insert((self.until, id), waker.clone());
        true
    }
}

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.register(cx.waker()) { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.clock.lock().alarms.remove(&(self.until, id));
        }
    }
}
