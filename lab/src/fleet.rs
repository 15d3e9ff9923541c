//! `rampmeter fleet`: many concurrent calls with reqwest, with Rampmeter or
//! with the usual retry of each call by itself.
//!
//! Takes the same arguments and prints the same facts as the fleets in other
//! languages, in `lab/fleets`.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use rampmeter::reqwest_middleware::RateLimitMiddleware;
use rampmeter::{Config, Limiter};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

/// How often the usual retry sends one call.
const MAX_ATTEMPTS: i32 = 100;
/// The longest backoff of the usual retry, in seconds.
const MAX_BACKOFF: f64 = 20.0;

/// How a fleet meets refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Each call sleeps its own `Retry-After`, or a backoff with full jitter.
    PerRequest,
    /// All calls share one limiter.
    Rampmeter,
}

impl Strategy {
    /// The name that every fleet program takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PerRequest => "per-request",
            Self::Rampmeter => "rampmeter",
        }
    }
}

/// What became of a fleet, as every fleet program prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// The language that it is written in.
    pub language: String,
    /// The HTTP client and its version.
    pub client: String,
    /// How it met refusals.
    pub strategy: Strategy,
    /// How many calls it made.
    pub calls: u64,
    /// How many of them succeeded.
    pub done: u64,
    /// Seconds from the first call's begin to the last one's end.
    pub elapsed: f64,
    /// What became of the others, and how often.
    pub failures: BTreeMap<String, u64>,
}

/// Run a fleet of concurrent calls with reqwest
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The server's address, without a path
    url: String,
    /// How many calls
    #[arg(long, default_value_t = 200)]
    calls: u64,
    /// How it meets refusals
    #[arg(long, value_enum, default_value = "rampmeter")]
    strategy: Strategy,
    /// Print `ready` and begin when a line was read from standard input
    #[arg(long)]
    wait: bool,
}

/// Runs the fleet and prints its facts as one line of JSON.
///
/// # Errors
///
/// If the client cannot be built.
pub fn run(args: Args) -> Result<()> {
    let facts = tokio::runtime::Runtime::new()?.block_on(fleet(args))?;
    println!("{}", serde_json::to_string(&facts)?);
    Ok(())
}

async fn fleet(args: Args) -> Result<Facts> {
    let mut headers = HeaderMap::new();
    headers.insert("x-fleet", HeaderValue::from_static(args.strategy.name()));
    let plain = reqwest::Client::builder().default_headers(headers).build()?;
    let mut client = ClientBuilder::new(plain);
    if args.strategy == Strategy::Rampmeter {
        client = client.with(RateLimitMiddleware::new(Limiter::new(Config::default())?));
    }
    let client = client.build();

    if args.wait {
        println!("ready");
        std::io::stdout().flush()?;
        std::io::stdin().read_line(&mut String::new())?;
    }
    let begin = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..args.calls {
        let client = client.clone();
        let url = format!("{}/items/{number}", args.url);
        calls.spawn(async move {
            match args.strategy {
                Strategy::PerRequest => per_request(&client, &url).await,
                Strategy::Rampmeter => once(&client, &url).await,
            }
        });
    }
    let outcomes = calls.join_all().await;
    let elapsed = begin.elapsed().as_secs_f64();

    let mut failures = BTreeMap::new();
    let mut done = 0;
    for outcome in outcomes {
        let failure = match outcome {
            Ok(status) if status.is_success() => {
                done += 1;
                continue;
            }
            Ok(status) => format!("status {}", status.as_u16()),
            Err(error) => format!("{error:#}"),
        };
        *failures.entry(failure).or_default() += 1;
    }
    Ok(Facts {
        language: "Rust".to_owned(),
        client: "reqwest".to_owned(),
        strategy: args.strategy,
        calls: args.calls,
        done,
        elapsed,
        failures,
    })
}

/// Sends; the middleware does the rest.
async fn once(client: &ClientWithMiddleware, url: &str) -> Result<StatusCode> {
    let response = client.get(url).send().await?;
    let status = response.status();
    response.bytes().await?;
    Ok(status)
}

/// Sends, and after each refusal sleeps as long as that refusal says; without
/// a word, full jitter.
async fn per_request(client: &ClientWithMiddleware, url: &str) -> Result<StatusCode> {
    for attempt in 0..MAX_ATTEMPTS {
        let response = client.get(url).send().await?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).cloned();
        response.bytes().await?;
        if status != StatusCode::TOO_MANY_REQUESTS {
            return Ok(status);
        }
        let wait = match retry_after {
            Some(seconds) => seconds.to_str()?.parse()?,
            None => fastrand::f64() * 2f64.powi(attempt).min(MAX_BACKOFF),
        };
        tokio::time::sleep(Duration::from_secs_f64(wait)).await;
    }
    Ok(StatusCode::TOO_MANY_REQUESTS)
}
