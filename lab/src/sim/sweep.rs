//! Other parameters than the suite's, and what can be proved of them.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::cell::Cell;
use super::gates::product;
use super::link::Rtt;
use super::metrics::Metrics;
use super::workload::Workload;
use crate::dialects::Dialect;
use crate::random::stream;
use crate::servers::{Nanos, SECOND, Spec};

/// A cell, what came, and what was to come.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The cell.
    pub cell: Cell,
    /// How the product fared.
    pub metrics: Metrics,
    /// The windows that are needed after the first.
    pub windows: u64,
    /// The most requests that may be refused.
    pub most_refused: u64,
    /// Seconds that may pass.
    pub most_seconds: Option<f64>,
}

/// Budgets that end a call by default: no client outlasts a window of 100
/// seconds with 120 for all of a call's waits, or with eight attempts.
const MAY_END: [&str; 2] = ["max_total_sleep", "max_attempts"];

impl Swept {
    /// Whether both bounds hold, and every call was answered that no budget
    /// ended.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.metrics.refused <= self.most_refused
            && self.most_seconds.is_none_or(|most| self.metrics.makespan <= most)
            && self.metrics.failures.keys().all(|reason| MAY_END.contains(reason))
            && self.metrics.sends_in_hold == 0
    }
}

impl core::fmt::Display for Swept {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { cell, metrics, windows, most_refused, most_seconds } = self;
        let cell = cell.to_string();
        write!(f, "{cell:<100} K {windows:>3}  refused {:>4} of {most_refused:>4}", metrics.refused)?;
        write!(f, "  time {:>8.1}", metrics.makespan)?;
        match most_seconds {
            Some(most) => write!(f, " of {most:>8.1}")?,
            None => write!(f, " ÷ {:>8.1}", metrics.optimal)?,
        }
        write!(f, "  failed {}{}", metrics.failed, if self.holds() { "" } else { "  MISSED" })
    }
}

/// Runs the product in `count` cells drawn from `seed`, in as many threads as
/// there are cores.
#[must_use]
pub fn run(count: u64, seed: u64) -> Vec<Swept> {
    let cells: Vec<Cell> = (0..count).map(|number| draw(seed, number)).collect();
    cells.par_iter().map(measure).collect()
}

/// Windows with limits from 5 to 5,000 and lengths from 1 s to 100 s, round
/// trips from 5 ms to 2 s, 10 to 10,000 calls.
fn draw(seed: u64, number: u64) -> Cell {
    let mut rng = stream(seed, "sweep", number);
    // Even on a logarithmic scale, in steps that are easy to read.
    let mut scale = |steps: &[u64]| steps[rng.usize(..steps.len())];
    let dialect =
        [Dialect::Ietf, Dialect::ResetAfter, Dialect::RetryAfter, Dialect::None][scale(&[0, 1, 2, 3]) as usize];
    let window = scale(&[1, 2, 5, 10, 20, 60, 100]) * SECOND;
    let rtt = scale(&[5, 20, 50, 100, 200, 500, 1000, 2000]) * SECOND / 1000;
    let calls = scale(&[10, 30, 100, 300, 1000, 3000, 10_000]);
    // No more than 40 windows, so that a sweep takes no hours.
    let limits: Vec<u64> =
        [5, 10, 20, 50, 100, 500, 1000, 5000].into_iter().filter(|limit| limit * 40 >= calls).collect();
    let limit = scale(&limits);
    let model = scale(&[0, 1, 2]);
    let workers = [None, Some(50)][scale(&[0, 1]) as usize];
    let server = match model {
        0 => Spec::Fixed { limit, window, phase: (rng.f64() * window as f64) as Nanos },
        1 => Spec::Anchored { limit, window },
        _ => Spec::SlidingLog { limit, window, counts_refused: false },
    };
    Cell { workers, rtt: Rtt::Constant(rtt), seed: number, ..Cell::new(server, dialect, Workload::Batch { calls }) }
}

/// How many requests a cold client sends.
fn first_flight() -> u64 {
    let options = rampmeter::options_json();
    let option = options.as_array().and_then(|options| options.iter().find(|option| option["name"] == "first_flight"));
    option.and_then(|option| option["default"].as_u64()).unwrap_or(1)
}

fn measure(cell: &Cell) -> Swept {
    let (metrics, record) = product(cell);
    let (Spec::Fixed { limit, window, .. } | Spec::Anchored { limit, window } | Spec::SlidingLog { limit, window, .. }) =
        cell.server
    else {
        unreachable!("the sweep draws windows only")
    };
    let calls = metrics.calls;
    let windows = calls.saturating_sub(limit).div_ceil(limit);
    // What was out when the first refusal came: no client can call it back.
    let flight = record.flight_at_first_refusal();
    let rtt = cell.rtt.median() as f64 / SECOND as f64;
    let slack = windows as f64 * (2.0 * rtt + 1.0) + rtt * libm::log2(calls as f64);
    let (most_refused, most_seconds) = match cell.dialect {
        Dialect::RetryAfter => (flight + windows, Some(metrics.optimal + slack)),
        // With base 1 s and factor 2, so many probes reach past a window; full
        // jitter costs one more.
        Dialect::None => {
            let probes = 2 + libm::ceil(libm::log2(1.0 + window as f64 / SECOND as f64)) as u64;
            (flight + windows * (1 + probes), None)
        }
        // Before the first answer nothing is known, and a flight doubles with
        // each second without one.
        _ => ((first_flight() << rtt as u64).saturating_sub(limit), Some(metrics.optimal + slack)),
    };
    Swept { cell: cell.clone(), metrics, windows, most_refused, most_seconds }
}
