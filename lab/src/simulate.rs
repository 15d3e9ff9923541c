//! `rampmeter simulate`: fleets against virtual-time servers.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::dialects::Dialect;
use crate::servers::{SECOND, Spec};
use crate::sim::suite::Compared;
use crate::sim::{self, Cell, Kind, Metrics, Rtt, Timers, Workload};

/// Run fleets of clients against virtual-time servers, and compare strategies
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The server model and its parameters, e.g. fixed:limit=100,window=60,phase=37; may be repeated
    #[arg(long, value_name = "MODEL", default_value = "fixed:limit=100,window=60,phase=37")]
    server: Vec<Spec>,
    /// A second server with a quota of its own; every other call goes there
    #[arg(long, value_name = "MODEL")]
    second: Option<Spec>,
    /// How the servers say it; several with commas
    #[arg(long, value_name = "NAME", default_value = "ietf", value_delimiter = ',')]
    dialect: Vec<Dialect>,
    /// When calls begin: batch:N, poisson:load=0.8,minutes=30 or bursts:load=0.8,minutes=30,size=20; may be repeated
    #[arg(long, value_name = "PATTERN", default_value = "batch:1000")]
    workload: Vec<Workload>,
    /// The most calls that one process makes at a time [default: no limit]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    workers: Option<u64>,
    /// Processes that share each quota and know nothing of each other
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    processes: u64,
    /// The round trip in seconds, or log-normal:median=0.1,p99=3
    #[arg(long, default_value = "0.1")]
    rtt: Rtt,
    /// The share of calls that are given up while they wait
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    cancel: f64,
    /// Seconds that the servers' clock is ahead of the clients'
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = skew)]
    skew: f64,
    /// The clients' timers
    #[arg(long, value_enum, default_value_t = Timers::Exact)]
    timers: Timers,
    /// Seconds after which an answer is of no use to its call
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    deadline: Option<u64>,
    /// Rampmeter's options as a JSON object, e.g. '{"max_retry_after": 600}'
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = options)]
    options: Value,
    /// How clients meet refusals; several with commas
    #[arg(
        long,
        value_name = "NAME",
        default_value = "oracle,rampmeter,per-request,per-request-4,gate,gcra,cubic,aimd,sre,one-worker",
        value_delimiter = ','
    )]
    strategy: Vec<Kind>,
    /// Whatever is random is drawn from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the metrics of each cell as JSON
    #[arg(long)]
    json: bool,
    /// Write a page with the requests over time of every strategy
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print every event instead: one strategy, one cell
    #[arg(long, hide = true)]
    trace: bool,
    /// Run the product through all gates and print what came; fails if one is missed
    #[arg(long, hide = true)]
    gates: bool,
    /// Run all strategies in the cells in which they are compared
    #[arg(long, hide = true)]
    suite: bool,
    /// Run the product in so many cells with other parameters, and print what can be proved of each beside it
    #[arg(long, hide = true, value_name = "COUNT")]
    sweep: Option<u64>,
    /// Draw the pictures of the documentation into a folder
    #[arg(long, hide = true, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1".to_owned())
}

fn skew(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (-1e9..=1e9).contains(seconds));
    seconds.ok_or_else(|| "expected seconds from -10⁹ to 10⁹".to_owned())
}

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(|seconds: f64| (seconds * SECOND as f64) as u64).ok_or_else(|| "expected seconds up to 10⁹".to_owned())
}

fn options(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl Args {
    /// Every server in every dialect under every workload.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for server in &self.server {
            for dialect in &self.dialect {
                for workload in &self.workload {
                    cells.push(Cell {
                        second: self.second.clone(),
                        workers: self.workers,
                        processes: self.processes,
                        rtt: self.rtt,
                        cancel: self.cancel,
                        skew: self.skew,
                        timers: self.timers,
                        deadline: self.deadline,
                        options: self.options.clone(),
                        seed: self.seed,
                        ..Cell::new(server.clone(), *dialect, workload.clone())
                    });
                }
            }
        }
        cells
    }
}

/// Runs the cells and prints what was asked for.
///
/// # Errors
///
/// If an option of the product is wrong, or the output cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if args.gates {
        let outcomes = sim::gates::run(&sim::gates::gates());
        write!(out, "{}", sim::table::gates(&outcomes))?;
        let holds = outcomes.iter().all(|outcome| outcome.missed.is_empty());
        return Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if let Some(folder) = &args.pictures {
        sim::pictures::write(folder).with_context(|| format!("cannot draw into {}", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(count) = args.sweep {
        let swept = sim::sweep::run(count, args.seed);
        for swept in &swept {
            writeln!(out, "{swept}")?;
        }
        let missed = swept.iter().filter(|swept| !swept.holds()).count();
        writeln!(out, "\n{count} cells, {missed} missed")?;
        return Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if args.suite {
        let kinds: Vec<Kind> = Kind::ALL.iter().map(|(_, kind)| *kind).collect();
        write!(out, "{}", sim::suite::lines(&sim::suite::run(&sim::suite::cells(), &kinds)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells = args.cells();
    for cell in &cells {
        sim::check(cell).context("--options")?;
    }
    if args.trace {
        for (cell, kind) in cells.iter().flat_map(|cell| args.strategy.iter().map(move |kind| (cell, *kind))) {
            writeln!(out, "{cell} {}", kind.name())?;
            for line in sim::run(cell, kind, true).trace {
                writeln!(out, "{line}")?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let table = sim::suite::run(&cells, &args.strategy);
    if let Some(path) = &args.html {
        sim::page::write(path, &table).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        let metrics: Vec<&Metrics> = table.iter().flat_map(|compared| &compared.lanes).map(|lane| &lane.0).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&metrics)?)?;
    } else {
        for Compared { cell, lanes, .. } in &table {
            writeln!(out, "{cell}\n{}\n", sim::table::cell(lanes))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
