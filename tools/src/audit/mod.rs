//! `rampmeter audit`: asks of each refusal whether a client that reads nothing
//! but this could decide whether to come back, and when.

mod annotations;
mod caching;
mod cors;
mod finding;
mod heard;
mod options;
mod page;
mod refusal;
mod report;
#[cfg(feature = "source")]
mod source;

use options::{Format, Options, Parsed, Subject};
use report::Report;

use crate::command::{Fetch, Output, of_file, of_stdin, system_clock};
use crate::input::Input;

const NAME: &str = "audit";

/// Runs the command with these arguments (without its name).
///
/// `stdin` is all of standard input. `None` is returned if it is needed and
/// was not given: read it, then call again (who sits at a terminal is told
/// what is waited for). `fetch` serves `--url`, where the host can. The exit
/// status is 0 if every refusal answers, 1 if one does not, 2 if the command
/// or its input is wrong.
///
/// ```
/// use rampmeter_tools::audit::run;
///
/// let bare = b"HTTP/1.1 429 Too Many Requests\r\n\r\n";
/// let output = run(&["--json"], Some(bare), None).expect("the input was given");
/// assert_eq!(output.code, 1);
/// assert!(output.text.contains(r#""rule": "undecided""#));
///
/// let whole = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Type: application/json\r\n\r\n\
///     {\"retry\": true, \"retryAfter\": 30}";
/// assert_eq!(run::<&str>(&[], Some(whole), None).map(|output| output.code), Some(0));
/// ```
#[must_use]
pub fn run<S: AsRef<str>>(arguments: &[S], stdin: Option<&[u8]>, fetch: Option<Fetch<'_>>) -> Option<Output> {
    let options = match options::parse(arguments, fetch.is_some()) {
        Ok(Parsed::Options(options)) => options,
        Ok(Parsed::Help(text)) => return Some(Output { text, code: 0 }),
        Err(problem) => return Some(Output::misuse(NAME, &format!("{problem}; see rampmeter {NAME} --help"))),
    };
    let mut report = Report::default();
    let mut add =
        |input: Input, file| report.add(told(input, &options), file, options.now.unwrap_or_else(system_clock));
    let read = match &options.subject {
        Subject::Stdin => of_stdin(stdin)?.map(|input| add(input, None)),
        Subject::Files(files) => files.iter().try_for_each(|file| {
            let input = of_file(file)
                .map_err(|problem| if files.len() > 1 { format!("{}: {problem}", file.display()) } else { problem })?;
            add(input, Some(file));
            Ok(())
        }),
        #[cfg(feature = "source")]
        Subject::Source(folder) => {
            return Some(source::run(folder, options.format).unwrap_or_else(|problem| Output::misuse(NAME, &problem)));
        }
        Subject::Url(url, requests) => match fetch {
            Some(fetch) => asked(url, *requests, fetch).map(|input| add(input, None)),
            None => Err(crate::arguments::NO_URL.to_owned()),
        },
    };
    Some(match read {
        Ok(()) => said(&report, &options),
        Err(problem) => Output::misuse(NAME, &problem),
    })
}

/// Asks until there is a refusal: more would harm the server and tell nothing
/// new.
fn asked(url: &str, requests: u16, fetch: Fetch<'_>) -> Result<Input, String> {
    let mut input = Input::default();
    for _ in 0..requests {
        let exchange = fetch(url)?.recorded(url);
        let body = exchange.body.as_deref();
        let refused = rampmeter::read_signals(exchange.status, &exchange.headers, body, None).refusal.is_some();
        input.exchanges.push(exchange);
        if refused {
            return Ok(input);
        }
    }
    input.notes.push(format!(
        "none of {requests} requests was refused, so that no refusal could be judged; --requests sends more"
    ));
    Ok(input)
}

/// The input with what the arguments know better.
fn told(mut input: Input, options: &Options) -> Input {
    for exchange in &mut input.exchanges {
        exchange.status = options.status.unwrap_or(exchange.status);
        exchange.received = exchange.received.or(options.now);
    }
    input
}

fn said(report: &Report, options: &Options) -> Output {
    let text = match options.format {
        Format::Page(style) => page::page(report, style),
        Format::Annotations => annotations::lines(report),
        Format::Json => match serde_json::to_string_pretty(report) {
            Ok(text) => text + "\n",
            Err(error) => return Output::misuse(NAME, &error.to_string()),
        },
    };
    let fails = report.unanswered > 0 || options.strict && report.warnings > 0;
    Output { text, code: u8::from(fails) }
}
