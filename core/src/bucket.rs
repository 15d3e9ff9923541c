//! A local token bucket, for limits known beforehand.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::config::ConfigError;
use crate::time::{Instant, SECOND};

/// A token bucket kept as one instant (GCRA, ITU-T I.371): `rate` tokens per
/// second, at most `burst` at once. It starts full.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenBucket {
    rate: f64,
    burst: f64,
    /// When the bucket is full again; in the past if it is.
    full_at: Instant,
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] unless `rate` is finite and above 0 and `burst` is
    /// finite and at least 1.
    pub fn new(rate: f64, burst: f64) -> Result<Self, ConfigError> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(ConfigError::new("rate", "must be a number above 0 (tokens per second)"));
        }
        if !(burst.is_finite() && burst >= 1.0) {
            return Err(ConfigError::new("burst", "must be a number of at least 1 (tokens)"));
        }
        Ok(Self { rate, burst, full_at: Instant::default() })
    }

    /// Tokens per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The most tokens at once.
    #[must_use]
    pub fn burst(&self) -> f64 {
        self.burst
    }

    /// The tokens at `now`.
    #[must_use]
    pub fn available(&self, now: Instant) -> f64 {
        let missing = self.full_at.since(now) as f64 * self.rate / SECOND as f64;
        (self.burst - missing).max(0.0)
    }

    /// How long from `now` until `cost` tokens are there: zero if they are,
    /// `None` if they never will be (`cost` above `burst`, or no number).
    #[must_use]
    pub fn wait(&self, now: Instant, cost: f64) -> Option<Duration> {
        if !(cost >= 0.0 && cost <= self.burst) {
            return None;
        }
        // With `cost` more tokens gone the bucket is full at `full_at + cost`,
        // which may lie at most one whole bucket ahead.
        let full_at = self.full_at.max(now).after(self.refill(cost));
        Some(Duration::from_nanos(full_at.since(now.after(self.refill(self.burst)))))
    }

    /// Takes `cost` tokens if they are there. A refused attempt changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// How long to wait, as [`wait`](Self::wait) says it.
    pub fn take(&mut self, now: Instant, cost: f64) -> Result<(), Option<Duration>> {
        match self.wait(now, cost) {
            Some(wait) if wait.is_zero() => {
                self.charge(now, cost);
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// Takes `cost` tokens whether or not they are there; the debt is waited
    /// off by later takers. Negative amounts give tokens back.
    pub fn charge(&mut self, now: Instant, cost: f64) {
        if cost >= 0.0 {
            self.full_at = self.full_at.max(now).after(self.refill(cost));
        } else if cost < 0.0 {
            self.full_at = Instant::from_nanos(self.full_at.as_nanos().saturating_sub(self.refill(-cost)));
        }
    }

    /// The nanoseconds that `tokens` take to come back.
    fn refill(&self, tokens: f64) -> u64 {
        (tokens * SECOND as f64 / self.rate).ceil() as u64
    }
}

/// One bucket per quota key, made on first use; full and unused ones are
/// forgotten when there are too many.
#[derive(Clone, Debug)]
pub struct BucketRegistry {
    template: TokenBucket,
    buckets: BTreeMap<String, TokenBucket>,
    capacity: usize,
}

impl BucketRegistry {
    /// Buckets of `rate` tokens per second and `burst` at once. At most
    /// `capacity` keys are remembered beyond those that are not full.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] as for [`TokenBucket::new`].
    pub fn new(rate: f64, burst: f64, capacity: usize) -> Result<Self, ConfigError> {
        Ok(Self { template: TokenBucket::new(rate, burst)?, buckets: BTreeMap::new(), capacity: capacity.max(1) })
    }

    /// The bucket of that key.
    pub fn bucket(&mut self, now: Instant, key: &str) -> &mut TokenBucket {
        if !self.buckets.contains_key(key) {
            if self.buckets.len() >= self.capacity {
                // A full bucket is no different from a new one.
                self.buckets.retain(|_, bucket| bucket.available(now) < bucket.burst);
            }
            self.buckets.insert(key.to_owned(), self.template.clone());
        }
        self.buckets.entry(key.to_owned()).or_insert_with(|| self.template.clone())
    }

    /// How many keys are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// True if no key is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}
