//! The table of all strategies: what the baselines do where the product is
//! measured.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::cell::Cell;
use super::gates::{at_once, by_workers};
use super::metrics::{Metrics, Yardstick};
use super::strategies::Kind;
use super::world::{self, Record};
use crate::dialects::Dialect;

/// What a client can know: everything, the wait of a refusal, or nothing.
const DIALECTS: [Dialect; 3] = [Dialect::Ietf, Dialect::RetryAfter, Dialect::None];

/// The cells in which all strategies are compared.
#[must_use]
pub fn cells() -> Vec<Cell> {
    let servers = [1, 2, 3, 4, 5, 6, 8, 9];
    let pairs = DIALECTS.iter().flat_map(|dialect| servers.map(|number| (number, *dialect)));
    let mut cells: Vec<Cell> = pairs.map(|(number, dialect)| by_workers(number, dialect)).collect();
    cells.extend([1, 3, 6].map(|number| at_once(number, Dialect::RetryAfter)));
    cells
}

/// What several strategies did in one cell.
pub struct Compared {
    /// The cell.
    pub cell: Cell,
    /// What the best possible client did.
    pub best: Record,
    /// How each strategy fared, and what it did.
    pub lanes: Vec<(Metrics, Record)>,
}

/// Runs all strategies in all cells, in as many threads as there are cores.
#[must_use]
pub fn run(cells: &[Cell], kinds: &[Kind]) -> Vec<Compared> {
    let compare = |cell: &Cell| {
        let best = world::run(cell, Kind::Oracle, false);
        let yardstick = Yardstick::of(cell, &best);
        let lane = |kind: &Kind| {
            let record = world::run(cell, *kind, false);
            (yardstick.measure(*kind, &record), record)
        };
        let lanes = kinds.par_iter().map(lane).collect();
        Compared { cell: cell.clone(), best, lanes }
    };
    cells.par_iter().map(compare).collect()
}

/// A line per cell and strategy.
#[must_use]
pub fn lines(table: &[Compared]) -> String {
    let mut text = String::new();
    for Compared { cell, lanes, .. } in table {
        text.push_str(&format!("\n{cell}\n"));
        for (metrics, _) in lanes {
            let unfinished = if metrics.finished { "" } else { "  gave up" };
            text.push_str(&format!("  {:<18} {}{unfinished}\n", metrics.strategy, super::table::figures(metrics)));
        }
    }
    text
}
