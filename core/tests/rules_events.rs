//! What is told: events to those who listen, notices to everybody, counters
//! to those who ask.

mod rules_support;

use rampmeter::{Event, EventKind, Limiter, Notice, Reason, Request};
use rules_support::{
    URL, accept, accept_with, assert_sends, at, begin, fail, hold, limiter, quota, refuse, respond, sent, slept,
    slept_seconds,
};
use serde_json::json;

fn listening() -> Limiter {
    let limiter = limiter(json!({}));
    limiter.listen(true);
    limiter
}

#[track_caller]
fn only(events: &[Event], kind: EventKind) -> Event {
    let mut found = events.iter().filter(|event| event.kind == kind);
    let (first, more) = (found.next(), found.next());
    assert!(more.is_none(), "one {} was expected: {events:?}", kind.name());
    first.unwrap_or_else(|| panic!("a {} was expected: {events:?}", kind.name())).clone()
}

#[test]
fn nothing_is_collected_unless_somebody_listens() {
    let limiter = limiter(json!({}));
    hold(&sent(&limiter, at(0.0)), at(0.1), 30);
    assert_eq!(limiter.take_events(), []);
    limiter.listen(true);
    assert_eq!(limiter.take_events(), []);
}

#[test]
fn a_refusal_tells_who_was_refused_and_by_which_headers() {
    let limiter = listening();
    let call =
        limiter.begin(at(0.0), &Request::new("DELETE", "https://api.example.com/users/42")).expect("it is right");
    assert_sends(&call.poll(at(0.0)));
    let headers = [("Retry-After", "30"), ("X-RateLimit-Remaining", "0"), ("Set-Cookie", "id=secret"), ("Server", "x")];
    slept(&respond(&call, at(0.1), 429, &headers));
    let event = only(&limiter.take_events(), EventKind::Refused);
    assert_eq!(event.at, at(0.1).mono);
    assert!(event.scope.contains("https://api.example.com"), "{event:?}");
    assert_eq!(event.method.as_deref(), Some("DELETE"));
    assert!(event.route.as_deref().is_some_and(|route| route.contains("/users/{}")), "{event:?}");
    assert_eq!((event.status, event.attempt), (Some(429), Some(1)));
    let names: Vec<_> = event.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    assert!(
        names.contains(&"retry-after".to_owned()) && names.contains(&"x-ratelimit-remaining".to_owned()),
        "{names:?}"
    );
    assert!(!names.contains(&"set-cookie".to_owned()) && !names.contains(&"server".to_owned()), "{names:?}");
}

#[test]
fn a_hold_and_a_wait_tell_seconds_and_reason_before_the_wait_begins() {
    let limiter = listening();
    let wait = slept_seconds(&refuse(&sent(&limiter, at(0.0)), at(0.1), 30));
    let events = limiter.take_events();
    let (held, waiting) = (only(&events, EventKind::Held), only(&events, EventKind::Waiting));
    assert_eq!((held.reason, waiting.reason), (Some(Reason::Held), Some(Reason::Held)));
    assert!(held.seconds.is_some_and(|seconds| (30.0..=30.5).contains(&seconds)), "{held:?}");
    assert!(waiting.seconds.is_some_and(|seconds| (seconds - wait).abs() < 1e-6), "{waiting:?}");
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    let place = |kind| kinds.iter().position(|known| *known == kind);
    assert!(place(EventKind::Refused) < place(EventKind::Held) && place(EventKind::Held) < place(EventKind::Waiting));
}

#[test]
fn one_wait_is_told_once_however_often_it_is_polled() {
    let limiter = listening();
    hold(&sent(&limiter, at(0.0)), at(0.0), 30);
    drop(limiter.take_events());
    let call = begin(&limiter, at(1.0));
    for poll in 0..50 {
        slept(&call.poll(at(1.0 + f64::from(poll) / 10.0)));
    }
    let waiting = limiter.take_events().into_iter().filter(|event| event.kind == EventKind::Waiting).count();
    assert_eq!(waiting, 1);
}

#[test]
fn an_extension_of_a_hold_is_told_and_a_shorter_wait_is_not() {
    let limiter = listening();
    let calls = [sent(&limiter, at(0.0)), sent(&limiter, at(0.0)), sent(&limiter, at(0.0))];
    hold(&calls[0], at(0.1), 10);
    drop(limiter.take_events());
    hold(&calls[1], at(0.2), 5);
    let events = limiter.take_events();
    assert!(events.iter().all(|event| event.kind != EventKind::Held), "{events:?}");
    hold(&calls[2], at(0.3), 50);
    assert!(only(&limiter.take_events(), EventKind::Held).seconds.is_some_and(|seconds| seconds >= 50.0));
}

#[test]
fn an_error_is_told_with_its_reason() {
    let limiter = listening();
    assert!(refuse(&sent(&limiter, at(0.0)), at(0.1), 3600).error().is_some());
    let event = only(&limiter.take_events(), EventKind::Raised);
    assert_eq!(event.reason, Some(Reason::Exceeded));
    assert_eq!(event.attempt, Some(1));
}

#[test]
fn an_error_of_a_call_that_was_never_sent_is_told_too() {
    let limiter = listening();
    hold(&sent(&limiter, at(0.0)), at(0.1), 60);
    drop(limiter.take_events());
    let request = Request { deadline: Some(at(10.0).mono), ..Request::new("GET", URL) };
    let call = limiter.begin(at(1.0), &request).expect("the request is right");
    assert!(call.poll(at(1.0)).error().is_some());
    assert_eq!(only(&limiter.take_events(), EventKind::Raised).reason, Some(Reason::Exceeded));
}

#[test]
fn a_changed_reading_is_told_with_its_meter_and_an_unchanged_one_is_not() {
    let limiter = listening();
    let headers = [("RateLimit-History-Limit", "10"), ("RateLimit-History-Remaining", "7")];
    accept_with(&sent(&limiter, at(0.0)), at(0.1), &headers);
    assert_eq!(only(&limiter.take_events(), EventKind::Meter).meter.as_deref(), Some("history"));
    accept(&sent(&limiter, at(0.2)), at(0.3));
    assert!(limiter.take_events().iter().all(|event| event.kind != EventKind::Meter));
}

#[test]
fn an_ignored_signal_tells_its_field_and_is_counted() {
    let limiter = listening();
    accept_with(&sent(&limiter, at(0.0)), at(0.1), &[("X-RateLimit-Remaining", "many")]);
    let event = only(&limiter.take_events(), EventKind::Ignored);
    assert!(event.detail.is_some_and(|detail| detail.to_ascii_lowercase().contains("x-ratelimit-remaining")));
    assert_eq!(limiter.stats(at(0.1)).total.ignored, 1);
}

#[test]
fn a_repeated_post_is_told() {
    let limiter = listening();
    let call = limiter.begin(at(0.0), &Request::new("POST", URL)).expect("the request is right");
    assert_sends(&call.poll(at(0.0)));
    let wait = slept_seconds(&refuse(&call, at(0.0), 2));
    assert_sends(&call.poll(at(wait)));
    accept(&call, at(wait + 0.1));
    let event = only(&limiter.take_events(), EventKind::Replayed);
    assert_eq!(event.method.as_deref(), Some("POST"));
}

#[test]
fn a_repeated_get_is_not_told_as_replayed() {
    let limiter = listening();
    let call = sent(&limiter, at(0.0));
    let wait = slept_seconds(&refuse(&call, at(0.0), 2));
    assert_sends(&call.poll(at(wait)));
    assert!(limiter.take_events().iter().all(|event| event.kind != EventKind::Replayed));
}

#[test]
fn a_credential_shows_as_an_ordinal() {
    let limiter = listening();
    for token in ["Bearer first-secret-token", "Bearer second-secret-token"] {
        let headers = [("Authorization", token)];
        let call = limiter
            .begin(at(0.0), &Request { headers: Some(&headers), ..Request::new("GET", URL) })
            .expect("the request is right");
        assert_sends(&call.poll(at(0.0)));
        hold(&call, at(0.1), 30);
    }
    let scopes: std::collections::BTreeSet<_> = limiter
        .take_events()
        .into_iter()
        .filter(|event| event.kind == EventKind::Refused)
        .map(|event| event.scope)
        .collect();
    assert_eq!(scopes.len(), 2, "two credentials are two scopes: {scopes:?}");
    for scope in scopes.iter().chain(&limiter.scopes()) {
        assert!(scope.starts_with("https://api.example.com") && !scope.contains("secret"), "{scope}");
    }
}

fn noticing() -> Limiter {
    let limiter = limiter(json!({}));
    limiter.collect_notices();
    limiter
}

fn warnings(limiter: &Limiter) -> Vec<Notice> {
    limiter.take_notices().into_iter().filter(|notice| notice.warning).collect()
}

#[test]
fn a_hold_of_five_seconds_is_warned_about_once_with_how_long_and_how_many_wait() {
    let limiter = noticing();
    let calls: Vec<_> = (0..3).map(|_| sent(&limiter, at(0.0))).collect();
    let waiting: Vec<_> = (0..20).map(|_| begin(&limiter, at(0.0))).collect();
    waiting.iter().for_each(|call| drop(call.poll(at(0.0))));
    for call in &calls {
        hold(call, at(0.1), 5);
    }
    waiting.iter().for_each(|call| drop(call.poll(at(0.2))));
    let warned = warnings(&limiter);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].message.contains("api.example.com") && warned[0].message.contains('5'), "{warned:?}");
}

#[test]
fn a_hold_that_is_extended_is_warned_about_once() {
    let limiter = noticing();
    let calls: Vec<_> = (0..3).map(|_| sent(&limiter, at(0.0))).collect();
    hold(&calls[0], at(0.1), 6);
    hold(&calls[1], at(0.2), 20);
    hold(&calls[2], at(0.3), 60);
    assert_eq!(warnings(&limiter).len(), 1);
}

#[test]
fn a_short_hold_that_is_extended_to_a_long_one_is_warned_about() {
    let limiter = noticing();
    let calls: Vec<_> = (0..2).map(|_| sent(&limiter, at(0.0))).collect();
    hold(&calls[0], at(0.1), 2);
    hold(&calls[1], at(0.2), 60);
    let warned = warnings(&limiter);
    assert_eq!(warned.len(), 1);
    assert!(warned[0].message.contains("60"), "{warned:?}");
}

#[test]
fn a_hold_below_five_seconds_is_no_warning() {
    let limiter = noticing();
    hold(&sent(&limiter, at(0.0)), at(0.1), 4);
    assert_eq!(warnings(&limiter), []);
}

#[test]
fn a_later_hold_is_warned_about_again() {
    let limiter = noticing();
    let call = sent(&limiter, at(0.0));
    hold(&call, at(0.0), 6);
    assert_sends(&call.poll(at(6.5)));
    accept(&call, at(6.6));
    hold(&sent(&limiter, at(60.0)), at(60.0), 6);
    assert_eq!(warnings(&limiter).len(), 2);
}

#[test]
fn a_long_wait_for_a_spent_meter_is_warned_about_once() {
    let limiter = noticing();
    accept_with(&sent(&limiter, at(0.0)), at(0.0), &quota(100, 0, 60));
    let calls: Vec<_> = (0..10).map(|_| begin(&limiter, at(1.0))).collect();
    for call in &calls {
        slept(&call.poll(at(1.0)));
    }
    assert_eq!(warnings(&limiter).len(), 1);
}

#[test]
fn each_single_wait_is_a_line_for_debugging() {
    let limiter = noticing();
    hold(&sent(&limiter, at(0.0)), at(0.0), 2);
    drop(limiter.take_notices());
    let call = begin(&limiter, at(0.1));
    slept(&call.poll(at(0.1)));
    let notices = limiter.take_notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(!notices[0].warning);
}

#[test]
fn counters_count() {
    let limiter = limiter(json!({}));
    let (first, second, third) = (sent(&limiter, at(0.0)), sent(&limiter, at(0.0)), sent(&limiter, at(0.0)));
    accept(&first, at(0.1));
    slept(&fail(&second, at(0.1), rampmeter::FailureKind::Read));
    second.cancel(at(0.1));
    hold(&third, at(0.2), 10);
    let waiting = begin(&limiter, at(1.0));
    slept(&waiting.poll(at(1.0)));
    let total = limiter.stats(at(1.2)).total;
    assert_eq!((total.sent, total.accepted, total.failed, total.refused), (3, 1, 1, 1));
    assert_eq!((total.waiting, total.in_flight, total.raised), (2, 0, 0));
    let held = limiter.stats(at(1.2)).scopes[0].held_for.map(|span| span.as_secs_f64());
    assert!(held.is_some_and(|held| (9.0..=9.21).contains(&held)), "{held:?}");
    assert_sends(&third.poll(at(10.45)));
    accept(&third, at(10.5));
    assert_sends(&waiting.poll(at(10.5)));
    let total = limiter.stats(at(10.5)).total;
    assert_eq!((total.sent, total.accepted, total.in_flight, total.waiting), (5, 2, 1, 0));
    assert!(total.waits >= 2);
    let slept = total.slept.as_secs_f64();
    assert!((19.0..=20.5).contains(&slept), "10.25 s and 9.5 s: {slept}");
}

#[test]
fn an_error_counts_as_raised() {
    let limiter = limiter(json!({}));
    assert!(refuse(&sent(&limiter, at(0.0)), at(0.1), 3600).error().is_some());
    assert_eq!(limiter.stats(at(0.1)).total.raised, 1);
}
