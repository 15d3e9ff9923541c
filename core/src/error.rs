//! The error family: one enumerable set, the same in each language.

use core::time::Duration;

use crate::config::ConfigError;
use crate::decision::Reason;

/// Everything that the core raises.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A budget, cap, attempt limit or deadline leaves no room for the wait
    /// that the server asked, or for a further attempt.
    #[error(transparent)]
    Exceeded(#[from] RateLimitExceeded),
    /// The server refused for good.
    #[error(transparent)]
    Permanent(#[from] PermanentlyRefused),
    /// The limiter was closed while the call waited, or before it began.
    #[error("the limiter is closed; make a new one for further calls")]
    Closed,
    /// An option is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The driver called out of turn; nothing was changed.
    #[error("{0}")]
    Misuse(&'static str),
}

impl Error {
    /// The names of all kinds, as the classes are called in each language.
    pub const NAMES: [&'static str; 5] =
        ["RateLimitExceeded", "PermanentlyRefused", "LimiterClosed", "ConfigError", "UsageError"];

    /// The name of this kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exceeded(_) => Self::NAMES[0],
            Self::Permanent(_) => Self::NAMES[1],
            Self::Closed => Self::NAMES[2],
            Self::Config(_) => Self::NAMES[3],
            Self::Misuse(_) => Self::NAMES[4],
        }
    }

    /// The reason that a decision with this error has.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Exceeded(_) => Reason::Exceeded,
            Self::Permanent(_) => Reason::Permanent,
            Self::Closed => Reason::Closed,
            Self::Config(_) | Self::Misuse(_) => Reason::Misuse,
        }
    }

    /// How long the server asked to wait; absent if it asked nothing.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Exceeded(error) => error.retry_after,
            _ => None,
        }
    }

    /// What server and limiter said, for errors about a refusal.
    #[must_use]
    pub fn details(&self) -> Option<&Details> {
        match self {
            Self::Exceeded(error) => Some(&*error.details),
            Self::Permanent(error) => Some(&*error.details),
            _ => None,
        }
    }
}

/// What is known about the refusal behind an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The scope, as it may be shown: origin and ordinal of the credential.
    pub scope: String,
    /// The meter concerned, if one is named.
    pub meter: Option<String>,
    /// The status of the last refusal, if the call was refused.
    pub status: Option<u16>,
    /// The limit that the server stated.
    pub limit: Option<f64>,
    /// The sentence for people that the server sent.
    pub hint: Option<String>,
    /// How often the call was sent.
    pub attempts: u32,
}

/// A budget, cap, attempt limit or deadline leaves no room.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitExceeded {
    /// How long the server asked to wait; absent if it asked nothing.
    pub retry_after: Option<Duration>,
    /// The option or argument that was exceeded.
    pub limit_name: &'static str,
    /// That option's value, where it is a duration.
    pub limit_value: Option<Duration>,
    /// When a call could be sent again, from now, as far as known.
    pub available_in: Option<Duration>,
    /// What is known about the refusal.
    pub details: Box<Details>,
}

impl core::fmt::Display for RateLimitExceeded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "rate limit of {}", self.details.scope)?;
        if let Some(meter) = &self.details.meter {
            write!(f, " (meter {meter})")?;
        }
        match self.retry_after {
            Some(wait) => write!(f, ": the server asks to wait {}, ", seconds(wait))?,
            None => write!(f, ": ")?,
        }
        match (self.limit_name, self.limit_value) {
            ("max_attempts", _) => {
                write!(f, "and the call was refused {} times (max_attempts)", self.details.attempts)?
            }
            (name, Some(limit)) => write!(f, "more than {name} ({}) leaves", seconds(limit))?,
            (name, None) => write!(f, "more than {name} allows")?,
        }
        match self.available_in {
            Some(wait) if !wait.is_zero() => write!(f, "; try again in {}", seconds(wait)),
            _ => write!(f, "; raise {} or try again later", self.limit_name),
        }
    }
}

impl std::error::Error for RateLimitExceeded {}

/// The server refused for good: retrying is pointless.
#[derive(Clone, Debug, PartialEq)]
pub struct PermanentlyRefused {
    /// What is known about the refusal.
    pub details: Box<Details>,
}

impl core::fmt::Display for PermanentlyRefused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} refused for good", self.details.scope)?;
        if let Some(status) = self.details.status {
            write!(f, " with status {status}")?;
        }
        if let Some(hint) = &self.details.hint {
            write!(f, ": {hint}")?;
        }
        write!(f, "; retrying cannot help, see the account's plan or permissions")
    }
}

impl std::error::Error for PermanentlyRefused {}

/// Seconds as people write them: `30 s`, `1.5 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    let seconds = (duration.as_secs_f64() * 1000.0).round() / 1000.0;
    format!("{seconds} s")
}
