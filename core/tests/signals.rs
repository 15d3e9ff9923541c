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
