//! The whole report, as `--json` prints it.

use core::time::Duration;
use std::path::PathBuf;

use rampmeter::{Class, Reader};
use serde::Serialize;

use super::finding::{Finding, Severity};
use super::heard::Heard;
use super::{caching, cors, refusal};
use crate::input::Input;
use crate::words;

/// What was found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// How many responses there were.
    pub(super) responses: usize,
    /// How many of them are refusals.
    pub(super) refusals: usize,
    /// How many refusals do not answer.
    pub(super) unanswered: usize,
    /// How many warnings there are.
    pub(super) warnings: usize,
    /// The refusals, and what else has findings.
    pub(super) judged: Vec<Judged>,
    /// What of the input was left out, and why.
    pub(super) notes: Vec<String>,
}

/// One response that was judged.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    /// Its place in its input, from 1.
    pub(super) number: usize,
    /// The file that it stands in.
    pub(super) file: Option<String>,
    pub(super) method: Option<String>,
    /// Without its query, which may hold secrets.
    pub(super) url: Option<String>,
    pub(super) status: u16,
    pub(super) phrase: Option<String>,
    /// The class of a refusal.
    pub(super) class: Option<&'static str>,
    /// What it answers, in words, if it does.
    pub(super) answer: Option<String>,
    /// Seconds that `Retry-After` asks.
    pub(super) header_seconds: Option<f64>,
    /// Seconds that a member of the body asks.
    pub(super) body_seconds: Option<f64>,
    pub(super) findings: Vec<Finding>,
}

impl Judged {
    /// Whether it says what it owes.
    pub(super) fn answers(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

impl Report {
    /// Judges the responses of one input; those received at an unknown time
    /// at `now`.
    pub(super) fn add(&mut self, input: Input, file: Option<&PathBuf>, now: f64) {
        let reader = Reader::default();
        let received = input.received(now);
        let shared = cors::shared_origins(&input.exchanges);
        for (at, exchange) in input.exchanges.iter().enumerate() {
            let heard = Heard::new(exchange, &reader, received[at]);
            let class = heard.class();
            let findings = match class {
                Some(class) => {
                    let age = heard.signals.age.unwrap_or_default().as_secs_f64();
                    let mut findings = refusal::judge(&heard, class);
                    findings.extend(caching::refusal(exchange, age));
                    findings.extend(cors::hidden(&heard));
                    findings.extend(cors::refused_unseen(exchange, &shared));
                    findings.sort_by_key(|finding| finding.severity);
                    findings
                }
                None if exchange.status == 503 => vec![Finding::warning(
                    "bare-503",
                    "a 503 without a word: clients cannot tell a limit from an outage",
                    "429 if a limit refused the request; else `Retry-After`, if the time is known",
                )],
                None => caching::served(exchange, &reader, heard.now).into_iter().collect(),
            };
            self.responses += 1;
            if class.is_none() && findings.is_empty() {
                continue;
            }
            let mut judged = Judged {
                number: at + 1,
                file: file.map(|file| words::plain(file.display().to_string().as_bytes(), 300)),
                method: exchange.method.as_deref().map(|method| words::plain(method.as_bytes(), 32)),
                url: exchange.url.as_deref().map(words::url),
                status: exchange.status,
                phrase: (!exchange.phrase.is_empty()).then(|| words::plain(exchange.phrase.as_bytes(), 60)),
                class: class.map(Class::name),
                answer: None,
                header_seconds: heard.field.seconds(),
                body_seconds: heard.body.seconds(),
                findings,
            };
            judged.answer = class.filter(|_| judged.answers()).map(|class| answer(class, heard.seconds()));
            self.refusals += usize::from(class.is_some());
            self.unanswered += usize::from(class.is_some() && !judged.answers());
            self.warnings += judged.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
            self.judged.push(judged);
        }
        self.notes.extend(input.notes);
    }
}

fn answer(class: Class, seconds: Option<f64>) -> String {
    match (class, seconds) {
        (Class::Permanent, _) => "do not come back".to_owned(),
        (Class::Capacity, _) => "come back when a slot is free; nobody knows when".to_owned(),
        (_, Some(seconds)) => {
            format!("come back in {}", words::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default()))
        }
        (_, None) => "come back".to_owned(),
    }
}
