//! The user's program, run against one stub server.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};

use super::judgement::Ending;
use super::scenarios::Scenario;
use crate::stub::{Counts, Settings, Stub, Timeline, serve};

/// Until the first request: interpreters start slowly, some programs compile.
const STARTUP: Duration = Duration::from_secs(60);
/// How often the server's counts are looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long a program may take to end once it is told to.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much of its output is kept: the end.
const KEPT: usize = 64 * 1024;

/// A run that has ended.
#[derive(Debug)]
pub struct Ran {
    /// How.
    pub ending: Ending,
    /// Every request.
    pub timeline: Timeline,
    /// The end of what the program printed on both streams; empty if it was
    /// passed through.
    pub output: String,
}

/// Why there is nothing to judge.
#[derive(Debug)]
pub enum NotRun {
    /// The command cannot be started.
    CannotStart(io::Error),
    /// The user, or whoever runs this, said stop.
    Interrupted,
}

/// Resolves when everything is to end.
pub type Stop<'a> = Pin<&'a mut dyn Future<Output = ()>>;

/// Runs `command` against a fresh server until it ends, its time is up, or
/// `stop` resolves. Nothing of it is left running.
///
/// # Errors
///
/// If the server cannot listen. That the command does not run is no error but
/// a [`NotRun`].
pub async fn run(
    command: &[OsString],
    scenario: &Scenario,
    latency: Duration,
    verbose: bool,
    mut stop: Stop<'_>,
    progress: impl Fn(Counts),
) -> Result<Result<Ran, NotRun>> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("cannot listen on 127.0.0.1")?;
    let url = format!("http://{}", listener.local_addr()?);
    let settings = Settings { spec: scenario.spec.clone(), dialect: scenario.dialect };
    let stub = Arc::new(Stub::new(settings, Vec::new(), latency));
    let (end, ended) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, Arc::clone(&stub), async {
        // A sender that is gone says the same.
        let _ = ended.await;
    }));

    let mut process = match prepare(command, scenario, &url, verbose).spawn() {
        Ok(child) => Group { id: child.id(), child },
        Err(error) => return Ok(Err(NotRun::CannotStart(error))),
    };
    let output = Output::of(&mut process.child);
    let ending = tokio::select! {
        ending = watch(&mut process.child, scenario, &stub, progress) => Some(ending?),
        () = &mut stop => None,
    };
    // What the program has started itself must not outlive it.
    process.end().await;
    // Read before the server lets its connections go.
    let timeline = stub.timeline();
    let output = output.finish().await;
    drop(end);
    server.await??;
    Ok(ending.map(|ending| Ran { ending, timeline, output }).ok_or(NotRun::Interrupted))
}

fn prepare(command: &[OsString], scenario: &Scenario, url: &str, verbose: bool) -> Command {
    let calls = scenario.calls.to_string();
    let fill = |argument: &OsString| match argument.to_str() {
        Some(text) => OsString::from(text.replace("{url}", url).replace("{calls}", &calls)),
        None => argument.clone(),
    };
    let (program, arguments) =
        command.split_first().map_or((OsStr::new(""), command), |(program, rest)| (program, rest));
    let mut prepared = Command::new(program);
    prepared
        .args(arguments.iter().map(fill))
        .env("RAMPMETER_URL", url)
        .env("RAMPMETER_CALLS", &calls)
        .env("RAMPMETER_SCENARIO", scenario.name)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if verbose {
        // Standard output is the report's.
        prepared.stdout(io::stderr()).stderr(io::stderr());
    } else {
        prepared.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    #[cfg(unix)]
    prepared.process_group(0);
    prepared
}

/// Waits until the program ends or its time is up.
async fn watch(child: &mut Child, scenario: &Scenario, stub: &Stub, progress: impl Fn(Counts)) -> Result<Ending> {
    let mut ticks = interval(TICK);
    let mut deadline = Instant::now() + STARTUP;
    let mut has_begun = false;
    loop {
        tokio::select! {
            status = child.wait() => return Ok(Ending::Exited(status?.code())),
            _ = ticks.tick() => {}
        }
        let counts = stub.counts();
        progress(counts);
        if !has_begun && counts.admitted + counts.refused > 0 {
            has_begun = true;
            deadline = Instant::now() + scenario.patience;
        }
        if Instant::now() >= deadline {
            return Ok(Ending::Stopped);
        }
    }
}

/// A program and all that it started.
struct Group {
    child: Child,
    id: Option<u32>,
}

impl Group {
    /// Asks, then kills.
    async fn end(&mut self) {
        self.signal(false);
        // Also of a program that has ended: this reaps it, at once.
        let _ = timeout(FAREWELL, self.child.wait()).await;
        self.signal(true);
        let _ = timeout(FAREWELL, self.child.wait()).await;
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};

        let signal = if kill { Signal::KILL } else { Signal::TERM };
        let group = self.id.and_then(|id| Pid::from_raw(id.cast_signed()));
        // None is left, then.
        let _ = group.map(|group| kill_process_group(group, signal));
    }

    #[cfg(not(unix))]
    fn signal(&mut self, _: bool) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(true);
    }
}

/// The end of what a program prints.
struct Output {
    readers: JoinSet<()>,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Output {
    fn of(child: &mut Child) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let mut readers = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(keep(stdout, Arc::clone(&kept)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(keep(stderr, Arc::clone(&kept)));
        }
        Self { readers, kept }
    }

    /// Whoever has left the group may hold the pipe open for ever.
    async fn finish(mut self) -> String {
        let _ = timeout(FAREWELL, async { while self.readers.join_next().await.is_some() {} }).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

async fn keep(mut stream: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..read]);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
}
