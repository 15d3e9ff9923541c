//! One fleet against one stub server, both processes of their own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::cells::Cell;
use crate::fleet::{Facts, Strategy};
use crate::stub::{Counts, Timeline};

/// Interpreters start slowly on a busy machine.
const STARTUP: Duration = Duration::from_secs(30);
/// No fleet takes longer; one that is not done by then has failed.
const PATIENCE: Duration = Duration::from_secs(45);
/// How often progress is asked for.
const PROGRESS: Duration = Duration::from_millis(100);

/// A language that a fleet is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Language {
    /// With reqwest.
    Rust,
    /// With httpx.
    Python,
    /// With fetch.
    Node,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Python, Self::Node];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Node => "Node",
        }
    }
}

/// How to start the programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// This command.
    pub rampmeter: PathBuf,
    /// The Python interpreter.
    pub python: PathBuf,
    /// The Node.js interpreter.
    pub node: PathBuf,
    /// The folder of the fleet programs.
    pub fleets: PathBuf,
}

impl Programs {
    fn fleet(&self, language: Language) -> Command {
        let script = |interpreter: &Path, script: &str| {
            let mut command = Command::new(interpreter);
            command.arg(self.fleets.join(script));
            command
        };
        match language {
            Language::Rust => {
                let mut command = Command::new(&self.rampmeter);
                command.arg("fleet");
                command
            }
            Language::Python => script(&self.python, "python/fleet.py"),
            Language::Node => script(&self.node, "node/fleet.mjs"),
        }
    }
}

/// A stub server in a process of its own.
pub struct Server {
    process: Child,
    base: String,
    client: reqwest::Client,
}

impl Server {
    /// Starts a stub of that cell.
    ///
    /// # Errors
    ///
    /// If it does not say where it listens.
    pub async fn start(programs: &Programs, cell: &Cell, latency: Duration) -> Result<Self> {
        let mut process = Command::new(&programs.rampmeter)
            .args(["serve", "--server", &cell.spec.to_string(), "--dialect", cell.dialect.name()])
            .args(["--latency", &latency.as_secs_f64().to_string()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the stub server")?;
        let mut lines = lines(&mut process)?;
        let line = timeout(STARTUP, lines.next_line()).await.context("the stub server does not start")??;
        let base = line.as_deref().and_then(|line| line.strip_prefix("listening on "));
        let base = base.ok_or_else(|| anyhow!("the stub server does not say where it listens"))?.to_owned();
        Ok(Self { process, base, client: reqwest::Client::new() })
    }

    async fn ask<T: for<'de> serde::Deserialize<'de>>(&self, path: &str) -> Result<T> {
        Ok(self.client.get(format!("{}{path}", self.base)).send().await?.json().await?)
    }

    async fn stop(mut self) -> Result<()> {
        self.ask::<String>("/_stop").await?;
        timeout(STARTUP, self.process.wait()).await.context("the stub server does not stop")??;
        Ok(())
    }
}

/// A fleet that is ready to go.
pub struct Fleet {
    process: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: JoinHandle<String>,
}

impl Fleet {
    /// Starts the program and waits until it is ready.
    ///
    /// # Errors
    ///
    /// What the program said last, if it does not get ready: its interpreter
    /// or its packages may be missing.
    pub async fn start(
        programs: &Programs,
        language: Language,
        strategy: Strategy,
        calls: u64,
        server: &Server,
    ) -> Result<Self> {
        let mut command = programs.fleet(language);
        let mut process = command
            .arg(&server.base)
            .args(["--calls", &calls.to_string(), "--strategy", strategy.name(), "--wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", command.as_std().get_program().display()))?;
        let stdin = process.stdin.take().context("no pipe to the fleet")?;
        let mut stdout = lines(&mut process)?;
        let mut errors = process.stderr.take().context("no pipe from the fleet")?;
        let stderr = tokio::spawn(async move {
            let mut text = String::new();
            // What is no text is no message.
            let _ = errors.read_to_string(&mut text).await;
            text
        });
        match timeout(STARTUP, stdout.next_line()).await.context("the program does not get ready")?? {
            Some(line) if line == "ready" => Ok(Self { process, stdin, stdout, stderr }),
            _ => bail!("{}", last_line(&stderr.await?)),
        }
    }

    /// Lets it go on a fresh quota, and returns what it and the server say.
    ///
    /// # Errors
    ///
    /// If it takes too long or ends without a word.
    pub async fn run(mut self, server: Server, progress: impl Fn(Counts)) -> Result<(Facts, Timeline)> {
        server.ask::<String>("/_reset").await?;
        self.stdin.write_all(b"go\n").await?;
        let line = {
            let line = timeout(PATIENCE, self.stdout.next_line());
            tokio::pin!(line);
            let mut ticks = interval(PROGRESS);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    line = &mut line => break line,
                    _ = ticks.tick() => progress(server.ask("/_counts").await?),
                }
            }
        };
        let line = line.map_err(|_| anyhow!("not done within {} s", PATIENCE.as_secs()))??;
        let Some(line) = line else { bail!("{}", last_line(&self.stderr.await?)) };
        let facts = serde_json::from_str(&line).context("the fleet's facts cannot be read")?;
        let timeline = server.ask("/_timeline").await?;
        progress(server.ask("/_counts").await?);
        self.process.wait().await?;
        server.stop().await?;
        Ok((facts, timeline))
    }
}

fn lines(process: &mut Child) -> Result<Lines<BufReader<ChildStdout>>> {
    let stdout = process.stdout.take().context("no pipe from the program")?;
    Ok(BufReader::new(stdout).lines())
}

/// Where interpreters put the message of an error: the last line that is no
/// stack frame and no blank.
fn last_line(stderr: &str) -> &str {
    let is_message =
        |line: &&str| !line.trim().is_empty() && !line.starts_with([' ', '}']) && !line.starts_with("Node.js v");
    stderr.lines().rfind(is_message).unwrap_or("the program ended without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_is_found_in_each_interpreters_output() {
        let python = "Traceback (most recent call last):\n  File \"fleet.py\", line 17, in <module>\n    import rampmeter\n\
                      ModuleNotFoundError: No module named 'rampmeter'\n";
        assert_eq!(last_line(python), "ModuleNotFoundError: No module named 'rampmeter'");
        let node = "node:internal/errors:496\n    ErrorCaptureStackTrace(err);\n\n\
                    Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'rampmeter'\n    at a (b:1:2) {\n  \
                    code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n";
        assert_eq!(last_line(node), "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'rampmeter'");
        assert_eq!(last_line(""), "the program ended without a word");
    }
}
