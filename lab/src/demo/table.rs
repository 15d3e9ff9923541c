//! The figures as a table for the terminal.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};

use super::{Lane, Ran, Run};
use crate::fleet::Strategy;

/// What the columns show.
pub const COLUMNS: [&str; 8] = [
    "server",
    "language",
    "strategy",
    "calls done",
    "refused",
    "refused per accepted",
    "most in 50 ms after a release",
    "time ÷ optimal",
];

/// One row per fleet, cells apart.
#[must_use]
pub fn table(runs: &[Run], calls: u64) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(COLUMNS.map(|column| Cell::new(column).add_attribute(Attribute::Bold)));
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for run in runs {
        for (index, lane) in run.lanes.iter().enumerate() {
            let title = if index == 0 { run.cell.title } else { "" };
            let mut row = vec![title.to_owned()];
            row.extend(figures(lane, calls));
            let bold = lane.strategy == Strategy::Rampmeter;
            table.add_row(row.into_iter().enumerate().map(|(column, text)| {
                let cell = Cell::new(text);
                if bold && column > 0 { cell.add_attribute(Attribute::Bold) } else { cell }
            }));
        }
    }
    table
}

/// A lane's figures, in the order of the columns after the first.
#[must_use]
pub fn figures(lane: &Lane, calls: u64) -> Vec<String> {
    let mut figures = vec![lane.language.name().to_owned(), lane.strategy.name().to_owned()];
    match &lane.outcome {
        Ok(Ran { done, metrics, .. }) => figures.extend([
            format!("{done} of {calls}"),
            metrics.refused.to_string(),
            format!("{:.2}", metrics.refused_per_accepted),
            metrics.max_burst.map_or_else(|| "–".to_owned(), |burst| burst.to_string()),
            format!("{:.2}", metrics.makespan_ratio),
        ]),
        Err(_) => figures.push("not run".to_owned()),
    }
    figures
}
