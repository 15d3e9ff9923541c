//! What holds for every schedule: random clients before simulated servers, in
//! virtual time. `PROPTEST_RNG_SEED` and `PROPTEST_CASES` explore further.

mod rules_support;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rampmeter::{Call, Decision, FailureKind, Limiter, Now, Request, Response};
use rules_support::world::{Happened, Model, Plan, Said, World};
use rules_support::{
    MILLISECOND, SECOND, START, URL, accept, accept_with, assert_sends, at, begin, begin_at, hold, limiter, nanos,
    quota, refuse, respond, sent, slept,
};
use serde_json::{Value, json};

const HOUR: u64 = 3600 * SECOND;

/// The same cases on every machine unless a seed is asked for: what a change
/// breaks is then broken by the change.
fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_261_130);
    }
    config
}

fn plan() -> impl Strategy<Value = Plan> {
    (0..6000u64, 2..1500u64, 0..10u8, 0..10u8, 0..8000u64).prop_map(|(begins, latency, priority, cancel, after)| Plan {
        priority: match priority {
            0 => -1,
            1 => 3,
            _ => 0,
        },
        cancelled: (cancel == 0).then_some(after * MILLISECOND),
        ..Plan::new(begins * MILLISECOND, latency * MILLISECOND)
    })
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    vec(plan(), 1..40)
}

/// Polls out of turn: early timers, spurious wake-ups.
fn pokes() -> impl Strategy<Value = Vec<(u64, usize)>> {
    vec((0..30_000u64, 0..40usize), 0..40)
        .prop_map(|pokes| pokes.into_iter().map(|(when, whom)| (when * MILLISECOND, whom)).collect())
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![Just(Said::Everything), Just(Said::RetryAfter), Just(Said::Nothing)]
}

fn window() -> impl Strategy<Value = Model> {
    (1..60u64, 1..20u64, said()).prop_map(|(limit, seconds, said)| Model::Window {
        limit,
        window: seconds * SECOND,
        said,
    })
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        window(),
        (1..12u64, 1..500u64).prop_map(|(cap, service)| Model::Capacity { cap, service: service * MILLISECOND }),
        any::<u64>().prop_map(|seed| Model::Hostile { seed }),
    ]
}

/// One option that is not the default, sometimes two.
fn options() -> impl Strategy<Value = Value> {
    let one = || {
        proptest::sample::select(vec![
            json!({"pace": {"rate": 5, "burst": 2}}),
            json!({"pace": "auto"}),
            json!({"processes": 3}),
            json!({"first_flight": 1}),
            json!({"max_attempts": 1}),
            json!({"max_attempts": 2}),
            json!({"max_attempts": null}),
            json!({"max_queue_wait": 0}),
            json!({"max_total_sleep": 0}),
            json!({"max_total_sleep": null}),
            json!({"max_retry_after": 3, "beyond_max": "clamp"}),
            json!({"max_retry_after": 0}),
            json!({"max_transient_retries": null}),
            json!({"respect_remaining": false}),
            json!({"respect_retry_after": false}),
            json!({"on_exhausted": "return"}),
            json!({"backoff": {"kind": "equal", "base": 2, "cap": 8}}),
            json!({"backoff": {"kind": "decorrelated", "base": 0.001, "cap": 1000}}),
            json!({"enabled": false}),
        ])
    };
    (one(), one()).prop_map(|(mut first, second)| {
        if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
            first.extend(second);
        }
        first
    })
}

/// Nothing is given up for a budget, so that every call has to come to an end
/// by itself.
fn patient() -> Value {
    json!({"max_attempts": null, "max_total_sleep": null, "max_rate_limit_duration": null})
}

/// No send lies between a refusal that asked for a wait and that wait's end.
fn assert_holds_are_kept(trace: &[(u64, Happened)]) {
    let mut until = 0;
    for (now, happened) in trace {
        match happened {
            Happened::Answered { status: 429, retry_after: Some(seconds), .. } => {
                until = until.max(now + seconds * SECOND);
            }
            Happened::Sent { call, .. } => {
                assert!(*now >= until, "call {call} was sent {} ns before the hold's end", until - now);
            }
            _ => {}
        }
    }
}

/// Between a reading and its reset no more is sent than it said was left.
fn assert_remaining_is_kept(trace: &[(u64, Happened)]) {
    // The reading of the request sent last, and the sends since that request.
    let mut reading: Option<(usize, u64, u64)> = None;
    for (now, happened) in trace {
        match happened {
            Happened::Answered { send, remaining: Some(left), reset: Some(reset), .. } => {
                let ends = now + reset * SECOND;
                if reading.is_none_or(|(latest, ..)| *send > latest) {
                    reading = Some((*send, *left, ends));
                }
            }
            Happened::Sent { send, .. } => {
                if let Some((latest, left, ends)) = reading
                    && *now < ends
                {
                    let since = (send - latest) as u64;
                    assert!(since <= left, "{since} sends after a reading of {left}");
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn during_a_hold_nobody_is_sent(plans in plans(), pokes in pokes(), limit in 1..30u64, seconds in 1..40u64) {
        let model = Model::Window { limit, window: seconds * SECOND, said: Said::RetryAfter };
        let mut world = World::new(limiter(patient()), model, &plans, &pokes);
        world.run(24 * HOUR);
        assert_holds_are_kept(&world.trace);
    }

    #[test]
    fn every_call_comes_to_an_end_before_any_server(plans in plans(), pokes in pokes(), model in model()) {
        // The world asserts that sleeps are finite and above zero, that two
        // polls at one instant agree, and that nobody waits for ever or polls
        // in a tight loop.
        World::new(limiter(patient()), model, &plans, &pokes).run(48 * HOUR);
    }

    #[test]
    fn with_the_default_options_every_call_comes_to_an_end(plans in plans(), pokes in pokes(), model in model()) {
        World::new(limiter(json!({})), model, &plans, &pokes).run(48 * HOUR);
    }

    #[test]
    fn whatever_the_options_every_call_comes_to_an_end(plans in plans(), pokes in pokes(), model in model(), options in options()) {
        World::new(limiter(options), model, &plans, &pokes).run(48 * HOUR);
    }

    #[test]
    fn what_the_server_said_is_left_is_never_oversubscribed(plans in plans(), pokes in pokes(), limit in 10..60u64, seconds in 2..20u64) {
        let model = Model::Window { limit, window: seconds * SECOND, said: Said::Everything };
        let mut world = World::new(limiter(patient()), model, &plans, &pokes);
        world.run(24 * HOUR);
        assert_remaining_is_kept(&world.trace);
    }

    #[test]
    fn one_process_before_full_headers_is_never_refused(calls in 1..150usize, latency in 2..800u64, limit in 10..60u64, seconds in 2..20u64) {
        let model = Model::Window { limit, window: seconds * SECOND, said: Said::Everything };
        let plans = vec![Plan::new(0, latency * MILLISECOND); calls];
        let mut world = World::new(limiter(patient()), model, &plans, &[]);
        world.run(24 * HOUR);
        prop_assert_eq!((world.refused, world.accepted), (0, calls as u64));
    }

    #[test]
    fn no_budget_is_ever_exceeded(
        plans in plans(), pokes in pokes(), model in model(),
        total in 1..60u64, queue in 1..60u64, deadline in 1..60u64,
    ) {
        let plans: Vec<_> = plans.into_iter().map(|plan| Plan { deadline: Some(deadline), ..plan }).collect();
        let limiter = limiter(json!({"max_total_sleep": total, "max_queue_wait": queue, "max_attempts": null}));
        let mut world = World::new(limiter, model, &plans, &pokes);
        world.run(24 * HOUR);
        assert_budgets_are_kept(&world.trace, &plans, total * SECOND, queue * SECOND, deadline * SECOND);
    }

    #[test]
    fn the_same_seed_and_inputs_give_the_same_decisions(plans in plans(), pokes in pokes(), model in model(), seed in any::<u32>()) {
        let trace = || {
            let mut world = World::new(limiter(json!({"seed": seed})), model.clone(), &plans, &pokes);
            world.limiter.listen(true);
            world.run(48 * HOUR);
            format!("{:?} {:?} {:?}", world.trace, world.limiter.take_events(), world.limiter.stats(at(1e6)))
        };
        prop_assert_eq!(trace(), trace());
    }
}

/// Waits for one's own refusals, for one's turn, and the deadline: as elapsed
/// time, since every driver here polls at the promised moment.
fn assert_budgets_are_kept(trace: &[(u64, Happened)], plans: &[Plan], total: u64, queue: u64, deadline: u64) {
    for (call, plan) in plans.iter().enumerate() {
        let mut own = 0;
        let mut refused_at = None;
        let mut was_sent = false;
        for (now, happened) in trace {
            match happened {
                Happened::Answered { call: of, .. } if *of == call => refused_at = Some(*now),
                Happened::Sent { call: of, .. } if *of == call => {
                    if let Some(since) = refused_at.take() {
                        own += now - since;
                    } else if !was_sent {
                        let waited = now - plan.begins;
                        assert!(waited <= queue, "call {call} waited {waited} ns for its turn");
                    }
                    was_sent = true;
                    assert!(*now <= plan.begins + deadline, "call {call} was sent after its deadline");
                    assert!(own <= total, "call {call} slept {own} ns for its own refusals");
                }
                Happened::Ended { call: of, how } if *of == call && how.starts_with("raised") => {
                    if let Some(since) = refused_at {
                        assert!(own + (now - since) <= total, "call {call} slept beyond its budget");
                    }
                }
                Happened::Slept { call: of, wait } if *of == call => {
                    assert!(now + wait <= plan.begins + deadline, "call {call} began a sleep beyond its deadline");
                }
                _ => {}
            }
        }
    }
}

/// What holds the head of a queue, and for how long, without a second head.
fn held(kind: u8, size: u64) -> (Limiter, Call, u64) {
    let seconds = size % 100 + 1;
    match kind {
        0 => {
            let limiter = limiter(json!({}));
            let call = sent(&limiter, at(0.0));
            let wait = hold(&call, at(0.0), seconds);
            (limiter, call, wait)
        }
        1 => {
            let limiter = limiter(json!({}));
            accept_with(&sent(&limiter, at(0.0)), at(0.0), &quota(100, 0, seconds));
            let call = begin(&limiter, at(0.0));
            let wait = slept(&call.poll(at(0.0)));
            (limiter, call, wait)
        }
        2 => {
            let limiter = limiter(json!({"pace": {"rate": 1.0 / seconds as f64, "burst": 1}}));
            accept(&sent(&limiter, at(0.0)), at(0.0));
            let call = begin(&limiter, at(0.0));
            let wait = slept(&call.poll(at(0.0)));
            (limiter, call, wait)
        }
        _ => {
            let limiter = limiter(json!({"seed": size}));
            let call = sent(&limiter, at(0.0));
            let wait = slept(&respond(&call, at(0.0), 429, &[("Server", "x")]));
            (limiter, call, wait)
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn the_head_of_the_queue_is_denied_one_step_before_the_promised_time_and_allowed_at_it(kind in 0..4u8, size in any::<u64>()) {
        let (_limiter, call, wait) = held(kind, size % (1 << 53));
        let early = call.poll(nanos(wait - 1));
        prop_assert_eq!(early.wait().map(|rest| rest.as_nanos()), Some(1), "{:?}", early);
        assert_sends(&call.poll(nanos(wait)));
    }

    #[test]
    fn polling_early_never_moves_the_promised_time(kind in 0..4u8, size in any::<u64>(), fractions in vec(0..1000u64, 1..20)) {
        let (_limiter, call, wait) = held(kind, size % (1 << 53));
        let mut times: Vec<_> = fractions.into_iter().map(|fraction| wait / 1000 * fraction).collect();
        times.sort_unstable();
        for time in times {
            prop_assert_eq!(slept(&call.poll(nanos(time))), wait - time);
        }
    }

    #[test]
    fn a_servers_wait_is_slept_in_full_and_jitter_is_small(seconds in 1..=120u64, seed in any::<u32>()) {
        let limiter = limiter(json!({"seed": seed}));
        let wait = hold(&sent(&limiter, at(0.0)), at(0.0), seconds);
        let asked = seconds * SECOND;
        prop_assert!(wait >= asked);
        prop_assert!(wait <= asked + (asked / 50).min(SECOND / 2));
    }

    #[test]
    fn a_cancelled_call_changes_nothing_for_the_others(
        others in vec((1..900u64, -1..2i32), 1..8), joins in 1..900u64, priority in -1..2i32, leaves in 901..980u64,
        polls in vec((1000..9000u64, 0..8usize), 1..40), asks in 1..6u64,
    ) {
        let decisions = |with_one_more: bool| {
            let limiter = limiter(json!({}));
            let first = sent(&limiter, at(0.0));
            let mut decisions = vec![format!("{:?}", refuse(&first, at(0.0), asks))];
            let mut joining: Vec<_> = others.iter().map(|(when, priority)| (*when, Some(*priority))).collect();
            if with_one_more {
                joining.push((joins, None));
            }
            joining.sort_unstable();
            let (mut calls, mut leaving) = (Vec::new(), None);
            for (when, other) in joining {
                let now = nanos(when * MILLISECOND);
                let mut request = Request::new("GET", URL);
                request.priority = other.unwrap_or(priority);
                let call = limiter.begin(now, &request).expect("the request is right");
                slept(&call.poll(now));
                if other.is_some() { calls.push(call) } else { leaving = Some(call) }
            }
            if let Some(call) = leaving {
                call.cancel(nanos(leaves * MILLISECOND));
            }
            let mut polls = polls.clone();
            polls.sort_unstable();
            let mut busy = vec![false; calls.len()];
            for (when, whom) in polls {
                let whom = whom % calls.len();
                let now = nanos(when * MILLISECOND);
                if busy[whom] {
                    accept(&calls[whom], now);
                    calls[whom] = begin(&limiter, now);
                    busy[whom] = false;
                }
                let decision = calls[whom].poll(now);
                busy[whom] = matches!(decision, Decision::Send { .. });
                decisions.push(format!("{decision:?}"));
            }
            decisions
        };
        prop_assert_eq!(decisions(true), decisions(false));
    }

    #[test]
    fn a_place_that_nobody_claims_blocks_nobody_for_long(asks in 1..60u64, waiters in 1..10usize, step in 1..50u64) {
        let limiter = limiter(json!({}));
        let first = sent(&limiter, at(0.0));
        let wait = hold(&first, at(0.0), asks);
        let calls: Vec<_> = (0..waiters).map(|_| begin(&limiter, at(0.1))).collect();
        for call in &calls {
            slept(&call.poll(at(0.1)));
        }
        // The refused call has the first place and never comes for it.
        let deadline = wait + 100 * MILLISECOND + 2 * step * MILLISECOND;
        let mut now = wait;
        while now <= deadline {
            if calls.iter().any(|call| matches!(call.poll(nanos(now)), Decision::Send { .. })) {
                return Ok(());
            }
            now += step * MILLISECOND;
        }
        prop_assert!(false, "nobody was sent within 100 ms of the hold's end");
    }

    #[test]
    fn a_probe_whose_verdict_never_comes_blocks_nobody_for_long(asks in 1..60u64, latency in 1..4000u64) {
        let limiter = limiter(json!({}));
        accept(&sent(&limiter, at(0.0)), nanos(latency * MILLISECOND));
        let start = latency * MILLISECOND;
        let probe = sent(&limiter, nanos(start));
        let wait = hold(&probe, nanos(start + latency * MILLISECOND), asks);
        let next = begin(&limiter, nanos(start + latency * MILLISECOND));
        slept(&next.poll(nanos(start + latency * MILLISECOND)));
        let mut now = start + latency * MILLISECOND + wait;
        assert_sends(&probe.poll(nanos(now)));
        let patience = (5 * SECOND).max(4 * latency * MILLISECOND);
        let latest = now + patience + 100 * MILLISECOND;
        let mut polls = 0;
        loop {
            match next.poll(nanos(now)) {
                Decision::Send { .. } => break,
                Decision::Sleep { wait, .. } => now += wait.as_nanos() as u64,
                other => prop_assert!(false, "{other:?}"),
            }
            polls += 1;
            prop_assert!(now <= latest && polls < 1000, "nobody was sent within {} ms", (latest - start) / MILLISECOND);
        }
    }
}

/// One thing that a driver may do, in turn or out of it.
#[derive(Clone, Debug)]
enum Act {
    Begin,
    Poll(usize),
    Answer(usize, usize),
    AnswerTwice(usize, usize),
    Fail(usize, usize),
    Finish(usize),
    Settle(usize, u32),
    Cancel(usize),
    Drop(usize),
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let whom = 0..64usize;
    prop_oneof![
        3 => Just(Act::Begin),
        6 => whom.clone().prop_map(Act::Poll),
        4 => (whom.clone(), 0..ANSWERS.len()).prop_map(|(whom, answer)| Act::Answer(whom, answer)),
        1 => (whom.clone(), 0..ANSWERS.len()).prop_map(|(whom, answer)| Act::AnswerTwice(whom, answer)),
        1 => (whom.clone(), 0..4usize).prop_map(|(whom, kind)| Act::Fail(whom, kind)),
        1 => whom.clone().prop_map(Act::Finish),
        1 => (whom.clone(), 0..100u32).prop_map(|(whom, cost)| Act::Settle(whom, cost)),
        1 => whom.clone().prop_map(Act::Cancel),
        1 => whom.prop_map(Act::Drop),
        4 => (0..4000u64).prop_map(Act::Pass),
    ]
}

type Field = (&'static str, &'static str);

/// Answers of a server that keeps to no rule. None holds a wait but those with
/// a plain `Retry-After`.
const ANSWERS: &[(u16, &[Field])] = &[
    (200, &[]),
    (200, &[("X-RateLimit-Limit", "10"), ("X-RateLimit-Remaining", "5"), ("X-RateLimit-Reset", "3")]),
    (200, &[("X-RateLimit-Limit", "10"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "3")]),
    (200, &[("X-RateLimit-Remaining", "-7"), ("X-RateLimit-Reset", "nan")]),
    (404, &[]),
    (503, &[]),
    (429, &[]),
    (429, &[("Retry-After", "2")]),
    (429, &[("Retry-After", "7")]),
    (429, &[("Retry-After", "0")]),
    (429, &[("Retry-After", "-3")]),
    (429, &[("Retry-After", "999999")]),
    (429, &[("Retry-After", "9"), ("Age", "4")]),
    (429, &[("RateLimit", "\"p\";r=0;t=5")]),
    (299, &[("Retry-After", "1e999"), ("Age", "xyz"), ("RateLimit", "\"\"\"\";;;=")]),
];

/// The plain wait of an answer, in seconds, if it holds.
fn wait_of(answer: usize) -> Option<u64> {
    match ANSWERS[answer] {
        (429, [("Retry-After", "2")]) => Some(2),
        (429, [("Retry-After", "7")]) => Some(7),
        _ => None,
    }
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn outcomes_in_any_order_duplicated_or_lost_neither_deadlock_nor_lift_a_hold_early(acts in vec(act(), 1..200)) {
        const SECRET: &str = "s3cr3t-of-the-caller";
        let limiter = limiter(json!({"max_attempts": null, "max_total_sleep": null, "max_rate_limit_duration": null}));
        limiter.listen(true);
        limiter.collect_notices();
        let mut shown = String::new();
        let mut calls: Vec<(Option<Call>, bool)> = Vec::new();
        let (mut now, mut until) = (0u64, 0u64);
        for act in acts {
            let clock = nanos(now);
            let pick = |whom: usize, calls: &Vec<(Option<Call>, bool)>| if calls.is_empty() { None } else { Some(whom % calls.len()) };
            match act {
                Act::Begin => {
                    let headers = [("Authorization", format!("Bearer {SECRET}")), ("Cookie", format!("id={SECRET}"))];
                    let url = format!("{URL}?token={SECRET}#{SECRET}");
                    let mut request = Request::new("GET", &url);
                    request.headers = Some(&headers);
                    calls.push((limiter.begin(clock, &request).ok(), false));
                }
                Act::Pass(millis) => now += millis * MILLISECOND,
                Act::Poll(whom) => {
                    let Some(whom) = pick(whom, &calls) else { continue };
                    let (Some(call), in_flight) = &mut calls[whom] else { continue };
                    let decision = call.poll(clock);
                    prop_assert_eq!(&decision, &call.poll(clock));
                    shown.push_str(&format!("{decision:?}"));
                    if let Some(error) = decision.error() {
                        shown.push_str(&error.to_string());
                    }
                    if matches!(decision, Decision::Send { .. }) && !*in_flight {
                        prop_assert!(now >= until, "sent {} ms before the hold's end", (until - now) / MILLISECOND);
                        *in_flight = true;
                    }
                }
                Act::Answer(whom, answer) | Act::AnswerTwice(whom, answer) => {
                    let Some(whom) = pick(whom, &calls) else { continue };
                    let (Some(call), in_flight) = &mut calls[whom] else { continue };
                    let (status, fields) = ANSWERS[answer];
                    let mut headers = fields.to_vec();
                    headers.push(("Set-Cookie", SECRET));
                    headers.push(("X-Api-Key", SECRET));
                    for _ in 0..if matches!(act, Act::AnswerTwice(..)) { 2 } else { 1 } {
                        let decision = respond(call, clock, status, &headers);
                        shown.push_str(&format!("{decision:?}"));
                        if std::mem::take(in_flight) && let Some(seconds) = wait_of(answer) {
                            until = until.max(now + seconds * SECOND);
                        }
                    }
                }
                Act::Fail(whom, kind) => {
                    let Some(whom) = pick(whom, &calls) else { continue };
                    let (Some(call), in_flight) = &mut calls[whom] else { continue };
                    let _ = call.on_failure(clock, FailureKind::ALL[kind].1);
                    *in_flight = false;
                }
                Act::Finish(whom) => if let Some(whom) = pick(whom, &calls) && let Some(call) = &calls[whom].0 { call.finish(clock) },
                Act::Settle(whom, cost) => if let Some(whom) = pick(whom, &calls) && let Some(call) = &calls[whom].0 {
                    let _ = call.settle(clock, &[("requests", f64::from(cost))]);
                },
                Act::Cancel(whom) => if let Some(whom) = pick(whom, &calls) && let (Some(call), in_flight) = &mut calls[whom] {
                    call.cancel(clock);
                    *in_flight = false;
                },
                Act::Drop(whom) => if let Some(whom) = pick(whom, &calls) { calls[whom] = (None, false) },
            }
        }
        let newcomer = begin_at(&limiter, nanos(now), URL);
        prop_assert!(comes_to_an_end(&newcomer, now), "a new call waits for ever");
        shown.push_str(&format!("{:?} {:?}", limiter.take_events(), limiter.take_notices()));
        shown.push_str(&format!("{:?} {:?} {limiter:?}", limiter.scopes(), limiter.stats(nanos(now))));
        prop_assert!(!shown.contains(SECRET), "a secret is shown");
    }
}

/// Polls whenever it is told to, until it is sent or raises: within an hour,
/// and not in a tight loop.
fn comes_to_an_end(call: &Call, mut now: u64) -> bool {
    let end = now + HOUR;
    for _ in 0..20_000 {
        match call.poll(nanos(now)) {
            Decision::Sleep { wait, .. } => now += wait.as_nanos() as u64,
            _ => return true,
        }
        if now > end {
            return false;
        }
    }
    false
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn no_bytes_break_anything(
        status in 100..600u16,
        headers in vec((proptest::sample::select(FIELDS), vec(any::<u8>(), 0..40)), 0..6),
        body in proptest::option::of(vec(any::<u8>(), 0..200)),
        wall in proptest::option::of(any::<i64>()), mono in 0..u64::MAX / 2,
    ) {
        let now = Now::from_nanos(mono);
        let now = wall.map_or(now, |wall| now.with_wall(rampmeter::Wall::from_unix_nanos(wall)));
        check_any_answer(now, status, &headers, body.as_deref());
    }

    #[test]
    fn no_plausible_text_breaks_anything(
        status in proptest::sample::select(vec![200u16, 403, 429, 503, 529]),
        headers in vec((proptest::sample::select(FIELDS), "[-+0-9.,;:=\"a-zT Z]{0,24}"), 0..6),
        body in proptest::option::of("[{}\\[\\]\":,a-z0-9. -]{0,80}"),
    ) {
        let now = Now::from_nanos(START).with_wall(rampmeter::Wall::from_unix_nanos(1_700_000_000_000_000_000));
        check_any_answer(now, status, &headers, body.as_deref().map(str::as_bytes));
    }
}

const FIELDS: &[&str] = &[
    "Retry-After",
    "retry-after-ms",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "RateLimit-History-Remaining",
    "Age",
    "Date",
    "Content-Type",
    "X-RateLimit-Resource",
];

/// Whatever was answered, what follows is a decision that can be followed.
fn check_any_answer<V: AsRef<[u8]>>(now: Now, status: u16, headers: &[(&str, V)], body: Option<&[u8]>) {
    let limiter = limiter(json!({}));
    let call = begin_at(&limiter, now, URL);
    assert_sends(&call.poll(now));
    let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    let _ = call.wants_body(status, &headers);
    let decision = call.on_response(now, Response::new(status, &headers).body(body));
    if let Decision::Sleep { wait, .. } = decision {
        // The default cap, and its jitter.
        assert!(!wait.is_zero() && wait.as_secs_f64() <= 120.5, "{wait:?}");
    }
    for meter in limiter.meters(now, URL) {
        let numbers = [meter.limit, meter.remaining];
        assert!(numbers.into_iter().flatten().all(|number| number.is_finite() && number >= 0.0), "{meter:?}");
    }
    let next = begin_at(&limiter, now, URL);
    if let Decision::Sleep { wait, .. } = next.poll(now) {
        assert!(!wait.is_zero() && wait.as_secs_f64() <= 120.5, "{wait:?}");
    }
}
