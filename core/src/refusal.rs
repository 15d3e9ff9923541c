//! Refusals: responses that say "not now" or "never".

use core::time::Duration;

/// The longest sentence for people that is passed on, in characters.
const LONGEST_HINT: usize = 300;

/// The status of a response that an adapter makes itself, where the caller
/// prefers one to an error.
pub const LOCAL_REFUSAL_STATUS: u16 = 429;

/// The header that marks such a response; its value is the option or argument
/// that was exceeded.
pub const LOCAL_REFUSAL_HEADER: &str = "rampmeter-local-refusal";

/// What a refusal asks of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A quota is used up and comes back with time.
    Windowed,
    /// The server is full; nobody knows for how long.
    Capacity,
    /// Coming back is pointless: billing, plan, ban.
    Permanent,
    /// Only the status speaks.
    Unknown,
}

impl Class {
    /// All classes, with the names that every language uses.
    pub const ALL: [(&'static str, Self); 4] = [
        ("windowed", Self::Windowed),
        ("capacity", Self::Capacity),
        ("permanent", Self::Permanent),
        ("unknown", Self::Unknown),
    ];

    /// The class of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
    }

    /// The name that every language uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, class)| *class == self).map_or("unknown", |(name, _)| name)
    }
}

/// What a response refuses, as read from its status, headers and body.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// What it asks of the client.
    pub class: Class,
    /// The name of the quota that it says is exceeded (a policy, bucket or
    /// resource), if it names one.
    pub meter: Option<Box<str>>,
    /// The limit that it states, if any, in the quota's unit.
    pub limit: Option<f64>,
    /// A sentence for people that the server sent, if any.
    pub hint: Option<Box<str>>,
    /// The shortest first wait that the server's documentation asks where the
    /// response gives none (GitHub's secondary limit: 60 s).
    pub first_wait: Option<Duration>,
}

impl Refusal {
    /// A refusal of that class that says nothing more.
    #[must_use]
    pub fn new(class: Class) -> Self {
        Self { class, meter: None, limit: None, hint: None, first_wait: None }
    }
}

/// What the caller's own rule (`classify`) says of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The class; `None` means that this response is no refusal.
    pub class: Option<Class>,
    /// The wait that it asks, if any.
    pub wait: Option<Duration>,
}

/// A sentence for people as it is passed on; `None` if nothing is left of it.
/// What it gives it leaves as it is, so that a sentence that is passed on twice
/// is still the same.
pub(crate) fn sentence(text: &str) -> Option<Box<str>> {
    let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let cut: String = plain.trim().chars().take(LONGEST_HINT).collect();
    let cut = cut.trim_end();
    (!cut.is_empty()).then(|| cut.into())
}
