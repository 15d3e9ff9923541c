//! What waiters and scopes cost: nanoseconds and bytes.
//!
//! `cargo bench --package rampmeter-lab` prints a table for one waiter, for a
//! thousand and for a hundred thousand.

use std::collections::VecDeque;
use std::time::Instant;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use peak_alloc::PeakAlloc;
use rampmeter::{Call, Config, Decision, Limiter, Now, Request, Response};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const SECOND: u64 = 1_000_000_000;
const URL: &str = "https://api.example.com/v1/items";
/// Measured turns.
const ROUNDS: usize = 20_000;

fn limiter() -> Limiter {
    Limiter::new(Config::default().max_retry_after(None).seed(1)).expect("the defaults fit")
}

fn begin(limiter: &Limiter, now: u64, url: &str) -> Call {
    limiter.begin(Now::from_nanos(now), &Request::new("GET", url)).expect("the request is right")
}

fn answer(call: &Call, now: u64, remaining: &str, reset: &str) {
    let headers =
        [("x-ratelimit-limit", "5000000"), ("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)];
    let decision = call.on_response(Now::from_nanos(now), Response::new(200, &headers));
    assert!(matches!(decision, Decision::Deliver { .. }), "a success is delivered: {decision:?}");
    call.finish(Now::from_nanos(now));
}

/// That many calls wait for the meter of one scope.
fn crowd(limiter: &Limiter, waiters: usize) -> Vec<Call> {
    let first = begin(limiter, 0, URL);
    assert!(matches!(first.poll(Now::from_nanos(0)), Decision::Send { .. }), "nothing stands in the way");
    answer(&first, SECOND / 10, "0", "3600");
    let wait = |_| {
        let call = begin(limiter, SECOND, URL);
        assert!(matches!(call.poll(Now::from_nanos(SECOND)), Decision::Sleep { .. }), "the meter is spent");
        call
    };
    (0..waiters).map(wait).collect()
}

/// The usual turn in a crowd whose meter has room for one at a time: a new
/// call joins at the end, the first is polled, sent and answered. The median,
/// so that what else the machine does is not counted.
fn nanoseconds(waiters: usize) -> u64 {
    let limiter = limiter();
    let mut line: VecDeque<Call> = crowd(&limiter, waiters).into();
    let mut now = 3602 * SECOND;
    let mut turn = |line: &mut VecDeque<Call>| {
        let next = begin(&limiter, now, URL);
        let _ = next.poll(Now::from_nanos(now));
        line.push_back(next);
        let call = line.pop_front().expect("somebody joined");
        assert!(matches!(call.poll(Now::from_nanos(now)), Decision::Send { .. }), "its turn has come");
        now += SECOND / 1000;
        answer(&call, now, "1", "3600");
    };
    let mut times: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            turn(&mut line);
            begun.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn bytes_per_waiter(waiters: usize) -> f64 {
    let limiter = limiter();
    let empty = crowd(&limiter, 0);
    let before = MEMORY.current_usage();
    let calls: Vec<Call> = (0..waiters)
        .map(|_| {
            let call = begin(&limiter, SECOND, URL);
            let _ = call.poll(Now::from_nanos(SECOND));
            call
        })
        .collect();
    let used = MEMORY.current_usage() - before;
    drop((empty, calls));
    used as f64 / waiters as f64
}

fn bytes_per_scope(scopes: usize) -> f64 {
    let limiter = limiter();
    let before = MEMORY.current_usage();
    for scope in 0..scopes {
        let call = begin(&limiter, 0, &format!("https://api-{scope}.example.com/v1/items"));
        let _ = call.poll(Now::from_nanos(0));
        answer(&call, SECOND / 10, "4999999", "3600");
    }
    (MEMORY.current_usage() - before) as f64 / limiter.scopes().len().max(1) as f64
}

fn main() {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["waiters", "ns for begin, two polls, on_response, finish", "bytes per waiter"]);
    for waiters in [1, 1_000, 100_000] {
        let (time, space) = (nanoseconds(waiters), bytes_per_waiter(waiters));
        table.add_row([waiters.to_string(), time.to_string(), format!("{space:.0}")]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}\n{:.0} bytes per scope with one route and one meter", bytes_per_scope(200));
}
