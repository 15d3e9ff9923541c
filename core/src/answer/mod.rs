//! The other half of the contract: what a server writes when it refuses.
//!
//! A [`Refusal`] is what a client reads; an [`Answer`] is what a server sends
//! so that it can be read: by status, header fields and body alike, each of
//! which says the same. Every answer declares one of three things, and each
//! has a type of its own, so that what contradicts itself cannot be built:
//!
//! * [`Refusal::windowed`]: come back, in so many seconds.
//! * [`Refusal::capacity`]: come back when there is room. Nobody knows when
//!   that is, so no seconds are invented; a server may *suggest* some.
//! * [`Refusal::permanent`]: do not come back. There is no wait to state.
//!
//! ```
//! use core::time::Duration;
//! use rampmeter::{Form, Refusal, read_signals};
//!
//! let answer = Refusal::windowed(Duration::from_secs(30)).policy("minute")?.limit(100).hint("100 requests a minute");
//! let response = answer.render(&Form::Json);
//! assert_eq!(response.status, 429);
//!
//! let signals = read_signals(response.status, &response.headers, Some(response.body.as_bytes()), None);
//! assert_eq!(signals.wait.map(|wait| wait.span.as_secs()), Some(30));
//! assert_eq!(signals.refusal, Some(answer.refusal()));
//! # Ok::<(), rampmeter::ConfigError>(())
//! ```

mod body;
mod delay;
mod fields;
mod options;

/// So that the Rust example of the documentation is compiled.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../../docs/what-a-429-owes.md")]
struct Page;

pub use body::Form;
pub use delay::{Delay, Period};

use serde_json::Value;

use crate::config::ConfigError;
use crate::refusal::{Class, Refusal, sentence};

/// The longest name of a policy or unit.
const LONGEST_NAME: usize = 128;
/// The largest number that a structured field can hold (RFC 9651 section
/// 3.3.1).
const LARGEST: u64 = 999_999_999_999_999;
/// A unit that is a number at a time, not an amount per window (the RateLimit
/// fields' name for it).
const AT_A_TIME: &str = "concurrent-requests";

/// A refusal as a server writes it.
///
/// Made by [`Refusal::windowed`], [`Refusal::capacity`] and
/// [`Refusal::permanent`]. `C` is what it declares; an `Answer` without it is
/// one of the three ([`Declared`]), into which each can be turned.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<C = Declared> {
    declares: C,
    stated: Stated,
}

/// A quota is used up and comes back with time.
#[derive(Clone, Debug, PartialEq)]
pub struct Windowed {
    delay: Delay,
    remaining: Option<u64>,
    window: Option<u32>,
    unit: Option<Box<str>>,
    abnormal: bool,
}

/// The server, or the caller's share of it, is full; nobody knows for how
/// long.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    suggested: Option<Delay>,
    unavailable: bool,
}

/// Coming back is pointless.
#[derive(Clone, Debug, PartialEq)]
pub struct Permanent {
    forbidden: bool,
    abnormal: bool,
}

/// What an answer declares, where it is known only at run time.
#[derive(Clone, Debug, PartialEq)]
pub enum Declared {
    /// See [`Refusal::windowed`].
    Windowed(Windowed),
    /// See [`Refusal::capacity`].
    Capacity(Capacity),
    /// See [`Refusal::permanent`].
    Permanent(Permanent),
}

/// What an answer of any class may state.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stated {
    hint: Option<Box<str>>,
    limit: Option<u64>,
    /// The first is the one that the numbers are of.
    policies: Vec<Box<str>>,
    exposed: bool,
}

/// All that the renderings are made of: header fields and body are written
/// from this one account, so that they cannot disagree.
#[derive(Debug)]
struct Facts<'a> {
    class: Class,
    status: u16,
    delay: Option<Delay>,
    /// The delay is a suggestion: it may be too short.
    suggested: bool,
    abnormal: bool,
    hint: Box<str>,
    limit: Option<u64>,
    remaining: Option<u64>,
    window: Option<u32>,
    unit: Option<&'a str>,
    policies: &'a [Box<str>],
    exposed: bool,
}

/// What an answer can declare.
pub trait Declares: sealed::Sealed {}

mod sealed {
    use super::{Capacity, Declared, Permanent, Windowed};

    pub trait Sealed {
        fn view(&self) -> View<'_>;
    }

    pub enum View<'a> {
        Windowed(&'a Windowed),
        Capacity(&'a Capacity),
        Permanent(&'a Permanent),
    }

    impl Sealed for Windowed {
        fn view(&self) -> View<'_> {
            View::Windowed(self)
        }
    }

    impl Sealed for Capacity {
        fn view(&self) -> View<'_> {
            View::Capacity(self)
        }
    }

    impl Sealed for Permanent {
        fn view(&self) -> View<'_> {
            View::Permanent(self)
        }
    }

    impl Sealed for Declared {
        fn view(&self) -> View<'_> {
            match self {
                Self::Windowed(windowed) => View::Windowed(windowed),
                Self::Capacity(capacity) => View::Capacity(capacity),
                Self::Permanent(permanent) => View::Permanent(permanent),
            }
        }
    }
}

use sealed::View;

impl Declares for Windowed {}
impl Declares for Capacity {}
impl Declares for Permanent {}
impl Declares for Declared {}

impl Refusal {
    /// Answers that a quota is used up until `delay` has passed: a
    /// [`Duration`](core::time::Duration), or a [`Delay`] up to an instant or
    /// a boundary of the calendar. Status 429.
    ///
    /// ```
    /// use rampmeter::{Delay, Refusal, Wall};
    ///
    /// let now = Wall::from_unix_seconds(1_786_000_000.0).expect("a time");
    /// let answer = Refusal::windowed(Delay::until_next_utc_day(now));
    /// assert_eq!(answer.delay().map(|delay| delay.as_secs()), Some(60_800));
    /// ```
    #[must_use]
    pub fn windowed(delay: impl Into<Delay>) -> Answer<Windowed> {
        let windowed = Windowed { delay: delay.into(), remaining: None, window: None, unit: None, abnormal: false };
        Answer { declares: windowed, stated: Stated::default() }
    }

    /// Answers that there is no room now; the [`limit`](Answer::limit), if
    /// stated, is how many requests may run at a time. Status 429, or 503
    /// after [`unavailable`](Answer::unavailable).
    #[must_use]
    pub fn capacity() -> Answer<Capacity> {
        Answer { declares: Capacity { suggested: None, unavailable: false }, stated: Stated::default() }
    }

    /// Answers that coming back is pointless; the [`hint`](Answer::hint)
    /// should say why. Status 429, or 403 after
    /// [`forbidden`](Answer::forbidden).
    #[must_use]
    pub fn permanent() -> Answer<Permanent> {
        Answer { declares: Permanent { forbidden: false, abnormal: false }, stated: Stated::default() }
    }
}

impl<C: Declares> Answer<C> {
    /// States in a sentence for people what happened and what to do: at most
    /// 300 characters, without control characters. Without it a general one
    /// is sent.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        self.stated.hint = sentence(hint);
        self
    }

    /// States the limit that was met: for a windowed answer how much the quota
    /// allows in one window, for capacity how many requests may run at a time.
    /// At most 15 digits.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.stated.limit = Some(limit.min(LARGEST));
        self
    }

    /// Names a policy, or quota, that the request would exceed. Clients hold
    /// only the calls that it meters; and with a limit the `RateLimit` fields
    /// are sent, whose entries need a name. May be repeated: the numbers are
    /// those of the first.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] unless it is 1 to 128 printable ASCII characters, which
    /// is what a header field can hold.
    pub fn policy(mut self, name: &str) -> Result<Self, ConfigError> {
        let name = checked_name("policy", name)?;
        // RateLimit fields name no policy twice.
        if !self.stated.policies.contains(&name) {
            self.stated.policies.push(name);
        }
        Ok(self)
    }

    /// Sends `Access-Control-Expose-Headers` too, for scripts of other origins
    /// in browsers, which else read none of the fields. For servers without a
    /// CORS middleware that sends it.
    #[must_use]
    pub fn exposed(mut self) -> Self {
        self.stated.exposed = true;
        self
    }

    /// What a client reads from it.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let facts = self.facts();
        Refusal {
            meter: facts.policies.first().cloned(),
            limit: facts.limit.map(|limit| limit as f64),
            hint: Some(facts.hint),
            ..Refusal::new(facts.class)
        }
    }

    /// The wait that it states; for capacity, the suggested one.
    #[must_use]
    pub fn delay(&self) -> Option<Delay> {
        self.facts().delay
    }

    /// The names of the policies that it says are exceeded.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.stated.policies.iter().map(|name| &**name)
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.facts().status
    }

    /// The header fields that go with every form of body, `Content-Type`
    /// excepted; no name stands twice.
    #[must_use]
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        fields::fields(&self.facts())
    }

    /// The body as an object that can be laid into a response of the server's
    /// own form: whole, or as its member `error`.
    #[must_use]
    pub fn json(&self) -> Value {
        self.body(&Form::Json)
    }

    /// The body as problem details (RFC 9457).
    #[must_use]
    pub fn problem(&self) -> Value {
        self.body(&Form::Problem)
    }

    /// The body as the response to the JSON-RPC 2.0 request with that `id`: a
    /// string, a number, or null if the request had none.
    #[must_use]
    pub fn json_rpc(&self, id: impl Into<Value>) -> Value {
        self.body(&Form::JsonRpc { id: id.into() })
    }

    /// The body in that form.
    #[must_use]
    pub fn body(&self, form: &Form) -> Value {
        body::body(&self.facts(), form)
    }

    /// The whole response in that form.
    #[must_use]
    pub fn render(&self, form: &Form) -> Rendered {
        let facts = self.facts();
        let mut headers = fields::fields(&facts);
        headers.push(("Content-Type", form.content_type().to_owned()));
        Rendered { status: facts.status, headers, body: body::body(&facts, form).to_string() }
    }

    fn facts(&self) -> Facts<'_> {
        let Stated { hint, limit, policies, exposed } = &self.stated;
        let facts = Facts {
            class: Class::Unknown,
            status: 429,
            delay: None,
            suggested: false,
            abnormal: false,
            hint: Box::default(),
            limit: *limit,
            remaining: None,
            window: None,
            unit: None,
            policies,
            exposed: *exposed,
        };
        let mut facts = match self.declares.view() {
            View::Windowed(windowed) => Facts {
                class: Class::Windowed,
                delay: Some(windowed.delay),
                abnormal: windowed.abnormal,
                remaining: windowed.remaining.or(limit.map(|_| 0)),
                window: windowed.window,
                unit: windowed.unit.as_deref(),
                ..facts
            },
            View::Capacity(capacity) => Facts {
                class: Class::Capacity,
                status: if capacity.unavailable { 503 } else { 429 },
                delay: capacity.suggested,
                suggested: capacity.suggested.is_some(),
                remaining: limit.map(|_| 0),
                unit: limit.map(|_| AT_A_TIME),
                ..facts
            },
            // What is left of the quota is of no use to a caller who is
            // refused for good.
            View::Permanent(permanent) => Facts {
                class: Class::Permanent,
                status: if permanent.forbidden { 403 } else { 429 },
                abnormal: permanent.abnormal,
                ..facts
            },
        };
        facts.hint = hint.clone().unwrap_or_else(|| body::general_hint(&facts).into());
        facts
    }
}

impl Answer<Windowed> {
    /// States what is left of the quota, where a dearer request met the limit:
    /// 0 unless stated, once the limit is.
    #[must_use]
    pub fn remaining(mut self, remaining: u64) -> Self {
        self.declares.remaining = Some(remaining.min(LARGEST));
        self
    }

    /// States the length of the quota's window, in whole seconds, at least 1.
    #[must_use]
    pub fn window(mut self, window: core::time::Duration) -> Self {
        self.declares.window = Some(Delay::from(window).as_secs());
        self
    }

    /// States what the limit counts; requests unless stated.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] unless it is 1 to 128 printable ASCII characters, and
    /// for `concurrent-requests`: no window brings those back, which is
    /// [`Refusal::capacity`].
    pub fn unit(mut self, unit: &str) -> Result<Self, ConfigError> {
        if unit == AT_A_TIME {
            return Err(ConfigError::new("unit", "must be something that a window brings back; use capacity"));
        }
        self.declares.unit = Some(checked_name("unit", unit)?);
        Ok(self)
    }

    /// States that it was not a quota that refused the request, but its being
    /// out of the ordinary: the problem's type says so.
    #[must_use]
    pub fn abnormal(mut self) -> Self {
        self.declares.abnormal = true;
        self
    }
}

impl Answer<Capacity> {
    /// Suggests when to try again. It is marked as a suggestion: clients wait
    /// for it, and know that there may be no room then either.
    #[must_use]
    pub fn suggest(mut self, delay: impl Into<Delay>) -> Self {
        self.declares.suggested = Some(delay.into());
        self
    }

    /// Answers 503: the server is full whoever asks, not this caller's share
    /// of it.
    #[must_use]
    pub fn unavailable(mut self) -> Self {
        self.declares.unavailable = true;
        self
    }
}

impl Answer<Permanent> {
    /// Answers 403, which clients that read nothing but the status do not
    /// repeat.
    #[must_use]
    pub fn forbidden(mut self) -> Self {
        self.declares.forbidden = true;
        self
    }

    /// States that it was not a quota that refused the request, but its being
    /// out of the ordinary: the problem's type says so.
    #[must_use]
    pub fn abnormal(mut self) -> Self {
        self.declares.abnormal = true;
        self
    }
}

impl From<Answer<Windowed>> for Answer {
    fn from(answer: Answer<Windowed>) -> Self {
        Self { declares: Declared::Windowed(answer.declares), stated: answer.stated }
    }
}

impl From<Answer<Capacity>> for Answer {
    fn from(answer: Answer<Capacity>) -> Self {
        Self { declares: Declared::Capacity(answer.declares), stated: answer.stated }
    }
}

impl From<Answer<Permanent>> for Answer {
    fn from(answer: Answer<Permanent>) -> Self {
        Self { declares: Declared::Permanent(answer.declares), stated: answer.stated }
    }
}

/// A response, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The status code.
    pub status: u16,
    /// The header fields, `Content-Type` included; no name stands twice, and
    /// values are printable ASCII.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON.
    pub body: String,
}

/// For servers that are built on the `http` crate (axum, hyper, warp, …).
#[cfg(feature = "http")]
impl From<Rendered> for http::Response<String> {
    fn from(rendered: Rendered) -> Self {
        let mut response = Self::new(rendered.body);
        *response.status_mut() =
            http::StatusCode::from_u16(rendered.status).unwrap_or(http::StatusCode::TOO_MANY_REQUESTS);
        for (name, value) in rendered.headers {
            if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

fn checked_name(option: &str, name: &str) -> Result<Box<str>, ConfigError> {
    let printable = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if printable && (1..=LONGEST_NAME).contains(&name.len()) {
        Ok(name.into())
    } else {
        Err(ConfigError::new(option, format!("must be 1 to {LONGEST_NAME} printable ASCII characters")))
    }
}
