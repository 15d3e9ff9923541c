//! Dialects of the caller's own, from the `dialects` option.

use rampmeter::{Class, Config, ConfigError, Reader, Response, Signals, Wall};
use serde_json::{Value, json};

fn reader(dialects: Value) -> Result<Reader, ConfigError> {
    Reader::from_config(&Config::default().with_options(&json!({ "dialects": dialects }))?)
}

fn read(dialects: Value, status: u16, headers: &[(&str, &str)], body: Option<&str>) -> Signals {
    let headers = headers.to_vec();
    let response = Response::new(status, &headers).body(body.map(str::as_bytes));
    reader(dialects).expect("a dialect").read(&response, Wall::from_unix_seconds(1_786_000_000.0))
}

fn acme() -> Value {
    json!([{
        "name": "acme",
        "headers": {
            "X-Acme-Left": {"field": "remaining", "meter": "reads", "unit": "requests", "window": 60},
            "X-Acme-Most": {"field": "limit", "meter": "reads"},
            "X-Acme-Again": {"field": "wait", "format": "milliseconds"},
            "X-Acme-Pair": {"format": "limit:window", "meter": "pair"},
            "X-Acme-Whose": "reason"
        },
        "body": {
            "error.cooldown": {"field": "wait", "format": "minutes"},
            "quota.0.left": {"field": "remaining", "meter": "quota"}
        },
        "refusals": [
            509,
            {"status": 200, "path": "error.code", "equals": "BUSY", "class": "capacity"},
            {"status": 403, "path": "banned", "class": "permanent"}
        ]
    }])
}

#[test]
fn own_headers_become_meters() {
    let signals = read(acme(), 200, &[("X-ACME-Left", "3"), ("x-acme-most", "10")], None);
    assert_eq!(signals.meters.len(), 1, "{:?}", signals.meters);
    let meter = &signals.meters[0];
    assert_eq!((meter.name.as_deref(), meter.limit, meter.remaining), (Some("reads"), Some(10.0), Some(3.0)));
    assert_eq!((meter.unit.as_deref(), meter.window.map(|window| window.as_secs())), (Some("requests"), Some(60)));
}

#[test]
fn own_formats_are_read() {
    let signals = read(acme(), 429, &[("X-Acme-Pair", "20:1,100:120"), ("X-Acme-Again", "1500")], None);
    assert_eq!(signals.meters.iter().map(|meter| meter.limit).collect::<Vec<_>>(), [Some(20.0), Some(100.0)]);
    let wait = signals.wait.expect("a wait");
    assert_eq!((wait.span.as_millis(), wait.source.name()), (1500, "vendor"));
}

#[test]
fn own_reasons_name_the_refused_meter() {
    let refusal = read(acme(), 429, &[("X-Acme-Whose", "exports")], None).refusal.expect("a refusal");
    assert_eq!(refusal.meter.as_deref(), Some("exports"));
}

#[test]
fn own_body_paths_are_read() {
    let body = r#"{"error": {"cooldown": 2}, "quota": [{"left": 7}]}"#;
    let signals = read(acme(), 429, &[], Some(body));
    assert_eq!(signals.wait.map(|wait| wait.span.as_secs()), Some(120));
    assert_eq!(signals.meters[0].remaining, Some(7.0));
    assert_eq!(signals.meters[0].name.as_deref(), Some("quota"));
}

#[test]
fn own_statuses_and_bodies_are_refusals() {
    let class = |status, body| read(acme(), status, &[], body).refusal.map(|refusal| refusal.class);
    assert_eq!(class(509, None), Some(Class::Windowed));
    assert_eq!(class(200, Some(r#"{"error": {"code": "BUSY"}}"#)), Some(Class::Capacity));
    assert_eq!(class(200, Some(r#"{"error": {"code": "OTHER"}}"#)), None);
    assert_eq!(class(403, Some(r#"{"banned": true}"#)), Some(Class::Permanent));
    assert_eq!(class(403, Some(r#"{"banned": false}"#)), None);
}

#[test]
fn bodies_that_own_rules_ask_for_are_wanted() {
    let reader = reader(acme()).expect("a dialect");
    let json = [("Content-Type", "application/json"), ("Content-Length", "30000")];
    assert_eq!(reader.wants_body(509, &json), 30_000);
    assert_eq!(reader.wants_body(200, &json), 30_000);
    assert_eq!(reader.wants_body(200, &[("Content-Type", "application/json")]), 0);
    assert_eq!(reader.wants_body(201, &json), 0);
}

#[test]
fn own_headers_may_matter() {
    let reader = reader(acme()).expect("a dialect");
    assert!(reader.header_may_matter(b"x-acme-left"));
    assert!(reader.header_may_matter(b"Retry-After"));
    assert!(!reader.header_may_matter(b"x-acme-right"));
}

#[test]
fn own_dialects_stand_beside_the_built_in_ones() {
    let signals = read(acme(), 200, &[("X-Shopify-Shop-Api-Call-Limit", "32/40"), ("X-Bapi-Limit-Status", "4")], None);
    assert_eq!(signals.meters.len(), 2);
}

#[test]
fn only_the_dialects_that_are_named_are_read() {
    let bybit = [("X-Bapi-Limit-Reset-Timestamp", "1786000003000"), ("X-Bapi-Limit-Status", "4")];
    let meters = |dialects| read(dialects, 200, &bybit, None).meters;
    assert_eq!(meters(json!(["bybit"]))[0].remaining, Some(4.0));
    assert!(meters(json!(["xero"])).is_empty());
    assert_eq!(meters(json!(["xero", "all"])).len(), 1);
}

#[test]
fn a_header_can_be_told_to_be_ignored() {
    let quiet = json!([{"headers": {"RateLimit-Remaining": {"format": "ignored"}}}]);
    assert!(read(quiet, 200, &[("RateLimit-Remaining", "0")], None).meters.is_empty());
}

#[test]
fn a_bad_value_of_an_own_header_is_set_aside() {
    let signals = read(acme(), 200, &[("X-Acme-Left", "many")], None);
    assert!(signals.meters.is_empty());
    assert_eq!(&*signals.ignored[0].field, "x-acme-left");
}

#[test]
fn mistakes_name_their_place() {
    for (dialects, place) in [
        (json!(7), "dialects"),
        (json!(["github.com"]), "dialects[0]"),
        (json!(["all", 3]), "dialects[1]"),
        (json!([{"header": {}}]), "dialects[0].header"),
        (json!([{"name": 3}]), "dialects[0].name"),
        (json!([{"headers": []}]), "dialects[0].headers"),
        (json!([{"headers": {"x y": "limit"}}]), "dialects[0].headers.x y"),
        (json!([{"headers": {"x-a": "most"}}]), "dialects[0].headers.x-a"),
        (json!([{"headers": {"x-a": {"field": "most"}}}]), "dialects[0].headers.x-a.field"),
        (json!([{"headers": {"x-a": {"meter": "m"}}}]), "dialects[0].headers.x-a.field"),
        (json!([{"headers": {"x-a": {"field": "wait", "format": "hours"}}}]), "dialects[0].headers.x-a.format"),
        (json!([{"headers": {"x-a": {"field": "limit", "format": "seconds"}}}]), "dialects[0].headers.x-a.format"),
        (json!([{"headers": {"x-a": {"field": "limit", "format": "per_second"}}}]), "dialects[0].headers.x-a"),
        (json!([{"headers": {"x-a": {"field": "limit", "window": 0}}}]), "dialects[0].headers.x-a.window"),
        (json!([{"body": {"a..b": "wait"}}]), "dialects[0].body.a..b"),
        (json!([{"refusals": [99]}]), "dialects[0].refusals[0]"),
        (json!([{"refusals": [{}]}]), "dialects[0].refusals[0]"),
        (json!([{"refusals": [{"status": 200, "equals": 1}]}]), "dialects[0].refusals[0].equals"),
        (json!([{"refusals": [{"status": 200, "class": "later"}]}]), "dialects[0].refusals[0].class"),
    ] {
        let error = reader(dialects.clone()).expect_err(&dialects.to_string());
        assert_eq!(error.option, place, "{error}");
    }
}

#[test]
fn the_option_shows_what_was_set() {
    let config = Config::default().with_options(&json!({ "dialects": acme() })).expect("a config");
    assert_eq!(config.get("dialects"), acme());
    assert_eq!(Config::default().get("dialects"), "all");
}
