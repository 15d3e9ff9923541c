//! A middleware for [`reqwest`], by way of [`reqwest_middleware`].

use core::fmt;
use core::ops::ControlFlow;
use core::task::Waker;
use core::time::Duration;
use std::sync::Arc;

use ::reqwest_middleware::{Error, Middleware, Next, Result};
use http::Extensions;
use http::header::RETRY_AFTER;
use reqwest::{Request, Response, ResponseBuilderExt};

use self::body::{IDLE, OpenBodies, detach, peek, watch};
use super::asynchronous::{Timer, TokioTimer, turn};
use super::run::{Run, Turn};
use super::{Failure, Reply, RunError};
use crate::config::OnExhausted;
use crate::error::RateLimitExceeded;
use crate::head::{FailureKind, Headers};
use crate::keys;
use crate::limiter::{Call, Limiter};
use crate::refusal::{LOCAL_REFUSAL_HEADER, LOCAL_REFUSAL_STATUS};
use crate::time::{Now, SECOND, nanos};

mod body;
mod options;

pub use options::CallOptions;

type Namer = dyn Fn(&Request) -> Option<String> + Send + Sync;
type Judge = dyn Fn(&Response) -> bool + Send + Sync;

/// Holds, paces and retries the requests of a client, by one limiter.
///
/// A refused request is sent again when the server allows it; if it may not
/// be, or no longer, the caller gets the refusal as the response that it is,
/// so that its own handling of errors works. Where there is no response, the
/// error is [`Middleware`](Error::Middleware) with an [`Error`](crate::Error)
/// of this crate inside.
///
/// The scope is the request's origin and a label of its credential. A
/// credential among the client's *default* headers is not seen by a
/// middleware: where clients of several accounts share a limiter, name the
/// account with [`scope_by`](Self::scope_by).
///
/// Add it after (inside) a middleware that caches, so that cache hits do not
/// wait. What it sends again, it sends with its own copy of the request: a
/// streamed body, which cannot be copied, is sent once.
///
/// A streamed response stays in flight until its body is read or dropped, or
/// until nobody has read it for a second.
///
/// ```
/// use rampmeter::reqwest_middleware::RateLimitMiddleware;
/// use rampmeter::{Config, Limiter};
/// use reqwest_middleware::ClientBuilder;
///
/// let limiter = Limiter::new(Config::default())?;
/// let client = ClientBuilder::new(reqwest::Client::new()).with(RateLimitMiddleware::new(limiter)).build();
/// # drop(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RateLimitMiddleware<T = TokioTimer> {
    limiter: Limiter,
    timer: T,
    on_exhausted: OnExhausted,
    local_refusal: bool,
    scope: Option<Arc<Namer>>,
    route: Option<Arc<Namer>>,
    cached: Option<Arc<Judge>>,
    open: Arc<OpenBodies>,
}

impl RateLimitMiddleware {
    /// A middleware by tokio's timer.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self::with_timer(limiter, TokioTimer)
    }
}

impl<T: Timer> RateLimitMiddleware<T> {
    /// A middleware by another timer, for tests that take no time.
    #[must_use]
    pub fn with_timer(limiter: Limiter, timer: T) -> Self {
        Self {
            limiter,
            timer,
            on_exhausted: OnExhausted::Return,
            local_refusal: false,
            scope: None,
            route: None,
            cached: None,
            open: Arc::default(),
        }
    }

    /// Whether a refusal that is not retried, or no longer, is handed to the
    /// caller as a response (the default here, whatever the limiter's config
    /// says) or raised.
    #[must_use]
    pub fn on_exhausted(mut self, policy: OnExhausted) -> Self {
        self.on_exhausted = policy;
        self
    }

    /// Whether a wait that does not fit, for which there is no response, is
    /// answered with one that is made here instead of raised: a
    /// [`LOCAL_REFUSAL_STATUS`](crate::LOCAL_REFUSAL_STATUS) marked by the
    /// header [`LOCAL_REFUSAL_HEADER`](crate::LOCAL_REFUSAL_HEADER), for callers
    /// who know how to handle a server's.
    #[must_use]
    pub fn local_refusal(mut self, wanted: bool) -> Self {
        self.local_refusal = wanted;
        self
    }

    /// Names who is limited by a request, instead of origin and credential;
    /// `None` leaves it to them. [`CallOptions::scope`] goes first.
    #[must_use]
    pub fn scope_by(mut self, name: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> Self {
        self.scope = Some(Arc::new(name));
        self
    }

    /// Names what the server meters alike, instead of method and path; `None`
    /// leaves it to them. [`CallOptions::route`] goes first.
    #[must_use]
    pub fn route_by(mut self, name: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> Self {
        self.route = Some(Arc::new(name));
        self
    }

    /// Tells responses that came from a cache inside, which say nothing about
    /// the server's counters, if they do not carry `Age`.
    #[must_use]
    pub fn cached_by(mut self, is_cached: impl Fn(&Response) -> bool + Send + Sync + 'static) -> Self {
        self.cached = Some(Arc::new(is_cached));
        self
    }

    /// The limiter whose calls it runs.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    fn begin(&self, request: &Request, replayable: bool, extensions: &Extensions) -> Result<Call> {
        let said = extensions.get::<CallOptions>().cloned().unwrap_or_default();
        let scope = said.scope.or_else(|| self.scope.as_ref().and_then(|name| name(request)));
        let route = said.route.or_else(|| self.route.as_ref().and_then(|name| name(request)));
        let cost: Vec<(&str, f64)> = said.cost.iter().map(|(unit, amount)| (unit.as_str(), *amount)).collect();
        let now = self.timer.now();
        let call = crate::Request {
            headers: Some(request.headers()),
            scope: scope.as_deref(),
            route: route.as_deref(),
            cost: &cost,
            priority: said.priority,
            deadline: said.deadline.map(|deadline| now.mono.after(nanos(deadline))),
            retry: said.retry,
            replayable,
            nested: said.nested || Entered::has(extensions, &self.limiter),
            ..crate::Request::new(request.method().as_str(), request.url().as_str())
        };
        self.limiter.begin(now, &call).map_err(Error::middleware)
    }

    /// Asks whose turn it is, and sees to it that no slot is held for nothing.
    fn ask(
        &self,
        run: &mut Run<Received, Error>,
        now: Now,
        waker: &Waker,
    ) -> ControlFlow<Turn<Received, Error>, Duration> {
        match run.poll(now, waker) {
            ControlFlow::Continue(wait) if self.open.release_idle(now) => ControlFlow::Continue(wait.min(IDLE)),
            turn => turn,
        }
    }

    async fn receive(&self, run: &Run<Received, Error>, asked: &reqwest::Url, response: Response) -> Received {
        let cached = self.cached.as_ref().is_some_and(|is_cached| is_cached(&response));
        let wanted = run.call().wants_body(response.status().as_u16(), response.headers());
        let (response, body) = match wanted {
            0 => (response, None),
            limit => {
                let (response, body) = peek(response, limit, &self.timer).await;
                (response, Some(body))
            }
        };
        let url = response.url();
        let moved = url.host_str() != Some(NO_URL) && keys::origin(asked.as_str()) != keys::origin(url.as_str());
        Received { response, body, cached, moved }
    }

    /// Hands the outcome to the caller.
    fn end(
        &self,
        asked: reqwest::Url,
        mut run: Run<Received, Error>,
        outcome: core::result::Result<Received, RunError<Error>>,
    ) -> Result<Response> {
        let outcome = match outcome {
            Err(RunError::Limited(error @ (crate::Error::Exceeded(_) | crate::Error::Permanent(_))))
                if self.on_exhausted == OnExhausted::Return =>
            {
                run.take_reply().ok_or(RunError::Limited(error))
            }
            outcome => outcome,
        };
        match run.end(outcome) {
            Ok((received, call)) => Ok(watch(received.response, call, &self.open, &self.timer)),
            Err(RunError::Limited(crate::Error::Exceeded(error))) if self.local_refusal => made_here(asked, &error),
            Err(RunError::Limited(error)) => Err(Error::middleware(error)),
            Err(RunError::Failed(error)) => Err(error),
        }
    }
}

#[async_trait::async_trait]
impl<T: Timer> Middleware for RateLimitMiddleware<T> {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let copy = request.try_clone();
        let mut run = Run::new(self.begin(&request, copy.is_some(), extensions)?);
        let asked = request.url().clone();
        // Of a request that can be copied each send takes a copy.
        let (mut once, template) = match copy {
            Some(copy) => (Some(copy), Some(request)),
            None => (Some(request), None),
        };
        let entered = Entered::enter(extensions, &self.limiter);
        let outcome = loop {
            match turn(&self.timer, |now, waker| self.ask(&mut run, now, waker)).await {
                Turn::End(outcome) => break outcome,
                Turn::Send(_) => {
                    let copy = once.take().or_else(|| template.as_ref().and_then(Request::try_clone));
                    let Some(request) = copy else { break Err(RunError::Limited(SENT_ONCE)) };
                    let outcome = match next.clone().run(request, extensions).await {
                        Ok(response) => Ok(self.receive(&run, &asked, response).await),
                        Err(error) => Err(error),
                    };
                    if let ControlFlow::Break(outcome) = run.report(self.timer.now(), outcome) {
                        break outcome;
                    }
                    if let Some(refused) = run.take_reply() {
                        let response = detach(refused.response, &self.timer).await;
                        run.keep_reply(Received { response, ..refused });
                    }
                }
            }
        };
        entered.leave(extensions);
        self.end(asked, run, outcome)
    }
}

/// The host that reqwest gives to a response made without a URL, by a caching
/// middleware for instance.
const NO_URL: &str = "no.url.provided.local";

const SENT_ONCE: crate::Error = crate::Error::Misuse("the request's body was used up by its first send");

impl<T: fmt::Debug> fmt::Debug for RateLimitMiddleware<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitMiddleware").field("timer", &self.timer).finish_non_exhaustive()
    }
}

/// The response to a request whose wait does not fit.
fn made_here(asked: reqwest::Url, error: &RateLimitExceeded) -> Result<Response> {
    let mut made = http::Response::builder().url(asked).status(LOCAL_REFUSAL_STATUS);
    made = made.header(LOCAL_REFUSAL_HEADER, error.limit_name);
    if let Some(wait) = error.available_in.or(error.retry_after) {
        made = made.header(RETRY_AFTER, nanos(wait).div_ceil(SECOND));
    }
    made.body(error.to_string()).map(Response::from).map_err(Error::middleware)
}

/// A response, and what was read of its body for the engine.
struct Received {
    response: Response,
    body: Option<Vec<u8>>,
    cached: bool,
    /// True if a redirect ended at another origin.
    moved: bool,
}

impl Reply for Received {
    fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    fn headers(&self) -> &dyn Headers {
        self.response.headers()
    }

    fn body(&mut self, _: usize) -> Option<Vec<u8>> {
        self.body.take()
    }

    fn cached(&self) -> bool {
        self.cached
    }

    fn url(&self) -> Option<&str> {
        self.moved.then(|| self.response.url().as_str())
    }

    /// Its connection is let go before the wait, which takes an await.
    fn keep(self) -> Option<Self> {
        Some(self)
    }
}

impl Failure for Error {
    fn kind(&self) -> Option<FailureKind> {
        match self {
            // What another middleware raises says nothing about the network.
            Error::Middleware(_) => None,
            error if error.is_builder() || error.is_redirect() || error.is_status() => None,
            error if error.is_connect() => Some(FailureKind::Connect),
            error if error.is_timeout() => Some(FailureKind::Timeout),
            error if error.is_body() || error.is_decode() || error.is_request() => Some(FailureKind::Read),
            _ => Some(FailureKind::Other),
        }
    }
}

/// The limiters inside whose calls a request is made, so that a second
/// middleware of one limiter in one client does not retry again.
#[derive(Clone, Default)]
struct Entered(Vec<Limiter>);

impl Entered {
    fn has(extensions: &Extensions, limiter: &Limiter) -> bool {
        extensions.get::<Self>().is_some_and(|entered| entered.0.iter().any(|outer| outer.is_same(limiter)))
    }

    /// Notes the limiter; the answer puts things back as they were.
    fn enter(extensions: &mut Extensions, limiter: &Limiter) -> Self {
        let before = extensions.get::<Self>().cloned().unwrap_or_default();
        let mut after = before.clone();
        after.0.push(limiter.clone());
        extensions.insert(after);
        before
    }

    fn leave(self, extensions: &mut Extensions) {
        extensions.insert(self);
    }
}
