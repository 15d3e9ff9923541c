//! What figures, classes and reasons mean, in words.

use core::time::Duration;

use rampmeter::{Class, Figure, Meaning, Reading, Reason, Signals, Statement, Wait, WaitSource, When};

use crate::words;

/// What the words about a response depend on.
pub(super) struct Context<'a> {
    pub(super) status: u16,
    /// What the response says as a whole.
    pub(super) signals: &'a Signals,
    /// When it was received, in Unix seconds.
    pub(super) time: f64,
    /// A client-side cache answered.
    pub(super) cached: bool,
}

impl Context<'_> {
    fn is_stale(&self) -> bool {
        self.cached || self.signals.age.is_some_and(|age| !age.is_zero())
    }
}

/// What a field means, one line per meter.
pub(super) fn meaning(meaning: &Meaning, ignored: Option<&str>, context: &Context<'_>) -> String {
    let mut lines: Vec<(Option<&str>, String)> = Vec::new();
    for said in &meaning.says {
        let mut words = figure(said, context);
        if let Some(why) = unused(said, context) {
            words.push_str(", ");
            words.push_str(&why);
        }
        let meter = said.meter.as_deref();
        match lines.last_mut().filter(|(of, _)| *of == meter) {
            Some((_, line)) => {
                line.push_str(", ");
                line.push_str(&words);
            }
            None => lines.push((meter, words)),
        }
    }
    if let Some(why) = ignored {
        lines.push((None, format!("set aside: {why}")));
    }
    if lines.is_empty() {
        return "known; tells nothing that is needed".to_owned();
    }
    let counts =
        |said: &Statement| matches!(said.figure.name(), "limit" | "remaining" | "used" | "used_share" | "reset");
    if let Some((_, line)) = lines.last_mut()
        && context.is_stale()
        && meaning.says.iter().any(counts)
    {
        line.push_str(" (of a cached answer: no reading)");
    }
    let line = |(meter, words): (Option<&str>, String)| match meter {
        Some(meter) => format!("{}: {words}", words::plain(meter.as_bytes(), 128)),
        None => words,
    };
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn figure(said: &Statement, context: &Context<'_>) -> String {
    let unit = said.unit.as_deref().map(|unit| format!(" {}", unit_name(unit))).unwrap_or_default();
    let window = said.window.map(|window| format!(" per {}", words::period(window))).unwrap_or_default();
    let note = if said.informative { " (informative: refuses nobody)" } else { "" };
    let words = match &said.figure {
        Figure::Limit(amount) | Figure::Remaining(amount) if *amount < 0.0 => words::number(*amount),
        Figure::Limit(amount) => format!("{}{unit} allowed{window}", words::number(*amount)),
        Figure::Remaining(0.0) => format!("nothing left{window}"),
        Figure::Remaining(amount) => format!("{}{unit} left{window}", words::number(*amount)),
        Figure::Used(amount) => format!("{}{unit} used{window}", words::number(*amount)),
        Figure::UsedShare(share) => format!("{} % used{window}", words::number(share * 100.0)),
        Figure::Policy(amount) => format!("a policy of {}{unit}{window}", words::number(*amount)),
        Figure::Reset(when) => reset(*when, context.time),
        Figure::Wait(when) => wait(*when, context.time),
        Figure::Window(window) => format!("the window is {} long", words::duration(*window)),
        Figure::Name(name) => format!("the meter is called {}", words::plain(name.as_bytes(), 128)),
        Figure::Reason(reason) => format!("tells which limit was hit: {}", words::plain(reason.as_bytes(), 128)),
        Figure::Rejected => "rejected: nothing is left, whatever the numbers say".to_owned(),
        Figure::ShouldRetry(true) => "the server wants to be asked again".to_owned(),
        Figure::ShouldRetry(false) => "the server does not want to be asked again".to_owned(),
        Figure::Unit(unit) => format!("what is counted: {}", words::plain(unit.as_bytes(), 64)),
        Figure::Date(_) => "the server's clock, by which its times are read".to_owned(),
        Figure::Age(Duration::ZERO) => "not from a cache".to_owned(),
        Figure::Age(age) => format!("a cache has kept it for {}", words::duration(*age)),
        other => other.name().to_owned(),
    };
    words + note
}

fn unit_name(unit: &str) -> String {
    words::plain(unit.as_bytes(), 64).replace('-', " ")
}

fn reset(when: When, time: f64) -> String {
    match (when.span, when.at) {
        (Some(Duration::ZERO), Some(at)) => {
            let ago = Duration::try_from_secs_f64(time - at.as_unix_seconds()).unwrap_or_default();
            if ago.as_millis() < 1000 {
                "resets now".to_owned()
            } else {
                format!("was reset {} ago", words::duration(ago))
            }
        }
        (Some(Duration::ZERO), None) => "resets now".to_owned(),
        (Some(span), _) => format!("resets in {}", with_moment(span, time)),
        (None, Some(at)) => match words::full_moment(at.as_unix_seconds()) {
            Some(at) => format!("resets at {at}"),
            None => "resets at a time beyond all calendars".to_owned(),
        },
        (None, None) => "resets at some time".to_owned(),
    }
}

fn wait(when: When, time: f64) -> String {
    match when.span {
        Some(Duration::ZERO) if when.at.is_some() => "come back now: that time has passed".to_owned(),
        Some(Duration::ZERO) => "come back now".to_owned(),
        Some(span) => format!("come back in {}", with_moment(span, time)),
        None => "come back at a time that cannot be read".to_owned(),
    }
}

/// `41 s (07:07:21 UTC)`.
pub(super) fn with_moment(span: Duration, time: f64) -> String {
    match words::moment(time + span.as_secs_f64(), time) {
        Some(moment) => format!("{} ({moment})", words::duration(span)),
        None => words::duration(span),
    }
}

/// Why a figure is in none of the response's meters, if it is in none.
fn unused(said: &Statement, context: &Context<'_>) -> Option<String> {
    if context.is_stale() && !matches!(said.figure, Figure::Wait(_)) {
        return None;
    }
    let meters = &context.signals.meters;
    let near = |one: Option<Duration>, other: Duration| one.is_some_and(|one| one.abs_diff(other).as_secs_f64() <= 1.0);
    match said.figure {
        Figure::Limit(amount) | Figure::Remaining(amount) => {
            let is_limit = matches!(said.figure, Figure::Limit(_));
            let of = |meter: &Reading| if is_limit { meter.limit } else { meter.remaining };
            let amount = if is_limit { amount } else { amount.floor() };
            if meters.iter().any(|meter| of(meter) == Some(amount)) {
                return None;
            }
            let other = meters.iter().find(|meter| meter.name == said.meter).and_then(of);
            Some(match other {
                Some(0.0) if amount < 0.0 => "below zero: nothing is left".to_owned(),
                _ if amount < 0.0 => "below zero: no limit is enforced".to_owned(),
                Some(other) => format!("but {} is said elsewhere, and believed", words::number(other)),
                None if amount == 0.0 => "all zero: no quota is set up".to_owned(),
                None => "not used".to_owned(),
            })
        }
        Figure::Reset(When { span: Some(span), .. }) => {
            if meters.iter().any(|meter| near(meter.reset, span)) {
                return None;
            }
            let other = meters.iter().find(|meter| meter.name == said.meter).and_then(|meter| meter.reset);
            other.map(|other| format!("but {} is said elsewhere, and believed", words::duration(other)))
        }
        Figure::Wait(When { span: Some(span), .. }) => match context.signals.wait {
            Some(wait) if near(Some(wait.span), span) => None,
            Some(wait) => Some(format!("but {} comes first", source(wait))),
            None if context.signals.refusal.is_none() => Some("but this is no refusal: it holds nobody".to_owned()),
            None => Some("not used".to_owned()),
        },
        _ => None,
    }
}

/// A wait by where it stood.
fn source(wait: Wait) -> String {
    let span = words::duration(wait.span);
    match wait.source {
        WaitSource::Reset => format!("the reset, in {span},"),
        WaitSource::Body => format!("the body's wait of {span}"),
        WaitSource::Vendor => format!("the vendor's own wait of {span}"),
        header => format!("`{}`, {span},", header.name()),
    }
}

/// What stood in the body, by what the head alone does not say.
pub(super) fn body(signals: &Signals, head: &Signals, time: f64) -> Option<String> {
    let mut said = Vec::new();
    let from_body = signals.wait.filter(|wait| wait.source == WaitSource::Body);
    if let Some(wait) = from_body {
        said.push(if wait.span.is_zero() {
            "come back now".to_owned()
        } else {
            format!("come back in {}", with_moment(wait.span, time))
        });
    } else if let (Some(wait), Some(of_head)) = (signals.wait, head.wait)
        && wait != of_head
    {
        // It states the exact wait that a header rounds.
        said.push(format!("the wait is {}", words::duration(wait.span)));
    }
    let (class, class_of_head) =
        (signals.refusal.as_ref().map(|refusal| refusal.class), head.refusal.as_ref().map(|refusal| refusal.class));
    match (class, class_of_head) {
        (Some(class), None) => said.push(format!("a refusal: {}", class.name())),
        (Some(class), Some(of_head)) if class != of_head => {
            said.push(format!("not {} but {}", of_head.name(), class.name()))
        }
        (None, Some(_)) => said.push("no refusal".to_owned()),
        _ => {}
    }
    for meter in signals.meters.iter().filter(|meter| !head.meters.contains(meter)) {
        let name = meter.name.as_deref().map_or("a meter".to_owned(), |name| words::plain(name.as_bytes(), 128));
        let left = meter.remaining.map(|left| format!(", {} left", words::number(left))).unwrap_or_default();
        let limit = meter.limit.map(|limit| format!(" of {}", words::number(limit))).unwrap_or_default();
        said.push(format!("{name}{left}{limit}"));
    }
    let of = |signals: &Signals| signals.refusal.as_ref().and_then(|refusal| refusal.meter.clone());
    if let Some(meter) = of(signals).filter(|meter| of(head).as_ref() != Some(meter)) {
        said.push(format!("the limit concerned: {}", words::plain(meter.as_bytes(), 128)));
    }
    if let Some(hint) = signals.refusal.as_ref().and_then(|refusal| refusal.hint.as_ref()) {
        said.push(format!("“{}”", words::plain(hint.as_bytes(), 300)));
    }
    (!said.is_empty()).then(|| said.join("\n"))
}

/// What is worth a remark of its own.
pub(super) fn remarks(context: &Context<'_>, unread: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if unread {
        remarks.push(
            "the body says more, but clients leave it unread: of a refusal they read JSON, XML and plain text, of a \
             success only small JSON of a stated length"
                .to_owned(),
        );
    }
    let signals = context.signals;
    if context.is_stale() {
        let place = if context.cached { "the client's own cache" } else { "a cache on the way" };
        remarks.push(format!("{place} answered: such an answer says nothing about the server's counters now"));
    }
    if let (Some(wait), Some(_)) = (signals.wait, &signals.refusal) {
        let later = signals.meters.iter().find(|meter| {
            let later = meter.reset.is_some_and(|reset| reset.as_secs_f64() > wait.span.as_secs_f64() + 2.0);
            later && meter.remaining == Some(0.0) && !meter.informative && wait.source != WaitSource::Reset
        });
        if let Some(Reading { name, reset: Some(reset), .. }) = later {
            let whose = name.as_deref().map_or("the meter".to_owned(), |name| words::plain(name.as_bytes(), 128));
            let end = if name.is_some() { "it binds its own routes until then" } else { "the explicit wait decides" };
            remarks.push(format!(
                "the server asks to come back in {}, yet {whose} is empty for {}: {end}",
                words::duration(wait.span),
                words::duration(*reset),
            ));
        }
    }
    let counts_left = signals.meters.iter().any(|meter| meter.remaining.is_some_and(|left| left > 0.0));
    let empty = signals.meters.iter().any(|meter| meter.remaining == Some(0.0));
    if signals.refusal.is_some() && counts_left && !empty {
        remarks.push(
            "it refuses although its counters show something left: another limit was hit, or another cost".to_owned(),
        );
    }
    if signals.refusal.is_none() && matches!(context.status, 403 | 503) && !signals.meters.is_empty() {
        remarks.push(format!("a {} alone is no refusal, and nothing beside it makes it one", context.status));
    }
    remarks
}

/// What a class asks of a client.
pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Windowed => "a quota is used up and comes back with time",
        Class::Capacity => "the server is full, nobody knows for how long: fewer requests at once help",
        Class::Permanent => "coming back is pointless: billing, plan or ban",
        Class::Unknown => "a quota or a lack of room, the server does not say which",
    }
}

/// What is waited for.
pub(super) fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Ready => "nothing stands in the way",
        Reason::Disabled => "the limiter is switched off",
        Reason::Held => "the server asked for it",
        Reason::Backoff => "the server named no wait, so a random one, longer after each refusal",
        Reason::Spent => "a meter has nothing left",
        Reason::Pacing => "the local pace has no token yet",
        Reason::Probing => "one request tests whether the limit has passed",
        Reason::InFlightFull => "as many requests are under way as is safe",
        Reason::Queued => "others are ahead in the queue",
        Reason::Transient => "a passing failure",
        Reason::Answered => "it is no rate-limit matter",
        Reason::Failed => "a failure that is not tried again",
        Reason::NotReplayable => "the request's body cannot be sent again",
        Reason::Exceeded => "a budget leaves no room",
        Reason::Permanent => "the server refused for good",
        Reason::Closed => "the limiter is closed",
        Reason::Cancelled => "the call was given up",
        other => other.name(),
    }
}
