//! Responses as JSON objects, in a list or one after the other, as a program
//! logs them:
//!
//! ```json
//! {"status": 429, "headers": {"Retry-After": "30"}, "body": "...",
//!  "method": "GET", "url": "https://api.example.com/v1/items", "time": 1786000000}
//! ```
//!
//! Only `status` and `headers` must be there.

use serde_json::{Map, Value};

use super::{Exchange, Input, moment};

pub(super) fn read(values: impl IntoIterator<Item = Result<Value, serde_json::Error>>) -> Input {
    let mut input = Input::default();
    for (at, value) in values.into_iter().enumerate() {
        let read = match value {
            Ok(Value::Object(record)) => exchange(&record),
            Ok(_) => Err("is no object".to_owned()),
            Err(error) => Err(format!("is no JSON: {error}")),
        };
        match read {
            Ok(exchange) => input.exchanges.push(exchange),
            Err(why) => input.notes.push(format!("record {} {why}", at + 1)),
        }
    }
    input
}

fn exchange(record: &Map<String, Value>) -> Result<Exchange, String> {
    let status = record
        .get("status")
        .or_else(|| record.get("status_code"))
        .and_then(Value::as_u64)
        .and_then(|status| u16::try_from(status).ok())
        .ok_or("has no `status`, a number")?;
    let headers = record.get("headers").and_then(headers).ok_or("has no `headers`, an object or a list of pairs")?;
    let text = |name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
    let time = record.get("time").and_then(moment);
    Ok(Exchange {
        method: text("method"),
        url: text("url"),
        status,
        headers,
        body: match record.get("body") {
            None | Some(Value::Null) => None,
            Some(Value::String(body)) => Some(body.clone().into_bytes()),
            Some(body) => Some(body.to_string().into_bytes()),
        },
        sent: time,
        received: time,
        ..Exchange::default()
    })
}

/// Header fields as an object, as pairs, or as objects with name and value.
pub(super) fn headers(value: &Value) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &Value| {
        let one = |value: &Value| match value {
            Value::String(text) => Some(text.clone().into_bytes()),
            Value::Number(number) => Some(number.to_string().into_bytes()),
            _ => None,
        };
        let values: Vec<_> = match value {
            Value::Array(lines) => lines.iter().filter_map(one).collect(),
            value => one(value).into_iter().collect(),
        };
        headers.extend(values.into_iter().map(|value| (name.as_bytes().to_vec(), value)));
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| add(name, value)),
        Value::Array(entries) => {
            for entry in entries {
                match entry {
                    Value::Array(pair) => {
                        if let [Value::String(name), value] = pair.as_slice() {
                            add(name, value);
                        }
                    }
                    Value::Object(field) => {
                        if let (Some(Value::String(name)), Some(value)) = (field.get("name"), field.get("value")) {
                            add(name, value);
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => return None,
    }
    Some(headers)
}
