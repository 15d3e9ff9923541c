//! How a limiter lets calls go: fleets before servers in virtual time.

mod rules_support;

use rampmeter::{Call, Decision, Limiter};
use rules_support::world::{Happened, Model, Plan, Said, World};
use rules_support::{MILLISECOND, SECOND, accept, accept_with, assert_sends, at, begin, limiter, nanos, sent, slept};
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

/// Each request is served for 200 ms.
const fn capacity(cap: u64) -> Model {
    Model::Capacity { cap, service: 200 * MILLISECOND }
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

/// 200 calls under twenty seeds: nine runs of ten keep within both bounds, all
/// of them succeed. Where the server says nothing, luck plays its part.
#[track_caller]
fn assert_mostly_within(model: &Model, refused_per_accepted: f64, seconds: f64) {
    let verdicts: Vec<_> = (0..20).map(|seed| fleet(limiter(json!({"seed": seed})), 200, model.clone())).collect();
    assert!(verdicts.iter().all(|verdict| verdict.delivered == 200), "every call succeeds");
    let within =
        |verdict: &&Verdict| verdict.refused_per_accepted <= refused_per_accepted && verdict.seconds <= seconds;
    let kept = verdicts.iter().filter(within).count();
    let shown: Vec<_> = verdicts
        .iter()
        .map(|verdict| format!("{:.2} in {:.2} s", verdict.refused_per_accepted, verdict.seconds))
        .collect();
    assert!(kept >= 18, "{kept} of 20 runs keep within {refused_per_accepted} in {seconds:.2} s: {shown:?}");
}

#[test]
fn a_window_with_full_headers_is_never_tripped() {
    assert_mostly_within(&window(50, 2, Said::Everything), 0.0, 1.10 * 6.02);
}

#[test]
fn a_window_that_tells_its_wait_is_tripped_rarely() {
    assert_mostly_within(&window(50, 2, Said::RetryAfter), 0.20, 1.15 * 6.02);
}

#[test]
fn a_window_that_tells_nothing_is_tripped_seldom() {
    assert_mostly_within(&window(50, 2, Said::Nothing), 0.35, 1.5 * 6.02);
}

#[test]
fn a_token_bucket_is_tripped_seldom() {
    assert_mostly_within(&Model::Bucket { rate: 25, burst: 25 }, 0.35, 1.3 * 7.02);
}

#[test]
fn a_concurrency_cap_is_found_and_kept() {
    assert_mostly_within(&capacity(10), 0.15, 1.5 * 20.0 * 0.22);
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
    let mut world = World::new(limiter.clone(), capacity(2), &vec![Plan::new(0, LATENCY); 30], &[]);
    world.run(HOUR);
    assert!(world.refused > 0, "the cap was found");
    let start = world.trace.last().map_or(0, |(now, _)| *now);
    let plans = vec![Plan::new(start + SECOND, LATENCY); 400];
    let mut world = World::new(limiter, capacity(100), &plans, &[]);
    world.run(HOUR);
    let last = world.trace.last().map_or(0, |(now, _)| *now);
    // At two at a time 400 calls of 220 ms would take 44 s.
    assert!(last - start < 30 * SECOND, "took {} ms", (last - start) / MILLISECOND);
}

#[test]
fn an_automatic_pace_stays_inside_the_servers_window_and_uses_most_of_it() {
    let limiter = limiter(json!({"pace": "auto"}));
    let headers = [("RateLimit-Policy", "\"p\";q=10;w=10"), ("RateLimit", "\"p\";r=9;t=10")];
    let mut sends = Vec::new();
    let mut now = 0;
    while now < 120 * SECOND {
        let call = begin(&limiter, nanos(now));
        loop {
            match call.poll(nanos(now)) {
                Decision::Sleep { wait, .. } => now += u64::try_from(wait.as_nanos()).expect("a sleep is finite"),
                decision => break assert_sends(&decision),
            }
        }
        sends.push(now);
        accept_with(&call, nanos(now), &headers);
    }
    for (index, start) in sends.iter().enumerate() {
        let inside = sends[index..].iter().take_while(|send| **send < start + 10 * SECOND).count();
        assert!(inside <= 10, "{inside} sends within the ten seconds from {start} ns");
    }
    assert!(sends.len() >= 100, "120 allowed, {} sent", sends.len());
}

#[test]
fn calls_that_poll_on_time_alone_go_before_one_behind_them_that_polls_all_the_time() {
    let limiter = limiter(json!({"first_flight": 2}));
    let first = [sent(&limiter, at(0.0)), sent(&limiter, at(0.0))];
    let mut due: Vec<(u64, Call)> = Vec::new();
    for _ in 0..40 {
        let call = begin(&limiter, at(0.0));
        due.push((slept(&call.poll(at(0.0))), call));
    }
    let eager = begin(&limiter, at(0.0));
    first.iter().for_each(|call| accept(call, at(0.5)));
    for tick in 0..1000 {
        let now = 500 * MILLISECOND + tick * 50 * MILLISECOND;
        let (punctual, waiting) = due.into_iter().partition(|(when, _)| *when <= now);
        due = waiting;
        for (_, call) in punctual {
            match call.poll(nanos(now)) {
                Decision::Sleep { wait, .. } => due.push((now + wait.as_nanos() as u64, call)),
                decision => {
                    assert_sends(&decision);
                    accept(&call, nanos(now));
                }
            }
        }
        if due.is_empty() {
            return;
        }
        if tick % 2 == 1 {
            slept(&eager.poll(nanos(now)));
        }
    }
    panic!("{} calls wait for ever", due.len());
}
