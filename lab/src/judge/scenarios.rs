//! The servers that a program meets, and what is asked of it there.

use std::time::Duration;

use crate::dialects::Dialect;
use crate::servers::Spec;

/// One server in one dialect, and what a well-behaved client does there.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the command line calls it.
    pub name: &'static str,
    /// What the server does and says, in a sentence.
    pub story: &'static str,
    /// What is asked of the client, in a few words.
    pub asks: &'static str,
    /// The server model.
    pub spec: Spec,
    /// How it speaks.
    pub dialect: Dialect,
    /// How many calls the program is told to make.
    pub calls: u64,
    /// The most requests that the server admits at once after a release.
    pub room: u64,
    /// How it is meant to end.
    pub end: End,
    /// How long the program may take, from its first request on.
    pub patience: Duration,
}

/// How a scenario is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every call succeeds: the server has room for all of them in time.
    Served,
    /// The server asks for more than anyone waits for: the program ends, and
    /// sends no call again.
    TooLong,
    /// The server refuses on and on: every call is given up after at most so
    /// many sends.
    GivenUp(u64),
}

/// All of them, in the order in which they are run.
///
/// # Panics
///
/// Never: the descriptions are constant, and a test reads them.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    let served = |name, server: &str, dialect, calls, room, story, asks| Scenario {
        name,
        story,
        asks,
        spec: server.parse().expect("a constant description is valid"),
        dialect,
        calls,
        room,
        end: End::Served,
        patience: Duration::from_secs(30),
    };
    let window = "anchored:limit=20,window=2";
    // Room for one and then for none, as long as anyone looks.
    let shut = "fixed:limit=1,window=1000000";
    vec![
        served(
            "headers",
            window,
            Dialect::Ietf,
            60,
            20,
            "20 requests in 2 s; every answer has the RateLimit fields of the IETF draft, refusals Retry-After too",
            "send no more than is left, and wait for the reset",
        ),
        served(
            "retry-after",
            window,
            Dialect::RetryAfter,
            60,
            20,
            "20 requests in 2 s; refusals have Retry-After in seconds, nothing else speaks",
            "hold every call until the wait is over, and come back a window's worth at a time",
        ),
        served(
            "date",
            window,
            Dialect::RetryAfterDate,
            60,
            20,
            "20 requests in 2 s; refusals have Retry-After as an HTTP-date",
            "read the date, and wait for it",
        ),
        served(
            "zero",
            "anchored:limit=20,window=0.9",
            Dialect::RetryAfterFloor,
            60,
            20,
            "20 requests in 0.9 s; refusals say Retry-After: 0, as the server rounds down",
            "back off as if the server had said nothing",
        ),
        served(
            "bare",
            window,
            Dialect::None,
            60,
            20,
            "20 requests in 2 s; a refusal is a 429 and nothing else",
            "back off, all calls together",
        ),
        served(
            "bucket",
            "token-bucket:rate=10,burst=10",
            Dialect::RetryAfter,
            40,
            10,
            "10 requests per second, 10 at once; refusals have Retry-After: 1",
            "come back spread out, not all at the same moment",
        ),
        served(
            "concurrency",
            "concurrency:cap=5,service=0.2",
            Dialect::None,
            40,
            5,
            "5 requests in progress at once, each takes 0.2 s; a refusal is a bare 429",
            "send fewer at a time, and the next one when an answer has come",
        ),
        Scenario {
            end: End::TooLong,
            patience: Duration::from_secs(10),
            ..served(
                "hour",
                "anchored:limit=5,window=3600",
                Dialect::RetryAfter,
                10,
                5,
                "5 requests in an hour; refusals have Retry-After: 3600",
                "tell the caller at once, and do not send the call again",
            )
        },
        Scenario {
            end: End::GivenUp(10),
            patience: Duration::from_secs(20),
            ..served(
                "never",
                shut,
                Dialect::RetryAfterOne,
                2,
                1,
                "one request is served, all others are refused with Retry-After: 1, for ever",
                "wait each time, and give up after some times",
            )
        },
        Scenario {
            end: End::GivenUp(6),
            patience: Duration::from_secs(20),
            ..served(
                "outage",
                shut,
                Dialect::Unavailable,
                10,
                1,
                "one request is served, then every answer is 503",
                "back off and give up after a few sends, one layer of retries only",
            )
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_a_valid_server_and_a_name_of_its_own() {
        let mut names: Vec<_> = scenarios().iter().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), scenarios().len());
    }

    #[test]
    fn every_program_is_told_to_make_more_calls_than_there_is_room_for() {
        for scenario in scenarios() {
            assert!(scenario.calls > scenario.room, "{}", scenario.name);
        }
    }
}
