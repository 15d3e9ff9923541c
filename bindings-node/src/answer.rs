//! Refusals as a server writes them.

use napi_derive::napi;
use rampmeter::{Answer, ConfigError, Delay, Form};
use serde_json::{Value, json};

use crate::json::config_error;

/// What the answer of that kind with these options (JSON, by the core's
/// names) says: its figures, and the response with a body in that form. `id`
/// is JSON too. Answers `{"error": {…}}` where that cannot be.
#[napi(catch_unwind)]
pub fn answer(kind: String, options: String, form: Option<String>, id: Option<String>) -> String {
    said(&kind, &options, form.as_deref(), id.as_deref())
        .unwrap_or_else(|error| json!({ "error": config_error(&error) }))
        .to_string()
}

fn said(kind: &str, options: &str, form: Option<&str>, id: Option<&str>) -> Result<Value, ConfigError> {
    let answer = Answer::from_options(kind, &parsed(options))?;
    let form = Form::from_name(form.unwrap_or(Form::NAMES[0]), id.map(parsed))?;
    let refusal = answer.refusal();
    let fields = |fields: Vec<(&'static str, String)>| -> Value {
        fields.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect()
    };
    let rendered = answer.render(&form);
    Ok(json!({
        "class": refusal.class.name(),
        "status": rendered.status,
        "seconds": answer.delay().map(Delay::as_secs),
        "limit": refusal.limit,
        "hint": refusal.hint,
        "policies": answer.policies().collect::<Vec<_>>(),
        "headers": fields(answer.headers()),
        "body": answer.body(&form),
        "rendered": { "status": rendered.status, "headers": fields(rendered.headers), "body": rendered.body },
    }))
}

/// JSON that JavaScript wrote; what is none is null.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
