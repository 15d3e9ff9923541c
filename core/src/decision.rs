//! What the core answers.

use core::time::Duration;

use crate::error::Error;

/// The answer to "what now?".
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a decision that is not followed is a call that hangs or a limit that trips"]
pub enum Decision {
    /// Perform the request now, then report its outcome.
    Send {
        /// Why it may go.
        reason: Reason,
    },
    /// Sleep this long (or until woken), then poll again. Always finite and
    /// above zero. It is an upper bound: polling earlier is safe and answers
    /// with the remainder.
    Sleep {
        /// How long.
        wait: Duration,
        /// What is waited for.
        reason: Reason,
    },
    /// Hand this response, or the client's own failure, to the caller.
    Deliver {
        /// Why it is final.
        reason: Reason,
    },
    /// Raise the error inside.
    Raise {
        /// What went wrong, whose fault it is, what to do.
        error: Box<Error>,
    },
}

impl Decision {
    /// The name that every language uses: `send`, `sleep`, `deliver` or
    /// `raise`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Send { .. } => "send",
            Self::Sleep { .. } => "sleep",
            Self::Deliver { .. } => "deliver",
            Self::Raise { .. } => "raise",
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Send { reason } | Self::Sleep { reason, .. } | Self::Deliver { reason } => *reason,
            Self::Raise { error } => error.reason(),
        }
    }

    /// How long to sleep; `None` unless the decision is to sleep.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Sleep { wait, .. } => Some(*wait),
            _ => None,
        }
    }

    /// The error; `None` unless the decision is to raise.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Raise { error } => Some(error),
            _ => None,
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a decision was made.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// All reasons, with the names that every language uses.
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

reasons! {
    /// Nothing stands in the way.
    Ready = "ready",
    /// The limiter, or this call, opted out.
    Disabled = "disabled",
    /// The server asked for a wait: the gate is held.
    Held = "held",
    /// A refusal without a wait: the gate is held by a backoff.
    Backoff = "backoff",
    /// A meter says that nothing is left until its reset.
    Spent = "spent",
    /// The local token bucket has no token yet.
    Pacing = "pacing",
    /// One request tests whether the limit has passed; or is the one that
    /// tests.
    Probing = "probing",
    /// As many requests are in flight as is safe.
    InFlightFull = "in_flight_full",
    /// Others are ahead in the queue.
    Queued = "queued",
    /// A transient failure (500, 502, 503, 504, network) is retried.
    Transient = "transient",
    /// The response is no rate-limit matter, or a success.
    Answered = "answered",
    /// A failure that may not be retried, or whose retries are used up.
    Failed = "failed",
    /// A refusal that may not be sent again: its body was used up.
    NotReplayable = "not_replayable",
    /// A budget, cap, attempt limit or deadline leaves no room.
    Exceeded = "exceeded",
    /// The server refused for good.
    Permanent = "permanent",
    /// The limiter was closed.
    Closed = "closed",
    /// The call was given up.
    Cancelled = "cancelled",
    /// The driver called out of turn.
    Misuse = "misuse",
}
