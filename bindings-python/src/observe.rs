//! What a limiter shows: meters, events, counters.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use rampmeter::Instant;

use crate::clock::Clock;
use crate::convert::{amount, seconds, tuple_of};

/// What the server last said about one quota.
#[pyclass(frozen, module = "rampmeter")]
pub struct Meter {
    core: rampmeter::Meter,
    #[pyo3(get)]
    scope: String,
    clock: Clock,
}

#[pymethods]
impl Meter {
    #[getter]
    fn name(&self) -> Option<&str> {
        self.core.name.as_deref()
    }

    #[getter]
    fn route(&self) -> Option<&str> {
        self.core.route.as_deref()
    }

    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.limit)
    }

    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.remaining)
    }

    #[getter]
    fn window(&self) -> Option<f64> {
        seconds(self.core.window)
    }

    #[getter]
    fn unit(&self) -> Option<&str> {
        self.core.unit.as_deref()
    }

    #[getter]
    fn policy(&self) -> Option<&str> {
        self.core.policy.as_deref()
    }

    #[getter]
    fn exhausted(&self) -> bool {
        self.core.exhausted()
    }

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

/// One thing that happened.
#[pyclass(frozen, module = "rampmeter")]
pub struct Event {
    core: rampmeter::Event,
    #[pyo3(get)]
    headers: Py<PyTuple>,
}

#[pymethods]
impl Event {
    #[getter]
    fn kind(&self) -> &'static str {
        self.core.kind.name()
    }

    #[getter]
    fn at(&self) -> f64 {
        instant_seconds(self.core.at)
    }

    #[getter]
    fn scope(&self) -> &str {
        &self.core.scope
    }

    #[getter]
    fn method(&self) -> Option<&str> {
        self.core.method.as_deref()
    }

    #[getter]
    fn route(&self) -> Option<&str> {
        self.core.route.as_deref()
    }

    #[getter]
    fn meter(&self) -> Option<&str> {
        self.core.meter.as_deref()
    }

    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.core.seconds
    }

    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.core.reason.map(rampmeter::Reason::name)
    }

    #[getter]
    fn attempt(&self) -> Option<u32> {
        self.core.attempt
    }

    #[getter]
    fn status(&self) -> Option<u16> {
        self.core.status
    }

    #[getter]
    fn waiting(&self) -> usize {
        self.core.waiting
    }

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
    scope: String,
    sent: u64,
    refused: u64,
    accepted: u64,
    failed: u64,
    waits: u64,
    slept: f64,
    raised: u64,
    ignored: u64,
    waiting: usize,
    in_flight: usize,
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
    total: Py<ScopeStats>,
    scopes: Py<PyTuple>,
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
