//! The product, and what it is measured against.

mod aimd;
mod cubic;
mod gate;
mod gcra;
mod oracle;
mod per_request;
mod rampmeter;
mod retries;
mod throttle;

use super::cell::Cell;
use super::strategy::Strategy;
use crate::servers::Spec;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A strategy by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// All strategies, with the names that the command line uses.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($name, Self::$variant),)*];

            /// The name that the command line uses.
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
    /// The product: a limiter for each process, with wakes.
    Rampmeter = "rampmeter",
    /// The same under a driver that cannot be woken.
    RampmeterUnwoken = "rampmeter-unwoken",
    /// Knows the server.
    Oracle = "oracle",
    /// Each call sleeps its own `Retry-After`, or a backoff with full jitter,
    /// until it is answered.
    PerRequest = "per-request",
    /// The same with four attempts in all.
    PerRequest4 = "per-request-4",
    /// All calls wait for the end of a hold, and all go at it.
    Gate = "gate",
    /// A client-side GCRA at the server's rate, one at a time.
    Gcra = "gcra",
    /// The same at 1.25 times that rate.
    GcraFast = "gcra-1.25",
    /// The adaptive mode of the AWS SDKs.
    Cubic = "cubic",
    /// Additive increase and multiplicative decrease of what is in flight.
    Aimd = "aimd",
    /// The client-side throttling of Google's SRE book, K = 2.
    Sre = "sre",
    /// One request at a time, and holds are kept.
    OneWorker = "one-worker",
}

impl Kind {
    /// One member for each process; one for all if they act as one.
    pub(super) fn build(self, cell: &Cell, tracing: bool) -> Vec<Box<dyn Strategy>> {
        let keys = cell.servers().count();
        let rates: Vec<f64> = cell.servers().map(Spec::rate).collect();
        if self == Self::Oracle {
            return vec![Box::new(oracle::Oracle::new(cell))];
        }
        let member = |process: u64| -> Box<dyn Strategy> {
            let rng = cell.stream(self.name(), process);
            match self {
                Self::Rampmeter => Box::new(rampmeter::Rampmeter::new(cell, process, true, tracing)),
                Self::RampmeterUnwoken => Box::new(rampmeter::Rampmeter::new(cell, process, false, tracing)),
                Self::Oracle | Self::PerRequest => Box::new(per_request::PerRequest::new(None, rng)),
                Self::PerRequest4 => Box::new(per_request::PerRequest::new(Some(4), rng)),
                Self::Gate => Box::new(gate::Gate::new(keys, None, rng)),
                Self::OneWorker => Box::new(gate::Gate::new(keys, Some(1), rng)),
                Self::Gcra => Box::new(gcra::Gcra::new(&rates, 1.0, rng)),
                Self::GcraFast => Box::new(gcra::Gcra::new(&rates, 1.25, rng)),
                Self::Cubic => Box::new(cubic::Cubic::new(keys, rng)),
                Self::Aimd => Box::new(aimd::Aimd::new(keys)),
                Self::Sre => Box::new(throttle::Throttle::new(keys, rng)),
            }
        };
        (0..cell.processes).map(member).collect()
    }
}

/// Whether the cell's options are options of the product.
pub(super) fn check(cell: &Cell) -> Result<(), ::rampmeter::ConfigError> {
    rampmeter::config(cell, 0).map(|_| ())
}

/// No strategy has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy {0:?}: expected one of {names}", names = names())]
pub struct UnknownStrategy(String);

fn names() -> String {
    Kind::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl core::str::FromStr for Kind {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let known = Self::ALL.iter().find(|(name, _)| *name == text);
        known.map(|(_, kind)| *kind).ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}
