//! Where a file says 429, by number or by name; comments and strings are not
//! looked into, but for the status lines that some interfaces take as text.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::tree::{self, Text};

const CODE: &str = "429";

/// How it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Name,
    /// `429 Too Many Requests`.
    StatusLine,
}

pub(super) struct Mention<'t> {
    pub(super) node: Node<'t>,
    pub(super) form: Form,
}

/// All mentions, in the order of the text; `own` are the names that the file
/// itself gives the number.
pub(super) fn all<'t>(root: Node<'t>, text: Text<'_>, own: &BTreeSet<String>) -> Vec<Mention<'t>> {
    let mut found = Vec::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if let Some(form) = form(node, text, own) {
            found.push(Mention { node, form });
            continue;
        }
        // A string may hold code between its words.
        let mut inner = tree::children(node);
        inner.reverse();
        stack.extend(inner);
    }
    found
}

fn form(node: Node<'_>, text: Text<'_>, own: &BTreeSet<String>) -> Option<Form> {
    if tree::is_number(node) {
        // With the suffix of a type, such as `u16` or `L`.
        let suffix = text.of(node).strip_prefix(CODE)?.trim_start_matches('_');
        let is_code = !suffix.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
        return is_code.then_some(Form::Number);
    }
    if tree::is_string(node) {
        let said = text.said(node).trim();
        let line = said.strip_prefix("HTTP/").and_then(|rest| rest.split_once(' ')).map_or(said, |(_, rest)| rest);
        let names_it =
            line.strip_prefix(CODE).is_some_and(|rest| rest.starts_with([' ', '"', '\'']) || rest.is_empty());
        return names_it.then_some(Form::StatusLine);
    }
    let name = text.of(node).trim_start_matches(':').trim_end_matches(':');
    (tree::is_name(node) && (is_symbolic(name) || own.contains(name))).then_some(Form::Name)
}

/// The names that libraries give the status, and the classes that are it.
fn is_symbolic(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let Some((before, after)) = letters.split_once("TOOMANYREQUESTS") else {
        // Falcon's constants have the number alone.
        return letters == "HTTP429";
    };
    let before = ["HTTP", "STATUS", "SC", "CODE", "ERROR", CODE]
        .iter()
        .fold(before.to_owned(), |before, word| before.replace(word, ""));
    before.is_empty() && matches!(after, "" | CODE | "HTTPEXCEPTION")
}
