//! One call on its way through a driver, whatever the driver waits with.

use core::fmt;
use core::ops::ControlFlow;
use core::task::Waker;
use core::time::Duration;
use std::any::Any;
use std::io;

use crate::decision::Decision;
use crate::error::Error;
use crate::head::{FailureKind, Headers, Response};
use crate::limiter::Call;
use crate::time::Now;

/// One send of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// 1 for the first send, 2 for the second, and so on.
    pub number: u32,
}

/// What a driver reads off a client's response.
///
/// Implemented for [`http::Response`]: its body is read too, if it is a
/// `Vec<u8>`, a `String` or a `&'static str`. For another body, or a client
/// with types of its own, implement it for a type that wraps the response.
pub trait Reply {
    /// The status code.
    fn status(&self) -> u16;

    /// The header fields.
    fn headers(&self) -> &dyn Headers;

    /// Up to `limit` bytes from the body's start, without taking them from
    /// the caller. Asked for few responses only: refusals, mostly.
    fn body(&mut self, limit: usize) -> Option<Vec<u8>> {
        let _ = limit;
        None
    }

    /// True if a client-side cache answered.
    fn cached(&self) -> bool {
        false
    }

    /// The URL that answered, if a redirect led elsewhere.
    fn url(&self) -> Option<&str> {
        None
    }

    /// What may be kept of a refused response while the call waits for its
    /// next try, to be handed to the caller if there is none. It must hold no
    /// connection. By default nothing is kept.
    fn keep(self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

impl<B: Any> Reply for http::Response<B> {
    fn status(&self) -> u16 {
        self.status().as_u16()
    }

    fn headers(&self) -> &dyn Headers {
        self.headers()
    }

    fn body(&mut self, limit: usize) -> Option<Vec<u8>> {
        buffered::<B>(http::Response::body(self)).map(|bytes| bytes[..bytes.len().min(limit)].to_vec())
    }

    fn keep(self) -> Option<Self> {
        buffered::<B>(http::Response::body(&self)).is_some().then_some(self)
    }
}

/// The bytes of a body that is plain data.
fn buffered<B: Any>(body: &B) -> Option<&[u8]> {
    let body: &dyn Any = body;
    body.downcast_ref::<Vec<u8>>()
        .map(Vec::as_slice)
        .or_else(|| body.downcast_ref::<String>().map(String::as_bytes))
        .or_else(|| body.downcast_ref::<&'static str>().map(|text| text.as_bytes()))
}

/// What a driver reads off a client's error.
///
/// Implemented for [`std::io::Error`] and [`FailureKind`]; for the errors of
/// other crates see [`Failed`].
pub trait Failure {
    /// How the request failed. `None` if no network was involved, so that
    /// sending again is pointless: the error goes to the caller at once.
    fn kind(&self) -> Option<FailureKind>;
}

impl Failure for FailureKind {
    fn kind(&self) -> Option<FailureKind> {
        Some(*self)
    }
}

impl Failure for core::convert::Infallible {
    fn kind(&self) -> Option<FailureKind> {
        match *self {}
    }
}

impl Failure for io::Error {
    fn kind(&self) -> Option<FailureKind> {
        use io::ErrorKind::*;
        Some(match io::Error::kind(self) {
            ConnectionRefused | HostUnreachable | NetworkUnreachable | AddrNotAvailable | NetworkDown => {
                FailureKind::Connect
            }
            TimedOut | WouldBlock => FailureKind::Timeout,
            ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof | NotConnected => FailureKind::Read,
            _ => FailureKind::Other,
        })
    }
}

/// A client's error with its kind beside it, for errors that do not implement
/// [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Failed<E> {
    /// How the request failed; `None` if no network was involved.
    pub kind: Option<FailureKind>,
    /// The client's error.
    pub error: E,
}

impl<E> Failed<E> {
    /// An error of that kind.
    pub fn new(kind: FailureKind, error: E) -> Self {
        Self { kind: Some(kind), error }
    }

    /// An error in which no network was involved.
    pub fn local(error: E) -> Self {
        Self { kind: None, error }
    }
}

impl<E> Failure for Failed<E> {
    fn kind(&self) -> Option<FailureKind> {
        self.kind
    }
}

/// Why a run gave no response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError<E> {
    /// The limiter says so: a wait that does not fit, a permanent refusal, a
    /// closed limiter, a wrong argument.
    #[error(transparent)]
    Limited(#[from] Error),
    /// The client's own error, unchanged.
    #[error("{0}")]
    Failed(E),
}

impl<E> RunError<E> {
    /// The limiter's error, if it is one.
    pub fn limited(&self) -> Option<&Error> {
        match self {
            Self::Limited(error) => Some(error),
            Self::Failed(_) => None,
        }
    }
}

/// A delivered response's place among the requests in flight. Dropping it,
/// once the body is read or closed, gives the place to the next call.
pub struct InFlight {
    call: Call,
    now: Box<dyn Fn() -> Now + Send + Sync>,
}

impl InFlight {
    pub(super) fn new(call: Call, now: impl Fn() -> Now + Send + Sync + 'static) -> Self {
        Self { call, now: Box::new(now) }
    }

    /// Replaces the call's cost by the real amounts, once known.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if an amount is negative or no number.
    pub fn settle(&self, cost: &[(&str, f64)]) -> Result<(), Error> {
        self.call.settle((self.now)(), cost)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.call.finish((self.now)());
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InFlight").field(&self.call).finish()
    }
}

/// How a run ended: the response with its call, which is still in flight.
pub(super) type Ended<R, E> = Result<(R, Call), RunError<E>>;

/// One call, and what its last send brought while it waits for the next.
pub(super) struct Run<R, E> {
    call: Call,
    sent: u32,
    kept: Option<Result<R, E>>,
}

/// What a run does next.
pub(super) enum Turn<R, E> {
    /// Send now.
    Send(Attempt),
    /// It is over.
    End(Result<R, RunError<E>>),
}

impl<R: Reply, E: Failure> Run<R, E> {
    pub(super) fn new(call: Call) -> Self {
        Self { call, sent: 0, kept: None }
    }

    /// Whose turn is it? Continues with the wait until asking again.
    pub(super) fn poll(&mut self, now: Now, waker: &Waker) -> ControlFlow<Turn<R, E>, Duration> {
        match self.call.poll_with(now, waker) {
            Decision::Sleep { wait, .. } => ControlFlow::Continue(wait),
            Decision::Send { .. } => {
                self.kept = None;
                self.sent += 1;
                ControlFlow::Break(Turn::Send(Attempt { number: self.sent }))
            }
            Decision::Raise { error } => ControlFlow::Break(Turn::End(Err(RunError::Limited(*error)))),
            Decision::Deliver { .. } => ControlFlow::Break(Turn::End(match self.kept.take() {
                Some(Ok(reply)) => Ok(reply),
                Some(Err(failure)) => Err(RunError::Failed(failure)),
                None => Err(RunError::Limited(NOT_KEPT)),
            })),
        }
    }

    /// Reports what a send brought. Continues if the call waits for another.
    pub(super) fn report(&mut self, now: Now, outcome: Result<R, E>) -> ControlFlow<Result<R, RunError<E>>> {
        match outcome {
            Ok(reply) => self.report_reply(now, reply),
            Err(failure) => self.report_failure(now, failure),
        }
    }

    fn report_reply(&mut self, now: Now, mut reply: R) -> ControlFlow<Result<R, RunError<E>>> {
        let body = match self.call.wants_body(reply.status(), reply.headers()) {
            0 => None,
            limit => reply.body(limit),
        };
        let response = Response::new(reply.status(), reply.headers())
            .body(body.as_deref())
            .cached(reply.cached())
            .answered_by(reply.url());
        match self.call.on_response(now, response) {
            Decision::Deliver { .. } => ControlFlow::Break(Ok(reply)),
            Decision::Raise { error } => {
                self.kept = Some(Ok(reply));
                ControlFlow::Break(Err(RunError::Limited(*error)))
            }
            Decision::Sleep { .. } | Decision::Send { .. } => {
                // What is not kept is dropped here, before the wait.
                self.kept = reply.keep().map(Ok);
                ControlFlow::Continue(())
            }
        }
    }

    fn report_failure(&mut self, now: Now, failure: E) -> ControlFlow<Result<R, RunError<E>>> {
        let Some(kind) = failure.kind() else {
            self.call.cancel(now);
            return ControlFlow::Break(Err(RunError::Failed(failure)));
        };
        match self.call.on_failure(now, kind) {
            Decision::Deliver { .. } => ControlFlow::Break(Err(RunError::Failed(failure))),
            Decision::Raise { error } => ControlFlow::Break(Err(RunError::Limited(*error))),
            Decision::Sleep { .. } | Decision::Send { .. } => {
                self.kept = Some(Err(failure));
                ControlFlow::Continue(())
            }
        }
    }

    /// The call, for what a driver does beside sending and waiting.
    #[cfg(feature = "reqwest-middleware")]
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// The refused response that is kept, if any.
    #[cfg(feature = "reqwest-middleware")]
    pub(super) fn take_reply(&mut self) -> Option<R> {
        self.kept.take_if(|kept| kept.is_ok()).and_then(Result::ok)
    }

    /// Puts it back.
    #[cfg(feature = "reqwest-middleware")]
    pub(super) fn keep_reply(&mut self, reply: R) {
        self.kept = Some(Ok(reply));
    }

    pub(super) fn end(self, outcome: Result<R, RunError<E>>) -> Ended<R, E> {
        outcome.map(|reply| (reply, self.call))
    }
}

const NOT_KEPT: Error = Error::Misuse(
    "the refused response was not kept during the wait; implement Reply::keep, or set on_exhausted to raise",
);
