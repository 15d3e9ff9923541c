//! Response heads as text: what `curl -si`, `curl -v`, `wget -S` and HTTPie
//! print, one or several in a row, with or without bodies between them; or
//! bare header lines, as browsers copy them.

use super::{Exchange, Input};

pub(super) fn read(text: &[u8]) -> Input {
    let verbose = Verbose::strip(text);
    let text = verbose.as_ref().map_or(text, |verbose| verbose.text.as_slice());
    let mut reader = Reader { text, at: 0, input: Input::default() };
    reader.read_all();
    let mut input = reader.input;
    follow(&mut input, verbose.map(|verbose| verbose.requests).unwrap_or_default());
    input
}

/// How far a head may be indented.
const MOST_INDENT: usize = 16;
/// How much of a line is looked at for a status line.
const LONGEST_STATUS: usize = 256;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    input: Input,
}

impl<'a> Reader<'a> {
    fn read_all(&mut self) {
        match next_head(self.text, 0) {
            Some(start) => self.at = start,
            None => return self.bare(),
        }
        while self.at < self.text.len() {
            let Some(start) = next_head(self.text, self.at) else { return };
            self.at = start;
            self.head();
        }
    }

    /// Header lines without a status line.
    fn bare(&mut self) {
        let mut exchange = Exchange { status: 200, ..Exchange::default() };
        let told = self.fields(&mut exchange, 0);
        if exchange.headers.is_empty() {
            return;
        }
        match told {
            Some(status) => exchange.status = status,
            None => self.input.notes.push("there is no status line: read as a 200 unless --status is given".to_owned()),
        }
        exchange.body = self.body(&exchange);
        self.input.exchanges.push(exchange);
    }

    fn head(&mut self) {
        let line = self.line();
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some((version, status, phrase)) = status_line(line) else { return };
        let mut exchange = Exchange { version, status, phrase, ..Exchange::default() };
        self.fields(&mut exchange, indent);
        let followed =
            next_head(self.text, self.at).is_some_and(|next| self.text[self.at..next].trim_ascii().is_empty());
        if (100..200).contains(&exchange.status) {
            return self.input.notes.push(format!("an interim {} is left out", exchange.status));
        }
        if followed && exchange.phrase.eq_ignore_ascii_case("connection established") {
            return self.input.notes.push("the proxy's answer to CONNECT is left out".to_owned());
        }
        exchange.body = self.body(&exchange);
        self.input.exchanges.push(exchange);
    }

    /// The next line, without its end.
    fn line(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.at += end.map_or(rest.len(), |end| end + 1);
        let line = &rest[..end.unwrap_or(rest.len())];
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Reads header lines up to a blank one; returns the status of HTTP/2's
    /// pseudo-field, if there is one.
    fn fields(&mut self, exchange: &mut Exchange, indent: usize) -> Option<u16> {
        let mut status = None;
        while self.at < self.text.len() {
            let before = self.at;
            let line = self.line();
            let blanks = line.iter().take(indent).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let line = &line[blanks..];
            if line.trim_ascii().is_empty() {
                break;
            }
            if status_line(line).is_some() {
                self.at = before;
                break;
            }
            if matches!(line.first(), Some(b' ' | b'\t')) && !exchange.headers.is_empty() {
                // A folded line (RFC 9112 section 5.2).
                if let Some((_, value)) = exchange.headers.last_mut() {
                    value.push(b' ');
                    value.extend_from_slice(line.trim_ascii());
                }
                continue;
            }
            if let Some(value) = line.strip_prefix(b":status") {
                let digits = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
                status = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                continue;
            }
            match field(line) {
                Some((name, value)) => exchange.headers.push((name.to_vec(), value.to_vec())),
                None if exchange.headers.is_empty() && exchange.version.is_empty() => break,
                None => {
                    let line: String = String::from_utf8_lossy(line).chars().take(40).collect();
                    self.input.notes.push(format!("a line that is no header field is left out: {}", line.trim()));
                }
            }
        }
        status
    }

    /// What stands between this head and the next.
    fn body(&mut self, exchange: &Exchange) -> Option<Vec<u8>> {
        if matches!(exchange.status, 204 | 304) {
            return None;
        }
        let rest = &self.text[self.at..];
        let length =
            exchange.header("content-length").and_then(|length| core::str::from_utf8(length).ok()?.parse().ok());
        let exact = length.filter(|length: &usize| {
            rest.get(*length..).is_some_and(|after| {
                let after = after.trim_ascii_start();
                after.is_empty() || starts_head(after)
            })
        });
        if exact.is_none() && starts_head(rest) {
            return None;
        }
        let end = exact.or_else(|| next_head(self.text, self.at).map(|next| next - self.at)).unwrap_or(rest.len());
        self.at += end;
        let body = &rest[..end];
        (!body.trim_ascii().is_empty()).then(|| body.to_vec())
    }
}

/// Where the next status line begins, at `from` or after it. A body need not
/// end its last line, so a status line may stand behind one; then a header
/// line must follow.
fn next_head(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = find(&text[at..], b"HTTP/") {
        let start = at + found;
        let before = &text[from..start];
        let indent = before.iter().rev().take(MOST_INDENT).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let opens_line = matches!(before[..before.len() - indent].last(), None | Some(b'\n'));
        let rest = &text[start..];
        if starts_head(rest) && (opens_line || has_field(rest)) {
            return Some(if opens_line { start - indent } else { start });
        }
        at = start + 5;
    }
    None
}

fn starts_head(text: &[u8]) -> bool {
    text.starts_with(b"HTTP/") && status_line(first_line(&text[..text.len().min(LONGEST_STATUS)])).is_some()
}

/// Whether a header field stands in the second line.
fn has_field(text: &[u8]) -> bool {
    let second = text.iter().position(|byte| *byte == b'\n').map(|end| first_line(&text[end + 1..]));
    second.is_some_and(|line| field(line).is_some())
}

fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    text[..end].strip_suffix(b"\r").unwrap_or(&text[..end])
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Version, status and phrase of `HTTP/1.1 429 Too Many Requests`.
fn status_line(line: &[u8]) -> Option<(String, u16, String)> {
    let line = core::str::from_utf8(line).ok().or_else(|| {
        // Phrases are of any charset; what precedes them is not.
        let valid = core::str::from_utf8(line).err()?.valid_up_to();
        core::str::from_utf8(&line[..valid]).ok()
    })?;
    let mut words = line.trim().splitn(3, ' ');
    let (version, status) = (words.next()?, words.next()?);
    let number = version.strip_prefix("HTTP/")?;
    let is_number =
        !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_status = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    let status = status.parse().ok().filter(|status| (100..=999).contains(status))?;
    let phrase: String = words.next().unwrap_or_default().trim().chars().take(60).collect();
    (is_number && is_status).then(|| (version.to_owned(), status, phrase))
}

/// Name and value of a header line.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = line[..colon].trim_ascii();
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    (!name.is_empty() && name.iter().all(token)).then(|| (name, line[colon + 1..].trim_ascii()))
}

/// What `curl -v` prints, with its marks taken off.
struct Verbose {
    text: Vec<u8>,
    /// Method, path and host of each request.
    requests: Vec<(String, String)>,
}

impl Verbose {
    fn strip(text: &[u8]) -> Option<Self> {
        let lines = || text.split_inclusive(|byte| *byte == b'\n');
        let marked = lines().any(|line| line.strip_prefix(b"< ").is_some_and(starts_head));
        // With `-i` the heads stand there twice: once is enough.
        let plain = lines().any(starts_head);
        if !marked {
            return None;
        }
        let mut verbose = Self { text: Vec::with_capacity(text.len()), requests: Vec::new() };
        let mut asked: Option<(String, String)> = None;
        let secure = lines().any(|line| line.starts_with(b"* ") && find(line, b"SSL connection").is_some());
        let scheme = if secure { "https" } else { "http" };
        for line in lines() {
            match line {
                [b'<', b' ', rest @ ..] if !plain => verbose.text.extend_from_slice(rest),
                [b'<', b'\r' | b'\n', ..] if !plain => verbose.text.push(b'\n'),
                [b'<', b' ' | b'\r' | b'\n', ..] => {}
                [b'>', b' ', rest @ ..] => {
                    let rest = String::from_utf8_lossy(first_line(rest)).into_owned();
                    let mut words = rest.split(' ');
                    if let (Some(method), Some(path), Some(version), None) =
                        (words.next(), words.next(), words.next(), words.next())
                        && version.starts_with("HTTP/")
                    {
                        asked = Some((method.to_owned(), path.to_owned()));
                    } else if let Some((name, host)) = rest.split_once(':')
                        && name.eq_ignore_ascii_case("host")
                        && let Some((method, path)) = asked.take()
                        && path.starts_with('/')
                    {
                        verbose.requests.push((method, format!("{scheme}://{}{path}", host.trim())));
                    }
                }
                [b'>', b'\r' | b'\n', ..] | [b'*' | b'{' | b'}', b' ', ..] => {}
                line => verbose.text.extend_from_slice(line),
            }
        }
        Some(verbose)
    }
}

/// Whom each head came from, as far as the heads tell: a redirect names the
/// next one's URL.
fn follow(input: &mut Input, requests: Vec<(String, String)>) {
    if requests.len() == input.exchanges.len() {
        for (exchange, (method, url)) in input.exchanges.iter_mut().zip(requests) {
            (exchange.method, exchange.url) = (Some(method), Some(url));
        }
        return;
    }
    let mut next: Option<String> = None;
    for exchange in &mut input.exchanges {
        exchange.url = next.take();
        let location = exchange.header("location").and_then(|location| core::str::from_utf8(location).ok());
        if let Some(location) = location.filter(|_| (300..400).contains(&exchange.status)) {
            let absolute = location.starts_with("https://") || location.starts_with("http://");
            next = absolute.then(|| location.to_owned());
        }
    }
}
