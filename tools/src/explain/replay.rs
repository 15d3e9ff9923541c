//! A real limiter, shown one response after the other: what it answers is
//! what it would do.

use core::time::Duration;

use rampmeter::{Call, Config, ConfigError, Decision, Instant, Limiter, Now, Request, Response, Wall};

use crate::input::Exchange;

/// Whom the heads come from, where nothing tells.
const UNNAMED: &str = "this server";
const UNNAMED_URL: &str = "https://server.invalid/";
/// How often a call is polled before it is given up: each poll follows the
/// wait that the last one asked.
const MOST_POLLS: usize = 16;
/// The longest wait that is lived through before a call that raised is begun
/// anew.
const LONGEST: Duration = Duration::from_secs(400 * 86_400);

/// A limiter on a clock that follows the recording.
pub(super) struct Replay {
    limiter: Limiter,
    clock: u64,
    /// When the last response was there, on the recording's clock.
    last: Option<f64>,
    /// The call that was refused last and would be sent again.
    pending: Option<(Call, Asked)>,
}

/// What is asked, so that a retry is known by it.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    method: String,
    url: Option<String>,
}

/// What the limiter answered around one response.
pub(super) struct Answers {
    /// Before the request was sent.
    pub(super) before: Option<Decision>,
    /// To the response; `None` if the request would never have been sent.
    pub(super) after: Option<Decision>,
    /// Whether it was the call before, sent again.
    pub(super) again: bool,
    /// Seconds that the recording left between the last response and this
    /// request; below zero if it was under way already.
    pub(super) pause: Option<f64>,
}

impl Replay {
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let limiter = Limiter::new(config.clone())?;
        // What it logs is told here in words of its own.
        limiter.collect_notices();
        // Clocks that start at zero hide mistakes of subtraction.
        Ok(Self { limiter, clock: 1_000_000_000, last: None, pending: None })
    }

    /// Shows it the next response, received at `received` Unix seconds.
    pub(super) fn feed(&mut self, exchange: &Exchange, received: f64) -> Answers {
        let sent = exchange.sent.unwrap_or(received);
        let pause = self.last.map(|last| sent - last);
        self.advance(pause.unwrap_or(0.0));
        self.last = Some(received);

        let asked = Asked { method: method(exchange).to_owned(), url: exchange.url.clone() };
        let waiting = self.pending.take().filter(|(_, waiting)| *waiting == asked);
        let again = waiting.is_some();
        let mut answers = Answers { before: None, after: None, again, pause };
        let call = match waiting {
            Some((call, _)) => Some(call),
            None => self.begin(exchange, received).ok(),
        };
        let Some(call) = call.and_then(|call| self.send(call, exchange, received, &mut answers.before)) else {
            return answers;
        };
        self.advance(received - sent);
        let now = self.now(received);
        let wanted = call.wants_body(exchange.status, &exchange.headers);
        let body = exchange.body_up_to(wanted);
        let response = Response::new(exchange.status, &exchange.headers).body(body).cached(exchange.cached);
        let decision = call.on_response(now, response);
        if let Decision::Sleep { .. } = decision {
            self.pending = Some((call, asked));
        } else {
            call.finish(now);
        }
        answers.after = Some(decision);
        answers
    }

    /// What another call to the same URL would be told now; and one to
    /// another route, if the former is not sent.
    pub(super) fn peek(self, exchange: &Exchange, received: f64) -> (Option<Decision>, Option<Decision>) {
        let now = self.now(received);
        let Ok(next) = self.begin(exchange, received) else { return (None, None) };
        let decision = next.poll(now);
        if let Decision::Send { .. } = decision {
            return (Some(decision), None);
        }
        next.cancel(now);
        let url = exchange.url.as_deref().unwrap_or(UNNAMED_URL);
        let request = Request { route: Some("another route"), ..request(exchange, url) };
        let elsewhere = self.limiter.begin(now, &request).ok().map(|call| call.poll(now));
        (Some(decision), elsewhere)
    }

    fn begin(&self, exchange: &Exchange, received: f64) -> Result<Call, rampmeter::Error> {
        let url = exchange.url.as_deref().unwrap_or(UNNAMED_URL);
        self.limiter.begin(self.now(received), &request(exchange, url))
    }

    /// Polls the call until it may be sent, and lives through the waits, as
    /// its driver would.
    fn send(
        &mut self,
        mut call: Call,
        exchange: &Exchange,
        received: f64,
        first: &mut Option<Decision>,
    ) -> Option<Call> {
        for _ in 0..MOST_POLLS {
            let decision = call.poll(self.now(received));
            let wait = match &decision {
                Decision::Send { .. } => None,
                Decision::Sleep { wait, .. } => Some(*wait),
                Decision::Raise { error } => {
                    let known = match &**error {
                        rampmeter::Error::Exceeded(error) => error.available_in.or(error.retry_after),
                        _ => None,
                    };
                    Some(known.unwrap_or_default().clamp(Duration::from_secs(1), LONGEST))
                }
                Decision::Deliver { .. } => return None,
            };
            let raised = decision.error().is_some();
            first.get_or_insert(decision);
            let Some(wait) = wait else { return Some(call) };
            self.advance(wait.as_secs_f64());
            if raised {
                call = self.begin(exchange, received).ok()?;
            }
        }
        None
    }

    fn advance(&mut self, seconds: f64) {
        // Saturates, and turns what is no time into zero.
        self.clock = self.clock.saturating_add((seconds * 1e9).ceil() as u64);
    }

    fn now(&self, wall: f64) -> Now {
        Now { mono: Instant::from_nanos(self.clock), wall: Wall::from_unix_seconds(wall) }
    }
}

fn request<'a>(exchange: &'a Exchange, url: &'a str) -> Request<'a> {
    Request {
        headers: Some(&exchange.request_headers),
        scope: exchange.url.is_none().then_some(UNNAMED),
        ..Request::new(method(exchange), url)
    }
}

fn method(exchange: &Exchange) -> &str {
    exchange.method.as_deref().unwrap_or("GET")
}
