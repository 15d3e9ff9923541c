//! What is rare enough to travel as JSON: names, errors, events, statistics.
//! Members have JavaScript's names; durations are milliseconds.

use core::time::Duration;

use rampmeter::{
    Backoff, Class, Config, ConfigError, Error, Event, EventKind, FailureKind, Form, Instant, LOCAL_REFUSAL_HEADER,
    LOCAL_REFUSAL_STATUS, Meter, Notice, Period, Reason, ScopeStats, Signals, Stats, WaitSource, options_json,
};
use serde_json::{Map, Value, json};

use crate::state::{KINDS, milliseconds};

/// Everything that JavaScript does not type a second time.
pub(crate) fn names() -> Value {
    let list = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "decisions": KINDS,
        "reasons": list(&mut Reason::ALL.iter().map(|(name, _)| *name)),
        "events": list(&mut EventKind::ALL.iter().map(|(name, _)| *name)),
        "failures": list(&mut FailureKind::ALL.iter().map(|(name, _)| *name)),
        "classes": list(&mut Class::ALL.iter().map(|(name, _)| *name)),
        "forms": Form::NAMES,
        "periods": list(&mut Period::ALL.iter().map(|(name, _)| *name)),
        "waitSources": list(&mut WaitSource::ALL.iter().map(|(name, _)| *name)),
        "backoffs": Backoff::KINDS,
        "errors": Error::NAMES,
        "localRefusal": { "status": LOCAL_REFUSAL_STATUS, "marker": LOCAL_REFUSAL_HEADER, "retryAfter": WaitSource::RetryAfter.name() },
        "options": options_json(),
    })
}

/// The values of all options under the core's names.
pub(crate) fn options(config: &Config) -> Value {
    rampmeter::options().iter().map(|option| (option.name.to_owned(), config.get(option.name))).collect()
}

pub(crate) fn config_error(error: &ConfigError) -> Value {
    json!({ "name": Error::NAMES[3], "option": error.option, "problem": error.problem })
}

pub(crate) fn error(error: &Error) -> Value {
    let mut fields = match error {
        Error::Config(error) => return config_error(error),
        Error::Exceeded(exceeded) => json!({
            "limitName": exceeded.limit_name,
            "limitValueMs": span(exceeded.limit_value),
            "retryAfterMs": span(exceeded.retry_after),
            "availableInMs": span(exceeded.available_in),
        }),
        _ => json!({}),
    };
    fields["name"] = json!(error.name());
    fields["message"] = json!(error.to_string());
    if let Some(details) = error.details() {
        fields["scope"] = json!(details.scope);
        fields["meter"] = json!(details.meter);
        fields["status"] = json!(details.status);
        fields["limit"] = json!(details.limit);
        fields["hint"] = json!(details.hint);
        fields["attempts"] = json!(details.attempts);
    }
    fields
}

pub(crate) fn events(events: &[Event]) -> Value {
    events
        .iter()
        .map(|event| {
            json!({
                "kind": event.kind.name(),
                "at": event.at.as_nanos() as f64 / 1e6,
                "scope": event.scope,
                "method": event.method,
                "route": event.route,
                "meter": event.meter,
                "durationMs": event.seconds.map(|seconds| seconds * 1e3),
                "reason": event.reason.map(Reason::name),
                "attempt": event.attempt,
                "status": event.status,
                "waiting": event.waiting,
                "headers": event.headers,
                "detail": event.detail,
            })
        })
        .collect()
}

pub(crate) fn notices(notices: &[Notice]) -> Value {
    notices.iter().map(|notice| json!({ "warning": notice.warning, "message": notice.message })).collect()
}

pub(crate) fn stats(stats: &Stats) -> Value {
    json!({
        "total": scope_stats(&stats.total),
        "scopes": stats.scopes.iter().map(scope_stats).collect::<Vec<_>>(),
        "droppedEvents": stats.dropped_events,
    })
}

fn scope_stats(stats: &ScopeStats) -> Value {
    json!({
        "scope": stats.scope,
        "sent": stats.sent,
        "refused": stats.refused,
        "accepted": stats.accepted,
        "failed": stats.failed,
        "waits": stats.waits,
        "sleptMs": milliseconds(stats.slept),
        "raised": stats.raised,
        "ignored": stats.ignored,
        "waiting": stats.waiting,
        "inFlight": stats.in_flight,
        "heldForMs": span(stats.held_for),
    })
}

/// Meters; `resetAt` is an instant on the monotonic clock, so that a reading
/// can age.
pub(crate) fn meters(meters: &[Meter], now: Instant) -> Value {
    let reset_at = |meter: &Meter| {
        let left = meter.until_reset(now)?;
        Some(now.as_nanos() as f64 / 1e6 + milliseconds(left))
    };
    meters
        .iter()
        .map(|meter| {
            json!({
                "name": meter.name,
                "route": meter.route,
                "limit": meter.limit,
                "remaining": meter.remaining,
                "resetAt": reset_at(meter),
                "windowMs": span(meter.window),
                "unit": meter.unit,
                "policy": meter.policy,
            })
        })
        .collect()
}

pub(crate) fn signals(signals: &Signals) -> Value {
    let mut fields = Map::new();
    fields.insert(
        "meters".to_owned(),
        signals
            .meters
            .iter()
            .map(|reading| {
                json!({
                    "name": reading.name,
                    "limit": reading.limit,
                    "remaining": reading.remaining,
                    "resetMs": span(reading.reset),
                    "windowMs": span(reading.window),
                    "unit": reading.unit,
                    "policy": reading.policy,
                    "informative": reading.informative,
                })
            })
            .collect(),
    );
    fields.insert(
        "wait".to_owned(),
        signals.wait.map_or(Value::Null, |wait| json!({ "ms": milliseconds(wait.span), "source": wait.source.name() })),
    );
    fields.insert(
        "refusal".to_owned(),
        signals.refusal.as_ref().map_or(Value::Null, |refusal| {
            json!({
                "class": refusal.class.name(),
                "meter": refusal.meter,
                "limit": refusal.limit,
                "hint": refusal.hint,
                "firstWaitMs": span(refusal.first_wait),
            })
        }),
    );
    fields.insert("ageMs".to_owned(), json!(span(signals.age)));
    fields.insert("date".to_owned(), json!(signals.date.map(|date| date.as_unix_seconds() * 1e3)));
    fields.insert(
        "ignored".to_owned(),
        signals.ignored.iter().map(|ignored| json!({ "field": ignored.field, "why": ignored.why })).collect(),
    );
    Value::Object(fields)
}

fn span(span: Option<Duration>) -> Option<f64> {
    span.map(milliseconds)
}
