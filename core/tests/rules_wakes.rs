//! Who is told to poll again, when, and how; and what threads may rely on.

mod rules_support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Wake, Waker};
use std::time::Duration;

use rampmeter::{Decision, Error, FailureKind, Limiter, Request};
use rules_support::{
    URL, accept, accept_with, assert_sends, at, begin, hold, limiter, quota, refuse, respond, sent, slept,
    slept_seconds,
};
use serde_json::json;

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counter {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn waker() -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter::default());
    (counter.clone(), Waker::from(counter))
}

/// A limiter whose one slot is taken, and the call that took it.
fn full() -> (Limiter, rampmeter::Call) {
    let limiter = limiter(json!({"first_flight": 1}));
    let call = sent(&limiter, at(0.0));
    (limiter, call)
}

#[test]
fn a_slot_that_frees_wakes_the_next_in_the_queue() {
    let (limiter, first) = full();
    let (counter, waker) = waker();
    let next = begin(&limiter, at(0.0));
    slept(&next.poll_with(at(0.0), &waker));
    assert_eq!(counter.count(), 0);
    accept(&first, at(0.1));
    assert_eq!(counter.count(), 1);
    assert_sends(&next.poll_with(at(0.1), &waker));
}

#[test]
fn calls_without_a_waker_are_listed_and_those_with_one_are_not() {
    let (limiter, first) = full();
    let (counter, waker) = waker();
    let (listed, woken) = (begin(&limiter, at(0.0)), begin(&limiter, at(0.0)));
    slept(&listed.poll(at(0.0)));
    slept(&woken.poll_with(at(0.0), &waker));
    accept_with(&first, at(0.1), &quota(100, 50, 60));
    assert_eq!(limiter.take_wakes(), [listed.id()]);
    assert_eq!(counter.count(), 1);
    assert_eq!(limiter.take_wakes(), [], "a wake is listed once");
}

#[test]
fn wakes_are_listed_in_the_order_of_the_queue() {
    let (limiter, first) = full();
    let calls: Vec<_> = (0..4).map(|_| begin(&limiter, at(0.0))).collect();
    for call in &calls {
        slept(&call.poll(at(0.0)));
    }
    accept_with(&first, at(0.1), &quota(100, 50, 60));
    let wakes = limiter.take_wakes();
    let ids: Vec<_> = calls.iter().map(rampmeter::Call::id).collect();
    assert_eq!(wakes, ids[..wakes.len()]);
    assert!(!wakes.is_empty());
}

#[test]
fn wakers_run_with_the_limiter_unlocked() {
    struct Asks(Limiter, Mutex<mpsc::Sender<u64>>);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            // Whoever holds the lock here waits for itself.
            let sent = self.0.stats(at(1.0)).total.sent;
            self.1.lock().expect("nobody panicked").send(sent).expect("the test still listens");
        }
    }
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let (limiter, first) = full();
        let next = begin(&limiter, at(0.0));
        slept(&next.poll_with(at(0.0), &Waker::from(Arc::new(Asks(limiter.clone(), Mutex::new(tell))))));
        accept(&first, at(0.1));
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(1));
}

#[test]
fn the_waker_of_the_last_poll_counts() {
    let (limiter, first) = full();
    let ((old_count, old), (new_count, new)) = (waker(), waker());
    let next = begin(&limiter, at(0.0));
    slept(&next.poll_with(at(0.0), &old));
    slept(&next.poll_with(at(0.05), &new));
    accept(&first, at(0.1));
    assert_eq!((old_count.count(), new_count.count()), (0, 1));
}

#[test]
fn an_accepted_probe_wakes_the_next() {
    let limiter = limiter(json!({}));
    let first = sent(&limiter, at(0.0));
    hold(&first, at(0.0), 1);
    let (counter, waker) = waker();
    let next = begin(&limiter, at(0.5));
    slept(&next.poll_with(at(0.5), &waker));
    assert_sends(&first.poll(at(1.1)));
    accept(&first, at(1.2));
    assert_eq!(counter.count(), 1);
    assert_sends(&next.poll(at(1.2)));
}

#[test]
fn a_cancelled_probe_wakes_the_next() {
    let limiter = limiter(json!({}));
    let first = sent(&limiter, at(0.0));
    hold(&first, at(0.0), 1);
    let next = begin(&limiter, at(0.5));
    slept(&next.poll(at(0.5)));
    assert_sends(&first.poll(at(1.02)));
    slept(&next.poll(at(1.03)));
    drop(limiter.take_wakes());
    first.cancel(at(1.04));
    assert_eq!(limiter.take_wakes(), [next.id()]);
    assert_sends(&next.poll(at(1.04)));
}

#[test]
fn a_cancelled_head_of_the_queue_wakes_the_one_behind_it_when_there_is_room() {
    let limiter = limiter(json!({}));
    accept_with(&sent(&limiter, at(0.0)), at(0.0), &quota(10, 1, 60));
    let big = limiter
        .begin(at(0.1), &Request { cost: &[("requests", 5.0)], ..Request::new("GET", URL) })
        .expect("the cost is an amount");
    slept(&big.poll(at(0.1)));
    let small = begin(&limiter, at(0.1));
    slept(&small.poll(at(0.1)));
    drop(limiter.take_wakes());
    big.cancel(at(0.2));
    assert_eq!(limiter.take_wakes(), [small.id()]);
    assert_sends(&small.poll(at(0.2)));
}

#[test]
fn closing_wakes_every_waiter() {
    let limiter = limiter(json!({}));
    let first = sent(&limiter, at(0.0));
    hold(&first, at(0.0), 60);
    let (counter, waker) = waker();
    let (listed, woken) = (begin(&limiter, at(0.1)), begin(&limiter, at(0.1)));
    slept(&listed.poll(at(0.1)));
    slept(&woken.poll_with(at(0.1), &waker));
    limiter.close(at(1.0));
    assert!(limiter.is_closed());
    let mut wakes = limiter.take_wakes();
    wakes.sort();
    assert_eq!(wakes, [first.id(), listed.id()]);
    assert_eq!(counter.count(), 1);
    for call in [&first, &listed, &woken] {
        assert_eq!(call.poll(at(1.0)).error(), Some(&Error::Closed));
    }
}

#[test]
fn a_response_that_comes_after_the_close_is_still_delivered() {
    let limiter = limiter(json!({}));
    let call = sent(&limiter, at(0.0));
    limiter.close(at(0.1));
    assert!(matches!(respond(&call, at(0.2), 200, &[("Server", "x")]), Decision::Deliver { .. }));
}

#[test]
fn a_wait_past_the_cap_wakes_those_who_wait_so_that_they_raise_at_once() {
    let (limiter, first) = full();
    let (counter, waker) = waker();
    let next = begin(&limiter, at(0.0));
    slept(&next.poll_with(at(0.0), &waker));
    assert!(refuse(&first, at(0.1), 3600).error().is_some());
    assert_eq!(counter.count(), 1);
    assert_eq!(next.poll(at(0.1)).error().and_then(Error::retry_after), Some(Duration::from_secs(3600)));
}

#[test]
fn a_meter_that_is_refilled_wakes_those_who_wait_for_it() {
    let limiter = limiter(json!({}));
    let (first, second) = (sent(&limiter, at(0.0)), sent(&limiter, at(0.0)));
    accept_with(&first, at(0.1), &quota(100, 0, 60));
    let next = begin(&limiter, at(0.2));
    slept(&next.poll(at(0.2)));
    drop(limiter.take_wakes());
    accept_with(&second, at(0.3), &quota(100, 40, 600));
    assert_eq!(limiter.take_wakes(), [next.id()]);
    assert_sends(&next.poll(at(0.3)));
}

#[test]
fn a_meter_that_resets_earlier_than_was_known_wakes_the_next_to_ask_again() {
    let limiter = limiter(json!({}));
    let (first, second) = (sent(&limiter, at(0.0)), sent(&limiter, at(0.0)));
    accept_with(&first, at(0.1), &quota(100, 0, 60));
    let next = begin(&limiter, at(0.2));
    assert!(slept_seconds(&next.poll(at(0.2))) > 50.0);
    drop(limiter.take_wakes());
    accept_with(&second, at(0.3), &quota(100, 0, 10));
    assert_eq!(limiter.take_wakes(), [next.id()]);
    assert!(slept_seconds(&next.poll(at(0.3))) < 11.0);
}

#[test]
fn a_failure_that_frees_a_slot_wakes_the_next() {
    let (limiter, first) = full();
    let next = begin(&limiter, at(0.0));
    slept(&next.poll(at(0.0)));
    drop(limiter.take_wakes());
    slept(&first.on_failure(at(0.1), FailureKind::Read));
    assert_eq!(limiter.take_wakes(), [next.id()]);
}

#[test]
fn dropping_a_call_gives_it_up() {
    let (limiter, first) = full();
    let (gone, next) = (begin(&limiter, at(0.0)), begin(&limiter, at(0.0)));
    slept(&gone.poll(at(0.0)));
    slept(&next.poll(at(0.0)));
    drop(gone);
    assert_eq!(limiter.stats(at(0.0)).total.waiting, 1);
    drop(first);
    assert_eq!(limiter.stats(at(0.0)).total.in_flight, 0);
    assert!(limiter.take_wakes().contains(&next.id()));
    assert_sends(&next.poll(at(0.1)));
}

#[test]
fn the_id_of_a_call_that_is_gone_means_nobody() {
    let (limiter, first) = full();
    let id = first.id();
    drop(first);
    let next = sent(&limiter, at(0.1));
    assert_ne!(next.id(), id);
}

#[test]
fn a_driver_that_hears_no_wakes_is_still_right() {
    let (limiter, first) = full();
    let next = begin(&limiter, at(0.0));
    let wait = slept_seconds(&next.poll(at(0.0)));
    accept(&first, at(0.001));
    assert_sends(&next.poll(at(wait)));
}

#[test]
fn threads_never_send_more_than_is_left() {
    let limiter = limiter(json!({}));
    accept_with(&sent(&limiter, at(0.0)), at(0.0), &quota(1000, 100, 60));
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let calls: Vec<_> = (0..50).map(|_| begin(&limiter, at(0.1))).collect();
                for _ in 0..20 {
                    let sends = |call: &&rampmeter::Call| matches!(call.poll(at(0.1)), Decision::Send { .. });
                    // A call that may go and asks again is not sent twice.
                    std::hint::black_box(calls.iter().filter(sends).count());
                }
                let count = calls.iter().filter(|call| call.attempts() == 1).count();
                sent.fetch_add(count, Ordering::SeqCst);
                std::mem::forget(calls);
            });
        }
    });
    assert_eq!(sent.load(Ordering::SeqCst), 100);
    assert_eq!(limiter.stats(at(0.1)).total.sent, 101);
}

#[test]
fn a_limiter_and_its_calls_may_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Limiter>();
    crosses::<rampmeter::Call>();
    crosses::<Error>();
}
