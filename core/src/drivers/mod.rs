//! What carries the engine's decisions out for Rust clients: it reads the
//! clocks, sleeps, wakes and sends. It decides nothing.
//!
//! A driver never waits longer than the engine says and polls again after
//! every wait, so early timers, suspends and spurious wake-ups are harmless.

use core::time::Duration;

mod clock;
mod run;

#[cfg(any(feature = "async", feature = "tokio"))]
pub mod asynchronous;
#[cfg(feature = "blocking")]
pub mod blocking;
#[cfg(feature = "reqwest-middleware")]
pub mod reqwest_middleware;

pub use clock::{ManualClock, SystemClock};
pub use run::{Attempt, Failed, Failure, InFlight, Reply, RunError};

/// No single nap is longer: a timer may overflow where a server's wait does
/// not, and polling early is safe.
const LONGEST_NAP: Duration = Duration::from_secs(3600);
