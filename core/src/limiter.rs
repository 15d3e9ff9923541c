//! The shared handles: one engine behind one mutex, held for microseconds.
//! No user code, callback, waker or logger runs under it.

use core::task::Waker;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::{Config, ConfigError};
use crate::decision::Decision;
use crate::engine::{CallId, Engine};
use crate::error::Error;
use crate::event::{Event, Notice};
use crate::head::{FailureKind, Headers, Response};
use crate::meter::Meter;
use crate::refusal::Verdict;
use crate::request::Request;
use crate::signals::Reader;
use crate::stats::Stats;
use crate::time::Now;

/// The caller's own rule about responses: a verdict, or `None` to leave the
/// response to ours.
pub type Classify = dyn Fn(&Response<'_>) -> Option<Verdict> + Send + Sync;

/// All that one client knows: its config and its scopes. Clones are handles
/// on the same limiter.
#[derive(Clone)]
pub struct Limiter {
    shared: Arc<Shared>,
}

struct Shared {
    config: Config,
    reader: Reader,
    classify: Option<Box<Classify>>,
    engine: Mutex<Engine>,
}

impl Limiter {
    /// A limiter that knows nothing of any server yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if options conflict.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Self::build(config, None)
    }

    /// The same with the caller's own rule, asked before ours.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if options conflict.
    pub fn with_classify(
        config: Config,
        classify: impl Fn(&Response<'_>) -> Option<Verdict> + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        Self::build(config, Some(Box::new(classify)))
    }

    fn build(config: Config, classify: Option<Box<Classify>>) -> Result<Self, ConfigError> {
        config.check()?;
        let reader = Reader::from_config(&config)?;
        let engine = Mutex::new(Engine::new(config.clone()));
        Ok(Self { shared: Arc::new(Shared { config, reader, classify, engine }) })
    }

    /// Its options.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// True if both are handles on one limiter.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether a response's header field of that name, in any case of letters,
    /// may say anything that is read, dialects of the config's own included.
    /// Fields for which this is false need not be shown.
    #[must_use]
    pub fn header_may_matter(&self, name: &[u8]) -> bool {
        self.shared.reader.header_may_matter(name)
    }

    /// Begins a call. Nothing is waited for and nothing reserved until it is
    /// polled.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for an argument that cannot be: a URL without origin
    /// where no scope is named, a cost that is no amount.
    pub fn begin(&self, now: Now, request: &Request<'_>) -> Result<Call, Error> {
        let id = self.with(|engine| engine.begin(now, request))?;
        Ok(Call { shared: Arc::clone(&self.shared), id })
    }

    /// Ends the limiter: waiting calls raise [`Error::Closed`] at once, later
    /// ones at their first poll.
    pub fn close(&self, now: Now) {
        self.with(|engine| engine.close(now));
    }

    /// True once [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closed()
    }

    /// The calls without a waker that should poll again now, in order.
    #[must_use]
    pub fn take_wakes(&self) -> Vec<CallId> {
        self.shared.lock().take_wakes()
    }

    /// Starts or stops the collection of events.
    pub fn listen(&self, listening: bool) {
        self.shared.lock().listen(listening);
    }

    /// The events since the last time, oldest first; empty unless
    /// [`listen`](Self::listen) was called.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        self.shared.lock().take_events()
    }

    /// Lines for the log since the last time. Rust drivers need not ask: the
    /// handles log them through the `log` crate unless
    /// [`collect_notices`](Self::collect_notices) was called.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.lock().take_notices()
    }

    /// Leaves lines for the log to [`take_notices`](Self::take_notices), for
    /// bindings that have a logger of their own.
    pub fn collect_notices(&self) {
        self.shared.lock().collect_notices();
    }

    /// Counters at `now`.
    #[must_use]
    pub fn stats(&self, now: Now) -> Stats {
        self.shared.lock().stats(now)
    }

    /// The scopes that are known, as they may be shown.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.shared.lock().scopes()
    }

    /// The meters of the scope of that URL or label, at `now`; empty if it is
    /// unknown.
    #[must_use]
    pub fn meters(&self, now: Now, scope: &str) -> Vec<Meter> {
        self.shared.lock().meters(now, scope)
    }

    /// To be called in the child after a fork: calls in flight and waiting
    /// belong to the parent; holds and meters stay; the jitter is reseeded.
    pub fn after_fork(&self, seed: u64) {
        self.shared.lock().after_fork(seed);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Engine) -> T) -> T {
        self.shared.with(act)
    }
}

impl core::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Engine> {
        // The engine runs no code of others, so a poisoned lock guards a
        // state that is whole.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on the engine, then wakes and logs with the lock released.
    fn with<T>(&self, act: impl FnOnce(&mut Engine) -> T) -> T {
        let (outcome, wakers, notices) = {
            let mut engine = self.lock();
            let outcome = act(&mut engine);
            (outcome, engine.take_wakers(), engine.take_own_notices())
        };
        for waker in wakers {
            waker.wake();
        }
        for notice in notices {
            let level = if notice.warning { log::Level::Warn } else { log::Level::Debug };
            log::log!(target: "rampmeter", level, "{}", notice.message);
        }
        outcome
    }
}

/// One logical request. Dropping it gives it up: its place in the queue and,
/// if nothing was sent yet, its reservation are free again.
#[must_use = "dropping a call cancels it"]
pub struct Call {
    shared: Arc<Shared>,
    id: CallId,
}

impl Call {
    /// Its id, as [`Limiter::take_wakes`] lists it.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// What now? Asking twice at one instant gives the same answer.
    pub fn poll(&self, now: Now) -> Decision {
        self.shared.with(|engine| engine.poll(now, self.id, None))
    }

    /// The same; if the answer is to sleep, `waker` is woken when polling
    /// again is worthwhile before the sleep's end.
    pub fn poll_with(&self, now: Now, waker: &Waker) -> Decision {
        self.shared.with(|engine| engine.poll(now, self.id, Some(waker)))
    }

    /// How many bytes of this response's body are worth reading; 0 for nearly
    /// every response.
    #[must_use]
    pub fn wants_body(&self, status: u16, headers: &dyn Headers) -> usize {
        self.shared.reader.wants_body(status, headers)
    }

    /// Reports the response to the last send.
    pub fn on_response(&self, now: Now, response: Response<'_>) -> Decision {
        let mut response = response;
        if response.verdict.is_none()
            && let Some(classify) = &self.shared.classify
        {
            response.verdict = classify(&response);
        }
        let signals = self.shared.reader.read(&response, now.wall);
        self.shared.with(|engine| engine.on_response(now, self.id, &response, signals))
    }

    /// Reports that the last send ended without a response.
    pub fn on_failure(&self, now: Now, kind: FailureKind) -> Decision {
        self.shared.with(|engine| engine.on_failure(now, self.id, kind))
    }

    /// Replaces the cost by the real amounts, once known.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if an amount is negative or no number.
    pub fn settle(&self, now: Now, cost: &[(&str, f64)]) -> Result<(), Error> {
        self.shared.with(|engine| engine.settle(now, self.id, cost))
    }

    /// The body is read or closed: the slot in flight is free.
    pub fn finish(&self, now: Now) {
        self.shared.with(|engine| engine.finish(now, self.id));
    }

    /// Gives the call up, at any point. Safe to repeat.
    pub fn cancel(&self, now: Now) {
        self.shared.with(|engine| engine.cancel(now, self.id));
    }

    /// How often it was sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.shared.lock().attempts(self.id)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.with(|engine| engine.abandon(self.id));
    }
}

impl core::fmt::Debug for Call {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}
