//! The optimum against the closed form of each model.

use rampmeter_lab::servers::{Nanos, SECOND, Spec, optimum};

const MS: Nanos = SECOND / 1000;
const RTT: Nanos = 100 * MS;

fn best(spec: &str, calls: u64, start: Nanos) -> Nanos {
    optimum(&spec.parse::<Spec>().expect("a server"), calls, start, RTT)
}

#[test]
fn a_batch_that_fits_into_the_first_window_takes_one_round_trip() {
    assert_eq!(best("fixed:limit=100,window=60,phase=37", 100, 0), RTT);
}

#[test]
fn an_aligned_window_costs_the_first_boundary_and_a_window_for_each_further_hundred() {
    // a + (K−1)·W + d with K = 9 windows after the first.
    assert_eq!(best("fixed:limit=100,window=60,phase=37", 1000, 0), (37 + 8 * 60) * SECOND + RTT);
}

#[test]
fn an_aligned_window_met_late_is_nearer_to_its_boundary() {
    assert_eq!(best("fixed:limit=50,window=2", 200, SECOND / 2), 6 * SECOND - SECOND / 2 + RTT);
}

#[test]
fn an_anchored_window_costs_a_window_for_each_further_limit() {
    assert_eq!(best("anchored:limit=100,window=60", 1000, 3 * SECOND), 9 * 60 * SECOND + RTT);
}

#[test]
fn a_sliding_log_is_attained_by_bursts() {
    assert_eq!(best("sliding-log:limit=100,window=60", 1000, 0), 9 * 60 * SECOND + RTT);
    assert_eq!(best("sliding-log-counting:limit=100,window=60", 1000, 0), 9 * 60 * SECOND + RTT);
}

#[test]
fn a_sliding_counter_trickles_after_its_first_window() {
    // a + (N−L)·W/L + d for quotas that can be divided; a whole request that
    // falls on a boundary belongs to the next window, so 99 fit where 100 would.
    let divisible = (37 + 540) * SECOND + RTT;
    let best = best("sliding-counter:limit=100,window=60", 1000, 23 * SECOND);
    assert!((divisible..divisible + divisible / 100).contains(&best), "{best}");
}

#[test]
fn a_token_bucket_costs_its_rate_beyond_the_burst() {
    assert_eq!(best("token-bucket:rate=10,burst=20", 1000, 0), 98 * SECOND + RTT);
    assert_eq!(best("token-bucket:rate=0.5,burst=1", 3, 5 * SECOND), 4 * SECOND + RTT);
}

#[test]
fn a_leaky_queue_answers_at_its_rate() {
    // The first is answered at once, so the last of N after (N−1)/ρ.
    assert_eq!(best("leaky-queue:rate=10,depth=20", 1000, 0), 99_900 * MS + RTT);
}

#[test]
fn a_concurrency_cap_costs_a_service_and_a_round_trip_for_each_full_house() {
    // ⌈N/C⌉·(s+d)
    assert_eq!(best("concurrency:cap=10,service=0.2", 1000, 0), 100 * (200 * MS + RTT));
}

#[test]
fn of_two_policies_the_slower_one_decides() {
    assert_eq!(best("policies:20/1,100/60", 120, 0), 60 * SECOND + RTT);
    assert_eq!(best("policies:20/1,1000/3600", 120, 0), 5 * SECOND + RTT);
}
