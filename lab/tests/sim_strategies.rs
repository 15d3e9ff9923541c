//! The laboratory against what can be derived on paper.

use rampmeter_lab::dialects::Dialect;
use rampmeter_lab::servers::{SECOND, Spec};
use rampmeter_lab::sim::{Cell, End, Kind, Metrics, Record, Rtt, Timers, Workload, Yardstick, run};

fn spec(server: &str) -> Spec {
    server.parse().expect("a server")
}

fn batch(server: &str, dialect: Dialect, calls: u64) -> Cell {
    Cell::new(spec(server), dialect, Workload::Batch { calls })
}

fn measure(cell: &Cell, kind: Kind) -> Metrics {
    Yardstick::new(cell).measure(kind, &run(cell, kind, false))
}

const WINDOW: &str = "fixed:limit=100,window=60,phase=37";

#[test]
fn the_oracle_attains_the_optimum_and_is_never_refused() {
    for server in [
        WINDOW,
        "anchored:limit=100,window=60",
        "sliding-log:limit=100,window=60",
        "sliding-log-counting:limit=100,window=60",
        "sliding-counter:limit=100,window=60",
        "token-bucket:rate=10,burst=20",
        "leaky-queue:rate=10,depth=20",
        "concurrency:cap=10,service=0.2",
        "policies:20/1,1000/3600",
    ] {
        for rtt in [SECOND / 200, SECOND / 10, SECOND] {
            let cell = Cell { rtt: Rtt::Constant(rtt), ..batch(server, Dialect::None, 500) };
            let oracle = measure(&cell, Kind::Oracle);
            assert_eq!((oracle.refused, oracle.done), (0, 500), "{cell}");
            // The formulas count the whole round trip after a boundary; what is
            // sent before it arrives at it.
            let early = oracle.optimal - oracle.makespan;
            assert!((-1e-9..=rtt as f64 / 2e9 + 1e-9).contains(&early), "{cell}: {early} s");
        }
    }
}

#[test]
fn a_naive_herd_is_refused_as_often_as_its_sum_says() {
    // Σ max(0, N − kL) over the windows.
    for (calls, limit, refused) in [(1000, 100, 4500), (500, 100, 1000), (1000, 50, 9500), (2000, 100, 19_000)] {
        let cell = batch(&format!("fixed:limit={limit},window=60,phase=37"), Dialect::RetryAfter, calls);
        assert_eq!(measure(&cell, Kind::PerRequest).refused, refused, "{calls} calls of {limit}");
    }
}

#[test]
fn four_attempts_do_four_windows_of_work() {
    let metrics = measure(&batch(WINDOW, Dialect::RetryAfter, 1000), Kind::PerRequest4);
    assert_eq!((metrics.done, metrics.failed), (400, 600));
    assert_eq!(metrics.failures["attempts"], 600);
}

#[test]
fn a_bare_gate_does_not_reduce_the_flight() {
    // Divisors of the limit: the whole flight after the last place is refused.
    for workers in [1, 10, 50] {
        let cell = Cell { workers: Some(workers), ..batch(WINDOW, Dialect::RetryAfter, 1000) };
        assert_eq!(measure(&cell, Kind::Gate).refused, 9 * workers, "{workers} workers");
    }
}

#[test]
fn a_client_that_paces_at_the_servers_rate_is_not_refused_and_late() {
    let metrics = measure(&batch(WINDOW, Dialect::RetryAfter, 1000), Kind::Gcra);
    assert_eq!(metrics.refused, 0);
    // (N − 1) intervals of 0.6 s instead of eight windows and a part of one.
    assert!((metrics.makespan - 599.5).abs() < 0.01, "{}", metrics.makespan);
}

#[test]
fn refusals_that_count_starve_a_client_that_does_not_hold() {
    let cell = Cell { workers: Some(50), ..batch("sliding-log-counting:limit=100,window=60", Dialect::None, 1000) };
    let metrics = measure(&cell, Kind::Aimd);
    assert!(!metrics.finished && metrics.done == 100, "{metrics:?}");
}

#[test]
fn a_client_that_ignores_a_servers_wait_is_caught_sending_in_a_hold() {
    let cell = batch(WINDOW, Dialect::RetryAfter, 1000);
    assert!(measure(&cell, Kind::Aimd).sends_in_hold > 0);
    assert_eq!(measure(&cell, Kind::Gate).sends_in_hold, 0);
}

/// What happened, without the trace.
fn facts(record: &Record) -> impl PartialEq + core::fmt::Debug + use<> {
    (record.requests.clone(), record.calls.clone(), record.decisions)
}

#[test]
fn one_seed_gives_one_record_and_another_seed_another() {
    let cell = Cell {
        rtt: "log-normal:median=0.1,p99=3".parse().expect("a round trip"),
        timers: Timers::Coarse,
        cancel: 0.1,
        ..batch("shared:token-bucket:rate=10,burst=20,stolen=0.3", Dialect::XEpoch, 300)
    };
    let other = Cell { seed: 2, ..cell.clone() };
    for (_, kind) in Kind::ALL {
        let record = facts(&run(&cell, *kind, false));
        assert_eq!(record, facts(&run(&cell, *kind, false)), "{}", kind.name());
        assert_ne!(record, facts(&run(&other, *kind, false)), "{}", kind.name());
    }
}

#[test]
fn a_trace_changes_nothing() {
    let cell = Cell { workers: Some(50), ..batch(WINDOW, Dialect::RetryAfter, 300) };
    let traced = run(&cell, Kind::Rampmeter, true);
    assert_eq!(facts(&traced), facts(&run(&cell, Kind::Rampmeter, false)));
    assert!(traced.trace.iter().any(|line| line.contains("REFUSED")));
}

#[test]
fn a_process_has_no_more_calls_in_flight_than_workers() {
    let cell = Cell { workers: Some(7), processes: 3, ..batch("token-bucket:rate=10,burst=20", Dialect::None, 300) };
    let record = run(&cell, Kind::PerRequest, false);
    for process in 0..3 {
        let mut changes = Vec::new();
        for request in record.requests.iter().filter(|request| record.calls[request.call].process == process) {
            changes.push((request.sent, 1));
            changes.push((request.answered.expect("every request is answered"), -1));
        }
        // At one instant, answers before sends.
        changes.sort_unstable();
        let most = changes.iter().scan(0, |flying, (_, change)| {
            *flying += change;
            Some(*flying)
        });
        assert_eq!(most.max(), Some(7));
    }
}

#[test]
fn every_call_ends_whatever_is_given_up() {
    for (_, kind) in Kind::ALL {
        let cell = Cell { cancel: 0.3, workers: Some(50), ..batch(WINDOW, Dialect::RetryAfter, 500) };
        let record = run(&cell, *kind, false);
        assert!(record.calls.iter().all(|call| call.ended.is_some()), "{}", kind.name());
        let cancelled = record.calls.iter().filter(|call| matches!(call.ended, Some((_, End::Cancelled)))).count();
        assert!(cancelled > 20, "{}: {cancelled} given up", kind.name());
    }
}

#[test]
fn no_call_waits_beyond_its_deadline() {
    for (_, kind) in Kind::ALL {
        let cell = Cell { deadline: Some(30 * SECOND), ..batch("token-bucket:rate=10,burst=20", Dialect::None, 1000) };
        let record = run(&cell, *kind, false);
        for call in &record.calls {
            let (at, _) = call.ended.expect("every call ends");
            // What is out at the deadline may come back.
            assert!(at - call.begun <= 30 * SECOND + SECOND / 10, "{}: {call:?}", kind.name());
        }
    }
}

#[test]
fn two_keys_have_quotas_of_their_own() {
    let alone = Cell { workers: Some(50), ..batch(WINDOW, Dialect::Ietf, 500) };
    let both = Cell { second: Some(spec("token-bucket:rate=100,burst=200")), ..batch(WINDOW, Dialect::Ietf, 1000) };
    let record = run(&both, Kind::Rampmeter, false);
    let last = |key: usize| {
        let ends = record.calls.iter().filter(|call| call.key == key).filter_map(|call| call.ended);
        ends.map(|(at, _)| at).max().expect("calls of that key")
    };
    assert!(last(1) < 10 * SECOND, "the fast key waits for the slow one: {}", last(1));
    let alone = measure(&alone, Kind::Rampmeter).makespan;
    assert!((last(0) as f64 / SECOND as f64 - alone).abs() < 2.0, "the slow key takes as long as without the fast one");
}

#[test]
fn processes_that_get_the_same_have_an_index_of_one_and_those_that_do_not_less() {
    let cell = |processes| Cell { processes, ..batch("token-bucket:rate=10,burst=20", Dialect::Ietf, 400) };
    assert_eq!(measure(&cell(1), Kind::PerRequest).jain, 1.0);
    let jain = measure(&cell(4), Kind::Oracle).jain;
    assert!(jain > 0.99, "{jain}");
}

#[test]
fn a_cell_needs_options_that_exist() {
    let cell = Cell { options: serde_json::json!({"no_such_option": 1}), ..batch(WINDOW, Dialect::Ietf, 1) };
    let error = rampmeter_lab::sim::check(&cell).expect_err("an unknown option");
    assert!(error.to_string().contains("no_such_option"), "{error}");
}
