//! One logical request as Python sees it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyStopIteration;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use rampmeter::{FailureKind, Now, Response};

use crate::convert::{Body, cost};
use crate::decision::Decision;
use crate::errors;
use crate::headers::Fields;
use crate::limiter::Limiter;
use crate::waker::WakeSlot;

/// One logical request, over all its attempts. Dropping it gives it up.
///
/// In a ``with`` block it is finished at the end if its response was
/// delivered, else given up.
#[pyclass(frozen, weakref, module = "rampmeter")]
pub struct Call {
    limiter: Py<Limiter>,
    core: rampmeter::Call,
    wake: OnceLock<WakeSlot>,
    delivered: AtomicBool,
    over: AtomicBool,
    waited: Waited,
}

#[pymethods]
impl Call {
    /// What now? Asking twice at one instant gives the same answer.
    ///
    /// If the answer is to sleep, ``wake`` is called once polling again is
    /// worthwhile before the sleep's end: from any thread, so it must only wake.
    #[pyo3(signature = (wake=None))]
    fn poll(&self, py: Python<'_>, wake: Option<Py<PyAny>>) -> PyResult<Py<Decision>> {
        let now = self.limiter.get().now(py)?;
        let decision = match wake {
            Some(wake) => {
                let slot = self.wake.get_or_init(WakeSlot::new);
                slot.set(Some(wake));
                self.core.poll_with(now, slot.waker())
            }
            None => self.core.poll(now),
        };
        self.answer(py, now, &decision)
    }

    /// How many bytes of this response's body are worth reading; 0 for nearly
    /// every response.
    #[pyo3(signature = (status, headers=None))]
    fn wants_body(&self, status: u16, headers: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        Ok(self.core.wants_body(status, &Fields::new(headers)?))
    }

    /// Reports the response to the last send.
    ///
    /// ``cached`` is true if a client-side cache answered; ``url`` is the URL
    /// that answered, where a redirect led elsewhere.
    #[pyo3(signature = (status, headers=None, body=None, *, cached=false, url=None))]
    fn on_response(
        &self,
        py: Python<'_>,
        status: u16,
        headers: Option<&Bound<'_, PyAny>>,
        body: Option<Body<'_>>,
        cached: bool,
        url: Option<&str>,
    ) -> PyResult<Py<Decision>> {
        let limiter = self.limiter.get();
        let fields = Fields::new(headers)?;
        let body = body.as_ref().map(Body::as_slice);
        let verdict = limiter.options().verdict(py, status, headers, body)?;
        let response = Response::new(status, &fields).body(body).cached(cached).verdict(verdict).answered_by(url);
        let now = limiter.now(py)?;
        let decision = self.core.on_response(now, response);
        self.answer(py, now, &decision)
    }

    /// `wants_body` and, unless it does, `on_response` in one crossing: what
    /// nearly every response takes.
    #[pyo3(signature = (status, headers, cached=false))]
    fn _on_head(
        &self,
        py: Python<'_>,
        status: u16,
        headers: Option<&Bound<'_, PyAny>>,
        cached: bool,
    ) -> PyResult<Py<PyAny>> {
        let fields = Fields::new(headers)?;
        let wanted = self.core.wants_body(status, &fields);
        if wanted > 0 {
            return Ok(wanted.into_pyobject(py)?.into_any().unbind());
        }
        let limiter = self.limiter.get();
        let verdict = limiter.options().verdict(py, status, headers, None)?;
        let now = limiter.now(py)?;
        let decision = self.core.on_response(now, Response::new(status, &fields).cached(cached).verdict(verdict));
        Ok(self.answer(py, now, &decision)?.into_any())
    }

    /// Reports that the last send ended without a response.
    #[pyo3(signature = (kind="other"))]
    fn on_failure(&self, py: Python<'_>, kind: &str) -> PyResult<Py<Decision>> {
        let kind = FailureKind::from_name(kind).ok_or_else(|| {
            let known: Vec<_> = FailureKind::ALL.iter().map(|(name, _)| *name).collect();
            errors::config(py, "kind", &format!("must be one of {}, not {kind:?}", known.join(", ")))
        })?;
        let now = self.limiter.get().now(py)?;
        let decision = self.core.on_failure(now, kind);
        self.answer(py, now, &decision)
    }

    /// Replaces the cost by the real amounts, once known.
    fn settle(&self, py: Python<'_>, cost: &Bound<'_, PyAny>) -> PyResult<()> {
        let amounts = self::cost(cost)?;
        let amounts: Vec<_> = amounts.iter().map(|(unit, amount)| (unit.as_str(), *amount)).collect();
        let limiter = self.limiter.get();
        self.core.settle(limiter.now(py)?, &amounts).map_err(|error| errors::raised(py, &error))?;
        limiter.dispatch(py)
    }

    /// The body is read or closed: the slot in flight is free.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let limiter = self.limiter.get();
        self.over.store(true, Ordering::Relaxed);
        self.core.finish(limiter.now(py)?);
        limiter.dispatch(py)
    }

    /// Gives the call up, at any point. Safe to repeat.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let limiter = self.limiter.get();
        self.over.store(true, Ordering::Relaxed);
        self.core.cancel(limiter.now(py)?);
        if let Some(slot) = self.wake.get() {
            slot.set(None);
        }
        limiter.dispatch(py)
    }

    /// How often it was sent.
    #[getter]
    fn attempts(&self) -> u32 {
        self.core.attempts()
    }

    /// Seconds that it slept so far, as elapsed time.
    #[getter]
    fn waited(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.waited.seconds(self.limiter.get().now(py)?))
    }

    /// Its id, as ``Limiter.take_wakes`` lists it.
    #[getter]
    fn id(&self) -> u64 {
        self.core.id().as_u64()
    }

    /// True once it was finished or given up.
    #[getter]
    fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whose call it is.
    #[getter]
    fn limiter(&self, py: Python<'_>) -> Py<Limiter> {
        self.limiter.clone_ref(py)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Finishes a call whose response was delivered, gives up any other.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        if self.delivered.load(Ordering::Relaxed) { self.finish(py) } else { self.cancel(py) }
    }

    fn __aenter__(slf: Py<Self>) -> Ready {
        Ready(slf.into_any())
    }

    #[pyo3(signature = (*exception))]
    fn __aexit__(&self, py: Python<'_>, exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<Ready> {
        self.__exit__(py, exception)?;
        Ok(Ready(py.None()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.limiter)?;
        self.wake.get().map_or(Ok(()), |slot| slot.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(slot) = self.wake.get() {
            slot.set(None);
        }
    }
}

impl Call {
    pub(crate) fn new(limiter: Py<Limiter>, core: rampmeter::Call) -> Self {
        let (delivered, over) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { limiter, core, wake: OnceLock::new(), delivered, over, waited: Waited::default() }
    }

    fn answer(&self, py: Python<'_>, now: Now, decision: &rampmeter::Decision) -> PyResult<Py<Decision>> {
        match decision {
            rampmeter::Decision::Sleep { .. } => self.waited.begin(now),
            other => {
                self.waited.end(now);
                // Nobody waits any more; the callable may hold a whole task.
                if let Some(slot) = self.wake.get() {
                    slot.set(None);
                }
                if matches!(other, rampmeter::Decision::Deliver { .. }) {
                    self.delivered.store(true, Ordering::Relaxed);
                }
            }
        }
        self.limiter.get().dispatch(py)?;
        Decision::of(py, decision)
    }
}

/// How long a call slept so far, as elapsed time.
struct Waited {
    nanos: AtomicU64,
    /// When the wait that lasts began; `AWAKE` if none does.
    since: AtomicU64,
}

const AWAKE: u64 = u64::MAX;

impl Waited {
    fn begin(&self, now: Now) {
        let _ = self.since.compare_exchange(AWAKE, now.mono.as_nanos(), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn end(&self, now: Now) {
        let since = self.since.swap(AWAKE, Ordering::Relaxed);
        if since != AWAKE {
            self.nanos.fetch_add(now.mono.as_nanos().saturating_sub(since), Ordering::Relaxed);
        }
    }

    fn seconds(&self, now: Now) -> f64 {
        let lasting = match self.since.load(Ordering::Relaxed) {
            AWAKE => 0,
            since => now.mono.as_nanos().saturating_sub(since),
        };
        (self.nanos.load(Ordering::Relaxed) + lasting) as f64 / 1e9
    }
}

impl Default for Waited {
    fn default() -> Self {
        Self { nanos: AtomicU64::new(0), since: AtomicU64::new(AWAKE) }
    }
}

/// An awaitable that has its value already.
#[pyclass(frozen, module = "rampmeter._core")]
struct Ready(Py<PyAny>);

#[pymethods]
impl Ready {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Err(PyStopIteration::new_err((self.0.clone_ref(py),)))
    }
}
