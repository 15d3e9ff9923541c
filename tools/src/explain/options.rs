//! The command's arguments.

use std::path::PathBuf;

use lexopt::{Arg, Parser};
use rampmeter::Config;
use serde_json::Value;

use crate::arguments::{self, NO_URL, columns, is_colored, text};
use crate::layout::Style;

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
pub(super) fn parse<S: AsRef<str>>(given: &[S], fetches: bool) -> Result<Parsed, String> {
    let mut parser = Parser::from_args(given.iter().map(AsRef::as_ref));
    let (mut json, mut all, mut color, mut width) = (false, false, None, None);
    let (mut status, mut now, mut file, mut url) = (None, None, None, None);
    let mut config = Config::default().seed(0);
    let mut set = serde_json::Map::new();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Parsed::Help(help(fetches))),
            Arg::Long("json") => json = true,
            Arg::Long("all") => all = true,
            Arg::Long("status") => status = Some(arguments::status(&mut parser)?),
            Arg::Long("now") => now = Some(arguments::now(&mut parser)?),
            Arg::Long("preset") => {
                let value = text(&mut parser)?;
                let preset = Config::preset(&value).ok_or_else(|| format!("there is no preset {value:?}"))?;
                config = preset.seed(0);
            }
            Arg::Long("set") => {
                let value = text(&mut parser)?;
                let (name, value) = value.split_once('=').ok_or("--set must be NAME=VALUE")?;
                let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
                set.insert(name.to_owned(), value);
            }
            Arg::Long("color") => color = Some(arguments::color(&mut parser)?),
            Arg::Long("width") => width = Some(arguments::width(&mut parser)?),
            Arg::Long("url") if fetches => url = Some(text(&mut parser)?),
            Arg::Long("url") => return Err(NO_URL.to_owned()),
            Arg::Value(value) if file.is_none() => file = Some(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if url.is_some() && file.is_some() {
        return Err("give either a file or --url".to_owned());
    }
    let config = config.with_options(&Value::Object(set)).map_err(|error| error.to_string())?;
    let style = Style { width: width.unwrap_or_else(columns), color: color.unwrap_or_else(is_colored) };
    let format = if json { Format::Json } else { Format::Page { style, all } };
    let file = file.filter(|file| file.as_os_str() != "-");
    Ok(Parsed::Options(Box::new(Options { format, status, now, config, file, url })))
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
