//! Pictures of timelines, as SVG.

use anyhow::Result;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::metrics::best_admissions;
use super::{LATENCY, Ran, Run};
use crate::servers::{Nanos, SECOND};
use crate::stub::Arrival;

/// Requests that were admitted.
pub const ADMITTED: RGBColor = RGBColor(0x0d, 0x94, 0x88);
/// Requests that were refused.
pub const REFUSED: RGBColor = RGBColor(0xe1, 0x1d, 0x48);
/// The curves of Rampmeter.
pub const RAMPMETER: RGBColor = RGBColor(0x25, 0x63, 0xeb);
/// The curves of the usual retry.
pub const PER_REQUEST: RGBColor = RGBColor(0xd9, 0x77, 0x06);
/// The best possible client.
pub const OPTIMAL: RGBColor = RGBColor(0x6b, 0x72, 0x80);
/// Words and numbers.
pub const TEXT: RGBColor = RGBColor(0x37, 0x41, 0x51);
/// Axes and grid.
pub const GRID: RGBColor = RGBColor(0xe2, 0xe5, 0xea);

/// The size of a picture, in its own units.
const SIZE: (u32, u32) = (420, 190);
/// Columns narrower than this many to a picture cannot be told apart.
const MOST_COLUMNS: f64 = 160.0;
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
    picture(|area| {
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
    picture(|area| {
        let mut chart = axes(area, scale.seconds, scale.total)?;
        if let Some((ran, _)) = lanes.first() {
            let best = best_admissions(&run.cell.spec, &ran.timeline, calls, LATENCY.as_nanos() as Nanos);
            let steps = steps(best.into_iter());
            chart.draw_series(DashedLineSeries::new(steps, 2, 3, OPTIMAL.stroke_width(2)))?;
        }
        for (ran, color) in lanes {
            let of_kind = |admitted: bool| {
                let requests = ran.timeline.requests.iter().filter(move |request| request.admitted == admitted);
                steps(requests.map(|request| request.arrival_ns))
            };
            chart.draw_series(LineSeries::new(of_kind(true), color.stroke_width(2)))?;
            chart.draw_series(DashedLineSeries::new(of_kind(false), 5, 4, color.stroke_width(1)))?;
        }
        Ok(())
    })
}

/// The curve that rises by one at each instant. Corners closer than a pixel
/// are left out.
fn steps(instants: impl Iterator<Item = Nanos>) -> Vec<(f64, f64)> {
    let mut curve = vec![(0.0, 0.0)];
    let mut last = (0.0, 0.0);
    for (index, at) in instants.enumerate() {
        let next = (seconds(at), (index + 1) as f64);
        if next.0 - last.0 > 0.02 {
            curve.push(last);
            curve.push((next.0, last.1));
        }
        last = next;
    }
    curve.push(last);
    curve.dedup();
    curve
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn axes<'a>(area: &DrawingArea<SVGBackend<'a>, Shift>, seconds: f64, top: f64) -> Result<Chart<'a>> {
    let mut chart = ChartBuilder::on(area)
        .margin(4)
        .margin_right(10)
        .x_label_area_size(22)
        .y_label_area_size(38)
        .build_cartesian_2d(0.0..seconds, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|second| format!("{second} s"))
        .y_label_formatter(&|count| format!("{count:.0}"))
        .label_style(("sans-serif", 12, &TEXT))
        .draw()?;
    Ok(chart)
}

fn picture(draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

fn seconds(at: Nanos) -> f64 {
    at as f64 / SECOND as f64
}
