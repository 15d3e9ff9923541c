//! `rampmeter explain`: reads response heads and says what each field means,
//! which meters and refusal are read, and what a limiter would now do.

mod answers;
mod layout;
mod options;
mod page;
mod replay;
mod report;
mod wording;

use std::io::IsTerminal;
use std::time::{SystemTime, UNIX_EPOCH};

use options::{Format, Options, Parsed};

use crate::input::{self, Exchange, Input};

/// What a command says and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The text: for standard output if `code` is 0, for standard error
    /// otherwise.
    pub text: String,
    /// The exit status: 0 if something was explained, 2 if the command or its
    /// input is wrong.
    pub code: u8,
}

/// A response to the one GET of `--url`.
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

/// Fetches a URL, or says in a sentence what went wrong.
pub type Fetch<'a> = &'a dyn Fn(&str) -> Result<Fetched, String>;

/// Runs the command with these arguments (without its name).
///
/// `stdin` is all of standard input. `None` is returned if it is needed and
/// was not given: read it, then call again (who sits at a terminal is told
/// what is waited for). `fetch` serves `--url`, where the host can.
///
/// ```
/// use rampmeter_tools::explain::run;
///
/// let head = b"HTTP/2 429\r\nretry-after: 30\r\n\r\n";
/// let output = run(&["--now", "1786000000"], Some(head), None).expect("the input was given");
/// assert_eq!(output.code, 0);
/// assert!(output.text.contains("come back in 30 s (07:07:10 UTC)"));
/// assert!(run::<&str>(&[], None, None).is_none());
/// ```
#[must_use]
pub fn run<S: AsRef<str>>(arguments: &[S], stdin: Option<&[u8]>, fetch: Option<Fetch<'_>>) -> Option<Output> {
    let options = match options::parse(arguments, fetch.is_some()) {
        Ok(Parsed::Options(options)) => options,
        Ok(Parsed::Help(text)) => return Some(Output { text, code: 0 }),
        Err(problem) => return Some(misuse(&format!("{problem}; see rampmeter explain --help"))),
    };
    let input = match (&options.url, &options.file, fetch) {
        (Some(url), _, Some(fetch)) => fetch(url).map(|fetched| answer_of(url, fetched)),
        (_, Some(file), _) => match std::fs::read(file) {
            Ok(bytes) => input::read(&bytes),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        },
        _ => match stdin {
            Some(bytes) => input::read(bytes),
            None => {
                if std::io::stdin().is_terminal() {
                    eprintln!("Paste a response head, then press Ctrl-D.");
                }
                return None;
            }
        },
    };
    Some(match input.and_then(|input| explain(input, &options)) {
        Ok(text) => Output { text, code: 0 },
        Err(problem) => misuse(&problem),
    })
}

fn answer_of(url: &str, fetched: Fetched) -> Input {
    let Fetched { version, status, phrase, headers, body } = fetched;
    let url = Some(url.to_owned());
    let body = Some(body).filter(|body| !body.is_empty());
    let exchange = Exchange { url, version, status, phrase, headers, body, ..Exchange::default() };
    Input { exchanges: vec![exchange], notes: Vec::new() }
}

fn misuse(problem: &str) -> Output {
    Output { text: format!("rampmeter explain: {problem}\n"), code: 2 }
}

fn explain(mut input: Input, options: &Options) -> Result<String, String> {
    for exchange in &mut input.exchanges {
        if let Some(status) = options.status {
            exchange.status = status;
        }
        if options.now.is_some() {
            exchange.received = exchange.received.or(options.now);
        }
    }
    let report = report::report(input, &options.config, options.now.unwrap_or_else(system_clock))?;
    match options.format {
        Format::Page { style, all } => Ok(page::page(&report, style, all)),
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
            text.push('\n');
            Ok(text)
        }
    }
}

fn system_clock() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
