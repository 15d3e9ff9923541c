//! What is seen while the program runs.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Judged;
use super::scenarios::Scenario;
use crate::stub::Counts;

/// A line that changes on a terminal, lines elsewhere; both on standard error.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
}

impl Progress {
    /// For that many scenarios. With `verbose` the terminal is the program's.
    #[must_use]
    pub fn new(scenarios: usize, verbose: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal() && !verbose;
        let bar = if is_terminal { ProgressBar::new(scenarios as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {pos}/{len}  {prefix}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if is_terminal {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar, is_terminal }
    }

    /// A scenario begins.
    pub fn begin(&self, scenario: &Scenario) {
        self.bar.inc(1);
        self.bar.set_prefix(scenario.name);
        self.bar.set_message("the program starts");
        if !self.is_terminal {
            eprintln!("{}: {}", scenario.name, scenario.story);
        }
    }

    /// What the server counted so far.
    pub fn show(&self, counts: Counts) {
        if counts.admitted + counts.refused > 0 {
            self.bar.set_message(format!("{} admitted, {} refused", counts.admitted, counts.refused));
        }
    }

    /// A scenario has ended.
    pub fn end(&self, judged: &Judged) {
        let line = format!("{}: {}", judged.scenario.name, super::report::verdict(judged.judgement.verdict));
        if self.is_terminal {
            self.bar.println(line);
        } else {
            eprintln!("  {line}");
        }
    }

    /// All have.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
