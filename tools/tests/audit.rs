//! What `rampmeter audit` finds in responses, as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rampmeter::{Answer, Form, Refusal};
use rampmeter_tools::audit::run;
use rampmeter_tools::{Fetched, Output};
use serde_json::{Value, json};

/// Inputs and the pages that they become, which the Python package and the
/// npm package are held against too.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/audit")
}

const FIXED: [&str; 6] = ["--now", "1786000000", "--width", "110", "--color", "never"];

fn audit(input: &[u8], arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = FIXED.iter().chain(arguments).copied().collect();
    run(&arguments, Some(input), None).expect("the input was given")
}

fn report(records: &Value, arguments: &[&str]) -> (Value, u8) {
    let output = audit(records.to_string().as_bytes(), &[&["--json"], arguments].concat());
    (serde_json::from_str(&output.text).unwrap_or_else(|error| panic!("{error}: {}", output.text)), output.code)
}

/// A 429 with that body and those header fields, beside a `Date` and the type
/// of JSON.
fn refusal(headers: Value, body: Value) -> Value {
    let mut all = json!({"Date": "Thu, 06 Aug 2026 07:06:40 GMT", "Content-Type": "application/json"});
    for (name, value) in headers.as_object().expect("header fields") {
        all[name] = value.clone();
    }
    json!({"status": 429, "headers": all, "body": body})
}

/// A complete one.
fn whole(headers: Value) -> Value {
    let mut all = json!({"Retry-After": "30"});
    for (name, value) in headers.as_object().expect("header fields") {
        all[name] = value.clone();
    }
    refusal(all, json!({"retry": true, "retryAfter": 30}))
}

/// The rules that find something in a record, warnings with a mark, and the
/// exit status.
fn rules(record: &Value) -> (Vec<String>, u8) {
    let (report, code) = report(record, &[]);
    let findings = report["judged"][0]["findings"].as_array().cloned().unwrap_or_default();
    let name = |finding: &Value| {
        let mark = if finding["severity"] == "warning" { "?" } else { "" };
        format!("{}{mark}", finding["rule"].as_str().expect("a name"))
    };
    (findings.iter().map(name).collect(), code)
}

fn finds(record: &Value, expected: &[&str]) {
    let (found, code) = rules(record);
    assert_eq!(found, expected, "{record}");
    assert_eq!(code, u8::from(expected.iter().any(|rule| !rule.ends_with('?'))), "{record}");
}

fn matches(kept: &Path, text: &str) {
    if std::env::var_os("RAMPMETER_BLESS").is_some() {
        fs::write(kept, text).expect("the page can be written");
    }
    let expected = fs::read_to_string(kept).unwrap_or_default();
    assert!(expected == text, "{} is not what is said now:\n{text}\nset RAMPMETER_BLESS=1 to keep it", kept.display());
}

#[test]
fn every_kept_input_is_judged_as_its_page_says() {
    let mut seen = 0;
    for entry in fs::read_dir(cases()).expect("the cases lie in the checkout") {
        let path = entry.expect("a readable folder").path();
        if !["http", "har", "jsonl"].iter().any(|kind| path.extension().is_some_and(|it| it == *kind)) {
            continue;
        }
        seen += 1;
        let input = fs::read(&path).expect("a readable input");
        for (kind, arguments) in [("page", &[][..]), ("json", &["--json"]), ("annotations", &["--annotations"])] {
            matches(&path.with_extension(kind), &audit(&input, arguments).text);
        }
    }
    assert!(seen >= 4, "only {seen} inputs were found");
}

#[test]
fn a_windowed_refusal_answers_by_header_and_body_that_agree() {
    finds(&whole(json!({})), &[]);
    finds(&refusal(json!({"Retry-After": "30"}), json!({"retry": true, "retryAfter": 29.3})), &[]);
    finds(
        &refusal(
            json!({"Retry-After": "Thu, 06 Aug 2026 07:07:10 GMT"}),
            json!({"error": {"retry": true, "retryAfter": 30}}),
        ),
        &[],
    );
}

#[test]
fn a_windowed_refusal_owes_the_header() {
    finds(&refusal(json!({}), json!({"retry": true, "retryAfter": 30})), &["no-header"]);
    let counters = json!({"RateLimit": "\"day\";r=0;t=30"});
    finds(&refusal(counters, json!({"retry": true, "retryAfter": 30})), &["no-header"]);
    finds(&refusal(json!({"retry-after-ms": "30000"}), json!({"retry": true, "retryAfter": 30})), &["no-header"]);
}

#[test]
fn a_windowed_refusal_owes_members_of_the_body() {
    let header = json!({"Retry-After": "30"});
    finds(&refusal(header.clone(), Value::Null), &["no-body"]);
    finds(&refusal(header.clone(), json!("Too many requests")), &["body-not-json"]);
    finds(&refusal(header.clone(), json!("<html>429</html>")), &["body-not-json"]);
    finds(&refusal(header.clone(), json!("{\"retry\": tru")), &["body-not-json"]);
    finds(&refusal(header.clone(), json!({"error": "too many requests"})), &["body-silent"]);
    finds(&refusal(header.clone(), json!({"retry": "true"})), &["body-silent"]);
    finds(
        &refusal(header, json!({"detail": "Request was throttled. Expected available in 30 seconds."})),
        &["body-in-prose"],
    );
}

#[test]
fn seconds_without_the_word_retry_are_an_answer_with_a_warning() {
    finds(&refusal(json!({"Retry-After": "30"}), json!({"retryAfter": 30})), &["retry-unsaid?"]);
}

#[test]
fn json_that_is_declared_as_something_else_is_not_read_as_json() {
    finds(&whole(json!({"Content-Type": "text/html"})), &["body-mistyped"]);
    finds(&whole(json!({"Content-Type": "application/problem+json; charset=utf-8"})), &[]);
}

#[test]
fn header_and_body_that_name_two_moments_disagree() {
    for seconds in [29.0, 31.0, 60.0] {
        let record = refusal(json!({"Retry-After": "30"}), json!({"retry": true, "retryAfter": seconds}));
        finds(&record, &["disagreement"]);
    }
    let record = refusal(json!({"Retry-After": ["30", "60"]}), json!({"retry": true, "retryAfter": 30}));
    finds(&record, &["disagreement"]);
    let (report, _) = report(&refusal(json!({"Retry-After": "30"}), json!({"retry": true, "retryAfter": 60})), &[]);
    let instead = report["judged"][0]["findings"][0]["instead"].as_str().expect("a sentence");
    assert!(instead.contains("Retry-After: 60"), "the longer of the two keeps both promises: {instead}");
}

#[test]
fn a_header_that_common_clients_cannot_read_is_malformed() {
    for value in ["soon", "-5", "1.5", "30s", "+30", "2026-08-06T07:07:10Z", "1786000030", "30, 30", ""] {
        let record = refusal(json!({"Retry-After": value}), json!({"retry": true, "retryAfter": 30}));
        let (found, code) = rules(&record);
        assert!(found.contains(&"malformed-header".to_owned()) && code == 1, "{value}: {found:?}");
    }
}

#[test]
fn a_wait_that_is_over_is_no_wait() {
    let body = json!({"retry": true, "retryAfter": 0});
    finds(&refusal(json!({"Retry-After": "0"}), body.clone()), &["no-wait"]);
    finds(&refusal(json!({"Retry-After": "Thu, 06 Aug 2026 07:00:00 GMT"}), body), &["no-wait"]);
    finds(&refusal(json!({"Retry-After": "1"}), json!({"retry": true, "retryAfter": 0})), &["no-wait"]);
}

#[test]
fn a_date_without_a_clock_beside_it_is_worth_a_warning() {
    let headers = json!({"Retry-After": "Thu, 06 Aug 2026 07:07:10 GMT", "Content-Type": "application/json"});
    let record = json!({"status": 429, "headers": headers, "body": {"retry": true, "retryAfter": 30}});
    finds(&record, &["no-date?"]);
}

#[test]
fn a_capacity_refusal_answers_without_seconds() {
    finds(&refusal(json!({}), json!({"retry": true, "limit": 8})), &[]);
    finds(&refusal(json!({}), json!({"retry": true, "class": "capacity"})), &[]);
}

#[test]
fn seconds_that_nobody_knows_are_invented() {
    let body = json!({"retry": true, "class": "capacity", "retryAfter": 5});
    finds(&refusal(json!({"Retry-After": "5"}), body.clone()), &["invented-seconds"]);
    finds(&refusal(json!({}), body), &["invented-seconds"]);
    finds(&refusal(json!({"Retry-After": "5"}), json!({"retry": true, "class": "capacity"})), &["invented-seconds"]);
}

#[test]
fn seconds_that_are_marked_as_a_suggestion_are_not_invented() {
    let body =
        |seconds: u8| json!({"retry": true, "class": "capacity", "retryAfter": seconds, "retryAfterSuggested": true});
    finds(&refusal(json!({"Retry-After": "5"}), body(5)), &[]);
    finds(&refusal(json!({"Retry-After": "5"}), body(9)), &["disagreement"]);
}

#[test]
fn a_capacity_refusal_owes_the_word_retry() {
    finds(&refusal(json!({}), json!({"error": {"type": "overloaded_error"}})), &["body-silent"]);
    finds(&refusal(json!({}), json!({"class": "capacity", "retry": false})), &["contradiction"]);
}

#[test]
fn a_503_that_knows_its_seconds_owes_what_any_windowed_refusal_owes() {
    let mut record = whole(json!({}));
    record["status"] = json!(503);
    finds(&record, &[]);
    record["body"] = json!({"message": "maintenance"});
    finds(&record, &["body-silent"]);
}

#[test]
fn a_503_without_a_word_is_worth_a_warning() {
    finds(&json!({"status": 503, "headers": {}, "body": "<html>"}), &["bare-503?"]);
}

#[test]
fn a_permanent_refusal_answers_by_the_body_alone() {
    finds(&refusal(json!({}), json!({"retry": false, "reason": "plan"})), &[]);
    finds(&refusal(json!({"Retry-After": "30"}), json!({"retry": false})), &["contradiction"]);
    finds(&refusal(json!({}), json!({"retry": false, "retryAfter": 30})), &["contradiction"]);
    finds(&refusal(json!({}), json!({"error": {"code": "insufficient_quota"}})), &["body-silent"]);
    finds(&refusal(json!({}), json!({"class": "permanent", "retry": true})), &["contradiction"]);
}

#[test]
fn a_refusal_that_says_nothing_decides_nothing() {
    finds(&refusal(json!({}), Value::Null), &["undecided"]);
    finds(&refusal(json!({}), json!({"detail": "Too Many Requests"})), &["undecided"]);
}

#[test]
fn members_may_stand_where_frameworks_put_them() {
    for place in ["error", "detail"] {
        let members = json!({"retry": true, "retryAfter": 30});
        finds(&refusal(json!({"Retry-After": "30"}), json!({ place: members })), &[]);
        finds(&refusal(json!({}), json!({ place: {"retry": true} })), &[]);
        finds(&refusal(json!({}), json!({ place: {"retry": false} })), &[]);
    }
}

#[test]
fn members_of_json_rpc_belong_into_the_data_of_the_error() {
    let members = json!({"retry": true, "retryAfter": 30});
    let answer = |error: Value, top: Value| {
        let mut body = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        body.as_object_mut().expect("an object").extend(top.as_object().cloned().expect("an object"));
        refusal(json!({"Retry-After": "30"}), body)
    };
    finds(&answer(json!({"code": -32005, "message": "limited", "data": members}), json!({})), &[]);
    finds(&answer(json!({"code": -32005, "message": "limited"}), members.clone()), &["body-silent"]);
    let (report, _) = report(&answer(json!({"code": -32005, "retry": true, "retryAfter": 30}), json!({})), &[]);
    let instead = report["judged"][0]["findings"][0]["instead"].as_str().expect("a sentence");
    assert!(instead.contains(r#"{"error": {"data": {"retry": true, "retryAfter": 30}}}"#), "{instead}");
}

#[test]
fn counters_that_name_another_moment_disagree() {
    let counters =
        |reset: u32| json!({"RateLimit": format!("\"day\";r=0;t={reset}"), "RateLimit-Policy": "\"day\";q=9;w=86400"});
    finds(&whole(counters(30)), &[]);
    finds(&whole(counters(3600)), &["counters-disagree"]);
    finds(&whole(counters(5)), &["counters-disagree"]);
}

#[test]
fn counters_with_something_left_are_those_of_another_limit() {
    finds(&whole(json!({"X-RateLimit-Remaining": "40", "X-RateLimit-Limit": "60"})), &["some-left?"]);
}

#[test]
fn a_field_that_clients_set_aside_is_worth_a_warning() {
    finds(&whole(json!({"X-RateLimit-Reset": "tomorrow"})), &["unreadable-field?"]);
}

#[test]
fn a_refusal_that_caches_may_keep_is_worth_a_warning() {
    for cacheable in ["max-age=60", "public", "private, max-age=60", "s-maxage=10"] {
        finds(&whole(json!({"Cache-Control": cacheable})), &["cacheable?"]);
    }
    for not in ["no-store", "no-cache", "max-age=0", "no-store, max-age=60"] {
        finds(&whole(json!({"Cache-Control": not})), &[]);
    }
    finds(&whole(json!({"Expires": "Thu, 06 Aug 2026 08:00:00 GMT"})), &["cacheable?"]);
    finds(&whole(json!({"Age": "7"})), &["from-a-cache?"]);
}

#[test]
fn a_browser_must_be_able_to_read_what_a_refusal_says() {
    let with = |exposed: Value| {
        let mut headers = json!({"Access-Control-Allow-Origin": "*", "RateLimit": "\"day\";r=0;t=30"});
        if !exposed.is_null() {
            headers["Access-Control-Expose-Headers"] = exposed;
        }
        whole(headers)
    };
    finds(&with(Value::Null), &["hidden-from-browsers?"]);
    finds(&with(json!("X-Request-Id, Retry-After")), &["hidden-from-browsers?"]);
    finds(&with(json!("retry-after, ratelimit")), &[]);
    finds(&with(json!("*")), &[]);
    let mut credentials = with(json!("*"));
    credentials["headers"]["Access-Control-Allow-Credentials"] = json!("true");
    finds(&credentials, &["hidden-from-browsers?"]);
    let (report, _) = report(&with(json!("X-Request-Id")), &[]);
    assert_eq!(
        report["judged"][0]["findings"][0]["instead"],
        "`Access-Control-Expose-Headers: X-Request-Id, RateLimit, Retry-After`"
    );
}

#[test]
fn a_refusal_without_the_permission_that_answers_have_reaches_no_script() {
    let served =
        json!({"status": 200, "url": "https://api.example.com/a", "headers": {"Access-Control-Allow-Origin": "*"}});
    let mut refused = whole(json!({}));
    refused["url"] = json!("https://api.example.com/b");
    let (report, code) = report(&json!([served, refused]), &[]);
    assert_eq!((report["judged"][0]["findings"][0]["rule"].as_str(), code), (Some("refused-unseen"), 0));
}

#[test]
fn figures_of_one_caller_do_not_belong_on_an_answer_that_caches_share() {
    let served = |control: &str, more: Value| {
        let mut headers = json!({"Cache-Control": control, "RateLimit": "\"day\";r=7;t=30"});
        headers.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        json!({"status": 200, "headers": headers})
    };
    for control in ["public, max-age=60", "s-maxage=60", "max-age=60"] {
        finds(&served(control, json!({})), &["shared-figures?"]);
    }
    finds(&served("max-age=60", json!({"Age": "3"})), &["shared-figures?"]);
    for (control, more) in [
        ("private, max-age=60", json!({})),
        ("no-store", json!({})),
        ("max-age=60", json!({"Vary": "Accept, Authorization"})),
    ] {
        finds(&served(control, more), &[]);
    }
    let policy = json!({"status": 200, "headers": {"Cache-Control": "public", "RateLimit-Policy": "\"day\";q=9;w=60"}});
    finds(&policy, &[]);
}

#[test]
fn a_body_that_was_not_recorded_is_not_held_against_the_server() {
    let record = json!({"status": 429, "headers": {"Retry-After": "30", "Content-Length": "40"}});
    finds(&record, &["body-unseen?"]);
    let har = |content: Value| {
        let request = json!({"method": "GET", "url": "https://api.example.com/", "headers": []});
        let headers = json!([{"name": "Retry-After", "value": "30"}]);
        let response = json!({"status": 429, "headers": headers, "content": content});
        json!({"log": {"entries": [{"request": request, "response": response}]}})
    };
    finds(&har(json!({"size": 40, "mimeType": "application/json"})), &["body-unseen?"]);
    finds(&har(json!({"size": 0, "mimeType": ""})), &["no-body"]);
    let asked_for_none = json!({"method": "HEAD", "status": 429, "headers": {"Retry-After": "30"}});
    finds(&asked_for_none, &["body-unseen?"]);
}

#[test]
fn warnings_decide_only_with_strict() {
    let record = whole(json!({"Cache-Control": "public"}));
    assert_eq!(report(&record, &[]).1, 0);
    assert_eq!(report(&record, &["--strict"]).1, 1);
    assert_eq!(report(&whole(json!({})), &["--strict"]).1, 0);
}

#[test]
fn every_finding_says_what_to_send_instead() {
    let path = cases().join("nine-ways.jsonl");
    let output = audit(&fs::read(path).expect("a readable input"), &["--json"]);
    let report: Value = serde_json::from_str(&output.text).expect("JSON");
    for judged in report["judged"].as_array().expect("a list") {
        for finding in judged["findings"].as_array().expect("a list") {
            assert!(finding["instead"].as_str().is_some_and(|instead| instead.len() > 8), "{finding}");
        }
    }
}

#[test]
fn what_is_sent_instead_is_found_to_be_whole() {
    let bad = refusal(json!({}), json!({"retryAfter": 12.2}));
    let (found, _) = report(&bad, &[]);
    let findings = found["judged"][0]["findings"].as_array().cloned().expect("a list");
    let instead: Vec<&str> = findings.iter().filter_map(|finding| finding["instead"].as_str()).collect();
    assert_eq!(instead, ["`Retry-After: 13`", "the body `{\"retry\": true, \"retryAfter\": 13}`"]);
    finds(&refusal(json!({"Retry-After": "13"}), json!({"retry": true, "retryAfter": 13})), &[]);
}

#[test]
fn many_refusals_alike_are_told_once() {
    let mut record = whole(json!({"Cache-Control": "public"}));
    record["url"] = json!("https://api.example.com/items?key=secret");
    let records = Value::Array(vec![record; 50]);
    let page = audit(records.to_string().as_bytes(), &[]).text;
    assert!(page.contains("and 49 more like it") && page.lines().count() < 20, "{page}");
    let annotations = audit(records.to_string().as_bytes(), &["--annotations"]).text;
    assert_eq!(annotations.lines().count(), 1, "{annotations}");
    assert!(!page.contains("secret") && !annotations.contains("secret"));
}

#[test]
fn annotations_escape_what_would_end_them() {
    let mut record = refusal(json!({"Retry-After": "50%\u{7}"}), Value::Null);
    record["url"] = json!("https://api.example.com/a%0Ab");
    let text = audit(record.to_string().as_bytes(), &["--annotations"]).text;
    let first = text.lines().next().expect("a finding");
    assert!(first.starts_with("::error title=rampmeter audit%3A "), "{text}");
    assert!(first.contains("a%250Ab") && first.contains("50%25"), "{text}");
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
}

#[test]
fn several_files_are_judged_together() {
    let path = |name: &str| cases().join(name).to_str().expect("a path in UTF-8").to_owned();
    let (one, two) = (path("whole.http"), path("bare.http"));
    let output = run(&["--json", &one, &two], None, None).expect("no input is needed");
    let report: Value = serde_json::from_str(&output.text).expect("JSON");
    assert_eq!((report["refusals"].as_u64(), report["unanswered"].as_u64(), output.code), (Some(2), Some(1), 1));
    assert_eq!(report["judged"][1]["file"], two);
    let output = run(&[one.as_str(), "/no/such/file"], None, None).expect("no input is needed");
    assert!(output.code == 2 && output.text.contains("/no/such/file"), "{}", output.text);
}

#[test]
fn a_url_is_asked_until_it_refuses_and_no_further() {
    use std::cell::Cell;
    let asked = Cell::new(0);
    let server = |refuses_at: u32| {
        let asked = &asked;
        move |_: &str| {
            asked.set(asked.get() + 1);
            let status = if asked.get() == refuses_at { 429 } else { 200 };
            Ok(Fetched { status, version: "HTTP/1.1".to_owned(), ..Fetched::default() })
        }
    };
    let fetch = server(3);
    let output = run(&["--url", "https://api.example.com/x"], None, Some(&fetch)).expect("no input is needed");
    assert_eq!((asked.get(), output.code), (3, 1), "{}", output.text);
    asked.set(0);
    let fetch = server(u32::MAX);
    let output = run(&["--url", "https://api.example.com/x", "--requests", "4"], None, Some(&fetch));
    let output = output.expect("no input is needed");
    assert_eq!((asked.get(), output.code), (4, 0));
    assert!(output.text.contains("none of 4 requests was refused"), "{}", output.text);
}

#[test]
fn a_url_is_left_to_the_host_that_can_fetch() {
    let output = run(&["--url", "https://api.example.com"], None, None).expect("no input is needed");
    assert!(output.code == 2 && output.text.contains("curl -si URL"), "{}", output.text);
}

#[test]
fn wrong_arguments_end_with_status_2_and_name_the_mistake() {
    let fetch = |_: &str| Err("unreachable".to_owned());
    let arguments: [(&[&str], &str); 7] = [
        (&["--nonsense"], "'--nonsense'"),
        (&["--status", "42"], "--status"),
        (&["--json", "--annotations"], "either --json or --annotations"),
        (&["--url", "https://x", "file"], "either files or --url"),
        (&["--requests", "5"], "--requests belongs to --url"),
        (&["--url", "https://x", "--requests", "0"], "--requests must be from 1"),
        (&["-", "file"], "either files or standard input"),
    ];
    for (arguments, mistake) in arguments {
        let output = run(arguments, None, Some(&fetch)).expect("no input is needed");
        assert_eq!(output.code, 2, "{arguments:?}");
        assert!(output.text.starts_with("rampmeter audit: ") && output.text.contains(mistake), "{}", output.text);
    }
}

#[test]
fn what_holds_no_response_ends_with_status_2() {
    for input in [&b""[..], b"hello\n", b"[1, 2", b"{\"status\": 200}"] {
        assert_eq!(audit(input, &[]).code, 2);
    }
}

#[test]
fn damaged_inputs_break_nothing_and_command_no_terminal() {
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let input = fs::read(cases().join("nine-ways.jsonl")).expect("a readable input");
    for _ in 0..300 {
        let mut damaged = input.clone();
        for _ in 0..=random(8) {
            let at = random(damaged.len());
            match random(4) {
                0 => damaged[at] = random(256) as u8,
                1 => damaged.truncate(at.max(1)),
                2 => damaged.insert(at, b"\n:\"{}\x1b0"[random(7)]),
                _ => damaged.swap(at, 0),
            }
        }
        for arguments in [&[][..], &["--json"], &["--annotations"]] {
            let output = audit(&damaged, arguments);
            assert!(output.text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{}", output.text);
        }
    }
}

#[test]
fn the_documentation_shows_what_is_said_and_names_every_rule() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/audit.md")).expect("a guide");
    let page = fs::read_to_string(cases().join("bare.page")).expect("a readable page");
    assert!(guide.contains(&page), "the guide shows another page than {page}");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit");
    let mut named = 0;
    for entry in fs::read_dir(sources).expect("the sources lie in the checkout") {
        let Ok(text) = fs::read_to_string(entry.expect("a readable folder").path()) else { continue };
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for call in ["Finding::error( \"", "Finding::error(\"", "Finding::warning( \"", "Finding::warning(\""] {
            for rest in text.split(call).skip(1) {
                let rule = rest.split('"').next().unwrap_or_default();
                assert!(guide.contains(&format!("`{rule}`")), "the guide does not name {rule}");
                named += 1;
            }
        }
    }
    assert!(named >= 20, "only {named} rules were found");
}

#[test]
fn every_answer_that_the_core_writes_passes_strictly() {
    let wait = Duration::from_secs(30);
    let named = || Refusal::windowed(wait).limit(100).policy("minute").expect("a name").window(Duration::from_secs(60));
    let answers: [Answer; 8] = [
        Refusal::windowed(wait).into(),
        named().into(),
        named().exposed().into(),
        Refusal::capacity().into(),
        Refusal::capacity().limit(8).unavailable().into(),
        Refusal::capacity().suggest(wait).into(),
        Refusal::permanent().into(),
        Refusal::permanent().hint("the plan has no such quota").forbidden().into(),
    ];
    for answer in answers {
        for form in [Form::Json, Form::Problem, Form::JsonRpc { id: json!(1) }] {
            let sent = answer.render(&form);
            let headers: Vec<Value> = sent.headers.iter().map(|(name, value)| json!([name, value])).collect();
            let (report, code) =
                report(&json!({"status": sent.status, "headers": headers, "body": sent.body}), &["--strict"]);
            assert_eq!((code, &report["refusals"]), (0, &json!(1)), "{form:?} {report:#}");
        }
    }
}
