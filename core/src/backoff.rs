//! Waits for when the server gave none.

use core::time::Duration;

use crate::time::nanos;

/// How the wait grows where the server gave none. All three draw from
/// `[0, base]` or thereabouts at first and never go beyond `cap`
/// (M. Brooker, "Exponential Backoff And Jitter", 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// Uniform in [0, min(cap, base · 2^step)].
    Full {
        /// The first draw's upper end.
        base: Duration,
        /// No draw is longer.
        cap: Duration,
    },
    /// Half of min(cap, base · 2^step), and a uniform draw of the other half.
    Equal {
        /// The first draw's upper end.
        base: Duration,
        /// No draw is longer.
        cap: Duration,
    },
    /// Uniform in [base, 3 · previous], at most cap; the first in [0, base].
    Decorrelated {
        /// The first draw's upper end.
        base: Duration,
        /// No draw is longer.
        cap: Duration,
    },
}

impl Default for Backoff {
    fn default() -> Self {
        Self::Full { base: Duration::from_secs(1), cap: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The names that every language uses.
    pub const KINDS: [&'static str; 3] = ["full", "equal", "decorrelated"];

    /// The strategy of that name.
    #[must_use]
    pub fn from_kind(kind: &str, base: Duration, cap: Duration) -> Option<Self> {
        match kind {
            "full" => Some(Self::Full { base, cap }),
            "equal" => Some(Self::Equal { base, cap }),
            "decorrelated" => Some(Self::Decorrelated { base, cap }),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::Equal { .. } => "equal",
            Self::Decorrelated { .. } => "decorrelated",
        }
    }

    /// The first draw's upper end.
    #[must_use]
    pub fn base(&self) -> Duration {
        match self {
            Self::Full { base, .. } | Self::Equal { base, .. } | Self::Decorrelated { base, .. } => *base,
        }
    }

    /// The longest draw.
    #[must_use]
    pub fn cap(&self) -> Duration {
        match self {
            Self::Full { cap, .. } | Self::Equal { cap, .. } | Self::Decorrelated { cap, .. } => *cap,
        }
    }

    /// The wait after `step` earlier ones (0 = the first), the last of which
    /// was `previous`; `unit` is a uniform number in [0, 1).
    #[must_use]
    pub fn delay(&self, step: u32, previous: Duration, unit: f64) -> Duration {
        let unit = if unit.is_finite() { unit.clamp(0.0, 1.0) } else { 0.0 };
        let (base, cap) = (nanos(self.base()), nanos(self.cap()));
        let ceiling = base.saturating_mul(1u64.checked_shl(step).unwrap_or(u64::MAX)).min(cap);
        let draw = |span: u64| (span as f64 * unit) as u64;
        let delay = match self {
            Self::Full { .. } => draw(ceiling),
            Self::Equal { .. } => ceiling / 2 + draw(ceiling - ceiling / 2),
            Self::Decorrelated { .. } if step == 0 => draw(base),
            Self::Decorrelated { .. } => {
                let low = base.min(cap);
                let high = nanos(previous).saturating_mul(3).clamp(low, cap.max(low));
                low + draw(high - low)
            }
        };
        Duration::from_nanos(delay.min(cap))
    }
}
