//! The report as a person reads it.

use core::fmt::Write as _;
use core::time::Duration;

use comfy_table::{Cell, CellAlignment};

use super::answers::{Whose, early, sentence, short};
use super::report::{Answer, Field, Ignored, Meter, Report, Told};
use super::wording;
use crate::layout::{Paint, Sheet, Style, cut, tied};
use crate::words;

/// From how many responses on a table of all comes first, and only some are
/// told in full.
const MANY: usize = 6;
/// The most refusals that are told in full then.
const MOST_REFUSALS: usize = 3;
/// The most rows of the table of all.
const MOST_ROWS: usize = 200;
/// How much of a field's value is shown, in characters.
const LONGEST_VALUE: usize = 120;

/// The page; with `all` every response is told in full.
pub(super) fn page(report: &Report, style: Style, all: bool) -> String {
    let mut page = Page { sheet: Sheet::new(style), several: report.responses.len() > 1 };
    let responses = &report.responses;
    if responses.len() >= MANY && !all {
        page.overview(responses);
        for told in chosen(responses) {
            page.response(told);
        }
    } else {
        responses.iter().for_each(|told| page.response(told));
    }
    for note in &report.notes {
        page.sheet.paragraph(&format!("Note: {note}."));
    }
    page.sheet.finish()
}

/// Of many responses those told in full: the first refusals and the last that
/// says something.
fn chosen(responses: &[Told]) -> Vec<&Told> {
    let mut chosen: Vec<&Told> = responses.iter().filter(|told| told.refusal.is_some()).take(MOST_REFUSALS).collect();
    if let Some(last) = responses.iter().rev().find(|told| told.tells)
        && chosen.last().is_none_or(|told| told.number < last.number)
    {
        chosen.push(last);
    }
    chosen
}

/// What a column shows of a meter, at a time in Unix seconds.
type Show = fn(&Meter, f64) -> String;

struct Page {
    sheet: Sheet,
    several: bool,
}

impl Page {
    fn response(&mut self, told: &Told) {
        let title = title(told, self.several);
        let paint = match (&told.refusal, told.status) {
            (Some(_), _) => Paint::Red,
            (None, 500..) => Paint::Yellow,
            _ => Paint::Bold,
        };
        self.sheet.painted(&title, Some(paint));
        if !told.tells {
            self.sheet.line("It says nothing about rate limits.");
        }
        if told.tells {
            self.fields(told);
            self.meters(told);
            self.verdict(told);
        }
        self.limiter(told);
        self.sheet.line("");
    }

    fn fields(&mut self, told: &Told) {
        let row =
            |name: &str, value: &str, meaning: &str| vec![Cell::new(name), Cell::new(value), Cell::new(tied(meaning))];
        let mut rows: Vec<_> = told
            .fields
            .iter()
            .map(|field| row(&field.name, &cut(&field.value, LONGEST_VALUE), &field.meaning))
            .collect();
        if let Some(body) = &told.body {
            rows.push(row("(the body)", "", body));
        }
        if !rows.is_empty() {
            self.sheet.table(&["field", "value", "what it means"], rows);
        }
    }

    fn meters(&mut self, told: &Told) {
        if told.meters.is_empty() {
            return;
        }
        let any = |of: fn(&Meter) -> bool| told.meters.iter().any(of);
        let columns: [(&str, bool, Show); 7] = [
            ("meter", true, |meter, _| name(meter)),
            ("left", any(|meter| meter.remaining.is_some()), |meter, _| amount(meter.remaining)),
            ("limit", any(|meter| meter.limit.is_some()), |meter, _| amount(meter.limit)),
            ("unit", any(|meter| meter.unit.is_some()), |meter, _| meter.unit.clone().unwrap_or_default()),
            ("window", any(|meter| meter.window.is_some()), |meter, _| span(meter.window)),
            ("resets in", any(|meter| meter.reset.is_some()), |meter, time| resets(meter.reset, time)),
            ("policy", any(|meter| meter.policy.is_some()), |meter, _| meter.policy.clone().unwrap_or_default()),
        ];
        let told_columns = || columns.iter().filter(|(_, told, _)| *told);
        let titles: Vec<&str> = told_columns().map(|(title, _, _)| *title).collect();
        let rows = told.meters.iter().map(|meter| {
            let cell = |(title, _, show): &(&str, bool, Show)| {
                let cell = Cell::new(tied(&show(meter, told.time)));
                let is_amount = matches!(*title, "left" | "limit");
                if is_amount { cell.set_alignment(CellAlignment::Right) } else { cell }
            };
            told_columns().map(cell).collect()
        });
        self.sheet.table(&titles, rows.collect());
    }

    fn verdict(&mut self, told: &Told) {
        if let Some(refusal) = &told.refusal {
            let mut text = format!("{}: {}", refusal.class, wording::class(refusal.read));
            if let Some(meter) = &refusal.meter {
                let _ = write!(text, "; the limit concerned is {meter}");
            }
            self.sheet.entry("refused", &text, Some(Paint::Red));
        } else if told.status == 429 {
            self.sheet.entry("refused", "no", None);
        }
        if let Some(wait) = &told.wait {
            let asked = Duration::try_from_secs_f64(wait.seconds).unwrap_or_default();
            let text = format!("{}, from {}", wording::with_moment(asked, told.time), source(wait.source));
            self.sheet.entry("wait asked", &text, None);
        } else if let Some(first) = told.refusal.as_ref().and_then(|refusal| refusal.first_wait) {
            let first = Duration::try_from_secs_f64(first).unwrap_or_default();
            self.sheet.entry(
                "wait asked",
                &format!("none; {} by the server's documentation or its rate of refill", words::duration(first)),
                None,
            );
        } else if told.refusal.is_some() {
            self.sheet.entry("wait asked", "none", None);
        }
        for ignored in told.ignored.iter().filter(|ignored| !is_told(told, ignored)) {
            self.sheet.entry("set aside", &format!("{}: {}", ignored.field, ignored.why), None);
        }
        for remark in &told.remarks {
            self.sheet.entry("mind", remark, Some(Paint::Yellow));
        }
        let mut sources: Vec<&str> = Vec::new();
        for source in told.fields.iter().filter_map(|field| field.source) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if !sources.is_empty() {
            self.sheet.entry("documented", &sources.join("; "), Some(Paint::Dim));
        }
    }

    fn limiter(&mut self, told: &Told) {
        self.sheet.line("What the limiter does:");
        if let Some(text) = early(told) {
            self.sheet.entry("before it", &text, Some(Paint::Dim));
        }
        match &told.decision {
            Some(decision) => self.answer("this call", &sentence(decision, told, Whose::This), decision),
            None => self.sheet.entry("this call", "would never have been sent", Some(Paint::Red)),
        }
        let Some(next) = &told.next else { return };
        let elsewhere = told.elsewhere.as_ref().is_some_and(|answer| answer.decision == "send");
        let alike = told.decision.as_ref().is_some_and(|decision| decision.is_like(next));
        match (next.decision, alike) {
            ("sleep", true) if elsewhere => {
                self.answer("the next call", "waits as long, if it is to the same route", next)
            }
            ("sleep", true) => self.answer("the next call", "waits as long, as does every call to this server", next),
            ("raise", true) => self.answer("the next call", "raises the same", next),
            _ => self.answer("the next call", &sentence(next, told, Whose::Next), next),
        }
        if elsewhere {
            self.sheet.entry("other routes", "are not held", Some(Paint::Green));
        }
    }

    fn answer(&mut self, whose: &str, sentence: &str, answer: &Answer) {
        let paint = match answer.decision {
            "send" | "deliver" => Paint::Green,
            "sleep" => Paint::Yellow,
            _ => Paint::Red,
        };
        self.sheet.entry(whose, sentence, Some(paint));
    }

    fn overview(&mut self, responses: &[Told]) {
        let held = |told: &Told| early(told).is_some();
        let telling: Vec<&Told> = responses.iter().filter(|told| told.tells || held(told)).collect();
        let silent = responses.iter().filter(|told| !told.tells).count();
        let refused = responses.iter().filter(|told| told.refusal.is_some()).count();
        // Named once, if it is one for all.
        let server = responses[0].url.as_deref().map(origin).unwrap_or_default();
        let of = |told: &Told| told.url.as_deref().map(origin) == Some(server);
        let server = if responses.iter().all(of) { server } else { "" };
        let from = if server.is_empty() { String::new() } else { format!(" from {server}") };
        let silent = match silent {
            0 => "each about rate limits".to_owned(),
            silent => format!("{silent} without a word about rate limits"),
        };
        let title = format!("{} responses{from}: {refused} refused, {silent}", responses.len());
        self.sheet.painted(&title, Some(Paint::Bold));
        let rows = telling.iter().take(MOST_ROWS).map(|told| {
            let method = told.method.as_deref().unwrap_or("GET");
            let request = told.url.as_deref().map(|url| {
                let path = url.strip_prefix(server).filter(|path| !server.is_empty() && path.starts_with('/'));
                format!("{method} {}", path.unwrap_or(url))
            });
            let request = request.unwrap_or_default();
            let before = told.before.as_ref().filter(|_| held(told)).map(short).unwrap_or_default();
            let after = told.decision.as_ref().map_or_else(|| "never sent".to_owned(), short);
            let meters = told.meters.iter().take(4).map(brief).collect::<Vec<_>>().join("\n");
            vec![
                Cell::new(told.number).set_alignment(CellAlignment::Right),
                Cell::new(words::time_of_day(told.time).unwrap_or_default()),
                Cell::new(told.status),
                Cell::new(cut(&request, 60)),
                Cell::new(meters),
                Cell::new(before),
                Cell::new(after),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            self.sheet.table(&["", "at (UTC)", "status", "request", "left", "before it", "after it"], rows);
        }
        self.sheet.paragraph(
            "Before and after it: what the limiter would have done before the request, and with the response.",
        );
        if telling.len() > MOST_ROWS {
            self.sheet.line(&format!("{} more are not listed.", telling.len() - MOST_ROWS));
        }
        self.sheet
            .paragraph("In full below: the first refusals and the last that says something; --all shows every one.");
        self.sheet.line("");
    }
}

fn title(told: &Told, several: bool) -> String {
    let mut title = String::new();
    if several {
        let _ = write!(title, "{}. ", told.number);
    }
    let _ = write!(title, "{} {}", told.version.as_deref().unwrap_or("status"), told.status);
    if let Some(phrase) = &told.phrase {
        let _ = write!(title, " {phrase}");
    }
    if let Some(url) = &told.url {
        let _ = write!(title, " · {} {url}", told.method.as_deref().unwrap_or("GET"));
    }
    if let Some(moment) = words::full_moment(told.time) {
        let _ = write!(title, " · {moment}");
    }
    title
}

/// The URL up to its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

fn brief(meter: &Meter) -> String {
    let name = meter.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    match (meter.remaining, meter.limit) {
        (Some(left), Some(limit)) => format!("{name}{} of {}", words::number(left), words::number(limit)),
        (Some(left), None) => format!("{name}{}", words::number(left)),
        (None, Some(limit)) => format!("{name}? of {}", words::number(limit)),
        (None, None) => format!("{name}?"),
    }
}

fn name(meter: &Meter) -> String {
    let name = meter.name.as_deref().unwrap_or("(unnamed)");
    if meter.informative { format!("{name} (informative)") } else { name.to_owned() }
}

fn amount(amount: Option<f64>) -> String {
    amount.map_or_else(|| "?".to_owned(), words::number)
}

fn span(seconds: Option<f64>) -> String {
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .map_or_else(|| "?".to_owned(), words::duration)
}

fn resets(seconds: Option<f64>, time: f64) -> String {
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        None => "?".to_owned(),
        Some(Duration::ZERO) => "now".to_owned(),
        Some(reset) => wording::with_moment(reset, time),
    }
}

fn source(name: &str) -> String {
    match name {
        "vendor" => "the vendor's own header".to_owned(),
        "body" => "the body".to_owned(),
        "reset" => "the reset".to_owned(),
        header => format!("`{header}`"),
    }
}

/// Whether that is told beside the field, or as a remark.
fn is_told(told: &Told, ignored: &Ignored) -> bool {
    let of = |field: &Field| field.ignored.is_some() && field.name.to_lowercase().replace('_', "-") == ignored.field;
    told.fields.iter().any(of) || ignored.field == "age"
}
