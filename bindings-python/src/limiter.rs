//! The limiter as Python sees it, and what follows each of its acts: events
//! to the listener, lines to the log.

use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString};
use rampmeter::{Instant, Now, Request};

use crate::call::Call;
use crate::clock::Clock;
use crate::config::Config;
use crate::convert::{cost, span};
use crate::errors;
use crate::headers::Fields;
use crate::observe::{Event, Meter, Stats};

/// The native half of ``rampmeter.Limiter``.
#[pyclass(frozen, subclass, weakref, module = "rampmeter._core")]
pub struct Limiter {
    core: rampmeter::Limiter,
    clock: Clock,
    config: Py<Config>,
    on_event: Option<Py<PyAny>>,
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (config=None, *, on_event=None, clock=None, **options))]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        on_event: Option<Bound<'_, PyAny>>,
        clock: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let config = Config::of(py, config, options)?;
        if let Some(listener) = &on_event
            && !listener.is_callable()
        {
            return Err(errors::config(py, "on_event", "must be a callable that takes one Event, or None"));
        }
        let core = rampmeter::Limiter::new(config.get().core().clone())
            .map_err(|error| errors::raised(py, &rampmeter::Error::Config(error)))?;
        core.collect_notices();
        core.listen(on_event.is_some());
        Ok(Self { core, clock: Clock::new(clock)?, config, on_event: on_event.map(Bound::unbind) })
    }

    #[pyo3(signature = (
        method, url=None, *, headers=None, scope=None, route=None, cost=None, priority=0, deadline=None, retry=None,
        replayable=true, nested=false
    ))]
    /// Begins a call: one logical request, over all its attempts.
    ///
    /// Nothing is waited for and nothing reserved until it is polled. ``scope``
    /// and ``route`` name who is limited and what the server meters alike,
    /// instead of the URL's origin with the credential in ``headers``, and
    /// method with path. ``cost`` is amounts by unit. Larger ``priority`` goes
    /// first. ``deadline`` is seconds from now. ``retry`` says whether it may be
    /// sent again after a failure that leaves open whether it was processed;
    /// by default the method and an ``Idempotency-Key`` say so. ``replayable``
    /// is false for a body that can be sent only once, ``nested`` true for a
    /// call made inside a call of the same limiter.
    ///
    /// Raises ``ConfigError`` for an argument that cannot be.
    #[expect(clippy::too_many_arguments, reason = "one per keyword of the Python method")]
    fn begin(
        slf: &Bound<'_, Self>,
        method: &str,
        url: Option<&Bound<'_, PyAny>>,
        headers: Option<&Bound<'_, PyAny>>,
        scope: Option<&str>,
        route: Option<&str>,
        cost: Option<&Bound<'_, PyAny>>,
        priority: i32,
        deadline: Option<&Bound<'_, PyAny>>,
        retry: Option<bool>,
        replayable: bool,
        nested: bool,
    ) -> PyResult<Call> {
        let py = slf.py();
        let this = slf.get();
        let url = url.map(text).transpose()?;
        let url = url.as_ref().map(|url| url.to_str()).transpose()?.unwrap_or_default();
        let method = method.to_ascii_uppercase();
        let fields = Fields::new(headers)?;
        let cost = cost.map(self::cost).transpose()?.unwrap_or_default();
        let cost: Vec<_> = cost.iter().map(|(unit, amount)| (unit.as_str(), *amount)).collect();
        let deadline = deadline.map(|deadline| span("deadline", deadline)).transpose()?;
        let now = this.now(py)?;
        let request = Request {
            headers: Some(&fields),
            scope,
            route,
            cost: &cost,
            priority,
            deadline: deadline.map(|deadline| later(now.mono, deadline)),
            retry,
            replayable,
            nested,
            ..Request::new(&method, url)
        };
        let call = this.core.begin(now, &request).map_err(|error| errors::raised(py, &error))?;
        this.dispatch(py)?;
        Ok(Call::new(slf.clone().unbind(), call))
    }

    /// Ends the limiter: waiting calls raise ``LimiterClosed`` at once, later
    /// ones at their first poll.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.core.close(self.now(py)?);
        self.dispatch(py)
    }

    /// True once ``close`` was called.
    #[getter]
    fn closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Its options.
    #[getter]
    fn config(&self, py: Python<'_>) -> Py<Config> {
        self.config.clone_ref(py)
    }

    /// The clock that it was given; ``None`` for the system's.
    #[getter]
    fn clock(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.clock.object().map(|clock| clock.clone_ref(py))
    }

    /// Counters so far.
    fn stats(&self, py: Python<'_>) -> PyResult<Stats> {
        Stats::new(py, self.core.stats(self.now(py)?))
    }

    /// The scopes that are known, as they may be shown.
    fn scopes(&self) -> Vec<String> {
        self.core.scopes()
    }

    /// The meters of the scope of that URL or label; of all scopes if none is
    /// given.
    #[pyo3(signature = (scope=None))]
    fn meters(&self, py: Python<'_>, scope: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Meter>> {
        let scopes = match scope {
            Some(scope) => vec![text(scope)?.to_str()?.to_owned()],
            None => self.core.scopes(),
        };
        let now = self.now(py)?;
        let mut meters = Vec::new();
        for scope in scopes {
            let known = self.core.meters(now, &scope).into_iter();
            meters.extend(known.map(|meter| Meter::new(py, meter, scope.clone(), &self.clock)));
        }
        Ok(meters)
    }

    /// A meter of which nothing is known.
    fn _empty_meter(&self, py: Python<'_>, scope: String) -> Meter {
        Meter::new(py, rampmeter::Meter::default(), scope, &self.clock)
    }

    /// Starts or stops the collection of events for ``take_events``.
    #[pyo3(signature = (listening=true))]
    fn listen(&self, listening: bool) {
        self.core.listen(listening || self.on_event.is_some());
    }

    /// The events since the last time, oldest first; empty unless ``listen``
    /// was called, and where ``on_event`` takes them.
    fn take_events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        self.core.take_events().into_iter().map(|event| Event::new(py, event)).collect()
    }

    /// The ``id`` of each call without a waker that should be polled now.
    fn take_wakes(&self) -> Vec<u64> {
        self.core.take_wakes().into_iter().map(rampmeter::CallId::as_u64).collect()
    }

    fn _after_fork(&self, seed: u64) {
        self.core.after_fork(seed);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.config)?;
        if let Some(clock) = self.clock.object() {
            visit.call(clock)?;
        }
        self.on_event.as_ref().map_or(Ok(()), |listener| visit.call(listener))
    }
}

impl Limiter {
    pub(crate) fn now(&self, py: Python<'_>) -> PyResult<Now> {
        self.clock.now(py)
    }

    pub(crate) fn options(&self) -> &Config {
        self.config.get()
    }

    /// Hands out what the last act left behind. What a listener raises is
    /// logged and harms nothing; what is no `Exception` (an interrupt) goes
    /// on to the caller.
    pub(crate) fn dispatch(&self, py: Python<'_>) -> PyResult<()> {
        for notice in self.core.take_notices() {
            log(py)?.call_method1(intern!(py, "notice"), (notice.warning, notice.message))?;
        }
        let Some(listener) = &self.on_event else { return Ok(()) };
        for event in self.core.take_events() {
            let event = Py::new(py, Event::new(py, event)?)?;
            if let Err(error) = listener.call1(py, (event,)) {
                if !error.is_instance_of::<PyException>(py) {
                    return Err(error);
                }
                log(py)?.call_method1(intern!(py, "listener_failed"), (error.into_value(py),))?;
            }
        }
        Ok(())
    }
}

fn log(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static LOG: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    LOG.get_or_try_init(py, || py.import("rampmeter._log").map(Bound::unbind)).map(|module| module.bind(py))
}

/// Text as it is; of anything else (a URL object) what `str()` makes of it.
fn text<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.clone()),
        Err(_) => value.str(),
    }
}

fn later(start: Instant, span: core::time::Duration) -> Instant {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(start.as_nanos().saturating_add(nanos))
}
