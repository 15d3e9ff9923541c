//! What lives behind the handles.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use napi::JsString;
use napi::bindgen_prelude::Env;
use rampmeter::{
    BucketRegistry, Call, Decision, Error, Headers, Instant, Limiter, Notice, Now, Reason, TokenBucket, Wall,
};
use rustc_hash::FxHashMap;

use crate::desk::{Desk, copy_latin1};

/// Places on the desk that every decision fills.
mod place {
    pub const KIND: usize = 0;
    pub const WAIT: usize = 1;
    pub const REASON: usize = 2;
    /// More than zero if wakes or log lines wait to be fetched.
    pub const PENDING: usize = 3;
}

/// The kinds of decisions in the order of their codes on the desk.
pub(crate) const KINDS: [&str; 4] = ["send", "sleep", "deliver", "raise"];

/// The code for "the body is wanted first", which is no decision.
pub(crate) const WANTS_BODY: f64 = KINDS.len() as f64;

pub(crate) struct State {
    pub(crate) desk: Desk,
    pub(crate) limiters: Table<Limiter>,
    pub(crate) calls: Table<Slot>,
    pub(crate) buckets: Table<TokenBucket>,
    pub(crate) registries: Table<BucketRegistry>,
    pub(crate) notices: Vec<Notice>,
    bell: Arc<Bell>,
    /// The buffers of the last text, for the next one.
    text: Text,
}

/// A call and what its driver needs beside it.
pub(crate) struct Slot {
    pub(crate) call: Call,
    pub(crate) limiter: Limiter,
    /// Made when the call first has to wait.
    waker: Option<Waker>,
    /// A response whose body is still awaited.
    pub(crate) head: Option<Head>,
    /// The error of the last decision to raise, until it is asked for.
    pub(crate) error: Option<Box<Error>>,
}

/// A response's status and header fields, kept while its body is read.
pub(crate) struct Head {
    pub(crate) text: Text,
    pub(crate) status: u16,
    pub(crate) cached: bool,
}

impl State {
    pub(crate) fn new(desk: Desk) -> Self {
        Self {
            desk,
            limiters: Table::default(),
            calls: Table::default(),
            buckets: Table::default(),
            registries: Table::default(),
            notices: Vec::new(),
            bell: Arc::default(),
            text: Text::default(),
        }
    }

    /// The monotonic clock as it lies at `index`, in milliseconds.
    pub(crate) fn instant(&self, index: usize) -> Instant {
        instant(self.desk.get(index))
    }

    /// Both clocks: the monotonic one at `index`, the wall clock behind it,
    /// NaN if there is none.
    pub(crate) fn now(&self, index: usize) -> Now {
        let now = Now::from_nanos(self.instant(index).as_nanos());
        match wall(self.desk.get(index + 1)) {
            Some(wall) => now.with_wall(wall),
            None => now,
        }
    }

    /// The monotonic clock alone, for what reads no date.
    pub(crate) fn now_without_wall(&self, index: usize) -> Now {
        Now::from_nanos(self.instant(index).as_nanos())
    }

    /// Takes over `text`, whose pieces' lengths lie on the desk in `lengths`.
    pub(crate) fn read_text(
        &mut self,
        env: &Env,
        text: &JsString<'_>,
        lengths: impl Iterator<Item = usize>,
    ) -> napi::Result<Text> {
        let mut taken = std::mem::take(&mut self.text);
        let mut end = 0usize;
        taken.ends.clear();
        taken.ends.extend(lengths.map(|place| {
            end = end.saturating_add(self.desk.whole(place) as usize);
            end
        }));
        copy_latin1(env, text, end, &mut taken.bytes)?;
        Ok(taken)
    }

    /// Gives a text's buffers back for the next one.
    pub(crate) fn recycle(&mut self, text: Text) {
        if text.bytes.capacity() <= 64 * 1024 {
            self.text = text;
        }
    }

    /// Lays a call's decision on the desk, and its error by for later.
    pub(crate) fn answer(&mut self, handle: u64, decision: Decision) {
        let (kind, wait) = match &decision {
            Decision::Send { .. } => (0.0, 0.0),
            Decision::Sleep { wait, .. } => (1.0, milliseconds(*wait)),
            Decision::Deliver { .. } => (2.0, 0.0),
            Decision::Raise { .. } => (3.0, 0.0),
        };
        self.desk.put(place::KIND, kind);
        self.desk.put(place::WAIT, wait);
        self.desk.put(place::REASON, code_of(decision.reason()));
        if let Decision::Raise { error } = decision
            && let Some(slot) = self.calls.get_mut(handle)
        {
            slot.error = Some(error);
        }
    }

    /// Asks for that many bytes of the body instead of deciding.
    pub(crate) fn want_body(&mut self, bytes: usize) {
        self.desk.put(place::KIND, WANTS_BODY);
        self.desk.put(place::WAIT, bytes as f64);
    }

    /// Says on the desk whether wakes or log lines are to be fetched. Called
    /// last wherever the engine may have acted.
    pub(crate) fn tell_pending(&mut self, limiter: Option<&Limiter>) {
        if let Some(limiter) = limiter {
            self.notices.extend(limiter.take_notices());
        }
        let pending = self.bell.len() + self.notices.len();
        self.desk.put(place::PENDING, pending as f64);
    }

    /// The handles of the calls that were woken, in order.
    pub(crate) fn take_woken(&mut self) -> Vec<f64> {
        self.bell.take()
    }

    /// The waker of that call, made on first use.
    pub(crate) fn waker(&mut self, handle: u64) -> Option<Waker> {
        let slot = self.calls.get_mut(handle)?;
        let waker =
            slot.waker.get_or_insert_with(|| Waker::from(Arc::new(Rope { bell: Arc::clone(&self.bell), handle })));
        Some(waker.clone())
    }
}

impl Slot {
    pub(crate) fn new(call: Call, limiter: Limiter) -> Self {
        Self { call, limiter, waker: None, head: None, error: None }
    }
}

/// Things by handle. A handle is never used twice, so one that is kept too
/// long means nothing.
pub(crate) struct Table<T> {
    entries: FxHashMap<u64, T>,
    last: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: FxHashMap::default(), last: 0 }
    }
}

impl<T> Table<T> {
    /// Keeps `entry` and answers its handle, as JavaScript's numbers hold it.
    pub(crate) fn keep(&mut self, entry: T) -> f64 {
        self.last += 1;
        self.entries.insert(self.last, entry);
        self.last as f64
    }

    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        self.entries.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.entries.get_mut(&handle)
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        self.entries.remove(&handle)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().map(|(handle, entry)| (*handle, entry))
    }
}

/// Pieces of bytes, one after the other.
#[derive(Default)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Text {
    pub(crate) fn piece(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends.get(index - 1).copied().unwrap_or(0) };
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// A piece that JavaScript sent as UTF-8.
    pub(crate) fn str(&self, index: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.piece(index))
    }

    /// The pieces from `first` on as header fields: name, value, name, value.
    pub(crate) fn fields(&self, first: usize) -> Fields<'_> {
        Fields { text: self, first }
    }
}

pub(crate) struct Fields<'a> {
    text: &'a Text,
    first: usize,
}

impl Headers for Fields<'_> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for name in (self.first..self.text.ends.len().saturating_sub(1)).step_by(2) {
            visit(self.text.piece(name), self.text.piece(name + 1));
        }
    }
}

/// The handles of woken calls. A waker may be invoked from wherever the core
/// likes, so the list has a lock though one thread uses it.
#[derive(Default)]
struct Bell {
    woken: Mutex<Vec<f64>>,
}

impl Bell {
    fn len(&self) -> usize {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn take(&self) -> Vec<f64> {
        std::mem::take(&mut self.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Rope {
    bell: Arc<Bell>,
    handle: u64,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.bell.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.handle as f64);
    }
}

/// A reading of JavaScript's monotonic clock.
pub(crate) fn instant(milliseconds: f64) -> Instant {
    Instant::from_nanos((milliseconds * 1e6).round() as u64)
}

/// A reading of JavaScript's wall clock, in milliseconds since the Unix epoch.
pub(crate) fn wall(milliseconds: f64) -> Option<Wall> {
    Wall::from_unix_seconds(milliseconds / 1e3)
}

pub(crate) fn milliseconds(duration: core::time::Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// A duration from JavaScript: `None` unless finite and not negative.
pub(crate) fn duration(milliseconds: f64) -> Option<core::time::Duration> {
    core::time::Duration::try_from_secs_f64(milliseconds / 1e3).ok()
}

fn code_of(reason: Reason) -> f64 {
    Reason::ALL.iter().position(|(_, known)| *known == reason).unwrap_or(0) as f64
}
