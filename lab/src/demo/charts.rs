//! Pictures of timelines, as SVG.

use anyhow::Result;
use plotters::prelude::*;

use super::metrics::best_admissions;
use super::{LATENCY, Ran, Run};
use crate::report::charts::{ADMITTED, OPTIMAL, REFUSED, axes, picture, seconds, steps};
use crate::servers::{Nanos, SECOND};
use crate::stub::Arrival;

/// The size of a picture, in its own units.
const SIZE: (u32, u32) = (420, 190);
/// Columns narrower than this many to a picture cannot be told apart.
const MOST_COLUMNS: f64 = 160.0;
/// Corners of a curve closer than so many seconds cannot be told apart.
const CORNERS: f64 = 0.02;
/// Widths of a column in seconds, finest first.
const WIDTHS: [f64; 5] = [0.05, 0.1, 0.2, 0.25, 0.5];

/// What all pictures of one cell share, so that they can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The last second shown.
    pub seconds: f64,
    /// The width of a column in seconds.
    pub width: f64,
    /// The most requests in one column.
    pub column: f64,
    /// The most requests of one kind in all.
    pub total: f64,
}

impl Scale {
    /// The scale that all lanes of a cell fit into.
    #[must_use]
    pub fn new(run: &Run, calls: u64) -> Self {
        let ran: Vec<&Ran> = run.lanes.iter().filter_map(|lane| lane.outcome.as_ref().ok()).collect();
        let last = ran.iter().flat_map(|ran| &ran.timeline.requests).map(|request| request.arrival_ns).max();
        let seconds = (last.map_or(1.0, seconds) * 1.03).max(1.0);
        let width = WIDTHS.into_iter().find(|width| seconds / width <= MOST_COLUMNS).unwrap_or(1.0);
        let columns = ran.iter().flat_map(|ran| columns(&ran.timeline.requests, width));
        let column = columns.map(|column| column.admitted + column.refused).max().unwrap_or(1);
        let refused = ran.iter().map(|ran| ran.metrics.refused).max().unwrap_or(0);
        Self { seconds, width, column: column as f64 * 1.05, total: refused.max(calls) as f64 * 1.05 }
    }
}

/// The requests of one short span.
struct Column {
    begin: f64,
    admitted: u64,
    refused: u64,
}

/// The columns that are not empty.
fn columns(requests: &[Arrival], width: f64) -> Vec<Column> {
    let span = (width * SECOND as f64) as Nanos;
    let mut columns: Vec<Column> = Vec::new();
    for request in requests {
        let begin = seconds(request.arrival_ns / span * span);
        if columns.last().is_none_or(|column| column.begin < begin) {
            columns.push(Column { begin, admitted: 0, refused: 0 });
        }
        if let Some(column) = columns.last_mut() {
            *if request.admitted { &mut column.admitted } else { &mut column.refused } += 1;
        }
    }
    columns
}

/// Requests over time: admitted ones, and the refused ones on top.
///
/// # Errors
///
/// If the picture cannot be drawn.
pub fn requests(ran: &Ran, scale: Scale) -> Result<String> {
    picture(SIZE, |area| {
        let mut chart = axes(area, scale.seconds, scale.column)?;
        for column in columns(&ran.timeline.requests, scale.width) {
            let end = column.begin + scale.width;
            let (low, high) = (column.admitted as f64, (column.admitted + column.refused) as f64);
            let bar = |from, to, color: RGBColor| Rectangle::new([(column.begin, from), (end, to)], color.filled());
            chart.draw_series([bar(0.0, low, ADMITTED), bar(low, high, REFUSED)])?;
        }
        Ok(())
    })
}

/// Admitted requests of both strategies and of the best possible client, added
/// up over time; dashed, the refused ones.
///
/// # Errors
///
/// If the picture cannot be drawn.
pub fn totals(run: &Run, lanes: &[(&Ran, RGBColor)], calls: u64, scale: Scale) -> Result<String> {
    picture(SIZE, |area| {
        let mut chart = axes(area, scale.seconds, scale.total)?;
        if let Some((ran, _)) = lanes.first() {
            let best = best_admissions(&run.cell.spec, &ran.timeline, calls, LATENCY.as_nanos() as Nanos);
            let steps = steps(best.into_iter(), CORNERS);
            chart.draw_series(DashedLineSeries::new(steps, 2, 3, OPTIMAL.stroke_width(2)))?;
        }
        for (ran, color) in lanes {
            let of_kind = |admitted: bool| {
                let requests = ran.timeline.requests.iter().filter(move |request| request.admitted == admitted);
                steps(requests.map(|request| request.arrival_ns), CORNERS)
            };
            chart.draw_series(LineSeries::new(of_kind(true), color.stroke_width(2)))?;
            chart.draw_series(DashedLineSeries::new(of_kind(false), 5, 4, color.stroke_width(1)))?;
        }
        Ok(())
    })
}
