//! What one response says about limits: status, header fields and body in,
//! numbers out. Nothing here remembers anything.

use core::time::Duration;

mod body;
mod dialects;
mod explain;
mod fields;
mod glance;
mod grammar;
mod hints;
mod meters;
mod own;
mod refusal;
mod retry_after;
mod structured;
mod values;

pub use explain::{Figure, Meaning, Statement, When, parse_date};
pub use hints::header_may_matter;
pub use retry_after::parse_retry_after;

use body::Said;
use fields::Fields;
use meters::Context;
use own::Own;
use values::Moment;

use crate::config::{Config, ConfigError};
use crate::head::{Headers, Response};
use crate::refusal::Refusal;
use crate::time::Wall;

/// Everything that one response says about limits. What it does not say is
/// absent, never zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// The quotas that it describes, in the order first mentioned.
    pub meters: Vec<Reading>,
    /// The explicit wait that it orders, if any.
    pub wait: Option<Wait>,
    /// What it refuses, if it is a refusal.
    pub refusal: Option<Refusal>,
    /// Seconds that the response spent in a cache, from `Age`. Counters of a
    /// response with `age` > 0 are no reading.
    pub age: Option<Duration>,
    /// The server's clock, from `Date`.
    pub date: Option<Wall>,
    /// Fields that were set aside, and why.
    pub ignored: Vec<Ignored>,
}

/// What one response says about one quota.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The quota's name, if the response names it.
    pub name: Option<Box<str>>,
    /// How much the quota allows in one window.
    pub limit: Option<f64>,
    /// How much is left.
    pub remaining: Option<f64>,
    /// How long until more is available, from the moment of reception.
    pub reset: Option<Duration>,
    /// True if the response states the instant of the reset (a date, an
    /// epoch), false if it states the span.
    pub dated: bool,
    /// The window's length.
    pub window: Option<Duration>,
    /// What is counted; `None` if the response does not say.
    pub unit: Option<Box<str>>,
    /// The policy's name, where it is another than the quota's.
    pub policy: Option<Box<str>>,
    /// True if the server says that this quota is informative and refuses
    /// nobody.
    pub informative: bool,
}

/// An explicit wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long, from the moment that the response was made: that of
    /// reception, unless it has an `age`. Zero is possible: due now.
    pub span: Duration,
    /// Where it stood.
    pub source: WaitSource,
}

/// Where an explicit wait stood in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitSource {
    /// `retry-after-ms`.
    RetryAfterMs,
    /// `Retry-After`.
    RetryAfter,
    /// A vendor's own header.
    Vendor,
    /// A member of the body.
    Body,
    /// The reset of an empty meter, or a lone reset.
    Reset,
}

impl WaitSource {
    /// All sources in their default order, with the names that
    /// `header_priority` uses.
    pub const ALL: [(&'static str, Self); 5] = [
        ("retry-after-ms", Self::RetryAfterMs),
        ("retry-after", Self::RetryAfter),
        ("vendor", Self::Vendor),
        ("body", Self::Body),
        ("reset", Self::Reset),
    ];

    /// The source of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
    }

    /// The name that `header_priority` uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, source)| *source == self).map_or("reset", |(name, _)| name)
    }
}

/// A field that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The field's name, in lower case, at most 64 characters.
    pub field: Box<str>,
    /// Why it was set aside.
    pub why: &'static str,
}

/// Reads what a response says about limits.
///
/// `now` is the local wall clock at reception; it is used only for dates and
/// epochs of a response that has no `Date` of its own.
///
/// ```
/// let headers = [("RateLimit", r#""day";r=0;t=36000"#), ("RateLimit-Policy", r#""day";q=1000;w=86400"#)];
/// let signals = rampmeter::read_signals(429, &headers, None, None);
///
/// let meter = &signals.meters[0];
/// assert_eq!(meter.name.as_deref(), Some("day"));
/// assert_eq!((meter.limit, meter.remaining), (Some(1000.0), Some(0.0)));
/// assert_eq!(meter.reset.map(|reset| reset.as_secs()), Some(36_000));
/// assert_eq!(signals.refusal.map(|refusal| refusal.class.name()), Some("windowed"));
/// assert_eq!(signals.wait, None);
/// ```
#[must_use]
pub fn read_signals(status: u16, headers: &dyn Headers, body: Option<&[u8]>, now: Option<Wall>) -> Signals {
    Reader::default().read(&Response::new(status, headers).body(body), now)
}

/// How responses are read: the order in which a refusal's wait is looked for,
/// which dialects are known.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Where a wait is looked for, first match first.
    pub(crate) priority: Vec<WaitSource>,
    own: Own,
}

impl Default for Reader {
    fn default() -> Self {
        Self { priority: WaitSource::ALL.iter().map(|(_, source)| *source).collect(), own: Own::default() }
    }
}

impl Reader {
    /// As the config says it.
    ///
    /// The `dialects` option is `"all"`, or a list of names and definitions:
    /// names leave only those of the built-in exceptions, definitions stand
    /// beside them. A definition has `headers` and `body`, from header names
    /// and body paths to a field (`limit`, `remaining`, `used`, `reset`,
    /// `window`, `wait`, `name`, `reason`) or to `{field, format, meter, unit,
    /// window}` with the window in seconds, and `refusals`: statuses, or
    /// `{status, path, equals, class}`.
    ///
    /// ```
    /// use rampmeter::{Config, Reader, Response};
    /// use serde_json::json;
    ///
    /// let acme = json!({
    ///     "name": "acme",
    ///     "headers": {"X-Acme-Left": {"field": "remaining", "meter": "reads", "window": 60},
    ///                 "X-Acme-Again": {"field": "wait", "format": "milliseconds"}},
    ///     "body": {"error.cooldown": "wait"},
    ///     "refusals": [509, {"status": 200, "path": "error.code", "equals": "BUSY", "class": "capacity"}],
    /// });
    /// let config = Config::default().with_options(&json!({"dialects": [acme]}))?;
    /// let reader = Reader::from_config(&config)?;
    /// let signals = reader.read(&Response::new(509, &[("X-Acme-Again", "1500")]), None);
    /// assert_eq!(signals.wait.map(|wait| wait.span.as_millis()), Some(1500));
    /// # Ok::<(), rampmeter::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the place of a mistake in a definition.
    pub fn from_config(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { priority: config.header_priority.clone(), own: Own::from_option(&config.dialects)? })
    }

    /// Reads one response.
    #[must_use]
    pub fn read(&self, response: &Response<'_>, now: Option<Wall>) -> Signals {
        let mut fields = Fields::read(response.headers, &self.own);
        let status = response.status;
        let served = status < 400;
        let ruled = self.own.class(status, None);
        if served && fields.silent && response.body.is_none() && ruled.is_none() {
            let (age, date) = (fields.age.and_then(retry_after::span), fields.date.and_then(values::wall));
            return Signals { age, date, ..Signals::default() };
        }
        let mut said = match response.body {
            Some(body) => Said::read(body, &mut fields, &self.own, status),
            None => Said::default(),
        };
        said.ruled = said.ruled.or(ruled);
        let fresh = fields.age.is_none_or(|age| age == 0.0);
        // A cached response's date is that of another moment.
        let clock = if fresh { fields.date } else { None };
        let base = clock.or(now.map(Wall::as_unix_seconds));

        // Waits count from when the response was made, resets from reception.
        let made = base.map(|base| base - fields.age.unwrap_or(0.0));
        let waits = Waits::read(&mut fields, &said, made);
        let mut meters = meters::readings(&mut fields, Context { status, base, wait: waits.retry_after });
        let stale = !meters.is_empty() && (!fresh || response.cached);
        let empty = meters.iter().filter(|meter| !meter.informative && meter.remaining == Some(0.0));
        let empty_until = empty.filter_map(|meter| meter.reset).max().filter(|_| stale);
        if stale {
            meters.clear();
            fields.ignore("age", "counters of a cached response are no reading");
        }
        let refusal = refusal::judge(status, &fields, &meters, &said, waits.of_fields(), waits.any(), base);
        let empty = meters.iter().any(|meter| !meter.informative && meter.remaining == Some(0.0));
        let wait = match refusal {
            // The reset of a meter that is itself no reading any more.
            Some(_) => waits.first(&self.priority, true).or_else(|| {
                let span = empty_until.filter(|_| self.priority.contains(&WaitSource::Reset))?;
                Some(Wait { span, source: WaitSource::Reset })
            }),
            // Servers that send the field always send it on successes too: it
            // stops nobody unless nothing is left.
            None if served && empty => waits.first(&self.priority, false),
            None if status >= 500 && !refusal::stocked(&meters) => waits.first(&self.priority, false),
            None => None,
        };
        let pause = said.pause.filter(|_| served && self.priority.contains(&WaitSource::Body));
        let pause = pause.and_then(|pause| wait_until(pause, made)).and_then(retry_after::span);
        Signals {
            meters,
            wait: wait.or(pause.map(|span| Wait { span, source: WaitSource::Body })),
            refusal,
            age: fields.age.and_then(retry_after::span),
            date: fields.date.and_then(values::wall),
            ignored: fields.ignored,
        }
    }

    /// How many bytes of the body are worth reading; 0 for nearly every
    /// response.
    #[must_use]
    pub fn wants_body(&self, status: u16, headers: &dyn Headers) -> usize {
        body::wanted(status, headers, self.own.wants_body(status))
    }

    /// Whether a header field of that name, in any case of letters, may say
    /// anything that this reader reads: [`header_may_matter`] with the
    /// config's own dialects.
    #[must_use]
    pub fn header_may_matter(&self, name: &[u8]) -> bool {
        header_may_matter(name) || self.own.reads(name)
    }
}

/// Checks a value of the `dialects` option.
///
/// # Errors
///
/// [`ConfigError`] that names the place of the mistake.
pub(crate) fn check_dialects(option: &serde_json::Value) -> Result<(), ConfigError> {
    Own::from_option(option).map(|_| ())
}

/// The waits that a response asks, by where they stand, in seconds.
#[derive(Debug, Default)]
struct Waits {
    retry_after_ms: Option<f64>,
    retry_after: Option<f64>,
    vendor: Option<f64>,
    body: Option<f64>,
}

impl Waits {
    fn read(fields: &mut Fields, said: &Said, base: Option<f64>) -> Self {
        let mut waits = Self { retry_after_ms: fields.retry_after_ms.map(|millis| millis / 1e3), ..Self::default() };
        if let Some(value) = &fields.retry_after {
            waits.retry_after = retry_after::seconds(value, base);
            if waits.retry_after.is_none() {
                fields.ignore("retry-after", values::NOT_A_TIME);
            }
        }
        for (moment, _) in &fields.waits {
            if let Some(seconds) = wait_until(*moment, base) {
                waits.vendor = Some(waits.vendor.unwrap_or(0.0).max(seconds));
            }
        }
        let read = |moment: Option<Moment>| moment.and_then(|moment| wait_until(moment, base));
        waits.body = match (read(said.wait), read(said.prose)) {
            // One of them is rounded.
            (Some(wait), Some(prose)) if (wait - prose).abs() <= 1.0 => Some(wait.max(prose)),
            (wait, prose) => wait.or(prose),
        };
        // Azure rounds a wait below its unit to zero, beside a real one.
        if waits.retry_after_ms == Some(0.0) && waits.retry_after.is_some_and(|wait| wait > 0.0) {
            waits.retry_after_ms = None;
        }
        waits
    }

    /// Whatever the header fields ask.
    fn of_fields(&self) -> Option<f64> {
        self.retry_after_ms.or(self.retry_after).or(self.vendor)
    }

    fn any(&self) -> Option<f64> {
        self.of_fields().or(self.body)
    }

    /// The first in that order; those of the body only where it is believed.
    fn first(&self, priority: &[WaitSource], body: bool) -> Option<Wait> {
        let seconds = |source: &WaitSource| match source {
            WaitSource::RetryAfterMs => self.retry_after_ms,
            WaitSource::RetryAfter => self.retry_after,
            WaitSource::Vendor => self.vendor,
            WaitSource::Body if body => self.body,
            WaitSource::Body | WaitSource::Reset => None,
        };
        let (mut wait, source) = priority.iter().find_map(|source| Some((seconds(source)?, *source)))?;
        // Whole seconds in the header and the exact ones in the body are one
        // wait, and rounding must not shorten it.
        if source == WaitSource::RetryAfter
            && priority.contains(&WaitSource::Body)
            && let Some(exact) = self.body.filter(|exact| body && (exact - wait).abs() <= 1.0)
        {
            wait = wait.max(exact);
        }
        Some(Wait { span: retry_after::span(wait)?, source })
    }
}

/// A wait is not dropped for being long: it is raised.
fn wait_until(moment: Moment, base: Option<f64>) -> Option<f64> {
    match moment {
        Moment::In(seconds) | Moment::Bare(seconds) => Some(seconds),
        Moment::At(_) => values::until(moment, base).ok(),
    }
}
