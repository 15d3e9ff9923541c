//! The async driver: by a manual clock, under tokio, under smol, and beside
//! threads.

mod drivers_support;

use std::cell::RefCell;
use std::future::pending;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivers_support::{FixedWindow, answer, get, limiter, refusal};
use http::Response;
use rampmeter::asynchronous::{Async, Timer, TokioTimer};
use rampmeter::blocking::Blocking;
use rampmeter::driver::{ManualClock, RunError};
use rampmeter::{Config, Error, Request};
use smol::LocalExecutor;

type Answer = io::Result<Response<String>>;

fn driver(config: Config, clock: &ManualClock) -> Async<ManualClock> {
    Async::with_timer(limiter(config), clock.clone())
}

/// Runs all tasks that can run, moving the clock whenever none can.
fn run_all(executor: &LocalExecutor<'_>, clock: &ManualClock) {
    loop {
        while executor.try_tick() {}
        if executor.is_empty() {
            return;
        }
        assert!(clock.advance_to_next(), "tasks are left, and none of them sleeps");
    }
}

fn settle(executor: &LocalExecutor<'_>) {
    while executor.try_tick() {}
}

#[test]
fn a_refused_call_waits_in_full_and_is_sent_again() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let sent_at = RefCell::new(Vec::new());
    let executor = LocalExecutor::new();
    executor
        .spawn(async {
            let outcome = driver.run(&get(), |attempt| {
                sent_at.borrow_mut().push(clock.now().mono.as_nanos());
                async move { Ok::<_, io::Error>(if attempt.number == 1 { refusal(30) } else { answer(200, &[]) }) }
            });
            assert_eq!(outcome.await.unwrap().status(), 200);
        })
        .detach();
    run_all(&executor, &clock);
    let sent_at = sent_at.borrow();
    assert_eq!(sent_at.len(), 2);
    assert!((30_000_000_000..=30_500_000_000).contains(&sent_at[1]), "{sent_at:?}");
}

#[test]
fn concurrent_calls_never_send_more_than_the_server_said_is_left() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let server = FixedWindow::new(50, Duration::from_secs(2), &clock);
    let executor = LocalExecutor::new();
    for _ in 0..200 {
        executor
            .spawn(async {
                let outcome = driver.run(&get(), |_| {
                    let (server, clock) = (&server, &clock);
                    async move {
                        clock.sleep(Duration::from_millis(20)).await;
                        let response = server.handle();
                        clock.sleep(Duration::from_millis(20)).await;
                        Ok::<_, io::Error>(response)
                    }
                });
                assert_eq!(outcome.await.unwrap().status(), 200);
            })
            .detach();
    }
    run_all(&executor, &clock);
    assert_eq!((server.accepted(), server.refused()), (200, 0));
    let took = Duration::from_nanos(clock.now().mono.as_nanos());
    assert!(took <= Duration::from_secs_f64(6.0 * 1.1 + 1.0), "{took:?}");
}

#[test]
fn five_hundred_calls_whose_turn_comes_after_minutes_succeed_by_default() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let server = FixedWindow::new(50, Duration::from_secs(60), &clock);
    let executor = LocalExecutor::new();
    for _ in 0..500 {
        executor
            .spawn(async {
                let outcome = driver.run(&get(), |_| async { Ok::<_, io::Error>(server.handle()) });
                assert_eq!(outcome.await.unwrap().status(), 200);
            })
            .detach();
    }
    run_all(&executor, &clock);
    assert_eq!((server.accepted(), server.refused()), (500, 0));
}

#[test]
fn a_waiting_task_is_woken_when_its_turn_comes_though_no_time_passes() {
    let clock = ManualClock::new();
    let driver = driver(Config::default().first_flight(1), &clock);
    let (release, released) = smol::channel::bounded::<()>(1);
    let executor = LocalExecutor::new();
    let done = Rc::new(RefCell::new(0));
    for _ in 0..2 {
        let (driver, released, done) = (&driver, &released, Rc::clone(&done));
        executor
            .spawn(async move {
                let outcome = driver.run(&get(), |_| async {
                    released.recv().await.unwrap();
                    Ok::<_, io::Error>(answer(200, &[]))
                });
                outcome.await.unwrap();
                *done.borrow_mut() += 1;
            })
            .detach();
    }
    settle(&executor);
    assert_eq!((*done.borrow(), clock.sleepers()), (0, 1));
    release.try_send(()).unwrap();
    settle(&executor);
    assert_eq!((*done.borrow(), clock.sleepers()), (1, 0), "the second call was not woken");
    release.try_send(()).unwrap();
    settle(&executor);
    assert_eq!(*done.borrow(), 2);
    assert_eq!(clock.now().mono.as_nanos(), 0);
}

#[test]
fn dropping_the_future_of_half_of_the_waiters_frees_their_places() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let server = FixedWindow::new(5, Duration::from_secs(10), &clock);
    let executor = LocalExecutor::new();
    let done = Rc::new(RefCell::new(Vec::new()));
    let mut tasks: Vec<_> = (0..30)
        .map(|number| {
            let (driver, server, done) = (&driver, &server, Rc::clone(&done));
            executor.spawn(async move {
                driver.run(&get(), |_| async { Ok::<_, io::Error>(server.handle()) }).await.unwrap();
                done.borrow_mut().push(number);
            })
        })
        .collect();
    settle(&executor);
    // The first five are through; every other one of the rest is given up.
    for number in (6..30).step_by(2).rev() {
        drop(tasks.remove(number));
    }
    tasks.into_iter().for_each(smol::Task::detach);
    run_all(&executor, &clock);
    assert_eq!(done.borrow().len(), 18);
    assert_eq!((server.accepted(), server.refused()), (18, 0));
    // 5 at once, then 13 in three windows: the places given up cost no time.
    assert!(clock.now().mono.as_nanos() <= 31_000_000_000, "{:?}", clock.now());
}

#[test]
fn dropping_a_call_that_was_sent_frees_its_slot() {
    let clock = ManualClock::new();
    let driver = driver(Config::default().first_flight(1), &clock);
    let executor = LocalExecutor::new();
    let hangs = executor.spawn(async { driver.run(&get(), |_| pending::<Answer>()).await });
    settle(&executor);
    let second = executor.spawn(async { driver.run(&get(), |_| async { Answer::Ok(answer(200, &[])) }).await });
    settle(&executor);
    assert!(!second.is_finished());
    drop(hangs);
    settle(&executor);
    assert!(second.is_finished());
}

#[test]
fn a_call_past_the_cap_ends_at_once_with_the_wait_inside() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let outcome = smol::block_on(driver.run(&get(), |_| async { Answer::Ok(refusal(3600)) }));
    let Err(RunError::Limited(error)) = outcome else { panic!("not raised") };
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    let next = smol::block_on(driver.run(&get(), |_| async { Answer::Ok(answer(200, &[])) }));
    assert_eq!(next.unwrap().status(), 200);
}

#[test]
fn a_streamed_response_holds_its_slot_until_it_is_read() {
    let clock = ManualClock::new();
    let driver = driver(Config::default(), &clock);
    let (_, in_flight) =
        smol::block_on(driver.run_streamed(&get(), |_| async { Answer::Ok(answer(200, &[])) })).unwrap();
    assert_eq!(driver.limiter().stats(driver.now()).total.in_flight, 1);
    in_flight.settle(&[("tokens", 12.0)]).unwrap();
    drop(in_flight);
    assert_eq!(driver.limiter().stats(driver.now()).total.in_flight, 0);
}

#[test]
fn a_nested_call_waits_for_no_slot() {
    let driver = driver(Config::default().first_flight(1), &ManualClock::new());
    let outcome = driver.run(&get(), |_| async {
        let inner = Request { nested: true, ..get() };
        let token = driver.run(&inner, |_| async { Answer::Ok(answer(200, &[])) }).await;
        Answer::Ok(answer(if token.is_ok() { 201 } else { 500 }, &[]))
    });
    assert_eq!(smol::block_on(outcome).unwrap().status(), 201);
}

#[test]
fn a_timer_that_runs_ahead_of_the_clock_lets_others_run() {
    /// Says at once that the time is over.
    #[derive(Clone)]
    struct Hasty(ManualClock);

    impl Timer for Hasty {
        async fn sleep(&self, _: Duration) {}

        fn now(&self) -> rampmeter::Now {
            self.0.now()
        }
    }

    let clock = ManualClock::new();
    let driver = Async::with_timer(limiter(Config::default()), Hasty(clock.clone()));
    let executor = LocalExecutor::new();
    let call = executor.spawn(async {
        driver
            .run(&get(), |attempt| async move {
                Answer::Ok(if attempt.number == 1 { refusal(30) } else { answer(200, &[]) })
            })
            .await
    });
    for _ in 0..1000 {
        executor.try_tick();
    }
    assert!(!call.is_finished());
    clock.advance(Duration::from_secs(31));
    for _ in 0..10 {
        executor.try_tick();
    }
    assert!(call.is_finished());
}

/// Fifty calls against a server that allows ten per 200 ms, by real time.
async fn fleet<T: Timer>(driver: Arc<Async<T>>, spawn: impl Fn(Call)) -> u32 {
    let started = std::time::Instant::now();
    let refused = Arc::new(AtomicU32::new(0));
    let window = Arc::new(std::sync::Mutex::new((0u128, 0u32)));
    let (done, is_done) = smol::channel::unbounded();
    for _ in 0..50 {
        let (driver, refused, window, done) =
            (Arc::clone(&driver), Arc::clone(&refused), Arc::clone(&window), done.clone());
        spawn(Box::pin(async move {
            let outcome = driver.run(&get(), |_| {
                let mut window = window.lock().unwrap();
                let now = started.elapsed().as_millis();
                if window.0 != now / 200 {
                    *window = (now / 200, 0);
                }
                let left = (200 - now % 200).to_string();
                let response = if window.1 >= 10 {
                    refused.fetch_add(1, Ordering::SeqCst);
                    answer(429, &[("retry-after-ms", &left)])
                } else {
                    window.1 += 1;
                    let remaining = (10 - window.1).to_string();
                    let reset = format!("0.{:03}", 200 - now % 200);
                    answer(
                        200,
                        &[
                            ("x-ratelimit-limit", "10"),
                            ("x-ratelimit-remaining", &remaining),
                            ("x-ratelimit-reset", &reset),
                        ],
                    )
                };
                async move { Answer::Ok(response) }
            });
            done.send(outcome.await.map(|response| response.status().as_u16()).unwrap_or(0)).await.unwrap();
        }));
    }
    for _ in 0..50 {
        assert_eq!(is_done.recv().await.unwrap(), 200);
    }
    assert!(started.elapsed() >= Duration::from_millis(700), "faster than the server allows");
    refused.load(Ordering::SeqCst)
}

type Call = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_tokio_a_fleet_keeps_within_the_limit() {
    let driver = Arc::new(Async::with_timer(limiter(Config::default()), TokioTimer));
    assert!(fleet(driver, |call| drop(tokio::spawn(call))).await <= 10);
}

#[test]
fn under_smol_a_fleet_keeps_within_the_limit() {
    let driver = Arc::new(Async::new(limiter(Config::default())));
    assert!(smol::block_on(fleet(driver, |call| smol::spawn(call).detach())) <= 10);
}

#[tokio::test(start_paused = true)]
async fn the_timer_of_tokio_follows_its_paused_clock() {
    let driver = Async::with_timer(limiter(Config::default()), TokioTimer);
    let started = tokio::time::Instant::now();
    let outcome = driver.run(&get(), |attempt| async move {
        Answer::Ok(if attempt.number == 1 { refusal(100) } else { answer(200, &[]) })
    });
    assert_eq!(outcome.await.unwrap().status(), 200);
    let waited = started.elapsed();
    assert!((Duration::from_secs(100)..Duration::from_secs(101)).contains(&waited), "{waited:?}");
}

#[test]
fn tasks_of_two_runtimes_and_a_thread_wait_at_one_gate() {
    let limiter = limiter(Config::default());
    let blocking = Blocking::new(limiter.clone());
    let first = blocking.run(&get(), |attempt| -> Answer {
        // Held from here on; whoever comes now waits at the gate.
        Ok(if attempt.number == 1 { answer(429, &[("retry-after-ms", "1")]) } else { answer(200, &[]) })
    });
    assert_eq!(first.unwrap().status(), 200);

    let held = std::thread::spawn({
        let blocking = blocking.clone();
        move || blocking.run(&get(), |_| -> Answer { Ok(refusal(100)) })
    });
    drivers_support::eventually("the gate is held", || limiter.stats(blocking.now()).total.waiting == 1);
    let tokio_task = std::thread::spawn({
        let driver = Async::with_timer(limiter.clone(), TokioTimer);
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(driver.run(&get(), |_| async { Answer::Ok(answer(200, &[])) }))
        }
    });
    let smol_task = std::thread::spawn({
        let driver = Async::new(limiter.clone());
        move || smol::block_on(driver.run(&get(), |_| async { Answer::Ok(answer(200, &[])) }))
    });
    drivers_support::eventually("all wait", || limiter.stats(blocking.now()).total.waiting == 3);
    limiter.close(blocking.now());
    for thread in [held, tokio_task, smol_task] {
        assert_eq!(thread.join().unwrap().unwrap_err().limited(), Some(&Error::Closed));
    }
}
