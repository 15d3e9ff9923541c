//! Arguments that commands have in common.

use std::env;
use std::io::IsTerminal;

use lexopt::Parser;

use crate::input::moment_in;

/// Columns of a page that is not shown in a terminal, and the most and least
/// of one that is.
const DEFAULT_WIDTH: u16 = 110;
const MOST_WIDTH: u16 = 140;
const LEAST_WIDTH: u16 = 60;

/// Said where the host has no HTTP client.
pub(crate) const NO_URL: &str = "--url is for the binary only: pipe `curl -si URL` into this command instead";

pub(crate) fn text(parser: &mut Parser) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value.into_string().map_err(|value| format!("{} is no text", value.display()))
}

pub(crate) fn status(parser: &mut Parser) -> Result<u16, String> {
    let value = text(parser)?;
    let number = value.parse().ok().filter(|status| (100..=999).contains(status));
    number.ok_or_else(|| format!("--status must be a status such as 429, not {value:?}"))
}

/// Unix seconds.
pub(crate) fn now(parser: &mut Parser) -> Result<f64, String> {
    let value = text(parser)?;
    let moment = moment_in(&value).filter(|seconds| (0.0..=1e11).contains(seconds));
    moment.ok_or_else(|| format!("--now must be Unix seconds or a date, not {value:?}"))
}

pub(crate) fn color(parser: &mut Parser) -> Result<bool, String> {
    match text(parser)?.as_str() {
        "always" => Ok(true),
        "never" => Ok(false),
        "auto" => Ok(is_colored()),
        other => Err(format!("--color must be always, auto or never, not {other:?}")),
    }
}

pub(crate) fn width(parser: &mut Parser) -> Result<u16, String> {
    let value = text(parser)?;
    let columns = value.parse().ok().filter(|columns| (LEAST_WIDTH..=1000).contains(columns));
    columns.ok_or_else(|| format!("--width must be from {LEAST_WIDTH} to 1000, not {value:?}"))
}

/// Whether the page goes to a terminal that shows colours.
pub(crate) fn is_colored() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}

/// How wide the page is, unless told.
pub(crate) fn columns() -> u16 {
    let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(DEFAULT_WIDTH, |(width, _)| width.0.clamp(LEAST_WIDTH, MOST_WIDTH))
}
