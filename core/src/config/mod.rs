//! What a user may set, and what holds if nothing is set.

use core::time::Duration;

use serde_json::Value;

use crate::backoff::Backoff;
use crate::signals::WaitSource;

mod options;

pub use options::{OptionSpec, Unit, options, options_json, options_markdown};

/// An option that cannot be: which one, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("option {option} {problem}")]
pub struct ConfigError {
    /// The option's name; nested ones with a dot (`backoff.base`).
    pub option: String,
    /// What is wrong and what it takes.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(option: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { option: option.into(), problem: problem.into() }
    }
}

/// What happens when a server asks for more than `max_retry_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeyondMax {
    /// The call raises, with the asked wait inside.
    Raise,
    /// The wait is shortened to the cap.
    Clamp,
}

/// Local pacing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A token bucket: tokens per second, and the most at once.
    Bucket {
        /// Tokens per second, above 0.
        rate: f64,
        /// The most at once, at least 1.
        burst: f64,
    },
    /// This share of the policy that the server states, in (0, 1].
    Auto {
        /// The share.
        share: f64,
    },
}

/// What happens when a call's retries are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExhausted {
    /// Raise an error.
    Raise,
    /// Hand the last refusal to the caller as an ordinary response.
    Return,
}

/// A budget that follows from others unless it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    Derived,
    Given(Option<Duration>),
}

/// All options. `None` means no limit, zero means zero.
///
/// ```
/// use core::time::Duration;
/// use rampmeter::Config;
///
/// let config = Config::default().max_retry_after(Duration::from_secs(30)).max_attempts(5);
/// config.check()?;
/// # Ok::<(), rampmeter::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) enabled: bool,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) max_transient_retries: Option<u32>,
    pub(crate) retry_non_idempotent: bool,
    pub(crate) max_retry_after: Option<Duration>,
    pub(crate) max_retry_after_given: bool,
    pub(crate) beyond_max: BeyondMax,
    pub(crate) max_total_sleep: Budget,
    pub(crate) max_queue_wait: Option<Duration>,
    pub(crate) max_rate_limit_duration: Budget,
    pub(crate) respect_retry_after: bool,
    pub(crate) respect_remaining: bool,
    pub(crate) header_priority: Vec<WaitSource>,
    pub(crate) backoff: Backoff,
    pub(crate) retry_statuses: Vec<u16>,
    pub(crate) pace: Option<Pace>,
    pub(crate) first_flight: u32,
    pub(crate) processes: Option<u32>,
    pub(crate) dialects: Value,
    pub(crate) on_exhausted: OnExhausted,
    pub(crate) credential_headers: Vec<String>,
    pub(crate) seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: true,
            max_attempts: Some(8),
            max_transient_retries: Some(2),
            retry_non_idempotent: false,
            max_retry_after: Some(Duration::from_secs(120)),
            max_retry_after_given: false,
            beyond_max: BeyondMax::Raise,
            max_total_sleep: Budget::Derived,
            max_queue_wait: None,
            max_rate_limit_duration: Budget::Derived,
            respect_retry_after: true,
            respect_remaining: true,
            header_priority: WaitSource::ALL.iter().map(|(_, source)| *source).collect(),
            backoff: Backoff::default(),
            retry_statuses: vec![429, 500, 502, 503, 504],
            pace: None,
            first_flight: 10,
            processes: None,
            dialects: Value::Null,
            on_exhausted: OnExhausted::Raise,
            credential_headers: Vec::new(),
            seed: None,
        }
    }
}

impl Config {
    /// For request handlers: short waits, then an error that a handler can
    /// turn into its own refusal.
    #[must_use]
    pub fn web() -> Self {
        Self::default().max_retry_after(Duration::from_secs(5)).max_queue_wait(Duration::from_secs(10))
    }

    /// For queues and batch senders: patient.
    #[must_use]
    pub fn background() -> Self {
        Self::default()
            .max_retry_after(Duration::from_secs(600))
            .max_total_sleep(None)
            .max_attempts(None)
            .max_rate_limit_duration(Duration::from_secs(1800))
    }

    /// The presets by name: `default`, `web` and `background`.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::default()),
            "web" => Some(Self::web()),
            "background" => Some(Self::background()),
            _ => None,
        }
    }

    /// Sets the options of a JSON object by their names: durations in
    /// seconds, `null` for no limit.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the option: unknown, of the wrong type, out
    /// of range, or in conflict with another given one.
    pub fn with_options(mut self, options: &Value) -> Result<Self, ConfigError> {
        let Value::Object(map) = options else {
            return Err(ConfigError::new("config", "must be a mapping from option names to values"));
        };
        for (name, value) in map {
            self.set(name, value)?;
        }
        self.check()?;
        Ok(self)
    }

    /// Checks what single values cannot show: given options that conflict.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the option.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.max_attempts == Some(0) {
            return Err(ConfigError::new(
                "max_attempts",
                "must be at least 1, the first send included; null for no limit",
            ));
        }
        if self.first_flight == 0 {
            return Err(ConfigError::new("first_flight", "must be at least 1"));
        }
        if self.processes == Some(0) {
            return Err(ConfigError::new("processes", "must be at least 1; null to learn it"));
        }
        if let Some(Pace::Bucket { rate, burst }) = self.pace {
            crate::TokenBucket::new(rate, burst)
                .map_err(|error| ConfigError::new(format!("pace.{}", error.option), error.problem))?;
        }
        if let Some(Pace::Auto { share }) = self.pace
            && !(share > 0.0 && share <= 1.0)
        {
            return Err(ConfigError::new("pace", "must be a share above 0 and at most 1"));
        }
        // At parity one wait would spend the whole episode.
        if let (Budget::Given(Some(episode)), true, Some(wait)) =
            (self.max_rate_limit_duration, self.max_retry_after_given, self.max_retry_after)
            && episode < wait.saturating_mul(2)
        {
            return Err(ConfigError::new(
                "max_rate_limit_duration",
                format!(
                    "({}) must be at least twice max_retry_after ({}): raise it, or lower max_retry_after",
                    crate::error::seconds(episode),
                    crate::error::seconds(wait)
                ),
            ));
        }
        Ok(())
    }

    /// Off: everything is sent, nothing is retried.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sends of one call that may end in a refusal, the first included.
    #[must_use]
    pub fn max_attempts(mut self, attempts: impl Into<Option<u32>>) -> Self {
        self.max_attempts = attempts.into();
        self
    }

    /// Extra sends after a transient failure.
    #[must_use]
    pub fn max_transient_retries(mut self, retries: impl Into<Option<u32>>) -> Self {
        self.max_transient_retries = retries.into();
        self
    }

    /// Whether non-idempotent requests may be sent again after a failure.
    #[must_use]
    pub fn retry_non_idempotent(mut self, allowed: bool) -> Self {
        self.retry_non_idempotent = allowed;
        self
    }

    /// The longest single wait that a server may ask of a call.
    #[must_use]
    pub fn max_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.max_retry_after = wait.into();
        self.max_retry_after_given = true;
        self
    }

    /// What happens beyond that.
    #[must_use]
    pub fn beyond_max(mut self, policy: BeyondMax) -> Self {
        self.beyond_max = policy;
        self
    }

    /// The sum of the waits that one call's own refusals and failures cost.
    #[must_use]
    pub fn max_total_sleep(mut self, sleep: impl Into<Option<Duration>>) -> Self {
        self.max_total_sleep = Budget::Given(sleep.into());
        self
    }

    /// The longest wait for one's turn.
    #[must_use]
    pub fn max_queue_wait(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.max_queue_wait = wait.into();
        self
    }

    /// An episode's length.
    #[must_use]
    pub fn max_rate_limit_duration(mut self, duration: impl Into<Option<Duration>>) -> Self {
        self.max_rate_limit_duration = Budget::Given(duration.into());
        self
    }

    /// Whether a server's explicit wait is obeyed.
    #[must_use]
    pub fn respect_retry_after(mut self, respect: bool) -> Self {
        self.respect_retry_after = respect;
        self
    }

    /// Whether a spent meter holds calls.
    #[must_use]
    pub fn respect_remaining(mut self, respect: bool) -> Self {
        self.respect_remaining = respect;
        self
    }

    /// The order in which a refusal's wait is looked for.
    #[must_use]
    pub fn header_priority(mut self, priority: Vec<WaitSource>) -> Self {
        self.header_priority = priority;
        self
    }

    /// The waits where the server gave none.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// The statuses that are retried beside recognised refusals.
    #[must_use]
    pub fn retry_statuses(mut self, statuses: Vec<u16>) -> Self {
        self.retry_statuses = statuses;
        self
    }

    /// Local pacing.
    #[must_use]
    pub fn pace(mut self, pace: impl Into<Option<Pace>>) -> Self {
        self.pace = pace.into();
        self
    }

    /// Sends in flight to a scope of which nothing is known yet.
    #[must_use]
    pub fn first_flight(mut self, sends: u32) -> Self {
        self.first_flight = sends;
        self
    }

    /// How many clients like this one share the quota.
    #[must_use]
    pub fn processes(mut self, processes: impl Into<Option<u32>>) -> Self {
        self.processes = processes.into();
        self
    }

    /// Whether the last refusal is raised or handed to the caller.
    #[must_use]
    pub fn on_exhausted(mut self, policy: OnExhausted) -> Self {
        self.on_exhausted = policy;
        self
    }

    /// Further request headers that tell one account from another.
    #[must_use]
    pub fn credential_headers(mut self, names: Vec<String>) -> Self {
        self.credential_headers = names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        self
    }

    /// A fixed seed: same inputs, same decisions.
    #[must_use]
    pub fn seed(mut self, seed: impl Into<Option<u64>>) -> Self {
        self.seed = seed.into();
        self
    }

    /// `max_total_sleep`, derived if it was not given.
    #[must_use]
    pub fn total_sleep(&self) -> Option<Duration> {
        match self.max_total_sleep {
            Budget::Given(given) => given,
            Budget::Derived => self.max_retry_after,
        }
    }

    /// `max_rate_limit_duration`, derived if it was not given.
    #[must_use]
    pub fn rate_limit_duration(&self) -> Option<Duration> {
        match self.max_rate_limit_duration {
            Budget::Given(given) => given,
            Budget::Derived => {
                let floor = Duration::from_secs(1800);
                self.max_retry_after.map(|wait| floor.max(wait.saturating_mul(2)))
            }
        }
    }
}
