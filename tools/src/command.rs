//! What the commands have in common: an input from a file, standard input or
//! a URL, and an end with a text and an exit status.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::input::{self, Exchange, Input};

/// What a command says and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The text: for standard error if `code` is 2, for standard output
    /// otherwise.
    pub text: String,
    /// The exit status: 0 if all is well, 1 if something was found that is
    /// not (only `audit` finds), 2 if the command or its input is wrong.
    pub code: u8,
}

impl Output {
    pub(crate) fn misuse(command: &str, problem: &str) -> Self {
        Self { text: format!("rampmeter {command}: {problem}\n"), code: 2 }
    }
}

/// A response to one GET of `--url`.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The status line's words.
    pub phrase: String,
    /// The header fields, in order.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The first bytes of the body.
    pub body: Vec<u8>,
}

impl Fetched {
    /// The same as recorded, with the URL that was asked.
    pub(crate) fn recorded(self, url: &str) -> Exchange {
        let Self { version, status, phrase, headers, body } = self;
        let body = Some(body).filter(|body| !body.is_empty());
        Exchange { url: Some(url.to_owned()), version, status, phrase, headers, body, ..Exchange::default() }
    }
}

/// Fetches a URL, or says in a sentence what went wrong.
pub type Fetch<'a> = &'a dyn Fn(&str) -> Result<Fetched, String>;

/// What a file holds.
pub(crate) fn of_file(path: &Path) -> Result<Input, String> {
    match std::fs::read(path) {
        Ok(bytes) => input::read(&bytes),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// What standard input holds; `None` if it is still to be read, of which who
/// sits at a terminal is told.
pub(crate) fn of_stdin(stdin: Option<&[u8]>) -> Option<Result<Input, String>> {
    if stdin.is_none() && std::io::stdin().is_terminal() {
        eprintln!("Paste a response head, then press Ctrl-D.");
    }
    stdin.map(input::read)
}

pub(crate) fn system_clock() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
