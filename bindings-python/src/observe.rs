//! What a limiter shows: meters, events, counters.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use rampmeter::Instant;

use crate::clock::Clock;
use crate::convert::{amount, seconds, tuple_of};

/// What the server last said about one quota; ``None`` where it did not say.
#[pyclass(frozen, module = "rampmeter")]
pub struct Meter {
    core: rampmeter::Meter,
    /// The scope that it belongs to.
    #[pyo3(get)]
    scope: String,
    clock: Clock,
}

#[pymethods]
impl Meter {
    /// The quota's name; ``None`` for an unnamed one.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.core.name.as_deref()
    }

    /// The route that it was learned for, where several unnamed ones differ.
    #[getter]
    fn route(&self) -> Option<&str> {
        self.core.route.as_deref()
    }

    /// How much the quota allows in one window.
    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.limit)
    }

    /// How much is left, by the server's own word.
    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.remaining)
    }

    /// The window's length in seconds.
    #[getter]
    fn window(&self) -> Option<f64> {
        seconds(self.core.window)
    }

    /// What is counted.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.core.unit.as_deref()
    }

    /// The policy's name, where it is another than the quota's.
    #[getter]
    fn policy(&self) -> Option<&str> {
        self.core.policy.as_deref()
    }

    /// True only if the server said that nothing is left.
    #[getter]
    fn exhausted(&self) -> bool {
        self.core.exhausted()
    }

    /// Seconds until more is available, computed now; 0 once it has passed.
    fn seconds_until_reset(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(seconds(self.core.until_reset(self.clock.now(py)?.mono)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        for (field, value) in
            [("name", self.name()), ("route", self.route()), ("unit", self.unit()), ("policy", self.policy())]
        {
            if let Some(value) = value {
                shown.push(format!("{field}={value:?}"));
            }
        }
        for (field, value) in [("limit", self.limit(py)?), ("remaining", self.remaining(py)?)] {
            if let Some(value) = value {
                shown.push(format!("{field}={}", value.repr()?));
            }
        }
        for (field, value) in [("window", self.window()), ("seconds_until_reset", self.seconds_until_reset(py)?)] {
            if let Some(value) = value {
                shown.push(format!("{field}={}", PyFloat::new(py, value).repr()?));
            }
        }
        Ok(format!("<Meter {}>", if shown.is_empty() { "nothing known".to_owned() } else { shown.join(" ") }))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.clock.object().map_or(Ok(()), |clock| visit.call(clock))
    }
}

impl Meter {
    pub(crate) fn new(py: Python<'_>, core: rampmeter::Meter, scope: String, clock: &Clock) -> Self {
        Self { core, scope, clock: clock.clone_ref(py) }
    }
}

/// One thing that happened. It carries no value that may hold a secret.
#[pyclass(frozen, module = "rampmeter")]
pub struct Event {
    core: rampmeter::Event,
    /// For ``refused``: the rate-limit headers that it was read from.
    #[pyo3(get)]
    headers: Py<PyTuple>,
}

#[pymethods]
impl Event {
    /// What happened.
    #[getter]
    fn kind(&self) -> &'static str {
        self.core.kind.name()
    }

    /// When, in seconds of ``time.monotonic()`` or of the limiter's clock.
    #[getter]
    fn at(&self) -> f64 {
        instant_seconds(self.core.at)
    }

    /// The scope, as it may be shown.
    #[getter]
    fn scope(&self) -> &str {
        &self.core.scope
    }

    /// The request's method, if a call is concerned.
    #[getter]
    fn method(&self) -> Option<&str> {
        self.core.method.as_deref()
    }

    /// The request's route, if a call is concerned.
    #[getter]
    fn route(&self) -> Option<&str> {
        self.core.route.as_deref()
    }

    /// The meter, if one is concerned.
    #[getter]
    fn meter(&self) -> Option<&str> {
        self.core.meter.as_deref()
    }

    /// The wait, hold or time to a reset.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.core.seconds
    }

    /// Why.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.core.reason.map(rampmeter::Reason::name)
    }

    /// How often the call was sent, if one is concerned.
    #[getter]
    fn attempt(&self) -> Option<u32> {
        self.core.attempt
    }

    /// The status, for ``refused``.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.core.status
    }

    /// How many calls wait in the scope.
    #[getter]
    fn waiting(&self) -> usize {
        self.core.waiting
    }

    /// More in words: for ``ignored``, the field and why.
    #[getter]
    fn detail(&self) -> Option<&str> {
        self.core.detail.as_deref()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let event = &self.core;
        let mut shown = vec![format!("{} scope={:?}", self.kind(), event.scope)];
        let fields = [
            ("method", self.method()),
            ("route", self.route()),
            ("meter", self.meter()),
            ("reason", self.reason()),
            ("detail", self.detail()),
        ];
        for (field, value) in fields {
            if let Some(value) = value {
                shown.push(format!("{field}={value:?}"));
            }
        }
        if let Some(seconds) = event.seconds {
            shown.push(format!("seconds={}", PyFloat::new(py, seconds).repr()?));
        }
        for (field, value) in [("attempt", event.attempt), ("status", event.status.map(u32::from))] {
            if let Some(value) = value {
                shown.push(format!("{field}={value}"));
            }
        }
        Ok(format!("<Event {}>", shown.join(" ")))
    }
}

impl Event {
    pub(crate) fn new(py: Python<'_>, mut core: rampmeter::Event) -> PyResult<Self> {
        let headers = tuple_of(py, std::mem::take(&mut core.headers))?;
        Ok(Self { core, headers })
    }
}

/// What one scope did so far.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct ScopeStats {
    /// The scope, as it may be shown; empty for the total.
    scope: String,
    /// Requests sent.
    sent: u64,
    /// Responses that were refusals.
    refused: u64,
    /// Responses that were no refusals.
    accepted: u64,
    /// Requests that failed without a response.
    failed: u64,
    /// Waits begun.
    waits: u64,
    /// The sum of all waits in seconds, as elapsed time.
    slept: f64,
    /// Calls that ended with an error of the limiter's.
    raised: u64,
    /// Signals set aside as unusable.
    ignored: u64,
    /// Calls that wait now.
    waiting: usize,
    /// Requests in flight now.
    in_flight: usize,
    /// Seconds that the scope's gate is still held.
    held_for: Option<f64>,
}

#[pymethods]
impl ScopeStats {
    fn __repr__(&self) -> String {
        format!(
            "<ScopeStats {:?} sent={} refused={} accepted={} failed={} waits={} slept={:.3} raised={} waiting={} in_flight={}>",
            self.scope,
            self.sent,
            self.refused,
            self.accepted,
            self.failed,
            self.waits,
            self.slept,
            self.raised,
            self.waiting,
            self.in_flight
        )
    }
}

impl From<rampmeter::ScopeStats> for ScopeStats {
    fn from(stats: rampmeter::ScopeStats) -> Self {
        Self {
            scope: stats.scope,
            sent: stats.sent,
            refused: stats.refused,
            accepted: stats.accepted,
            failed: stats.failed,
            waits: stats.waits,
            slept: stats.slept.as_secs_f64(),
            raised: stats.raised,
            ignored: stats.ignored,
            waiting: stats.waiting,
            in_flight: stats.in_flight,
            held_for: seconds(stats.held_for),
        }
    }
}

/// What a limiter did so far.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Stats {
    /// The sum over all scopes, forgotten ones included.
    total: Py<ScopeStats>,
    /// Each scope that is still known.
    scopes: Py<PyTuple>,
    /// Events that were dropped because nobody took them.
    dropped_events: u64,
}

#[pymethods]
impl Stats {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Stats total={} scopes={}>", self.total.bind(py).repr()?, self.scopes.bind(py).len()))
    }
}

impl Stats {
    pub(crate) fn new(py: Python<'_>, stats: rampmeter::Stats) -> PyResult<Self> {
        let scopes: Vec<_> = stats.scopes.into_iter().map(ScopeStats::from).collect();
        Ok(Self {
            total: Py::new(py, ScopeStats::from(stats.total))?,
            scopes: tuple_of(py, scopes)?,
            dropped_events: stats.dropped_events,
        })
    }
}

/// An instant in seconds, on the scale of Python's `time.monotonic()` or of
/// the given clock.
fn instant_seconds(instant: Instant) -> f64 {
    instant.as_nanos() as f64 / 1e9
}
