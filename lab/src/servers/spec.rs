//! Servers by name: `fixed:limit=50,window=2`.

use core::fmt;
use core::str::FromStr;

use super::{
    Anchored, Concurrency, Fixed, LeakyQueue, Nanos, Policies, Policy, Rate, SECOND, Server, Shared, SlidingCounter,
    SlidingLog, TokenBucket,
};

/// A server and its parameters, as the command line names them.
///
/// ```
/// use rampmeter_lab::servers::Spec;
///
/// let spec: Spec = "fixed:limit=50,window=2,phase=0.5".parse()?;
/// let mut server = spec.build();
/// assert!(server.admit(0).accepted);
/// # Ok::<(), rampmeter_lab::servers::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// `fixed:limit,window,phase`: see [`Fixed`].
    Fixed {
        /// Requests in one window.
        limit: u64,
        /// The window's length.
        window: Nanos,
        /// From the start to the first boundary; one window unless given.
        phase: Nanos,
    },
    /// `anchored:limit,window`: see [`Anchored`].
    Anchored {
        /// Requests in one window.
        limit: u64,
        /// The window's length.
        window: Nanos,
    },
    /// `sliding-log:limit,window` and `sliding-log-counting:limit,window`: see
    /// [`SlidingLog`].
    SlidingLog {
        /// Requests in any window.
        limit: u64,
        /// The window's length.
        window: Nanos,
        /// Whether refused requests count too.
        counts_refused: bool,
    },
    /// `sliding-counter:limit,window`: see [`SlidingCounter`].
    SlidingCounter {
        /// Requests in one window.
        limit: u64,
        /// The window's length.
        window: Nanos,
    },
    /// `token-bucket:rate,burst`: see [`TokenBucket`].
    TokenBucket {
        /// Tokens per second.
        rate: Rate,
        /// The most at once.
        burst: u64,
    },
    /// `leaky-queue:rate,depth`: see [`LeakyQueue`].
    LeakyQueue {
        /// Answers per second.
        rate: Rate,
        /// Places to wait in.
        depth: u64,
    },
    /// `concurrency:cap,service`: see [`Concurrency`].
    Concurrency {
        /// Requests in progress at once.
        cap: u64,
        /// The time that one takes.
        service: Nanos,
    },
    /// `policies:[name=]limit/window,…`: see [`Policies`].
    Policies(Vec<Policy>),
    /// `shared:SERVER,stolen`: see [`Shared`].
    Shared {
        /// The server.
        server: Box<Self>,
        /// The share of its capacity that others ask for, in thousandths.
        stolen: u32,
    },
}

impl Spec {
    /// A fresh server.
    #[must_use]
    pub fn build(&self) -> Box<dyn Server> {
        self.build_seeded(0)
    }

    /// A fresh server; what is random about it is drawn from `seed`.
    #[must_use]
    pub fn build_seeded(&self, seed: u64) -> Box<dyn Server> {
        match *self {
            Self::Fixed { limit, window, phase } => Box::new(Fixed::new(limit, window, phase)),
            Self::Anchored { limit, window } => Box::new(Anchored::new(limit, window)),
            Self::SlidingLog { limit, window, counts_refused } => {
                Box::new(SlidingLog::new(limit, window, counts_refused))
            }
            Self::SlidingCounter { limit, window } => Box::new(SlidingCounter::new(limit, window)),
            Self::TokenBucket { rate, burst } => Box::new(TokenBucket::new(rate, burst)),
            Self::LeakyQueue { rate, depth } => Box::new(LeakyQueue::new(rate, depth)),
            Self::Concurrency { cap, service } => Box::new(Concurrency::new(cap, service)),
            Self::Policies(ref policies) => Box::new(Policies::new(policies)),
            Self::Shared { ref server, stolen } => {
                let gap = SECOND as f64 / (server.rate() * f64::from(stolen) / 1000.0);
                Box::new(Shared::new(server.build_seeded(seed), gap, seed))
            }
        }
    }

    /// Requests per second that it serves in the long run, to this client and
    /// to others.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let per = |count: u64, span: Nanos| count as f64 * SECOND as f64 / span.max(1) as f64;
        match self {
            Self::Fixed { limit, window, .. }
            | Self::Anchored { limit, window }
            | Self::SlidingLog { limit, window, .. }
            | Self::SlidingCounter { limit, window } => per(*limit, *window),
            Self::TokenBucket { rate, .. } | Self::LeakyQueue { rate, .. } => rate.thousandths() as f64 / 1000.0,
            Self::Concurrency { cap, service } => per(*cap, *service),
            Self::Policies(policies) => {
                policies.iter().map(|policy| per(policy.limit, policy.window)).fold(f64::INFINITY, f64::min)
            }
            Self::Shared { server, .. } => server.rate(),
        }
    }

    /// What is left of it for this client, as a server of its own: of a shared
    /// one, what the others do not ask for.
    #[must_use]
    pub fn left(&self) -> Self {
        let Self::Shared { server, stolen } = self else { return self.clone() };
        let left = u64::from(1000 - stolen.min(&1000));
        let mut server = server.left();
        let scale = |count: &mut u64| *count = (*count * left / 1000).max(1);
        match &mut server {
            Self::Fixed { limit, .. }
            | Self::Anchored { limit, .. }
            | Self::SlidingLog { limit, .. }
            | Self::SlidingCounter { limit, .. } => scale(limit),
            Self::TokenBucket { rate, .. } | Self::LeakyQueue { rate, .. } => {
                *rate = Rate::from_thousandths(rate.thousandths() * left / 1000).unwrap_or(*rate);
            }
            Self::Concurrency { cap, .. } => scale(cap),
            Self::Policies(policies) => policies.iter_mut().for_each(|policy| scale(&mut policy.limit)),
            Self::Shared { .. } => {}
        }
        server
    }
}

/// What is wrong with a server's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No server has this name.
    #[error(
        "unknown server {0:?}: expected fixed, anchored, sliding-log, sliding-log-counting, sliding-counter, \
         token-bucket, leaky-queue, concurrency, policies or shared"
    )]
    UnknownServer(String),
    /// The server has no such parameter.
    #[error("server {server} has no parameter {parameter:?}: it takes {takes}")]
    UnknownParameter {
        /// The server.
        server: &'static str,
        /// The parameter.
        parameter: String,
        /// What it takes instead.
        takes: &'static str,
    },
    /// A parameter without which there is no server.
    #[error("server {server} needs the parameter {parameter}")]
    Missing {
        /// The server.
        server: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A value that cannot be.
    #[error("{parameter} of server {server} must be {must}, not {value:?}")]
    Value {
        /// The server.
        server: &'static str,
        /// The parameter.
        parameter: String,
        /// What it must be.
        must: &'static str,
        /// What was given.
        value: String,
    },
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "fixed" => {
                let read = Parameters::read("fixed", "limit, window, phase", rest)?;
                let window = read.window()?;
                let phase = if read.has("phase") { read.seconds("phase", 0)? } else { window };
                Ok(Self::Fixed { limit: read.count("limit", 1)?, window, phase })
            }
            "anchored" => {
                let read = Parameters::read("anchored", "limit, window", rest)?;
                Ok(Self::Anchored { limit: read.count("limit", 1)?, window: read.window()? })
            }
            "sliding-log" | "sliding-log-counting" => {
                let counts_refused = name == "sliding-log-counting";
                let server = if counts_refused { "sliding-log-counting" } else { "sliding-log" };
                let read = Parameters::read(server, "limit, window", rest)?;
                Ok(Self::SlidingLog { limit: read.count("limit", 1)?, window: read.window()?, counts_refused })
            }
            "sliding-counter" => {
                let read = Parameters::read("sliding-counter", "limit, window", rest)?;
                Ok(Self::SlidingCounter { limit: read.count("limit", 1)?, window: read.window()? })
            }
            "token-bucket" => {
                let read = Parameters::read("token-bucket", "rate, burst", rest)?;
                Ok(Self::TokenBucket { rate: read.rate("rate")?, burst: read.count("burst", 1)? })
            }
            "leaky-queue" => {
                let read = Parameters::read("leaky-queue", "rate, depth", rest)?;
                Ok(Self::LeakyQueue { rate: read.rate("rate")?, depth: read.count("depth", 0)? })
            }
            "concurrency" => {
                let read = Parameters::read("concurrency", "cap, service", rest)?;
                Ok(Self::Concurrency { cap: read.count("cap", 1)?, service: read.seconds("service", 0)? })
            }
            "policies" => policies(rest).map(Self::Policies),
            "shared" => shared(rest),
            _ => Err(SpecError::UnknownServer(name.to_owned())),
        }
    }
}

/// `fixed:limit=100,window=60,stolen=0.3`; a server without a name is `fixed`.
fn shared(text: &str) -> Result<Spec, SpecError> {
    const SERVER: &str = "shared";
    let (stolen, others): (Vec<_>, Vec<_>) = text.split(',').partition(|item| item.starts_with("stolen="));
    let read = Parameters::read(SERVER, "stolen", stolen.first().unwrap_or(&""))?;
    let stolen = read.parse("stolen", "a share from 0.001 to 0.999", |text| {
        let thousandths = seconds(text)? / (SECOND / 1000);
        u32::try_from(thousandths).ok().filter(|stolen| (1..1000).contains(stolen))
    })?;
    let server = others.join(",");
    let server = if server.contains(':') { server.parse()? } else { format!("fixed:{server}").parse()? };
    Ok(Spec::Shared { server: Box::new(server), stolen })
}

/// `20/1,daily=1000/86400`.
fn policies(text: &str) -> Result<Vec<Policy>, SpecError> {
    const SERVER: &str = "policies";
    let wrong = |value: &str| SpecError::Value {
        server: SERVER,
        parameter: "policy".to_owned(),
        must: "[name=]limit/window with both above 0",
        value: value.to_owned(),
    };
    let policy = |item: &str| {
        let (name, numbers) = match item.split_once('=') {
            Some((name, numbers)) => (name.to_owned(), numbers),
            None => (item.replace('/', "-in-"), item),
        };
        let (limit, window) = numbers.split_once('/')?;
        let limit = limit.parse().ok().filter(|limit| *limit > 0)?;
        let window = seconds(window).filter(|window| *window > 0)?;
        let is_plain =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        is_plain(&name).then_some(Policy { name, limit, window })
    };
    text.split(',').map(|item| policy(item).ok_or_else(|| wrong(item))).collect()
}

/// Decimal seconds up to 30 years, to the nanosecond.
fn seconds(text: &str) -> Option<Nanos> {
    let seconds: f64 = text.parse().ok()?;
    (0.0..=1e9).contains(&seconds).then(|| (seconds * SECOND as f64).round() as Nanos)
}

/// The `key=value` pairs of one description.
struct Parameters<'a> {
    server: &'static str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    fn read(server: &'static str, takes: &'static str, text: &'a str) -> Result<Self, SpecError> {
        let mut pairs = Vec::new();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            if !takes.split(", ").any(|known| known == key) {
                return Err(SpecError::UnknownParameter { server, parameter: key.to_owned(), takes });
            }
            pairs.push((key, value));
        }
        Ok(Self { server, pairs })
    }

    fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(known, _)| *known == key)
    }

    fn parse<T>(
        &self,
        key: &'static str,
        must: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, SpecError> {
        let (_, value) = self
            .pairs
            .iter()
            .rev()
            .find(|(known, _)| *known == key)
            .ok_or(SpecError::Missing { server: self.server, parameter: key })?;
        parse(value).ok_or_else(|| SpecError::Value {
            server: self.server,
            parameter: key.to_owned(),
            must,
            value: (*value).to_owned(),
        })
    }

    fn count(&self, key: &'static str, least: u64) -> Result<u64, SpecError> {
        let must = if least == 0 { "a whole number up to 10⁹" } else { "a whole number from 1 to 10⁹" };
        self.parse(key, must, |text| text.parse().ok().filter(|count| (least..=1_000_000_000).contains(count)))
    }

    fn seconds(&self, key: &'static str, least: Nanos) -> Result<Nanos, SpecError> {
        let must = if least == 0 { "seconds from 0 to 10⁹" } else { "seconds above 0, at most 10⁹" };
        self.parse(key, must, |text| seconds(text).filter(|span| *span >= least))
    }

    fn window(&self) -> Result<Nanos, SpecError> {
        self.seconds("window", 1)
    }

    fn rate(&self, key: &'static str) -> Result<Rate, SpecError> {
        self.parse(key, "requests per second, from 0.001 to 10⁶", |text| {
            let thousandths = seconds(text)? / (SECOND / 1000);
            Rate::from_thousandths(thousandths).filter(|rate| rate.thousandths() <= 1_000_000_000)
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |span: Nanos| span as f64 / SECOND as f64;
        let per_second = |rate: Rate| rate.thousandths() as f64 / 1000.0;
        match self {
            Self::Fixed { limit, window, phase } => {
                write!(f, "fixed:limit={limit},window={}", seconds(*window))?;
                if phase != window {
                    write!(f, ",phase={}", seconds(*phase))?;
                }
                Ok(())
            }
            Self::Anchored { limit, window } => write!(f, "anchored:limit={limit},window={}", seconds(*window)),
            Self::SlidingLog { limit, window, counts_refused } => {
                let suffix = if *counts_refused { "-counting" } else { "" };
                write!(f, "sliding-log{suffix}:limit={limit},window={}", seconds(*window))
            }
            Self::SlidingCounter { limit, window } => {
                write!(f, "sliding-counter:limit={limit},window={}", seconds(*window))
            }
            Self::TokenBucket { rate, burst } => write!(f, "token-bucket:rate={},burst={burst}", per_second(*rate)),
            Self::LeakyQueue { rate, depth } => write!(f, "leaky-queue:rate={},depth={depth}", per_second(*rate)),
            Self::Concurrency { cap, service } => write!(f, "concurrency:cap={cap},service={}", seconds(*service)),
            Self::Policies(policies) => {
                write!(f, "policies:")?;
                for (index, policy) in policies.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{}={}/{}", policy.name, policy.limit, seconds(policy.window))?;
                }
                Ok(())
            }
            Self::Shared { server, stolen } => write!(f, "shared:{server},stolen={}", f64::from(*stolen) / 1000.0),
        }
    }
}
