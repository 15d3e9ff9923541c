//! The way to the server and back, and the client's timers.

use core::fmt;
use core::str::FromStr;

use crate::random::normal;
use crate::servers::{Nanos, SECOND};

const MILLISECOND: Nanos = SECOND / 1000;
/// The 99th percentile of the normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

/// How long a round trip takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rtt {
    /// Always the same; on the command line a number of seconds.
    Constant(Nanos),
    /// `log-normal:median,p99`: outcomes overtake each other.
    LogNormal {
        /// Half are faster.
        median: Nanos,
        /// One in a hundred is slower.
        p99: Nanos,
    },
}

impl Rtt {
    pub(super) fn draw(self, rng: &mut fastrand::Rng) -> Nanos {
        match self {
            Self::Constant(rtt) => rtt,
            Self::LogNormal { median, p99 } => {
                let deviation = libm::log(p99 as f64 / median as f64) / Z99;
                (median as f64 * libm::exp(deviation * normal(rng))) as Nanos
            }
        }
    }

    /// The one that half of them do not exceed.
    #[must_use]
    pub fn median(self) -> Nanos {
        match self {
            Self::Constant(rtt) | Self::LogNormal { median: rtt, .. } => rtt,
        }
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |span: Nanos| span as f64 / SECOND as f64;
        match *self {
            Self::Constant(rtt) => write!(f, "{}", seconds(rtt)),
            Self::LogNormal { median, p99 } => write!(f, "log-normal:median={},p99={}", seconds(median), seconds(p99)),
        }
    }
}

/// What is wrong with a round trip's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("round trip {0:?} cannot be read: expected seconds, or log-normal:median=SECONDS,p99=SECONDS, up to 10⁴ s")]
pub struct RttError(String);

impl FromStr for Rtt {
    type Err = RttError;

    fn from_str(text: &str) -> Result<Self, RttError> {
        let seconds = |text: &str| {
            let seconds: f64 = text.parse().ok()?;
            (0.0..=1e4).contains(&seconds).then(|| (seconds * SECOND as f64).round() as Nanos)
        };
        let log_normal = |text: &str| {
            let (median, p99) = text.strip_prefix("log-normal:")?.split_once(',')?;
            let median = seconds(median.strip_prefix("median=")?).filter(|median| *median > 0)?;
            let p99 = seconds(p99.strip_prefix("p99=")?).filter(|p99| *p99 >= median)?;
            Some(Self::LogNormal { median, p99 })
        };
        seconds(text).map(Self::Constant).or_else(|| log_normal(text)).ok_or_else(|| RttError(text.to_owned()))
    }
}

/// How well the client's timers keep time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Timers {
    /// To the nanosecond.
    #[default]
    Exact,
    /// One in ten fires 10 ms early, the others up to 15 ms late.
    Coarse,
}

impl Timers {
    /// How long a sleep of `wait` really takes.
    pub(super) fn sleep(self, wait: Nanos, rng: &mut fastrand::Rng) -> Nanos {
        match self {
            Self::Exact => wait,
            // A timer that fires too early still takes some time.
            Self::Coarse if rng.u8(..10) == 0 => wait.saturating_sub(10 * MILLISECOND).max(MILLISECOND),
            Self::Coarse => wait.saturating_add(rng.u64(0..15 * MILLISECOND)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_the_way_through_its_text() {
        for text in ["0.1", "2", "log-normal:median=0.1,p99=3"] {
            assert_eq!(text.parse::<Rtt>().expect(text).to_string(), text);
        }
        for text in ["-1", "nan", "log-normal:median=0,p99=1", "log-normal:median=2,p99=1", "fast"] {
            assert!(text.parse::<Rtt>().is_err(), "{text}");
        }
    }

    #[test]
    fn one_log_normal_draw_in_a_hundred_is_slower_than_its_p99() {
        let rtt: Rtt = "log-normal:median=0.1,p99=3".parse().expect("a round trip");
        let mut rng = fastrand::Rng::with_seed(3);
        let draws: Vec<_> = (0..100_000).map(|_| rtt.draw(&mut rng)).collect();
        let slower = |than: Nanos| draws.iter().filter(|draw| **draw > than).count();
        assert!((900..1100).contains(&slower(3 * SECOND)), "{}", slower(3 * SECOND));
        assert!((49_000..51_000).contains(&slower(SECOND / 10)), "{}", slower(SECOND / 10));
    }
}
