//! Responses in the forms in which people have them: heads as `curl -si`
//! prints them, HAR files, JSON records.

mod har;
mod heads;
mod records;

use rampmeter::parse_date;
use serde_json::Value;

/// One response, and as much of its request as is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) method: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) request_headers: Vec<(String, String)>,
    /// `HTTP/2`, if told.
    pub(crate) version: String,
    pub(crate) status: u16,
    /// The status line's words for people.
    pub(crate) phrase: String,
    pub(crate) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Option<Vec<u8>>,
    /// There was a body, of which the recording has nothing.
    pub(crate) body_is_lost: bool,
    /// A client-side cache answered.
    pub(crate) cached: bool,
    /// When the request was sent, in Unix seconds, if that was recorded.
    pub(crate) sent: Option<f64>,
    /// When the response was there, if that was recorded.
    pub(crate) received: Option<f64>,
}

impl Exchange {
    /// The value of the first header of that lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.trim_ascii())
    }

    /// When it was made, if no cache has kept it since.
    fn date(&self) -> Option<f64> {
        let fresh = self.header("age").is_none_or(|age| age == b"0");
        let date = self.header("date").filter(|_| fresh)?;
        parse_date(core::str::from_utf8(date).ok()?).map(rampmeter::Wall::as_unix_seconds)
    }

    /// The values of all headers of that lower-case name.
    pub(crate) fn lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.trim_ascii())
    }

    /// As much of the body as an adapter would read.
    pub(crate) fn body_up_to(&self, wanted: usize) -> Option<&[u8]> {
        self.body.as_deref().filter(|_| wanted > 0).map(|body| &body[..body.len().min(wanted)])
    }
}

/// What an input holds.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) exchanges: Vec<Exchange>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

impl Input {
    /// When each response was there, in Unix seconds: as recorded, else by its
    /// own `Date`, else when the one before was; the first at `now`.
    pub(crate) fn received(&self, now: f64) -> Vec<f64> {
        let mut clock = now;
        let of = |exchange: &Exchange| {
            clock = exchange.received.or_else(|| exchange.date()).unwrap_or(clock);
            clock
        };
        self.exchanges.iter().map(of).collect()
    }
}

/// Reads an input in whichever form it has.
///
/// # Errors
///
/// A sentence on what is wrong, if there is no response in it.
pub(crate) fn read(bytes: &[u8]) -> Result<Input, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.trim_ascii_start();
    if start.is_empty() {
        return Err("the input is empty; give it what `curl -si URL` prints, a HAR file or JSON records".to_owned());
    }
    let input = match start.first() {
        Some(b'{' | b'[') => json(start)?,
        _ => heads::read(bytes),
    };
    if input.exchanges.is_empty() {
        let why = match input.notes.as_slice() {
            [] => "give it what `curl -si URL` prints, a HAR file or JSON records".to_owned(),
            notes => notes.join("; "),
        };
        return Err(format!("there is no response in the input: {why}"));
    }
    Ok(input)
}

fn json(text: &[u8]) -> Result<Input, String> {
    match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(root)) if root.contains_key("log") => har::read(&root["log"]),
        Ok(Value::Array(entries)) => Ok(records::read(entries.into_iter().map(Ok))),
        Ok(root) => Ok(records::read([Ok(root)])),
        // Values one after the other, on lines of their own or not.
        Err(error) => {
            let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>().peekable();
            match values.peek() {
                Some(Ok(_)) => Ok(records::read(values)),
                _ => Err(format!("the input looks like JSON but is none: {error}")),
            }
        }
    }
}

/// A moment as JSON states it: Unix seconds or a date.
pub(crate) fn moment(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => moment_in(text),
        _ => None,
    }
    .filter(|seconds| (0.0..=1e11).contains(seconds))
}

/// The same from a text.
pub(crate) fn moment_in(text: &str) -> Option<f64> {
    match text.trim().parse::<f64>() {
        Ok(seconds) => Some(seconds),
        Err(_) => parse_date(text).map(rampmeter::Wall::as_unix_seconds),
    }
}
