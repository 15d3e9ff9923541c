//! A sans-IO rate-limit engine for HTTP API clients.
//!
//! Response heads and clock readings go in, decisions come out: **send**,
//! **sleep**, **deliver**, **raise**. The engine does no I/O, reads no clock
//! and starts no thread.

#![forbid(unsafe_code)]

pub mod answer;
mod backoff;
mod bucket;
mod config;
mod decision;
#[cfg(any(feature = "blocking", feature = "async", feature = "tokio"))]
mod drivers;
mod engine;
mod error;
mod event;
mod head;
mod keys;
mod limiter;
mod meter;
mod refusal;
mod request;
mod signals;
mod stats;
mod time;

pub use answer::{Answer, Delay, Form, Period};
pub use backoff::Backoff;
pub use bucket::{BucketRegistry, TokenBucket};
pub use config::{
    BeyondMax, Config, ConfigError, OnExhausted, OptionSpec, Pace, Unit, options, options_json, options_markdown,
};
pub use decision::{Decision, Reason};
#[cfg(any(feature = "async", feature = "tokio"))]
pub use drivers::asynchronous;
#[cfg(feature = "blocking")]
pub use drivers::blocking;
#[cfg(feature = "reqwest-middleware")]
pub use drivers::reqwest_middleware;
pub use engine::{CallId, Engine};
pub use error::{Details, Error, PermanentlyRefused, RateLimitExceeded};
pub use event::{Event, EventKind, Notice};
pub use head::{FailureKind, Headers, NoHeaders, Response};
pub use limiter::{Call, Classify, Limiter};
pub use meter::Meter;
pub use refusal::{Class, LOCAL_REFUSAL_HEADER, LOCAL_REFUSAL_STATUS, Refusal, Verdict};
pub use request::Request;
pub use signals::{
    Figure, Ignored, Meaning, Reader, Reading, Signals, Statement, Wait, WaitSource, When, header_may_matter,
    parse_date, parse_retry_after, read_signals,
};
pub use stats::{ScopeStats, Stats};
pub use time::{Instant, Now, Wall};

/// What all drivers for Rust clients share.
#[cfg(any(feature = "blocking", feature = "async", feature = "tokio"))]
pub mod driver {
    pub use crate::drivers::{Attempt, Failed, Failure, InFlight, ManualClock, Reply, RunError, SystemClock};
}
