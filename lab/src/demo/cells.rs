//! What the fleets are run against.

use crate::dialects::Dialect;
use crate::servers::Spec;

/// One server in one dialect.
#[derive(Clone, Debug)]
pub struct Cell {
    /// A few words for tables.
    pub title: &'static str,
    /// What the server does and says, in a sentence.
    pub story: &'static str,
    /// The server model.
    pub spec: Spec,
    /// How it speaks.
    pub dialect: Dialect,
}

/// The cells of the demo. All servers serve about the same number of calls per
/// second.
///
/// # Panics
///
/// Never: the descriptions are constant, and a test reads them.
#[must_use]
pub fn cells() -> Vec<Cell> {
    let window = "fixed:limit=50,window=2";
    let cell = |title, server: &str, dialect, story| Cell {
        title,
        story,
        spec: server.parse().expect("a constant description is valid"),
        dialect,
    };
    vec![
        cell(
            "fixed window, full headers",
            window,
            Dialect::Ietf,
            "50 requests in each window of 2 s. Every answer says how many are left and when the window ends.",
        ),
        cell(
            "fixed window, Retry-After only",
            window,
            Dialect::RetryAfter,
            "The same window, but only refusals speak: they say in whole seconds when to come back.",
        ),
        cell(
            "fixed window, bare 429",
            window,
            Dialect::None,
            "The same window again, and not a word: a refusal is a 429 and nothing else.",
        ),
        cell(
            "token bucket, Retry-After only",
            "token-bucket:rate=25,burst=25",
            Dialect::RetryAfter,
            "25 tokens per second, at most 25 kept. Refusals say when to come back, rounded up to whole seconds: \
             by then 25 tokens wait, not one.",
        ),
        cell(
            "concurrency cap, bare 429",
            "concurrency:cap=10,service=0.2",
            Dialect::None,
            "10 requests in progress at once, each takes 200 ms. There is no time to wait for, only a slot.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_valid_server() {
        assert_eq!(cells().len(), 5);
    }
}
