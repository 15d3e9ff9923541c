//! The parts that pictures are made of, as SVG.

use anyhow::Result;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::servers::{Nanos, SECOND};

/// Requests that were admitted.
pub const ADMITTED: RGBColor = RGBColor(0x0d, 0x94, 0x88);
/// Requests that were refused.
pub const REFUSED: RGBColor = RGBColor(0xe1, 0x1d, 0x48);
/// Calls that wait.
pub const WAITING: RGBColor = RGBColor(0x81, 0x8c, 0xf8);
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

/// A chart over seconds and a count.
pub type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A picture of that size, in its own units.
///
/// # Errors
///
/// If it cannot be drawn.
pub fn picture(
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// Axes from zero to that many seconds and that count.
///
/// # Errors
///
/// If they cannot be drawn.
pub fn axes<'a>(area: &DrawingArea<SVGBackend<'a>, Shift>, seconds: f64, top: f64) -> Result<Chart<'a>> {
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
        .x_label_formatter(&|second| format!("{} s", (second * 1000.0).round() / 1000.0))
        .y_label_formatter(&|count| format!("{count:.0}"))
        .label_style(("sans-serif", 12, &TEXT))
        .draw()?;
    Ok(chart)
}

/// The curve that rises by one at each instant. Corners that are no more than
/// `apart` seconds from the last are left out.
#[must_use]
pub fn steps(instants: impl Iterator<Item = Nanos>, apart: f64) -> Vec<(f64, f64)> {
    let mut curve = vec![(0.0, 0.0)];
    let mut last = (0.0, 0.0);
    for (index, at) in instants.enumerate() {
        let next = (seconds(at), (index + 1) as f64);
        if next.0 - last.0 > apart {
            curve.push(last);
            curve.push((next.0, last.1));
        }
        last = next;
    }
    curve.push(last);
    curve.dedup();
    curve
}

/// Nanoseconds as seconds.
#[must_use]
pub fn seconds(at: Nanos) -> f64 {
    at as f64 / SECOND as f64
}
