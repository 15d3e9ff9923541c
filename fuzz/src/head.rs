//! How a response is written in an input: field lines `name: value`, and a
//! body.

/// A header list and a body, taken from an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head<'a> {
    pub headers: Vec<(&'a [u8], &'a [u8])>,
    pub body: Option<Vec<u8>>,
}

impl<'a> Head<'a> {
    /// One field line; without a colon it is a name without a value.
    pub fn field(&mut self, line: &'a [u8]) {
        let (name, value) = cut(line, b':').unwrap_or((line, b""));
        self.headers.push((name, value.strip_prefix(b" ").unwrap_or(value)));
    }

    /// One line of the body.
    pub fn line(&mut self, line: &[u8]) {
        match &mut self.body {
            Some(body) => {
                body.push(b'\n');
                body.extend_from_slice(line);
            }
            None => self.body = Some(line.to_vec()),
        }
    }
}

/// What stands before and after the first `mark`.
pub fn cut(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == mark)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The words of a line, as far as they are text.
pub fn words(line: &[u8]) -> impl Iterator<Item = &str> {
    line.split(|byte| *byte == b' ').filter_map(|word| core::str::from_utf8(word).ok()).filter(|word| !word.is_empty())
}

/// A number; whatever is none is the default.
pub fn number<T: core::str::FromStr + Default>(word: &str) -> T {
    word.parse().unwrap_or_default()
}
