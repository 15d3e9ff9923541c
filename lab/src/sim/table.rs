//! Tables in plain text.

use core::fmt::Write;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table};

use super::gates::Outcome;
use super::metrics::Metrics;
use super::world::Record;

/// The columns after the strategy's, with what they show.
pub const COLUMNS: [&str; 9] = [
    "done",
    "failed",
    "refused",
    "refused per accepted",
    "time ÷ optimum",
    "p99 added wait, s",
    "most in 50 ms after a release",
    "sends in a hold",
    "decisions per request",
];

/// The figures of one strategy in one cell, as they are shown.
#[must_use]
pub fn row(metrics: &Metrics) -> [String; COLUMNS.len()] {
    let failed = match metrics.failed {
        0 => "0".to_owned(),
        _ => reasons(metrics),
    };
    [
        metrics.done.to_string(),
        failed,
        metrics.refused.to_string(),
        format!("{:.3}", metrics.refused_per_accepted),
        format!("{:.3}", metrics.makespan_ratio),
        format!("{:.2}", metrics.p99),
        metrics.max_burst.map_or("–".to_owned(), |burst| burst.to_string()),
        metrics.sends_in_hold.to_string(),
        format!("{:.1}", metrics.decisions_per_request),
    ]
}

/// All strategies in one cell, for people.
#[must_use]
pub fn cell(lanes: &[(Metrics, Record)]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(160);
    }
    table.set_header(core::iter::once("strategy").chain(COLUMNS));
    for (metrics, _) in lanes {
        let mut cells = vec![metrics.strategy.to_owned()];
        cells.extend(row(metrics));
        table.add_row(Row::from(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// The gate table: a line per cell with what came, and what was missed. Two of
/// them can be compared line by line.
#[must_use]
pub fn gates(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut group = "";
    for Outcome { gate, metrics, missed } in outcomes {
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

/// The figures of one strategy in one cell, in one line.
#[must_use]
pub fn figures(metrics: &Metrics) -> String {
    let mut text = format!(
        "refused {:>7.3}  time {:>6.3}  p99 {:>+9.3}  burst {:>4}  per second {:>4}  jain {:.3}  decisions {:>6.1}",
        metrics.refused_per_accepted,
        metrics.makespan_ratio,
        metrics.p99,
        metrics.max_burst.map_or("-".to_owned(), |burst| burst.to_string()),
        metrics.max_refused_per_second,
        metrics.jain,
        metrics.decisions_per_request,
    );
    if metrics.failed > 0 {
        let _ = write!(text, "  failed {}", reasons(metrics));
    }
    text
}

fn reasons(metrics: &Metrics) -> String {
    let reasons: Vec<_> = metrics.failures.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    reasons.join(", ")
}
