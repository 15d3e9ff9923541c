//! The timeline page: one file that needs no network.

use std::path::Path;

use anyhow::Result;
use minijinja::{Value, context};
use plotters::style::RGBColor;

use super::charts::{self, Scale};
use super::fleets::Language;
use super::{Lane, NotRun, Ran, Run, table};
use crate::fleet::Strategy;
use crate::report::{self, charts as colours};

const TEMPLATE: &str = include_str!("page.html");

/// Writes the page.
///
/// # Errors
///
/// If a picture cannot be drawn or the file not be written.
pub fn write(path: &Path, runs: &[Run], calls: u64) -> Result<()> {
    let totals = [Strategy::PerRequest, Strategy::Rampmeter].map(|strategy| total(runs, strategy));
    let sections = runs.iter().map(|run| section(run, calls)).collect::<Result<Vec<_>>>()?;
    let columns = table::COLUMNS[1..].to_vec();
    std::fs::write(path, report::render(TEMPLATE, context! { totals, sections, columns, calls })?)?;
    Ok(())
}

/// What all fleets of one strategy did together.
fn total(runs: &[Run], strategy: Strategy) -> Value {
    let lanes = runs.iter().flat_map(|run| &run.lanes).filter(|lane| lane.strategy == strategy);
    let ran: Vec<&Ran> = lanes.filter_map(|lane| lane.outcome.as_ref().ok()).collect();
    context! {
        strategy => strategy.name(),
        fleets => ran.len(),
        done => ran.iter().map(|ran| ran.done).sum::<u64>(),
        refused => ran.iter().map(|ran| ran.metrics.refused).sum::<u64>(),
    }
}

fn section(run: &Run, calls: u64) -> Result<Value> {
    let scale = Scale::new(run, calls);
    let languages = Language::ALL.iter().map(|language| {
        let lanes: Vec<&Lane> = run.lanes.iter().filter(|lane| lane.language == *language).collect();
        let curves: Vec<(&Ran, RGBColor)> = lanes
            .iter()
            .filter_map(|lane| {
                let color = match lane.strategy {
                    Strategy::PerRequest => colours::PER_REQUEST,
                    Strategy::Rampmeter => colours::RAMPMETER,
                };
                Some((lane.outcome.as_ref().ok()?, color))
            })
            .collect();
        let client = curves.first().map(|(ran, _)| &ran.client);
        let totals = if curves.is_empty() { None } else { Some(charts::totals(run, &curves, calls, scale)?) };
        let lanes = lanes.into_iter().map(|lane| picture(lane, calls, scale)).collect::<Result<Vec<_>>>()?;
        Ok(context! { name => language.name(), client, lanes, totals })
    });
    Ok(context! {
        title => run.cell.title,
        story => run.cell.story,
        server => run.cell.spec.to_string(),
        dialect => run.cell.dialect.name(),
        width_ms => (scale.width * 1000.0) as u64,
        languages => languages.collect::<Result<Vec<_>>>()?,
    })
}

fn picture(lane: &Lane, calls: u64, scale: Scale) -> Result<Value> {
    let figures = table::figures(lane, calls);
    let strategy = lane.strategy.name();
    Ok(match &lane.outcome {
        Ok(ran) => context! {
            strategy, figures,
            svg => charts::requests(ran, scale)?,
            refused => ran.metrics.refused,
            seconds => format!("{:.1}", ran.metrics.makespan),
            failures => &ran.failures,
        },
        Err(NotRun { problem }) => context! { strategy, figures, problem },
    })
}
