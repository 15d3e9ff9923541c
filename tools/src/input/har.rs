//! HAR files, as browsers and proxies export them
//! (w3c.github.io/web-performance/specs/HAR).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::records::headers;
use super::{Exchange, Input, moment};

pub(super) fn read(log: &Value) -> Result<Input, String> {
    let entries = log.get("entries").and_then(Value::as_array).ok_or("the HAR file has no `log.entries`")?;
    let mut input = Input::default();
    let (mut unanswered, mut foreign) = (0, 0);
    for entry in entries {
        match exchange(entry) {
            Some(exchange) if exchange.status == 0 => unanswered += 1,
            Some(exchange) if !is_http(exchange.url.as_deref()) => foreign += 1,
            Some(exchange) => input.exchanges.push(exchange),
            None => unanswered += 1,
        }
    }
    // Exports may be in the order in which the responses ended.
    input.exchanges.sort_by(|a, b| a.sent.unwrap_or(0.0).total_cmp(&b.sent.unwrap_or(0.0)));
    let mut left_out = |count: usize, what: &str| {
        if count > 0 {
            input.notes.push(format!("of {} entries {count} {what}, left out", entries.len()));
        }
    };
    left_out(unanswered, "without a response");
    left_out(foreign, "to no HTTP server");
    Ok(input)
}

/// Browsers write the version as ALPN or as HTTP does.
fn version(told: &str) -> String {
    match told.to_ascii_lowercase().as_str() {
        "h2" | "http/2.0" => "HTTP/2".to_owned(),
        "h3" | "http/3.0" => "HTTP/3".to_owned(),
        other => other.to_ascii_uppercase(),
    }
}

fn is_http(url: Option<&str>) -> bool {
    url.is_some_and(|url| {
        let scheme = url.split(':').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

fn exchange(entry: &Value) -> Option<Exchange> {
    let (request, response) = (entry.get("request")?, entry.get("response")?);
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let sent = entry.get("startedDateTime").and_then(moment);
    let took = entry.get("time").and_then(Value::as_f64).filter(|millis| (0.0..1e9).contains(millis));
    let content = response.get("content");
    let body = content.and_then(|content| content.get("text")).and_then(Value::as_str).and_then(|text| {
        match content.and_then(|content| content.get("encoding")).and_then(Value::as_str) {
            Some("base64") => STANDARD.decode(text).ok(),
            _ => Some(text.as_bytes().to_vec()),
        }
    });
    // Exports without content tell its size all the same.
    let size = content.and_then(|content| content.get("size")).and_then(Value::as_f64);
    let body_is_lost = body.is_none() && size.is_some_and(|size| size > 0.0);
    let request_headers = request.get("headers").and_then(headers).unwrap_or_default();
    let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    // Chrome and Firefox spell it differently.
    let cache = ["_fromCache", "fromCache"].iter().find_map(|name| entry.get(*name));
    Some(Exchange {
        method: Some(text(request, "method")),
        url: Some(text(request, "url")),
        request_headers: request_headers
            .into_iter()
            .filter_map(|(name, value)| Some((utf8(name)?, utf8(value)?)))
            .collect(),
        version: version(&text(response, "httpVersion")),
        status: response.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok())?,
        phrase: text(response, "statusText"),
        headers: response.get("headers").and_then(headers).unwrap_or_default(),
        body: body.filter(|body| !body.is_empty()),
        body_is_lost,
        cached: cache.is_some_and(|cache| !matches!(cache, Value::Null | Value::Bool(false))),
        sent,
        received: sent.map(|sent| sent + took.unwrap_or(0.0) / 1e3),
    })
}
