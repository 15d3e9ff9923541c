//! What the product must attain, cell by cell.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::cell::Cell;
use super::link::{Rtt, Timers};
use super::metrics::{Metrics, Yardstick};
use super::strategies::Kind;
use super::workload::Workload;
use super::world::{self, Record};
use crate::dialects::Dialect;
use crate::servers::{SECOND, Spec};

/// Bounds on what a strategy does in a cell, beside those that hold in every
/// cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Refused requests per admitted one.
    pub refused: Option<f64>,
    /// Makespan over the optimum.
    pub ratio: Option<f64>,
    /// Jain's index, at least.
    pub jain: Option<f64>,
    /// The added wait's 99th percentile, in seconds.
    pub p99: Option<f64>,
    /// Refused at most twice as often as in this cell, which is the same
    /// without its special conditions.
    pub plain: Option<Box<Cell>>,
}

/// One cell of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What it belongs to.
    pub group: &'static str,
    /// The cell.
    pub cell: Cell,
    /// Its bounds.
    pub bounds: Bounds,
    /// Reasons for which a call may fail: caps and deadlines of the cell.
    pub may_fail: &'static [&'static str],
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cell.
    pub gate: Gate,
    /// How the product fared.
    pub metrics: Metrics,
    /// Each bound that was missed: what, what came, and the bound.
    pub missed: Vec<String>,
}

/// Runs the product through all gates, in as many threads as there are cores.
#[must_use]
pub fn run(gates: &[Gate]) -> Vec<Outcome> {
    gates.par_iter().map(judge).collect()
}

pub(super) fn product(cell: &Cell) -> (Metrics, Record) {
    let record = world::run(cell, Kind::Rampmeter, false);
    (Yardstick::new(cell).measure(Kind::Rampmeter, &record), record)
}

fn judge(gate: &Gate) -> Outcome {
    let (metrics, _) = product(&gate.cell);
    let mut missed = Vec::new();
    let mut bound = |holds: bool, name: &str, came: f64, sign: &str, bound: f64| {
        if !holds {
            missed.push(format!("{name} {came:.3} {sign} {bound:.3}"));
        }
    };
    let bounds = &gate.bounds;
    if let Some(most) = bounds.refused {
        bound(metrics.refused_per_accepted <= most, "refused", metrics.refused_per_accepted, ">", most);
    }
    if let Some(plain) = &bounds.plain {
        let most = 2.0 * product(plain).0.refused_per_accepted;
        bound(metrics.refused_per_accepted <= most, "refused", metrics.refused_per_accepted, "> 2 × plain =", most);
    }
    if let Some(most) = bounds.ratio {
        bound(metrics.makespan_ratio <= most, "time", metrics.makespan_ratio, ">", most);
    }
    if let Some(least) = bounds.jain {
        bound(metrics.jain >= least, "jain", metrics.jain, "<", least);
    }
    if let Some(most) = bounds.p99 {
        bound(metrics.p99 <= most, "p99", metrics.p99, ">", most);
    }
    let mut never = |name: &str, count: u64| bound(count == 0, name, count as f64, ">", 0.0);
    never("sends in a hold", metrics.sends_in_hold);
    never("empty sleeps", metrics.empty_sleeps);
    never("inversions", metrics.inversions);
    let unordered = metrics.failures.iter().filter(|(reason, _)| !gate.may_fail.contains(reason));
    for (reason, count) in unordered {
        missed.push(format!("{count} failed: {reason}"));
    }
    Outcome { gate: gate.clone(), metrics, missed }
}

/// The servers S1 to S12 of the benchmark's definition.
pub(super) const SERVERS: [&str; 12] = [
    "fixed:limit=100,window=60,phase=37",
    "anchored:limit=100,window=60",
    "sliding-log:limit=100,window=60",
    "sliding-log-counting:limit=100,window=60",
    "sliding-counter:limit=100,window=60",
    "token-bucket:rate=10,burst=20",
    "token-bucket:rate=100,burst=200",
    "leaky-queue:rate=10,depth=20",
    "concurrency:cap=10,service=0.2",
    "fixed:limit=5000,window=3600",
    "policies:second=20/1,hour=1000/3600",
    "shared:fixed:limit=100,window=60,phase=37,stolen=0.3",
];

/// Dialects in which every response tells what is left.
pub(super) const FULL: [Dialect; 5] =
    [Dialect::Ietf, Dialect::XDelta, Dialect::XEpoch, Dialect::XEpochMs, Dialect::ResetAfter];

/// Dialects in which only refusals speak.
const SPARSE: [Dialect; 4] =
    [Dialect::RetryAfter, Dialect::RetryAfterFloor, Dialect::RetryAfterDate, Dialect::RetryAfterMs];

/// Sn of the benchmark's definition.
///
/// # Panics
///
/// If there is no such server.
pub(super) fn server(number: usize) -> Spec {
    SERVERS[number - 1].parse().expect("the servers of the suite are valid")
}

/// 1,000 calls at once (W1).
pub(super) fn at_once(number: usize, dialect: Dialect) -> Cell {
    Cell::new(server(number), dialect, Workload::Batch { calls: 1000 })
}

/// 1,000 calls by 50 workers (W2).
pub(super) fn by_workers(number: usize, dialect: Dialect) -> Cell {
    Cell { workers: Some(50), ..at_once(number, dialect) }
}

fn bounds(refused: f64, ratio: f64) -> Bounds {
    Bounds { refused: Some(refused), ratio: Some(ratio), ..Bounds::default() }
}

fn gate(group: &'static str, cell: Cell, bounds: Bounds) -> Gate {
    // Among what a hostile server says are waits of centuries, and "now" to a
    // call that it goes on refusing.
    let may_fail: &[_] = if cell.dialect == Dialect::Hostile { &["max_retry_after", "max_attempts"] } else { &[] };
    Gate { group, cell, bounds, may_fail }
}

/// All gates.
#[must_use]
pub fn gates() -> Vec<Gate> {
    let mut gates = Vec::new();
    windows(&mut gates);
    refills(&mut gates);
    others(&mut gates);
    processes(&mut gates);
    open(&mut gates);
    disturbed(&mut gates);
    everything_else(&mut gates);
    // Each group in one place, wherever its cells were made.
    let mut order: Vec<&str> = Vec::new();
    for gate in &gates {
        if !order.contains(&gate.group) {
            order.push(gate.group);
        }
    }
    gates.sort_by_key(|gate| order.iter().position(|group| *group == gate.group));
    gates
}

fn windows(gates: &mut Vec<Gate>) {
    for number in 1..=4 {
        for dialect in FULL {
            gates.push(gate("windows, full headers", by_workers(number, dialect), bounds(0.0, 1.02)));
            gates.push(gate("windows, full headers", at_once(number, dialect), bounds(0.0, 1.02)));
        }
    }
    for number in 1..=4 {
        for dialect in SPARSE {
            gates.push(gate("windows, Retry-After only", by_workers(number, dialect), bounds(0.06, 1.02)));
        }
    }
    for number in 1..=3 {
        gates.push(gate("windows, bare 429", by_workers(number, Dialect::None), bounds(0.12, 1.10)));
    }
}

fn refills(gates: &mut Vec<Gate>) {
    for dialect in FULL {
        gates.push(gate("sliding counter, full headers", by_workers(5, dialect), bounds(0.05, 1.15)));
    }
    gates.push(gate("sliding counter, Retry-After only", by_workers(5, Dialect::RetryAfter), bounds(0.55, 1.05)));
    for (number, refused) in [(6, 0.20), (7, 0.12)] {
        for dialect in FULL {
            gates.push(gate("token bucket, full headers", by_workers(number, dialect), bounds(0.0, 1.02)));
        }
        let cell = by_workers(number, Dialect::RetryAfter);
        gates.push(gate("token bucket, Retry-After only", cell, bounds(refused, 1.05)));
    }
}

fn others(gates: &mut Vec<Gate>) {
    for dialect in [Dialect::None, Dialect::RetryAfter, Dialect::Ietf] {
        gates.push(gate("concurrency cap", by_workers(9, dialect), bounds(0.03, 1.05)));
        gates.push(gate("concurrency cap", at_once(9, dialect), bounds(0.03, 1.05)));
    }
    for dialect in FULL {
        // Long enough to meet the window's end, an hour away: the default cap
        // on a wait would end the calls instead.
        let hours = Cell {
            workload: Workload::Batch { calls: 6000 },
            options: serde_json::json!({"max_retry_after": 4000.0}),
            ..by_workers(10, dialect)
        };
        gates.push(gate("long window", hours, bounds(0.0, 1.02)));
    }
    for dialect in FULL {
        gates.push(gate("two policies", by_workers(11, dialect), bounds(0.0, 1.02)));
        gates.push(gate("a quota that others use", by_workers(12, dialect), bounds(0.05, 1.05)));
    }
}

fn processes(gates: &mut Vec<Gate>) {
    for (processes, refused) in [(4, 0.05), (16, 0.15)] {
        for dialect in FULL {
            let cell = Cell { processes, ..by_workers(1, dialect) };
            let bounds = Bounds { jain: Some(0.98), ..bounds(refused, 1.15) };
            gates.push(gate("processes", cell, bounds));
        }
    }
}

/// Long enough for some 2,000 calls or more: the fast servers need not run for
/// as long as the slow ones.
fn minutes(number: usize) -> f64 {
    if matches!(number, 6 | 7) { 5.0 } else { 30.0 }
}

fn open(gates: &mut Vec<Gate>) {
    for number in [1, 2, 3, 4, 6, 7] {
        for dialect in [Dialect::Ietf, Dialect::XDelta] {
            let minutes = minutes(number);
            let cell = Cell::new(server(number), dialect, Workload::Poisson { load: 0.8, minutes });
            // A log of the last minute is full for more than one call in a
            // hundred, and whole seconds tell when it is not to a second.
            let p99 = if matches!(number, 3 | 4) { 1.2 } else { 0.0 };
            let bounds = Bounds { refused: Some(0.0), p99: Some(p99), ..Bounds::default() };
            gates.push(gate("Poisson at 0.8", cell, bounds));
        }
    }
}

/// Cancels, heavy-tailed round trips, skewed clocks and coarse timers.
fn disturbed(gates: &mut Vec<Gate>) {
    let rtt = Rtt::LogNormal { median: SECOND / 10, p99: 3 * SECOND };
    type Disturb = fn(Cell, Rtt) -> Cell;
    let groups: [(&'static str, Disturb); 4] = [
        ("cancels", |cell, _| Cell { cancel: 0.05, ..cell }),
        ("heavy-tailed round trips", |cell, rtt| Cell { rtt, ..cell }),
        ("clock ahead, coarse timers", |cell, _| Cell { skew: 90.0, timers: Timers::Coarse, ..cell }),
        ("clock behind, coarse timers", |cell, _| Cell { skew: -90.0, timers: Timers::Coarse, ..cell }),
    ];
    let dialects = [Dialect::Ietf, Dialect::XEpoch, Dialect::RetryAfter, Dialect::RetryAfterDate, Dialect::None];
    for (group, disturb) in groups {
        for (number, dialect) in [1, 2, 3, 6, 9].iter().flat_map(|number| dialects.map(|dialect| (*number, dialect))) {
            let bounds = Bounds { plain: Some(Box::new(by_workers(number, dialect))), ..Bounds::default() };
            gates.push(gate(group, disturb(by_workers(number, dialect), rtt), bounds));
        }
    }
}

/// Cells that have no bounds of their own: only what holds in every cell.
fn everything_else(gates: &mut Vec<Gate>) {
    const GROUP: &str = "every cell";
    let dialects = [Dialect::Ietf, Dialect::XDelta, Dialect::RetryAfter, Dialect::None, Dialect::Hostile];
    for number in 1..=12 {
        for dialect in dialects {
            let cell = at_once(number, dialect);
            if !gates.iter().any(|gate| gate.cell == cell) {
                gates.push(gate(GROUP, cell, Bounds::default()));
            }
        }
    }
    for number in [1, 3, 5, 6] {
        for dialect in dialects {
            let cell = |workload| Cell::new(server(number), dialect, workload);
            let minutes = minutes(number);
            for load in [1.0, 1.2] {
                gates.push(gate(GROUP, cell(Workload::Poisson { load, minutes }), Bounds::default()));
            }
            let bursts = Workload::Bursts { load: 0.8, minutes, size: 20 };
            gates.push(gate(GROUP, cell(bursts), Bounds::default()));
            // W6: two keys with different limits, mixed.
            let second = Some(server(6));
            gates.push(gate(GROUP, Cell { second, ..by_workers(number, dialect) }, Bounds::default()));
            // W10: a deadline on each call.
            let deadline = Cell { deadline: Some(30 * SECOND), ..by_workers(number, dialect) };
            gates.push(Gate { may_fail: &["deadline", "max_retry_after"], ..gate(GROUP, deadline, Bounds::default()) });
        }
    }
}
