//! What a record says about the strategy that made it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cell::Cell;
use super::strategies::Kind;
use super::world::{Call, End, Record, Request, best_time, run};
use crate::servers::{Nanos, SECOND};

/// The span in which a herd shows.
const HERD: Nanos = SECOND / 20;

/// How a strategy fared in a cell. All times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// The server, as the command line names it.
    pub server: String,
    /// How it speaks.
    pub dialect: String,
    /// When calls begin.
    pub workload: String,
    /// What else is special about the cell.
    pub conditions: String,
    /// The strategy.
    pub strategy: &'static str,
    /// The seed.
    pub seed: u64,
    /// Calls that callers wanted.
    pub calls: u64,
    /// Calls that were answered.
    pub done: u64,
    /// Calls that ended without an answer, those included that never ended.
    pub failed: u64,
    /// Why, and how many.
    pub failures: BTreeMap<&'static str, u64>,
    /// Calls that their callers gave up.
    pub cancelled: u64,
    /// Whether every call ended before the run was given up.
    pub finished: bool,
    /// Requests that the server admitted.
    pub accepted: u64,
    /// Requests that the server refused.
    pub refused: u64,
    /// Refused requests for each admitted one.
    pub refused_per_accepted: f64,
    /// From the start to the last answer.
    pub makespan: f64,
    /// The same for the best possible client.
    pub optimal: f64,
    /// Their ratio.
    pub makespan_ratio: f64,
    /// The most requests in any 50 ms after the first release; `None` if the
    /// server never ran out.
    pub max_burst: Option<u64>,
    /// The most requests in any second.
    pub max_arrivals_per_second: u64,
    /// The most refusals in any second.
    pub max_refused_per_second: u64,
    /// How much longer a call took than the same call of the best possible
    /// client, at the median.
    pub p50: f64,
    /// The same, at the 99th percentile.
    pub p99: f64,
    /// The same, at worst.
    pub max: f64,
    /// Jain's index of fairness over what each process had been served when
    /// half of the time was over.
    pub jain: f64,
    /// Sends while an older call of the same process and key waited.
    pub inversions: u64,
    /// Sends before the end of a wait that the server had asked for.
    pub sends_in_hold: u64,
    /// Sleeps of no length.
    pub empty_sleeps: u64,
    /// Decisions for each admitted request.
    pub decisions_per_request: f64,
}

/// A cell, the best possible client's record of it, and the best time.
pub struct Yardstick {
    cell: Cell,
    /// From begin to answer, of each call that it served.
    spans: Vec<Option<Nanos>>,
    /// From the start to the last answer.
    pub(super) optimal: Nanos,
}

impl Yardstick {
    /// Runs the best possible client.
    #[must_use]
    pub fn new(cell: &Cell) -> Self {
        Self::of(cell, &run(cell, Kind::Oracle, false))
    }

    /// Takes the best possible client's record.
    pub(super) fn of(cell: &Cell, best: &Record) -> Self {
        let spans = best.calls.iter().map(span).collect();
        let optimal = match best_time(cell) {
            // Workers may be too few to use a window up at once.
            Some(time) if cell.is_plain() => time.max(last_answer(best)),
            Some(time) => time,
            None => last_answer(best),
        };
        Self { cell: cell.clone(), spans, optimal }
    }

    /// The cell.
    #[must_use]
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// Measures what a strategy did in the cell.
    #[must_use]
    pub fn measure(&self, kind: Kind, record: &Record) -> Metrics {
        let cell = &self.cell;
        let mut failures: BTreeMap<&'static str, u64> = BTreeMap::new();
        let (mut done, mut cancelled) = (0, 0);
        for call in &record.calls {
            match call.ended {
                Some((_, End::Done)) => done += 1,
                Some((_, End::Cancelled)) => cancelled += 1,
                Some((_, End::Failed(reason))) => *failures.entry(reason).or_default() += 1,
                None => *failures.entry("never ended").or_default() += 1,
            }
        }
        let reached = || record.requests.iter().filter(|request| request.reached.is_some());
        let accepted = reached().filter(|request| request.accepted).count() as u64;
        let refused = reached().count() as u64 - accepted;
        let makespan = last_answer(record);
        let added = self.added(record);
        Metrics {
            server: cell.server.to_string(),
            dialect: cell.dialect.to_string(),
            workload: cell.workload.to_string(),
            conditions: cell.conditions(),
            strategy: kind.name(),
            seed: cell.seed,
            calls: record.calls.len() as u64,
            done,
            failed: failures.values().sum(),
            finished: !failures.contains_key("never ended"),
            failures,
            cancelled,
            accepted,
            refused,
            refused_per_accepted: ratio(refused, accepted),
            makespan: seconds(makespan),
            optimal: seconds(self.optimal),
            makespan_ratio: makespan as f64 / self.optimal.max(1) as f64,
            max_burst: max_burst(record),
            max_arrivals_per_second: most_within(arrivals(record, |_| true), SECOND),
            max_refused_per_second: most_within(arrivals(record, |request| !request.accepted), SECOND),
            p50: percentile(&added, 50),
            p99: percentile(&added, 99),
            max: percentile(&added, 100),
            jain: jain(record, cell.processes as usize, makespan / 2),
            inversions: record.inversions,
            sends_in_hold: record.sends_in_hold,
            empty_sleeps: record.empty_sleeps,
            decisions_per_request: ratio(record.decisions, accepted),
        }
    }

    /// How much longer each call took than the oracle's, in order of size.
    fn added(&self, record: &Record) -> Vec<i64> {
        let pairs = record.calls.iter().map(span).zip(&self.spans);
        let mut added: Vec<i64> = pairs.filter_map(|(own, best)| Some(own? as i64 - (*best)? as i64)).collect();
        added.sort_unstable();
        added
    }
}

fn span(call: &Call) -> Option<Nanos> {
    match call.ended {
        Some((at, End::Done)) => Some(at - call.begun),
        _ => None,
    }
}

fn last_answer(record: &Record) -> Nanos {
    let answers = record.calls.iter().filter_map(|call| match call.ended {
        Some((at, End::Done)) => Some(at),
        _ => None,
    });
    answers.max().unwrap_or(0)
}

/// The instants at which such requests reached their server, in order.
fn arrivals(record: &Record, wanted: impl Fn(&Request) -> bool) -> Vec<Nanos> {
    let mut arrivals: Vec<Nanos> =
        record.requests.iter().filter(|request| wanted(request)).filter_map(|request| request.reached).collect();
    arrivals.sort_unstable();
    arrivals
}

/// The most of these instants in any span of that length.
fn most_within(instants: Vec<Nanos>, length: Nanos) -> u64 {
    let mut first = 0;
    let mut most = 0;
    for (last, at) in instants.iter().enumerate() {
        while instants[first] + length <= *at {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as u64
}

fn max_burst(record: &Record) -> Option<u64> {
    let bursts = record.releases.iter().enumerate().filter_map(|(key, release)| {
        let release = (*release)?;
        let of_key = |request: &Request| record.calls[request.call].key == key;
        let late = arrivals(record, of_key).into_iter().filter(|at| *at >= release).collect();
        Some(most_within(late, HERD))
    });
    bursts.max()
}

/// (Σx)² / (n·Σx²): 1 if all had the same.
fn jain(record: &Record, processes: usize, until: Nanos) -> f64 {
    let mut served = vec![0.0; processes];
    for request in &record.requests {
        if request.accepted && request.reached.is_some_and(|at| at <= until) {
            served[record.calls[request.call].process] += 1.0;
        }
    }
    let (sum, squares) = served.iter().fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
    if squares == 0.0 { 1.0 } else { sum * sum / (processes as f64 * squares) }
}

/// The smallest of the sorted values that so many per cent do not exceed.
fn percentile(sorted: &[i64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(0.0, |value| *value as f64 / SECOND as f64)
}

fn ratio(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

fn seconds(span: Nanos) -> f64 {
    span as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_within_a_span_counts_its_begin_and_not_its_end() {
        assert_eq!(most_within(vec![0, 5, 10, 14, 15], 10), 3);
        assert_eq!(most_within(vec![0, 10], 10), 1);
        assert_eq!(most_within(vec![], 10), 0);
    }

    #[test]
    fn a_percentile_is_the_value_that_so_many_do_not_exceed() {
        let values: Vec<i64> = (1..=200).map(|value| value * SECOND as i64).collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&values, percent)), [100.0, 198.0, 200.0]);
        assert_eq!(percentile(&[], 99), 0.0);
    }
}
