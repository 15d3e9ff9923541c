//! Whether a refusal says whether to come back, and when; in a form that
//! agrees with itself.

use core::time::Duration;

use rampmeter::{Class, Reading};

use super::finding::Finding;
use super::heard::{Body, Heard, Members, RetryAfter};
use crate::words;

/// How far two statements of one moment may lie apart: each may be rounded,
/// and dates have whole seconds.
const ROUNDING: f64 = 1.0;
/// The same between a wait and a counter's reset, which is read off another
/// clock more often than not.
const LOOSE_ROUNDING: f64 = 2.0;

pub(super) fn judge(heard: &Heard<'_>, class: Class) -> Vec<Finding> {
    let mut findings = match class {
        Class::Windowed => windowed(heard),
        Class::Capacity => capacity(heard),
        Class::Permanent => permanent(heard),
        Class::Unknown => vec![Finding::error(
            "undecided",
            "nothing says whether to come back, or when",
            format!(
                "one of three: {} with `Retry-After: SECONDS`, if the time is known; {}, if a slot must free up; {}, \
                 if coming back is pointless",
                members(heard, r#""retry": true, "retryAfter": SECONDS"#),
                members(heard, r#""retry": true"#),
                members(heard, r#""retry": false"#),
            ),
        )],
    };
    findings.extend(mistyped(heard));
    findings.extend(counters(heard, class));
    findings
}

fn windowed(heard: &Heard<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(field(heard));
    let instead = || format!("the body {}", members(heard, &windowed_members(heard)));
    match &heard.body {
        Body::Json(members) if members.wait.is_some() => findings.extend(agreement(heard, members)),
        body => findings.extend(unheard(body, "when to come back", instead())),
    }
    if let Body::Json(said) = &heard.body
        && said.wait.is_some()
        && said.retry != Some(true)
    {
        let what = if said.odd_retry { "`retry` is neither true nor false" } else { "the body does not say `retry`" };
        findings.push(match said.retry {
            Some(false) => Finding::error(
                "contradiction",
                "the body says `retry: false`, and when to come back",
                format!("{}, or `retry: false` without any seconds", instead()),
            ),
            _ => Finding::warning("retry-unsaid", what, instead()),
        });
    }
    findings
}

/// What is wrong with `Retry-After` where one is owed.
fn field(heard: &Heard<'_>) -> Option<Finding> {
    let instead = format!("`Retry-After: {}`", seconds(heard));
    Some(match &heard.field {
        RetryAfter::Absent => {
            let other = heard.signals.wait.map(|wait| wait.source.name()).filter(|name| *name != "body");
            let what = match other {
                Some("reset") => "there is no `Retry-After`: only who reads the counters knows when to come back",
                Some(_) => "there is no `Retry-After`: only who knows this server's own header knows when to come back",
                None => "there is no `Retry-After`",
            };
            Finding::error("no-header", what, instead)
        }
        RetryAfter::Several(first) => Finding::error(
            "disagreement",
            format!("there are several `Retry-After` that differ; the first says {first}"),
            format!("one line, {instead}"),
        ),
        RetryAfter::Unreadable(value) => {
            Finding::error("malformed-header", format!("`Retry-After: {value}` is neither seconds nor a date"), instead)
        }
        RetryAfter::Odd(value, _) => Finding::error(
            "malformed-header",
            format!("`Retry-After: {value}` is neither whole seconds nor an HTTP date: many clients cannot read it"),
            instead,
        ),
        RetryAfter::Seconds(0.0) => zero("`Retry-After` is 0: who comes back at once is refused again", heard),
        RetryAfter::Date(0.0) => zero("`Retry-After` names a moment that has passed", heard),
        RetryAfter::Date(_) if heard.exchange.header("date").is_none() => Finding::warning(
            "no-date",
            "`Retry-After` is a date and there is no `Date`: a client whose clock is wrong waits wrongly",
            instead,
        ),
        RetryAfter::Seconds(_) | RetryAfter::Date(_) => return None,
    })
}

fn zero(what: &str, heard: &Heard<'_>) -> Finding {
    Finding::error(
        "no-wait",
        what,
        format!("the seconds that are left, rounded up, at least 1: `Retry-After: {}`", seconds(heard)),
    )
}

/// Whether header and body mean one moment.
fn agreement(heard: &Heard<'_>, members: &Members) -> Option<Finding> {
    let said = members.wait?;
    if said == 0.0 && heard.field.seconds() != Some(0.0) {
        return Some(zero("the body says 0 seconds: who comes back at once is refused again", heard));
    }
    let field = heard.field.seconds()?;
    let apart = (field - said).abs();
    // A date names a whole second; seconds are one number, rounded at most.
    let agree = if matches!(heard.field, RetryAfter::Date(_)) { apart <= ROUNDING } else { apart < ROUNDING };
    (!agree).then(|| {
        let (header, body) = (words::number(field), words::number(said));
        Finding::error(
            "disagreement",
            format!("`Retry-After` says {header} s, the body says {body} s"),
            format!(
                "the same in both: `Retry-After: {}` and {}",
                seconds(heard),
                self::members(heard, &windowed_members(heard))
            ),
        )
    })
}

fn capacity(heard: &Heard<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let instead = format!("the body {} without seconds", members(heard, r#""retry": true"#));
    match &heard.body {
        Body::Json(members) if members.retry == Some(true) => {}
        Body::Json(members) if members.retry == Some(false) => findings.push(Finding::error(
            "contradiction",
            "the body says `retry: false`, yet a slot frees up in the end",
            instead.clone(),
        )),
        body => findings.extend(unheard(body, "to come back when a slot is free", instead.clone())),
    }
    let suggestion = match &heard.body {
        Body::Json(members) if members.suggested => Some(members),
        _ => None,
    };
    match (suggestion, stated_wait(heard)) {
        (Some(members), _) => findings.extend(agreement(heard, members)),
        (None, Some(wait)) => findings.push(Finding::error(
            "invented-seconds",
            format!("{wait}, yet nobody knows when a slot is free"),
            format!(
                "{instead}, and no `Retry-After`; a known time with {}; a guess with `\"retryAfterSuggested\": true` \
                 beside it",
                members(heard, &windowed_members(heard))
            ),
        )),
        (None, None) => {}
    }
    findings
}

fn permanent(heard: &Heard<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let instead = format!("the body {}", members(heard, r#""retry": false"#));
    match &heard.body {
        Body::Json(members) if members.retry == Some(false) => {}
        Body::Json(members) if members.retry == Some(true) => findings.push(Finding::error(
            "contradiction",
            "the body says `retry: true`, and that coming back is pointless",
            instead.clone(),
        )),
        body => findings.extend(unheard(body, "that coming back is pointless", instead.clone())),
    }
    if let Some(wait) = stated_wait(heard) {
        findings.push(Finding::error(
            "contradiction",
            format!("{wait}, yet coming back is pointless"),
            format!("{instead}, and no `Retry-After`"),
        ));
    }
    findings
}

/// Who states a wait where none belongs.
fn stated_wait(heard: &Heard<'_>) -> Option<String> {
    match (&heard.field, heard.body.seconds()) {
        (RetryAfter::Absent, None) => None,
        (RetryAfter::Absent, Some(seconds)) => Some(format!("the body says {} s", words::number(seconds))),
        (field, _) => Some(match field.seconds() {
            Some(seconds) => format!("`Retry-After` says {} s", words::number(seconds)),
            None => "there is a `Retry-After`".to_owned(),
        }),
    }
}

/// Why a body does not say something, to one who reads nothing but JSON.
fn unheard(body: &Body, what: &str, instead: String) -> Option<Finding> {
    Some(match body {
        Body::Unseen => Finding::warning(
            "body-unseen",
            "the input has no body, so that only the header could be judged",
            format!("{instead}; show the audit the body too"),
        ),
        Body::Absent => Finding::error("no-body", format!("there is no body that says {what}"), instead),
        Body::Foreign(kind) => Finding::error(
            "body-not-json",
            format!("the body is {kind}: a client that reads JSON does not learn {what}"),
            instead,
        ),
        Body::Json(Members { in_sentence: Some(seconds), .. }) => Finding::error(
            "body-in-prose",
            format!(
                "the body says {} s in a sentence only, which no program should have to read",
                words::number(*seconds)
            ),
            instead,
        ),
        Body::Json(Members { misplaced: true, .. }) => Finding::error(
            "body-silent",
            format!("of JSON-RPC `error.data` alone has room for what says {what}; it stands elsewhere"),
            instead,
        ),
        Body::Json(Members { odd_retry: true, .. }) => {
            Finding::error("body-silent", "`retry` in the body is neither true nor false", instead)
        }
        Body::Json(_) => Finding::error("body-silent", format!("the body does not say {what}"), instead),
    })
}

fn mistyped(heard: &Heard<'_>) -> Option<Finding> {
    let Body::Json(Members { mistyped: Some(kind), .. }) = &heard.body else { return None };
    Some(Finding::error(
        "body-mistyped",
        format!("the body is JSON and is declared as {kind}: clients do not read it as JSON"),
        "`Content-Type: application/json`, or application/problem+json for problem details",
    ))
}

/// What counters say beside it.
fn counters(heard: &Heard<'_>, class: Class) -> Vec<Finding> {
    let mut findings = Vec::new();
    let signals = &heard.signals;
    let asked = heard.field.seconds();
    let enforced = || signals.meters.iter().filter(|meter| !meter.informative);
    let refused = signals.refusal.as_ref().and_then(|refusal| refusal.meter.as_deref());
    let empty: Vec<&Reading> = enforced().filter(|meter| meter.remaining == Some(0.0)).collect();
    let of_refused = |meter: &&&Reading| refused.is_none() || meter.name.as_deref() == refused;
    let reset = empty.iter().filter(of_refused).filter_map(|meter| meter.reset).max();
    if let (Class::Windowed, Some(asked), Some(reset)) = (class, asked, reset.map(|reset| reset.as_secs_f64()))
        && asked > 0.0
        && (asked - reset).abs() > LOOSE_ROUNDING
    {
        let span = |seconds: f64| words::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        findings.push(Finding::error(
            "counters-disagree",
            format!("`Retry-After` says {}, yet by its counters nothing is left for {}", span(asked), span(reset)),
            "one moment in both: `Retry-After` is when the empty quota has something again",
        ));
    }
    let left = enforced()
        .filter_map(|meter| meter.remaining)
        .fold(None, |least: Option<f64>, left| Some(least.map_or(left, |least| least.min(left))));
    if let (Class::Windowed | Class::Unknown, Some(left)) = (class, left.filter(|left| *left > 0.0)) {
        findings.push(Finding::warning(
            "some-left",
            format!("the counters say that {} are left: they are those of another limit", words::number(left)),
            "the counters of the limit that refused, by its name: `RateLimit: \"NAME\";r=0;t=SECONDS`",
        ));
    }
    for ignored in signals.ignored.iter().filter(|ignored| !matches!(&*ignored.field, "retry-after" | "age")) {
        findings.push(Finding::warning(
            "unreadable-field",
            format!("`{}` is set aside by clients: {}", words::plain(ignored.field.as_bytes(), 64), ignored.why),
            "numbers and seconds as the field's specification has them, or no such field",
        ));
    }
    findings
}

/// Members as a body has them.
fn members(heard: &Heard<'_>, members: &str) -> String {
    let rpc = matches!(heard.body, Body::Json(Members { rpc: true, .. }));
    if rpc { format!("`{{\"error\": {{\"data\": {{{members}}}}}}}`") } else { format!("`{{{members}}}`") }
}

fn windowed_members(heard: &Heard<'_>) -> String {
    format!(r#""retry": true, "retryAfter": {}"#, seconds(heard))
}

/// The seconds to suggest, as a server would write them.
fn seconds(heard: &Heard<'_>) -> String {
    heard.seconds().map_or_else(|| "SECONDS".to_owned(), |seconds| format!("{seconds:.0}"))
}
