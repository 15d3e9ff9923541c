//! The report as workflow commands, which GitHub shows beside a change
//! (docs.github.com, workflow commands for GitHub Actions).

use core::fmt::Write as _;

use super::finding::Finding;
use super::report::{Judged, Report};

pub(super) fn lines(report: &Report) -> String {
    let mut text = String::new();
    let mut told = std::collections::BTreeSet::new();
    for judged in &report.judged {
        for finding in &judged.findings {
            let line = line(judged, finding);
            // Once per place, however often it refused.
            if told.insert(line.clone()) {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

fn line(judged: &Judged, finding: &Finding) -> String {
    let file = judged.file.as_deref().map(|file| format!("file={},", property(file))).unwrap_or_default();
    let title = property(&format!("rampmeter audit: {}", finding.rule));
    let request = judged.url.as_deref().map(|url| format!("{} {url}: ", judged.method.as_deref().unwrap_or("GET")));
    let says =
        format!("{}{} {}; send instead: {}", request.unwrap_or_default(), judged.status, finding.says, finding.instead);
    format!("::{} {file}title={title}::{}", finding.severity.name(), message(&says))
}

pub(super) fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

pub(super) fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
