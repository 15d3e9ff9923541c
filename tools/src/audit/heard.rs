//! What each part of a response says when the others are not heard: the
//! header to one who reads no body, the body to one who reads no header.

use httpdate::parse_http_date;
use rampmeter::{Class, Reader, Response, Signals, WaitSource, Wall, parse_retry_after};
use serde_json::{Map, Value};

use crate::input::Exchange;
use crate::words;

/// The status of a refusal that may be of any class: what the parts of others
/// say is read as if they had it.
const NEUTRAL: u16 = 429;

/// A response, heard in parts.
pub(super) struct Heard<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) reader: &'a Reader,
    pub(super) now: Option<Wall>,
    /// All of it.
    pub(super) signals: Signals,
    pub(super) field: RetryAfter,
    pub(super) body: Body,
}

/// `Retry-After`, read as RFC 9110 section 10.2.3 has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RetryAfter {
    Absent,
    /// Several lines that differ.
    Several(String),
    /// Nobody can read it.
    Unreadable(String),
    /// Some can: it is of another form. With the seconds that it means.
    Odd(String, f64),
    Seconds(f64),
    /// In so many seconds.
    Date(f64),
}

impl RetryAfter {
    /// Seconds, if they can be read.
    pub(super) fn seconds(&self) -> Option<f64> {
        match self {
            Self::Odd(_, seconds) | Self::Seconds(seconds) | Self::Date(seconds) => Some(*seconds),
            Self::Absent | Self::Several(_) | Self::Unreadable(_) => None,
        }
    }
}

/// What stands in the body for one who reads nothing but JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Absent,
    /// There was one, of which the input has nothing.
    Unseen,
    /// Something else than JSON; named.
    Foreign(&'static str),
    Json(Members),
}

impl Body {
    /// Seconds that a member states.
    pub(super) fn seconds(&self) -> Option<f64> {
        match self {
            Self::Json(members) => members.wait,
            Self::Absent | Self::Unseen | Self::Foreign(_) => None,
        }
    }
}

/// The members that declare what a refusal is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    /// `retry`, if it is true or false.
    pub(super) retry: Option<bool>,
    /// `retry` is there and is neither.
    pub(super) odd_retry: bool,
    /// Seconds, from whichever member.
    pub(super) wait: Option<f64>,
    /// They are no promise but a suggestion.
    pub(super) suggested: bool,
    /// Seconds that only a sentence tells.
    pub(super) in_sentence: Option<f64>,
    /// Seconds stand where JSON-RPC has no members of others.
    pub(super) misplaced: bool,
    /// The body is JSON-RPC's: the members belong into `error.data`.
    pub(super) rpc: bool,
    /// JSON, but declared as that other type.
    pub(super) mistyped: Option<String>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(exchange: &'a Exchange, reader: &'a Reader, received: f64) -> Self {
        let now = Wall::from_unix_seconds(received);
        let response = Response::new(exchange.status, &exchange.headers).cached(exchange.cached);
        let signals = reader.read(&response.body(exchange.body.as_deref()), now);
        let mut heard = Self { exchange, reader, now, signals, field: RetryAfter::Absent, body: Body::Absent };
        heard.field = heard.retry_after();
        heard.body = heard.body();
        heard
    }

    /// The class, whatever the status suggests: a 503 that knows its seconds
    /// owes what any refusal owes that does.
    pub(super) fn class(&self) -> Option<Class> {
        let class = self.signals.refusal.as_ref()?.class;
        let by_status = class == Class::Capacity && self.exchange.status != NEUTRAL;
        let apart = if by_status {
            let response = Response::new(NEUTRAL, &self.exchange.headers).body(self.exchange.body.as_deref());
            self.reader.read(&response, self.now).refusal.map_or(class, |refusal| refusal.class)
        } else {
            class
        };
        Some(match apart {
            Class::Unknown if self.field != RetryAfter::Absent || self.signals.wait.is_some() => Class::Windowed,
            Class::Unknown => class,
            apart => apart,
        })
    }

    /// The wait that can be suggested, in whole seconds from 1.
    pub(super) fn seconds(&self) -> Option<f64> {
        let reset = || {
            let empty = self.signals.meters.iter().filter(|meter| meter.remaining == Some(0.0));
            empty.filter_map(|meter| meter.reset).max().map(|reset| reset.as_secs_f64())
        };
        let asked = || self.signals.wait.map(|wait| wait.span.as_secs_f64());
        // The longer of two that differ keeps both promises.
        let told = match (self.field.seconds(), self.body.seconds()) {
            (Some(field), Some(member)) => Some(field.max(member)),
            (field, member) => field.or(member),
        };
        told.or_else(asked).filter(|seconds| *seconds > 0.0).or_else(reset).map(|seconds| seconds.ceil().max(1.0))
    }

    fn retry_after(&self) -> RetryAfter {
        let mut lines = self.exchange.lines("retry-after");
        let Some(value) = lines.next() else { return RetryAfter::Absent };
        let shown = words::plain(value, 60);
        if lines.any(|other| other != value) {
            return RetryAfter::Several(shown);
        }
        let date = self.signals.date.filter(|_| self.signals.age.is_none_or(|age| age.is_zero()));
        let Some(seconds) = parse_retry_after(value, self.now, date).map(|wait| wait.as_secs_f64()) else {
            return RetryAfter::Unreadable(shown);
        };
        let text = core::str::from_utf8(value).unwrap_or_default();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Otherwise it was read as the epoch that it looks like.
            let delta = text.parse::<f64>().is_ok_and(|number| (number - seconds).abs() < 1.0);
            return if delta { RetryAfter::Seconds(seconds) } else { RetryAfter::Odd(shown, seconds) };
        }
        if parse_http_date(text).is_ok() { RetryAfter::Date(seconds) } else { RetryAfter::Odd(shown, seconds) }
    }

    fn body(&self) -> Body {
        let Some(bytes) = self.exchange.body.as_deref().map(<[u8]>::trim_ascii).filter(|bytes| !bytes.is_empty())
        else {
            let length = self.exchange.header("content-length").unwrap_or_default();
            let had_one = self.exchange.body.is_none() && (self.exchange.body_is_lost || !matches!(length, b"" | b"0"));
            let asked_for_none =
                self.exchange.method.as_deref().is_some_and(|method| method.eq_ignore_ascii_case("HEAD"));
            return if had_one || asked_for_none { Body::Unseen } else { Body::Absent };
        };
        let root = match serde_json::from_slice::<Value>(bytes) {
            Ok(root @ (Value::Object(_) | Value::Array(_))) => root,
            Ok(_) => return Body::Foreign("a bare value"),
            Err(_) if bytes.starts_with(b"<") => return Body::Foreign("HTML or XML"),
            Err(_) if matches!(bytes.first(), Some(b'{' | b'[')) => return Body::Foreign("broken JSON"),
            Err(_) => return Body::Foreign("plain text"),
        };
        let declared = self.exchange.header("content-type").map(|kind| words::plain(kind, 60));
        let is_json =
            |kind: &String| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().ends_with("json");
        Body::Json(Members { mistyped: declared.filter(|kind| !is_json(kind)), ..self.members(&root) })
    }

    fn members(&self, root: &Value) -> Members {
        let first = root.as_array().and_then(|entries| entries.first()).unwrap_or(root);
        let rpc = first.get("jsonrpc").is_some();
        let member = |name: &str| places(first, rpc).into_iter().find_map(|members| members.get(name));
        let retry = member("retry");
        let bare = self.wait_in(&without_sentences(root, true));
        let misplaced = rpc && bare.is_none() && self.wait_in(&without_sentences(root, false)).is_some();
        Members {
            retry: retry.and_then(Value::as_bool),
            odd_retry: retry.is_some_and(|retry| !retry.is_boolean()),
            wait: bare,
            suggested: member("retryAfterSuggested").and_then(Value::as_bool) == Some(true),
            in_sentence: self.wait_in(root).filter(|_| bare.is_none() && !misplaced),
            misplaced,
            rpc,
            mistyped: None,
        }
    }

    /// The wait that a reader finds in a body to which no header field about
    /// limits belongs.
    fn wait_in(&self, body: &Value) -> Option<f64> {
        let clock: Vec<_> = self
            .exchange
            .headers
            .iter()
            .filter(|(name, _)| [&b"date"[..], b"age"].iter().any(|clock| name.eq_ignore_ascii_case(clock)))
            .collect();
        let clock: Vec<(&[u8], &[u8])> = clock.into_iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let body = body.to_string();
        let read = self.reader.read(&Response::new(NEUTRAL, &clock).body(Some(body.as_bytes())), self.now);
        read.wait.filter(|wait| wait.source == WaitSource::Body).map(|wait| wait.span.as_secs_f64())
    }
}

/// Where the members of the contract may stand.
fn places(root: &Value, rpc: bool) -> Vec<&Map<String, Value>> {
    let error = root.get("error");
    let data = error.and_then(|error| error.get("data"));
    // Where FastAPI puts what an exception is given.
    let detail = root.get("detail");
    let all = if rpc { [None, None, data, None] } else { [Some(root), error, data, detail] };
    all.into_iter().flatten().filter_map(Value::as_object).collect()
}

/// The same without its sentences, which only people read; with `placed` of
/// JSON-RPC only what stands where its specification leaves room.
fn without_sentences(value: &Value, placed: bool) -> Value {
    let inner = |value: &Value| without_sentences(value, placed);
    match value {
        Value::Object(members) if placed && members.contains_key("jsonrpc") => {
            let data = value.pointer("/error/data").map_or(Value::Null, inner);
            serde_json::json!({"jsonrpc": "2.0", "error": {"data": data}})
        }
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), inner(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(entries) => entries.iter().map(inner).collect::<Vec<_>>().into(),
        Value::String(text) if text.contains(' ') && rampmeter::parse_date(text).is_none() => Value::Null,
        other => other.clone(),
    }
}
