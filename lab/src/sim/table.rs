//! Tables in plain text, one line per cell, so that two of them can be
//! compared line by line.

use core::fmt::Write;

use super::gates::Outcome;
use super::metrics::Metrics;

/// The gate table: each cell with what came, and what was missed.
#[must_use]
pub fn gates(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut group = "";
    for outcome in outcomes {
        let Outcome { gate, metrics, missed } = outcome;
        if gate.group != group {
            group = gate.group;
            let _ = writeln!(text, "\n{group}");
        }
        let verdict = if missed.is_empty() { String::new() } else { format!("  MISSED {}", missed.join("; ")) };
        let _ = writeln!(text, "  {:<95} {}{verdict}", gate.cell.to_string(), figures(metrics));
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.missed.is_empty()).count();
    let _ = writeln!(text, "\n{} cells, {} missed", outcomes.len(), failed);
    text
}

/// The figures of one cell in one line.
#[must_use]
pub fn figures(metrics: &Metrics) -> String {
    let mut text = format!(
        "refused {:>7.3}  time {:>6.3}  p99 {:>+9.3}  burst {:>4}  jain {:.3}  decisions {:>6.1}",
        metrics.refused_per_accepted,
        metrics.makespan_ratio,
        metrics.p99,
        metrics.max_burst.map_or("-".to_owned(), |burst| burst.to_string()),
        metrics.jain,
        metrics.decisions_per_request,
    );
    if metrics.failed > 0 {
        let reasons: Vec<_> = metrics.failures.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let _ = write!(text, "  failed {}", reasons.join(", "));
    }
    text
}
