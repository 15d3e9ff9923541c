//! The laboratory: fleets of clients against servers, in virtual time.
//!
//! A [`Cell`] says what is run; [`run`] runs one strategy in it and keeps a
//! [`Record`] of everything that happened; a [`Yardstick`] makes [`Metrics`]
//! of that, beside the best possible client. Nothing sleeps and nothing reads
//! a clock: one seed gives one table on every machine.

mod agenda;
mod cell;
mod charts;
pub mod gates;
mod link;
mod metrics;
mod monitor;
pub mod page;
pub mod pictures;
mod strategies;
mod strategy;
pub mod suite;
pub mod sweep;
pub mod table;
mod workload;
mod world;

pub use cell::Cell;
pub use link::{Rtt, RttError, Timers};
pub use metrics::{Metrics, Yardstick};
pub use strategies::{Kind, UnknownStrategy};
pub use strategy::{Ask, Clock, Step, Strategy};
pub use workload::{Workload, WorkloadError};
pub use world::{Call, End, Record, Request, best_time, run};

/// Checks what the cell's parts cannot show by themselves: the product's
/// options.
///
/// # Errors
///
/// [`rampmeter::ConfigError`] that names the option.
pub fn check(cell: &Cell) -> Result<(), rampmeter::ConfigError> {
    strategies::check(cell)
}
