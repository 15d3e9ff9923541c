//! The verdicts: a table and what was found, or JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};
use serde_json::json;

use super::Judged;
use super::findings::{Kind, Severity};
use super::judgement::{Ending, Metrics, Verdict};
use super::scenarios::{End, Scenario};

/// How many lines of the program's output are shown.
const LINES: usize = 12;

const COLUMNS: [&str; 11] = [
    "scenario",
    "verdict",
    "calls done",
    "requests",
    "refused",
    "again",
    "in a hold",
    "early",
    "most in 50 ms",
    "sends of a call",
    "seconds ÷ best",
];

const LEGEND: &str = "\
again: refused after the first refusal had been read. in a hold: sent by another call while the server had asked to
wait. early: retries before the stated wait was over, or at once and in vain where none was stated. most in 50 ms: after
a release. –: no such thing here, or not known, as calls with one URL cannot be told apart.";

/// The verdict in a word.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passes => "passes",
        Verdict::Fails => "FAILS",
        Verdict::NotTried => "not tried",
    }
}

/// The scenarios, for `--list`.
#[must_use]
pub fn list(scenarios: &[Scenario]) -> Table {
    let mut table = table(&["scenario", "calls", "the server", "what is asked of the client", "time limit"]);
    for scenario in scenarios {
        table.add_row([
            scenario.name.to_owned(),
            scenario.calls.to_string(),
            scenario.story.to_owned(),
            scenario.asks.to_owned(),
            format!("{} s", scenario.patience.as_secs()),
        ]);
    }
    table
}

/// For a person.
#[must_use]
pub fn text(all: &[Judged], took: Duration) -> String {
    let mut text = String::new();
    let mut put = |line: &dyn std::fmt::Display| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    };
    put(&figures(all));
    put(&LEGEND);
    for (kind, seen) in by_kind(all) {
        put(&"");
        let failed = seen.iter().any(|(_, severity, _)| *severity == Severity::Failure);
        put(&format!("{}{}", kind.name(), if failed { "" } else { " (a remark)" }));
        let width = seen.iter().map(|(name, ..)| name.len()).max().unwrap_or(0).max("instead".len());
        for (name, _, seen) in seen {
            put(&format!("  {name:width$}  {seen}"));
        }
        put(&format!("  {:width$}  {}", "harm", wrapped(kind.harm(), width + 4)));
        put(&format!("  {:width$}  {}", "instead", wrapped(kind.instead(), width + 4)));
    }
    for judged in all.iter().filter(|judged| shows_output(judged)) {
        let printed = last_lines(&judged.output);
        if !printed.is_empty() {
            put(&format!("\nWhat the program printed last in {}:\n{printed}", judged.scenario.name));
        }
    }
    let count = |wanted| all.iter().filter(|judged| judged.judgement.verdict == wanted).count();
    let not_tried: Vec<_> = all
        .iter()
        .filter(|judged| judged.judgement.verdict == Verdict::NotTried)
        .map(|judged| judged.scenario.name)
        .collect();
    if !not_tried.is_empty() {
        put(&format!(
            "\nThe limit was never met in {}: make RAMPMETER_CALLS calls, each to a URL of its own.",
            not_tried.join(", ")
        ));
    }
    put(&format!("\n{} of {} scenarios passed, in {:.0} s.", count(Verdict::Passes), all.len(), took.as_secs_f64()));
    text
}

fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| Cell::new(column).add_attribute(Attribute::Bold)));
    table
}

fn figures(all: &[Judged]) -> Table {
    let mut table = table(&COLUMNS);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for Judged { scenario, judgement, .. } in all {
        let name = Cell::new(verdict(judgement.verdict));
        let passes = judgement.verdict == Verdict::Passes;
        let mut row = vec![Cell::new(scenario.name), if passes { name } else { name.add_attribute(Attribute::Bold) }];
        row.extend(cells(scenario, &judgement.metrics).into_iter().map(Cell::new));
        table.add_row(row);
    }
    table
}

fn cells(scenario: &Scenario, metrics: &Metrics) -> Vec<String> {
    let known = |figure: Option<u64>| figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string());
    let is_served = scenario.end == End::Served;
    let early = metrics.early_retries.zip(metrics.instant_retries).map(|(early, instant)| early + instant);
    vec![
        format!("{} of {}", metrics.done, metrics.calls),
        metrics.requests.to_string(),
        metrics.refused.to_string(),
        metrics.refused_again.to_string(),
        metrics.sends_in_hold.to_string(),
        known(early),
        known(metrics.max_burst.filter(|_| is_served)),
        known(metrics.max_sends),
        match metrics.optimal {
            Some(best) => format!("{:.1} ÷ {best:.1}", metrics.seconds),
            None => format!("{:.1}", metrics.seconds),
        },
    ]
}

type Seen<'a> = (&'static str, Severity, &'a str);

/// What was found, with the scenarios in which it was.
fn by_kind(all: &[Judged]) -> BTreeMap<Kind, Vec<Seen<'_>>> {
    let mut kinds: BTreeMap<Kind, Vec<Seen<'_>>> = BTreeMap::new();
    for judged in all {
        for finding in &judged.judgement.findings {
            let seen = (judged.scenario.name, finding.severity, finding.seen.as_str());
            kinds.entry(finding.kind).or_default().push(seen);
        }
    }
    kinds
}

/// An error is only unexpected where every call was to be served.
fn shows_output(judged: &Judged) -> bool {
    judged.ending != Ending::Exited(Some(0)) && judged.scenario.end == End::Served
}

/// In lines of 120 columns.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = |line: &String| line.chars().count() + word.chars().count() + indent < 120;
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// The end of an output, indented; empty if there is none.
#[must_use]
pub fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// For a program.
///
/// # Errors
///
/// Never: everything in it can be written as JSON.
pub fn json(all: &[Judged], command: &[OsString]) -> Result<String> {
    let scenarios = all.iter().map(|judged| {
        let Judged { scenario, ending, judgement, output } = judged;
        let findings = judgement.findings.iter().map(|finding| {
            json!({
                "kind": finding.kind,
                "severity": finding.severity,
                "seen": finding.seen,
                "harm": finding.kind.harm(),
                "instead": finding.kind.instead(),
            })
        });
        json!({
            "scenario": scenario.name,
            "server": scenario.spec.to_string(),
            "dialect": scenario.dialect.name(),
            "story": scenario.story,
            "asks": scenario.asks,
            "verdict": judgement.verdict,
            "metrics": judgement.metrics,
            "findings": findings.collect::<Vec<_>>(),
            "exit_status": match ending { Ending::Exited(code) => *code, Ending::Stopped => None },
            "stopped": *ending == Ending::Stopped,
            "output": shows_output(judged).then_some(output),
        })
    });
    let command: Vec<_> = command.iter().map(|part| part.to_string_lossy()).collect();
    let passed = all.iter().all(|judged| judged.judgement.verdict == Verdict::Passes);
    let report = json!({ "command": command, "passed": passed, "scenarios": scenarios.collect::<Vec<_>>() });
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
