//! Every vector of `tests/vectors` holds, and is written so that it can be
//! replayed in every language.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rampmeter_lab::self_test;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

#[test]
fn every_vector_holds() {
    let outcome = self_test::replay(&[folder()]);
    let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
    assert!(outcome.ok(), "{} of {} failed\n{}", failures.len(), outcome.passed + failures.len(), failures.join("\n"));
    assert!(outcome.passed >= 150, "only {} vectors were found", outcome.passed);
}

#[test]
fn a_wrong_expectation_fails() {
    let file = std::env::temp_dir().join(format!("rampmeter-wrong-{}.json", std::process::id()));
    let begin = r#"{"at": 0, "begin": "a", "url": "https://api.example.com/"}"#;
    let cases = [
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"decision": "sleep"}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"decision": "send", "seconds": [0, 1]}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"reason": "held"}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"error": "LimiterClosed"}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"hint": "too much"}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "expect": {"limit": 5}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "b"}]}"#,
        r#"{"steps": [{"at": 0, "meters": "https://api.example.com", "expect": {"default": {"limit": 1}}}]}"#,
        r#"{"steps": [BEGIN, {"at": 0, "poll": "a", "events": ["raised"]}]}"#,
        r#"{"config": {"max_attempts": 3}, "config_error": "max_attempts"}"#,
        r#"{"config": {"max_attempts": 0}, "config_error": "seed"}"#,
        r#"{"config": {"max_attempts": 0}, "steps": []}"#,
        r#"{"status": 200, "headers": [], "expect": {"meters": [{"name": null, "limit": 1}]}}"#,
        r#"{"status": 200, "headers": [], "expect": {"meters": [], "retry_after_seconds": 1}}"#,
        r#"{"status": 200, "headers": [], "expect": {"meters": [], "class": "windowed"}}"#,
        r#"{"name": "no vector at all"}"#,
        "no JSON at all",
    ];
    for case in cases {
        fs::write(&file, case.replace("BEGIN", begin)).expect("the folder for temporary files is writable");
        let outcome = self_test::replay(std::slice::from_ref(&file));
        assert_eq!((outcome.passed, outcome.failures.len()), (0, 1), "{case}");
    }
    fs::remove_file(&file).expect("the file is still there");
    assert_eq!(self_test::replay(&[file]).failures.len(), 1, "a file that is not there is a failure");
}

/// What a script may say without asking for a feature that only one language's
/// runner has. A misspelt key would be ignored and prove nothing.
#[test]
fn scripts_use_known_keys_only() {
    const VECTOR: &[&str] = &["name", "source", "note", "config", "config_error", "wall", "steps"];
    const STEP: &[&str] = &[
        "at", "wall", "events", "expect", "begin", "poll", "response", "failure", "settle", "finish", "cancel",
        "meters", "close", "method", "url", "scope", "route", "cost", "priority", "deadline", "retry", "status",
        "headers", "body", "cached", "kind",
    ];
    const EXPECT: &[&str] = &["decision", "seconds", "reason", "error", "retry_after", "limit_name", "hint", "limit"];
    const METER: &[&str] = &["limit", "remaining", "reset", "window", "unit", "policy"];
    let check = |object: &Value, known: &[&str], name: &str| {
        for key in object.as_object().into_iter().flatten().map(|(key, _)| key) {
            assert!(known.contains(&key.as_str()), "{name}: the key {key} is unknown");
        }
    };
    let mut names = BTreeSet::new();
    for vector in rules() {
        let name = vector["name"].as_str().expect("a vector has a name");
        assert!(names.insert(name.to_owned()), "two vectors are called {name}");
        check(&vector, VECTOR, name);
        let mut at = 0.0;
        for step in vector["steps"].as_array().into_iter().flatten() {
            check(step, STEP, name);
            let next = step["at"].as_f64().expect("a step has a time");
            assert!(next >= at, "{name}: time runs backwards at {next}");
            at = next;
            if step.get("meters").is_some() {
                step["expect"].as_object().into_iter().flatten().for_each(|(_, meter)| check(meter, METER, name));
            } else {
                check(&step["expect"], EXPECT, name);
            }
        }
    }
}

fn rules() -> Vec<Value> {
    let entries = fs::read_dir(folder().join("rules")).expect("the vectors are there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.sort();
    let read = |file: &PathBuf| -> Vec<Value> {
        let text = fs::read(file).expect("a vector file can be read");
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    files.iter().flat_map(read).collect()
}
