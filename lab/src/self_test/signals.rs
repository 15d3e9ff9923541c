//! Signals vectors: what one response says.

use rampmeter::{Class, Reading, Signals, WaitSource, Wall, read_signals};
use serde_json::Value;

use super::compare;

pub(super) fn check(vector: &Value) -> Result<(), String> {
    let status = vector["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or("the vector's status is no status code")?;
    let headers = compare::headers(vector.get("headers"))?;
    let body = compare::body(vector.get("body"));
    let wall = vector.get("received_wall").and_then(Value::as_f64).and_then(Wall::from_unix_seconds);

    let signals = read_signals(status, &headers, body.as_deref().map(str::as_bytes), wall);
    let expect = &vector["expect"];
    meters(expect, &signals).map_err(|problem| format!("{problem}\nread: {:?}", signals.meters))?;
    compare::number("retry_after_seconds", expect.get("retry_after_seconds"), explicit_wait(&signals), 0.01)?;
    class(expect, &signals)
}

/// The wait that the response orders in so many words; what is derived from a
/// meter does not count.
fn explicit_wait(signals: &Signals) -> Option<f64> {
    signals.wait.filter(|wait| wait.source != WaitSource::Reset).map(|wait| wait.span.as_secs_f64())
}

fn class(expect: &Value, signals: &Signals) -> Result<(), String> {
    let Some(expected) = expect.get("class") else { return Ok(()) };
    let actual = signals.refusal.as_ref().map(|refusal| Class::name(refusal.class));
    if expected.as_str() == actual {
        return Ok(());
    }
    let shown = |class: Option<&str>| class.unwrap_or("no refusal").to_owned();
    Err(format!("class: expected {}, got {}", shown(expected.as_str()), shown(actual)))
}

fn meters(expect: &Value, signals: &Signals) -> Result<(), String> {
    let Some(expected) = expect.get("meters").and_then(Value::as_array) else { return Ok(()) };
    let mut left: Vec<&Reading> = signals.meters.iter().collect();
    for meter in expected {
        let name = meter.get("name").and_then(Value::as_str).map(compare::loose);
        let named = |reading: &Reading| reading.name.as_deref().map(compare::loose) == name;
        let position = left
            .iter()
            .position(|reading| named(reading) && fields(meter, reading).is_ok())
            .or_else(|| left.iter().position(|reading| named(reading)));
        let Some(position) = position else {
            return Err(format!("expected a meter {}", meter["name"]));
        };
        let reading = left.remove(position);
        fields(meter, reading).map_err(|problem| format!("meter {}: {problem}", meter["name"]))?;
    }
    match left.first() {
        None => Ok(()),
        Some(extra) => Err(format!("expected no such meter: {extra:?}")),
    }
}

fn fields(expected: &Value, actual: &Reading) -> Result<(), String> {
    compare::number("limit", expected.get("limit"), actual.limit, 0.01)?;
    compare::number("remaining", expected.get("remaining"), actual.remaining, 0.01)?;
    let reset = actual.reset.map(|reset| reset.as_secs_f64());
    compare::number("reset_in_seconds", expected.get("reset_in_seconds"), reset, 1.0)?;
    let window = actual.window.map(|window| window.as_secs_f64());
    compare::number("window_seconds", expected.get("window_seconds"), window, 0.01)?;
    // A unit counts only where the engine claims one.
    match actual.unit.as_deref() {
        None => Ok(()),
        unit => compare::text("unit", expected.get("unit"), unit),
    }
}
