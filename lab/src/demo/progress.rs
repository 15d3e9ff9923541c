//! What is seen while the fleets run.

use std::io::IsTerminal;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::fleets::Language;
use super::{NotRun, Ran};
use crate::fleet::Strategy;
use crate::stub::Counts;

/// Bars on a terminal, lines elsewhere; both on standard error.
pub struct Progress {
    bars: MultiProgress,
    overall: ProgressBar,
    calls: u64,
    is_terminal: bool,
}

impl Progress {
    /// For that many cells, with fleets of that many calls.
    #[must_use]
    pub fn new(cells: usize, calls: u64) -> Self {
        let bars = MultiProgress::new();
        let overall = bars.add(ProgressBar::new(cells as u64));
        overall.set_style(style("{elapsed_precise}  server {pos}/{len}  {msg}"));
        Self { bars, overall, calls, is_terminal: std::io::stderr().is_terminal() }
    }

    /// A cell begins.
    pub fn begin(&self, title: &'static str) {
        self.overall.inc(1);
        self.overall.set_message(title);
        if !self.is_terminal {
            eprintln!("{title}");
        }
    }

    /// A cell has ended.
    pub fn end(&self) {
        self.overall.tick();
    }

    /// All cells have ended.
    pub fn finish(self) {
        self.overall.finish_and_clear();
    }

    /// A fleet's own bar.
    #[must_use]
    pub fn lane(&self, language: Language, strategy: Strategy) -> LaneProgress {
        let bar = self.bars.add(ProgressBar::new(self.calls));
        bar.set_style(style("  {prefix:22} {bar:40.cyan/dim} {pos:>3}/{len} done  {msg}"));
        bar.set_prefix(format!("{} {}", language.name(), strategy.name()));
        LaneProgress { bar, is_terminal: self.is_terminal }
    }
}

/// The progress of one fleet.
pub struct LaneProgress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl LaneProgress {
    /// What the server counted so far.
    pub fn show(&self, counts: Counts) {
        self.bar.set_position(counts.admitted);
        self.bar.set_message(format!("{} refused", counts.refused));
    }

    /// What came of it.
    pub fn finish(&self, outcome: &Result<Ran, NotRun>) {
        self.bar.finish_and_clear();
        if self.is_terminal {
            return;
        }
        let name = self.bar.prefix();
        match outcome {
            Ok(Ran { done, metrics, .. }) => {
                eprintln!("  {name}: {done} done, {} refused, {:.1} s", metrics.refused, metrics.makespan);
            }
            Err(NotRun { problem }) => eprintln!("  {name}: {problem}"),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
