//! The contract of single calls: what only an argument, an error's field or a
//! second scope can show.

mod rules_support;

use std::time::Duration;

use rampmeter::{
    Call, Class, Config, Decision, Error, FailureKind, Headers, Limiter, NoHeaders, Reason, Request, Response, Verdict,
};
use rules_support::{
    URL, accept, accept_with, assert_sends, at, begin, fail, hold, limiter, quota, refuse, respond, sent, slept,
};
use serde_json::json;

fn with(limiter: &Limiter, request: Request<'_>) -> Call {
    limiter.begin(at(0.0), &request).expect("the request is right")
}

/// A call with one request header that was sent at zero.
fn sent_with(limiter: &Limiter, name: &str, value: &str) -> Call {
    let headers = [(name, value)];
    let call = with(limiter, Request { headers: Some(&headers), ..Request::new("GET", URL) });
    assert_sends(&call.poll(at(0.0)));
    call
}

/// True if two values of a request header share a scope.
fn shares(name: &str, first: &str, second: &str) -> bool {
    let limiter = limiter(json!({}));
    hold(&sent_with(&limiter, name, first), at(0.0), 30);
    let headers = [(name, second)];
    let call = with(&limiter, Request { headers: Some(&headers), ..Request::new("GET", URL) });
    matches!(call.poll(at(0.1)), Decision::Sleep { .. })
}

#[test]
fn attempts_are_counted() {
    let limiter = limiter(json!({}));
    let call = begin(&limiter, at(0.0));
    assert_eq!(call.attempts(), 0);
    assert_sends(&call.poll(at(0.0)));
    assert_sends(&call.poll(at(0.0)));
    assert_eq!(call.attempts(), 1, "asking again is not sending again");
    let wait = hold(&call, at(0.0), 1) as f64 / 1e9;
    slept(&call.poll(at(0.5)));
    assert_eq!(call.attempts(), 1, "waiting costs no attempt");
    assert_sends(&call.poll(at(wait)));
    assert_eq!(call.attempts(), 2);
}

#[test]
fn an_answer_to_what_was_not_sent_is_a_mistake_that_changes_nothing() {
    let limiter = limiter(json!({}));
    let call = begin(&limiter, at(0.0));
    let decision = refuse(&call, at(0.0), 60);
    assert_eq!(decision.error().map(Error::name), Some("UsageError"), "{decision:?}");
    assert_sends(&call.poll(at(0.1)));
    assert_sends(&begin(&limiter, at(0.1)).poll(at(0.1)));
}

#[test]
fn a_second_answer_to_one_send_changes_nothing() {
    let limiter = limiter(json!({}));
    let call = sent(&limiter, at(0.0));
    accept(&call, at(0.1));
    let _ = refuse(&call, at(0.1), 60);
    assert_sends(&begin(&limiter, at(0.2)).poll(at(0.2)));
}

#[test]
fn a_success_reported_twice_does_not_lift_a_hold() {
    let limiter = limiter(json!({}));
    let (first, second) = (sent(&limiter, at(0.0)), sent(&limiter, at(0.0)));
    hold(&first, at(0.1), 30);
    accept(&second, at(0.2));
    let _ = respond(&second, at(0.3), 200, &quota(100, 99, 60));
    let _ = respond(&first, at(0.3), 200, &quota(100, 99, 60));
    slept(&begin(&limiter, at(0.4)).poll(at(0.4)));
}

#[test]
fn a_body_that_can_be_sent_once_is_not_sent_again_and_its_refusal_still_holds_the_others() {
    let limiter = limiter(json!({}));
    let call = with(&limiter, Request { replayable: false, ..Request::new("PUT", URL) });
    assert_sends(&call.poll(at(0.0)));
    let decision = refuse(&call, at(0.1), 30);
    assert_eq!(decision.error().and_then(Error::retry_after), Some(Duration::from_secs(30)), "{decision:?}");
    slept(&begin(&limiter, at(0.2)).poll(at(0.2)));
}

#[test]
fn a_refused_body_that_can_be_sent_once_is_handed_over_where_refusals_are() {
    let limiter = limiter(json!({"on_exhausted": "return"}));
    let call = with(&limiter, Request { replayable: false, ..Request::new("PUT", URL) });
    assert_sends(&call.poll(at(0.0)));
    assert_eq!(refuse(&call, at(0.1), 30), Decision::Deliver { reason: Reason::NotReplayable });
}

#[test]
fn a_body_that_can_be_sent_once_is_not_sent_again_after_a_failure() {
    let limiter = limiter(json!({}));
    let call = with(&limiter, Request { replayable: false, ..Request::new("PUT", URL) });
    assert_sends(&call.poll(at(0.0)));
    assert!(matches!(fail(&call, at(0.1), FailureKind::Timeout), Decision::Deliver { .. }));
}

#[test]
fn a_body_that_can_be_sent_once_waits_for_its_turn_like_any_other() {
    let limiter = limiter(json!({}));
    hold(&sent(&limiter, at(0.0)), at(0.0), 5);
    let call = with(&limiter, Request { replayable: false, ..Request::new("POST", URL) });
    slept(&call.poll(at(0.1)));
    assert_sends(&call.poll(at(5.5)));
}

#[test]
fn an_idempotency_key_makes_a_post_idempotent() {
    let headers = [("Idempotency-Key", "8e03978e")];
    let limiter = limiter(json!({}));
    for (headers, retried) in [(Some(&headers as &dyn Headers), true), (None, false)] {
        let call = with(&limiter, Request { headers, ..Request::new("POST", URL) });
        assert_sends(&call.poll(at(0.0)));
        assert_eq!(matches!(fail(&call, at(0.1), FailureKind::Timeout), Decision::Sleep { .. }), retried);
    }
}

#[test]
fn a_call_inside_a_call_waits_for_no_slot_and_is_not_retried() {
    let limiter = limiter(json!({"first_flight": 1}));
    let _outer = sent(&limiter, at(0.0));
    let nested = with(&limiter, Request { nested: true, ..Request::new("GET", URL) });
    assert_sends(&nested.poll(at(0.0)));
    let decision = respond(&nested, at(0.1), 503, &NoHeaders);
    assert!(matches!(decision, Decision::Deliver { .. }), "{decision:?}");
}

#[test]
fn a_refused_call_inside_a_call_leaves_the_retry_to_the_outer_one_and_holds_the_others() {
    let limiter = limiter(json!({}));
    let _outer = sent(&limiter, at(0.0));
    let nested = with(&limiter, Request { nested: true, ..Request::new("GET", URL) });
    assert_sends(&nested.poll(at(0.0)));
    let decision = refuse(&nested, at(0.1), 30);
    assert!(!matches!(decision, Decision::Sleep { .. } | Decision::Send { .. }), "{decision:?}");
    slept(&begin(&limiter, at(0.2)).poll(at(0.2)));
}

#[test]
fn credentials_make_scopes() {
    for name in ["Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Private-Token"] {
        let value = |secret: &str| if name == "Authorization" { format!("Bearer {secret}") } else { secret.to_owned() };
        assert!(shares(name, &value("alice-key-1"), &value("alice-key-1")), "{name}: one key is one scope");
        assert!(!shares(name, &value("alice-key-1"), &value("bob-key-2")), "{name}: two keys are two scopes");
    }
    for scheme in ["Basic", "Token", "ApiKey"] {
        assert!(!shares("Authorization", &format!("{scheme} YWxpY2U6eA=="), &format!("{scheme} Ym9iOnk=")), "{scheme}");
    }
}

#[test]
fn a_token_that_is_renewed_makes_no_scope() {
    let token = |payload: &str| format!("Bearer eyJhbGciOiJIUzI1NiJ9.{payload}.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg");
    assert!(shares("Authorization", &token("eyJleHAiOjF9"), &token("eyJleHAiOjJ9")));
}

#[test]
fn a_signature_makes_no_scope_but_its_identity_does() {
    let sign = |key: &str, signature: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential={key}/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature={signature}"
        )
    };
    assert!(shares("Authorization", &sign("AKIAONE", "aa11"), &sign("AKIAONE", "bb22")));
    assert!(!shares("Authorization", &sign("AKIAONE", "aa11"), &sign("AKIATWO", "aa11")));
}

#[test]
fn a_header_that_is_no_credential_makes_no_scope() {
    assert!(shares("X-Request-Id", "1", "2"));
}

#[test]
fn further_credential_headers_can_be_named() {
    let limiter = limiter(json!({"credential_headers": ["X-Tenant"]}));
    hold(&sent_with(&limiter, "x-tenant", "a"), at(0.0), 30);
    drop(sent_with(&limiter, "X-Tenant", "b"));
}

#[test]
fn a_scope_that_changes_on_every_call_falls_back_to_the_origin_with_one_warning() {
    let limiter = limiter(json!({}));
    limiter.collect_notices();
    for index in 0..5000 {
        let call = sent_with(&limiter, "X-Api-Key", &format!("key-{index}"));
        accept(&call, at(0.0));
    }
    let warnings = limiter.take_notices().into_iter().filter(|notice| notice.warning).count();
    assert_eq!(warnings, 1);
    hold(&sent_with(&limiter, "X-Api-Key", "key-a"), at(0.0), 30);
    let headers = [("X-Api-Key", "key-b")];
    slept(&with(&limiter, Request { headers: Some(&headers), ..Request::new("GET", URL) }).poll(at(0.1)));
}

#[test]
fn where_a_redirect_ended_its_signals_count() {
    let limiter = limiter(json!({}));
    let call = sent(&limiter, at(0.0));
    let headers = [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "60")];
    let answer = Response::new(200, &headers).answered_by(Some("https://cdn.example.net/x"));
    assert!(matches!(call.on_response(at(0.1), answer), Decision::Deliver { .. }));
    call.finish(at(0.1));
    assert_sends(&begin(&limiter, at(0.2)).poll(at(0.2)));
    let there = with(&limiter, Request::new("GET", "https://cdn.example.net/y"));
    slept(&there.poll(at(0.2)));
}

#[test]
fn the_callers_own_rule_is_asked_first() {
    let rule = |response: &Response<'_>| match response.status {
        200 => Some(Verdict { class: Some(Class::Windowed), wait: Some(Duration::from_secs(9)) }),
        429 => Some(Verdict { class: None, wait: None }),
        402 => Some(Verdict { class: Some(Class::Permanent), wait: None }),
        _ => None,
    };
    let limiter = || Limiter::with_classify(Config::default().seed(1), rule).expect("the options agree");
    let wait = slept(&respond(&sent(&limiter(), at(0.0)), at(0.0), 200, &NoHeaders));
    assert!((9_000_000_000..=9_180_000_000).contains(&wait), "{wait}");
    assert!(matches!(refuse(&sent(&limiter(), at(0.0)), at(0.0), 30), Decision::Deliver { .. }));
    let permanent = respond(&sent(&limiter(), at(0.0)), at(0.0), 402, &NoHeaders);
    assert_eq!(permanent.error().map(Error::name), Some("PermanentlyRefused"));
    assert!(matches!(respond(&sent(&limiter(), at(0.0)), at(0.0), 404, &NoHeaders), Decision::Deliver { .. }));
}

#[test]
fn an_error_says_what_was_asked_and_which_cap_it_broke() {
    let limiter = limiter(json!({"max_retry_after": 60}));
    let headers = [("Retry-After", "3600"), ("X-RateLimit-Limit", "50"), ("X-RateLimit-Remaining", "0")];
    let decision = respond(&sent(&limiter, at(0.0)), at(0.1), 429, &headers);
    let Some(Error::Exceeded(error)) = decision.error() else { panic!("{decision:?}") };
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
    assert_eq!((error.limit_name, error.limit_value), ("max_retry_after", Some(Duration::from_secs(60))));
    assert_eq!(error.available_in, Some(Duration::from_secs(3600)));
    assert_eq!((error.details.status, error.details.attempts, error.details.limit), (Some(429), 1, Some(50.0)));
    assert!(error.details.scope.contains("https://api.example.com"));
    let sentence = decision.error().map(ToString::to_string).unwrap_or_default();
    assert!(sentence.contains("3600 s") && sentence.contains("max_retry_after"), "{sentence}");
}

#[test]
fn an_error_after_refusals_without_a_wait_names_no_wait() {
    let limiter = limiter(json!({"max_attempts": 1}));
    let decision = respond(&sent(&limiter, at(0.0)), at(0.1), 429, &NoHeaders);
    let Some(Error::Exceeded(error)) = decision.error() else { panic!("{decision:?}") };
    assert_eq!((error.retry_after, error.limit_name), (None, "max_attempts"));
}

#[test]
fn an_error_names_the_meter_that_is_spent() {
    let limiter = limiter(json!({}));
    let headers =
        [("RateLimit-History-Limit", "10"), ("RateLimit-History-Remaining", "0"), ("RateLimit-History-Reset", "900")];
    accept_with(&sent(&limiter, at(0.0)), at(0.0), &headers);
    let decision = begin(&limiter, at(0.1)).poll(at(0.1));
    let Some(Error::Exceeded(error)) = decision.error() else { panic!("{decision:?}") };
    assert_eq!(error.details.meter.as_deref(), Some("history"));
    assert_eq!(error.details.attempts, 0);
}

#[test]
fn a_permanent_refusal_carries_the_servers_sentence() {
    let limiter = limiter(json!({}));
    let body = br#"{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}"#;
    let headers = [("Content-Type", "application/json")];
    let call = sent(&limiter, at(0.0));
    assert!(call.wants_body(429, &headers) >= body.len());
    let decision = call.on_response(at(0.1), Response::new(429, &headers).body(Some(body)));
    let details = decision.error().and_then(Error::details).expect("an error about a refusal");
    assert_eq!(details.hint.as_deref(), Some("You exceeded your current quota"));
    assert_eq!(details.status, Some(429));
}

#[test]
fn a_success_needs_no_body() {
    let limiter = limiter(json!({}));
    let call = sent(&limiter, at(0.0));
    assert_eq!(call.wants_body(200, &[("Content-Type", "text/html"), ("Content-Length", "50000")]), 0);
    assert_eq!(call.wants_body(204, &NoHeaders), 0);
}

#[test]
fn an_answer_without_its_body_is_read_by_status_and_headers() {
    let limiter = limiter(json!({}));
    let wait = hold(&sent(&limiter, at(0.0)), at(0.0), 30);
    assert!(wait >= 30_000_000_000);
}

#[test]
fn a_url_without_an_origin_needs_a_named_scope() {
    let limiter = limiter(json!({}));
    assert_eq!(
        limiter.begin(at(0.0), &Request::new("GET", "/v1/x")).err().map(|error| error.name()),
        Some("ConfigError")
    );
    let request = Request { scope: Some("mine"), ..Request::new("GET", "/v1/x") };
    assert_sends(&with(&limiter, request).poll(at(0.0)));
}

#[test]
fn a_cost_that_is_no_amount_is_refused() {
    let limiter = limiter(json!({}));
    for amount in [-1.0, f64::NAN, f64::INFINITY] {
        let cost = [("requests", amount)];
        let refused = limiter.begin(at(0.0), &Request { cost: &cost, ..Request::new("GET", URL) });
        assert_eq!(refused.err().map(|error| error.name()), Some("ConfigError"), "{amount}");
        assert!(sent(&limiter, at(0.0)).settle(at(0.0), &cost).is_err(), "{amount}");
    }
}

#[test]
fn after_a_fork_the_holds_stay_and_the_parents_calls_are_gone() {
    let limiter = limiter(json!({"first_flight": 1}));
    let parents = sent(&limiter, at(0.0));
    limiter.after_fork(7);
    let childs = begin(&limiter, at(0.1));
    assert_sends(&childs.poll(at(0.1)));
    hold(&childs, at(0.2), 30);
    limiter.after_fork(8);
    slept(&begin(&limiter, at(0.3)).poll(at(0.3)));
    drop(parents);
}

#[test]
fn a_cancelled_call_is_not_sent_again() {
    let limiter = limiter(json!({}));
    let call = sent(&limiter, at(0.0));
    hold(&call, at(0.0), 1);
    call.cancel(at(0.1));
    call.cancel(at(0.1));
    assert!(!matches!(call.poll(at(2.0)), Decision::Send { .. } | Decision::Sleep { .. }));
    assert_eq!(limiter.stats(at(2.0)).total.waiting, 0);
}

#[test]
fn clones_are_one_limiter() {
    let limiter = limiter(json!({}));
    let clone = limiter.clone();
    hold(&sent(&limiter, at(0.0)), at(0.0), 30);
    slept(&begin(&clone, at(0.1)).poll(at(0.1)));
}

#[test]
fn two_limiters_share_nothing() {
    let (first, second) = (limiter(json!({})), limiter(json!({})));
    hold(&sent(&first, at(0.0)), at(0.0), 30);
    assert_sends(&begin(&second, at(0.1)).poll(at(0.1)));
}

#[test]
fn seeds_draw_different_jitter_and_one_seed_the_same() {
    let wait = |seed: u64| {
        let limiter = limiter(json!({"seed": seed}));
        hold(&sent(&limiter, at(0.0)), at(0.0), 100)
    };
    let waits: std::collections::BTreeSet<_> = (0..50).map(wait).collect();
    assert!(waits.len() > 40, "{} different waits of 50", waits.len());
    assert_eq!(wait(3), wait(3));
}

#[test]
fn the_jitter_of_a_hold_is_drawn_once() {
    let limiter = limiter(json!({}));
    let calls: Vec<_> = (0..10).map(|_| sent(&limiter, at(0.0))).collect();
    let waits: std::collections::BTreeSet<_> = calls.iter().map(|call| hold(call, at(0.1), 100)).collect();
    assert_eq!(waits.len(), 1, "one flight has one end: {waits:?}");
}

#[test]
fn learning_that_others_share_the_quota_lowers_what_is_trusted() {
    // Between two readings remaining falls by four for each of our sends.
    let limiter = limiter(json!({}));
    for step in 0..10u64 {
        let now = at(step as f64);
        accept_with(&sent(&limiter, now), now, &quota(100, 90 - 4 * step, 60 - step));
    }
    let calls: Vec<_> = (0..60).map(|_| begin(&limiter, at(10.0))).collect();
    let sends = calls.iter().filter(|call| matches!(call.poll(at(10.0)), Decision::Send { .. })).count();
    assert!((1..54).contains(&sends), "54 are left, others take three of four: {sends} were sent");
}

#[test]
fn a_share_too_small_for_one_request_is_not_taken_for_an_empty_meter() {
    let limiter = limiter(json!({}));
    for step in 0..10u64 {
        let now = at(step as f64);
        accept_with(&sent(&limiter, now), now, &quota(100, 38 - 4 * step, 3600 - step));
    }
    // Two are left, by the server's own word: nobody is told to come back in
    // an hour.
    let decision = begin(&limiter, at(10.0)).poll(at(10.0));
    assert!(decision.error().is_none(), "{decision:?}");
}
