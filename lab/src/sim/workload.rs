//! When calls begin.

use core::fmt;
use core::str::FromStr;

use crate::random::{exponential, stream};
use crate::servers::{Nanos, SECOND};

/// A pattern of calls, as the command line names it.
///
/// ```
/// use rampmeter_lab::sim::Workload;
///
/// let workload: Workload = "poisson:load=0.8,minutes=30".parse()?;
/// assert_eq!(workload.to_string(), "poisson:load=0.8,minutes=30");
/// # Ok::<(), rampmeter_lab::sim::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// `batch:N`: all at once.
    Batch {
        /// How many.
        calls: u64,
    },
    /// `poisson:load,minutes`: at random, independently of each other.
    Poisson {
        /// Calls begun, as a share of what the server can serve.
        load: f64,
        /// For how long.
        minutes: f64,
    },
    /// `bursts:load,minutes,size`: the same, but several at once.
    Bursts {
        /// Calls begun, as a share of what the server can serve.
        load: f64,
        /// For how long.
        minutes: f64,
        /// Calls at once.
        size: u64,
    },
}

impl Workload {
    /// When each call begins, in order. `rate` is how many per second the
    /// server can serve.
    #[must_use]
    pub fn arrivals(&self, rate: f64, seed: u64) -> Vec<Nanos> {
        match *self {
            Self::Batch { calls } => vec![0; calls as usize],
            Self::Poisson { load, minutes } => process(load * rate, minutes, 1, seed),
            Self::Bursts { load, minutes, size } => process(load * rate, minutes, size, seed),
        }
    }

    /// How many calls, if that is given.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        match self {
            Self::Batch { calls } => Some(*calls),
            Self::Poisson { .. } | Self::Bursts { .. } => None,
        }
    }
}

fn process(rate: f64, minutes: f64, size: u64, seed: u64) -> Vec<Nanos> {
    let mut rng = stream(seed, "arrivals", 0);
    let end = (minutes * 60.0 * SECOND as f64) as Nanos;
    let mean = size as f64 * SECOND as f64 / rate;
    let mut arrivals = Vec::new();
    let mut now = exponential(&mut rng, mean);
    while now < end {
        arrivals.extend(std::iter::repeat_n(now, size as usize));
        now += exponential(&mut rng, mean).max(1);
    }
    arrivals
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch { calls } => write!(f, "batch:{calls}"),
            Self::Poisson { load, minutes } => write!(f, "poisson:load={load},minutes={minutes}"),
            Self::Bursts { load, minutes, size } => write!(f, "bursts:load={load},minutes={minutes},size={size}"),
        }
    }
}

/// What is wrong with a workload's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "workload {0:?} cannot be read: expected batch:N, poisson:load=SHARE,minutes=M or \
     bursts:load=SHARE,minutes=M,size=N with N from 1 to 10⁶, a share of the server's capacity from 0.001 to 1000 and \
     at most 10⁵ minutes"
)]
pub struct WorkloadError(String);

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        read(text).ok_or_else(|| WorkloadError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Workload> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let count = |text: &str| text.parse().ok().filter(|count| (1..=1_000_000u64).contains(count));
    if name == "batch" {
        return Some(Workload::Batch { calls: count(rest)? });
    }
    let (mut load, mut minutes, mut size) = (0.8, 30.0, 20);
    for item in rest.split(',').filter(|item| !item.is_empty()) {
        match item.split_once('=')? {
            ("load", value) => load = value.parse().ok()?,
            ("minutes", value) => minutes = value.parse().ok()?,
            ("size", value) if name == "bursts" => size = count(value)?,
            _ => return None,
        }
    }
    if !(0.001..=1000.0).contains(&load) || !(0.0..=100_000.0).contains(&minutes) {
        return None;
    }
    match name {
        "poisson" => Some(Workload::Poisson { load, minutes }),
        "bursts" => Some(Workload::Bursts { load, minutes, size }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_the_way_through_its_text() {
        for text in ["batch:1000", "poisson:load=0.8,minutes=30", "bursts:load=1.2,minutes=5,size=20"] {
            assert_eq!(text.parse::<Workload>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_wrong_description_is_an_error() {
        for text in ["batch", "batch:0", "batch:x", "poisson:load=nan", "poisson:size=3", "bursts:size=0", "storm:1"] {
            assert!(text.parse::<Workload>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_poisson_process_begins_its_share_of_what_the_server_serves() {
        let workload = Workload::Poisson { load: 0.5, minutes: 100.0 };
        let arrivals = workload.arrivals(2.0, 7);
        // 6,000 are expected; 400 is five deviations.
        assert!((5600..6400).contains(&arrivals.len()), "{}", arrivals.len());
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn bursts_come_together() {
        let arrivals = Workload::Bursts { load: 1.0, minutes: 10.0, size: 20 }.arrivals(10.0, 7);
        assert!(arrivals.chunks(20).all(|burst| burst.iter().all(|at| *at == burst[0])));
    }
}
