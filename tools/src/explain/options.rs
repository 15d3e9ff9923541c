//! The command's arguments.

use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;

use lexopt::{Arg, Parser};
use rampmeter::Config;
use serde_json::Value;

use super::layout::Style;
use crate::input::moment_in;

/// Columns of a page that is not shown in a terminal, and the most and least
/// of one that is.
const DEFAULT_WIDTH: u16 = 110;
const MOST_WIDTH: u16 = 140;
const LEAST_WIDTH: u16 = 60;

/// What is asked.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) format: Format,
    pub(super) status: Option<u16>,
    pub(super) now: Option<f64>,
    pub(super) config: Config,
    /// `None` for standard input.
    pub(super) file: Option<PathBuf>,
    pub(super) url: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Page { style: Style, all: bool },
    Json,
}

pub(super) enum Parsed {
    Options(Box<Options>),
    Help(String),
}

/// Reads the arguments; `fetches` says whether the host can fetch a URL.
pub(super) fn parse<S: AsRef<str>>(arguments: &[S], fetches: bool) -> Result<Parsed, String> {
    let mut parser = Parser::from_args(arguments.iter().map(AsRef::as_ref));
    let (mut json, mut all, mut color, mut width) = (false, false, None, None);
    let (mut status, mut now, mut file, mut url) = (None, None, None, None);
    let mut config = Config::default().seed(0);
    let mut given = serde_json::Map::new();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Parsed::Help(help(fetches))),
            Arg::Long("json") => json = true,
            Arg::Long("all") => all = true,
            Arg::Long("status") => {
                let value = text(&mut parser)?;
                let number = value.parse().ok().filter(|status| (100..=999).contains(status));
                status = Some(number.ok_or_else(|| format!("--status must be a status such as 429, not {value:?}"))?);
            }
            Arg::Long("now") => {
                let value = text(&mut parser)?;
                let moment = moment_in(&value).filter(|seconds| (0.0..=1e11).contains(seconds));
                now = Some(moment.ok_or_else(|| format!("--now must be Unix seconds or a date, not {value:?}"))?);
            }
            Arg::Long("preset") => {
                let value = text(&mut parser)?;
                let preset = Config::preset(&value).ok_or_else(|| format!("there is no preset {value:?}"))?;
                config = preset.seed(0);
            }
            Arg::Long("set") => {
                let value = text(&mut parser)?;
                let (name, value) = value.split_once('=').ok_or("--set must be NAME=VALUE")?;
                let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
                given.insert(name.to_owned(), value);
            }
            Arg::Long("color") => {
                color = Some(match text(&mut parser)?.as_str() {
                    "always" => true,
                    "never" => false,
                    "auto" => is_colored(),
                    other => return Err(format!("--color must be always, auto or never, not {other:?}")),
                });
            }
            Arg::Long("width") => {
                let value = text(&mut parser)?;
                let columns = value.parse().ok().filter(|columns| (LEAST_WIDTH..=1000).contains(columns));
                width =
                    Some(columns.ok_or_else(|| format!("--width must be from {LEAST_WIDTH} to 1000, not {value:?}"))?);
            }
            Arg::Long("url") if fetches => url = Some(text(&mut parser)?),
            Arg::Long("url") => {
                return Err("--url is for the binary only: pipe `curl -si URL` into this command instead".to_owned());
            }
            Arg::Value(value) if file.is_none() => file = Some(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if url.is_some() && file.is_some() {
        return Err("give either a file or --url".to_owned());
    }
    let config = config.with_options(&Value::Object(given)).map_err(|error| error.to_string())?;
    let style = Style { width: width.unwrap_or_else(columns), color: color.unwrap_or_else(is_colored) };
    let format = if json { Format::Json } else { Format::Page { style, all } };
    let file = file.filter(|file| file.as_os_str() != "-");
    Ok(Parsed::Options(Box::new(Options { format, status, now, config, file, url })))
}

fn text(parser: &mut Parser) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value.into_string().map_err(|value| format!("{} is no text", value.display()))
}

fn is_colored() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}

fn columns() -> u16 {
    let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(DEFAULT_WIDTH, |(width, _)| width.0.clamp(LEAST_WIDTH, MOST_WIDTH))
}

fn help(fetches: bool) -> String {
    let url = if fetches { "  --url URL        fetch this URL (one GET) instead of reading a file\n" } else { "" };
    format!(
        "\
Say what responses tell about rate limits, and what the limiter would do

Usage: rampmeter explain [OPTIONS] [FILE]

  curl -si URL | rampmeter explain

FILE holds response heads as `curl -si` or `curl -v` print them, one or several in a row; a HAR file; or
JSON records with status and headers (also body, method, url, time). Without it standard input is read.
Several responses are shown to one limiter, one after the other.

Options:
{url}  --status STATUS  read every response as one of this status
  --now TIME       when a response was received that does not tell: Unix seconds or a date [default: now]
  --set NAME=VALUE set an option of the limiter, such as max_retry_after=600; may be repeated
  --preset NAME    begin with the options for a kind of program: default, web or background
  --all            show every response in full, however many there are
  --json           print JSON, for scripts
  --color WHEN     always, auto or never [default: auto]
  --width COLUMNS  how wide the page is
  -h, --help       show this text

Exit status: 0 if something was explained, 2 if the command or its input is wrong.
"
    )
}
