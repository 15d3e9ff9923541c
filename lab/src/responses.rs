//! `rampmeter explain` and `rampmeter audit`: the tools crate says what
//! responses mean; standard input and `--url` are read here.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use rampmeter_tools::{Fetch, Fetched, Output, audit, explain};
use ureq::{Agent, http};

/// How long one request of `--url` may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of its body is read: as much as any client reads of a refusal.
const MOST_BODY: u64 = 64 * 1024;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// As the command's own --help lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS|FILE")]
    arguments: Vec<String>,
}

pub fn explain(args: &Args) -> anyhow::Result<ExitCode> {
    run(|stdin, fetch| explain::run(&args.arguments, stdin, fetch))
}

pub fn audit(args: &Args) -> anyhow::Result<ExitCode> {
    run(|stdin, fetch| audit::run(&args.arguments, stdin, fetch))
}

fn run(command: impl Fn(Option<&[u8]>, Option<Fetch<'_>>) -> Option<Output>) -> anyhow::Result<ExitCode> {
    let output = match command(None, Some(&fetch)) {
        Some(output) => output,
        None => {
            let mut input = Vec::new();
            io::stdin().lock().read_to_end(&mut input)?;
            command(Some(&input), Some(&fetch)).unwrap_or(Output { text: String::new(), code: 2 })
        }
    };
    let said = match output.code {
        2 => io::stderr().write_all(output.text.as_bytes()),
        _ => io::stdout().write_all(output.text.as_bytes()),
    };
    // A pager that was closed early is no failure.
    match said {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::from(output.code)),
    }
}

/// One GET, whatever it answers; redirects are not followed.
fn fetch(url: &str) -> Result<Fetched, String> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("rampmeter/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let failed = |error: ureq::Error| format!("cannot fetch {url}: {error}");
    let (head, body) = agent.get(url).call().map_err(failed)?.into_parts();
    let mut bytes = Vec::new();
    // A body that breaks off says nothing more, the head has arrived.
    let _ = body.into_reader().take(MOST_BODY).read_to_end(&mut bytes);
    Ok(Fetched {
        version: match head.version {
            http::Version::HTTP_10 => "HTTP/1.0",
            http::Version::HTTP_2 => "HTTP/2",
            _ => "HTTP/1.1",
        }
        .to_owned(),
        status: head.status.as_u16(),
        phrase: head.status.canonical_reason().unwrap_or_default().to_owned(),
        headers: head.headers.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().to_vec())).collect(),
        body: bytes,
    })
}
