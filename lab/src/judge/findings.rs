//! What can be wrong with a client, why it harms, and what to do instead.

use serde::Serialize;

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A call came back sooner than its refusal had asked.
    EarlyRetry,
    /// The same, at once, where the wait was stated as a date.
    DateUnread,
    /// Calls came back at once where no wait was stated.
    InstantRetry,
    /// Other calls were sent while the server had asked to wait.
    SendInHold,
    /// More came at once after a release than there was room for.
    Herd,
    /// Too many were refused after the first refusal had been read.
    RefusedAgain,
    /// One call was sent too often.
    TooManySends,
    /// Calls were still sent again when the program was stopped: whatever bounds
    /// its retries had not tripped.
    BudgetUntripped,
    /// The program did not end, without sending anything.
    Hangs,
    /// The program was stopped before all of its calls were served.
    Unfinished,
    /// Calls were given up that the server would have served.
    CallsLost,
    /// It took much longer than need be.
    Slow,
    /// The program itself ended with an error.
    Failed,
}

/// Whether a finding fails its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It does.
    Failure,
    /// It is only told.
    Remark,
}

/// Something that was seen in one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// Whether it fails the scenario.
    pub severity: Severity,
    /// What was seen, with numbers.
    pub seen: String,
}

impl Kind {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EarlyRetry => "early-retry",
            Self::DateUnread => "date-unread",
            Self::InstantRetry => "instant-retry",
            Self::SendInHold => "send-in-hold",
            Self::Herd => "herd",
            Self::RefusedAgain => "refused-again",
            Self::TooManySends => "too-many-sends",
            Self::BudgetUntripped => "budget-untripped",
            Self::Hangs => "hangs",
            Self::Unfinished => "unfinished",
            Self::CallsLost => "calls-lost",
            Self::Slow => "slow",
            Self::Failed => "program-failed",
        }
    }

    /// Why it harms.
    #[must_use]
    pub fn harm(self) -> &'static str {
        match self {
            Self::EarlyRetry => {
                "the send is refused again and uses up one of the call's attempts; servers that count refused requests \
                 lengthen the wait or block the account"
            }
            Self::DateUnread => {
                "a date that is not read counts as no wait at all: the client hammers exactly the servers that say \
                 when to come back"
            }
            Self::InstantRetry => {
                "nothing has changed at the server since: the attempts are used up within milliseconds, and an \
                 overloaded server gets more load instead of less"
            }
            Self::SendInHold => {
                "the server has said no, and says no to each of them: the refusal was taken as one call's matter, \
                 although the limit is that of the whole client"
            }
            Self::Herd => {
                "calls that slept for the same time wake at the same moment: what does not fit is refused and sleeps \
                 again, with one attempt less, and the server meets a spike at every release"
            }
            Self::RefusedAgain => {
                "each one is a request that did nothing but cost an attempt, on a server that had said no before"
            }
            Self::TooManySends => {
                "in an outage every client multiplies its load by that much; nested retries multiply each other, \
                 3 × 3 sends are 9"
            }
            Self::BudgetUntripped => {
                "whoever called does not learn that it failed, and a server that can serve nobody is asked on and on"
            }
            Self::Hangs => "whoever called does not learn that the answer will take so long, nor why nothing happens",
            Self::Unfinished => "a server that lets this much through should have been enough",
            Self::CallsLost => "the work is not done, although waiting a little longer would have been enough",
            Self::Slow => "quota that the server offered went unused",
            Self::Failed => "perhaps it gave up, perhaps it broke on an answer that it did not expect",
        }
    }

    /// What a client should do instead.
    #[must_use]
    pub fn instead(self) -> &'static str {
        match self {
            Self::EarlyRetry => {
                "wait in full what Retry-After says, jitter only added; if that is too long, give up instead of \
                 coming sooner"
            }
            Self::DateUnread => {
                "read both forms of Retry-After (RFC 9110 section 10.2.3), the date against the response's own Date"
            }
            Self::InstantRetry => {
                "back off exponentially with jitter where no wait is stated or it is 0, from a second or so on"
            }
            Self::SendInHold => "let one refusal hold every call to that server, those in the queue included",
            Self::Herd => {
                "release one call as a probe and then as many as the server has room for; add jitter to every wait"
            }
            Self::RefusedAgain => {
                "share one gate between all calls, count what is left, and release no more than the server admits"
            }
            Self::TooManySends => "retry in one layer only, two or three times; switch the retries of the others off",
            Self::BudgetUntripped => "bound the attempts and the total time of each call, then hand the failure on",
            Self::Hangs => {
                "bound the wait that a call may be asked for, and beyond it raise at once, with the server's wait in \
                 the error"
            }
            Self::Unfinished => {
                "wait as the server says and use its room when it comes; if the program makes more calls than \
                 RAMPMETER_CALLS, give it more time with --timeout"
            }
            Self::CallsLost => {
                "give a call enough attempts, and count none for waiting its turn while another call's refusal holds"
            }
            Self::Slow => "come back when the stated wait is over, and send as much as the server says is left",
            Self::Failed => "see what it printed",
        }
    }
}

impl Finding {
    /// One that fails the scenario.
    #[must_use]
    pub fn failure(kind: Kind, seen: String) -> Self {
        Self { kind, severity: Severity::Failure, seen }
    }

    /// One that is only told.
    #[must_use]
    pub fn remark(kind: Kind, seen: String) -> Self {
        Self { kind, severity: Severity::Remark, seen }
    }
}
