//! The `rampmeter` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rampmeter_lab::{demo, fleet, serve};

#[derive(Parser)]
#[command(name = "rampmeter", version, about = "See how clients fare against rate limits", max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Serve(serve::Args),
    #[command(hide = true)]
    Fleet(fleet::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Fleet(args) => fleet::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rampmeter: {error:#}");
            ExitCode::FAILURE
        }
    }
}
