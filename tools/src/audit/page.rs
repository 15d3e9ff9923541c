//! The report as a person reads it.

use core::fmt::Write as _;

use comfy_table::Cell;

use super::finding::Severity;
use super::report::{Judged, Report};
use crate::layout::{Paint, Sheet, Style, tied};

/// The most that is told in full.
const MOST: usize = 100;

pub(super) fn page(report: &Report, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let (text, paint) = verdict(report);
    sheet.painted(&text, Some(paint));
    sheet.line("");
    let groups = groups(&report.judged);
    for group in groups.iter().take(MOST) {
        judged(&mut sheet, group, report.responses > 1);
    }
    if groups.len() > MOST {
        sheet.line(&format!("{} more are not listed; --json has all.", groups.len() - MOST));
    }
    for note in &report.notes {
        sheet.paragraph(&format!("Note: {note}."));
    }
    sheet.finish()
}

fn verdict(report: &Report) -> (String, Paint) {
    let Report { responses, refusals, unanswered, warnings, .. } = report;
    let of = format!("{responses} response{}", plural(*responses));
    let mut text = match (refusals, unanswered) {
        (0, _) => format!("{of}, no refusal among them"),
        (1, 0) => format!("{of}, 1 refusal: it says whether to come back, and when"),
        (_, 0) => format!("{of}, {refusals} refusals: each says whether to come back, and when"),
        (1, _) => format!("{of}, 1 refusal: it does not say whether to come back, and when"),
        (_, unanswered) if unanswered == refusals => {
            format!("{of}, {refusals} refusals: none says whether to come back, and when")
        }
        (_, unanswered) => {
            let verb = if *unanswered == 1 { "does" } else { "do" };
            format!("{of}, {refusals} refusals: {unanswered} {verb} not say whether to come back, and when")
        }
    };
    if *warnings > 0 {
        let _ = write!(text, "; {warnings} warning{}", plural(*warnings));
    }
    let paint = match (unanswered, warnings) {
        (0, 0) => Paint::Green,
        (0, _) => Paint::Yellow,
        _ => Paint::Red,
    };
    (text, paint)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Responses to one request with the same findings, told once.
fn groups(judged: &[Judged]) -> Vec<Vec<&Judged>> {
    let mut groups: Vec<Vec<&Judged>> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    for one in judged {
        let rules: Vec<_> = one.findings.iter().map(|finding| finding.rule).collect();
        let key = (&one.file, &one.method, &one.url, one.status, one.class, rules);
        let at = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn judged(sheet: &mut Sheet, group: &[&Judged], several: bool) {
    let Some(first) = group.first() else { return };
    let paint = match first.findings.first().map(|finding| finding.severity) {
        Some(Severity::Error) => Paint::Red,
        Some(Severity::Warning) => Paint::Yellow,
        None => Paint::Green,
    };
    sheet.painted(&title(first, group.len(), several), Some(paint));
    if let Some(class) = first.class {
        let text = match &first.answer {
            Some(answer) => format!("{class}: {answer}"),
            None => format!("{class}, as far as can be read"),
        };
        sheet.entry("refused", &text, None);
    }
    if !first.findings.is_empty() {
        let rows = first.findings.iter().map(|finding| {
            let kind = format!("{}\n{}", finding.severity.name(), finding.rule);
            vec![Cell::new(kind), Cell::new(tied(&plain(&finding.says))), Cell::new(tied(&plain(&finding.instead)))]
        });
        sheet.table(&["", "what is wrong", "what to send instead"], rows.collect());
    }
    sheet.line("");
}

/// Quotes of code, which a terminal does not show as such.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn title(judged: &Judged, alike: usize, several: bool) -> String {
    let mut title = String::new();
    if several {
        let _ = write!(title, "{}. ", judged.number);
    }
    let _ = write!(title, "status {}", judged.status);
    if let Some(phrase) = &judged.phrase {
        let _ = write!(title, " {phrase}");
    }
    if let Some(url) = &judged.url {
        let _ = write!(title, " · {} {url}", judged.method.as_deref().unwrap_or("GET"));
    }
    if let Some(file) = &judged.file {
        let _ = write!(title, " · {file}");
    }
    if alike > 1 {
        let _ = write!(title, " · and {} more like it", alike - 1);
    }
    title
}
