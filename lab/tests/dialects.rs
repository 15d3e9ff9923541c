//! What each dialect puts on the wire.

use rampmeter_lab::dialects::{Dialect, Head, render};
use rampmeter_lab::servers::{Nanos, SECOND, Spec, Verdict};

/// 2023-11-14T22:13:20Z and half a second.
const WALL: Nanos = 1_700_000_000 * SECOND + SECOND / 2;

fn verdict(spec: &str, arrivals: &[f64]) -> Verdict {
    let mut server = spec.parse::<Spec>().expect("a server").build();
    let verdicts = arrivals.iter().map(|at| server.admit((at * SECOND as f64) as Nanos));
    verdicts.last().expect("at least one arrival")
}

fn fields(head: &Head) -> Vec<(&str, &str)> {
    let text = |value| str::from_utf8(value).expect("text");
    let fields = head.headers.iter().map(|(name, value)| (*name, text(value)));
    fields.filter(|(name, _)| !["date", "content-type"].contains(name)).collect()
}

fn rendered(dialect: &str, verdict: &Verdict) -> Head {
    render(dialect.parse().expect("a dialect"), verdict, WALL, 0)
}

fn shows(dialect: &str, verdict: &Verdict, expected: &[(&str, &str)]) {
    assert_eq!(fields(&rendered(dialect, verdict)), expected, "{dialect}");
}

#[test]
fn an_admitted_request_shows_what_is_left() {
    let verdict = verdict("fixed:limit=50,window=60,phase=37", &[5.5]);
    shows("ietf", &verdict, &[("ratelimit-policy", "\"default\";q=50;w=60"), ("ratelimit", "\"default\";r=49;t=32")]);
    shows(
        "ietf-draft-03",
        &verdict,
        &[("ratelimit-limit", "50, 50;w=60"), ("ratelimit-remaining", "49"), ("ratelimit-reset", "32")],
    );
    shows(
        "ietf-draft-06",
        &verdict,
        &[
            ("ratelimit-policy", "50;w=60"),
            ("ratelimit-limit", "50"),
            ("ratelimit-remaining", "49"),
            ("ratelimit-reset", "32"),
        ],
    );
    shows(
        "ietf-draft-07",
        &verdict,
        &[("ratelimit-policy", "50;w=60"), ("ratelimit", "limit=50, remaining=49, reset=32")],
    );
    let counters = [("x-ratelimit-limit", "50"), ("x-ratelimit-remaining", "49")];
    shows("x-delta", &verdict, &[counters[0], counters[1], ("x-ratelimit-reset", "32")]);
    shows("x-epoch", &verdict, &[counters[0], counters[1], ("x-ratelimit-reset", "1700000032")]);
    shows("x-epoch-ms", &verdict, &[counters[0], counters[1], ("x-ratelimit-reset", "1700000032000")]);
    shows("reset-after", &verdict, &[counters[0], counters[1], ("x-ratelimit-reset-after", "31.500")]);
    for silent in ["retry-after", "retry-after-floor", "retry-after-date", "retry-after-ms", "none"] {
        shows(silent, &verdict, &[]);
    }
}

#[test]
fn a_refusal_says_when_to_come_back() {
    let verdict = verdict("fixed:limit=1,window=60,phase=37", &[5.0, 5.3]);
    shows("retry-after", &verdict, &[("retry-after", "32")]);
    shows("retry-after-floor", &verdict, &[("retry-after", "31")]);
    shows("retry-after-ms", &verdict, &[("retry-after-ms", "31700")]);
    // The wall clock plus 31.7 s, rounded up to a whole second.
    shows("retry-after-date", &verdict, &[("retry-after", "Tue, 14 Nov 2023 22:13:53 GMT")]);
    // Which is not what the server knows.
    shows("retry-after-1", &verdict, &[("retry-after", "1")]);
    shows("none", &verdict, &[]);
    let head = rendered("ietf", &verdict);
    assert!(fields(&head).contains(&("retry-after", "32")));
    assert!(head.body.contains("#quota-exceeded") && head.body.contains(r#""violated-policies":["default"]"#));
}

#[test]
fn a_capacity_refusal_invents_no_seconds() {
    let verdict = verdict("concurrency:cap=1,service=1", &[0.0, 0.1]);
    let liars = [Dialect::Hostile, Dialect::RetryAfterOne];
    for (name, dialect) in Dialect::ALL.iter().filter(|(_, dialect)| !liars.contains(dialect)) {
        let head = render(*dialect, &verdict, WALL, 0);
        assert_eq!(head.status, if *dialect == Dialect::Unavailable { 503 } else { 429 });
        for (field, _) in fields(&head) {
            assert!(!field.contains("retry-after") && !field.contains("reset"), "{name} sends {field}");
        }
    }
    let head = rendered("ietf", &verdict);
    assert!(fields(&head).contains(&("ratelimit-policy", r#""default";q=1;qu="concurrent-requests""#)));
}

#[test]
fn several_policies_are_all_listed() {
    let verdict = verdict("policies:burst=20/1,hourly=1000/3600", &[0.0]);
    shows(
        "ietf",
        &verdict,
        &[
            ("ratelimit-policy", r#""burst";q=20;w=1, "hourly";q=1000;w=3600"#),
            ("ratelimit", r#""burst";r=19;t=1, "hourly";r=999;t=3600"#),
        ],
    );
}

#[test]
fn every_answer_carries_the_servers_clock() {
    for (name, dialect) in Dialect::ALL {
        let head = render(*dialect, &verdict("anchored:limit=1,window=1", &[0.0]), WALL, 0);
        assert!(head.headers.contains(&("date", b"Tue, 14 Nov 2023 22:13:20 GMT".to_vec())), "{name}");
    }
}

#[test]
fn a_hostile_server_varies_its_lies() {
    let verdict = verdict("fixed:limit=1,window=2", &[0.0, 0.1]);
    let waits: std::collections::HashSet<_> = (0..40)
        .flat_map(|sequence| render(Dialect::Hostile, &verdict, WALL, sequence).headers)
        .filter(|(name, _)| *name == "retry-after")
        .map(|(_, value)| value)
        .collect();
    assert!(waits.len() >= 8, "{waits:?}");
}
