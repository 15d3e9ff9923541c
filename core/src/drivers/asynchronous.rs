//! Calls from async tasks, under any runtime: the driver needs a timer and a
//! waker, nothing else.

use core::future::poll_fn;
use core::ops::ControlFlow;
use core::pin::pin;
use core::task::{Poll, Waker};
use core::time::Duration;

use super::run::{Ended, Run, Turn};
use super::{Attempt, Failure, InFlight, LONGEST_NAP, ManualClock, Reply, RunError, SystemClock};
use crate::limiter::Limiter;
use crate::request::Request;
use crate::time::{Instant, Now, nanos};

/// What async tasks sleep by.
///
/// ```
/// use core::time::Duration;
/// use rampmeter::asynchronous::Timer;
///
/// /// The timer of a runtime that has none here yet.
/// #[derive(Clone)]
/// struct MyTimer;
///
/// impl Timer for MyTimer {
///     fn sleep(&self, wait: Duration) -> impl Future<Output = ()> + Send {
///         async move { smol::Timer::after(wait).await; }
///     }
/// }
/// ```
pub trait Timer: Clone + Send + Sync + 'static {
    /// A future that completes when `wait` has passed. Earlier is harmless.
    fn sleep(&self, wait: Duration) -> impl Future<Output = ()> + Send;

    /// Both clocks now. All drivers of one limiter must read the same clock.
    fn now(&self) -> Now {
        SystemClock.now()
    }
}

/// A timer that needs no runtime: the reactor of smol, in a thread of its own
/// unless smol runs already.
#[cfg(feature = "async")]
#[derive(Clone, Copy, Debug, Default)]
pub struct AsyncIoTimer;

#[cfg(feature = "async")]
impl Timer for AsyncIoTimer {
    async fn sleep(&self, wait: Duration) {
        async_io::Timer::after(wait).await;
    }
}

/// The timer of tokio. It follows `tokio::time::pause`, so that tests need
/// not wait.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

#[cfg(feature = "tokio")]
impl Timer for TokioTimer {
    fn sleep(&self, wait: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(wait)
    }

    fn now(&self) -> Now {
        super::clock::reading(tokio::time::Instant::now().into_std())
    }
}

impl Timer for ManualClock {
    fn sleep(&self, wait: Duration) -> impl Future<Output = ()> + Send {
        self.nap(wait)
    }

    fn now(&self) -> Now {
        ManualClock::now(self)
    }
}

/// Runs calls of one limiter from async tasks.
#[cfg_attr(
    feature = "async",
    doc = "
```
use rampmeter::asynchronous::Async;
use rampmeter::{Config, Limiter, Request};

# smol::block_on(async {
let driver = Async::new(Limiter::new(Config::default())?);
let request = Request::new(\"GET\", \"https://api.example.com/v1/items\");
let response = driver
    .run(&request, |attempt| async move {
        // Any client's call stands here.
        println!(\"attempt {}\", attempt.number);
        Ok::<_, std::io::Error>(http::Response::new(\"[]\"))
    })
    .await?;
assert_eq!(response.status(), 200);
# Ok::<(), Box<dyn std::error::Error>>(())
# }).unwrap();
```"
)]
#[derive(Clone, Debug)]
pub struct Async<T> {
    limiter: Limiter,
    timer: T,
}

#[cfg(feature = "async")]
impl Async<AsyncIoTimer> {
    /// A driver that works under every runtime. Under tokio,
    /// [`with_timer`](Self::with_timer) and its own timer save a thread.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self::with_timer(limiter, AsyncIoTimer)
    }
}

impl<T: Timer> Async<T> {
    /// A driver by that timer.
    #[must_use]
    pub fn with_timer(limiter: Limiter, timer: T) -> Self {
        Self { limiter, timer }
    }

    /// The limiter whose calls it runs.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Both clocks now, as the limiter's other methods take them.
    #[must_use]
    pub fn now(&self) -> Now {
        self.timer.now()
    }

    /// Sends a request when its turn comes, and again if it is refused or
    /// fails and may be sent again. `send` performs one attempt and returns
    /// the response, whatever its status, or the client's error. Dropping the
    /// future gives the call up, at any point.
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
    pub fn run<'a, R, E, F, Sent>(
        &'a self,
        request: &Request<'_>,
        send: F,
    ) -> impl Future<Output = Result<R, RunError<E>>> + use<'a, T, R, E, F, Sent>
    where
        R: Reply,
        E: Failure,
        F: FnMut(Attempt) -> Sent,
        Sent: Future<Output = Result<R, E>>,
    {
        let driven = self.drive(request, send);
        async move {
            let (reply, call) = driven.await?;
            call.finish(self.now());
            Ok(reply)
        }
    }

    /// Like [`run`](Self::run), for a response whose body is read later: it
    /// stays in flight until the second value is dropped.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_streamed<'a, R, E, F, Sent>(
        &'a self,
        request: &Request<'_>,
        send: F,
    ) -> impl Future<Output = Result<(R, InFlight), RunError<E>>> + use<'a, T, R, E, F, Sent>
    where
        R: Reply,
        E: Failure,
        F: FnMut(Attempt) -> Sent,
        Sent: Future<Output = Result<R, E>>,
    {
        let driven = self.drive(request, send);
        async move {
            let (reply, call) = driven.await?;
            let timer = self.timer.clone();
            Ok((reply, InFlight::new(call, move || timer.now())))
        }
    }

    /// The request is read before the first poll: what it borrows need not be
    /// `Send`, nor live as long as the future.
    fn drive<'a, R, E, F, Sent>(
        &'a self,
        request: &Request<'_>,
        mut send: F,
    ) -> impl Future<Output = Ended<R, E>> + use<'a, T, R, E, F, Sent>
    where
        R: Reply,
        E: Failure,
        F: FnMut(Attempt) -> Sent,
        Sent: Future<Output = Result<R, E>>,
    {
        let begun = self.limiter.begin(self.now(), request);
        async move {
            let mut run = Run::new(begun?);
            loop {
                match turn(&self.timer, |now, waker| run.poll(now, waker)).await {
                    Turn::End(outcome) => return run.end(outcome),
                    Turn::Send(attempt) => {
                        let outcome = send(attempt).await;
                        if let ControlFlow::Break(outcome) = run.report(self.now(), outcome) {
                            return run.end(outcome);
                        }
                    }
                }
            }
        }
    }
}

/// Sleeps for as long as `poll` says, asking again at each wake-up and at the
/// end of each wait.
pub(super) async fn turn<T: Timer, O>(timer: &T, mut poll: impl FnMut(Now, &Waker) -> ControlFlow<O, Duration>) -> O {
    let mut nap = pin!(None);
    let mut nap_ends = Instant::default();
    poll_fn(|cx| {
        // A second turn of the loop registers the waker with a new timer.
        for _ in 0..2 {
            let now = timer.now();
            let wait = match poll(now, cx.waker()) {
                ControlFlow::Break(outcome) => return Poll::Ready(outcome),
                ControlFlow::Continue(wait) => wait.min(LONGEST_NAP),
            };
            let ends = now.mono.after(nanos(wait));
            // A nap that ends too early is kept: it costs one more poll,
            // while a new one costs a timer at every wake-up.
            if nap.is_none() || ends < nap_ends {
                nap.set(Some(timer.sleep(wait)));
                nap_ends = ends;
            }
            match nap.as_mut().as_pin_mut().map(|nap| nap.poll(cx)) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(())) | None => nap.set(None),
            }
        }
        // The timer runs ahead of the clock: let others run before asking
        // again.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
