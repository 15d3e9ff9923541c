//! `rampmeter serve`: the stub server.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::header::{AUTHORIZATION, HeaderName};
use tokio::net::TcpListener;

use crate::dialects::Dialect;
use crate::servers::Spec;
use crate::stub::{Settings, Stub, serve};

/// Run a real HTTP server that limits requests
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Servers:
  fixed:limit=50,window=2[,phase=2]        windows that follow the clock; the first ends after `phase`
  anchored:limit=50,window=2               a window begins with the first request after the last one
  sliding-log:limit=50,window=2            an exact log; sliding-log-counting logs refused requests too
  sliding-counter:limit=50,window=2        two counters that approximate the log
  token-bucket:rate=25,burst=25            a bucket that refills `rate` times per second
  leaky-queue:rate=10,depth=20             answers `rate` times per second; `depth` requests may wait
  concurrency:cap=10,service=0.2           `cap` requests in progress, each takes `service`
  policies:burst=20/1,hourly=1000/3600     several windows at once, limit/window each
Times are in seconds, rates per second; decimals are allowed.

Dialects:
  ietf, ietf-draft-03, ietf-draft-06, ietf-draft-07, ietf-draft-08, x-delta, x-epoch, x-epoch-ms, reset-after,
  retry-after, retry-after-floor, retry-after-date, retry-after-ms, retry-after-1,
  none, unavailable, hostile

Every path is limited alike, except:
  /_timeline   every request so far, as JSON, in nanoseconds from the start or the last reset
  /_counts     how many were admitted and refused
  /_reset      begins anew: fresh quotas, windows that begin now, an empty timeline
  /_stop       ends the server, as SIGTERM and SIGINT do
A request may carry a label for the timeline in the header `x-fleet` or the query parameter `fleet`.")]
pub struct Args {
    /// The server model and its parameters
    #[arg(long, value_name = "MODEL", default_value = "fixed:limit=50,window=2")]
    server: Spec,
    /// How limits are put into responses
    #[arg(long, default_value = "ietf")]
    dialect: Dialect,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// A quota for each value of this header; without a name, of `x-scope` or else `authorization`
    #[arg(long, value_name = "HEADER", num_args = 0..=1)]
    per_key: Option<Option<HeaderName>>,
    /// The least time that an answer takes, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = latency)]
    latency: Duration,
}

/// At most a minute: a stub that answers later is of no use.
fn latency(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0 to 60".to_owned())
}

/// Serves until it is told to stop.
///
/// # Errors
///
/// If the address cannot be listened on.
pub fn run(args: Args) -> Result<()> {
    let key_headers = match args.per_key {
        None => Vec::new(),
        Some(None) => vec![HeaderName::from_static("x-scope"), AUTHORIZATION],
        Some(Some(name)) => vec![name],
    };
    let settings = Settings { spec: args.server, dialect: args.dialect };
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind((args.host, args.port))
            .await
            .with_context(|| format!("cannot listen on {} port {}: choose another --port", args.host, args.port))?;
        let stop = signals()?;
        {
            // One line, at once: whoever started this waits for it.
            let mut out = std::io::stdout().lock();
            writeln!(out, "listening on http://{}", listener.local_addr()?)?;
            out.flush()?;
        }
        let stub = Arc::new(Stub::new(settings, key_headers, args.latency));
        serve(listener, stub, stop).await?;
        Ok(())
    })
}

/// Resolves at SIGINT and SIGTERM. The handlers are in place when this
/// returns, so that no signal falls between.
#[cfg(unix)]
pub(crate) fn signals() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Resolves at Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn signals() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
