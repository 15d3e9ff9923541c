//! Calls from threads: a thread that must wait sleeps, and is woken as soon as
//! its turn comes.

use core::ops::ControlFlow;
use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Wake;

use super::run::{Ended, Run, Turn};
use super::{Attempt, Failure, InFlight, LONGEST_NAP, ManualClock, Reply, RunError, SystemClock};
use crate::limiter::Limiter;
use crate::request::Request;
use crate::time::Now;

/// A clock that threads can wait by.
pub trait Clock: Clone + Send + Sync + 'static {
    /// Both clocks now. All drivers of one limiter must read the same clock.
    fn now(&self) -> Now;

    /// Blocks this thread until `wait` has passed or the signal is given.
    /// May return early.
    fn wait(&self, wait: Duration, signal: &Arc<Signal>);
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        SystemClock::now(self)
    }

    fn wait(&self, wait: Duration, signal: &Arc<Signal>) {
        signal.wait_timeout(wait);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        ManualClock::now(self)
    }

    fn wait(&self, wait: Duration, signal: &Arc<Signal>) {
        let mut nap = self.nap(wait);
        if nap.register(&Waker::from(Arc::clone(signal))) {
            signal.wait();
        }
    }
}

/// What wakes a thread that waits for its turn. A signal that is given before
/// the wait begins is not lost.
#[derive(Debug, Default)]
pub struct Signal {
    given: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Blocks this thread until the signal is given.
    pub fn wait(&self) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        while !*given {
            given = self.changed.wait(given).unwrap_or_else(PoisonError::into_inner);
        }
        *given = false;
    }

    /// Blocks this thread until the signal is given, or until `wait` has
    /// passed on the system's clock.
    pub fn wait_timeout(&self, wait: Duration) {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut given, _) =
            self.changed.wait_timeout_while(given, wait, |given| !*given).unwrap_or_else(PoisonError::into_inner);
        *given = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

/// Runs calls of one limiter from any number of threads.
///
/// ```
/// use rampmeter::blocking::Blocking;
/// use rampmeter::{Config, Limiter, Request};
///
/// let driver = Blocking::new(Limiter::new(Config::default())?);
/// let request = Request::new("GET", "https://api.example.com/v1/items");
/// let response = driver.run(&request, |attempt| {
///     // Any client's call stands here.
///     println!("attempt {}", attempt.number);
///     Ok::<_, std::io::Error>(http::Response::new("[]"))
/// })?;
/// assert_eq!(response.status(), 200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocking<C = SystemClock> {
    limiter: Limiter,
    clock: C,
}

impl Blocking {
    /// A driver by the system's clocks.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self::with_clock(limiter, SystemClock)
    }
}

impl<C: Clock> Blocking<C> {
    /// A driver by another clock, for tests that take no time.
    #[must_use]
    pub fn with_clock(limiter: Limiter, clock: C) -> Self {
        Self { limiter, clock }
    }

    /// The limiter whose calls it runs.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Both clocks now, as the limiter's other methods take them.
    #[must_use]
    pub fn now(&self) -> Now {
        self.clock.now()
    }

    /// Sends a request when its turn comes, and again if it is refused or
    /// fails and may be sent again. `send` performs one attempt and returns
    /// the response, whatever its status, or the client's error.
    ///
    /// What is no rate-limit matter is returned unchanged: a 404 as a
    /// response, a failed connection as [`RunError::Failed`]. The response
    /// counts as read when this returns; see
    /// [`run_streamed`](Self::run_streamed) for bodies that are read later.
    ///
    /// For a call made inside `send` by the same limiter, set
    /// [`Request::nested`]: it waits for no slot, of which its outer call
    /// holds one, and is not retried a second time.
    ///
    /// # Errors
    ///
    /// [`RunError::Limited`] if a wait does not fit a budget, if the server
    /// refuses for good, if the limiter is closed, or if an argument of the
    /// request is wrong; [`RunError::Failed`] with the client's error.
    pub fn run<R: Reply, E: Failure>(
        &self,
        request: &Request<'_>,
        send: impl FnMut(Attempt) -> Result<R, E>,
    ) -> Result<R, RunError<E>> {
        let (reply, call) = self.drive(request, send)?;
        call.finish(self.now());
        Ok(reply)
    }

    /// Like [`run`](Self::run), for a response whose body is read later: it
    /// stays in flight until the second value is dropped.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_streamed<R: Reply, E: Failure>(
        &self,
        request: &Request<'_>,
        send: impl FnMut(Attempt) -> Result<R, E>,
    ) -> Result<(R, InFlight), RunError<E>> {
        let (reply, call) = self.drive(request, send)?;
        let clock = self.clock.clone();
        Ok((reply, InFlight::new(call, move || clock.now())))
    }

    fn drive<R: Reply, E: Failure>(
        &self,
        request: &Request<'_>,
        mut send: impl FnMut(Attempt) -> Result<R, E>,
    ) -> Ended<R, E> {
        let mut run = Run::new(self.limiter.begin(self.now(), request)?);
        let signal = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&signal));
        loop {
            match run.poll(self.now(), &waker) {
                ControlFlow::Continue(wait) => self.clock.wait(wait.min(LONGEST_NAP), &signal),
                ControlFlow::Break(Turn::End(outcome)) => return run.end(outcome),
                ControlFlow::Break(Turn::Send(attempt)) => {
                    let outcome = send(attempt);
                    if let ControlFlow::Break(outcome) = run.report(self.now(), outcome) {
                        return run.end(outcome);
                    }
                }
            }
        }
    }
}
