//! Bodies that say all that the header fields say, for clients that read
//! nothing else.

use serde_json::{Map, Value, json};

use super::Facts;
use crate::config::ConfigError;
use crate::refusal::Class;

/// The registry of problem types in which the RateLimit fields' draft has
/// its own.
const REGISTRY: &str = "https://iana.org/assignments/http-problem-types#";
/// "Limit exceeded" (EIP-1474): of the range that JSON-RPC leaves to servers
/// the number in widest use for it.
const LIMIT_EXCEEDED: i64 = -32_005;

/// A form of body.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Form {
    /// A plain object: `retry`, `class`, `hint`, and what is known of
    /// `retryAfter`, `limit`, `remaining`, `window`, `unit` and
    /// `violated-policies`. A `retryAfter` that is a suggestion stands beside
    /// `"retryAfterSuggested": true`.
    #[default]
    Json,
    /// Problem details (RFC 9457) with the same members; the hint is the
    /// `detail`. The `type` is one of the RateLimit fields' draft where one
    /// fits.
    Problem,
    /// A JSON-RPC 2.0 response; the same members are in `error.data` and
    /// nowhere else.
    JsonRpc {
        /// The request's: a string, a number, or null.
        id: Value,
    },
}

impl Form {
    /// The names that every language uses.
    pub const NAMES: [&'static str; 3] = ["json", "problem", "json-rpc"];

    /// The form of that name; `id` is the request's, for JSON-RPC.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for another name, and for an id that JSON-RPC does not
    /// have or another form is given.
    pub fn from_name(name: &str, id: Option<Value>) -> Result<Self, ConfigError> {
        match (name, id) {
            ("json", None) => Ok(Self::Json),
            ("problem", None) => Ok(Self::Problem),
            ("json-rpc", id) => match id.unwrap_or_default() {
                id @ (Value::Null | Value::Number(_) | Value::String(_)) => Ok(Self::JsonRpc { id }),
                _ => Err(ConfigError::new("id", "must be a string, a number or null, as JSON-RPC has it")),
            },
            ("json" | "problem", Some(_)) => Err(ConfigError::new("id", "is for the form json-rpc alone")),
            _ => Err(ConfigError::new("form", format!("must be one of {}", Self::NAMES.join(", ")))),
        }
    }

    /// The `Content-Type` that goes with it.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Json | Self::JsonRpc { .. } => "application/json",
            Self::Problem => "application/problem+json",
        }
    }
}

pub(super) fn body(facts: &Facts<'_>, form: &Form) -> Value {
    let mut members = members(facts);
    let hint = || Value::from(&*facts.hint);
    match form {
        Form::Json => {
            members.insert("hint".to_owned(), hint());
            Value::Object(members)
        }
        Form::Problem => {
            let (kind, title) = problem_type(facts);
            if let Some(kind) = kind {
                members.insert("type".to_owned(), format!("{REGISTRY}{kind}").into());
            }
            members.insert("title".to_owned(), title.into());
            members.insert("status".to_owned(), facts.status.into());
            members.insert("detail".to_owned(), hint());
            Value::Object(members)
        }
        Form::JsonRpc { id } => {
            members.insert("hint".to_owned(), hint());
            let error = json!({ "code": LIMIT_EXCEEDED, "message": message(facts), "data": members });
            json!({ "jsonrpc": "2.0", "error": error, "id": id })
        }
    }
}

/// What every form says, but for the sentence.
fn members(facts: &Facts<'_>) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("retry", (facts.class != Class::Permanent).into());
    put("class", facts.class.name().into());
    if let Some(delay) = facts.delay {
        put("retryAfter", delay.as_secs().into());
        if facts.suggested {
            put("retryAfterSuggested", true.into());
        }
    }
    for (name, number) in
        [("limit", facts.limit), ("remaining", facts.remaining), ("window", facts.window.map(u64::from))]
    {
        if let Some(number) = number {
            put(name, number.into());
        }
    }
    if let Some(unit) = facts.unit {
        put("unit", unit.into());
    }
    if !facts.policies.is_empty() {
        put("violated-policies", facts.policies.iter().map(|name| Value::from(&**name)).collect());
    }
    members
}

/// The problem type and its title. Without a type (`about:blank`) the title is
/// the status' phrase (RFC 9457 section 4.2.1): no registered type says that
/// coming back is pointless.
fn problem_type(facts: &Facts<'_>) -> (Option<&'static str>, &'static str) {
    match (facts.class, facts.status) {
        _ if facts.abnormal => {
            (Some("abnormal-usage-detected"), "Request not satisfied due to detection of abnormal request pattern")
        }
        (Class::Permanent, 403) => (None, "Forbidden"),
        (Class::Permanent, _) => (None, "Too Many Requests"),
        (_, 503) => (
            Some("temporary-reduced-capacity"),
            "Request cannot be satisfied due to temporary server capacity constraints",
        ),
        _ => (Some("quota-exceeded"), "Request cannot be satisfied as assigned quota has been exceeded"),
    }
}

fn message(facts: &Facts<'_>) -> &'static str {
    match (facts.class, facts.status) {
        _ if facts.abnormal => "abnormal usage detected",
        (Class::Permanent, _) => "refused for good",
        (Class::Capacity, 503) => "server at capacity",
        (Class::Capacity, _) => "too many requests at a time",
        _ => "rate limit exceeded",
    }
}

/// The sentence where the server states none.
pub(super) fn general_hint(facts: &Facts<'_>) -> String {
    let advice = match (facts.class, facts.delay) {
        (Class::Permanent, _) => "to try again is pointless".to_owned(),
        (_, Some(delay)) => format!("try again in {} s", delay.as_secs()),
        (_, None) if facts.status == 503 => "try again later".to_owned(),
        (_, None) => "try again when one of them has ended".to_owned(),
    };
    format!("{}: {advice}", message(facts))
}
