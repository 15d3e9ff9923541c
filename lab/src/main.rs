//! The `rampmeter` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rampmeter_lab::serve;

#[derive(Parser)]
#[command(name = "rampmeter", version, about = "See how clients fare against rate limits", max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rampmeter: {error:#}");
            ExitCode::FAILURE
        }
    }
}
