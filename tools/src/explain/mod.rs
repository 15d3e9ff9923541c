//! `rampmeter explain`: reads response heads and says what each field means,
//! which meters and refusal are read, and what a limiter would now do.

mod answers;
mod options;
mod page;
mod replay;
mod report;
mod wording;

use options::{Format, Options, Parsed};

use crate::command::{Fetch, Output, of_file, of_stdin, system_clock};
use crate::input::Input;

const NAME: &str = "explain";

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
        Err(problem) => return Some(Output::misuse(NAME, &format!("{problem}; see rampmeter {NAME} --help"))),
    };
    let input = match (&options.url, &options.file, fetch) {
        (Some(url), _, Some(fetch)) => {
            fetch(url).map(|fetched| Input { exchanges: vec![fetched.recorded(url)], notes: Vec::new() })
        }
        (_, Some(file), _) => of_file(file),
        _ => of_stdin(stdin)?,
    };
    Some(match input.and_then(|input| explain(input, &options)) {
        Ok(text) => Output { text, code: 0 },
        Err(problem) => Output::misuse(NAME, &problem),
    })
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
