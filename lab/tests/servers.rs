//! Each server model against an independent count over the whole history, and
//! against what it says of itself.

use proptest::prelude::*;
use rampmeter_lab::servers::{
    Anchored, Concurrency, Fixed, LeakyQueue, Nanos, Policies, Policy, Rate, SECOND, Server, SlidingCounter,
    SlidingLog, Spec, TokenBucket,
};

const MS: Nanos = SECOND / 1000;

/// One request of the past.
#[derive(Clone, Copy, Debug)]
struct Past {
    at: Nanos,
    accepted: bool,
}

fn accepted(history: &[Past]) -> impl DoubleEndedIterator<Item = Nanos> + '_ {
    history.iter().filter(|past| past.accepted).map(|past| past.at)
}

/// Feeds `arrivals` to the model and to `expect`, which sees the history and
/// the next arrival and says whether it is admitted.
fn agrees<S: Server>(mut server: S, arrivals: &[Nanos], mut expect: impl FnMut(&[Past], Nanos) -> bool) {
    let mut history = Vec::new();
    for at in arrivals.iter().copied() {
        let verdict = server.admit(at);
        assert_eq!(verdict.accepted, expect(&history, at), "the request at {at} after {history:?}");
        history.push(Past { at, accepted: verdict.accepted });
    }
}

/// What a server announces, tried on clones of it.
fn is_truthful<S: Server + Clone>(mut server: S, arrivals: &[Nanos]) {
    for at in arrivals.iter().copied() {
        let verdict = server.admit(at);
        let next = server.next_admission(at).expect("the model knows its next admission");
        assert!(server.clone().admit(next).accepted, "refused at its next admission, {next}");
        if next > at {
            assert!(!server.clone().admit(next - 1).accepted, "admitted before its next admission, {next}");
        }
        if !verdict.accepted {
            assert_eq!(verdict.retry_after, Some(next - at), "the announced wait at {at}");
        }
        let mut clone = server.clone();
        let more = (0..).take_while(|_| clone.admit(at).accepted).count() as u64;
        assert_eq!(verdict.quotas[0].remaining, more, "the announced remaining at {at}");
    }
}

/// Arrivals whose gaps are drawn from bursts, trickles and long silences.
fn arrivals() -> impl Strategy<Value = Vec<Nanos>> {
    let gap = prop_oneof![
        4 => Just(0),
        4 => 0..20 * MS,
        2 => 0..SECOND,
        1 => (1..8u64).prop_map(|quarter| quarter * SECOND / 4),
        1 => 0..10 * SECOND,
    ];
    prop::collection::vec(gap, 1..150).prop_map(|gaps| {
        gaps.iter()
            .scan(0, |now, gap| {
                *now += gap;
                Some(*now)
            })
            .collect()
    })
}

fn rate(per_second: u64) -> Rate {
    Rate::from_thousandths(per_second * 1000).expect("above zero")
}

proptest! {
    #[test]
    fn a_fixed_window_admits_what_a_count_over_its_window_admits(
        arrivals in arrivals(), limit in 1..8u64, phase in 0..2 * SECOND,
    ) {
        let window = 2 * SECOND;
        let index = |at: Nanos| (i128::from(at) - i128::from(phase)).div_euclid(i128::from(window));
        let server = Fixed::new(limit, window, phase);
        agrees(server.clone(), &arrivals, |history, at| {
            (accepted(history).filter(|past| index(*past) == index(at)).count() as u64) < limit
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn an_anchored_window_admits_what_replaying_all_windows_admits(arrivals in arrivals(), limit in 1..8u64) {
        let window = 2 * SECOND;
        let server = Anchored::new(limit, window);
        agrees(server.clone(), &arrivals, |history, at| {
            let mut begins = None;
            for past in history.iter().map(|past| past.at).chain([at]) {
                if begins.is_none_or(|begins| past >= begins + window) {
                    begins = Some(past);
                }
            }
            (accepted(history).filter(|past| Some(*past) >= begins).count() as u64) < limit
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_sliding_log_admits_what_a_count_over_the_last_window_admits(arrivals in arrivals(), limit in 1..8u64) {
        let window = 2 * SECOND;
        let server = SlidingLog::new(limit, window, false);
        agrees(server.clone(), &arrivals, |history, at| {
            (accepted(history).filter(|past| past + window > at).count() as u64) < limit
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_log_that_counts_refusals_admits_what_a_count_of_all_arrivals_admits(
        arrivals in arrivals(), limit in 1..8u64,
    ) {
        let window = 2 * SECOND;
        let server = SlidingLog::new(limit, window, true);
        agrees(server.clone(), &arrivals, |history, at| {
            (history.iter().filter(|past| past.at + window > at).count() as u64) < limit
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_sliding_counter_admits_what_both_windows_counts_admit(arrivals in arrivals(), limit in 1..8u64) {
        let window = 2 * SECOND;
        let server = SlidingCounter::new(limit, window);
        agrees(server.clone(), &arrivals, |history, at| {
            let in_window = |index: u64| accepted(history).filter(|past| past / window == index).count() as u64;
            let index = at / window;
            let previous = index.checked_sub(1).map_or(0, in_window);
            let share = u128::from(previous) * u128::from(window - at % window);
            share + u128::from(in_window(index) + 1) * u128::from(window) <= u128::from(limit) * u128::from(window)
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_token_bucket_admits_what_no_span_of_the_past_forbids(
        arrivals in arrivals(), burst in 1..8u64, per_second in 1..9u64,
    ) {
        let server = TokenBucket::new(rate(per_second), burst);
        agrees(server.clone(), &arrivals, |history, at| {
            let before: Vec<_> = accepted(history).collect();
            (0..before.len()).all(|first| {
                let taken = u128::from((before.len() - first) as u64 + 1);
                let earned = u128::from(at - before[first]) * u128::from(per_second);
                taken * u128::from(SECOND) <= u128::from(burst) * u128::from(SECOND) + earned
            })
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_leaky_queue_admits_while_its_places_are_not_all_taken(
        arrivals in arrivals(), depth in 0..8u64, per_second in 1..9u64,
    ) {
        // Time in units of one second divided by the rate, so that an exit
        // falls on a whole number.
        let unit = |at: Nanos| u128::from(at) * u128::from(per_second);
        let mut exits: Vec<u128> = Vec::new();
        let server = LeakyQueue::new(rate(per_second), depth);
        agrees(server.clone(), &arrivals, |_, at| {
            let after_last = exits.last().map_or(0, |last| last + u128::from(SECOND));
            let exit = unit(at).max(after_last);
            let waits_for = (exit - unit(at)).div_ceil(u128::from(SECOND));
            let admitted = waits_for <= u128::from(depth);
            if admitted {
                exits.push(exit);
            }
            admitted
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn several_policies_admit_what_each_of_their_windows_admits(
        arrivals in arrivals(), few in 1..4u64, many in 3..12u64,
    ) {
        let policies = [(few, SECOND), (many, 7 * SECOND)];
        let named = policies.map(|(limit, window)| Policy { name: format!("p{limit}"), limit, window });
        let server = Policies::new(&named);
        agrees(server.clone(), &arrivals, |history, at| {
            policies.iter().all(|(limit, window)| {
                (accepted(history).filter(|past| past / window == at / window).count() as u64) < *limit
            })
        });
        is_truthful(server, &arrivals);
    }

    #[test]
    fn a_concurrency_cap_admits_while_fewer_are_in_progress(arrivals in arrivals(), cap in 1..8u64) {
        let service = 300 * MS;
        let mut server = Concurrency::new(cap, service);
        let mut ends: Vec<Nanos> = Vec::new();
        for at in arrivals {
            for end in ends.extract_if(.., |end| *end <= at) {
                server.release(end);
            }
            let verdict = server.admit(at);
            prop_assert_eq!(verdict.accepted, (ends.len() as u64) < cap);
            if verdict.accepted {
                prop_assert_eq!(verdict.delay, service);
                ends.push(at + verdict.delay);
            }
            prop_assert_eq!(verdict.quotas[0].remaining, cap - ends.len() as u64);
            prop_assert_eq!(verdict.retry_after, None);
        }
    }
}

#[test]
fn a_leaky_queue_lets_requests_out_one_by_one() {
    let mut server = LeakyQueue::new(rate(10), 2);
    let delays: Vec<_> = (0..4).map(|_| server.admit(0)).map(|verdict| (verdict.accepted, verdict.delay)).collect();
    assert_eq!(delays, [(true, 0), (true, 100 * MS), (true, 200 * MS), (false, 0)]);
}

#[test]
fn a_window_announces_the_time_to_its_own_end() {
    let mut server = Fixed::new(1, 60 * SECOND, 37 * SECOND);
    assert_eq!(server.admit(7 * SECOND).quotas[0].reset, Some(30 * SECOND));
    assert_eq!(server.admit(38 * SECOND).quotas[0].reset, Some(59 * SECOND));
}

#[test]
fn a_sliding_counter_announces_its_windows_end_but_waits_for_the_next_slot() {
    let mut server = SlidingCounter::new(2, 10 * SECOND);
    for _ in 0..2 {
        assert!(server.admit(0).accepted);
    }
    let verdict = server.admit(10 * SECOND);
    assert_eq!(verdict.quotas[0].reset, Some(10 * SECOND));
    assert_eq!(verdict.retry_after, Some(5 * SECOND));
}

#[test]
fn of_several_policies_the_nearest_to_exhaustion_comes_first() {
    let policies = [("minute", 20, 60), ("hour", 30, 3600)];
    let named = policies.map(|(name, limit, window)| Policy { name: name.into(), limit, window: window * SECOND });
    let mut server = Policies::new(&named);
    for _ in 0..20 {
        assert!(server.admit(0).accepted);
    }
    let names = |at: Nanos, server: &mut Policies| {
        server.admit(at).quotas.iter().map(|quota| quota.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(0, &mut server), ["minute", "hour"]);
    assert_eq!(names(60 * SECOND, &mut server), ["hour", "minute"]);
}

#[test]
fn others_take_their_share_of_a_shared_server() {
    let spec: Spec = "shared:fixed:limit=1000,window=60,stolen=0.3".parse().expect("a server");
    for seed in 0..20 {
        let mut server = spec.build_seeded(seed);
        let left = server.admit(59 * SECOND).quotas[0].remaining;
        // 295 are expected; 100 is six deviations.
        assert!((600..=805).contains(&left), "{left} left with seed {seed}");
        assert_eq!(server.admit(61 * SECOND).quotas[0].limit, 1000);
    }
}
