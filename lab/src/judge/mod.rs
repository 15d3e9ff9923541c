//! `rampmeter judge`: runs a program against one rate-limiting server after
//! the other, and judges what the servers saw.

mod findings;
mod judgement;
mod program;
mod progress;
mod report;
mod scenarios;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

pub use self::findings::{Finding, Kind, Severity};
pub use self::judgement::{Ending, Judgement, Metrics, Verdict, judge};
use self::program::{NotRun, Ran};
use self::progress::Progress;
pub use self::scenarios::{End, Scenario, scenarios};
use crate::servers::Nanos;

/// A server as near as a data centre's neighbour.
const LATENCY: Duration = Duration::from_millis(10);

/// Run your own program against rate-limiting servers, and judge how it behaves
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The program is run once per scenario, against a server on this machine. It finds in its environment
  RAMPMETER_URL        the server's address, such as http://127.0.0.1:41234; `{url}` in COMMAND becomes it too
  RAMPMETER_CALLS      how many calls to make, together rather than one after the other; also `{calls}`
  RAMPMETER_SCENARIO   the scenario's name
and makes each call to a URL of its own, e.g. $RAMPMETER_URL/call/1, /call/2 and so on: that is how a retry is told
from another call. Any method and path will do; served requests are answered with 200 and {\"ok\":true}.

Status 0: it passes everywhere. 1: it fails somewhere, or met no limit. 2: the command cannot be started, or it sent
no request.

Examples:
  rampmeter judge -- python my_program.py
  rampmeter judge --only retry-after,date --verbose -- node my-program.mjs
  rampmeter judge -- sh -c 'OPENAI_BASE_URL=$RAMPMETER_URL exec python my_program.py'")]
pub struct Args {
    /// Only these scenarios; several with commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known)]
    only: Vec<String>,
    /// All but these scenarios
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known)]
    skip: Vec<String>,
    /// List the scenarios, and run nothing
    #[arg(long)]
    list: bool,
    /// How long the program may take in each scenario from its first request on [default: 10 to 30, see --list]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
    /// Print the verdicts as JSON
    #[arg(long)]
    json: bool,
    /// Show what the program prints, on standard error
    #[arg(long, short)]
    verbose: bool,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "list", value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn known(name: &str) -> Result<String, String> {
    let names: Vec<_> = scenarios().iter().map(|scenario| scenario.name).collect();
    if names.contains(&name) { Ok(name.to_owned()) } else { Err(format!("expected some of {}", names.join(", "))) }
}

impl Args {
    fn scenarios(&self) -> Vec<Scenario> {
        let is_wanted = |scenario: &Scenario| {
            let is_in = |names: &[String]| names.iter().any(|name| name == scenario.name);
            (self.only.is_empty() || is_in(&self.only)) && !is_in(&self.skip)
        };
        let mut wanted: Vec<_> = scenarios().into_iter().filter(is_wanted).collect();
        for scenario in &mut wanted {
            scenario.patience = self.timeout.map_or(scenario.patience, Duration::from_secs);
        }
        wanted
    }
}

/// A scenario that has been run.
#[derive(Debug)]
pub struct Judged {
    /// Which.
    pub scenario: Scenario,
    /// How the program ended.
    pub ending: Ending,
    /// What is to be said of it.
    pub judgement: Judgement,
    /// What the program printed last.
    pub output: String,
}

/// Runs the program in every scenario and prints the verdicts.
///
/// # Errors
///
/// If no server can be started or the report not be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    let scenarios = args.scenarios();
    if args.list {
        println!("{}", report::list(&scenarios));
        return Ok(ExitCode::SUCCESS);
    }
    if scenarios.is_empty() {
        return Ok(unusable("no scenario is left to run: --skip takes away what --only names"));
    }
    let begin = Instant::now();
    let judged = match tokio::runtime::Runtime::new()?.block_on(judge_all(args, scenarios))? {
        Ok(judged) => judged,
        Err(code) => return Ok(code),
    };
    let text = if args.json { report::json(&judged, &args.command)? } else { report::text(&judged, begin.elapsed()) };
    print!("{text}");
    let passes = judged.iter().all(|judged| judged.judgement.verdict == Verdict::Passes);
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn judge_all(args: &Args, scenarios: Vec<Scenario>) -> Result<Result<Vec<Judged>, ExitCode>> {
    let mut stop = Box::pin(crate::serve::signals()?);
    let progress = Progress::new(scenarios.len(), args.verbose);
    let mut all = Vec::new();
    for scenario in scenarios {
        progress.begin(&scenario);
        let show = |counts| progress.show(counts);
        let ran = program::run(&args.command, &scenario, LATENCY, args.verbose, stop.as_mut(), show).await?;
        let Ran { ending, timeline, output } = match ran {
            Ok(ran) => ran,
            Err(problem) => {
                progress.finish();
                return Ok(Err(not_run(args, &problem)));
            }
        };
        if timeline.requests.is_empty() {
            progress.finish();
            return Ok(Err(silent(ending, &output)));
        }
        let judgement = judge(&scenario, &timeline, ending, LATENCY.as_nanos() as Nanos);
        let judged = Judged { scenario, ending, judgement, output };
        progress.end(&judged);
        all.push(judged);
    }
    progress.finish();
    Ok(Ok(all))
}

fn not_run(args: &Args, problem: &NotRun) -> ExitCode {
    match problem {
        NotRun::CannotStart(error) => {
            let program = args.command.first().map(|program| program.display().to_string()).unwrap_or_default();
            unusable(&format!("cannot start {program}: {error}"))
        }
        // As a shell reports a program that SIGINT ended.
        NotRun::Interrupted => ExitCode::from(130),
    }
}

/// A program that sends nothing does not know where the server is.
fn silent(ending: Ending, output: &str) -> ExitCode {
    let ended = match ending {
        Ending::Exited(Some(code)) => format!("ended with status {code}"),
        Ending::Exited(None) => "was ended by a signal".to_owned(),
        Ending::Stopped => "did not end".to_owned(),
    };
    let printed = report::last_lines(output);
    let printed = if printed.is_empty() { String::new() } else { format!("; it printed:\n{printed}") };
    unusable(&format!(
        "the program sent no request and {ended}: it must send its requests to the address in RAMPMETER_URL{printed}"
    ))
}

fn unusable(problem: &str) -> ExitCode {
    eprintln!("rampmeter judge: {}", problem.trim_end());
    ExitCode::from(2)
}
