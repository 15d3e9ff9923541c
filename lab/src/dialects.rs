//! How servers say it: a verdict goes in, a response head comes out.

use core::fmt;
use core::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::servers::{CountedUnit, Nanos, Quota, SECOND, Verdict};

/// A way of putting limits into a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `RateLimit` and `RateLimit-Policy` as lists of named items, as the IETF
    /// draft has them since -08, with `Retry-After` on refusals.
    Ietf,
    /// `RateLimit-Limit` with the policies in its list, `-Remaining` and
    /// `-Reset` (drafts up to -03).
    IetfDraft03,
    /// The same three fields with the policies in a field of their own (-04 to
    /// -06).
    IetfDraft06,
    /// One dictionary, `RateLimit: limit=…, remaining=…, reset=…` (-07).
    IetfDraft07,
    /// `X-RateLimit-*` with the reset in seconds from now.
    XDelta,
    /// `X-RateLimit-*` with the reset in seconds of the Unix epoch.
    XEpoch,
    /// `X-RateLimit-*` with the reset in milliseconds of the Unix epoch.
    XEpochMs,
    /// `X-RateLimit-*` with `Reset-After` in decimal seconds.
    ResetAfter,
    /// Refusals alone speak: `Retry-After` in whole seconds, rounded up.
    RetryAfter,
    /// The same, rounded down: the wait may end too early, and may be 0.
    RetryAfterFloor,
    /// The same as an HTTP-date.
    RetryAfterDate,
    /// The same in milliseconds, in `retry-after-ms`.
    RetryAfterMs,
    /// `Retry-After: 1`, however long it takes.
    RetryAfterOne,
    /// A refusal says nothing but its status.
    None,
    /// A refusal is a 503 and says nothing else, as in an outage.
    Unavailable,
    /// Values that no client should trust, in turn.
    Hostile,
}

impl Dialect {
    /// All dialects, with the names that the command line uses.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("ietf", Self::Ietf),
        ("ietf-draft-03", Self::IetfDraft03),
        ("ietf-draft-06", Self::IetfDraft06),
        ("ietf-draft-07", Self::IetfDraft07),
        ("ietf-draft-08", Self::Ietf),
        ("x-delta", Self::XDelta),
        ("x-epoch", Self::XEpoch),
        ("x-epoch-ms", Self::XEpochMs),
        ("reset-after", Self::ResetAfter),
        ("retry-after", Self::RetryAfter),
        ("retry-after-floor", Self::RetryAfterFloor),
        ("retry-after-date", Self::RetryAfterDate),
        ("retry-after-ms", Self::RetryAfterMs),
        ("retry-after-1", Self::RetryAfterOne),
        ("none", Self::None),
        ("unavailable", Self::Unavailable),
        ("hostile", Self::Hostile),
    ];

    /// The name that the command line uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, dialect)| *dialect == self).map_or("ietf", |(name, _)| name)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No dialect has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect {0:?}: expected one of {names}", names = names())]
pub struct UnknownDialect(String);

fn names() -> String {
    Dialect::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        let known = Self::ALL.iter().find(|(name, _)| *name == text);
        known.map(|(_, dialect)| *dialect).ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

/// The head and body of one response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code: 200, 429 or 503.
    pub status: u16,
    /// The header fields in order. Values are bytes, because a hostile server
    /// sends what is no text.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body.
    pub body: String,
}

impl Head {
    fn field(&mut self, name: &'static str, value: impl Into<String>) {
        self.headers.push((name, value.into().into_bytes()));
    }

    fn whole_seconds(&mut self, name: &'static str, span: Nanos) {
        self.field(name, span.div_ceil(SECOND).to_string());
    }
}

/// Renders the answer to the request number `sequence`.
///
/// `wall` is the server's clock in nanoseconds of the Unix epoch; it goes into
/// `Date` and into whatever the dialect states as a date or an epoch. Spans are
/// rounded up unless the dialect says otherwise, and the `Date` is rounded
/// down, so that no client that believes them comes too early.
#[must_use]
pub fn render(dialect: Dialect, verdict: &Verdict, wall: Nanos, sequence: u64) -> Head {
    let mut head = Head {
        status: match dialect {
            _ if verdict.accepted => 200,
            Dialect::Unavailable => 503,
            _ => 429,
        },
        headers: Vec::new(),
        body: if verdict.accepted { r#"{"ok":true}"# } else { r#"{"ok":false}"# }.to_owned(),
    };
    head.field("date", http_date(wall));
    match dialect {
        Dialect::Ietf => named_lists(&mut head, verdict),
        Dialect::IetfDraft03 => triple(&mut head, verdict, true),
        Dialect::IetfDraft06 => triple(&mut head, verdict, false),
        Dialect::IetfDraft07 => dictionary(&mut head, verdict),
        Dialect::XDelta => counters(&mut head, verdict, |head, reset| {
            head.whole_seconds("x-ratelimit-reset", reset);
        }),
        Dialect::XEpoch => counters(&mut head, verdict, |head, reset| {
            head.whole_seconds("x-ratelimit-reset", wall + reset);
        }),
        Dialect::XEpochMs => counters(&mut head, verdict, |head, reset| {
            head.field("x-ratelimit-reset", milliseconds(wall + reset).to_string());
        }),
        Dialect::ResetAfter => counters(&mut head, verdict, |head, reset| {
            let milliseconds = milliseconds(reset);
            head.field("x-ratelimit-reset-after", format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000));
        }),
        Dialect::Hostile => hostile(&mut head, verdict, sequence),
        Dialect::RetryAfter | Dialect::RetryAfterFloor | Dialect::RetryAfterDate | Dialect::RetryAfterMs => {
            if let Some(wait) = verdict.retry_after {
                explicit_wait(&mut head, dialect, wait, wall);
            }
        }
        Dialect::RetryAfterOne if !verdict.accepted => head.whole_seconds("retry-after", SECOND),
        Dialect::RetryAfterOne | Dialect::None | Dialect::Unavailable => {}
    }
    let content_type = if head.body.contains("\"type\"") { "application/problem+json" } else { "application/json" };
    head.field("content-type", content_type);
    head
}

fn milliseconds(span: Nanos) -> u64 {
    span.div_ceil(SECOND / 1000)
}

fn http_date(wall: Nanos) -> String {
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(wall / SECOND))
}

fn explicit_wait(head: &mut Head, dialect: Dialect, wait: Nanos, wall: Nanos) {
    match dialect {
        Dialect::RetryAfterFloor => head.field("retry-after", (wait / SECOND).to_string()),
        Dialect::RetryAfterDate => {
            head.field("retry-after", http_date((wall + wait).next_multiple_of(SECOND)));
        }
        Dialect::RetryAfterMs => head.field("retry-after-ms", milliseconds(wait).to_string()),
        _ => head.whole_seconds("retry-after", wait),
    }
}

/// `RateLimit-Policy: "default";q=50;w=2` and `RateLimit: "default";r=49;t=2`.
fn named_lists(head: &mut Head, verdict: &Verdict) {
    let join = |item: &dyn Fn(&Quota) -> String| verdict.quotas.iter().map(item).collect::<Vec<_>>().join(", ");
    let parameter = |name: &str, span: Option<Nanos>| match span {
        Some(span) => format!(";{name}={}", span.div_ceil(SECOND)),
        None => String::new(),
    };
    head.field(
        "ratelimit-policy",
        join(&|quota| {
            let unit = match quota.unit {
                CountedUnit::Requests => "",
                CountedUnit::ConcurrentRequests => r#";qu="concurrent-requests""#,
            };
            format!(r#""{}";q={}{unit}{}"#, quota.name, quota.limit, parameter("w", quota.window))
        }),
    );
    head.field(
        "ratelimit",
        join(&|quota| format!(r#""{}";r={}{}"#, quota.name, quota.remaining, parameter("t", quota.reset))),
    );
    if let Some(wait) = verdict.retry_after {
        head.whole_seconds("retry-after", wait);
    }
    if !verdict.accepted {
        let violated = verdict.quotas.iter().filter(|quota| quota.remaining == 0).map(|quota| &quota.name);
        head.body = serde_json::json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "violated-policies": violated.collect::<Vec<_>>(),
        })
        .to_string();
    }
}

/// `RateLimit-Limit`, `-Remaining`, `-Reset` of the quota nearest to
/// exhaustion; the policies beside the limit, or in a field of their own.
fn triple(head: &mut Head, verdict: &Verdict, policies_in_limit: bool) {
    let Some(quota) = verdict.quotas.first() else { return };
    let policy = |quota: &Quota| Some(format!("{};w={}", quota.limit, quota.window?.div_ceil(SECOND)));
    let policies = verdict.quotas.iter().filter_map(policy).collect::<Vec<_>>().join(", ");
    let mut limit = quota.limit.to_string();
    if !policies.is_empty() {
        if policies_in_limit {
            limit = format!("{limit}, {policies}");
        } else {
            head.field("ratelimit-policy", policies);
        }
    }
    head.field("ratelimit-limit", limit);
    head.field("ratelimit-remaining", quota.remaining.to_string());
    if let Some(reset) = quota.reset {
        head.whole_seconds("ratelimit-reset", reset);
    }
    if let Some(wait) = verdict.retry_after {
        head.whole_seconds("retry-after", wait);
    }
}

/// `RateLimit: limit=50, remaining=49, reset=2`.
fn dictionary(head: &mut Head, verdict: &Verdict) {
    let Some(quota) = verdict.quotas.first() else { return };
    if let Some(window) = quota.window {
        head.field("ratelimit-policy", format!("{};w={}", quota.limit, window.div_ceil(SECOND)));
    }
    let reset = quota.reset.map_or(String::new(), |reset| format!(", reset={}", reset.div_ceil(SECOND)));
    head.field("ratelimit", format!("limit={}, remaining={}{reset}", quota.limit, quota.remaining));
    if let Some(wait) = verdict.retry_after {
        head.whole_seconds("retry-after", wait);
    }
}

/// `X-RateLimit-Limit` and `-Remaining`, with a reset as `write` puts it.
fn counters(head: &mut Head, verdict: &Verdict, write: impl Fn(&mut Head, Nanos)) {
    let Some(quota) = verdict.quotas.first() else { return };
    head.field("x-ratelimit-limit", quota.limit.to_string());
    head.field("x-ratelimit-remaining", quota.remaining.to_string());
    if let Some(reset) = quota.reset {
        write(head, reset);
    }
}

/// Fields that are absurd, malformed or stale.
fn hostile(head: &mut Head, verdict: &Verdict, sequence: u64) {
    const WAITS: &[&[u8]] = &[
        b"0",
        b"-1",
        b"-5",
        b"nan",
        b"1e999",
        b"18446744073709551616",
        b"Thu, 01 Jan 1970 00:00:00 GMT",
        b"soon",
        b"\xff\xfe",
        b"",
        b", ,",
    ];
    const COUNTERS: &[(&str, &[u8])] = &[
        ("x-ratelimit-remaining", b"-1"),
        ("x-ratelimit-remaining", b"1e999"),
        ("x-ratelimit-reset", b"nan"),
        ("ratelimit", b"\"a\";r=;t=\xff"),
        ("ratelimit", b"limit=, remaining=banana, reset=-3"),
        ("ratelimit-reset", b"18446744073709551616"),
        ("ratelimit-policy", b";;;\"\""),
    ];
    let turn = |count: usize| (sequence % count as u64) as usize;
    let (name, value) = COUNTERS[turn(COUNTERS.len())];
    head.headers.push((name, value.to_vec()));
    // Every fifth answer pretends to come from a cache, with an empty quota.
    if sequence % 5 == 4 {
        head.field("age", "30");
        head.field("x-ratelimit-limit", "1");
        head.field("x-ratelimit-remaining", "0");
        head.field("x-ratelimit-reset", "3600");
    }
    if !verdict.accepted {
        head.headers.push(("retry-after", WAITS[turn(WAITS.len())].to_vec()));
        head.field("x-padding", "x".repeat(4096));
    }
}

/// The wait that a refusal asks for, and its end; `None` if it asks for none.
/// `made` is when the server made it, `wall` what its clock showed, `read` when
/// the client read it.
///
/// A span counts from the moment of reading; a date or an epoch stands for the
/// moment at which the server's clock shows it.
#[must_use]
pub fn asked_until(
    dialect: Dialect,
    verdict: &Verdict,
    made: Nanos,
    wall: Nanos,
    read: Nanos,
) -> Option<(Nanos, Nanos)> {
    let span = |wait: Nanos| Some((wait, read.saturating_add(wait)));
    let seconds = |wait: Nanos| span(wait.next_multiple_of(SECOND));
    let milliseconds = |wait: Nanos| span(wait.next_multiple_of(SECOND / 1000));
    let instant = |wait: Nanos, unit: Nanos| {
        let wait = (wall + wait).next_multiple_of(unit) - wall;
        Some((wait, made + wait))
    };
    let wait = verdict.retry_after;
    let reset = || verdict.quotas.iter().find(|quota| quota.remaining == 0).and_then(|quota| quota.reset);
    match dialect {
        Dialect::Ietf | Dialect::IetfDraft03 | Dialect::IetfDraft06 | Dialect::IetfDraft07 | Dialect::RetryAfter => {
            seconds(wait?)
        }
        Dialect::RetryAfterFloor => span(wait? / SECOND * SECOND),
        Dialect::RetryAfterMs => milliseconds(wait?),
        Dialect::RetryAfterDate => instant(wait?, SECOND),
        Dialect::XDelta => seconds(reset()?),
        Dialect::ResetAfter => milliseconds(reset()?),
        Dialect::XEpoch => instant(reset()?, SECOND),
        Dialect::XEpochMs => instant(reset()?, SECOND / 1000),
        Dialect::RetryAfterOne if !verdict.accepted => span(SECOND),
        Dialect::RetryAfterOne | Dialect::None | Dialect::Unavailable | Dialect::Hostile => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::Spec;

    fn refusal() -> Verdict {
        let mut server = "fixed:limit=1,window=60,phase=37.25".parse::<Spec>().expect("a server").build();
        server.admit(0);
        server.admit(0)
    }

    #[test]
    fn a_span_counts_from_its_reading_and_an_instant_from_its_making() {
        let asked = |dialect| asked_until(dialect, &refusal(), 0, 1000 * SECOND + SECOND / 2, SECOND / 10);
        let ms = SECOND / 1000;
        assert_eq!(asked(Dialect::Ietf), Some((38 * SECOND, 38_100 * ms)));
        assert_eq!(asked(Dialect::RetryAfterFloor), Some((37 * SECOND, 37_100 * ms)));
        assert_eq!(asked(Dialect::RetryAfterDate), Some((37_500 * ms, 37_500 * ms)));
        assert_eq!(asked(Dialect::XEpochMs), Some((37_250 * ms, 37_250 * ms)));
        assert_eq!(asked(Dialect::None), None);
    }
}
