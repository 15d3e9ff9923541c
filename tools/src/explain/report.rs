//! What is told of the responses, as data: the page shows it to people, and
//! `--json` prints it as it is.

use core::time::Duration;

use rampmeter::{
    Class, Config, Decision, Error, Figure, Reader, Reading, Reason, Refusal, Response, Signals, Statement, Wall,
};
use serde::Serialize;

use super::replay::Replay;
use super::wording;
use crate::input::{Exchange, Input};
use crate::words;

/// Up to how many responses the next call is asked for each: every asking
/// replays all that went before.
const MOST_PEEKS: usize = 100;
/// How much of a value is shown.
const LONGEST_VALUE: usize = 2000;

/// Everything that is told.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The responses, in order.
    pub(super) responses: Vec<Told>,
    /// What of the input was left out, and why.
    pub(super) notes: Vec<String>,
}

/// What is told of one response.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    /// Its place in the input, from 1.
    pub(super) number: usize,
    /// The request's method, if known.
    pub(super) method: Option<String>,
    /// The request's URL without its query, which may hold secrets.
    pub(super) url: Option<String>,
    /// `HTTP/2`, if known.
    pub(super) version: Option<String>,
    /// The status.
    pub(super) status: u16,
    /// The status line's words.
    pub(super) phrase: Option<String>,
    /// The clock that times are read against, in Unix seconds.
    pub(super) time: f64,
    /// Whether it says anything about limits.
    pub(super) tells: bool,
    /// The header fields that are about limits or time.
    pub(super) fields: Vec<Field>,
    /// The meters that it describes.
    pub(super) meters: Vec<Meter>,
    /// The wait that it orders.
    pub(super) wait: Option<Wait>,
    /// What it refuses.
    pub(super) refusal: Option<Refused>,
    /// What stood in the body.
    pub(super) body: Option<String>,
    /// Seconds that it spent in a cache.
    pub(super) age: Option<f64>,
    /// Fields that were set aside, and why.
    pub(super) ignored: Vec<Ignored>,
    /// What is worth a remark: contradictions, what a cache did.
    pub(super) remarks: Vec<String>,
    /// What the limiter would have done before sending the request.
    pub(super) before: Option<Answer>,
    /// What it does with the response.
    pub(super) decision: Option<Answer>,
    /// What it tells the next call to the same route; absent where it was
    /// not asked.
    pub(super) next: Option<Answer>,
    /// What it tells a call to another route, if the next one has to wait.
    pub(super) elsewhere: Option<Answer>,
    /// True if the call is the refused one before, sent again.
    pub(super) again: bool,
    /// Seconds from the last response to this request.
    #[serde(skip)]
    pub(super) pause: Option<f64>,
    /// Its time is known to the second only.
    #[serde(skip)]
    pub(super) is_rough: bool,
}

/// One header field.
#[derive(Debug, Serialize)]
pub(super) struct Field {
    /// Its name, as sent.
    pub(super) name: String,
    /// Its value.
    pub(super) value: String,
    /// What it means, in words.
    pub(super) meaning: String,
    /// Its figures.
    pub(super) says: Vec<Says>,
    /// Why it was set aside, if it was.
    pub(super) ignored: Option<&'static str>,
    /// Where it is documented, if its name alone does not tell.
    pub(super) source: Option<&'static str>,
}

/// One figure.
#[derive(Debug, Serialize)]
pub(super) struct Says {
    /// What it is: `limit`, `remaining`, `reset`, ...
    pub(super) what: &'static str,
    /// Its number: an amount, or seconds from reception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<f64>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The meter it belongs to.
    pub(super) meter: Option<String>,
    /// The window's seconds.
    pub(super) window: Option<f64>,
    /// What is counted.
    pub(super) unit: Option<String>,
}

/// One meter: the fields are those of `rampmeter::Reading`, times in seconds.
#[derive(Debug, Serialize)]
pub(super) struct Meter {
    pub(super) name: Option<String>,
    pub(super) limit: Option<f64>,
    pub(super) remaining: Option<f64>,
    pub(super) reset: Option<f64>,
    pub(super) window: Option<f64>,
    pub(super) unit: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) informative: bool,
}

/// An explicit wait.
#[derive(Debug, Serialize)]
pub(super) struct Wait {
    /// Seconds from when the response was made.
    pub(super) seconds: f64,
    /// Where it stood.
    pub(super) source: &'static str,
}

/// A refusal: the fields are those of `rampmeter::Refusal`.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    pub(super) class: &'static str,
    pub(super) meter: Option<String>,
    pub(super) limit: Option<f64>,
    pub(super) hint: Option<String>,
    pub(super) first_wait: Option<f64>,
    #[serde(skip)]
    pub(super) read: Class,
}

/// A field that was set aside.
#[derive(Debug, Serialize)]
pub(super) struct Ignored {
    /// Its name.
    pub(super) field: String,
    /// Why.
    pub(super) why: &'static str,
}

/// A decision.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// `send`, `sleep`, `deliver` or `raise`.
    pub(super) decision: &'static str,
    /// Why, by name.
    pub(super) reason: &'static str,
    /// Seconds to sleep.
    pub(super) seconds: Option<f64>,
    /// What is raised.
    pub(super) error: Option<Raised>,
    #[serde(skip)]
    pub(super) why: Reason,
}

impl Answer {
    /// How long to sleep.
    pub(super) fn wait(&self) -> Duration {
        self.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default()
    }

    /// Whether both say the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let message = |answer: &Self| answer.error.as_ref().map(|error| error.message.clone());
        (self.decision, self.reason, self.seconds) == (other.decision, other.reason, other.seconds)
            && message(self) == message(other)
    }
}

/// An error.
#[derive(Debug, Serialize)]
pub(super) struct Raised {
    /// The class's name.
    pub(super) name: &'static str,
    /// Its sentence.
    pub(super) message: String,
    /// Seconds that the server asked.
    pub(super) retry_after: Option<f64>,
    /// The option that leaves no room.
    pub(super) limit_name: Option<&'static str>,
}

/// Explains the responses of an input.
///
/// # Errors
///
/// A sentence, if the limiter's options conflict.
pub(super) fn report(input: Input, config: &Config, now: f64) -> Result<Report, String> {
    let reader = Reader::from_config(config).map_err(|error| error.to_string())?;
    let new = || Replay::new(config).map_err(|error| error.to_string());
    let mut replay = new()?;
    let received = input.received(now);
    let mut responses = Vec::with_capacity(input.exchanges.len());
    for (at, exchange) in input.exchanges.iter().enumerate() {
        let mut told = told(at + 1, exchange, &reader, received[at]);
        let answers = replay.feed(exchange, received[at]);
        told.before = answers.before.as_ref().map(answer);
        told.decision = answers.after.as_ref().map(answer);
        told.again = answers.again;
        told.pause = answers.pause;
        if at < MOST_PEEKS || at + 1 == input.exchanges.len() {
            let mut twin = new()?;
            for (before, received) in input.exchanges.iter().zip(&received).take(at + 1) {
                twin.feed(before, *received);
            }
            let (next, elsewhere) = twin.peek(exchange, received[at]);
            told.next = next.as_ref().map(answer);
            told.elsewhere = elsewhere.as_ref().map(answer);
        }
        responses.push(told);
    }
    Ok(Report { responses, notes: input.notes })
}

fn told(number: usize, exchange: &Exchange, reader: &Reader, received: f64) -> Told {
    let now = Wall::from_unix_seconds(received);
    let wanted = reader.wants_body(exchange.status, &exchange.headers);
    let body = exchange.body_up_to(wanted);
    let response = Response::new(exchange.status, &exchange.headers).cached(exchange.cached);
    let signals = reader.read(&response.body(body), now);
    let of_head = reader.read(&response, now);
    let whole = exchange.body.as_deref().filter(|_| body.is_none());
    let unread = whole.is_some_and(|body| differs(&reader.read(&response.body(Some(body)), now), &of_head));
    let fresh = signals.age.is_none_or(|age| age.is_zero());
    let time = signals.date.filter(|_| fresh).map_or(received, Wall::as_unix_seconds);

    let context = wording::Context { status: exchange.status, signals: &signals, time, cached: exchange.cached };
    let fields: Vec<Field> =
        exchange.headers.iter().filter_map(|(name, value)| field(name, value, reader, now, &context)).collect();
    let about_limits =
        |field: &Field| field.says.iter().any(|says| !matches!(says.what, "date" | "age")) || field.says.is_empty();
    let tells = signals.refusal.is_some()
        || signals.wait.is_some()
        || !signals.meters.is_empty()
        || fields.iter().any(about_limits);
    Told {
        number,
        method: exchange.method.as_deref().map(|method| words::plain(method.as_bytes(), 32)),
        url: exchange.url.as_deref().map(words::url),
        version: (!exchange.version.is_empty()).then(|| words::plain(exchange.version.as_bytes(), 16)),
        status: exchange.status,
        phrase: (!exchange.phrase.is_empty()).then(|| words::plain(exchange.phrase.as_bytes(), 60)),
        time,
        tells,
        fields,
        meters: signals.meters.iter().map(meter).collect(),
        wait: signals.wait.map(|wait| Wait { seconds: wait.span.as_secs_f64(), source: wait.source.name() }),
        refusal: signals.refusal.as_ref().map(refused),
        body: wording::body(&signals, &of_head, time),
        age: signals.age.map(|age| age.as_secs_f64()),
        ignored: signals
            .ignored
            .iter()
            .map(|ignored| Ignored { field: ignored.field.to_string(), why: ignored.why })
            .collect(),
        remarks: wording::remarks(&context, unread),
        before: None,
        decision: None,
        next: None,
        elsewhere: None,
        again: false,
        pause: None,
        is_rough: exchange.sent.is_none(),
    }
}

fn field(
    name: &[u8],
    value: &[u8],
    reader: &Reader,
    now: Option<Wall>,
    context: &wording::Context<'_>,
) -> Option<Field> {
    let meaning = reader.explain(name, value, context.signals, now)?;
    let lower = String::from_utf8_lossy(name).to_lowercase().replace('_', "-");
    // What only the whole response tells.
    let late = || context.signals.ignored.iter().find(|ignored| *ignored.field == *lower && meaning.says.is_empty());
    let ignored = meaning.ignored.or_else(|| late().map(|ignored| ignored.why));
    Some(Field {
        name: words::plain(name, 64),
        value: words::plain(value, LONGEST_VALUE),
        meaning: wording::meaning(&meaning, ignored, context),
        says: meaning.says.iter().map(says).collect(),
        ignored,
        source: meaning.source,
    })
}

fn says(statement: &Statement) -> Says {
    let (mut number, mut text) = (None, None);
    match &statement.figure {
        Figure::Limit(amount)
        | Figure::Remaining(amount)
        | Figure::Used(amount)
        | Figure::UsedShare(amount)
        | Figure::Policy(amount) => number = Some(*amount),
        Figure::Reset(when) | Figure::Wait(when) => number = when.span.map(|span| span.as_secs_f64()),
        Figure::Window(span) | Figure::Age(span) => number = Some(span.as_secs_f64()),
        Figure::Date(date) => number = Some(date.as_unix_seconds()),
        Figure::Name(name) | Figure::Reason(name) | Figure::Unit(name) => {
            text = Some(words::plain(name.as_bytes(), 128))
        }
        Figure::ShouldRetry(retry) => text = Some(retry.to_string()),
        _ => {}
    }
    Says {
        what: statement.figure.name(),
        number,
        text,
        meter: shown(&statement.meter),
        window: statement.window.map(|window| window.as_secs_f64()),
        unit: shown(&statement.unit),
    }
}

fn meter(reading: &Reading) -> Meter {
    Meter {
        name: shown(&reading.name),
        limit: reading.limit,
        remaining: reading.remaining,
        reset: reading.reset.map(|reset| reset.as_secs_f64()),
        window: reading.window.map(|window| window.as_secs_f64()),
        unit: shown(&reading.unit),
        policy: shown(&reading.policy),
        informative: reading.informative,
    }
}

fn refused(refusal: &Refusal) -> Refused {
    Refused {
        class: refusal.class.name(),
        meter: shown(&refusal.meter),
        limit: refusal.limit,
        hint: refusal.hint.as_ref().map(|hint| words::plain(hint.as_bytes(), 300)),
        first_wait: refusal.first_wait.map(|wait| wait.as_secs_f64()),
        read: refusal.class,
    }
}

fn answer(decision: &Decision) -> Answer {
    Answer {
        decision: decision.kind(),
        reason: decision.reason().name(),
        seconds: decision.wait().map(|wait| wait.as_secs_f64()),
        error: decision.error().map(|error| Raised {
            name: error.name(),
            message: words::plain(error.to_string().as_bytes(), 600),
            retry_after: error.retry_after().map(|wait| wait.as_secs_f64()),
            limit_name: match error {
                Error::Exceeded(error) => Some(error.limit_name),
                _ => None,
            },
        }),
        why: decision.reason(),
    }
}

fn shown(text: &Option<Box<str>>) -> Option<String> {
    text.as_ref().map(|text| words::plain(text.as_bytes(), 128))
}

/// Whether one reading leads to another end than the other.
fn differs(one: &Signals, other: &Signals) -> bool {
    let class = |signals: &Signals| signals.refusal.as_ref().map(|refusal| refusal.class);
    (class(one), one.wait, &one.meters) != (class(other), other.wait, &other.meters)
}
