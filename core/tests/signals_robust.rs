//! Whatever bytes a server sends: no panic, nothing unbounded, and no number
//! that is not finite and at least zero.

use std::time::Duration;

use fuzz::signals::check_numbers;
use proptest::collection::vec;
use proptest::prelude::*;
use rampmeter::{Reader, Response, Wall, parse_retry_after};

#[allow(dead_code, reason = "each test file uses its own part")]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

/// Names of ours and their parts, so that random fields meet the readers.
const NAMES: [&str; 40] = [
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "RateLimit-ResetTime",
    "RateLimit-Name",
    "RateLimit-Reason",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Used",
    "X-RateLimit-Usage",
    "X-RateLimit-Reset-After",
    "X-RateLimit-Bucket",
    "X-RateLimit-Scope",
    "X-Rate-Limit-Interval-Ms",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "anthropic-ratelimit-unified-5h-utilization",
    "anthropic-ratelimit-unified-5h-status",
    "Retry-After",
    "retry-after-ms",
    "x-amz-retry-after",
    "Retry-After-short",
    "Age",
    "Date",
    "x-app-usage",
    "x-business-use-case-usage",
    "x-sentry-rate-limits",
    "sforce-limit-info",
    "x-app-rate-limit",
    "x-app-rate-limit-count",
    "x-mbx-used-weight-1m",
    "x-ms-ratelimit-remaining-resource",
    "auth0-client-quota-limit",
    "x-amzn-ratelimit-limit",
    "x-should-retry",
    "x-rate-limit",
    "x-quota-remaining",
];

/// Pieces of values that mean something somewhere, and such that do not.
const PIECES: [&str; 44] = [
    "0",
    "1",
    "60",
    "-1",
    "-0",
    "5000",
    "0.5",
    "1.",
    ".5",
    "1e999",
    "nan",
    "inf",
    "18446744073709551616",
    "1786000007",
    "1786000007000",
    "999999999999999999",
    "6m0s",
    "120ms",
    "1h",
    "Thu, 06 Aug 2026 07:06:45 GMT",
    "2026-08-06T07:10Z",
    "9999-12-31T23:59:59Z",
    "Thu Aug  6 07:08:20 2026",
    "limit=",
    "remaining=",
    "reset=",
    ";w=",
    ";r=",
    ";t=",
    ";q=",
    "\"default\"",
    "\"",
    "\\",
    ",",
    ";",
    ":",
    "/",
    "=",
    " ",
    "{\"call_count\":28}",
    "{\"a\":[{\"type\":\"x\",\"total_time\":1e308}]}",
    "true",
    "rejected",
    "\u{b5}s",
];

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(prop::sample::select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat().into_bytes()),
        1 => vec(any::<u8>(), 0..80),
    ]
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::sample::select(&NAMES[..]).prop_map(|name| name.as_bytes().to_vec()),
        2 => "(x-)?(acme-)?rate-?limit(-[a-z0-9]{1,9}){0,4}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..90),
    ]
}

fn body() -> impl Strategy<Value = Option<Vec<u8>>> {
    let number =
        prop::sample::select(&["0", "-1", "1e308", "1786003600000", "2.5", "null", "\"7s\"", "true", "[]"][..]);
    let key = prop::sample::select(
        &["retry", "retryAfter", "retry_after_ms", "limit", "backoff", "quota_remaining", "code", "message", "class"][..],
    );
    let member = (key, number).prop_map(|(key, number)| format!("\"{key}\":{number}"));
    let object = vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")));
    prop_oneof![
        2 => Just(None),
        3 => object.clone().prop_map(|object| Some(object.into_bytes())),
        2 => object.clone().prop_map(|object| Some(format!("{{\"error\":{object}}}").into_bytes())),
        1 => object.prop_map(|data| Some(format!("{{\"jsonrpc\":\"2.0\",\"error\":{{\"data\":{data}}}}}").into_bytes())),
        1 => vec(prop::sample::select(&PIECES[..]), 0..9)
            .prop_map(|pieces| Some(format!("retry after {}", pieces.concat()).into_bytes())),
        1 => vec(any::<u8>(), 0..200).prop_map(Some),
        1 => (1..4000usize).prop_map(|depth| Some("[".repeat(depth).into_bytes())),
    ]
}

fn status() -> impl Strategy<Value = u16> {
    prop_oneof![prop::sample::select(&[200, 400, 403, 418, 429, 429, 429, 500, 503, 529][..]), any::<u16>(),]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_response_breaks_the_reader(
        status in status(),
        headers in vec((name(), value()), 0..12),
        body in body(),
        now in proptest::option::of(any::<i64>()),
    ) {
        let now = now.map(Wall::from_unix_nanos);
        let reader = Reader::default();
        let signals = reader.read(&Response::new(status, &headers).body(body.as_deref()), now);
        check_numbers(&signals);
        prop_assert!(reader.wants_body(status, &headers) <= 65_536);
    }

    #[test]
    fn near_the_present_no_response_breaks_the_reader(
        status in status(),
        headers in vec((name(), value()), 0..12),
        body in body(),
    ) {
        let now = Wall::from_unix_seconds(1_786_000_000.0);
        check_numbers(&Reader::default().read(&Response::new(status, &headers).body(body.as_deref()), now));
    }

    #[test]
    fn one_response_is_read_alike_twice(
        status in status(),
        headers in vec((name(), value()), 0..12),
        body in body(),
    ) {
        let now = Wall::from_unix_seconds(1_786_000_000.0);
        let read = || Reader::default().read(&Response::new(status, &headers).body(body.as_deref()), now);
        prop_assert_eq!(read(), read());
    }

    #[test]
    fn names_in_any_case_are_read_alike(headers in vec((name(), value()), 0..12)) {
        let upper: Vec<_> = headers.iter().map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
        let now = Wall::from_unix_seconds(1_786_000_000.0);
        let reader = Reader::default();
        prop_assert_eq!(
            reader.read(&Response::new(429, &headers), now),
            reader.read(&Response::new(429, &upper), now)
        );
    }

    #[test]
    fn fields_that_do_not_matter_change_nothing(headers in vec((name(), value()), 0..12)) {
        let some: Vec<_> = headers.iter().filter(|(name, _)| rampmeter::header_may_matter(name)).collect();
        let some: Vec<_> = some.into_iter().map(|(name, value)| (name, value)).collect();
        let now = Wall::from_unix_seconds(1_786_000_000.0);
        let reader = Reader::default();
        prop_assert_eq!(
            reader.read(&Response::new(429, &headers), now),
            reader.read(&Response::new(429, &some), now)
        );
    }

    #[test]
    fn a_retry_after_is_a_wait_or_nothing(value in value(), now in proptest::option::of(any::<i64>())) {
        let now = now.map(Wall::from_unix_nanos);
        let _ = parse_retry_after(&value, now, None);
    }

    #[test]
    fn decimal_seconds_are_read_to_the_nanosecond(seconds in 0u64..1_000_000_000, millis in 0u64..1000) {
        let value = format!("{seconds}.{millis:03}");
        let wait = parse_retry_after(value.as_bytes(), None, None).expect("a wait");
        let expected = Duration::from_secs(seconds) + Duration::from_millis(millis);
        prop_assert!(wait.abs_diff(expected) < Duration::from_micros(1), "{wait:?}");
    }
}
