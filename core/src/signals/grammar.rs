//! Header names taken apart: the rate-limit stem, the words that say which
//! figure a field carries, and what is left, which is the meter's name.
//!
//! The name may stand anywhere: `X-RateLimit-Limit-Minute` (suffix),
//! `RateLimit-History-Remaining` (infix), `Burst-RateLimit-Reset` (prefix),
//! `X-RateLimit-UserReset` (glued). Words are matched whole, never by prefix:
//! `RateLimit-Reason` is no meter and `X-RateLimit-NearLimit` no limit.

use super::values::{self, Scale};

/// The longest header name that is looked at.
pub(super) const LONGEST_NAME: usize = 64;
/// The longest name of a meter that a header's name can give; what goes
/// beyond is cut.
const LONGEST_METER: usize = 47;

/// A text on the stack, ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Short<const MOST: usize> {
    len: u8,
    bytes: [u8; MOST],
}

/// A header's name in lower case.
pub(super) type Lower = Short<LONGEST_NAME>;
/// A meter's name; empty for the unnamed one.
pub(super) type Name = Short<LONGEST_METER>;

impl<const MOST: usize> Short<MOST> {
    pub(super) const EMPTY: Self = Self { len: 0, bytes: [0; MOST] };

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a word after a hyphen.
    fn push(&mut self, word: &str) {
        if self.len > 0 {
            self.append(b"-");
        }
        self.append(word.as_bytes());
    }

    fn append(&mut self, bytes: &[u8]) {
        let start = usize::from(self.len);
        let room = &mut self.bytes[start..];
        let fits = bytes.len().min(room.len());
        room[..fits].copy_from_slice(&bytes[..fits]);
        self.len += fits as u8;
    }
}

impl<const MOST: usize> Default for Short<MOST> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Lower {
    /// Takes that header name in lower case, with `-` for `_`, and shows it;
    /// `None` if it is too long or not plain ASCII.
    pub(super) fn fill(&mut self, name: &[u8]) -> Option<&str> {
        self.bytes.get_mut(..name.len())?.copy_from_slice(name);
        self.len = name.len() as u8;
        // All places alike, taken or not: that is one sweep without branches.
        let mut plain = true;
        for byte in &mut self.bytes {
            plain &= *byte < 0x7f;
            let upper = byte.is_ascii_uppercase();
            *byte = if *byte == b'_' { b'-' } else { *byte | u8::from(upper) << 5 };
        }
        plain.then(|| self.as_str())
    }
}

impl<const MOST: usize> From<&str> for Short<MOST> {
    fn from(name: &str) -> Self {
        let mut short = Self::EMPTY;
        short.append(name.as_bytes());
        short
    }
}

impl<const MOST: usize> core::fmt::Debug for Short<MOST> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Which figure a field carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Limit,
    Remaining,
    Used,
    /// A share of the limit that is used, from 0 to 1.
    Utilization,
    Reset,
    /// A reset that is a span whatever its size suggests.
    ResetAfter,
    /// A reset that repeats another in the form of a date.
    ResetTime,
    Window,
    Policy,
    Wait,
    /// Nothing but the stem: a limit, or a structured field.
    Bare,
    /// The name of the unnamed meter.
    Label,
    /// Why, or for whom, a refusal was made.
    Reason,
    /// `allowed` or `rejected`.
    Status,
    /// Known to carry no figure.
    Text,
    /// No word tells.
    Unknown,
}

impl What {
    /// Whether its numbers are times.
    fn is_time(self) -> bool {
        matches!(self, Self::Reset | Self::ResetAfter | Self::ResetTime | Self::Window | Self::Wait)
    }
}

/// What a header's name says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed<'a> {
    /// Tells apart the spellings of the stem and the vendors before it, so
    /// that one field of each makes one group.
    pub(super) family: u32,
    /// The meter's name, empty for the unnamed one.
    pub(super) meter: Name,
    pub(super) what: What,
    pub(super) scale: Scale,
    /// The window's seconds, if the name tells a period.
    pub(super) window: Option<u32>,
    pub(super) unit: Option<&'a str>,
    /// The name has no `ratelimit` in it: believed only beside a counter.
    pub(super) weak: bool,
    /// The server says that these fields refuse nobody yet.
    pub(super) informative: bool,
}

/// Takes a lower-case name apart; `None` if it is about something else.
pub(super) fn parse(name: &str) -> Option<Parsed<'static>> {
    if let Some(parsed) = plain(name) {
        return Some(parsed);
    }
    let mut words = [""; 12];
    let mut count = 0;
    for word in name.split(['-', '.']).filter(|word| !word.is_empty()) {
        *words.get_mut(count)? = word;
        count += 1;
    }
    let words = &words[..count];
    let (extension, words) = match words.strip_prefix(&["x"]) {
        Some(words) => (true, words),
        None => (false, words),
    };
    let stem = Stem::find(words)?;
    let mut parsed = Parsed::new(extension, stem.spelling);
    parsed.weak = matches!(stem.spelling, Spelling::Weak(_));

    let (before, after) = (&words[..stem.from], &words[stem.to..]);
    for word in before {
        if *word == "beta" {
            parsed.informative = true;
        } else if is_qualifier(word) {
            parsed.meter.push(word);
        } else {
            parsed.mix(word);
        }
    }
    if !stem.before.is_empty() {
        parsed.meter.push(stem.before);
    }
    parsed.figure(stem.after, after);
    if parsed.informative && parsed.meter.is_empty() {
        parsed.meter.push("beta");
    }
    parsed.unit = unit(parsed.meter.as_str());
    Some(parsed)
}

/// The names that most responses carry, `x-ratelimit-limit` and its like,
/// without the search that others need.
fn plain(name: &str) -> Option<Parsed<'static>> {
    let (extension, rest) = match name.strip_prefix("x-") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let (spelling, word) = match rest.strip_prefix("ratelimit-") {
        Some(word) => (Spelling::Joined, word),
        None => (Spelling::Hyphen, rest.strip_prefix("rate-limit-")?),
    };
    let mut parsed = Parsed::new(extension, spelling);
    parsed.what = whole_field(word)?;
    Some(parsed)
}

/// How the stem is spelled.
#[derive(Clone, Copy)]
enum Spelling {
    Joined,
    Hyphen,
    /// Another word for it.
    Weak(u8),
}

struct Stem<'a> {
    /// The words from `from` up to `to` are the stem.
    from: usize,
    to: usize,
    spelling: Spelling,
    /// What is glued to it on either side.
    before: &'a str,
    after: &'a str,
}

impl<'a> Stem<'a> {
    fn find(words: &[&'a str]) -> Option<Self> {
        for (at, word) in words.iter().enumerate() {
            if let Some((before, after)) = split_stem(word) {
                return Some(Self { from: at, to: at + 1, spelling: Spelling::Joined, before, after });
            }
            if *word == "rate" && matches!(words.get(at + 1), Some(&"limit" | &"limits")) {
                return Some(Self { from: at, to: at + 2, spelling: Spelling::Hyphen, before: "", after: "" });
            }
        }
        words.iter().enumerate().find_map(|(at, word)| {
            let (spelling, before) = match *word {
                "limit" | "limits" => (Spelling::Weak(0), ""),
                "quota" => (Spelling::Weak(1), ""),
                "throttle" | "throttling" => (Spelling::Weak(2), ""),
                "requests" | "calls" => (Spelling::Weak(3), ""),
                glued => (Spelling::Weak(0), glued.strip_suffix("limit")?),
            };
            Some(Self { from: at, to: at + 1, spelling, before, after: "" })
        })
    }
}

/// What stands around `ratelimit` in a word.
fn split_stem(word: &str) -> Option<(&str, &str)> {
    const STEM: &[u8] = b"ratelimit";
    let start = match word.len() {
        0..9 => return None,
        9 => (word.as_bytes() == STEM).then_some(0)?,
        _ => word.as_bytes().windows(STEM.len()).position(|window| window == STEM)?,
    };
    let after = &word[start + STEM.len()..];
    Some((&word[..start], if after == "s" { "" } else { after }))
}

impl Parsed<'_> {
    fn new(extension: bool, spelling: Spelling) -> Self {
        let spelling = match spelling {
            Spelling::Joined => 0,
            Spelling::Hyphen => 1,
            Spelling::Weak(word) => 2 + u32::from(word),
        };
        Self {
            family: 0x811c_9dc5 ^ (spelling << 1 | u32::from(extension)),
            meter: Name::EMPTY,
            what: What::Unknown,
            scale: Scale::Open,
            window: None,
            unit: None,
            weak: false,
            informative: false,
        }
    }

    fn mix(&mut self, word: &str) {
        // FNV-1a: a few short words, told apart.
        for byte in word.bytes().chain([b'-']) {
            self.family = (self.family ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }

    /// Finds the figure among the words after the stem; what remains is the
    /// meter's name.
    fn figure(&mut self, glued: &str, after: &[&str]) {
        if glued.is_empty() && after.is_empty() {
            self.what = What::Bare;
            return;
        }
        let mut words = [("", None); 13];
        let mut count = 0;
        for word in core::iter::once(&glued).chain(after).filter(|word| !word.is_empty()) {
            words[count] = (*word, field(word));
            count += 1;
        }
        let words = &mut words[..count];
        join_pairs(words);

        let rank = |at: usize| words[at].1.map_or(0, |what| strength(words[at].0, what));
        let chosen = (0..count).rev().max_by_key(|at| rank(*at)).filter(|at| words[*at].1.is_some());
        let mut meter = self.meter;
        if let Some(at) = chosen {
            self.what = words[at].1.unwrap_or(What::Unknown);
            let stands_for_time = words.iter().any(|(word, _)| *word == "time");
            if self.what == What::Remaining && stands_for_time {
                self.what = What::Reset;
            }
        }
        let mut only_periods = true;
        for (at, (word, found)) in words.iter().enumerate() {
            if Some(at) == chosen {
                // `userlimit` is the limit of `user`.
                if let Some((name, _)) = glued_field(word) {
                    meter.push(name);
                }
                continue;
            }
            only_periods &= values::period(word).is_some();
            match (*word, self.what) {
                ("", _) | ("per" | "this", _) => {}
                ("ms" | "msec" | "millis" | "milliseconds", what) if what.is_time() => self.scale = Scale::Milliseconds,
                ("seconds" | "secs" | "s", what) if what.is_time() => self.scale = Scale::Seconds,
                ("minutes", what) if what.is_time() => self.scale = Scale::Minutes,
                ("after" | "in", What::Reset) => self.what = What::ResetAfter,
                ("time" | "at" | "utc" | "timestamp" | "epoch" | "unix" | "date" | "until" | "next", what)
                    if what.is_time() => {}
                (word, _) if found.is_some_and(|found| strength(word, found) == ORNAMENT) => {}
                (word, _) => meter.push(word),
            }
        }
        if chosen.is_none() && only_periods && !words.is_empty() {
            self.what = What::Limit;
        }
        self.meter = meter;
        let mut ends = [meter.as_str().rsplit('-').next(), meter.as_str().split('-').next()].into_iter().flatten();
        self.window = ends.find_map(values::period);
    }
}

/// Words of two parts become one: the second is left empty.
fn join_pairs(words: &mut [(&str, Option<What>)]) {
    for at in 1..words.len() {
        let joined = match (words[at - 1].0, words[at].0) {
            ("retry", "after" | "in" | "at") => What::Wait,
            ("burst", "capacity") => What::Limit,
            ("renewal", "period") => What::Window,
            ("near", "limit") => What::Text,
            ("requested", "tokens") | ("replenish", "rate") => What::Text,
            _ => continue,
        };
        words[at - 1] = ("", None);
        words[at] = ("", Some(joined));
    }
    // `after` alone is a wait, but not beside a reset.
    if words.iter().all(|(_, found)| found.is_none())
        && let Some(after) = words.iter_mut().find(|(word, _)| *word == "after")
    {
        *after = ("", Some(What::Wait));
    }
}

/// Words such as `limit` and `count` also stand beside a stronger one without
/// meaning of their own (`x-app-limit-24hour-remaining`).
const ORNAMENT: u8 = 3;

/// Which of several words is the figure: the strongest, of equals the first.
fn strength(word: &str, what: What) -> u8 {
    match what {
        What::Text | What::Reason => 1,
        What::Label => 2,
        What::Limit => ORNAMENT,
        What::Used if word == "count" => ORNAMENT,
        _ => 4,
    }
}

fn field(word: &str) -> Option<What> {
    whole_field(word).or_else(|| glued_field(word).map(|(_, what)| what))
}

fn whole_field(word: &str) -> Option<What> {
    Some(match word {
        // The commonest first: they are compared one by one.
        "limit" => What::Limit,
        "remaining" => What::Remaining,
        "reset" => What::Reset,
        "used" => What::Used,
        "limits" | "max" | "maximum" | "quota" | "total" | "capacity" | "ceiling" => What::Limit,
        "remain" | "left" | "available" => What::Remaining,
        "usage" | "observed" | "consumed" | "count" => What::Used,
        "utilization" => What::Utilization,
        "resets" | "next" => What::Reset,
        "resetafter" => What::ResetAfter,
        "resettime" | "resetdate" => What::ResetTime,
        "resetat" => What::Reset,
        "window" | "interval" | "period" | "duration" | "renewalperiod" | "timewindow" => What::Window,
        "policy" => What::Policy,
        "retryafter" | "retryin" => What::Wait,
        "name" | "resource" | "bucket" => What::Label,
        "reason" | "problem" | "scope" | "type" | "global" => What::Reason,
        "status" => What::Status,
        "nearlimit" | "category" | "key" | "source" | "whitelisted" | "active" | "increment" | "cost" | "info" => {
            What::Text
        }
        _ => return None,
    })
}

/// A figure glued to the meter's name: `userlimit`, `clientremaining`.
fn glued_field(word: &str) -> Option<(&str, What)> {
    if whole_field(word).is_some() {
        return None;
    }
    [("limit", What::Limit), ("remaining", What::Remaining), ("reset", What::Reset), ("used", What::Used)]
        .into_iter()
        .find_map(|(suffix, what)| Some((word.strip_suffix(suffix)?, what)))
        .filter(|(name, _)| name.len() >= 2)
}

/// Words before the stem that tell one meter from another; others are the
/// vendor's name, which tells nothing.
fn is_qualifier(word: &str) -> bool {
    const WORDS: [&str; 30] = [
        "account",
        "app",
        "application",
        "burst",
        "client",
        "concurrent",
        "endpoint",
        "free",
        "global",
        "input",
        "ip",
        "key",
        "method",
        "org",
        "organization",
        "output",
        "premium",
        "project",
        "read",
        "requests",
        "route",
        "search",
        "service",
        "sustained",
        "team",
        "tenant",
        "token",
        "tokens",
        "user",
        "write",
    ];
    WORDS.contains(&word) || values::period(word).is_some()
}

/// What a meter of that name counts, where the name says so.
pub(super) fn unit(meter: &str) -> Option<&'static str> {
    let mut words = meter.rsplit(['-', '_', ' ']);
    words.find_map(|word| {
        Some(match word {
            "requests" => "requests",
            "tokens" => "tokens",
            "complexity" | "points" => "points",
            "concurrent" | "concurrency" => "concurrent-requests",
            "weight" => "weight",
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> (String, What, Option<u32>) {
        let mut lower = Lower::EMPTY;
        let parsed = parse(lower.fill(name.as_bytes()).unwrap()).unwrap();
        (parsed.meter.as_str().to_owned(), parsed.what, parsed.window)
    }

    #[test]
    fn the_meter_is_what_is_left_wherever_it_stands() {
        for (name, meter, what, window) in [
            ("X-RateLimit-Limit", "", What::Limit, None),
            ("rateLimit-reset", "", What::Reset, None),
            ("Rate-Limit-Total", "", What::Limit, None),
            ("X-Rate-Limit", "", What::Bare, None),
            ("X-Discogs-Ratelimit", "", What::Bare, None),
            ("X-Discogs-Ratelimit-Used", "", What::Used, None),
            ("RateLimit-History-Remaining", "history", What::Remaining, None),
            ("X-RateLimit-Limit-Minute", "minute", What::Limit, Some(60)),
            ("X-RateLimit-Remaining-30", "30", What::Remaining, Some(30)),
            ("Burst-RateLimit-Reset", "burst", What::Reset, None),
            ("X-RateLimit-UserReset", "user", What::Reset, None),
            ("X-RateLimit-UserPathLimit", "userpath", What::Limit, None),
            ("X-ReadRateLimit-Limit", "read", What::Limit, None),
            ("x-ratelimit-limit-project-tokens", "project-tokens", What::Limit, None),
            ("anthropic-ratelimit-input-tokens-remaining", "input-tokens", What::Remaining, None),
            ("anthropic-ratelimit-unified-5h-utilization", "unified-5h", What::Utilization, Some(18_000)),
            ("x-app-limit-24hour-limit", "app-24hour", What::Limit, Some(86_400)),
            ("x-rate-limit-api-token-interval-ms", "api-token", What::Window, None),
            ("X-HubSpot-RateLimit-Daily", "daily", What::Limit, Some(86_400)),
            ("X-HubSpot-RateLimit-Daily-Remaining", "daily", What::Remaining, Some(86_400)),
            ("X-Rate-Limit-Time-Reset-Ms", "", What::Reset, None),
            ("X-RateLimit-Reset-After", "", What::ResetAfter, None),
            ("X-Rate-Limit-Retry-After-Seconds", "", What::Wait, None),
            ("X-RateLimit-RetryAfter", "", What::Wait, None),
            ("x-ratelimit-after", "", What::Wait, None),
            ("RateLimit-Reason", "", What::Reason, None),
            ("X-RateLimit-NearLimit", "", What::Text, None),
            ("X-RateLimit-Burst-Capacity", "", What::Limit, None),
            ("x-ms-ratelimit-remaining-subscription-reads", "subscription-reads", What::Remaining, None),
            ("x-ratelimit-renewalperiod-tokens", "tokens", What::Window, None),
            ("x-acme-ratelimit-remaining", "", What::Remaining, None),
        ] {
            assert_eq!(read(name), (meter.to_owned(), what, window), "{name}");
        }
    }

    #[test]
    fn other_headers_are_left_alone() {
        for name in ["content-length", "x-request-id", "retry-after", "x-frame-options", "strict-transport-security"] {
            assert!(parse(name).is_none(), "{name}");
        }
    }
}
