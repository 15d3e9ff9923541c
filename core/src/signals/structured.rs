//! Lists of items with parameters, as structured fields (RFC 9651) write them
//! and as servers write them that never read it.
//!
//! Every valid list reads as the RFC reads it. Beyond that each member stands
//! for itself: one that is malformed does not take its neighbours with it,
//! and blanks, unquoted names and doubled labels are let through. Nothing is
//! allocated but an escaped string.

use std::borrow::Cow;

use super::values;

/// The members of a list, split at commas outside of strings. `None` if a
/// string is not closed: then nothing in the value can be trusted.
pub(super) fn members(value: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    closed(value).then(|| split(value, b',').filter(|member| !member.is_empty()))
}

/// A member's item and parameters, split at semicolons outside of strings.
pub(super) fn parts(member: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(member, b';')
}

/// A parameter's key and value, bare of quotes; `None` for a lone item.
pub(super) fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    if part.first() == Some(&b'"') {
        return None;
    }
    let at = part.iter().position(|byte| *byte == b'=')?;
    Some((values::trim(&part[..at]), values::trim(&part[at + 1..])))
}

/// The text of a string or token, if it is one.
pub(super) fn text(item: &[u8]) -> Option<Cow<'_, str>> {
    let inner = match item {
        [b'"', inner @ .., b'"'] => inner,
        [b'"', ..] | [] => return None,
        token => return core::str::from_utf8(token).ok().map(Cow::Borrowed),
    };
    let text = core::str::from_utf8(inner).ok()?;
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    let mut unescaped = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        unescaped.push(if letter == '\\' { letters.next()? } else { letter });
    }
    Some(Cow::Owned(unescaped))
}

fn closed(value: &[u8]) -> bool {
    let (mut open, mut escaped) = (false, false);
    for byte in value {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if open => escaped = true,
            b'"' => open = !open,
            _ => {}
        }
    }
    !open
}

fn split(value: &[u8], at: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    core::iter::from_fn(move || {
        let value = rest?;
        let (mut open, mut escaped) = (false, false);
        let end = value.iter().position(|byte| {
            match *byte {
                _ if escaped => escaped = false,
                b'\\' if open => escaped = true,
                b'"' => open = !open,
                byte if byte == at && !open => return true,
                _ => {}
            }
            false
        });
        let (part, tail) = match end {
            Some(end) => (&value[..end], Some(&value[end + 1..])),
            None => (value, None),
        };
        rest = tail;
        Some(values::trim(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(value: &str) -> Option<Vec<Vec<&str>>> {
        let member = |member| parts(member).map(|part| core::str::from_utf8(part).unwrap()).collect();
        Some(members(value.as_bytes())?.map(member).collect())
    }

    #[test]
    fn commas_and_semicolons_in_strings_split_nothing() {
        let value = r#"100;w=60;comment="sliding; window, \"v2\"", 5000;w=3600"#;
        let expected = vec![vec!["100", "w=60", r#"comment="sliding; window, \"v2\"""#], vec!["5000", "w=3600"]];
        assert_eq!(list(value), Some(expected));
    }

    #[test]
    fn an_open_string_spoils_the_whole_value() {
        assert_eq!(list(r#""default;r=5, "other";r=3"#), None);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(text(br#""a\"b\\c""#).as_deref(), Some(r#"a"b\c"#));
        assert_eq!(text(b"token").as_deref(), Some("token"));
        assert_eq!(text(b"\"open"), None);
    }
}
