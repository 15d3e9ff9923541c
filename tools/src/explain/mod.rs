//! `rampmeter explain`: reads response heads and says what each field means,
//! which meters and refusal are read, and what a limiter would now do.

mod answers;
mod layout;
mod options;
mod page;
mod replay;
mod report;
mod wording;

use std::time::{SystemTime, UNIX_EPOCH};

use options::{Format, Options, Parsed};

use crate::input;

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

/// Fetches a URL: one GET, answered as `curl -si` would print it, or a
/// sentence on what went wrong.
pub type Fetch<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Runs the command with these arguments (without its name).
///
/// `stdin` is all of standard input. `None` is returned if it is needed and
/// was not given: read it, then call again. `fetch` serves `--url`, where the
/// host can.
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
    let read;
    let (bytes, url) = match (&options.url, &options.file, fetch) {
        (Some(url), _, Some(fetch)) => match fetch(url) {
            Ok(answer) => {
                read = answer;
                (read.as_slice(), Some(url.as_str()))
            }
            Err(problem) => return Some(misuse(&problem)),
        },
        (_, Some(file), _) => match std::fs::read(file) {
            Ok(content) => {
                read = content;
                (read.as_slice(), None)
            }
            Err(error) => return Some(misuse(&format!("cannot read {}: {error}", file.display()))),
        },
        _ => (stdin?, None),
    };
    Some(match explain(bytes, url, &options) {
        Ok(text) => Output { text, code: 0 },
        Err(problem) => misuse(&problem),
    })
}

fn misuse(problem: &str) -> Output {
    Output { text: format!("rampmeter explain: {problem}\n"), code: 2 }
}

fn explain(bytes: &[u8], url: Option<&str>, options: &Options) -> Result<String, String> {
    let mut input = input::read(bytes)?;
    for exchange in &mut input.exchanges {
        if let Some(url) = url {
            exchange.url = Some(url.to_owned());
        }
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
