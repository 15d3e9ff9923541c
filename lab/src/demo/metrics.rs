//! What a timeline says about the fleet that made it.

use serde::Serialize;

use crate::servers::{Nanos, SECOND, Spec, optimum, schedule};
use crate::stub::{Arrival, Timeline};

/// The span in which a herd shows.
const SPAN: Nanos = SECOND / 20;

/// How a fleet fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests that the server admitted.
    pub accepted: u64,
    /// Requests that the server refused.
    pub refused: u64,
    /// Refused requests for each admitted one.
    pub refused_per_accepted: f64,
    /// The most requests in 50 ms from the first release on: the first instant
    /// at which the server, having had nothing left, had room again. `None` if
    /// it never ran out.
    pub max_burst: Option<u64>,
    /// Seconds that the fleet took.
    pub makespan: f64,
    /// Seconds that the best possible client takes, the server's windows being
    /// where they were when the first request came.
    pub optimal: f64,
    /// Their ratio.
    pub makespan_ratio: f64,
}

impl Metrics {
    /// `elapsed` is the fleet's own time, in seconds; `latency` is how long the
    /// server takes for an answer.
    #[must_use]
    pub fn new(spec: &Spec, timeline: &Timeline, calls: u64, elapsed: f64, latency: Nanos) -> Self {
        let requests = &timeline.requests;
        let accepted = requests.iter().filter(|request| request.admitted).count() as u64;
        let refused = requests.len() as u64 - accepted;
        let start = first_arrival(timeline);
        let optimal = optimum(spec, calls, start, best_round_trip(spec, latency)) as f64 / SECOND as f64;
        Self {
            accepted,
            refused,
            refused_per_accepted: refused as f64 / accepted.max(1) as f64,
            max_burst: first_release(spec, requests).map(|release| max_burst(requests, release)),
            makespan: elapsed,
            optimal,
            makespan_ratio: elapsed / optimal,
        }
    }
}

/// When the best possible client's requests are admitted, the server's windows
/// being where they were when the first request came.
#[must_use]
pub fn best_admissions(spec: &Spec, timeline: &Timeline, calls: u64, latency: Nanos) -> Vec<Nanos> {
    let best = schedule(spec, calls, first_arrival(timeline), best_round_trip(spec, latency));
    best.iter().map(|best| best.admitted).collect()
}

fn first_arrival(timeline: &Timeline) -> Nanos {
    timeline.requests.first().map_or(0, |request| request.arrival_ns)
}

/// A server that works on its requests answers in that time; the latency is
/// part of it.
fn best_round_trip(spec: &Spec, latency: Nanos) -> Nanos {
    match spec {
        Spec::Concurrency { service, .. } => latency.saturating_sub(*service),
        _ => latency,
    }
}

/// The most arrivals in any 50 ms that begin at `from` or later.
pub(crate) fn max_burst(requests: &[Arrival], from: Nanos) -> u64 {
    let late = &requests[requests.partition_point(|request| request.arrival_ns < from)..];
    let within = |first: usize| late[first..].partition_point(|r| r.arrival_ns < late[first].arrival_ns + SPAN);
    (0..late.len()).map(within).max().unwrap_or(0) as u64
}

/// The first instant at which the server has room again, found by replaying
/// the timeline.
pub(crate) fn first_release(spec: &Spec, requests: &[Arrival]) -> Option<Nanos> {
    let mut server = spec.build();
    let arrivals = requests.iter().map(|request| (request.arrival_ns, true));
    let answers = requests.iter().filter(|request| request.admitted);
    let mut events: Vec<_> =
        arrivals.chain(answers.filter_map(|request| Some((request.completed_ns?, false)))).collect();
    // Stable, and a slot is freed before it is taken again.
    events.sort_by_key(|(at, arrives)| (*at, *arrives));
    let mut ran_out = false;
    for (at, arrives) in events {
        if arrives {
            server.admit(at);
        } else {
            server.release(at);
        }
        match server.next_admission(at) {
            Some(release) if release > at => return Some(release),
            Some(_) if ran_out => return Some(at),
            Some(_) => {}
            None => ran_out = true,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = SECOND / 1000;

    /// Requests at these milliseconds, each answered 1 ms later.
    fn timeline(spec: &str, arrivals_ms: &[u64]) -> (Spec, Timeline) {
        let spec: Spec = spec.parse().expect("a server");
        let mut server = spec.build();
        let mut slots: Vec<Nanos> = Vec::new();
        let requests = arrivals_ms.iter().map(|at| {
            let at = at * MS;
            for slot in slots.extract_if(.., |slot| *slot <= at) {
                server.release(slot);
            }
            let admitted = server.admit(at).accepted;
            if admitted {
                slots.push(at + MS);
            }
            Arrival {
                arrival_ns: at,
                completed_ns: Some(at + MS),
                admitted,
                client: None,
                quota: 0,
                target: 0,
                room_after_ns: None,
                asked_ns: None,
            }
        });
        let requests: Vec<_> = requests.collect();
        let timeline = Timeline {
            server: spec.to_string(),
            dialect: "none".to_owned(),
            elapsed_ns: requests.last().map_or(0, |request| request.arrival_ns),
            requests,
            forgotten: 0,
        };
        (spec, timeline)
    }

    fn burst(spec: &str, arrivals_ms: &[u64]) -> Option<u64> {
        let (spec, timeline) = timeline(spec, arrivals_ms);
        Metrics::new(&spec, &timeline, 1, 1.0, 0).max_burst
    }

    #[test]
    fn the_flight_before_the_first_release_is_no_herd() {
        assert_eq!(burst("fixed:limit=2,window=2", &[0, 1, 2, 3, 4, 2000, 2049, 2051]), Some(2));
    }

    #[test]
    fn a_herd_counts_refused_requests_too() {
        assert_eq!(burst("fixed:limit=2,window=2", &[0, 1, 2000, 2001, 2002, 2003]), Some(4));
    }

    #[test]
    fn a_server_that_never_ran_out_has_no_release() {
        assert_eq!(burst("fixed:limit=9,window=2", &[0, 1, 2000, 2001]), None);
    }

    #[test]
    fn a_slot_that_is_freed_is_a_release() {
        assert_eq!(burst("concurrency:cap=1,service=0.001", &[0, 10, 11, 12]), Some(3));
    }

    #[test]
    fn the_optimum_counts_from_the_first_request() {
        let (spec, timeline) = timeline("fixed:limit=2,window=2", &[500, 501, 2000, 2001]);
        let metrics = Metrics::new(&spec, &timeline, 4, 3.0, 0);
        assert_eq!((metrics.accepted, metrics.refused), (4, 0));
        assert_eq!((metrics.optimal, metrics.makespan_ratio), (1.5, 2.0));
    }
}
