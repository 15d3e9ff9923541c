//! What a place that sends 429 answers beside it, as far as the source around
//! it shows: the statements that run on the way to it.

use tree_sitter::Node;

use super::tree::{self, Text};

/// What stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// `Retry-After` is set.
    pub(super) header: bool,
    /// A member such as `retryAfter` is set.
    pub(super) seconds: bool,
    /// The member `retry`; the value, if it is written there.
    pub(super) retry: Option<Option<bool>>,
    /// Rampmeter's own builder, by its class.
    pub(super) builder: Option<&'static str>,
    /// Words that hint at a class.
    pub(super) capacity: bool,
    pub(super) permanent: bool,
}

impl Evidence {
    /// The class that it answers as, if it does.
    pub(super) fn answers(&self) -> Option<&'static str> {
        if self.builder.is_some() {
            return self.builder;
        }
        match (self.retry.map(|retry| retry.unwrap_or(true)), self.header, self.seconds) {
            (Some(false), false, false) => Some("permanent"),
            (Some(false), ..) => None,
            (_, true, true) => Some("windowed"),
            (Some(true), false, false) => Some("capacity"),
            _ => None,
        }
    }

    /// What is missing, in words.
    pub(super) fn lacks(&self) -> String {
        let what = match (self.retry, self.header, self.seconds) {
            (Some(Some(false)), ..) => "says `retry: false` and when to come back",
            (_, true, false) => "`Retry-After` alone: the body does not say `retryAfter`",
            (_, false, true) => "the body alone: `Retry-After` is not set",
            _ => "nothing that says whether to come back, or when",
        };
        match (self.capacity, self.permanent) {
            (true, false) => format!("{what} (its words speak of capacity)"),
            (false, true) => format!("{what} (its words speak of something permanent)"),
            _ => what.to_owned(),
        }
    }
}

/// Gathers the evidence for one place; `is_rival` tells of other places that
/// send, which have their own.
pub(super) fn around(node: Node<'_>, text: Text<'_>, is_rival: &dyn Fn(Node<'_>) -> bool) -> Evidence {
    let mut evidence = Evidence::default();
    let mut at = node;
    let mut innermost = true;
    while let Some(parent) = at.parent() {
        if tree::is_block(parent) || tree::is_class(parent) {
            if innermost {
                evidence.read(at, text);
            }
            // Around functions there is nothing that runs on the way.
            let is_outermost = parent.parent().is_none();
            for statement in tree::children(parent).into_iter().filter(|_| !is_outermost) {
                // What follows a branch runs where it is not taken.
                let counts = innermost || statement.end_byte() <= at.start_byte();
                if statement != at && counts && runs_on_the_way(statement, text, is_rival) {
                    evidence.read(statement, text);
                }
            }
            innermost = false;
        }
        if tree::is_function(parent) && parent.child_by_field_name("name").is_some() || tree::is_class(parent) {
            break;
        }
        at = parent;
    }
    if innermost {
        evidence.read(at, text);
    }
    evidence
}

/// Statements beside the place, unless they lead elsewhere.
fn runs_on_the_way(statement: Node<'_>, text: Text<'_>, is_rival: &dyn Fn(Node<'_>) -> bool) -> bool {
    if tree::is_class(statement) || tree::is_function(statement) || statement.kind() == "decorated_definition" {
        return false;
    }
    if is_rival(statement) {
        return false;
    }
    // A branch that leaves does not lead here.
    let source = text.of(statement);
    let leaves = ["return", "throw", "raise", "abort", "halt"].iter().any(|word| source.contains(word));
    !(leaves && (tree::is_branching(statement) || statement.kind().contains("expression")))
}

impl Evidence {
    fn read(&mut self, root: Node<'_>, text: Text<'_>) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if tree::is_string(node) {
                self.string(text.said(node), node, text);
            } else if tree::is_name(node) {
                self.name(text.of(node), node, text);
            }
            stack.extend(tree::children(node));
        }
    }

    fn string(&mut self, said: &str, node: Node<'_>, text: Text<'_>) {
        let lower = said.trim().to_ascii_lowercase();
        self.header |= lower == "retry-after" || lower.starts_with("retry-after:");
        self.words(&lower);
        if let Some(name) = is_member(said) {
            self.member(name, node, text);
            return;
        }
        // A body that is written as text.
        self.seconds |= ["\"retryafter\"", "\"retry_after\"", "\"retryafter\\\"", "retryafter\\\""]
            .iter()
            .any(|member| lower.contains(member));
        for (written, value) in [("true", true), ("false", false)] {
            let plain: String = lower.chars().filter(|letter| !letter.is_whitespace() && *letter != '\\').collect();
            if plain.contains(&format!("\"retry\":{written}")) {
                self.retry = Some(Some(value));
            }
        }
    }

    fn name(&mut self, name: &str, node: Node<'_>, text: Text<'_>) {
        let bare = name.trim_matches(':');
        self.header |= matches!(bare, "RETRY_AFTER" | "RetryAfterHeader" | "HeaderRetryAfter" | "RETRY_AFTER_HEADER");
        if let Some(member) = is_member(bare)
            && is_key(node)
        {
            self.member(member, node, text);
        }
        if matches!(bare, "windowed" | "capacity" | "permanent") {
            let path = node.parent().filter(|parent| tree::is_path(*parent) || tree::is_call(*parent));
            if path.is_some_and(|path| text.of(path).contains("Refusal")) {
                self.builder = ["windowed", "capacity", "permanent"].into_iter().find(|class| *class == bare);
            }
        }
        self.words(&bare.to_ascii_lowercase());
    }

    fn member(&mut self, member: Member, node: Node<'_>, text: Text<'_>) {
        match member {
            Member::Seconds => self.seconds = true,
            Member::Retry => {
                let value = node
                    .parent()
                    .and_then(|pair| value_beside(pair, node))
                    .map(|value| text.of(value).to_ascii_lowercase());
                let value = match value.as_deref() {
                    Some("true") => Some(true),
                    Some("false") => Some(false),
                    _ => None,
                };
                self.retry = Some(value);
            }
        }
    }

    fn words(&mut self, lower: &str) {
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        self.capacity |=
            has(&["capacity", "concurren", "overload", "in_flight", "inflight", "in flight", "queue is full"]);
        self.permanent |= has(&["permanent", "billing", "banned", "suspended", "upgrade your plan"]);
    }
}

enum Member {
    Seconds,
    Retry,
}

fn is_member(name: &str) -> Option<Member> {
    match name {
        "retryAfter"
        | "retry_after"
        | "RetryAfter"
        | "retryAfterSeconds"
        | "retry_after_seconds"
        | "retryAfterMs"
        | "retry_after_ms" => Some(Member::Seconds),
        "retry" | "Retry" => Some(Member::Retry),
        _ => None,
    }
}

/// Whether a name is that of a member, and not a variable.
fn is_key(node: Node<'_>) -> bool {
    let Some(mut parent) = node.parent() else { return false };
    let mut child = node;
    if parent.kind() == "literal_element" {
        (child, parent) = (parent, parent.parent().unwrap_or(parent));
    }
    let first = parent.named_child(0) == Some(child);
    match parent.kind() {
        "pair"
        | "keyword_argument"
        | "keyed_element"
        | "field_initializer"
        | "array_element_initializer"
        | "argument" => first,
        "shorthand_field_initializer" | "object" => true,
        _ => node.kind() == "hash_key_symbol" || node.kind() == "shorthand_property_identifier",
    }
}

/// What stands after a key.
fn value_beside<'t>(pair: Node<'t>, key: Node<'t>) -> Option<Node<'t>> {
    let (pair, key) = match pair.kind() {
        "literal_element" => (pair.parent()?, pair),
        _ => (pair, key),
    };
    let mut all = tree::children(pair).into_iter().skip_while(|node| *node != key);
    all.nth(1)
}
