//! What the drivers' tests share: servers without a network, by a clock that
//! stands still.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Response;
use rampmeter::driver::ManualClock;
use rampmeter::{Config, Limiter, Request};

pub const URL: &str = "https://api.example.com/v1/items";

pub fn limiter(config: Config) -> Limiter {
    Limiter::new(config.seed(7)).expect("the config is right")
}

pub fn get() -> Request<'static> {
    Request::new("GET", URL)
}

pub fn answer(status: u16, fields: &[(&str, &str)]) -> Response<String> {
    let mut response = Response::builder().status(status);
    for (name, value) in fields {
        response = response.header(*name, *value);
    }
    response.body(String::new()).expect("the fields are right")
}

pub fn refusal(seconds: u64) -> Response<String> {
    answer(429, &[("retry-after", &seconds.to_string())])
}

/// A server that allows `limit` requests per window and says so.
#[derive(Clone)]
pub struct FixedWindow {
    limit: u64,
    window: Duration,
    clock: ManualClock,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    window: u64,
    used: u64,
    accepted: u64,
    refused: u64,
}

impl FixedWindow {
    pub fn new(limit: u64, window: Duration, clock: &ManualClock) -> Self {
        Self { limit, window, clock: clock.clone(), seen: Arc::default() }
    }

    pub fn handle(&self) -> Response<String> {
        let now = self.clock.now().mono.as_nanos();
        let length = self.window.as_nanos() as u64;
        let mut seen = self.seen.lock().unwrap();
        if seen.window != now / length {
            (seen.window, seen.used) = (now / length, 0);
        }
        let reset = Duration::from_nanos(length - now % length).as_secs_f64().ceil().to_string();
        if seen.used >= self.limit {
            seen.refused += 1;
            return answer(429, &[("retry-after", &reset)]);
        }
        seen.used += 1;
        seen.accepted += 1;
        let (limit, remaining) = (self.limit.to_string(), (self.limit - seen.used).to_string());
        answer(200, &[("ratelimit-limit", &limit), ("ratelimit-remaining", &remaining), ("ratelimit-reset", &reset)])
    }

    pub fn accepted(&self) -> u64 {
        self.seen.lock().unwrap().accepted
    }

    pub fn refused(&self) -> u64 {
        self.seen.lock().unwrap().refused
    }
}

/// Looks until `done`; fails after ten seconds of real time.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(10), "this never came about: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
