//! What the limiter answered, in sentences.

use core::time::Duration;

use rampmeter::Reason;

use super::report::{Answer, Told};
use super::wording;
use crate::words;

/// What it did before sending, where that is worth a word.
pub(super) fn early(told: &Told) -> Option<String> {
    let before = told.before.as_ref()?;
    let again = told.again.then(|| "the refused call is sent again".to_owned());
    let under_way = told.pause.is_some_and(|pause| pause < 0.0);
    match before.decision {
        "sleep" if under_way => None,
        // Dates have seconds only.
        "sleep" if told.is_rough && before.wait() <= Duration::from_secs(1) => again,
        "sleep" => {
            Some(format!("would have waited {} first: {}", words::duration(before.wait()), wording::reason(before.why)))
        }
        "raise" => before.error.as_ref().map(|error| format!("would have raised {} instead of sending it", error.name)),
        "send" => again,
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    This,
    Next,
}

/// The answer to a call.
pub(super) fn sentence(answer: &Answer, told: &Told, whose: Whose) -> String {
    let why = wording::reason(answer.why);
    match answer.decision {
        "send" if answer.why == Reason::Probing => {
            "is sent at once, as the one that tests whether the limit has passed".to_owned()
        }
        "send" => "is sent at once".to_owned(),
        "deliver" if told.status < 400 => "is done: the response goes to the caller".to_owned(),
        "deliver" => format!("is done: the response goes to the caller; {why}"),
        "sleep" => {
            let wait = wording::with_moment(answer.wait(), told.time);
            let then = if whose == Whose::This { "then is sent again" } else { "then is sent" };
            let why = match &told.wait {
                Some(asked) if answer.why == Reason::Held && whose == Whose::This => asked_for(asked.seconds, answer),
                None if answer.why == Reason::Held => "the reset of what is empty".to_owned(),
                None if first_wait(told) && answer.why == Reason::Backoff => {
                    "as long as the server's documentation or its rate of refill asks, and jitter".to_owned()
                }
                _ => why.to_owned(),
            };
            format!("waits {wait}, {then}: {why}")
        }
        _ => match &answer.error {
            Some(error) => format!("raises {}: {}", error.name, error.message),
            None => format!("ends: {why}"),
        },
    }
}

/// Why a wait is as long as it is, by what the server asked.
fn asked_for(seconds: f64, answer: &Answer) -> String {
    let asked = words::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let waited = answer.wait().as_secs_f64();
    // The most that jitter adds.
    let most = seconds + (seconds * 0.02).min(0.5) + 0.06;
    if seconds == 0.0 {
        "the server asked for no wait; a short one, longer after each refusal, keeps it from being hammered".to_owned()
    } else if waited + 1e-3 < seconds {
        format!("the server asked for {asked}, of which this much is waited")
    } else if waited <= most {
        format!("the server asked for {asked}; the rest is jitter, so that clients do not come back together")
    } else {
        format!("the server asked for {asked}, and something else lasts longer")
    }
}

fn first_wait(told: &Told) -> bool {
    told.refusal.as_ref().is_some_and(|refusal| refusal.first_wait.is_some())
}

/// The same in a word or two.
pub(super) fn short(answer: &Answer) -> String {
    match (answer.decision, &answer.error) {
        ("sleep", _) => format!("waits {}", words::duration(answer.wait())),
        ("raise", Some(error)) => format!("raises {}", error.name),
        ("send", _) if answer.why == Reason::Probing => "sends, to test".to_owned(),
        (decision, _) => format!("{decision}s"),
    }
}
