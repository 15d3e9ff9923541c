//! What happened, for those who listen.

use crate::decision::Reason;
use crate::time::Instant;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What kind of thing happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// All kinds, with the names that every language uses.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($name, Self::$variant),)*];

            /// The name that every language uses.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A response was recognised as a refusal.
    Refused = "refused",
    /// A hold begins or is extended.
    Held = "held",
    /// A call is about to wait.
    Waiting = "waiting",
    /// A gate opened.
    Released = "released",
    /// A call ends with an error of ours.
    Raised = "raised",
    /// A meter's reading changed.
    Meter = "meter",
    /// A signal was set aside as unusable.
    Ignored = "ignored",
    /// A non-idempotent request is sent again.
    Replayed = "replayed",
}

/// One event. It carries no value that may hold a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// When, on the monotonic clock.
    pub at: Instant,
    /// The scope, as it may be shown.
    pub scope: String,
    /// The request's method, if a call is concerned.
    pub method: Option<String>,
    /// The request's route, if a call is concerned.
    pub route: Option<String>,
    /// The meter, if one is concerned.
    pub meter: Option<String>,
    /// The wait, hold or time to a reset, in seconds.
    pub seconds: Option<f64>,
    /// Why.
    pub reason: Option<Reason>,
    /// How often the call was sent, if one is concerned.
    pub attempt: Option<u32>,
    /// The status, for `refused`.
    pub status: Option<u16>,
    /// How many calls wait in the scope.
    pub waiting: usize,
    /// For `refused`: the rate-limit headers it was read from.
    pub headers: Vec<(String, String)>,
    /// More in words: for `ignored`, the field and why.
    pub detail: Option<String>,
}

/// A line for the log: said even if nobody listens to events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// True for what an unconfigured program must show.
    pub warning: bool,
    /// The sentence.
    pub message: String,
}
