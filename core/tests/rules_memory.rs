//! What a server, or a program of many scopes, cannot do: make memory grow
//! without bound. Allocations are counted, so that every structure is.

mod rules_support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rampmeter::{Decision, Limiter, Request};
use rules_support::{accept_with, at, begin, begin_at, hold, limiter, nanos, respond, sent, sent_to, slept};
use serde_json::json;

/// Counts what this thread holds: tests run beside each other.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends frees its last bytes without its counter.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

#[allow(unsafe_code, reason = "a global allocator cannot be written otherwise; every call is handed on unchanged")]
// SAFETY: every method hands its arguments on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> isize {
    LIVE.with(Cell::get)
}

const MEBIBYTE: isize = 1 << 20;

/// Does something `times` times: the second half may not add to what the first
/// half left.
#[track_caller]
fn assert_bounded(times: u64, mut act: impl FnMut(u64)) {
    let before = live();
    (0..times / 2).for_each(&mut act);
    let half = live() - before;
    (times / 2..times).for_each(&mut act);
    let whole = live() - before;
    assert!(whole <= 32 * MEBIBYTE, "{} KiB are held", whole / 1024);
    assert!(whole - half <= 2 * MEBIBYTE, "{} KiB after half, {} KiB after all", half / 1024, whole / 1024);
}

/// Far more than is kept of anything.
const MANY: u64 = 20_000;

#[test]
fn distinct_scopes_are_bounded() {
    let limiter = limiter(json!({}));
    assert_bounded(MANY, |index| {
        let now = nanos(index * 1_000_000);
        let call = sent_to(&limiter, now, &format!("https://host-{index}.example.com/"));
        accept_with(&call, now, &[("X-RateLimit-Remaining", "5"), ("X-RateLimit-Limit", "9")]);
    });
}

#[test]
fn distinct_named_scopes_are_bounded() {
    let limiter = limiter(json!({}));
    assert_bounded(MANY, |index| {
        let now = nanos(index * 1_000_000);
        let scope = format!("user-{index}");
        let request = Request { scope: Some(&scope), ..Request::new("GET", "https://api.example.com/") };
        let call = limiter.begin(now, &request).expect("the request is right");
        assert!(matches!(call.poll(now), Decision::Send { .. }));
        accept_with(&call, now, &[("X-RateLimit-Remaining", "5")]);
    });
}

#[test]
fn distinct_routes_are_bounded() {
    let limiter = limiter(json!({}));
    assert_bounded(MANY, |index| {
        let now = nanos(index * 1_000_000);
        let call = sent_to(&limiter, now, &format!("https://api.example.com/page-{index:x}z"));
        accept_with(&call, now, &[("RateLimit-History-Remaining", "5"), ("RateLimit-History-Limit", "9")]);
    });
}

#[test]
fn distinct_meters_are_bounded() {
    let limiter = limiter(json!({}));
    assert_bounded(MANY / 2, |index| {
        let now = nanos(index * 1_000_000);
        let call = sent(&limiter, now);
        accept_with(&call, now, &[("RateLimit", format!("\"policy-{index}\";r=5000000;t=100000"))]);
    });
}

#[test]
fn calls_that_have_ended_leave_nothing() {
    let limiter = limiter(json!({}));
    assert_bounded(MANY, |index| {
        let now = nanos(index * 1_000_000);
        let call = sent(&limiter, now);
        accept_with(&call, now, &[("Server", "x")]);
    });
}

#[test]
fn calls_that_were_given_up_in_the_queue_leave_nothing() {
    let limiter = limiter(json!({"max_retry_after": null, "max_rate_limit_duration": null}));
    hold(&sent(&limiter, at(0.0)), at(0.0), 30 * 86_400);
    assert_bounded(MANY, |index| {
        let now = nanos(index * 1_000_000);
        let call = begin(&limiter, now);
        slept(&call.poll(now));
        if index % 2 == 0 { call.cancel(now) } else { drop(call) }
    });
}

#[test]
fn events_that_nobody_takes_are_bounded_and_counted() {
    let limiter = limiter(json!({"max_attempts": 1}));
    limiter.listen(true);
    assert_bounded(MANY / 2, |index| {
        let now = nanos(index * 1_000_000);
        let call = sent(&limiter, now);
        let _ = respond(&call, now, 429, &[("Retry-After", "1")]);
    });
    assert!(limiter.stats(at(1e6)).dropped_events > 0);
    assert!(!limiter.take_events().is_empty());
}

#[test]
fn notices_that_nobody_takes_are_bounded() {
    let limiter = limiter(json!({"max_rate_limit_duration": null}));
    limiter.collect_notices();
    assert_bounded(MANY / 2, |index| {
        let now = at(index as f64 * 10.0);
        let call = sent(&limiter, now);
        hold(&call, now, 6);
    });
}

#[test]
fn wakes_that_nobody_takes_are_bounded() {
    let limiter = limiter(json!({"first_flight": 1}));
    assert_bounded(MANY / 2, |index| {
        let now = nanos(index * 1_000_000);
        let (first, second) = (begin(&limiter, now), begin(&limiter, now));
        let _ = first.poll(now);
        let _ = second.poll(now);
        first.cancel(now);
        second.cancel(now);
    });
}

#[test]
fn a_header_of_a_megabyte_is_not_kept() {
    let limiter = limiter(json!({}));
    limiter.listen(true);
    let huge = "9".repeat(1 << 20);
    let before = live();
    for _ in 0..20 {
        let call = sent(&limiter, at(0.0));
        let named = format!("\"{huge}\";r=0;t=5");
        let _ = respond(
            &call,
            at(0.0),
            200,
            &[("X-RateLimit-Remaining", &huge), ("RateLimit", &named), ("Retry-After", &huge)],
        );
        call.finish(at(0.0));
    }
    let held = live() - before;
    assert!(held <= 2 * MEBIBYTE, "{} KiB are held", held / 1024);
}

#[test]
fn a_held_scope_outlives_any_number_of_others() {
    let limiter = limiter(json!({}));
    let held = sent_to(&limiter, at(0.0), "https://held.example.com/");
    hold(&held, at(0.0), 100);
    drop(held);
    crowd(&limiter);
    slept(&begin_at(&limiter, at(50.0), "https://held.example.com/").poll(at(50.0)));
}

#[test]
fn a_spent_scope_outlives_any_number_of_others() {
    let limiter = limiter(json!({}));
    let spent = sent_to(&limiter, at(0.0), "https://spent.example.com/");
    accept_with(&spent, at(0.0), &[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "100")]);
    drop(spent);
    crowd(&limiter);
    slept(&begin_at(&limiter, at(50.0), "https://spent.example.com/").poll(at(50.0)));
}

#[test]
fn the_debt_of_a_pace_outlives_any_number_of_others() {
    let limiter = limiter(json!({"pace": {"rate": 1, "burst": 100}}));
    // The others spend one token each, and are out of debt after a second.
    let all = Request { cost: &[("requests", 100.0)], ..Request::new("GET", "https://paced.example.com/") };
    let spends = |now| limiter.begin(now, &all).expect("the cost is an amount");
    assert!(matches!(spends(at(0.0)).poll(at(0.0)), Decision::Send { .. }));
    crowd(&limiter);
    slept(&spends(at(50.0)).poll(at(50.0)));
}

#[test]
fn a_scope_with_waiting_calls_outlives_any_number_of_others() {
    let limiter = limiter(json!({"first_flight": 1}));
    let first = sent_to(&limiter, at(0.0), "https://busy.example.com/");
    let next = begin_at(&limiter, at(0.0), "https://busy.example.com/");
    slept(&next.poll(at(0.0)));
    crowd(&limiter);
    accept_with(&first, at(49.0), &[("Server", "x")]);
    assert!(matches!(next.poll(at(49.0)), Decision::Send { .. }));
}

/// Enough other scopes to push out whatever may be pushed out.
fn crowd(limiter: &Limiter) {
    for index in 0..12_000u64 {
        let now = nanos(index * 1_000_000);
        let call = sent_to(limiter, now, &format!("https://host-{index}.example.com/"));
        accept_with(&call, now, &[("Server", "x")]);
    }
}

/// What each of `count` takes that stay.
fn bytes_of_each<T>(count: u64, make: impl Fn(u64) -> T) -> isize {
    let before = live();
    let kept: Vec<T> = (0..count).map(make).collect();
    let bytes = (live() - before) / count as isize;
    drop(kept);
    bytes
}

#[test]
fn a_scope_with_a_meter_takes_less_than_eight_kibibytes() {
    let limiter = limiter(json!({}));
    let bytes = bytes_of_each(500, |index| {
        let call = sent_to(&limiter, at(0.0), &format!("https://host-{index}.example.com/"));
        accept_with(&call, at(0.0), &[("X-RateLimit-Remaining", "5"), ("X-RateLimit-Limit", "9")]);
    });
    println!("{bytes} bytes for each scope");
    assert!(bytes < 8 << 10, "{bytes} bytes");
}

#[test]
fn a_waiting_call_takes_less_than_a_kibibyte() {
    let limiter = limiter(json!({}));
    hold(&sent(&limiter, at(0.0)), at(0.0), 30);
    let bytes = bytes_of_each(10_000, |_| {
        let call = begin(&limiter, at(0.0));
        slept(&call.poll(at(0.0)));
        call
    });
    println!("{bytes} bytes for each waiting call");
    assert!(bytes < 1 << 10, "{bytes} bytes");
}
