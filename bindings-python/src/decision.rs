//! What the core answers, as one small immutable object.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use rampmeter::Reason;

use crate::errors;

pub(crate) const KINDS: [&str; 4] = ["send", "sleep", "deliver", "raise"];

/// What to do now: ``send``, ``sleep``, ``deliver`` or ``raise``.
#[pyclass(frozen, module = "rampmeter")]
pub struct Decision {
    /// ``send``: perform the request. ``sleep``: sleep, then poll again.
    /// ``deliver``: hand the response or the failure to the caller. ``raise``:
    /// raise ``error``.
    #[pyo3(get)]
    kind: Py<PyString>,
    /// How long to sleep at most; above 0 and finite, ``None`` unless the
    /// decision is to sleep.
    #[pyo3(get)]
    seconds: Option<f64>,
    /// Why.
    #[pyo3(get)]
    reason: Py<PyString>,
    /// What to raise; ``None`` unless the decision is to raise.
    #[pyo3(get)]
    error: Option<Py<PyAny>>,
}

#[pymethods]
impl Decision {
    #[new]
    #[pyo3(signature = (kind, seconds=None, reason="ready", error=None))]
    fn new(py: Python<'_>, kind: &str, seconds: Option<f64>, reason: &str, error: Option<Py<PyAny>>) -> PyResult<Self> {
        if !KINDS.contains(&kind) {
            return Err(PyValueError::new_err(format!("kind must be one of {}, not {kind:?}", KINDS.join(", "))));
        }
        if !Reason::ALL.iter().any(|(name, _)| *name == reason) {
            return Err(PyValueError::new_err(format!("there is no reason {reason:?}")));
        }
        Ok(Self {
            kind: PyString::intern(py, kind).unbind(),
            seconds,
            reason: PyString::intern(py, reason).unbind(),
            error,
        })
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str) {
        ("kind", "seconds", "reason", "error")
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let other = other.get();
        let same_error = match (&self.error, &other.error) {
            (None, None) => true,
            (Some(one), Some(two)) => one.bind(py).eq(two)?,
            _ => false,
        };
        Ok(same_error && self.seconds == other.seconds && self.kind.is(&other.kind) && self.reason.is(&other.reason))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.kind.bind(py), self.seconds, self.reason.bind(py)).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = format!("Decision(kind='{}'", self.kind);
        if let Some(seconds) = self.seconds {
            shown.push_str(&format!(", seconds={}", pyo3::types::PyFloat::new(py, seconds).repr()?));
        }
        shown.push_str(&format!(", reason='{}'", self.reason));
        if let Some(error) = &self.error {
            shown.push_str(&format!(", error={}", error.bind(py).repr()?));
        }
        shown.push(')');
        Ok(shown)
    }
}

impl Decision {
    /// The core's answer as a Python object. Answers without a number are
    /// made once and shared: they are nearly all.
    pub(crate) fn of(py: Python<'_>, decision: &rampmeter::Decision) -> PyResult<Py<Self>> {
        match decision {
            rampmeter::Decision::Send { reason } => {
                static SEND: PyOnceLock<Vec<Py<Decision>>> = PyOnceLock::new();
                Self::shared(py, &SEND, "send", *reason)
            }
            rampmeter::Decision::Deliver { reason } => {
                static DELIVER: PyOnceLock<Vec<Py<Decision>>> = PyOnceLock::new();
                Self::shared(py, &DELIVER, "deliver", *reason)
            }
            rampmeter::Decision::Sleep { wait, reason } => {
                Self::make(py, "sleep", *reason, Some(wait.as_secs_f64()), None)
            }
            rampmeter::Decision::Raise { error } => {
                let exception = errors::exception(py, error)?.unbind();
                Self::make(py, "raise", error.reason(), None, Some(exception))
            }
        }
    }

    fn shared(
        py: Python<'_>,
        table: &'static PyOnceLock<Vec<Py<Self>>>,
        kind: &str,
        reason: Reason,
    ) -> PyResult<Py<Self>> {
        let all = table.get_or_try_init(py, || {
            Reason::ALL.iter().map(|(_, reason)| Self::make(py, kind, *reason, None, None)).collect::<PyResult<_>>()
        })?;
        let index = Reason::ALL.iter().position(|(_, known)| *known == reason).unwrap_or_default();
        Ok(all[index].clone_ref(py))
    }

    fn make(
        py: Python<'_>,
        kind: &str,
        reason: Reason,
        seconds: Option<f64>,
        error: Option<Py<PyAny>>,
    ) -> PyResult<Py<Self>> {
        let kind = PyString::intern(py, kind).unbind();
        let reason = PyString::intern(py, reason.name()).unbind();
        Py::new(py, Self { kind, seconds, reason, error })
    }
}
