//! `rampmeter demo`: fleets in three languages against real servers, each with
//! Rampmeter and with the usual retry of each call by itself.

mod cells;
mod charts;
mod fleets;
pub(crate) mod metrics;
mod page;
mod progress;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::task::JoinSet;

use self::cells::{Cell, cells};
use self::fleets::{Fleet, Language, Programs, Server};
use self::metrics::Metrics;
use self::progress::Progress;
use crate::fleet::Strategy;
use crate::servers::Nanos;
use crate::stub::Timeline;

/// A server as near as a data centre's neighbour.
const LATENCY: Duration = Duration::from_millis(20);
/// Fleets of one cell begin this far apart: their first moments, in which a
/// machine with few cores is busiest, do not fall together.
const STAGGER: Duration = Duration::from_millis(350);

/// Run fleets in Rust, Python and Node against rate-limiting servers, with and without Rampmeter
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The Python interpreter, in whose environment rampmeter and httpx are installed [default: .venv/bin/python, else
    /// python3]
    #[arg(long, env = "RAMPMETER_PYTHON", value_name = "PATH")]
    python: Option<PathBuf>,
    /// The Node.js interpreter
    #[arg(long, env = "RAMPMETER_NODE", value_name = "PATH", default_value = "node")]
    node: PathBuf,
    /// The folder of the fleet programs
    #[arg(long, value_name = "DIR", default_value = "lab/fleets")]
    fleets: PathBuf,
    /// How many calls each fleet makes at once
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    calls: u64,
    /// Where the timeline page goes
    #[arg(long, value_name = "FILE", default_value = "demo.html")]
    html: PathBuf,
    /// Where the figures go as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Args {
    fn programs(&self) -> Result<Programs> {
        if !self.fleets.is_dir() {
            bail!(
                "no fleet programs in {}: start in the project's root folder, or give --fleets",
                self.fleets.display()
            );
        }
        let environment = PathBuf::from(".venv/bin/python");
        let default = if environment.exists() { environment } else { "python3".into() };
        Ok(Programs {
            rampmeter: std::env::current_exe()?,
            python: self.python.clone().unwrap_or(default),
            node: self.node.clone(),
            fleets: self.fleets.clone(),
        })
    }
}

/// One fleet in one cell.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The language it is written in.
    pub language: Language,
    /// How it meets refusals.
    pub strategy: Strategy,
    /// What came of it, or why nothing did.
    pub outcome: Result<Ran, NotRun>,
}

/// A fleet that ran.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The HTTP client.
    pub client: String,
    /// How many calls succeeded.
    pub done: u64,
    /// What became of the others.
    pub failures: Vec<String>,
    /// How it fared.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Every request.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// Why a fleet did not run.
#[derive(Clone, Debug, Serialize)]
pub struct NotRun {
    /// What it said last.
    pub problem: String,
}

/// All fleets of one cell.
#[derive(Debug)]
pub struct Run {
    /// The server.
    pub cell: Cell,
    /// The fleets, by language and strategy.
    pub lanes: Vec<Lane>,
}

/// Runs all fleets, prints the table and writes the page.
///
/// # Errors
///
/// If a fleet could not run, once everything else has been shown.
pub fn run(args: &Args) -> Result<()> {
    let programs = Arc::new(args.programs()?);
    let begin = Instant::now();
    let runs = tokio::runtime::Runtime::new()?.block_on(async {
        let mut runs = Vec::new();
        let cells = cells();
        let progress = Progress::new(cells.len(), args.calls);
        for cell in cells {
            runs.push(run_cell(&programs, cell, args.calls, &progress).await);
        }
        progress.finish();
        runs
    });
    println!("{}", table::table(&runs, args.calls));
    page::write(&args.html, &runs, args.calls).with_context(|| format!("cannot write {}", args.html.display()))?;
    if let Some(path) = &args.json {
        let cells: Vec<_> = runs.iter().flat_map(|run| figures(run, args.calls)).collect();
        std::fs::write(path, serde_json::to_string_pretty(&cells)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!(
        "{} fleets of {} calls in {:.0} s. Open {} to see them.",
        runs.iter().map(|run| run.lanes.len()).sum::<usize>(),
        args.calls,
        begin.elapsed().as_secs_f64(),
        args.html.display(),
    );
    let problems = problems(&runs);
    if !problems.is_empty() {
        bail!("not everything ran\n  {}", problems.join("\n  "));
    }
    Ok(())
}

/// Runs all fleets of a cell beside each other, each against a server of its
/// own.
async fn run_cell(programs: &Arc<Programs>, cell: Cell, calls: u64, progress: &Progress) -> Run {
    progress.begin(cell.title);
    let kinds = Language::ALL
        .iter()
        .flat_map(|language| [Strategy::PerRequest, Strategy::Rampmeter].map(|strategy| (*language, strategy)));
    let mut ready = JoinSet::new();
    for (language, strategy) in kinds {
        let (programs, cell) = (Arc::clone(programs), cell.clone());
        ready.spawn(async move {
            let started = async {
                let server = Server::start(&programs, &cell, LATENCY).await?;
                let fleet = Fleet::start(&programs, language, strategy, calls, &server).await?;
                anyhow::Ok((server, fleet))
            };
            (language, strategy, started.await)
        });
    }
    let mut ready = ready.join_all().await;
    ready.sort_by_key(|(language, strategy, _)| (*language, *strategy));

    let mut running = JoinSet::new();
    let mut begins = Duration::ZERO;
    for (language, strategy, started) in ready {
        let cell = cell.clone();
        let delay = begins;
        if started.is_ok() {
            begins += STAGGER;
        }
        let lane = progress.lane(language, strategy);
        running.spawn(async move {
            let outcome = async {
                let (server, fleet) = started?;
                tokio::time::sleep(delay).await;
                let (facts, timeline) = fleet.run(server, |counts| lane.show(counts)).await?;
                let latency = LATENCY.as_nanos() as Nanos;
                anyhow::Ok(Ran {
                    client: facts.client,
                    done: facts.done,
                    failures: facts.failures.iter().map(|(what, count)| format!("{count} × {what}")).collect(),
                    metrics: Metrics::new(&cell.spec, &timeline, calls, facts.elapsed, latency),
                    timeline,
                })
            };
            let outcome = outcome.await.map_err(|error| NotRun { problem: format!("{error:#}") });
            lane.finish(&outcome);
            Lane { language, strategy, outcome }
        });
    }
    let mut lanes = running.join_all().await;
    lanes.sort_by_key(|lane| (lane.language, lane.strategy));
    progress.end();
    Run { cell, lanes }
}

/// The figures of one lane, in the words that every report of the lab uses.
#[derive(Serialize)]
struct Figures<'a> {
    server: String,
    dialect: &'a str,
    workload: String,
    language: Language,
    strategy: Strategy,
    #[serde(flatten)]
    ran: Option<&'a Ran>,
    #[serde(flatten)]
    not_run: Option<&'a NotRun>,
}

fn figures(run: &Run, calls: u64) -> impl Iterator<Item = Figures<'_>> {
    run.lanes.iter().map(move |lane| Figures {
        server: run.cell.spec.to_string(),
        dialect: run.cell.dialect.name(),
        workload: format!("batch:{calls}"),
        language: lane.language,
        strategy: lane.strategy,
        ran: lane.outcome.as_ref().ok(),
        not_run: lane.outcome.as_ref().err(),
    })
}

/// Each problem once, with where it was met.
fn problems(runs: &[Run]) -> Vec<String> {
    let mut met: BTreeMap<(Language, &str), Vec<String>> = BTreeMap::new();
    for run in runs {
        for lane in &run.lanes {
            if let Err(NotRun { problem }) = &lane.outcome {
                let place = format!("{} ({})", run.cell.title, lane.strategy.name());
                met.entry((lane.language, problem)).or_default().push(place);
            }
        }
    }
    let line = |((language, problem), places): ((Language, &str), Vec<String>)| {
        format!("{}: {problem}\n    on: {}", language.name(), places.join("; "))
    };
    met.into_iter().map(line).collect()
}
