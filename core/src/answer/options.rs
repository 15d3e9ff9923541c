//! Answers from options by name, for languages that have named arguments
//! instead of builders.

use core::time::Duration;

use serde_json::{Map, Value};

use super::{Answer, Delay, Period};
use crate::config::ConfigError;
use crate::refusal::{Class, Refusal};
use crate::time::Wall;

impl Answer {
    /// The answer of that class with the options of a JSON object; those that
    /// are null count as absent.
    ///
    /// | option | takes | of |
    /// |---|---|---|
    /// | `seconds` | the wait, rounded up | windowed |
    /// | `until` | an instant in Unix seconds | windowed |
    /// | `until_next` | a [`Period`] by name, or its seconds | windowed |
    /// | `now` | the clock, in Unix seconds; needed with `until` and `until_next` | windowed |
    /// | `remaining`, `window_seconds`, `unit` | see [`Answer`] | windowed |
    /// | `suggested_seconds` | a wait that is a suggestion | capacity |
    /// | `status` | 429, or 503 of capacity, or 403 of permanent | capacity, permanent |
    /// | `abnormal` | true or false | windowed, permanent |
    /// | `limit`, `hint`, `policy` (one or a list), `exposed` | see [`Answer`] | all |
    ///
    /// ```
    /// use rampmeter::Answer;
    /// use serde_json::json;
    ///
    /// let answer = Answer::from_options("windowed", &json!({"seconds": 29.2, "limit": 100}))?;
    /// assert_eq!(answer.delay().map(|delay| delay.as_secs()), Some(30));
    /// let wrong = Answer::from_options("permanent", &json!({"seconds": 30}));
    /// assert_eq!(wrong.unwrap_err().option, "seconds");
    /// # Ok::<(), rampmeter::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the option: unknown, not of that class, of
    /// the wrong type or out of range; or a windowed answer without exactly
    /// one of `seconds`, `until` and `until_next`.
    pub fn from_options(class: &str, options: &Value) -> Result<Self, ConfigError> {
        let mut options = Options::new(options)?;
        let answer = match Class::from_name(class) {
            Some(Class::Windowed) => options.windowed()?,
            Some(Class::Capacity) => options.capacity()?,
            Some(Class::Permanent) => options.permanent()?,
            _ => return Err(ConfigError::new("class", "must be one of windowed, capacity, permanent")),
        };
        let answer = options.stated(answer)?;
        options.end(class)?;
        Ok(answer)
    }
}

/// The options that are not taken yet.
struct Options(Map<String, Value>);

impl Options {
    fn new(options: &Value) -> Result<Self, ConfigError> {
        let Value::Object(map) = options else {
            return Err(ConfigError::new("options", "must be a mapping from option names to values"));
        };
        Ok(Self(map.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect()))
    }

    fn windowed(&mut self) -> Result<Answer, ConfigError> {
        let mut answer = Refusal::windowed(self.delay()?);
        if let Some(remaining) = self.whole("remaining")? {
            answer = answer.remaining(remaining);
        }
        if let Some(window) = self.span("window_seconds")? {
            answer = answer.window(window);
        }
        if let Some(unit) = self.text("unit")? {
            answer = answer.unit(&unit)?;
        }
        if self.flag("abnormal")? {
            answer = answer.abnormal();
        }
        Ok(answer.into())
    }

    fn delay(&mut self) -> Result<Delay, ConfigError> {
        let now = self.wall("now")?;
        let clock = || now.ok_or_else(|| ConfigError::new("now", "must be given to reckon from"));
        let mut found = Vec::new();
        if let Some(seconds) = self.span("seconds")? {
            found.push(("seconds", Delay::from(seconds)));
        }
        if let Some(instant) = self.wall("until")? {
            found.push(("until", Delay::until(instant, clock()?)));
        }
        if let Some(period) = self.period("until_next")? {
            found.push(("until_next", Delay::until_next(period, clock()?)));
        }
        match found[..] {
            [(_, delay)] => Ok(delay),
            [] => Err(ConfigError::new("seconds", "must be given, or until, or until_next: when is there more?")),
            [(first, _), (second, _), ..] => {
                Err(ConfigError::new(second, format!("must not be given beside {first}: one of them says when")))
            }
        }
    }

    fn capacity(&mut self) -> Result<Answer, ConfigError> {
        let mut answer = Refusal::capacity();
        if let Some(wait) = self.span("suggested_seconds")? {
            answer = answer.suggest(wait);
        }
        if self.status(503)? {
            answer = answer.unavailable();
        }
        Ok(answer.into())
    }

    fn permanent(&mut self) -> Result<Answer, ConfigError> {
        let mut answer = Refusal::permanent();
        if self.status(403)? {
            answer = answer.forbidden();
        }
        if self.flag("abnormal")? {
            answer = answer.abnormal();
        }
        Ok(answer.into())
    }

    fn stated(&mut self, mut answer: Answer) -> Result<Answer, ConfigError> {
        if let Some(limit) = self.whole("limit")? {
            answer = answer.limit(limit);
        }
        if let Some(hint) = self.text("hint")? {
            answer = answer.hint(&hint);
        }
        let names = match self.0.remove("policy") {
            Some(Value::Array(names)) => names,
            name => name.into_iter().collect(),
        };
        for name in names {
            let name = name.as_str().ok_or_else(|| ConfigError::new("policy", "must be a name or a list of names"))?;
            answer = answer.policy(name)?;
        }
        if self.flag("exposed")? {
            answer = answer.exposed();
        }
        Ok(answer)
    }

    /// Whether the status is `other` instead of 429.
    fn status(&mut self, other: u16) -> Result<bool, ConfigError> {
        match self.0.remove("status") {
            None => Ok(false),
            Some(status) if status == 429 => Ok(false),
            Some(status) if status == other => Ok(true),
            Some(status) => Err(ConfigError::new("status", format!("must be 429 or {other}, not {status}"))),
        }
    }

    fn whole(&mut self, name: &str) -> Result<Option<u64>, ConfigError> {
        let whole = |value: &Value| {
            let float = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=1e18).contains(number));
            value.as_u64().or(float.map(|number| number as u64))
        };
        self.take(name, "a whole number from 0", whole)
    }

    fn span(&mut self, name: &str) -> Result<Option<Duration>, ConfigError> {
        let span = |value: &Value| value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        self.take(name, "a number of seconds from 0", span)
    }

    fn wall(&mut self, name: &str) -> Result<Option<Wall>, ConfigError> {
        self.take(name, "an instant in Unix seconds", |value| value.as_f64().and_then(Wall::from_unix_seconds))
    }

    fn period(&mut self, name: &str) -> Result<Option<Period>, ConfigError> {
        if let Some(Value::String(period)) = self.0.get(name) {
            let period = Period::from_name(period)?;
            self.0.remove(name);
            return Ok(Some(period));
        }
        Ok(self.span(name)?.map(|length| Period::Every(length.into())))
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        self.take(name, "text", |value| value.as_str().map(str::to_owned))
    }

    fn flag(&mut self, name: &str) -> Result<bool, ConfigError> {
        Ok(self.take(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    fn take<T>(
        &mut self,
        name: &str,
        takes: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(ConfigError::new(name, format!("must be {takes}, not {value}"))),
        }
    }

    /// What is left belongs to another class, or to none.
    fn end(&self, class: &str) -> Result<(), ConfigError> {
        let Some(name) = self.0.keys().next() else { return Ok(()) };
        let problem = match (class, &**name) {
            ("capacity", "seconds" | "until" | "until_next") => {
                "is not known of a capacity refusal: suggested_seconds marks a wait as a suggestion"
            }
            ("permanent", "seconds" | "until" | "until_next" | "suggested_seconds") => {
                "has no place in a permanent refusal: it asks nobody to come back"
            }
            _ => return Err(ConfigError::new(&**name, format!("is no option of a {class} refusal"))),
        };
        Err(ConfigError::new(&**name, problem))
    }
}
