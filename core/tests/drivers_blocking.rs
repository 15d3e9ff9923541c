//! The blocking driver: threads that share a limiter, by a clock that stands
//! still.

mod drivers_support;

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use drivers_support::{FixedWindow, answer, eventually, get, limiter, refusal};
use http::Response;
use rampmeter::blocking::Blocking;
use rampmeter::driver::{Failed, ManualClock, RunError};
use rampmeter::{Config, Error, FailureKind, OnExhausted, Request};

type Answer = io::Result<Response<String>>;

fn driver(config: Config, clock: &ManualClock) -> Blocking<ManualClock> {
    Blocking::with_clock(limiter(config), clock.clone())
}

fn exceeded<T, E>(outcome: Result<T, RunError<E>>) -> rampmeter::RateLimitExceeded {
    match outcome {
        Err(RunError::Limited(Error::Exceeded(error))) => error,
        Err(RunError::Limited(error)) => panic!("another error of the limiter: {error}"),
        Err(RunError::Failed(_)) => panic!("an error of the client"),
        Ok(_) => panic!("a response"),
    }
}

#[test]
fn a_refused_call_waits_in_full_and_is_sent_again() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let sends = AtomicU32::new(0);
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            driver.run(&get(), |attempt| -> Answer {
                sends.store(attempt.number, Ordering::SeqCst);
                Ok(if attempt.number == 1 { refusal(30) } else { answer(200, &[]) })
            })
        });
        eventually("the call sleeps", || clock.sleepers() == 1);
        clock.advance(Duration::from_millis(29_999));
        thread::sleep(Duration::from_millis(20));
        assert_eq!(sends.load(Ordering::SeqCst), 1, "sent again before the wait was over");

        clock.advance(Duration::from_millis(501));
        assert_eq!(call.join().unwrap().unwrap().status(), 200);
        assert_eq!(sends.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_refusal_holds_every_thread() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let sent_while_held = AtomicU32::new(0);
    let served = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            driver.run(&get(), |attempt| -> Answer {
                Ok(if attempt.number == 1 { refusal(30) } else { answer(200, &[]) })
            })
        });
        eventually("the first call sleeps", || clock.sleepers() == 1);
        let calls: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    driver.run(&get(), |_| -> Answer {
                        let held = clock.now().mono.as_nanos() < 30_000_000_000;
                        sent_while_held.fetch_add(u32::from(held), Ordering::SeqCst);
                        served.fetch_add(1, Ordering::SeqCst);
                        Ok(answer(200, &[]))
                    })
                })
            })
            .collect();
        eventually("all others sleep", || clock.sleepers() == 21);
        eventually("all calls are over", || {
            clock.advance_to_next();
            thread::sleep(Duration::from_millis(2));
            calls.iter().all(|call| call.is_finished())
        });
    });
    assert_eq!(sent_while_held.load(Ordering::SeqCst), 0);
    assert_eq!(served.load(Ordering::SeqCst), 20);
}

#[test]
fn threads_never_send_more_than_the_server_said_is_left() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let server = FixedWindow::new(10, Duration::from_secs(60), &clock);
    let unfinished = AtomicUsize::new(60);
    thread::scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                let outcome = driver.run(&get(), |_| -> Answer { Ok(server.handle()) });
                unfinished.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(outcome.unwrap().status(), 200);
            });
        }
        eventually("all calls are over", || {
            let left = unfinished.load(Ordering::SeqCst);
            if left > 0 && clock.sleepers() == left {
                clock.advance_to_next();
            }
            left == 0
        });
    });
    assert_eq!(server.accepted(), 60);
    assert_eq!(server.refused(), 0);
}

#[test]
fn a_thread_is_woken_when_its_turn_comes_though_no_time_passes() {
    let clock = ManualClock::new();
    let driver = driver(Config::default().first_flight(1), &clock);
    let (release, released) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (started, has_started) = mpsc::channel::<()>();
        let slow = {
            let driver = &driver;
            scope.spawn(move || {
                driver.run(&get(), |_| -> Answer {
                    started.send(()).unwrap();
                    released.recv().unwrap();
                    Ok(answer(200, &[]))
                })
            })
        };
        has_started.recv().unwrap();
        let second = scope.spawn(|| driver.run(&get(), |_| -> Answer { Ok(answer(200, &[])) }));
        eventually("the second call sleeps", || clock.sleepers() == 1);
        release.send(()).unwrap();
        assert_eq!(slow.join().unwrap().unwrap().status(), 200);
        assert_eq!(second.join().unwrap().unwrap().status(), 200);
    });
    assert_eq!(clock.now().mono.as_nanos(), 0);
}

#[test]
fn closing_the_limiter_wakes_all_who_wait() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    thread::scope(|scope| {
        let calls: Vec<_> =
            (0..5).map(|_| scope.spawn(|| driver.run(&get(), |_| -> Answer { Ok(refusal(60)) }))).collect();
        eventually("all sleep", || clock.sleepers() == 5);
        driver.limiter().close(driver.now());
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap_err().limited(), Some(&Error::Closed));
        }
    });
    let later = driver.run(&get(), |_| -> Answer { panic!("sent by a closed limiter") });
    assert_eq!(later.unwrap_err().limited(), Some(&Error::Closed));
}

#[test]
fn a_wait_beyond_the_cap_raises_at_once_and_the_next_call_is_sent() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let mut sends = 0;
    let error = exceeded(driver.run(&get(), |_| -> Answer {
        sends += 1;
        Ok(refusal(3600))
    }));
    assert_eq!(sends, 1);
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
    assert_eq!(error.limit_name, "max_retry_after");
    assert_eq!(driver.run(&get(), |_| -> Answer { Ok(answer(200, &[])) }).unwrap().status(), 200);
}

#[test]
fn an_exhausted_refusal_is_returned_if_asked_for() {
    let clock = ManualClock::new();
    let driver = driver(Config::default().on_exhausted(OnExhausted::Return).max_attempts(2), &clock);
    thread::scope(|scope| {
        let call = scope.spawn(|| driver.run(&get(), |_| -> Answer { Ok(refusal(5)) }));
        eventually("the call sleeps", || clock.sleepers() == 1);
        clock.advance_to_next();
        let response = call.join().unwrap().unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"5".parse().unwrap()));
    });
}

#[test]
fn a_response_that_is_no_rate_limit_matter_is_returned_as_it_is() {
    for status in [200, 301, 400, 401, 404, 422] {
        let driver = driver(Config::default(), &ManualClock::new());
        let response = driver.run(&get(), |_| -> Answer { Ok(answer(status, &[("x", "y")])) }).unwrap();
        assert_eq!((response.status().as_u16(), response.headers().len()), (status, 1));
    }
}

/// How often a request is sent that fails each time in that way, and the last
/// error.
fn failing(request: &Request<'_>, kind: io::ErrorKind) -> (u32, io::ErrorKind) {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let sends = AtomicU32::new(0);
    let (url, method, retry) = (request.url, request.method, request.retry);
    let outcome = thread::scope(|scope| {
        let call = scope.spawn(|| {
            driver.run(&Request { retry, ..Request::new(method, url) }, |_| -> Answer {
                sends.fetch_add(1, Ordering::SeqCst);
                Err(kind.into())
            })
        });
        eventually("the call is over", || {
            clock.advance_to_next();
            call.is_finished()
        });
        call.join().unwrap()
    });
    match outcome {
        Err(RunError::Failed(error)) => (sends.into_inner(), error.kind()),
        _ => panic!("a failure is delivered as it is"),
    }
}

#[test]
fn a_failure_is_retried_if_that_is_safe_and_then_delivered() {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset};
    let post = Request::new("POST", drivers_support::URL);
    assert_eq!(failing(&get(), ConnectionReset), (3, ConnectionReset));
    assert_eq!(failing(&post, ConnectionReset), (1, ConnectionReset));
    assert_eq!(failing(&post, ConnectionRefused), (3, ConnectionRefused));
    assert_eq!(failing(&Request { retry: Some(true), ..post }, ConnectionReset), (3, ConnectionReset));
}

#[test]
fn an_error_without_a_network_is_delivered_at_once() {
    let driver = driver(Config::default(), &ManualClock::new());
    let mut sends = 0;
    let outcome = driver.run(&get(), |_| -> Result<Response<String>, _> {
        sends += 1;
        Err(Failed::local("the request could not be built"))
    });
    assert_eq!(outcome.unwrap_err(), RunError::Failed(Failed { kind: None, error: "the request could not be built" }));
    assert_eq!(sends, 1);
}

#[test]
fn a_wrong_argument_is_a_typed_error_and_nothing_is_sent() {
    let driver = driver(Config::default(), &ManualClock::new());
    let outcome = driver.run(&Request::new("GET", "/no/origin"), |_| -> Answer { panic!("sent") });
    assert!(matches!(outcome.unwrap_err().limited(), Some(Error::Config(_))));
}

#[test]
fn a_nested_call_waits_for_no_slot() {
    let driver = driver(Config::default().first_flight(1), &ManualClock::new());
    let response = driver
        .run(&get(), |_| -> Answer {
            let token = Request { nested: true, ..get() };
            driver.run(&token, |_| -> Answer { Ok(answer(200, &[])) }).map_err(|_| io::ErrorKind::Other)?;
            Ok(answer(201, &[]))
        })
        .unwrap();
    assert_eq!(response.status(), 201);
}

#[test]
fn a_streamed_response_holds_its_slot_until_it_is_read() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let (_, in_flight) = driver.run_streamed(&get(), |_| -> Answer { Ok(answer(200, &[])) }).unwrap();
    assert_eq!(driver.limiter().stats(driver.now()).total.in_flight, 1);
    in_flight.settle(&[("tokens", 12.0)]).unwrap();
    drop(in_flight);
    assert_eq!(driver.limiter().stats(driver.now()).total.in_flight, 0);
}

#[test]
fn a_panic_while_sending_gives_the_place_back() {
    let clock = ManualClock::new();
    let driver = driver(Config::default().first_flight(1), &clock);
    thread::scope(|scope| {
        let call = scope.spawn(|| driver.run(&get(), |_| -> Answer { panic!("the client's own") }));
        assert!(call.join().is_err());
    });
    assert_eq!(driver.run(&get(), |_| -> Answer { Ok(answer(200, &[])) }).unwrap().status(), 200);
}

#[test]
fn the_bodies_of_refusals_are_read() {
    let driver = driver(Config::default(), &ManualClock::new());
    let body = r#"{"error": {"retry": true, "retryAfter": 3600}}"#.to_owned();
    let error = exceeded(driver.run(&get(), |_| -> Answer {
        Ok(Response::builder().status(429).header("content-type", "application/json").body(body.clone()).unwrap())
    }));
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
}

#[test]
fn by_the_system_clock_a_call_sleeps_as_long_as_the_server_asked() {
    let driver = Blocking::new(limiter(Config::default()));
    let started = std::time::Instant::now();
    let response = driver
        .run(&get(), |attempt| -> Answer {
            Ok(if attempt.number == 1 { answer(429, &[("retry-after-ms", "60")]) } else { answer(200, &[]) })
        })
        .unwrap();
    let took = started.elapsed();
    assert_eq!(response.status(), 200);
    assert!((Duration::from_millis(60)..Duration::from_secs(2)).contains(&took), "{took:?}");
}

#[test]
fn by_the_system_clock_a_waiting_thread_is_woken_before_its_sleep_ends() {
    let driver = Blocking::new(limiter(Config::default()));
    thread::scope(|scope| {
        let call = scope.spawn(|| driver.run(&get(), |_| -> Answer { Ok(refusal(100)) }));
        eventually("the call waits", || driver.limiter().stats(driver.now()).total.waiting == 1);
        driver.limiter().close(driver.now());
        assert_eq!(call.join().unwrap().unwrap_err().limited(), Some(&Error::Closed));
    });
}

#[test]
fn failure_kinds_of_io_errors_are_told_apart() {
    use rampmeter::driver::Failure;
    let kind = |kind: io::ErrorKind| Failure::kind(&io::Error::from(kind));
    assert_eq!(kind(io::ErrorKind::ConnectionRefused), Some(FailureKind::Connect));
    assert_eq!(kind(io::ErrorKind::TimedOut), Some(FailureKind::Timeout));
    assert_eq!(kind(io::ErrorKind::UnexpectedEof), Some(FailureKind::Read));
    assert_eq!(kind(io::ErrorKind::Other), Some(FailureKind::Other));
}
