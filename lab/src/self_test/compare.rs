//! How an expected value and an actual one are held against each other.

use rampmeter::{Decision, Error, Meter};
use serde_json::{Map, Value};

/// Clock readings are whole nanoseconds, vectors decimal seconds.
const ROUNDING: f64 = 1e-6;

/// Names of meters are compared without regard to case, `-`, `_` and spaces.
pub(super) fn loose(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Header fields as a vector writes them: pairs, or a mapping.
pub(super) fn headers(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(map)) => Ok(map.iter().map(|(name, value)| (name.clone(), text(value))).collect()),
        Some(Value::Array(pairs)) => pairs
            .iter()
            .map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([name, value]) => Ok((text(name), text(value))),
                _ => Err(format!("the vector's header {pair} is no pair")),
            })
            .collect(),
        Some(other) => Err(format!("the vector's headers are no pairs: {other}")),
    }
}

/// A body as a vector writes it: text, or JSON to be written as text.
pub(super) fn body(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(json) => Some(json.to_string()),
    }
}

/// A number, or a range `[lo, hi]` in which `null` leaves an end open.
pub(super) fn in_range(expected: &Value, actual: f64, tolerance: f64) -> bool {
    match expected {
        Value::Array(ends) => {
            let lo = ends.first().and_then(Value::as_f64).unwrap_or(f64::NEG_INFINITY);
            let hi = ends.get(1).and_then(Value::as_f64).unwrap_or(f64::INFINITY);
            (lo - ROUNDING..=hi + ROUNDING).contains(&actual)
        }
        exact => exact.as_f64().is_some_and(|exact| (exact - actual).abs() <= tolerance),
    }
}

/// An expected number that may be absent on either side.
pub(super) fn number(field: &str, expected: Option<&Value>, actual: Option<f64>, tolerance: f64) -> Result<(), String> {
    let expected = expected.filter(|value| !value.is_null());
    match (expected, actual) {
        (None, None) => Ok(()),
        (Some(expected), Some(actual)) if in_range(expected, actual, tolerance) => Ok(()),
        _ => Err(format!("{field}: expected {}, got {}", shown(expected), shown_number(actual))),
    }
}

fn shown(expected: Option<&Value>) -> String {
    expected.map_or_else(|| "absent".to_owned(), Value::to_string)
}

fn shown_number(actual: Option<f64>) -> String {
    actual.map_or_else(|| "absent".to_owned(), |number| number.to_string())
}

/// A decision in one line.
pub(super) fn describe(decision: &Decision) -> String {
    match decision {
        Decision::Sleep { wait, reason } => format!("sleep {} s ({})", wait.as_secs_f64(), reason.name()),
        Decision::Raise { error } => describe_error(error),
        other => format!("{} ({})", other.kind(), other.reason().name()),
    }
}

fn describe_error(error: &Error) -> String {
    let retry_after = error.retry_after().map(|wait| wait.as_secs_f64());
    let limit = limit_name(error).unwrap_or("none");
    format!("raise {} (retry_after {}, limit_name {limit}): {error}", error.name(), shown_number(retry_after))
}

fn limit_name(error: &Error) -> Option<&'static str> {
    match error {
        Error::Exceeded(exceeded) => Some(exceeded.limit_name),
        _ => None,
    }
}

/// Holds a decision against a step's `expect`.
pub(super) fn decision(expected: &Value, actual: &Decision) -> Result<(), String> {
    let Some(expected) = expected.as_object() else { return Ok(()) };
    let mismatch = |field: &str| Err(format!("expected {field}, got {}", describe(actual)));
    if let Some(kind) = expected.get("decision").and_then(Value::as_str)
        && kind != actual.kind()
    {
        return mismatch(&Value::Object(expected.clone()).to_string());
    }
    if let Some(seconds) = expected.get("seconds").filter(|value| !value.is_null())
        && !actual.wait().is_some_and(|wait| in_range(seconds, wait.as_secs_f64(), 0.01))
    {
        return mismatch(&format!("to sleep {seconds} s"));
    }
    if let Some(reason) = expected.get("reason").and_then(Value::as_str)
        && reason != actual.reason().name()
    {
        return mismatch(&format!("the reason {reason}"));
    }
    error(expected, actual.error()).or_else(|field| mismatch(&field))
}

/// Holds an error against `error`, `retry_after`, `limit_name`, and what the
/// server said of itself: `hint` and `limit`. The problem is only the expected
/// field: the caller shows the rest.
fn error(expected: &Map<String, Value>, actual: Option<&Error>) -> Result<(), String> {
    if let Some(name) = expected.get("error").and_then(Value::as_str)
        && actual.map(Error::name) != Some(name)
    {
        return Err(format!("the error {name}"));
    }
    if let Some(wait) = expected.get("retry_after") {
        let actual = actual.and_then(Error::retry_after).map(|wait| wait.as_secs_f64());
        number("retry_after", Some(wait), actual, 0.01)?;
    }
    if let Some(name) = expected.get("limit_name").and_then(Value::as_str)
        && actual.and_then(limit_name) != Some(name)
    {
        return Err(format!("the limit_name {name}"));
    }
    let details = actual.and_then(Error::details);
    if let Some(hint) = expected.get("hint").and_then(Value::as_str) {
        let actual = details.and_then(|details| details.hint.as_deref());
        if actual != Some(hint) {
            return Err(format!("the hint {hint:?} (not {actual:?})"));
        }
    }
    if let Some(limit) = expected.get("limit") {
        number("limit", Some(limit), details.and_then(|details| details.limit), 0.01)?;
    }
    Ok(())
}

/// Holds an error that `begin` or `settle` gave against a step's `expect`.
pub(super) fn refused_argument(expected: Option<&Value>, actual: &Error) -> Result<(), String> {
    let mismatch = |wanted: &str| format!("expected {wanted}, got {}", describe_error(actual));
    match expected.and_then(Value::as_object) {
        Some(expected) if expected.contains_key("error") => {
            error(expected, Some(actual)).map_err(|field| mismatch(&field))
        }
        _ => Err(mismatch("no error")),
    }
}

/// Holds a scope's meters against the map of a `meters` step.
///
/// Several unnamed meters that are kept apart by route share the key
/// `default`: one of them must fit.
pub(super) fn meters(expected: &Value, actual: &[(Meter, Option<f64>)]) -> Result<(), String> {
    let Some(expected) = expected.as_object() else { return Ok(()) };
    let key = |meter: &Meter| loose(meter.name.as_deref().unwrap_or("default"));
    for (name, fields) in expected {
        let candidates = actual.iter().filter(|(meter, _)| key(meter) == loose(name));
        let verdicts: Vec<_> = candidates.map(|(meter, reset)| meter_fields(fields, meter, *reset)).collect();
        if verdicts.is_empty() {
            return Err(format!("expected a meter {name}, got {}", names(actual)));
        }
        if verdicts.iter().all(Result::is_err) {
            let problems: Vec<_> = verdicts.into_iter().filter_map(Result::err).collect();
            return Err(format!("meter {name}: {}", problems.join(" / ")));
        }
    }
    let known: Vec<String> = expected.keys().map(|name| loose(name)).collect();
    match actual.iter().find(|(meter, _)| !known.contains(&key(meter))) {
        None => Ok(()),
        Some((meter, _)) => Err(format!("expected no such meter, got {meter:?}")),
    }
}

fn names(actual: &[(Meter, Option<f64>)]) -> String {
    let names: Vec<_> = actual.iter().map(|(meter, _)| meter.name.as_deref().unwrap_or("default")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn meter_fields(expected: &Value, actual: &Meter, reset: Option<f64>) -> Result<(), String> {
    number("limit", expected.get("limit"), actual.limit, 0.01)?;
    number("remaining", expected.get("remaining"), actual.remaining, 0.01)?;
    number("window", expected.get("window"), actual.window.map(|window| window.as_secs_f64()), 0.01)?;
    let wanted = expected.get("reset").filter(|value| !value.is_null());
    // A reset that has passed and one that is unknown say the same.
    let passed = reset.is_none_or(|seconds| seconds <= 0.0);
    let none = wanted.is_none_or(|value| in_range(value, 0.0, 1.0));
    if !(passed && none) {
        number("reset", wanted, reset, 1.0)?;
    }
    text("unit", expected.get("unit"), actual.unit.as_deref())?;
    text("policy", expected.get("policy"), actual.policy.as_deref())
}

/// A text that is compared only if the vector gives it.
pub(super) fn text(field: &str, expected: Option<&Value>, actual: Option<&str>) -> Result<(), String> {
    match expected.and_then(Value::as_str) {
        Some(expected) if actual.map(loose) != Some(loose(expected)) => {
            Err(format!("{field}: expected {expected}, got {}", actual.unwrap_or("absent")))
        }
        _ => Ok(()),
    }
}
