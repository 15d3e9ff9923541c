//! The pictures of the documentation.

use std::path::Path;

use anyhow::Result;

use super::cell::Cell;
use super::charts::{self, Scale};
use super::gates::{at_once, by_workers};
use super::strategies::Kind;
use super::world::{self, Record};
use crate::dialects::Dialect;
use crate::report::standalone;
use crate::servers::{Nanos, SECOND};

/// Writes all pictures into a folder.
///
/// # Errors
///
/// If a picture cannot be drawn or a file not be written.
pub fn write(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let save = |name: &str, svg: String| std::fs::write(folder.join(format!("{name}.svg")), standalone(&svg));
    let record = |cell: &Cell, kind| world::run(cell, kind, false);

    // The herd and the gate: 1,000 calls at once, Retry-After.
    let cell = at_once(1, Dialect::RetryAfter);
    let (herd, gate) = (record(&cell, Kind::PerRequest), record(&cell, Kind::Rampmeter));
    let scale = Scale::new(&[&herd, &gate]);
    save("herd", charts::requests(&herd, scale)?)?;
    save("gate", charts::requests(&gate, scale)?)?;

    // The reservation: the first second of 50 workers, with full headers.
    let cell = by_workers(1, Dialect::Ietf);
    let (own, usual) = (record(&cell, Kind::Rampmeter), record(&cell, Kind::PerRequest));
    let (own, usual) = (zoomed(&own, 0, SECOND), zoomed(&usual, 0, SECOND));
    let scale = Scale::new(&[&own, &usual]);
    save("reservation", charts::requests(&own, scale)?)?;
    save("no-reservation", charts::requests(&usual, scale)?)?;

    // The release: the moment at which the first hold ends.
    let cell = at_once(1, Dialect::RetryAfter);
    let own = zoomed(&record(&cell, Kind::Rampmeter), 37 * SECOND, 39 * SECOND);
    save("release", charts::requests(&own, Scale::new(&[&own]))?)?;
    let gate = zoomed(&record(&cell, Kind::Gate), 37 * SECOND, 39 * SECOND);
    save("release-of-all", charts::requests(&gate, Scale::new(&[&gate]))?)?;

    // Others on the same quota: four processes that do not know of each other.
    let cell = Cell { processes: 4, ..by_workers(1, Dialect::Ietf) };
    let (own, usual) = (record(&cell, Kind::Rampmeter), record(&cell, Kind::PerRequest));
    let scale = Scale::new(&[&own, &usual]);
    save("shared", charts::requests(&own, scale)?)?;
    save("shared-per-request", charts::requests(&usual, scale)?)?;

    // Without headers: a 429 that says nothing.
    let cell = by_workers(1, Dialect::None);
    let (own, usual) = (record(&cell, Kind::Rampmeter), record(&cell, Kind::PerRequest));
    let scale = Scale::new(&[&own, &usual]);
    save("bare", charts::requests(&own, scale)?)?;
    save("bare-per-request", charts::requests(&usual, scale)?)?;
    Ok(())
}

/// What happened between two instants, as if the first were the start.
fn zoomed(record: &Record, from: Nanos, to: Nanos) -> Record {
    let mut zoomed = record.clone();
    zoomed.requests.retain(|request| request.reached.is_some_and(|at| (from..to).contains(&at)));
    for request in &mut zoomed.requests {
        request.reached = request.reached.map(|at| at - from);
    }
    let before = record.waiting.iter().rev().find(|(at, _)| *at < from).map(|(_, count)| (0, *count));
    let within = record.waiting.iter().filter(|(at, _)| (from..to).contains(at));
    zoomed.waiting = before.into_iter().chain(within.map(|(at, count)| (at - from, *count))).collect();
    let last = zoomed.waiting.last().map_or(0, |(_, count)| *count);
    zoomed.waiting.push((to - from, last));
    zoomed
}
