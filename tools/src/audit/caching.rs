//! What a cache may do with a response (RFC 9111).

use rampmeter::{Reader, Response, Wall};

use super::finding::Finding;
use crate::input::Exchange;

/// The directives of `Cache-Control` that matter here.
#[derive(Debug, Default)]
struct Directives {
    no_store: bool,
    private: bool,
    public: bool,
    /// Seconds for which a shared cache may answer with it.
    shared: Option<f64>,
    /// Seconds for which any cache may.
    fresh: Option<f64>,
}

impl Directives {
    fn of(exchange: &Exchange) -> Self {
        let mut found = Self::default();
        for line in exchange.lines("cache-control") {
            let line = String::from_utf8_lossy(line).to_ascii_lowercase();
            for directive in line.split(',') {
                let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
                let seconds = value.trim().trim_matches('"').parse::<f64>().ok();
                match name.trim() {
                    "no-store" => found.no_store = true,
                    "private" => found.private = true,
                    "public" => found.public = true,
                    "s-maxage" => found.shared = seconds,
                    "max-age" => found.fresh = seconds,
                    _ => {}
                }
            }
        }
        found.fresh = found.fresh.or_else(|| expires(exchange));
        found
    }

    fn is_kept_by_any(&self) -> bool {
        let lasts = [self.shared, self.fresh].into_iter().flatten().any(|seconds| seconds > 0.0);
        !self.no_store && (lasts || self.public)
    }

    /// Section 3.5: with credentials in the request only where the response
    /// says so.
    fn is_kept_by_shared(&self, with_credentials: bool) -> bool {
        let lasts = self.shared.or(self.fresh.filter(|_| !with_credentials)).is_some_and(|seconds| seconds > 0.0);
        !self.no_store && !self.private && (lasts || self.public && self.shared.or(self.fresh) != Some(0.0))
    }
}

/// Seconds until `Expires`, from `Date`.
fn expires(exchange: &Exchange) -> Option<f64> {
    let moment = |name: &str| {
        let value = core::str::from_utf8(exchange.header(name)?).ok()?;
        rampmeter::parse_date(value).map(Wall::as_unix_seconds)
    };
    Some(moment("expires")? - moment("date")?)
}

/// A refusal is an answer to one caller at one moment (RFC 6585 section 4: a
/// 429 must not be stored).
pub(super) fn refusal(exchange: &Exchange, age: f64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if Directives::of(exchange).is_kept_by_any() {
        findings.push(Finding::warning(
            "cacheable",
            "a cache may keep this refusal and hand it to others, or to this caller once the limit has passed",
            "`Cache-Control: no-store`",
        ));
    }
    if age > 0.0 || exchange.cached {
        findings.push(Finding::warning(
            "from-a-cache",
            "a cache answered with a refusal that was made earlier, perhaps for another caller",
            "`Cache-Control: no-store` on every refusal",
        ));
    }
    findings
}

/// What is left is one caller's: a shared cache hands it to the others.
pub(super) fn served(exchange: &Exchange, reader: &Reader, now: Option<Wall>) -> Option<Finding> {
    let with_credentials = exchange.request_headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let per_caller = exchange.lines("vary").any(|line| {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        line.split(',').any(|name| matches!(name.trim(), "*" | "authorization" | "cookie"))
    });
    if per_caller || !Directives::of(exchange).is_kept_by_shared(with_credentials) {
        return None;
    }
    // Figures in a cached answer are no reading, but they were sent.
    let headers: Vec<_> = exchange.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"age")).collect();
    let headers: Vec<(&[u8], &[u8])> = headers.into_iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let signals = reader.read(&Response::new(exchange.status, &headers), now);
    let figures = signals.meters.iter().any(|meter| meter.remaining.is_some() || meter.reset.is_some());
    figures.then(|| {
        Finding::warning(
            "shared-figures",
            "this caller's counters stand on an answer that shared caches may hand to others",
            "`Cache-Control: private`, or the answer without counters (the policy alone may stay)",
        )
    })
}
