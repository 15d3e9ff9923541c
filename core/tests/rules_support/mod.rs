//! What the tests of the rules share: virtual time, short ways to begin and
//! answer a call, and a world of clients before a simulated server.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::time::Duration;

use rampmeter::{Call, Config, Decision, FailureKind, Headers, Limiter, Now, Request, Response};
use serde_json::Value;

pub mod world;

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// The monotonic clock at a test's zero: arbitrary, and not zero.
pub const START: u64 = 77 * SECOND;

pub const URL: &str = "https://api.example.com/v1/x";

/// The moment `nanos` after a test's zero.
pub fn nanos(nanos: u64) -> Now {
    Now::from_nanos(START + nanos)
}

/// The moment `seconds` after a test's zero.
pub fn at(seconds: f64) -> Now {
    nanos((seconds * SECOND as f64).round() as u64)
}

/// A limiter with these options and a fixed seed.
pub fn limiter(options: Value) -> Limiter {
    let config = Config::default().seed(1).with_options(&options).expect("the options are right");
    Limiter::new(config).expect("the options agree")
}

pub fn begin(limiter: &Limiter, now: Now) -> Call {
    begin_at(limiter, now, URL)
}

pub fn begin_at(limiter: &Limiter, now: Now, url: &str) -> Call {
    limiter.begin(now, &Request::new("GET", url)).expect("the request is right")
}

/// A call that was begun and sent.
pub fn sent(limiter: &Limiter, now: Now) -> Call {
    sent_to(limiter, now, URL)
}

pub fn sent_to(limiter: &Limiter, now: Now, url: &str) -> Call {
    let call = begin_at(limiter, now, url);
    assert_sends(&call.poll(now));
    call
}

pub fn respond(call: &Call, now: Now, status: u16, headers: &dyn Headers) -> Decision {
    call.on_response(now, Response::new(status, headers))
}

/// A 429 that asks for that many seconds.
pub fn refuse(call: &Call, now: Now, seconds: u64) -> Decision {
    respond(call, now, 429, &[("Retry-After", seconds.to_string())])
}

/// The same, and the wait that follows in nanoseconds.
#[track_caller]
pub fn hold(call: &Call, now: Now, seconds: u64) -> u64 {
    slept(&refuse(call, now, seconds))
}

/// A 200 without a word about limits, read to its end.
pub fn accept(call: &Call, now: Now) {
    accept_with(call, now, &[("Content-Type", "text/plain")]);
}

pub fn accept_with(call: &Call, now: Now, headers: &dyn Headers) {
    let decision = respond(call, now, 200, headers);
    assert!(matches!(decision, Decision::Deliver { .. }), "a success is delivered, got {decision:?}");
    call.finish(now);
}

pub fn fail(call: &Call, now: Now, kind: FailureKind) -> Decision {
    call.on_failure(now, kind)
}

/// The three fields of the `X-RateLimit` family.
pub fn quota(limit: u64, remaining: u64, reset: u64) -> Vec<(&'static str, String)> {
    vec![
        ("X-RateLimit-Limit", limit.to_string()),
        ("X-RateLimit-Remaining", remaining.to_string()),
        ("X-RateLimit-Reset", reset.to_string()),
    ]
}

#[track_caller]
pub fn assert_sends(decision: &Decision) {
    assert!(matches!(decision, Decision::Send { .. }), "expected to send, got {decision:?}");
}

/// The wait of a decision to sleep, in nanoseconds.
#[track_caller]
pub fn slept(decision: &Decision) -> u64 {
    let Some(wait) = decision.wait() else { panic!("expected to sleep, got {decision:?}") };
    assert!(wait > Duration::ZERO, "a sleep is above zero");
    u64::try_from(wait.as_nanos()).expect("a sleep is finite")
}

/// The same in seconds.
#[track_caller]
pub fn slept_seconds(decision: &Decision) -> f64 {
    slept(decision) as f64 / SECOND as f64
}
