//! Pictures of records, as SVG.

use anyhow::Result;
use plotters::prelude::*;

use super::world::{Record, Request};
use crate::report::charts::{ADMITTED, OPTIMAL, REFUSED, WAITING, axes, picture, seconds, steps};
use crate::servers::{Nanos, SECOND};

/// The size of a picture of requests over time, and how much of its height is
/// for the calls that wait.
const REQUESTS: (u32, u32) = (640, 240);
const WAITERS: u32 = 80;
/// The size of a picture of sums.
const TOTALS: (u32, u32) = (400, 240);
/// More columns than this cannot be told apart.
const MOST_COLUMNS: f64 = 150.0;
/// More corners than this cannot be told apart.
const MOST_CORNERS: f64 = 700.0;
/// A herd's refusals are shown up to this many times the calls: beyond, they
/// would flatten all other curves.
const MOST_TOTAL: f64 = 1.5;

/// What all pictures of one cell share, so that they can be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// The last second shown.
    seconds: f64,
    /// The width of a column.
    pub(super) width: Nanos,
    /// The most requests in one column.
    column: f64,
    /// The most calls that wait.
    waiting: f64,
    /// The most requests of one kind in all.
    total: f64,
}

impl Scale {
    /// The scale that all these records fit into.
    pub(super) fn new(records: &[&Record]) -> Self {
        let requests = || records.iter().flat_map(|record| reached(record));
        let seconds = requests().map(|(at, _)| seconds(at)).fold(1.0, f64::max) * 1.03;
        let width = widths().find(|width| seconds * SECOND as f64 / *width as f64 <= MOST_COLUMNS).unwrap_or(SECOND);
        let columns = records.iter().flat_map(|record| columns(record, width));
        let column = columns.map(|column| column.admitted + column.refused).max().unwrap_or(1);
        let waiting = records.iter().flat_map(|record| &record.waiting).map(|(_, count)| *count).max();
        let calls = records.iter().map(|record| record.calls.len()).max().unwrap_or(1) as u64;
        let refused = |record: &&Record| reached(record).filter(|(_, request)| !request.accepted).count() as u64;
        let refused = records.iter().map(refused).max().unwrap_or(0);
        Self {
            seconds,
            width,
            column: column as f64 * 1.05,
            waiting: waiting.unwrap_or(0).max(1) as f64 * 1.1,
            total: (calls as f64).max((refused as f64).min(MOST_TOTAL * calls as f64)) * 1.05,
        }
    }
}

/// 1, 2 and 5 times powers of ten, from 10 ms.
fn widths() -> impl Iterator<Item = Nanos> {
    (0..12).flat_map(|power| [1, 2, 5].map(|first| first * 10u64.pow(power) * SECOND / 100))
}

/// The requests that reached their server, with the instants.
fn reached(record: &Record) -> impl Iterator<Item = (Nanos, &Request)> {
    record.requests.iter().filter_map(|request| Some((request.reached?, request)))
}

/// The requests of one short span.
struct Column {
    begin: f64,
    admitted: u64,
    refused: u64,
}

/// The columns that are not empty.
fn columns(record: &Record, width: Nanos) -> Vec<Column> {
    let mut counts = std::collections::BTreeMap::new();
    for (at, request) in reached(record) {
        let (admitted, refused) = counts.entry(at / width).or_insert((0, 0));
        *if request.accepted { admitted } else { refused } += 1;
    }
    let column = |(index, (admitted, refused))| Column { begin: seconds(index * width), admitted, refused };
    counts.into_iter().map(column).collect()
}

/// Requests over time: admitted ones, and the refused ones on top; below, the
/// calls that wait.
pub(super) fn requests(record: &Record, scale: Scale) -> Result<String> {
    picture(REQUESTS, |area| {
        let (upper, lower) = area.split_vertically(REQUESTS.1 - WAITERS);
        let mut chart = axes(&upper, scale.seconds, scale.column)?;
        for column in columns(record, scale.width) {
            let end = column.begin + seconds(scale.width);
            let (low, high) = (column.admitted as f64, (column.admitted + column.refused) as f64);
            let bar = |from, to, colour: RGBColor| Rectangle::new([(column.begin, from), (end, to)], colour.filled());
            chart.draw_series([bar(0.0, low, ADMITTED), bar(low, high, REFUSED)])?;
        }
        let mut chart = axes(&lower, scale.seconds, scale.waiting)?;
        let curve = waiting(record, scale.seconds / MOST_CORNERS);
        chart.draw_series(AreaSeries::new(curve, 0.0, WAITING.filled()))?;
        Ok(())
    })
}

/// The number of waiting calls as a curve of steps, sampled every `apart`
/// seconds.
fn waiting(record: &Record, apart: f64) -> Vec<(f64, f64)> {
    let mut curve = vec![(0.0, 0.0)];
    let mut changes = record.waiting.iter().map(|(at, count)| (seconds(*at), *count as f64)).peekable();
    let mut count = 0.0;
    let mut sample = 0.0;
    while changes.peek().is_some() {
        let before = count;
        while let Some((_, next)) = changes.next_if(|(at, _)| *at <= sample) {
            count = next;
        }
        if count != before {
            curve.extend([(sample, before), (sample, count)]);
        }
        sample += apart;
    }
    curve
}

/// Admitted and refused requests, added up over time, beside those of the best
/// possible client.
pub(super) fn totals(record: &Record, best: &Record, scale: Scale) -> Result<String> {
    picture(TOTALS, |area| {
        let mut chart = axes(area, scale.seconds, scale.total)?;
        let curve = |record: &Record, accepted: bool| {
            let instants = reached(record).filter(|(_, request)| request.accepted == accepted);
            let mut instants: Vec<Nanos> = instants.map(|(at, _)| at).collect();
            instants.sort_unstable();
            let mut steps = steps(instants.into_iter(), scale.seconds / MOST_CORNERS);
            // A curve that leaves the picture ends at its edge.
            if let Some(beyond) = steps.iter().position(|(_, count)| *count > scale.total) {
                steps[beyond].1 = scale.total;
                steps.truncate(beyond + 1);
            }
            steps
        };
        chart.draw_series(DashedLineSeries::new(curve(best, true), 2, 3, OPTIMAL.stroke_width(2)))?;
        chart.draw_series(LineSeries::new(curve(record, true), ADMITTED.stroke_width(2)))?;
        chart.draw_series(DashedLineSeries::new(curve(record, false), 5, 4, REFUSED.stroke_width(2)))?;
        Ok(())
    })
}
