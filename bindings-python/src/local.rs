//! The pieces that need no server: token buckets and jitters.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use rampmeter::{Backoff, Error};

use crate::clock::Clock;
use crate::convert::{seconds, span};
use crate::errors;

/// ``rate`` tokens per second, at most ``burst`` at once; it starts full.
///
///     >>> from rampmeter import TokenBucket
///     >>> bucket = TokenBucket(rate=5, burst=2)
///     >>> bucket.take(), bucket.take(), bucket.take()
///     (True, True, False)
///
/// Raises ``ConfigError`` unless ``rate`` is above 0 and ``burst`` at least 1.
#[pyclass(frozen, module = "rampmeter")]
pub struct TokenBucket {
    core: Mutex<rampmeter::TokenBucket>,
    clock: Clock,
}

#[pymethods]
impl TokenBucket {
    #[new]
    #[pyo3(signature = (rate, burst=1.0, *, clock=None))]
    fn new(py: Python<'_>, rate: f64, burst: f64, clock: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let core =
            rampmeter::TokenBucket::new(rate, burst).map_err(|error| errors::raised(py, &Error::Config(error)))?;
        Ok(Self { core: Mutex::new(core), clock: Clock::new(clock)? })
    }

    /// Tokens per second.
    #[getter]
    fn rate(&self) -> f64 {
        locked(&self.core).rate()
    }

    /// The most tokens at once.
    #[getter]
    fn burst(&self) -> f64 {
        locked(&self.core).burst()
    }

    /// The tokens now.
    fn available(&self, py: Python<'_>) -> PyResult<f64> {
        let now = self.clock.now(py)?.mono;
        Ok(locked(&self.core).available(now))
    }

    /// Takes that many tokens if they are there; else changes nothing.
    #[pyo3(signature = (cost=1.0))]
    fn take(&self, py: Python<'_>, cost: f64) -> PyResult<bool> {
        let now = self.clock.now(py)?.mono;
        Ok(locked(&self.core).take(now, cost).is_ok())
    }

    /// Seconds until that many tokens are there; ``None`` if they never will
    /// be.
    #[pyo3(signature = (cost=1.0))]
    fn wait(&self, py: Python<'_>, cost: f64) -> PyResult<Option<f64>> {
        let now = self.clock.now(py)?.mono;
        Ok(seconds(locked(&self.core).wait(now, cost)))
    }

    /// Takes that many tokens whether or not they are there; later takers
    /// wait the debt off. Negative amounts give tokens back.
    #[pyo3(signature = (cost=1.0))]
    fn charge(&self, py: Python<'_>, cost: f64) -> PyResult<()> {
        let now = self.clock.now(py)?.mono;
        locked(&self.core).charge(now, cost);
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<TokenBucket rate={} burst={} available={}>", self.rate(), self.burst(), self.available(py)?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.clock.object().map_or(Ok(()), |clock| visit.call(clock))
    }
}

/// One token bucket per quota key, made on first use.
///
/// At most ``capacity`` keys are remembered beyond those whose bucket is not
/// full: a full bucket is no different from a new one.
#[pyclass(frozen, module = "rampmeter")]
pub struct BucketRegistry {
    core: Mutex<rampmeter::BucketRegistry>,
    clock: Clock,
}

#[pymethods]
impl BucketRegistry {
    #[new]
    #[pyo3(signature = (rate, burst=1.0, *, capacity=1024, clock=None))]
    fn new(py: Python<'_>, rate: f64, burst: f64, capacity: usize, clock: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let core = rampmeter::BucketRegistry::new(rate, burst, capacity)
            .map_err(|error| errors::raised(py, &Error::Config(error)))?;
        Ok(Self { core: Mutex::new(core), clock: Clock::new(clock)? })
    }

    /// The tokens now.
    fn available(&self, py: Python<'_>, key: &str) -> PyResult<f64> {
        let now = self.clock.now(py)?.mono;
        Ok(locked(&self.core).bucket(now, key).available(now))
    }

    /// Takes that many tokens if they are there; else changes nothing.
    #[pyo3(signature = (key, cost=1.0))]
    fn take(&self, py: Python<'_>, key: &str, cost: f64) -> PyResult<bool> {
        let now = self.clock.now(py)?.mono;
        Ok(locked(&self.core).bucket(now, key).take(now, cost).is_ok())
    }

    /// Seconds until that many tokens are there; ``None`` if they never will
    /// be.
    #[pyo3(signature = (key, cost=1.0))]
    fn wait(&self, py: Python<'_>, key: &str, cost: f64) -> PyResult<Option<f64>> {
        let now = self.clock.now(py)?.mono;
        Ok(seconds(locked(&self.core).bucket(now, key).wait(now, cost)))
    }

    /// Takes that many tokens whether or not they are there.
    #[pyo3(signature = (key, cost=1.0))]
    fn charge(&self, py: Python<'_>, key: &str, cost: f64) -> PyResult<()> {
        let now = self.clock.now(py)?.mono;
        locked(&self.core).bucket(now, key).charge(now, cost);
        Ok(())
    }

    fn __len__(&self) -> usize {
        locked(&self.core).len()
    }

    fn __repr__(&self) -> String {
        format!("<BucketRegistry keys={}>", self.__len__())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.clock.object().map_or(Ok(()), |clock| visit.call(clock))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds, uniform in [0, min(cap, base * 2**step)]; ``step`` counts from 0.
/// ``unit`` in [0, 1) replaces the random number. Unset ends are those of the
/// option ``backoff``.
#[pyfunction]
#[pyo3(signature = (step, *, base=None, cap=None, unit=None))]
pub(crate) fn full_jitter(
    step: u32,
    base: Option<&Bound<'_, PyAny>>,
    cap: Option<&Bound<'_, PyAny>>,
    unit: Option<f64>,
) -> PyResult<f64> {
    let (base, cap) = ends(base, cap)?;
    Ok(draw(Backoff::Full { base, cap }, step, core::time::Duration::ZERO, unit))
}

/// Seconds: half of min(cap, base * 2**step), and a uniform draw of the other
/// half.
#[pyfunction]
#[pyo3(signature = (step, *, base=None, cap=None, unit=None))]
pub(crate) fn equal_jitter(
    step: u32,
    base: Option<&Bound<'_, PyAny>>,
    cap: Option<&Bound<'_, PyAny>>,
    unit: Option<f64>,
) -> PyResult<f64> {
    let (base, cap) = ends(base, cap)?;
    Ok(draw(Backoff::Equal { base, cap }, step, core::time::Duration::ZERO, unit))
}

/// Seconds, uniform in [base, 3 * previous], at most ``cap``; the first, with
/// ``step`` 0, in [0, base].
#[pyfunction]
#[pyo3(signature = (step, previous=None, *, base=None, cap=None, unit=None))]
pub(crate) fn decorrelated_jitter(
    step: u32,
    previous: Option<&Bound<'_, PyAny>>,
    base: Option<&Bound<'_, PyAny>>,
    cap: Option<&Bound<'_, PyAny>>,
    unit: Option<f64>,
) -> PyResult<f64> {
    let (base, cap) = ends(base, cap)?;
    let previous = previous.map(|previous| span("previous", previous)).transpose()?.unwrap_or_default();
    Ok(draw(Backoff::Decorrelated { base, cap }, step, previous, unit))
}

/// To be called in the child after a fork, or its draws repeat the parent's.
#[pyfunction]
#[pyo3(name = "_reseed_jitter")]
pub(crate) fn reseed_jitter(seed: u64) {
    fastrand::seed(seed);
}

type Ends = (core::time::Duration, core::time::Duration);

fn ends(base: Option<&Bound<'_, PyAny>>, cap: Option<&Bound<'_, PyAny>>) -> PyResult<Ends> {
    let default = Backoff::default();
    let base = base.map(|base| span("base", base)).transpose()?.unwrap_or_else(|| default.base());
    let cap = cap.map(|cap| span("cap", cap)).transpose()?.unwrap_or_else(|| default.cap());
    Ok((base, cap))
}

fn draw(backoff: Backoff, step: u32, previous: core::time::Duration, unit: Option<f64>) -> f64 {
    backoff.delay(step, previous, unit.unwrap_or_else(fastrand::f64)).as_secs_f64()
}
