//! Whether a response is a refusal, of which class, and of which quota.
//!
//! A 429 always is one. Any other status needs a signal beside it, because
//! servers send counters with ordinary errors too.

use core::time::Duration;

use super::Reading;
use super::body::Said;
use super::fields::Fields;
use crate::refusal::{Class, Refusal};

/// GitHub asks for a minute after its secondary limit
/// (docs.github.com, rate limits for the REST API).
const SECONDARY: Duration = Duration::from_secs(60);

/// What the reasons in header fields say.
#[derive(Default)]
struct Reasons {
    capacity: bool,
    /// All of the scope, whatever the counters show.
    all: bool,
    meter: Option<Box<str>>,
}

/// The verdict on a response. `asked` is the wait that its header fields or
/// body ask, whichever comes first, in seconds.
pub(super) fn judge(
    status: u16,
    fields: &Fields<'_>,
    meters: &[Reading],
    said: &Said,
    header_wait: Option<f64>,
    asked: Option<f64>,
    base: Option<f64>,
) -> Option<Refusal> {
    let reasons = reasons(fields, meters);
    let class = class(status, fields, meters, said, &reasons, header_wait, asked)?;
    let mut refusal = Refusal::new(class);
    if !reasons.all && !said.global && !said.secondary {
        refusal.meter = meter(fields, meters, said, reasons.meter, asked);
    }
    let named = |meter: &&Reading| meter.name.is_some() && meter.name == refusal.meter;
    let refused = meters.iter().find(named).or_else(|| {
        let mut empty = meters.iter().filter(|meter| is_empty(meter));
        empty.next().filter(|_| empty.next().is_none() && refusal.meter.is_none())
    });
    refusal.limit = said.limit.or(refused.and_then(|meter| meter.limit));
    refusal.hint.clone_from(&said.hint);
    if asked.is_none() {
        refusal.first_wait = if said.secondary {
            Some(SECONDARY)
        } else if said.google_day {
            base.and_then(pacific_midnight)
        } else {
            said.refill.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        };
    }
    Some(refusal)
}

/// Whether some counter shows that there is something left.
pub(super) fn stocked(meters: &[Reading]) -> bool {
    meters.iter().any(|meter| meter.remaining.is_some_and(|left| left > 0.0)) && !meters.iter().any(is_empty)
}

fn is_empty(meter: &Reading) -> bool {
    !meter.informative && meter.remaining.is_some_and(|left| left <= 0.0)
}

fn class(
    status: u16,
    fields: &Fields<'_>,
    meters: &[Reading],
    said: &Said,
    reasons: &Reasons,
    header_wait: Option<f64>,
    asked: Option<f64>,
) -> Option<Class> {
    if said.ruled.is_some() {
        return said.ruled;
    }
    let empty = meters.iter().any(is_empty);
    let way_back = meters.iter().any(|meter| is_empty(meter) && meter.reset.is_some());
    let words = said.windowed || said.worded;
    // A body's own word counts on a status that can be a refusal; inside
    // JSON-RPC on any.
    let declared = said.retry.is_some() || said.class.is_some();
    let refused = match status {
        429 => true,
        503 | 529 => header_wait.is_some() || said.capacity || said.windowed || declared,
        403 => (empty && way_back) || header_wait.is_some() || words || said.meta || said.permanent || declared,
        // Nothing was processed: the request came too slowly or was too much
        // for now. Servers that always send the field mean nothing by it.
        408 | 413 => (header_wait.is_some() && !stocked(meters)) || said.windowed || said.retry == Some(true),
        // It may have been processed: a wait alone makes no refusal of it.
        500 | 502 | 504 => said.windowed || said.retry == Some(true),
        418 | 420 | 430 | 477 => header_wait.is_some() || asked.is_some() || empty || words || declared,
        200..=299 => said.windowed || said.capacity && said.hint.is_some() || said.rpc,
        400 => said.windowed || said.meta || said.rpc,
        401..=599 => said.windowed || said.rpc,
        _ => false,
    };
    if !refused {
        return None;
    }
    if let Some(class) = said.class {
        return Some(class);
    }
    if said.permanent || said.retry == Some(false) || fields.should_retry == Some(false) {
        return Some(Class::Permanent);
    }
    let hopeless = asked.is_none() && !way_back && !empty;
    if hopeless && (said.spent || said.billing && !said.windowed) {
        return Some(Class::Permanent);
    }
    // Nothing left that is counted in flight, and nothing else is empty.
    let in_flight = empty
        && meters
            .iter()
            .filter(|meter| is_empty(meter))
            .all(|meter| meter.unit.as_deref() == Some("concurrent-requests"));
    if said.capacity || reasons.capacity || in_flight || (said.retry == Some(true) && asked.is_none() && !way_back) {
        return Some(Class::Capacity);
    }
    if words || said.meta {
        return Some(Class::Windowed);
    }
    if matches!(status, 408 | 413 | 500 | 502 | 503 | 504 | 529) {
        return Some(Class::Capacity);
    }
    let told = fields.any || !meters.is_empty() || !fields.waits.is_empty() || fields.retry_after_ms.is_some();
    let by_status = matches!(status, 418 | 420);
    if told || by_status || said.retry == Some(true) || said.wait.is_some() {
        return Some(Class::Windowed);
    }
    Some(Class::Unknown)
}

/// Whether two names are one, apart from case and punctuation.
fn alike(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<u8> {
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
    };
    letters(one) == letters(other)
}

fn known<'a>(meters: &'a [Reading], name: &str) -> Option<&'a str> {
    meters.iter().filter_map(|meter| meter.name.as_deref()).find(|known| alike(known, name))
}

fn reasons(fields: &Fields<'_>, meters: &[Reading]) -> Reasons {
    let mut reasons = Reasons::default();
    for (header, value) in &fields.reasons {
        let lower = value.to_ascii_lowercase();
        reasons.capacity |= lower.contains("concurren");
        match (header.as_str(), lower.as_str()) {
            ("x-rate-limit-type", "service") => reasons.capacity = true,
            ("x-rate-limit-type", "application") => reasons.meter = Some("app".into()),
            ("x-ratelimit-global", "true") | (_, "global") => reasons.all = true,
            ("x-ratelimit-scope", _) => reasons.meter.clone_from(&fields.label),
            ("stripe-rate-limited-reason", reason) => {
                reasons.all |= reason.starts_with("global");
                reasons.meter = Some((**value).into());
            }
            (header, _) if header.ends_with("limit-reason") => reasons.meter = Some((**value).into()),
            _ => {
                if let Some(name) = known(meters, value) {
                    reasons.meter = Some(name.into());
                }
            }
        }
    }
    reasons
}

/// The quota that is exceeded: the one that is named, else the one that is
/// empty; of several empty ones that whose reset is the wait.
fn meter(
    fields: &Fields<'_>,
    meters: &[Reading],
    said: &Said,
    reason: Option<Box<str>>,
    asked: Option<f64>,
) -> Option<Box<str>> {
    if let Some(name) = said.meter.as_ref().or(fields.refused.as_ref()) {
        return Some(known(meters, name).map_or_else(|| name.clone(), Into::into));
    }
    if reason.is_some() {
        return reason;
    }
    let empty: Vec<_> = meters.iter().filter(|meter| is_empty(meter)).collect();
    match empty[..] {
        [] => {
            // A wait of a meter's own, without counters.
            let mut named = fields.waits.iter().map(|(_, meter)| meter).filter(|meter| !meter.is_empty());
            named.next().filter(|_| named.next().is_none()).map(|name| name.as_str().into())
        }
        [only] => only.name.clone(),
        _ => {
            let due = |meter: &&&Reading| {
                meter.reset.zip(asked).is_some_and(|(reset, asked)| (reset.as_secs_f64() - asked).abs() <= 1.0)
            };
            let mut due = empty.iter().filter(due);
            due.next().filter(|_| due.next().is_none()).and_then(|meter| meter.name.clone())
        }
    }
}

/// The earliest that Google's day, which ends at midnight Pacific time, can
/// end: 07:00 UTC in summer, an hour later in winter.
fn pacific_midnight(base: f64) -> Option<Duration> {
    const DAY: f64 = 86_400.0;
    Duration::try_from_secs_f64(DAY - (base - 7.0 * 3600.0).rem_euclid(DAY)).ok()
}
