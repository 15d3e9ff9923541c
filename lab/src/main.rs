//! The `rampmeter` command.

mod responses;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rampmeter_lab::{demo, fleet, judge, self_test, serve, simulate};

#[derive(Parser)]
#[command(name = "rampmeter", version, about = "See how clients fare against rate limits", max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ask of each refusal whether it says whether to come back, and when
    Audit(responses::Args),
    Demo(demo::Args),
    /// Say what responses tell about rate limits, and what the limiter would do
    Explain(responses::Args),
    Judge(judge::Args),
    Serve(serve::Args),
    Simulate(simulate::Args),
    /// Replay test vectors, offline, with this engine
    SelfTest {
        /// A folder or file of vectors; may be repeated
        #[arg(long, value_name = "DIR", default_value = "tests/vectors")]
        vectors: Vec<PathBuf>,
    },
    #[command(hide = true)]
    Fleet(fleet::Args),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Cli::parse().command {
        Command::Audit(args) => responses::audit(&args),
        Command::Demo(args) => demo::run(&args).map(done),
        Command::Explain(args) => responses::explain(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Serve(args) => serve::run(args).map(done),
        Command::Simulate(args) => simulate::run(&args),
        Command::SelfTest { vectors } => {
            let holds = self_test::run(&vectors).ok();
            Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Fleet(args) => fleet::run(args).map(done),
    };
    result.unwrap_or_else(|error| {
        eprintln!("rampmeter: {error:#}");
        ExitCode::FAILURE
    })
}
