//! Reading one response: whatever bytes it has, the numbers can be computed
//! with, and what they depend on is what the documentation says.
//!
//! An input is the status, the local clock in Unix seconds (`-` for none) and
//! perhaps `cached`, then field lines, an empty line, and the body:
//!
//! ```text
//! 429 1786000000
//! RateLimit: "day";r=0;t=36000
//!
//! {"retry": true}
//! ```

use core::time::Duration;
use std::sync::LazyLock;

use rampmeter::{Config, Figure, Headers, Reader, Response, Signals, WaitSource, Wall};

use super::head::{Head, cut, number, words};

const DAY: Duration = Duration::from_secs(86_400);

/// Reads no wait at all.
static DEAF: LazyLock<Reader> = LazyLock::new(|| reader(serde_json::json!({"header_priority": []})));

/// Knows a dialect of its own, with every kind of field.
static OWN: LazyLock<Reader> = LazyLock::new(|| {
    reader(serde_json::json!({"dialects": [{
        "name": "acme",
        "headers": {
            "X-Acme-Cap": {"field": "limit", "meter": "reads", "unit": "tokens", "window": 60},
            "X-Acme-Left": {"field": "remaining", "meter": "reads"},
            "X-Acme-Used": {"field": "used", "meter": "reads"},
            "X-Acme-Open": {"field": "reset", "format": "milliseconds"},
            "X-Acme-Both": {"format": "limit:window"},
            "X-Acme-Parts": {"format": "name=used/limit"},
            "X-Acme-Pairs": {"format": "key=value"},
            "X-Acme-Span": "window",
            "X-Acme-Again": {"field": "wait", "format": "minutes"},
            "X-Acme-Pool": "name",
            "X-Acme-Why": "reason",
        },
        "body": {"error.cooldown": "wait", "left": "remaining", "cap": "limit", "error.pool": "name"},
        "refusals": [509, {"status": 200, "path": "error.code", "equals": "BUSY", "class": "capacity"}],
    }]}))
});

fn reader(options: serde_json::Value) -> Reader {
    let config = Config::default().with_options(&options).expect("the options are right");
    Reader::from_config(&config).expect("the dialect is right")
}

/// One response and the clock at its reception.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    pub status: u16,
    pub now: Option<Wall>,
    pub cached: bool,
    pub head: Head<'a>,
}

impl<'a> Case<'a> {
    /// The case that an input writes.
    #[must_use]
    pub fn parse(input: &'a [u8]) -> Self {
        let (first, mut rest) = cut(input, b'\n').unwrap_or((input, b""));
        let mut words = words(first);
        let status = words.next().map_or(0, number);
        let now = words.next().and_then(|word| word.parse().ok()).and_then(Wall::from_unix_seconds);
        let cached = words.next().is_some();
        let mut head = Head::default();
        while !rest.is_empty() {
            let (line, after) = cut(rest, b'\n').unwrap_or((rest, b""));
            rest = after;
            if line.is_empty() {
                head.body = Some(rest.to_vec());
                break;
            }
            head.field(line);
        }
        Self { status, now, cached, head }
    }

    fn read(&self, reader: &Reader, headers: &dyn Headers, now: Option<Wall>) -> Signals {
        reader.read(&Response::new(self.status, headers).body(self.head.body.as_deref()).cached(self.cached), now)
    }
}

/// Reads the response of an input in every way that must agree.
pub fn check(input: &[u8]) {
    let case = Case::parse(input);
    let headers = &case.head.headers;
    let reader = Reader::default();
    let signals = case.read(&reader, headers, case.now);
    check_numbers(&signals);
    assert_eq!(signals, case.read(&reader, headers, case.now), "one response is read alike twice");
    check_names(&case, &reader, &signals);
    check_clock(&case, &reader, &signals);
    check_sources(&case, &reader, &signals);
    check_statements(&case, &reader, &signals);
    assert!(reader.wants_body(case.status, headers) <= 65_536, "no more of a body is wanted than is read");

    let deaf = case.read(&DEAF, headers, case.now);
    assert_eq!(deaf.wait, None, "a wait is taken from no source but those that are asked for");
    check_numbers(&deaf);
    check_numbers(&case.read(&OWN, headers, case.now));
}

/// No number that cannot be computed with, and nothing unbounded.
pub fn check_numbers(signals: &Signals) {
    let natural = |number: Option<f64>| number.is_none_or(|number| number.is_finite() && number.is_sign_positive());
    assert!(signals.meters.len() <= 32, "{} meters", signals.meters.len());
    assert!(signals.ignored.len() <= 16, "{} ignored", signals.ignored.len());
    for meter in &signals.meters {
        assert!(natural(meter.limit) && natural(meter.remaining), "{meter:?}");
        assert!(meter.reset.is_none_or(|reset| reset <= 400 * DAY), "{meter:?}");
        assert!(meter.window.is_none_or(|window| !window.is_zero()), "{meter:?}");
        assert!(meter.name.as_ref().is_none_or(|name| !name.is_empty() && name.len() <= 600), "{meter:?}");
        let says = meter.limit.is_some() || meter.remaining.is_some() || meter.reset.is_some();
        assert!(says || meter.name.is_some() && meter.window.is_some(), "a meter without a figure: {meter:?}");
    }
    if let Some(refusal) = &signals.refusal {
        assert!(natural(refusal.limit), "{refusal:?}");
        assert!(refusal.hint.as_ref().is_none_or(|hint| hint.chars().count() <= 300), "{refusal:?}");
        assert!(refusal.first_wait.is_none_or(|wait| wait <= 400 * DAY), "{refusal:?}");
    }
    for ignored in &signals.ignored {
        assert!(ignored.field.len() <= 64, "{ignored:?}");
    }
}

/// Case does not count in names, and fields that do not matter are not missed.
fn check_names(case: &Case<'_>, reader: &Reader, signals: &Signals) {
    let headers = &case.head.headers;
    let upper: Vec<_> = headers.iter().map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
    assert_eq!(signals, &case.read(reader, &upper, case.now), "names in any case are read alike");
    let some: Vec<_> = headers.iter().filter(|(name, _)| reader.header_may_matter(name)).copied().collect();
    assert_eq!(signals, &case.read(reader, &some, case.now), "fields that do not matter change nothing");
    if some.is_empty() && case.head.body.is_none() && case.status < 400 {
        assert_eq!(signals, &Signals::default(), "a response without a word about limits says nothing");
    }
}

/// The local clock counts only where the response has none.
fn check_clock(case: &Case<'_>, reader: &Reader, signals: &Signals) {
    if signals.date.is_some() && signals.age.is_none() {
        let elsewhen = Wall::from_unix_seconds(1_234_567_890.5);
        for now in [None, elsewhen] {
            assert_eq!(signals, &case.read(reader, &case.head.headers, now), "a response is read by its own clock");
        }
    }
}

/// What is said comes from where it can have been said.
fn check_sources(case: &Case<'_>, reader: &Reader, signals: &Signals) {
    if case.cached || signals.age.is_some_and(|age| !age.is_zero()) {
        assert_eq!(signals.meters, [], "counters of a cached response are no reading");
    }
    if let Some(wait) = signals.wait {
        assert!(wait.source != WaitSource::Body || case.head.body.is_some(), "{wait:?} of no body");
    }
    if case.head.body.is_none() {
        let empty = Case { head: Head { body: Some(Vec::new()), ..case.head.clone() }, ..case.clone() };
        assert_eq!(signals, &empty.read(reader, &case.head.headers, case.now), "an empty body says nothing");
    }
}

/// What single fields say, and how the meters follow from it.
fn check_statements(case: &Case<'_>, reader: &Reader, signals: &Signals) {
    let mut stated = Vec::new();
    for (name, value) in &case.head.headers {
        let _ = rampmeter::parse_retry_after(value, case.now, signals.date);
        if let Ok(text) = core::str::from_utf8(value) {
            let _ = rampmeter::parse_date(text);
            // A name that proves little by itself is not explained.
            stated.extend(text.trim().parse::<f64>().ok().filter(|number| number.is_finite()));
        }
        let Some(meaning) = reader.explain(name, value, signals, case.now) else { continue };
        assert!(reader.header_may_matter(name), "a field that is explained matters");
        for statement in &meaning.says {
            match statement.figure {
                Figure::Remaining(left) => stated.push(left),
                Figure::Limit(number) | Figure::Used(number) | Figure::Policy(number) | Figure::UsedShare(number) => {
                    assert!(number.is_finite(), "{statement:?}");
                }
                _ => {}
            }
        }
    }
    assert!(stated.iter().all(|left| left.is_finite()), "{stated:?}");
    for meter in &signals.meters {
        if let (Some(limit), Some(remaining)) = (meter.limit, meter.remaining)
            && remaining > limit
            && case.head.body.is_none()
        {
            let is_said = stated.iter().any(|left| *left == remaining || left.floor() == remaining);
            assert!(is_said, "more is left than is allowed, and no field says so: {meter:?}");
        }
    }
}
