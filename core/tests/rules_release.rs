//! How a limiter lets calls go: fleets before servers in virtual time.

mod rules_support;

use rampmeter::Limiter;
use rules_support::world::{Happened, Model, Plan, Said, World};
use rules_support::{MILLISECOND, SECOND, limiter};
use serde_json::json;

const HOUR: u64 = 3600 * SECOND;
const LATENCY: u64 = 20 * MILLISECOND;

struct Verdict {
    refused_per_accepted: f64,
    seconds: f64,
    delivered: usize,
}

/// All calls at once, each 20 ms away from the server.
fn fleet(limiter: Limiter, calls: usize, model: Model) -> Verdict {
    let mut world = World::new(limiter, model, &vec![Plan::new(0, LATENCY); calls], &[]);
    world.run(24 * HOUR);
    let delivered =
        |happened: &Happened| matches!(happened, Happened::Ended { how, .. } if how == "delivered answered");
    let last = world.trace.iter().filter(|(_, happened)| delivered(happened)).map(|(now, _)| *now).max();
    Verdict {
        refused_per_accepted: world.refused as f64 / world.accepted as f64,
        seconds: last.unwrap_or(0) as f64 / SECOND as f64,
        delivered: world.trace.iter().filter(|(_, happened)| delivered(happened)).count(),
    }
}

const fn window(limit: u64, seconds: u64, said: Said) -> Model {
    Model::Window { limit, window: seconds * SECOND, said }
}

#[track_caller]
fn assert_within(verdict: &Verdict, calls: usize, refused_per_accepted: f64, seconds: f64) {
    assert_eq!(verdict.delivered, calls, "every call succeeds");
    assert!(
        verdict.refused_per_accepted <= refused_per_accepted,
        "{} refused per accepted",
        verdict.refused_per_accepted
    );
    assert!(verdict.seconds <= seconds, "took {} s", verdict.seconds);
}

#[test]
fn a_window_with_full_headers_is_never_tripped() {
    let verdict = fleet(limiter(json!({})), 200, window(50, 2, Said::Everything));
    assert_within(&verdict, 200, 0.0, 1.10 * 6.02);
}

#[test]
fn a_window_that_tells_its_wait_is_tripped_rarely() {
    let verdict = fleet(limiter(json!({})), 200, window(50, 2, Said::RetryAfter));
    assert_within(&verdict, 200, 0.20, 1.15 * 6.02);
}

#[test]
fn a_window_that_tells_nothing_is_tripped_seldom() {
    let verdict = fleet(limiter(json!({})), 200, window(50, 2, Said::Nothing));
    assert_within(&verdict, 200, 0.35, 1.5 * 6.02);
}

#[test]
fn a_token_bucket_is_tripped_seldom() {
    let verdict = fleet(limiter(json!({})), 200, Model::Bucket { rate: 25, burst: 25 });
    assert_within(&verdict, 200, 0.35, 1.3 * 7.02);
}

#[test]
fn a_concurrency_cap_is_found_and_kept() {
    let verdict = fleet(limiter(json!({})), 200, Model::Capacity { cap: 10 });
    assert_within(&verdict, 200, 0.15, 1.5 * 20.0 * 0.07);
}

#[test]
fn a_queue_whose_turn_comes_after_minutes_succeeds_by_default() {
    let verdict = fleet(limiter(json!({})), 500, window(100, 60, Said::Everything));
    assert_within(&verdict, 500, 0.0, 250.0);
    let verdict = fleet(limiter(json!({})), 500, window(100, 60, Said::RetryAfter));
    assert_within(&verdict, 500, 0.20, 310.0);
}

#[test]
fn a_cold_client_does_not_fire_everything_at_once() {
    let mut world =
        World::new(limiter(json!({})), window(1000, 60, Said::Nothing), &vec![Plan::new(0, LATENCY); 200], &[]);
    world.run(HOUR);
    let at_once = world.trace.iter().filter(|(now, what)| *now == 0 && matches!(what, Happened::Sent { .. })).count();
    assert_eq!(at_once, 10, "the first flight");
    let (last, _) =
        world.trace.iter().rfind(|(_, what)| matches!(what, Happened::Sent { .. })).expect("calls were sent");
    assert!(*last < SECOND, "the first flight grows with each answer: the last call went after {last} ns");
}

#[test]
fn a_cold_client_is_not_starved_by_slow_answers() {
    let plans = vec![Plan::new(0, 30 * SECOND); 200];
    let mut world = World::new(limiter(json!({})), window(1000, 600, Said::Nothing), &plans, &[]);
    world.run(HOUR);
    let (last, _) =
        world.trace.iter().rfind(|(_, what)| matches!(what, Happened::Sent { .. })).expect("calls were sent");
    assert!(*last < 6 * SECOND, "the first flight doubles each second: the last call went after {last} ns");
}

#[test]
fn sends_go_in_the_order_of_arrival() {
    let plans: Vec<_> = (0..100).map(|call| Plan::new(call * MILLISECOND, LATENCY)).collect();
    let mut world = World::new(limiter(json!({})), window(20, 5, Said::Everything), &plans, &[]);
    world.run(HOUR);
    let sent = world
        .trace
        .iter()
        .filter_map(|(_, what)| if let Happened::Sent { call, .. } = what { Some(*call) } else { None });
    let sent: Vec<_> = sent.collect();
    assert!(sent.is_sorted(), "{sent:?}");
}

#[test]
fn a_release_costs_one_refusal_however_many_wait() {
    // One probe finds that the window is still spent: 500 others do not.
    let limiter = limiter(json!({"max_attempts": null, "max_total_sleep": null}));
    let mut world = World::new(limiter, window(1, 30, Said::RetryAfter), &vec![Plan::new(0, LATENCY); 40], &[]);
    world.run(2 * HOUR);
    // One accepted each window; a refusal more than the probe's and the
    // attempt to go beyond it is a herd.
    assert!(world.refused <= 10 + 3 * world.accepted, "{} refused, {} accepted", world.refused, world.accepted);
}

#[test]
fn a_lowered_concurrency_climbs_back() {
    // The cap is two for one call's length, then a hundred.
    let limiter = limiter(json!({}));
    let mut world = World::new(limiter.clone(), Model::Capacity { cap: 2 }, &vec![Plan::new(0, LATENCY); 30], &[]);
    world.run(HOUR);
    assert!(world.refused > 0, "the cap was found");
    let start = world.trace.last().map_or(0, |(now, _)| *now);
    let plans = vec![Plan::new(start + SECOND, LATENCY); 400];
    let mut world = World::new(limiter, Model::Capacity { cap: 100 }, &plans, &[]);
    world.run(HOUR);
    let last = world.trace.last().map_or(0, |(now, _)| *now);
    // At two at a time 400 calls of 70 ms would take 14 s.
    assert!(last - start < 10 * SECOND, "took {} ms", (last - start) / MILLISECOND);
}
