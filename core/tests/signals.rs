//! Replays `tests/vectors/signals/`: what a response says must be read as its
//! server means it.

use std::path::{Path, PathBuf};

use rampmeter::{Signals, Wall, read_signals};
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/signals")
}

fn cases(file: &str) -> Vec<Value> {
    let path = vectors().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(case: &Value) -> Signals {
    let headers: Vec<(String, String)> = case["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned()))
        .collect();
    let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
    let now = case["received_wall"].as_f64().and_then(Wall::from_unix_seconds);
    read_signals(status, &headers, case["body"].as_str().map(str::as_bytes), now)
}

/// Numbers are equal within that; absent is only absent.
fn near(expected: &Value, found: Option<f64>, tolerance: f64) -> bool {
    match (expected.as_f64(), found) {
        (None, None) => true,
        (Some(expected), Some(found)) => (expected - found).abs() <= tolerance,
        _ => false,
    }
}

fn loose(name: Option<&str>) -> Option<String> {
    name.map(|name| name.chars().filter(|letter| !"-_ ".contains(*letter)).collect::<String>().to_lowercase())
}

fn meter_matches(expected: &Value, found: &rampmeter::Reading) -> bool {
    near(&expected["limit"], found.limit, 0.01)
        && near(&expected["remaining"], found.remaining, 0.01)
        && near(&expected["reset_in_seconds"], found.reset.map(|reset| reset.as_secs_f64()), 0.01)
        && near(&expected["window_seconds"], found.window.map(|window| window.as_secs_f64()), 0.01)
        && loose(expected["name"].as_str()) == loose(found.name.as_deref())
        && (found.unit.is_none() || expected["unit"].as_str() == found.unit.as_deref())
}

fn difference(case: &Value) -> Option<String> {
    let signals = read(case);
    let expected = &case["expect"];
    let mut wrong = Vec::new();
    let mut left = signals.meters.clone();
    for meter in expected["meters"].as_array().unwrap() {
        match left.iter().position(|found| meter_matches(meter, found)) {
            Some(at) => drop(left.remove(at)),
            None => wrong.push(format!("no meter {meter}")),
        }
    }
    wrong.extend(left.iter().map(|extra| format!("unexpected meter {extra:?}")));
    let wait = signals.wait.map(|wait| wait.span.as_secs_f64());
    if !near(&expected["retry_after_seconds"], wait, 0.01) {
        wrong.push(format!("wait {wait:?}, not {}", expected["retry_after_seconds"]));
    }
    let class = signals.refusal.as_ref().map(|refusal| refusal.class.name());
    if class != expected["class"].as_str() {
        wrong.push(format!("class {class:?}, not {}", expected["class"]));
    }
    if let Some(name) = expected.get("refused_meter")
        && loose(name.as_str()) != loose(signals.refusal.as_ref().and_then(|refusal| refusal.meter.as_deref()))
    {
        wrong.push(format!("refused meter {:?}, not {name}", signals.refusal.as_ref().map(|refusal| &refusal.meter)));
    }
    (!wrong.is_empty()).then(|| format!("{}:\n    {}", case["id"].as_str().unwrap_or("?"), wrong.join("\n    ")))
}

fn replay(file: &str, least: usize) {
    let cases = cases(file);
    assert!(cases.len() >= least, "{file} has only {} cases", cases.len());
    let wrong: Vec<_> = cases.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_documented_dialect_is_read() {
    replay("dialects.json", 121);
}

#[test]
fn vendors_without_a_published_sample_are_read_by_their_documentation() {
    replay("vendors.json", 140);
}

#[test]
fn heads_of_real_servers_are_read_as_those_servers_mean_them() {
    replay("captured_servers.json", 96);
}

#[test]
fn what_broke_other_clients_breaks_nothing() {
    replay("bug_bank.json", 140);
}

#[test]
fn numbers_that_cannot_be_are_set_aside() {
    replay("hostile.json", 6);
}

fn refusal(status: u16, headers: &[(&str, &str)], body: &str) -> rampmeter::Refusal {
    let now = Wall::from_unix_seconds(1_786_000_000.0);
    let signals = read_signals(status, &headers.to_vec(), Some(body.as_bytes()), now);
    signals.refusal.expect("a refusal")
}

#[test]
fn a_refusal_carries_limit_and_hint_of_its_body() {
    let refusal = refusal(429, &[], r#"{"error": {"retry": true, "limit": 8, "hint": "Eight at once."}}"#);
    assert_eq!(refusal.limit, Some(8.0));
    assert_eq!(refusal.hint.as_deref(), Some("Eight at once."));
}

#[test]
fn a_hint_is_cut_at_three_hundred_characters() {
    let refusal = refusal(429, &[], &format!(r#"{{"message": "{}"}}"#, "é".repeat(5000)));
    assert_eq!(refusal.hint.map(|hint| hint.chars().count()), Some(300));
}

#[test]
fn the_limit_of_the_refused_meter_is_that_of_the_refusal() {
    let headers =
        [("RateLimit", r#""day";r=0;t=9, "hour";r=3;t=9"#), ("RateLimit-Policy", r#""day";q=100, "hour";q=10"#)];
    let refusal = refusal(429, &headers, "");
    assert_eq!((refusal.meter.as_deref(), refusal.limit), (Some("day"), Some(100.0)));
}

#[test]
fn githubs_secondary_limit_without_a_wait_starts_at_a_minute() {
    let body = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    let first_wait = |headers| refusal(403, headers, body).first_wait.map(|wait| wait.as_secs());
    assert_eq!(first_wait(&[("x-ratelimit-remaining", "4000")]), Some(60));
    assert_eq!(first_wait(&[("retry-after", "5")]), None);
}

#[test]
fn a_google_quota_of_a_day_waits_for_midnight_in_california() {
    let body = r#"{"error": {"code": 403, "errors": [{"domain": "youtube.quota", "reason": "quotaExceeded"}]}}"#;
    // 2026-08-06 07:06:40 UTC: the day began less than seven minutes ago.
    assert_eq!(refusal(403, &[], body).first_wait.map(|wait| wait.as_secs()), Some(86_400 - 400));
}

#[test]
fn shopifys_refill_tells_the_first_wait() {
    let body = r#"{"errors": [{"extensions": {"code": "THROTTLED"}}], "extensions": {"cost": {"requestedQueryCost": 540,
        "throttleStatus": {"maximumAvailable": 1000, "currentlyAvailable": 90, "restoreRate": 50}}}}"#;
    assert_eq!(refusal(200, &[], body).first_wait.map(|wait| wait.as_secs()), Some(9));
}

#[test]
fn a_global_refusal_names_no_meter_and_a_shared_one_its_bucket() {
    let bucket = ("X-RateLimit-Bucket", "abcd");
    let scope = |scope| refusal(429, &[bucket, ("Retry-After", "3"), ("X-RateLimit-Scope", scope)], "").meter;
    assert_eq!(scope("global"), None);
    assert_eq!(scope("shared").as_deref(), Some("abcd"));
}

#[test]
fn of_several_empty_meters_the_wait_tells_the_refused_one() {
    let headers = [("RateLimit", r#""minute";r=0;t=12, "hour";r=0;t=1812"#), ("Retry-After", "12")];
    assert_eq!(refusal(429, &headers, "").meter.as_deref(), Some("minute"));
}

#[test]
fn fields_of_a_beta_refuse_nobody() {
    let headers = [("Beta-RateLimit", r#""quota";r=0;t=30"#), ("Beta-RateLimit-Policy", r#""quota";q=100;w=3600"#)];
    let signals = read_signals(200, &headers, None, None);
    assert!(signals.meters.iter().all(|meter| meter.informative));
    assert_eq!(signals.meters[0].limit, Some(100.0));
    let refused = read_signals(403, &headers, None, None);
    assert_eq!(refused.refusal, None);
}

#[test]
fn the_order_of_waits_is_the_callers() {
    let headers = [("Retry-After", "30"), ("retry-after-ms", "1500"), ("X-Retry-In", "7s")];
    let wait = |order: &str| {
        let options = serde_json::json!({"header_priority": order.split(' ').collect::<Vec<_>>()});
        let config = rampmeter::Config::default().with_options(&options).unwrap();
        let reader = rampmeter::Reader::from_config(&config).unwrap();
        let signals = reader.read(&rampmeter::Response::new(429, &headers), None);
        signals.wait.map(|wait| (wait.span.as_secs_f64(), wait.source.name()))
    };
    assert_eq!(wait("retry-after-ms retry-after"), Some((1.5, "retry-after-ms")));
    assert_eq!(wait("retry-after retry-after-ms"), Some((30.0, "retry-after")));
    assert_eq!(wait("vendor"), Some((7.0, "vendor")));
    assert_eq!(wait("body reset"), None);
}

#[test]
fn only_bodies_that_may_matter_are_wanted() {
    let reader = rampmeter::Reader::default();
    let wanted = |status, kind: &str, length: &str| {
        reader.wants_body(status, &[("Content-Type", kind), ("Content-Length", length)])
    };
    assert_eq!(wanted(429, "application/json; charset=utf-8", "200"), 200);
    assert_eq!(wanted(429, "application/problem+json", "65536"), 65_536);
    assert_eq!(wanted(403, "text/plain", "20"), 20);
    assert_eq!(wanted(200, "application/json", "90"), 90);
    assert_eq!(wanted(200, "application/json", "9000"), 0);
    assert_eq!(wanted(200, "text/html", "90"), 0);
    assert_eq!(wanted(429, "text/html", "90"), 0);
    assert_eq!(wanted(429, "application/json", "65537"), 0);
    assert_eq!(wanted(404, "application/json", "90"), 0);
    assert_eq!(wanted(429, "application/json", "0"), 0);
    assert_eq!(reader.wants_body(429, &[("Content-Type", "application/json")]), 65_536);
    assert_eq!(reader.wants_body(200, &[("Content-Type", "application/json")]), 0);
    let coded = [("Content-Type", "application/json"), ("Content-Length", "90"), ("Content-Encoding", "gzip")];
    assert_eq!(reader.wants_body(503, &coded), 65_536);
}

#[test]
fn hostile_values_leave_a_note_and_no_number() {
    for value in ["nan", "1e999", "-5", "18446744073709551616", "", "inf", "0x10", "\u{b2}"] {
        let headers = [("X-RateLimit-Limit", value), ("X-RateLimit-Reset", value), ("Retry-After", value)];
        let signals = read_signals(429, &headers, None, Wall::from_unix_seconds(1_786_000_000.0));
        assert!(signals.meters.is_empty(), "{value:?} gave {:?}", signals.meters);
        assert_eq!(signals.wait, None, "{value:?}");
        assert!(!signals.ignored.is_empty(), "{value:?} was dropped without a note");
    }
}

#[test]
fn a_megabyte_of_header_is_set_aside() {
    let headers =
        [("X-RateLimit-Remaining".to_owned(), "0".repeat(1 << 20)), ("x-limit-".repeat(1 << 17), "0".to_owned())];
    let signals = read_signals(200, &headers, None, None);
    assert!(signals.meters.is_empty());
    assert_eq!(signals.ignored.len(), 1);
    assert_eq!(&*signals.ignored[0].field, "x-ratelimit-remaining");
}

#[test]
fn ten_thousand_meters_are_no_more_than_thirty_two() {
    let headers: Vec<_> = (0..10_000).map(|at| (format!("X-RateLimit-Remaining-Route{at}"), "5".to_owned())).collect();
    let signals = read_signals(200, &headers, None, None);
    assert_eq!(signals.meters.len(), 32);
    assert!(signals.ignored.len() <= 16);
}

#[test]
fn bytes_that_are_no_text_spoil_only_their_own_field() {
    let headers: [(&[u8], &[u8]); 3] =
        [(b"X-RateLimit-Remaining", b"\xff\xfe"), (b"X-RateLimit-\xff", b"3"), (b"Retry-After", b"5")];
    let signals = read_signals(429, &headers, None, None);
    assert_eq!(signals.wait.map(|wait| wait.span.as_secs()), Some(5));
    assert!(signals.meters.is_empty());
}
