//! What one call costs in the engine, in nanoseconds: begin, poll,
//! on_response and finish.

use core::hint::black_box;
use core::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rampmeter::{Call, Config, Decision, Headers, Limiter, Now, Request, Response};

const URL: &str = "https://api.example.com/v1/items/42";
const MILLISECOND: u64 = 1_000_000;

type Fields = [(&'static str, &'static str)];

const PLAIN: &Fields = &[
    ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("content-type", "application/json"),
    ("content-length", "2"),
    ("server", "nginx"),
    ("cache-control", "no-store"),
    ("vary", "accept-encoding"),
];

const LIMITED: &Fields = &[
    ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("content-type", "application/json"),
    ("content-length", "2"),
    ("server", "nginx"),
    ("cache-control", "no-store"),
    ("vary", "accept-encoding"),
    ("x-ratelimit-limit", "5000000"),
    ("x-ratelimit-remaining", "4999999"),
    ("x-ratelimit-reset", "3600"),
];

fn limiter() -> Limiter {
    Limiter::new(Config::default().max_retry_after(None).seed(1)).expect("the defaults fit")
}

fn begin(limiter: &Limiter, now: Now) -> Call {
    limiter.begin(now, &Request::new("GET", URL)).expect("the request is right")
}

/// One call from begin to finish.
fn call(limiter: &Limiter, now: &mut u64, fields: &dyn Headers) {
    *now += MILLISECOND;
    let call = begin(limiter, Now::from_nanos(*now));
    assert!(matches!(call.poll(Now::from_nanos(*now)), Decision::Send { .. }), "nothing stands in the way");
    *now += MILLISECOND;
    let decision = call.on_response(Now::from_nanos(*now), Response::new(200, fields));
    assert!(matches!(decision, Decision::Deliver { .. }), "a success is delivered");
    call.finish(Now::from_nanos(*now));
    let _ = black_box(decision);
}

fn calls(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("call");
    for (name, fields) in [("without rate-limit headers", PLAIN), ("with rate-limit headers", LIMITED)] {
        let (limiter, fields) = (limiter(), fields.to_vec());
        let mut now = 0;
        group.bench_function(name, |bench| bench.iter(|| call(&limiter, &mut now, &fields)));
    }
    group.finish();
}

/// The same while others wait: one call of another route is refused, so that
/// its meter holds the waiters; the measured call is free to go.
fn with_waiters(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("call beside waiters");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for waiters in [1, 1_000, 100_000] {
        let (limiter, fields) = (limiter(), LIMITED.to_vec());
        let (mut now, waiting) = spent(&limiter, waiters);
        group.bench_function(waiters.to_string(), |bench| bench.iter(|| call(&limiter, &mut now, &fields)));
        drop(waiting);
    }
    group.finish();
}

/// The polls of calls that wait: what a wake-up costs.
fn polls(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("poll of a waiter among");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for waiters in [1, 1_000, 100_000] {
        let limiter = limiter();
        let (now, waiting) = spent(&limiter, waiters);
        let mut turn = 0;
        group.bench_function(waiters.to_string(), |bench| {
            bench.iter(|| {
                turn = (turn + 7919) % waiting.len();
                black_box(waiting[turn].poll(Now::from_nanos(now)))
            });
        });
    }
    group.finish();
}

/// A place in the queue, taken and given up.
fn queueing(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("join and leave a queue of");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for waiters in [1, 1_000, 100_000] {
        let limiter = limiter();
        let (now, _waiting) = spent(&limiter, waiters);
        let now = Now::from_nanos(now);
        group.bench_function(waiters.to_string(), |bench| {
            bench.iter_batched(
                || limiter.begin(now, &history()).expect("the request is right"),
                |call| {
                    assert!(matches!(call.poll(now), Decision::Sleep { .. }), "the meter is spent");
                    call.cancel(now);
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn history() -> Request<'static> {
    Request::new("GET", "https://api.example.com/v1/history")
}

/// A limiter's clock, and calls that wait for a spent meter of their route.
fn spent(limiter: &Limiter, waiters: usize) -> (u64, Vec<Call>) {
    let now = MILLISECOND;
    let first = limiter.begin(Now::from_nanos(now), &history()).expect("the request is right");
    assert!(matches!(first.poll(Now::from_nanos(now)), Decision::Send { .. }), "nothing stands in the way");
    let fields =
        [("ratelimit-history-limit", "10"), ("ratelimit-history-remaining", "0"), ("ratelimit-history-reset", "86400")];
    let _ = first.on_response(Now::from_nanos(now), Response::new(200, &fields));
    first.finish(Now::from_nanos(now));
    let waiting = (0..waiters)
        .map(|_| {
            let call = limiter.begin(Now::from_nanos(now), &history()).expect("the request is right");
            assert!(matches!(call.poll(Now::from_nanos(now)), Decision::Sleep { .. }), "the meter is spent");
            call
        })
        .collect();
    (now, waiting)
}

criterion_group!(engine, calls, with_waiters, polls, queueing);
criterion_main!(engine);
