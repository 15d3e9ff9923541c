//! The options by name: the one list from which every language derives its
//! own names, units, defaults and documentation.

use core::time::Duration;

use serde_json::{Map, Value, json};

use super::{BeyondMax, Budget, Config, ConfigError, OnExhausted, Pace};
use crate::backoff::Backoff;
use crate::signals::WaitSource;

/// How an option's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Not a number, or a number without unit.
    Plain,
    /// A duration: seconds in Rust's JSON form and in Python, milliseconds in
    /// JavaScript.
    Seconds,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its name, in snake case; members of a nested option have a dot.
    pub name: &'static str,
    /// How its value is written.
    pub unit: Unit,
    /// What it takes, for people.
    pub takes: &'static str,
    /// What it means, for people.
    pub doc: &'static str,
}

const fn plain(name: &'static str, takes: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec { name, unit: Unit::Plain, takes, doc }
}

const fn span(name: &'static str, takes: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec { name, unit: Unit::Seconds, takes, doc }
}

const OPTIONS: &[OptionSpec] = &[
    plain("enabled", "true or false", "off: everything is sent, nothing is retried"),
    plain(
        "max_attempts",
        "a whole number from 1, or none",
        "sends of one call that may end in a refusal, the first included; waiting for one's turn costs nothing",
    ),
    plain(
        "max_transient_retries",
        "a whole number from 0, or none",
        "extra sends after a 500, 502, 503 or 504 without Retry-After or a network failure; idempotent methods only, failures to connect excepted",
    ),
    plain("retry_non_idempotent", "true or false", "allow those extra sends for every method"),
    span(
        "max_retry_after",
        "a duration from 0, or none",
        "the longest single wait that a server may ask of a call; beyond it the call raises and the gate is left open",
    ),
    plain("beyond_max", "\"raise\" or \"clamp\"", "what happens when a server asks for more than that"),
    span(
        "max_total_sleep",
        "a duration from 0, or none",
        "the sum of the waits that one call's own refusals and failures cost; follows max_retry_after unless set",
    ),
    span(
        "max_queue_wait",
        "a duration from 0, or none",
        "the longest wait for one's turn, behind a hold, a meter, the pacer or other calls",
    ),
    span(
        "max_rate_limit_duration",
        "a duration from 0, or none",
        "the longest episode of refusals; 1800 s or twice max_retry_after, whichever is longer, unless set",
    ),
    plain("respect_retry_after", "true or false", "obey a server's explicit wait"),
    plain("respect_remaining", "true or false", "hold calls while a meter says that nothing is left"),
    plain(
        "header_priority",
        "a list of \"retry-after-ms\", \"retry-after\", \"vendor\", \"body\", \"reset\"",
        "the order in which a refusal's wait is looked for; what is not in the list is not read",
    ),
    plain("backoff", "a mapping {kind, base, cap}", "the waits where the server gave none"),
    plain("backoff.kind", "\"full\", \"equal\" or \"decorrelated\"", "how they are drawn"),
    span("backoff.base", "a duration above 0", "the upper end of the first draw"),
    span("backoff.cap", "a duration above 0", "the longest draw"),
    plain("retry_statuses", "a list of status codes", "what is retried beside recognised refusals"),
    plain(
        "pace",
        "a mapping {rate, burst}, \"auto\", or none",
        "local pacing; \"auto\" takes a share of the policy that the server states",
    ),
    plain("pace.rate", "a number above 0", "tokens per second"),
    plain("pace.burst", "a number from 1", "the most tokens at once"),
    plain("pace.auto", "a number above 0, at most 1", "the share that \"auto\" takes"),
    plain(
        "first_flight",
        "a whole number from 1",
        "sends in flight to a scope of which nothing is known yet; grows with each answer, and doubles with each second without a refusal",
    ),
    plain(
        "processes",
        "a whole number from 1, or none",
        "how many clients like this one share the quota; learned unless set",
    ),
    plain("dialects", "\"all\", or a list of names and definitions", "which vendors' headers and bodies are read"),
    plain("on_exhausted", "\"raise\" or \"return\"", "raise when retries are used up, or hand over the last refusal"),
    plain("credential_headers", "a list of header names", "further request headers that tell one account from another"),
    plain(
        "seed",
        "a whole number from 0, or none",
        "fixed: the same inputs give the same decisions; from the system unless set",
    ),
];

/// Share of the server's policy that `pace = "auto"` takes.
const AUTO_SHARE: f64 = 0.9;

/// All options, in the order in which documentation lists them.
#[must_use]
pub fn options() -> &'static [OptionSpec] {
    OPTIONS
}

/// All options as JSON: name, unit (`seconds` or null), what they take, what
/// they mean, and their defaults. Bindings derive their own names from it.
#[must_use]
pub fn options_json() -> Value {
    let defaults = Config::default();
    Value::Array(
        OPTIONS
            .iter()
            .map(|option| {
                json!({
                    "name": option.name,
                    "unit": match option.unit { Unit::Plain => Value::Null, Unit::Seconds => json!("seconds") },
                    "takes": option.takes,
                    "doc": option.doc,
                    "default": defaults.get(option.name),
                })
            })
            .collect(),
    )
}

/// The options table of README and docs.
#[must_use]
pub fn options_markdown() -> String {
    let defaults = Config::default();
    let mut table = String::from("| option | default | meaning |\n|---|---|---|\n");
    for option in OPTIONS {
        let default = match (defaults.get(option.name), option.unit) {
            (Value::Null, _) => match option.name {
                "max_total_sleep" => "= `max_retry_after`".to_owned(),
                "max_rate_limit_duration" => "max(1800 s, 2 × `max_retry_after`)".to_owned(),
                "processes" => "learned".to_owned(),
                "seed" => "from the system".to_owned(),
                "pace.rate" | "pace.burst" | "pace.auto" => String::new(),
                _ => "none".to_owned(),
            },
            (Value::Object(_), _) => String::new(),
            (Value::Array(list), _) => list
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), |text| format!("`{text}`")))
                .collect::<Vec<_>>()
                .join(", "),
            (value, Unit::Seconds) => format!("{value} s"),
            (Value::String(text), _) => format!("`\"{text}\"`"),
            (value, _) => format!("`{value}`"),
        };
        table.push_str(&format!("| `{}` | {} | {} ({}) |\n", option.name, default, option.doc, option.takes));
    }
    table
}

impl Config {
    /// The value of an option by its name, as JSON; `null` for no limit, for
    /// what is derived, and for unknown names.
    #[must_use]
    pub fn get(&self, name: &str) -> Value {
        match name {
            "enabled" => json!(self.enabled),
            "max_attempts" => json!(self.max_attempts),
            "max_transient_retries" => json!(self.max_transient_retries),
            "retry_non_idempotent" => json!(self.retry_non_idempotent),
            "max_retry_after" => from_span(self.max_retry_after),
            "beyond_max" => json!(match self.beyond_max {
                BeyondMax::Raise => "raise",
                BeyondMax::Clamp => "clamp",
            }),
            "max_total_sleep" => from_budget(self.max_total_sleep),
            "max_queue_wait" => from_span(self.max_queue_wait),
            "max_rate_limit_duration" => from_budget(self.max_rate_limit_duration),
            "respect_retry_after" => json!(self.respect_retry_after),
            "respect_remaining" => json!(self.respect_remaining),
            "header_priority" => json!(self.header_priority.iter().map(|source| source.name()).collect::<Vec<_>>()),
            "backoff" => json!({
                "kind": self.backoff.kind(),
                "base": from_span(Some(self.backoff.base())),
                "cap": from_span(Some(self.backoff.cap())),
            }),
            "backoff.kind" => json!(self.backoff.kind()),
            "backoff.base" => from_span(Some(self.backoff.base())),
            "backoff.cap" => from_span(Some(self.backoff.cap())),
            "retry_statuses" => json!(self.retry_statuses),
            "pace" => match self.pace {
                None => Value::Null,
                Some(Pace::Bucket { rate, burst }) => json!({"rate": rate, "burst": burst}),
                Some(Pace::Auto { share }) => json!({"auto": share}),
            },
            "first_flight" => json!(self.first_flight),
            "processes" => json!(self.processes),
            "dialects" => match &self.dialects {
                Value::Null => json!("all"),
                given => given.clone(),
            },
            "on_exhausted" => json!(match self.on_exhausted {
                OnExhausted::Raise => "raise",
                OnExhausted::Return => "return",
            }),
            "credential_headers" => json!(self.credential_headers),
            "seed" => json!(self.seed),
            _ => Value::Null,
        }
    }

    /// Sets an option by its name.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the option, for an unknown one and for a
    /// value that it does not take.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ConfigError> {
        let field = Field { name, value };
        match name {
            "enabled" => self.enabled = field.flag()?,
            "max_attempts" => self.max_attempts = field.optional(|field| field.count(1))?,
            "max_transient_retries" => self.max_transient_retries = field.optional(|field| field.count(0))?,
            "retry_non_idempotent" => self.retry_non_idempotent = field.flag()?,
            "max_retry_after" => {
                self.max_retry_after = field.optional(Field::span)?;
                self.max_retry_after_given = true;
            }
            "beyond_max" => {
                self.beyond_max = field.choice(&[("raise", BeyondMax::Raise), ("clamp", BeyondMax::Clamp)])?;
            }
            "max_total_sleep" => self.max_total_sleep = Budget::Given(field.optional(Field::span)?),
            "max_queue_wait" => self.max_queue_wait = field.optional(Field::span)?,
            "max_rate_limit_duration" => self.max_rate_limit_duration = Budget::Given(field.optional(Field::span)?),
            "respect_retry_after" => self.respect_retry_after = field.flag()?,
            "respect_remaining" => self.respect_remaining = field.flag()?,
            "header_priority" => {
                self.header_priority = field.list(|item| item.choice(&WaitSource::ALL))?;
            }
            "backoff" => self.backoff = field.backoff(self.backoff)?,
            "retry_statuses" => {
                self.retry_statuses = field.list(|item| match item.count(100)? {
                    status @ 100..=599 => Ok(status as u16),
                    _ => Err(item.error()),
                })?;
            }
            "pace" => self.pace = field.pace()?,
            "first_flight" => self.first_flight = field.count(1)?,
            "processes" => self.processes = field.optional(|field| field.count(1))?,
            "dialects" => match value {
                Value::String(all) if all == "all" => self.dialects = Value::Null,
                given => {
                    crate::signals::check_dialects(given)?;
                    self.dialects = given.clone();
                }
            },
            "on_exhausted" => {
                self.on_exhausted = field.choice(&[("raise", OnExhausted::Raise), ("return", OnExhausted::Return)])?;
            }
            "credential_headers" => {
                self.credential_headers = field.list(|item| Ok(item.text()?.to_ascii_lowercase()))?;
            }
            "seed" => self.seed = field.optional(Field::whole)?,
            _ => {
                let known: Vec<_> =
                    OPTIONS.iter().map(|option| option.name).filter(|known| !known.contains('.')).collect();
                return Err(ConfigError::new(name, format!("is unknown; known are {}", known.join(", "))));
            }
        }
        Ok(())
    }
}

fn from_span(span: Option<Duration>) -> Value {
    match span {
        None => Value::Null,
        Some(span) if span.subsec_nanos() == 0 => json!(span.as_secs()),
        Some(span) => json!(span.as_secs_f64()),
    }
}

fn from_budget(budget: Budget) -> Value {
    match budget {
        Budget::Derived => Value::Null,
        Budget::Given(span) => from_span(span),
    }
}

/// A value on its way into an option.
#[derive(Clone, Copy)]
struct Field<'a> {
    name: &'a str,
    value: &'a Value,
}

impl Field<'_> {
    fn error(self) -> ConfigError {
        let takes =
            OPTIONS.iter().find(|option| option.name == self.name).map_or("another value", |option| option.takes);
        ConfigError::new(self.name, format!("must be {takes}, not {}", self.value))
    }

    fn optional<T>(self, read: impl FnOnce(Self) -> Result<T, ConfigError>) -> Result<Option<T>, ConfigError> {
        if self.value.is_null() { Ok(None) } else { read(self).map(Some) }
    }

    fn flag(self) -> Result<bool, ConfigError> {
        self.value.as_bool().ok_or_else(|| self.error())
    }

    fn whole(self) -> Result<u64, ConfigError> {
        // Hosts without integers send 3.0 for 3.
        let from_float = |number: f64| {
            (number.fract() == 0.0 && (0.0..9.007_199_254_740_992e15).contains(&number)).then_some(number as u64)
        };
        self.value.as_u64().or_else(|| self.value.as_f64().and_then(from_float)).ok_or_else(|| self.error())
    }

    fn count(self, least: u32) -> Result<u32, ConfigError> {
        u32::try_from(self.whole()?).ok().filter(|count| *count >= least).ok_or_else(|| self.error())
    }

    fn number(self) -> Result<f64, ConfigError> {
        self.value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| self.error())
    }

    fn span(self) -> Result<Duration, ConfigError> {
        Duration::try_from_secs_f64(self.number()?).map_err(|_| self.error())
    }

    fn text(&self) -> Result<&str, ConfigError> {
        self.value.as_str().ok_or_else(|| self.error())
    }

    fn choice<T: Copy>(self, choices: &[(&str, T)]) -> Result<T, ConfigError> {
        let text = self.text()?;
        choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice).ok_or_else(|| self.error())
    }

    fn list<T>(self, read: impl Fn(Self) -> Result<T, ConfigError>) -> Result<Vec<T>, ConfigError> {
        let Value::Array(items) = self.value else { return Err(self.error()) };
        items.iter().map(|value| read(Field { name: self.name, value })).collect()
    }

    fn map(&self) -> Result<&Map<String, Value>, ConfigError> {
        self.value.as_object().ok_or_else(|| self.error())
    }

    fn backoff(self, default: Backoff) -> Result<Backoff, ConfigError> {
        let (mut kind, mut base, mut cap) = (default.kind().to_owned(), default.base(), default.cap());
        for (member, value) in self.map()? {
            let name = format!("backoff.{member}");
            let field = Field { name: &name, value };
            match member.as_str() {
                "kind" => kind = field.text()?.to_owned(),
                "base" => base = field.span()?,
                "cap" => cap = field.span()?,
                _ => return Err(ConfigError::new(name, "is unknown; known are kind, base, cap")),
            }
            if matches!(member.as_str(), "base" | "cap") && field.span()?.is_zero() {
                return Err(field.error());
            }
        }
        Backoff::from_kind(&kind, base, cap).ok_or_else(|| Field { name: "backoff.kind", value: &json!(kind) }.error())
    }

    fn pace(self) -> Result<Option<Pace>, ConfigError> {
        if self.value.is_null() {
            return Ok(None);
        }
        if self.value == "auto" {
            return Ok(Some(Pace::Auto { share: AUTO_SHARE }));
        }
        let (mut rate, mut burst, mut share) = (None, None, None);
        for (member, value) in self.map()? {
            let name = format!("pace.{member}");
            let field = Field { name: &name, value };
            match member.as_str() {
                "rate" => rate = Some(field.number()?),
                "burst" => burst = Some(field.number()?),
                "auto" => share = Some(field.number()?),
                _ => return Err(ConfigError::new(name, "is unknown; known are rate, burst, auto")),
            }
        }
        let pace = match (rate, burst, share) {
            (Some(rate), burst, None) => Pace::Bucket { rate, burst: burst.unwrap_or(1.0) },
            (None, None, Some(share)) => Pace::Auto { share },
            _ => return Err(self.error()),
        };
        Config { pace: Some(pace), ..Config::default() }.check()?;
        Ok(Some(pace))
    }
}
