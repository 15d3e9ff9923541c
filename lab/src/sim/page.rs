//! The timeline page: one file that needs no network.

use std::path::Path;

use anyhow::Result;
use minijinja::{Value, context};

use super::charts::{self, Scale};
use super::suite::Compared;
use super::table;
use super::world::Record;
use crate::report;
use crate::servers::SECOND;

const TEMPLATE: &str = include_str!("page.html");

/// Writes the page.
///
/// # Errors
///
/// If a picture cannot be drawn or the file not be written.
pub fn write(path: &Path, compared: &[Compared]) -> Result<()> {
    let sections = compared.iter().map(section).collect::<Result<Vec<_>>>()?;
    std::fs::write(path, report::render(TEMPLATE, context! { sections })?)?;
    Ok(())
}

fn section(compared: &Compared) -> Result<Value> {
    let Compared { cell, best, lanes } = compared;
    let records: Vec<&Record> = lanes.iter().map(|(_, record)| record).chain([best]).collect();
    let scale = Scale::new(&records);
    let lanes = lanes.iter().map(|(metrics, record)| {
        let figures = table::COLUMNS.into_iter().zip(table::row(metrics));
        let figures: Vec<_> = figures.map(|(name, value)| context! { name, value }).collect();
        Ok(context! {
            strategy => metrics.strategy,
            refused => metrics.refused,
            figures,
            requests => charts::requests(record, scale)?,
            totals => charts::totals(record, best, scale)?,
        })
    });
    let calls = best.calls.len();
    Ok(context! {
        title => format!("{} · {}", cell.server, cell.dialect),
        story => format!("{calls} calls ({})", cell.workload),
        command => cell.command(),
        width => format!("{} s", scale.width as f64 / SECOND as f64),
        lanes => lanes.collect::<Result<Vec<_>>>()?,
    })
}
