//! The command's arguments.

use std::path::PathBuf;

use lexopt::{Arg, Parser};

use crate::arguments::{self, NO_URL, columns, is_colored, text};
use crate::layout::Style;

/// How many requests `--url` sends at most, unless told; and how many it may
/// be told.
const REQUESTS: u16 = 10;
const MOST_REQUESTS: u16 = 1000;

/// Said where the grammars would make the package several times as large.
#[cfg(not(feature = "source"))]
const NO_SOURCE: &str =
    "--source is for the binary only: run `rampmeter audit --source DIR`, built from the checkout with cargo";

/// What is asked.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) format: Format,
    pub(super) strict: bool,
    pub(super) status: Option<u16>,
    pub(super) now: Option<f64>,
    pub(super) subject: Subject,
}

/// What is judged.
#[derive(Debug)]
pub(super) enum Subject {
    Stdin,
    Files(Vec<PathBuf>),
    /// A URL and the most requests to it.
    Url(String, u16),
    #[cfg(feature = "source")]
    Source(super::source::Options),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Page(Style),
    Json,
    Annotations,
}

pub(super) enum Parsed {
    Options(Options),
    Help(String),
}

/// Reads the arguments; `fetches` says whether the host can fetch a URL.
pub(super) fn parse<S: AsRef<str>>(given: &[S], fetches: bool) -> Result<Parsed, String> {
    let mut parser = Parser::from_args(given.iter().map(AsRef::as_ref));
    let (mut json, mut annotations, mut strict) = (false, false, false);
    let (mut color, mut width, mut status, mut now) = (None, None, None, None);
    let (mut files, mut url, mut requests) = (Vec::new(), None, None);
    #[cfg(feature = "source")]
    let (mut source, mut exclude, mut known) = (None, Vec::new(), None);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Parsed::Help(help(fetches))),
            Arg::Long("json") => json = true,
            Arg::Long("annotations") => annotations = true,
            Arg::Long("strict") => strict = true,
            Arg::Long("status") => status = Some(arguments::status(&mut parser)?),
            Arg::Long("now") => now = Some(arguments::now(&mut parser)?),
            Arg::Long("color") => color = Some(arguments::color(&mut parser)?),
            Arg::Long("width") => width = Some(arguments::width(&mut parser)?),
            Arg::Long("url") if fetches => url = Some(text(&mut parser)?),
            Arg::Long("requests") if fetches => {
                let value = text(&mut parser)?;
                let number = value.parse().ok().filter(|number| (1..=MOST_REQUESTS).contains(number));
                let number =
                    number.ok_or_else(|| format!("--requests must be from 1 to {MOST_REQUESTS}, not {value:?}"))?;
                requests = Some(number);
            }
            Arg::Long("url" | "requests") => return Err(NO_URL.to_owned()),
            #[cfg(feature = "source")]
            Arg::Long("source") => source = Some(PathBuf::from(text(&mut parser)?)),
            #[cfg(feature = "source")]
            Arg::Long("exclude") => exclude.push(text(&mut parser)?),
            #[cfg(feature = "source")]
            Arg::Long("known") => known = Some(PathBuf::from(text(&mut parser)?)),
            #[cfg(not(feature = "source"))]
            Arg::Long("source" | "exclude" | "known") => return Err(NO_SOURCE.to_owned()),
            Arg::Value(value) => files.push(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if json && annotations {
        return Err("give either --json or --annotations".to_owned());
    }
    if url.is_none() && requests.is_some() {
        return Err("--requests belongs to --url".to_owned());
    }
    #[cfg(feature = "source")]
    let source = match source {
        Some(_) if url.is_some() || !files.is_empty() => return Err("give either --source or responses".to_owned()),
        None if known.is_some() || !exclude.is_empty() => {
            return Err("--exclude and --known belong to --source".to_owned());
        }
        source => source.map(|folder| Subject::Source(super::source::Options { folder, exclude, known })),
    };
    let from_stdin = files.iter().any(|file| file.as_os_str() == "-");
    let subject = match url {
        Some(_) if !files.is_empty() => return Err("give either files or --url".to_owned()),
        Some(url) => Subject::Url(url, requests.unwrap_or(REQUESTS)),
        None if from_stdin && files.len() > 1 => return Err("give either files or standard input".to_owned()),
        None if files.is_empty() || from_stdin => Subject::Stdin,
        None => Subject::Files(files),
    };
    #[cfg(feature = "source")]
    let subject = source.unwrap_or(subject);
    let format = match (json, annotations) {
        (true, _) => Format::Json,
        (_, true) => Format::Annotations,
        _ => Format::Page(Style { width: width.unwrap_or_else(columns), color: color.unwrap_or_else(is_colored) }),
    };
    Ok(Parsed::Options(Options { format, strict, status, now, subject }))
}

fn help(fetches: bool) -> String {
    let (usage, url) = if fetches {
        (
            "\n       rampmeter audit --url URL [OPTIONS]\n       rampmeter audit --source DIR [OPTIONS]",
            format!(
                "  --url URL        ask this URL, until it refuses, and judge what it answers\n  \
                   --requests N     the most requests to it, one after the other [default: {REQUESTS}]\n"
            ),
        )
    } else {
        ("", String::new())
    };
    let source = if cfg!(feature = "source") {
        "  --source DIR     list the places in this folder's source that send 429, instead of judging responses
  --exclude GLOB   leave out files of --source, as a .gitignore would; may be repeated
  --known FILE     what --source --json printed before: fail for places only that are not in it
"
    } else {
        ""
    };
    format!(
        "\
Ask of each refusal: could a client that reads nothing but this decide whether to come back, and when?

Usage: rampmeter audit [OPTIONS] [FILE...]{usage}

  curl -si URL | rampmeter audit

A FILE holds responses as `curl -si` or `curl -v` print them, one or several in a row; a HAR file; or JSON
records with status, headers and body (also method, url, time). Without one standard input is read.

Options:
{url}{source}  --strict         warnings count too: caches, browsers, counters
  --status STATUS  read every response as one of this status
  --now TIME       when a response was received that does not tell: Unix seconds or a date [default: now]
  --json           print JSON, for scripts
  --annotations    print annotations for GitHub's workflows
  --color WHEN     always, auto or never [default: auto]
  --width COLUMNS  how wide the page is
  -h, --help       show this text

Exit status: 0 if every refusal answers, 1 if one does not, 2 if the command or its input is wrong.
"
    )
}
