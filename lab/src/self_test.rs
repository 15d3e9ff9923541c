//! Replays vectors, offline, against this engine.
//!
//! A vector is a JSON object: either *signals* (a response head and what must
//! be read from it) or a *script* (steps in virtual time and the decisions
//! that must follow). A file holds one object or a list of them; folders are
//! searched to any depth. The same files are replayed in every language.

use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;

mod compare;
mod script;
mod signals;

/// What a run found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many vectors held.
    pub passed: usize,
    /// Those that did not.
    pub failures: Vec<Failure>,
}

impl Outcome {
    /// True if every vector held.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A vector that does not hold, or a file that cannot be read as vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file it stands in.
    pub file: PathBuf,
    /// Its name; empty if the file itself is at fault.
    pub name: String,
    /// What was expected and what came.
    pub problem: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FAILED {}", self.file.display())?;
        if !self.name.is_empty() {
            write!(f, ": {}", self.name)?;
        }
        for line in self.problem.lines() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// Replays the vectors of all these files and folders, prints each failure to
/// standard output, then `N passed, N failed`.
///
/// ```
/// let folder = std::env::temp_dir().join("rampmeter-self-test-example");
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("one.json"), r#"{"name": "an unknown option is refused",
///     "config": {"max_retry": 3}, "config_error": "max_retry"}"#)?;
///
/// let outcome = rampmeter_lab::self_test::run(&[folder]);
/// assert_eq!(outcome.passed, 1);
/// assert!(outcome.ok());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn run(paths: &[PathBuf]) -> Outcome {
    let outcome = replay(paths);
    for failure in &outcome.failures {
        println!("{failure}");
    }
    println!("{} passed, {} failed", outcome.passed, outcome.failures.len());
    outcome
}

/// The same without a word.
#[must_use]
pub fn replay(paths: &[PathBuf]) -> Outcome {
    let mut outcome = Outcome::default();
    for path in paths {
        replay_path(path, &mut outcome);
    }
    outcome
}

fn replay_path(path: &Path, outcome: &mut Outcome) {
    let mut unreadable = |problem: String| {
        outcome.failures.push(Failure { file: path.to_owned(), name: String::new(), problem });
    };
    if path.is_dir() {
        match fs::read_dir(path) {
            Ok(entries) => {
                let mut entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
                entries.sort();
                for entry in entries {
                    if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "json") {
                        replay_path(&entry, outcome);
                    }
                }
            }
            Err(error) => unreadable(format!("cannot be listed: {error}")),
        }
        return;
    }
    let parsed = fs::read(path)
        .map_err(|error| format!("cannot be read: {error}"))
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| format!("is no JSON: {error}")));
    match parsed {
        Ok(Value::Array(list)) => list.iter().for_each(|vector| replay_vector(path, vector, outcome)),
        Ok(vector) => replay_vector(path, &vector, outcome),
        Err(problem) => unreadable(problem),
    }
}

fn replay_vector(file: &Path, vector: &Value, outcome: &mut Outcome) {
    // One vector that makes the engine panic must not hide what the others
    // say.
    let result = catch_unwind(AssertUnwindSafe(|| check(vector))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", message.unwrap_or("without a message")))
    });
    match result {
        Ok(()) => outcome.passed += 1,
        Err(problem) => {
            let name = vector.get("name").or_else(|| vector.get("id")).and_then(Value::as_str).unwrap_or("(no name)");
            outcome.failures.push(Failure { file: file.to_owned(), name: name.to_owned(), problem });
        }
    }
}

fn check(vector: &Value) -> Result<(), String> {
    if vector.get("steps").is_some() || vector.get("config_error").is_some() {
        script::check(vector)
    } else if vector.get("status").is_some() && vector.get("expect").is_some() {
        signals::check(vector)
    } else {
        Err("is no vector: it needs steps, a config_error, or a status with what to expect of it".to_owned())
    }
}
