//! What a server writes, the engine reads back: the same class, seconds, limit
//! and hint, from header fields with a body, from a body alone, and from the
//! fields alone as far as they say it.

use core::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rampmeter::answer::{Answer, Declared, Declares, Rendered};
use rampmeter::{
    Class, Config, Delay, Error, Form, Limiter, NoHeaders, Now, Period, Refusal, Request, Response, Signals, Wall,
    read_signals,
};
use serde_json::{Value, json};

const URL: &str = "https://api.example.com/v1/items";

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

fn delay() -> impl Strategy<Value = Delay> {
    prop_oneof![0..4000u64, 4000..u64::MAX].prop_map(Delay::from_secs)
}

/// Sentences that mean something to those who read error messages, and any
/// others.
fn hint() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(
        &[
            "try again in 5 minutes",
            "retry after 35",
            "overloaded",
            "secondary rate limit",
            "spending limit",
            "concurrent",
            "quota",
            "\"",
            "\\",
            "\n",
            "\u{7}",
            " ",
            "ß∂",
            "429 Too Many Requests",
        ][..],
    );
    prop_oneof![vec(piece, 0..6).prop_map(|pieces| pieces.join(" ")), any::<String>(), "\\PC{290,320}"]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("minute".to_owned()), Just("rate-limit".to_owned()), "[ -~]{1,128}"]
}

/// What any answer may state.
fn stated<C: Declares + Clone + core::fmt::Debug + 'static>(answer: Answer<C>) -> impl Strategy<Value = Answer<C>> {
    (prop::option::of(hint()), prop::option::of(any::<u64>()), vec(name(), 0..3), any::<bool>()).prop_map(
        move |(hint, limit, names, exposed)| {
            let mut answer = answer.clone();
            if let Some(hint) = hint {
                answer = answer.hint(&hint);
            }
            if let Some(limit) = limit {
                answer = answer.limit(limit);
            }
            for name in names {
                answer = answer.policy(&name).expect("a printable name");
            }
            if exposed { answer.exposed() } else { answer }
        },
    )
}

fn windowed() -> impl Strategy<Value = Answer> {
    let own = (delay(), prop::option::of(any::<u64>()), prop::option::of(1..100_000u64), prop::option::of(name()));
    let made = (own, any::<bool>()).prop_map(|((delay, remaining, window, unit), abnormal)| {
        let mut answer = Refusal::windowed(delay);
        if let Some(remaining) = remaining {
            answer = answer.remaining(remaining);
        }
        if let Some(window) = window {
            answer = answer.window(Duration::from_secs(window));
        }
        if let Some(unit) = unit {
            answer = answer.unit(&unit).expect("a printable unit");
        }
        if abnormal { answer.abnormal() } else { answer }
    });
    made.prop_flat_map(stated).prop_map(Answer::from)
}

fn capacity() -> impl Strategy<Value = Answer> {
    let made = (prop::option::of(delay()), any::<bool>()).prop_map(|(suggested, unavailable)| {
        let mut answer = Refusal::capacity();
        if let Some(suggested) = suggested {
            answer = answer.suggest(suggested);
        }
        if unavailable { answer.unavailable() } else { answer }
    });
    made.prop_flat_map(stated).prop_map(Answer::from)
}

fn permanent() -> impl Strategy<Value = Answer> {
    let made = (any::<bool>(), any::<bool>()).prop_map(|(forbidden, abnormal)| {
        let answer = Refusal::permanent();
        let answer = if forbidden { answer.forbidden() } else { answer };
        if abnormal { answer.abnormal() } else { answer }
    });
    made.prop_flat_map(stated).prop_map(Answer::from)
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![windowed(), capacity(), permanent()]
}

fn form() -> impl Strategy<Value = Form> {
    let id = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        Just(Value::from("slowdown")),
        "\\PC{0,20}".prop_map(Value::from),
    ];
    prop_oneof![Just(Form::Json), Just(Form::Problem), id.prop_map(|id| Form::JsonRpc { id })]
}

fn read(rendered: &Rendered) -> Signals {
    read_signals(rendered.status, &rendered.headers, Some(rendered.body.as_bytes()), None)
}

fn field<'a>(rendered: &'a Rendered, name: &str) -> Option<&'a str> {
    rendered.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

fn seconds(signals: &Signals) -> Option<u64> {
    signals.wait.map(|wait| wait.span.as_secs())
}

fn stated_seconds<C: Declares>(answer: &Answer<C>) -> Option<u64> {
    answer.delay().map(|delay| u64::from(delay.as_secs()))
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_whole_response_reads_as_what_was_written(answer in answer(), form in form()) {
        let rendered = answer.render(&form);
        let signals = read(&rendered);
        prop_assert_eq!(seconds(&signals), stated_seconds(&answer), "{:?}", rendered);
        prop_assert_eq!(signals.refusal, Some(answer.refusal()), "{:?}", rendered);
    }

    #[test]
    fn a_body_alone_reads_as_what_was_written(answer in answer(), form in form()) {
        let rendered = answer.render(&form);
        let signals = read_signals(rendered.status, &NoHeaders, Some(rendered.body.as_bytes()), None);
        prop_assert_eq!(seconds(&signals), stated_seconds(&answer), "{:?}", rendered);
        prop_assert_eq!(signals.refusal, Some(answer.refusal()), "{:?}", rendered);
    }

    #[test]
    fn a_json_rpc_answer_reads_the_same_on_status_200(answer in answer(), id in any::<u32>()) {
        let body = answer.json_rpc(id).to_string();
        let signals = read_signals(200, &NoHeaders, Some(body.as_bytes()), None);
        prop_assert_eq!(seconds(&signals), stated_seconds(&answer), "{}", body);
        prop_assert_eq!(signals.refusal, Some(answer.refusal()), "{}", body);
    }

    #[test]
    fn an_answer_reads_the_same_inside_a_servers_own_error_object(answer in answer()) {
        for wrapper in ["error", "detail"] {
            let body = json!({ wrapper: answer.json() }).to_string();
            let signals = read_signals(answer.status(), &NoHeaders, Some(body.as_bytes()), None);
            prop_assert_eq!(seconds(&signals), stated_seconds(&answer), "{}", &body);
            prop_assert_eq!(signals.refusal, Some(answer.refusal()), "{}", &body);
        }
    }

    #[test]
    fn the_fields_alone_read_as_a_windowed_refusal_where_they_say_it(answer in windowed()) {
        let headers = answer.headers();
        let signals = read_signals(answer.status(), &headers, None, None);
        let refusal = signals.refusal.as_ref().expect("a refusal");
        // `Retry-After` alone names no class: a full server sends it too.
        let told = headers.iter().any(|(name, _)| name.starts_with("RateLimit"));
        prop_assert_eq!(refusal.class, if told { Class::Windowed } else { Class::Unknown }, "{:?}", headers);
        prop_assert_eq!(seconds(&signals), stated_seconds(&answer));
        // The numbers need a name; a quota with something left is not said to
        // be the one that refused.
        let wrote = answer.refusal();
        let empty = headers.iter().any(|(name, value)| *name == "RateLimit" && value.contains(";r=0"));
        if wrote.meter.is_some() && empty && !wrote.meter.as_deref().unwrap_or_default().contains(";r=0") {
            prop_assert_eq!(&refusal.meter, &wrote.meter, "{:?}", headers);
            prop_assert_eq!(refusal.limit, wrote.limit, "{:?}", headers);
        }
    }

    #[test]
    fn the_fields_alone_read_as_a_capacity_refusal_where_they_say_it(answer in capacity()) {
        let headers = answer.headers();
        let signals = read_signals(answer.status(), &headers, None, None);
        let named = answer.policies().next().is_some() && answer.refusal().limit.is_some();
        if (answer.status() == 429 && named) || (answer.status() == 503 && answer.delay().is_some()) {
            let refusal = signals.refusal.as_ref().expect("a refusal");
            prop_assert_eq!(refusal.class, Class::Capacity, "{:?}", headers);
            prop_assert_eq!(seconds(&signals), stated_seconds(&answer));
        }
    }

    #[test]
    fn the_fields_alone_read_as_a_permanent_refusal_with_status_429(answer in permanent()) {
        let headers = answer.headers();
        let signals = read_signals(429, &headers, None, None);
        let refusal = signals.refusal.as_ref().expect("a refusal");
        prop_assert_eq!(refusal.class, Class::Permanent, "{:?}", headers);
        prop_assert_eq!(seconds(&signals), None);
    }

    #[test]
    fn header_and_body_say_the_same_numbers(answer in answer(), form in form()) {
        let rendered = answer.render(&form);
        let body: Value = serde_json::from_str(&rendered.body).expect("JSON");
        let members = body.pointer("/error/data").unwrap_or(&body);
        let number = |name: &str| members.get(name).map(ToString::to_string);
        prop_assert_eq!(field(&rendered, "Retry-After").map(str::to_owned), number("retryAfter"));
        let policy = answer.policies().next().map(|name| format!("{:?}", name));
        if let Some(name) = policy {
            let ends = |field_name: &str, part: String| {
                field(&rendered, field_name).is_none_or(|value| value.starts_with(&name) && value[name.len()..].starts_with(&part))
            };
            prop_assert!(ends("RateLimit-Policy", format!(";q={}", number("limit").unwrap_or_default())), "{:?}", rendered);
            prop_assert!(ends("RateLimit", format!(";r={}", number("remaining").unwrap_or_default())), "{:?}", rendered);
        }
        let declared = members.get("class").and_then(Value::as_str);
        prop_assert_eq!(members.get("retry"), Some(&Value::from(declared != Some("permanent"))));
    }

    #[test]
    fn no_combination_says_what_its_class_must_not(answer in answer(), form in form()) {
        let rendered = answer.render(&form);
        let wait = field(&rendered, "Retry-After");
        match answer.refusal().class {
            Class::Windowed => prop_assert!(wait.is_some_and(|wait| wait.parse::<u64>().is_ok_and(|wait| wait >= 1))),
            Class::Capacity => prop_assert_eq!(wait.is_some(), rendered.body.contains("\"retryAfterSuggested\":true")),
            _ => {
                prop_assert_eq!(wait, None);
                prop_assert!(!rendered.body.contains("\"retryAfter"));
            }
        }
        prop_assert_eq!(field(&rendered, "Cache-Control"), Some("no-store"));
        let plain = |value: &str| value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        prop_assert!(rendered.headers.iter().all(|(_, value)| plain(value)), "{:?}", rendered);
    }

    #[test]
    fn the_engine_does_what_the_answer_asks(answer in answer(), form in form()) {
        let config = Config::default().seed(1).max_retry_after(Duration::from_secs(120));
        let limiter = Limiter::new(config).expect("a limiter");
        let now = |seconds: u64| Now::from_nanos(seconds * 1_000_000_000);
        let call = limiter.begin(now(1), &Request::new("GET", URL)).expect("a call");
        let other = limiter.begin(now(1), &Request::new("GET", URL)).expect("a call");
        prop_assert_eq!(call.poll(now(1)), other.poll(now(1)));
        let rendered = answer.render(&form);
        let body = Some(rendered.body.as_bytes());
        prop_assert!(call.wants_body(rendered.status, &rendered.headers) >= rendered.body.len());
        let decision = call.on_response(now(2), Response::new(rendered.status, &rendered.headers).body(body));
        match (answer.refusal().class, stated_seconds(&answer)) {
            (Class::Permanent, _) => {
                let Some(Error::Permanent(error)) = decision.error() else {
                    return Err(TestCaseError::fail(format!("{decision:?}")));
                };
                prop_assert_eq!(error.details.hint.clone().map(Into::into), answer.refusal().hint);
                prop_assert_eq!(error.details.limit, answer.refusal().limit);
            }
            (_, Some(seconds)) if seconds > 120 => {
                let Some(Error::Exceeded(error)) = decision.error() else {
                    return Err(TestCaseError::fail(format!("{decision:?}")));
                };
                prop_assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)));
                prop_assert_eq!(error.details.hint.clone().map(Into::into), answer.refusal().hint);
                prop_assert_eq!(error.details.limit, answer.refusal().limit);
            }
            (_, Some(seconds)) => {
                let wait = decision.wait().expect("a wait");
                let asked = Duration::from_secs(seconds);
                prop_assert!(wait >= asked && wait <= asked + Duration::from_millis(500), "{:?}", decision);
            }
            (_, None) => {
                // A slot frees: no seconds were invented.
                prop_assert_eq!(decision.reason().name(), "in_flight_full");
                let answered = other.on_response(now(3), Response::new(200, &NoHeaders));
                prop_assert_eq!(answered.kind(), "deliver");
                other.finish(now(3));
                prop_assert_eq!(call.poll(now(3)).kind(), "send");
            }
        }
    }

    #[test]
    fn delays_end_no_earlier_than_the_instant(now in 0..4_000_000_000i64, ahead in 0..10_000_000_000i64) {
        let (now, instant) = (Wall::from_unix_nanos(now * 1000), Wall::from_unix_nanos(now * 1000 + ahead * 1000));
        let delay = i64::from(Delay::until(instant, now).as_secs());
        // But for what floating-point clocks blur.
        prop_assert!(delay * 1_000_000_000 >= ahead * 1000 - 1000);
        prop_assert!(delay == 1 || (delay - 1) * 1_000_000_000 < ahead * 1000);
    }
}

#[test]
fn the_forms_of_a_windowed_refusal() {
    let answer = Refusal::windowed(Duration::from_secs(30))
        .limit(100)
        .window(Duration::from_secs(60))
        .policy("minute")
        .expect("a name")
        .hint("100 requests a minute");
    assert_eq!(
        answer.headers(),
        [
            ("Retry-After", "30".to_owned()),
            ("RateLimit-Policy", r#""minute";q=100;w=60"#.to_owned()),
            ("RateLimit", r#""minute";r=0;t=30"#.to_owned()),
            ("Cache-Control", "no-store".to_owned()),
        ]
    );
    let members = json!({
        "retry": true, "class": "windowed", "retryAfter": 30, "limit": 100, "remaining": 0, "window": 60,
        "violated-policies": ["minute"], "hint": "100 requests a minute",
    });
    assert_eq!(answer.json(), members);
    assert_eq!(
        answer.problem(),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429, "detail": "100 requests a minute", "retry": true, "class": "windowed", "retryAfter": 30,
            "limit": 100, "remaining": 0, "window": 60, "violated-policies": ["minute"],
        })
    );
    assert_eq!(
        answer.json_rpc("call-1"),
        json!({
            "jsonrpc": "2.0", "id": "call-1",
            "error": {"code": -32005, "message": "rate limit exceeded", "data": members},
        })
    );
}

#[test]
fn the_forms_of_a_capacity_refusal() {
    let answer = Refusal::capacity().limit(2).policy("exports").expect("a name");
    assert_eq!(
        answer.headers()[..2],
        [
            ("RateLimit-Policy", r#""exports";q=2;qu="concurrent-requests""#.to_owned()),
            ("RateLimit", r#""exports";r=0"#.to_owned()),
        ]
    );
    assert_eq!(
        answer.json(),
        json!({
            "retry": true, "class": "capacity", "limit": 2, "remaining": 0, "unit": "concurrent-requests",
            "violated-policies": ["exports"],
            "hint": "too many requests at a time: try again when one of them has ended",
        })
    );
    let full = Refusal::capacity().unavailable().suggest(Duration::from_millis(1500));
    assert_eq!((full.status(), full.headers()[0].clone()), (503, ("Retry-After", "2".to_owned())));
    assert_eq!(
        full.problem(),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            "title": "Request cannot be satisfied due to temporary server capacity constraints",
            "status": 503, "detail": "server at capacity: try again in 2 s", "retry": true, "class": "capacity",
            "retryAfter": 2, "retryAfterSuggested": true,
        })
    );
}

#[test]
fn the_forms_of_a_permanent_refusal() {
    let answer = Refusal::permanent().hint("no credit is left").limit(1000).policy("plan").expect("a name");
    assert_eq!(
        answer.headers(),
        [
            ("RateLimit-Policy", r#""plan";q=1000"#.to_owned()),
            ("X-Should-Retry", "false".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
        ]
    );
    assert_eq!(
        answer.clone().forbidden().problem(),
        json!({
            "title": "Forbidden", "status": 403, "detail": "no credit is left", "retry": false, "class": "permanent",
            "limit": 1000, "violated-policies": ["plan"],
        })
    );
    assert_eq!(
        answer.abnormal().problem()["type"],
        json!("https://iana.org/assignments/http-problem-types#abnormal-usage-detected")
    );
}

#[test]
fn a_permanent_refusal_leaves_the_other_calls_of_its_quota_alone() {
    let limiter = Limiter::new(Config::default().seed(1)).expect("a limiter");
    let now = Now::from_nanos(1_000_000_000);
    let answer = Refusal::permanent().limit(10).policy("plan").expect("a name").render(&Form::Json);
    let call = limiter.begin(now, &Request::new("GET", URL)).expect("a call");
    assert_eq!(call.poll(now).kind(), "send");
    let response = Response::new(answer.status, &answer.headers).body(Some(answer.body.as_bytes()));
    assert_eq!(call.on_response(now, response).kind(), "raise");
    let next = limiter.begin(now, &Request::new("GET", URL)).expect("a call");
    assert_eq!(next.poll(now).kind(), "send");
}

#[test]
fn browsers_are_told_which_fields_they_may_show() {
    let answer = Refusal::windowed(Duration::from_secs(1)).limit(5).policy("minute").expect("a name").exposed();
    let expose = ("Access-Control-Expose-Headers", "Retry-After, RateLimit-Policy, RateLimit".to_owned());
    assert_eq!(answer.headers().last(), Some(&expose));
}

#[test]
fn names_that_no_field_can_hold_are_errors() {
    let long = "x".repeat(129);
    for name in ["", "tägliche", "a\nb", long.as_str()] {
        let error = Refusal::capacity().policy(name).expect_err(name);
        assert_eq!(error.to_string(), "option policy must be 1 to 128 printable ASCII characters");
    }
    let error = Refusal::windowed(Duration::ZERO).unit("concurrent-requests").expect_err("capacity");
    assert_eq!(error.option, "unit");
}

#[test]
fn options_make_what_the_builders_make() {
    let now = Wall::from_unix_seconds(1_786_000_000.0).expect("a time");
    let built = |answer: Answer<rampmeter::answer::Windowed>| Answer::<Declared>::from(answer);
    let cases = [
        (json!({"seconds": 0.2}), built(Refusal::windowed(Duration::from_millis(200)))),
        (json!({"until": 1_786_000_090, "now": 1_786_000_000}), built(Refusal::windowed(Duration::from_secs(90)))),
        (json!({"until_next": "day", "now": 1_786_000_000}), built(Refusal::windowed(Delay::until_next_utc_day(now)))),
        (
            json!({"until_next": 300, "now": 1_786_000_000, "policy": ["a", "b"], "window_seconds": 300}),
            built(
                Refusal::windowed(Delay::until_next(Period::Every(Delay::from_secs(300)), now))
                    .window(Duration::from_secs(300))
                    .policy("a")
                    .and_then(|answer| answer.policy("b"))
                    .expect("names"),
            ),
        ),
        (
            json!({"seconds": 5, "limit": 10, "remaining": 3, "unit": "tokens", "hint": "too dear", "abnormal": true,
                   "exposed": true, "policy": null}),
            built(
                Refusal::windowed(Duration::from_secs(5))
                    .limit(10)
                    .remaining(3)
                    .unit("tokens")
                    .expect("a unit")
                    .hint("too dear")
                    .abnormal()
                    .exposed(),
            ),
        ),
    ];
    for (options, built) in cases {
        assert_eq!(Answer::from_options("windowed", &options).expect("an answer"), built, "{options}");
    }
    let capacity = Answer::from_options("capacity", &json!({"suggested_seconds": 5, "status": 503, "limit": 4}));
    assert_eq!(capacity.unwrap(), Refusal::capacity().suggest(Duration::from_secs(5)).unavailable().limit(4).into());
    let permanent = Answer::from_options("permanent", &json!({"status": 403, "policy": "plan"}));
    assert_eq!(permanent.unwrap(), Refusal::permanent().forbidden().policy("plan").unwrap().into());
}

#[test]
fn what_contradicts_the_class_is_an_error_that_names_it() {
    for (class, options, option) in [
        ("windowed", json!({}), "seconds"),
        ("windowed", json!({"seconds": 5, "until_next": "day", "now": 0}), "until_next"),
        ("windowed", json!({"until_next": "fortnight", "now": 0}), "until_next"),
        ("windowed", json!({"until": 5}), "now"),
        ("windowed", json!({"seconds": -1}), "seconds"),
        ("windowed", json!({"seconds": "5"}), "seconds"),
        ("windowed", json!({"seconds": 5, "status": 503}), "status"),
        ("windowed", json!({"seconds": 5, "limit": -1}), "limit"),
        ("windowed", json!({"seconds": 5, "limit": 1.5}), "limit"),
        ("windowed", json!({"seconds": 5, "policy": [1]}), "policy"),
        ("windowed", json!({"seconds": 5, "suggested_seconds": 5}), "suggested_seconds"),
        ("capacity", json!({"seconds": 5}), "seconds"),
        ("capacity", json!({"status": 403}), "status"),
        ("permanent", json!({"seconds": 5}), "seconds"),
        ("permanent", json!({"status": 503}), "status"),
        ("permanent", json!({"remaining": 5}), "remaining"),
        ("unknown", json!({}), "class"),
        ("capacity", json!([]), "options"),
    ] {
        let error = Answer::from_options(class, &options).expect_err("an error");
        assert_eq!(error.option, option, "{class} {options}: {error}");
    }
}

#[test]
fn forms_have_the_names_that_every_language_uses() {
    for name in Form::NAMES {
        assert!(Form::from_name(name, None).is_ok(), "{name}");
    }
    assert_eq!(Form::from_name("json-rpc", Some(json!(7))), Ok(Form::JsonRpc { id: json!(7) }));
    assert_eq!(Form::from_name("json-rpc", Some(json!([]))).unwrap_err().option, "id");
    assert_eq!(Form::from_name("problem", Some(json!(7))).unwrap_err().option, "id");
    assert_eq!(Form::from_name("xml", None).unwrap_err().option, "form");
}

#[cfg(feature = "http")]
#[test]
fn a_rendered_answer_becomes_a_response_of_the_http_crate() {
    let response = http::Response::from(Refusal::windowed(Duration::from_secs(9)).render(&Form::Problem));
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "9");
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert!(response.body().contains("quota-exceeded"));
}
